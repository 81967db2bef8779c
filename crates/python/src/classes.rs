//! Word classes: counts of a text and finished classes behind opaque handles.

use crate::columns::Texts;
use crate::errors::{invalid, to_py};
use crate::text::Text;
use crate::threads;
use dragoman_base::{Error, Result};
use dragoman_classes::{Classes, Counts, Found, Options, cluster, file};
use dragoman_stream::pools::{self, Lease};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Unigrams and bigrams of a text.
#[pyclass(frozen, module = "dragoman._core")]
pub struct ClassCounts {
    inner: Arc<Counts>,
}

#[pymethods]
impl ClassCounts {
    /// Counts a file, or lines.
    #[staticmethod]
    fn of_file(py: Python<'_>, path: &str, factor: Option<usize>) -> PyResult<Self> {
        let counts = threads::run(py, || Counts::of_file(path, factor)).map_err(to_py)?;
        Ok(Self { inner: Arc::new(counts) })
    }

    /// Counts lines.
    #[staticmethod]
    fn of_texts(py: Python<'_>, texts: &Texts, factor: Option<usize>) -> PyResult<Self> {
        let texts = texts.inner.clone();
        let counts = threads::run(py, || Counts::of_texts(&texts, factor)).map_err(to_py)?;
        Ok(Self { inner: Arc::new(counts) })
    }

    /// Different words, tokens, sentences that have a word, lines that have none.
    fn figures(&self) -> (usize, u64, u32, u32) {
        let counts = &self.inner;
        (counts.len(), counts.tokens, counts.sentences, counts.empty)
    }

    /// The most frequent words with their counts; equals in byte order.
    fn frequent(&self, size: usize) -> Vec<(String, u32)> {
        let counts = &self.inner;
        let mut order: Vec<u32> = (0..counts.len() as u32).collect();
        let rank =
            |id: &u32| (std::cmp::Reverse(counts.unigrams[*id as usize]), counts.words.get(*id as usize));
        order.sort_unstable_by(|a, b| rank(a).cmp(&rank(b)));
        let word = |&id: &u32| (counts.words.get(id as usize).to_owned(), counts.unigrams[id as usize]);
        order.iter().take(size).map(word).collect()
    }

    /// Finds classes; gives them and the log-likelihood of the text. `effort` is starts, core, sweeps, cooling,
    /// iterations; `progress` is called now and then with the number of sweeps done.
    #[pyo3(signature = (classes, effort, seed, threads = None, progress = None))]
    fn cluster(
        &self,
        py: Python<'_>,
        classes: usize,
        effort: (Option<usize>, usize, usize, usize, usize),
        seed: u64,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(ClassTable, f64)> {
        let (starts, core, sweeps, cooling, iterations) = effort;
        let options = Options { classes, starts, core, sweeps, cooling, iterations, seed };
        let found = watched(py, threads, progress, |tick| cluster(&self.inner, &options, tick))?;
        let numbers = found.classes.iter().map(|class| class + file::FIRST).collect();
        let table = Classes::new(&self.inner.words, numbers).map_err(|_| invalid("a word came twice"))?;
        Ok((ClassTable { inner: table }, found.likelihood))
    }
}

/// Runs `work` on threads of its own, while this one listens for Ctrl-C and tells the progress.
fn watched(
    py: Python<'_>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&(dyn Fn() -> bool + Sync)) -> Result<Found> + Send,
) -> PyResult<Found> {
    let pool = Lease::new(pools::count(threads)).map_err(to_py)?;
    let (stop, done, over) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicBool::new(false));
    let tick = || {
        done.fetch_add(1, Ordering::Relaxed);
        !stop.load(Ordering::Relaxed)
    };
    let look = || {
        Python::attach(|py| {
            py.check_signals()?;
            progress.as_ref().map_or(Ok(()), |f| f.call1(py, (done.load(Ordering::Relaxed),)).map(drop))
        })
    };
    let (result, seen) = py.detach(|| {
        std::thread::scope(|scope| {
            let worker = std::thread::current();
            let (over, tick) = (&over, &tick);
            let handle = scope.spawn(move || {
                let result = pool.install(|| work(tick));
                over.store(true, Ordering::Release);
                worker.unpark();
                result
            });
            let mut seen = Ok(());
            while !over.load(Ordering::Acquire) && !handle.is_finished() {
                std::thread::park_timeout(Duration::from_millis(100));
                if seen.is_ok() {
                    seen = look();
                    stop.store(seen.is_err(), Ordering::Relaxed);
                }
            }
            (handle.join().unwrap_or_else(|_| Err(Error::Invalid("a thread failed".to_owned()))), seen)
        })
    });
    seen?;
    result.map_err(to_py)
}

/// Words and their classes.
#[pyclass(frozen, module = "dragoman._core")]
pub struct ClassTable {
    inner: Classes,
}

#[pymethods]
impl ClassTable {
    #[new]
    fn new(words: &Texts, classes: PyReadonlyArray1<'_, u32>) -> PyResult<Self> {
        let numbers = classes.as_slice()?.to_vec();
        if numbers.len() != words.inner.len() {
            return Err(invalid(format!(
                "expected a class for each of {} words, found {}",
                words.inner.len(),
                numbers.len()
            )));
        }
        let twice = |at: usize| invalid(format!("expected every word once, found `{}`", words.inner.get(at)));
        Ok(Self { inner: Classes::new(&words.inner, numbers).map_err(twice)? })
    }

    /// Reads a file in mkcls's form.
    #[staticmethod]
    fn read(py: Python<'_>, path: &str) -> PyResult<Self> {
        Ok(Self { inner: threads::run(py, || Classes::read(path)).map_err(to_py)? })
    }

    /// Writes a file in mkcls's form, which appears when it is whole.
    fn write(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        threads::run(py, || self.inner.write(path)).map_err(to_py)
    }

    /// The words.
    fn words(&self) -> Texts {
        self.inner.words().clone().into()
    }

    /// The class of each word.
    fn classes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.inner.classes().to_vec().into_pyarray(py)
    }

    /// The class of a word, or None.
    fn get(&self, word: Text) -> Option<u32> {
        self.inner.get(&word)
    }

    /// A text with every word replaced by its class, unknown words by 1.
    fn apply(&self, py: Python<'_>, texts: &Texts) -> Texts {
        let texts = texts.inner.clone();
        threads::run(py, || self.inner.apply(&texts)).into()
    }
}
