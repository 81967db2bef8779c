//! What cuts words: pieces and compounds behind opaque handles.

use crate::columns::Texts;
use crate::errors::to_py;
use crate::text::Text;
use crate::threads;
use dragoman_base::Texts as BaseTexts;
use dragoman_base::io::{Lines, Output};
use dragoman_corpus::compounds::Parts;
use dragoman_corpus::{Compounds, PieceCounter, Pieces, WordCounter, join_pieces};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use rayon::prelude::*;

/// Lines; the first part of each and the number of all; for each part the number of its word in the line.
type Owned<'py> = (Texts, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>);

/// Each line changed, on all cores, with the owners of what comes out.
fn each(
    texts: &BaseTexts,
    change: impl Fn(&str, &mut String, &mut Vec<i64>) + Sync,
) -> (BaseTexts, Vec<i64>, Vec<i64>) {
    let range = (0..texts.len()).into_par_iter().with_min_len(256);
    let found: Vec<(String, Vec<i64>)> = range
        .map(|index| {
            let (mut out, mut owners) = (String::new(), Vec::new());
            change(texts.get(index), &mut out, &mut owners);
            (out, owners)
        })
        .collect();
    let mut starts = vec![0];
    let mut all = Vec::new();
    for (_, owners) in &found {
        all.extend(owners);
        starts.push(all.len() as i64);
    }
    (found.iter().map(|(line, _)| line).collect(), starts, all)
}

fn file(path: &str, out: &str, change: impl Fn(&str, &mut String)) -> dragoman_base::Result<()> {
    let (mut lines, mut out) = (Lines::open(path)?, Output::create(out)?);
    let mut text = String::new();
    while let Some(line) = lines.next()? {
        text.clear();
        change(line, &mut text);
        text.push('\n');
        out.write(text.as_bytes())?;
    }
    out.finish()
}

/// Which pieces words are cut into.
#[pyclass(frozen, module = "dragoman._core")]
pub struct PieceModel {
    inner: Pieces,
}

#[pymethods]
impl PieceModel {
    /// Learns from files.
    #[staticmethod]
    fn of_files(py: Python<'_>, paths: Vec<String>, size: usize) -> PyResult<Self> {
        let train = || {
            let mut counter = PieceCounter::default();
            paths.iter().try_for_each(|path| counter.file(path))?;
            Ok(counter.finish(size))
        };
        threads::run(py, train).map(|inner| Self { inner }).map_err(to_py)
    }

    /// Learns from lines.
    #[staticmethod]
    fn of_texts(py: Python<'_>, texts: &Texts, size: usize) -> Self {
        let texts = texts.inner.clone();
        let inner = threads::run(py, || {
            let mut counter = PieceCounter::default();
            texts.iter().for_each(|line| counter.line(line));
            counter.finish(size)
        });
        Self { inner }
    }

    /// Reads a model, ours or the codes of subword-nmt.
    #[staticmethod]
    fn read(py: Python<'_>, path: &str) -> PyResult<Self> {
        threads::run(py, || Pieces::read(path)).map(|inner| Self { inner }).map_err(to_py)
    }

    /// Writes the model to a file that appears when it is whole.
    fn write(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        threads::run(py, || self.inner.write(path)).map_err(to_py)
    }

    /// Number of joins.
    fn __len__(&self) -> usize {
        self.inner.len()
    }

    /// Cuts the words of lines, and says whose each piece is.
    fn apply<'py>(&self, py: Python<'py>, texts: &Texts) -> Owned<'py> {
        let texts = texts.inner.clone();
        let (found, starts, owners) = threads::run(py, || {
            each(&texts, |line, out, owners| self.inner.apply(line, out, |word| owners.push(word as i64)))
        });
        (found.into(), starts.into_pyarray(py), owners.into_pyarray(py))
    }

    /// Cuts the words of a file, line by line.
    fn apply_file(&self, py: Python<'_>, path: &str, out: &str) -> PyResult<()> {
        threads::run(py, || file(path, out, |line, text| self.inner.apply(line, text, |_| ()))).map_err(to_py)
    }
}

/// Pieces joined.
#[pyfunction]
pub fn pieces_undo(py: Python<'_>, texts: &Texts) -> Texts {
    let texts = texts.inner.clone();
    threads::run(py, || each(&texts, |line, out, _| join_pieces(line, out)).0).into()
}

/// The words of a text, for splitting others.
#[pyclass(frozen, module = "dragoman._core")]
pub struct CompoundModel {
    inner: Compounds,
}

#[pymethods]
impl CompoundModel {
    /// For words with their counts.
    #[new]
    fn new(
        counts: Vec<(String, u64)>,
        min_length: usize,
        min_count: u64,
        links: Vec<String>,
        unknown_only: bool,
    ) -> Self {
        Self { inner: Compounds::new(counts, Parts { min_length, min_count, links, unknown_only }) }
    }

    /// Reads a model.
    #[staticmethod]
    fn read(py: Python<'_>, path: &str) -> PyResult<Self> {
        threads::run(py, || Compounds::read(path)).map(|inner| Self { inner }).map_err(to_py)
    }

    /// Writes the model to a file that appears when it is whole.
    fn write(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        threads::run(py, || self.inner.write(path)).map_err(to_py)
    }

    /// Number of words.
    fn __len__(&self) -> usize {
        self.inner.len()
    }

    /// The parts of a word; None if it stays as it is.
    fn split(&self, word: Text) -> Option<Vec<&str>> {
        self.inner.split(&word)
    }

    /// Splits the words of lines, and says whose each part is.
    fn apply<'py>(&self, py: Python<'py>, texts: &Texts) -> Owned<'py> {
        let texts = texts.inner.clone();
        let (found, starts, owners) = threads::run(py, || {
            each(&texts, |line, out, owners| self.inner.apply(line, out, |word| owners.push(word as i64)))
        });
        (found.into(), starts.into_pyarray(py), owners.into_pyarray(py))
    }

    /// Splits the words of a file, line by line.
    fn apply_file(&self, py: Python<'_>, path: &str, out: &str) -> PyResult<()> {
        threads::run(py, || file(path, out, |line, text| self.inner.apply(line, text, |_| ()))).map_err(to_py)
    }
}

/// Counts of the words of letters in files, the most frequent first.
#[pyfunction]
pub fn word_counts(py: Python<'_>, paths: Vec<String>) -> PyResult<Vec<(String, u64)>> {
    let count = || {
        let mut counter = WordCounter::default();
        paths.iter().try_for_each(|path| counter.file(path))?;
        Ok(counter.finish())
    };
    threads::run(py, count).map_err(to_py)
}
