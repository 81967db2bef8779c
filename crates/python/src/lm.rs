//! Language models: estimation, tables, queries and mixtures behind opaque handles.

use crate::columns::Texts;
use crate::errors::{invalid, to_py};
use crate::text::Text;
use crate::threads;
use dragoman_base::{Result, parse_size};
use dragoman_lm::estimate::{Discounts, Estimation, Options, Report, Source, Target, estimate, run};
use dragoman_lm::query::{self, Scorer, Totals};
use dragoman_lm::{Kind, Mixture, Model, Ngrams, arpa};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::io::{BufWriter, Write};
use std::sync::{Arc, Mutex};

/// What estimation saw: sentences, tokens, types, controls, symbols, counts, counts before pruning, discounts, and
/// where they are the fallback.
type Figures = (u64, u64, u64, u64, u64, Vec<u64>, Vec<u64>, Vec<Discounts>, Vec<bool>);

fn figures(report: Report) -> Figures {
    let Report { sentences, tokens, types, controls, symbols, counts, counts_before, discounts, fallback } =
        report;
    (sentences, tokens, types, controls, symbols, counts, counts_before, discounts, fallback)
}

/// `arpa`, `hash`, or `compact` with the number of bits of its codes.
fn kind(form: &str, bits: u8) -> PyResult<Option<Kind>> {
    match form {
        "arpa" => Ok(None),
        "hash" => Ok(Some(Kind::Hash)),
        "compact" if (4..=16).contains(&bits) => Ok(Some(Kind::Compact(bits))),
        "compact" => Err(invalid(format!("expected codes of 4 to 16 bits, found {bits}"))),
        _ => Err(invalid(format!("expected the form arpa, hash or compact, found `{form}`"))),
    }
}

fn save(ngrams: &Ngrams, path: &str, kind: Option<Kind>, options: &str) -> Result<()> {
    match kind {
        Some(kind) => Model::from_ngrams(ngrams, kind, options)?.save(path),
        None => ngrams.send(&mut arpa::Writer::create(path)?),
    }
}

/// Writes the model that `make` hands to a target.
fn written(
    make: impl FnOnce(&mut dyn Target) -> Result<Report>,
    out: &str,
    kind: Option<Kind>,
    options: &str,
) -> Result<Report> {
    if kind.is_none() {
        return make(&mut arpa::Writer::create(out)?);
    }
    let mut ngrams = Ngrams::default();
    let report = make(&mut ngrams)?;
    save(&ngrams, out, kind, options)?;
    Ok(report)
}

/// Estimates a model from text files or from lines and writes it to `out`.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // one per option
#[pyo3(signature = (paths, lines, out, order, memory, scratch, prune, fallback, skip_symbols, form, bits, options))]
pub fn lm_estimate(
    py: Python<'_>,
    paths: Vec<String>,
    lines: Option<&Texts>,
    out: &str,
    order: usize,
    memory: &str,
    scratch: Option<String>,
    prune: Vec<u64>,
    fallback: Option<Discounts>,
    skip_symbols: bool,
    form: &str,
    bits: u8,
    options: &str,
) -> PyResult<Figures> {
    let kind = kind(form, bits)?;
    let memory = parse_size(memory).map_err(to_py)?;
    let how = Options { order, memory, scratch, prune, fallback, skip_symbols };
    let source = lines.map_or(Source::Files(&paths), |lines| Source::Lines(&lines.inner));
    let run = || written(|target| estimate(source, &how, target), out, kind, options);
    threads::run(py, run).map(figures).map_err(to_py)
}

/// An estimation whose n-grams are counted by other processes: `chunk` gives parts of the text, `add` takes their runs
/// (`lm_run`) in any order, and `finish` writes the model.
#[pyclass(frozen, module = "dragoman._core")]
pub struct LmEstimation {
    inner: Mutex<Option<Estimation>>,
}

impl LmEstimation {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut Estimation) -> Result<T> + Send,
    ) -> PyResult<T> {
        let work = || self.inner.lock().expect("no panic while locked").as_mut().map(f);
        threads::run(py, work).ok_or_else(finished)?.map_err(to_py)
    }
}

fn finished() -> PyErr {
    invalid("this estimation is already finished")
}

#[pymethods]
impl LmEstimation {
    #[new]
    #[pyo3(signature = (paths, order, memory, scratch, prune, fallback, skip_symbols))]
    fn new(
        paths: Vec<String>,
        order: usize,
        memory: &str,
        scratch: Option<String>,
        prune: Vec<u64>,
        fallback: Option<Discounts>,
        skip_symbols: bool,
    ) -> PyResult<Self> {
        let memory = parse_size(memory).map_err(to_py)?;
        let how = Options { order, memory, scratch, prune, fallback, skip_symbols };
        Ok(Self { inner: Mutex::new(Some(Estimation::new(paths, how).map_err(to_py)?)) })
    }

    /// The next part of the text; None at its end.
    fn chunk<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        Ok(self.with(py, Estimation::chunk)?.map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// Takes the run of a part.
    fn add(&self, py: Python<'_>, run: &[u8]) -> PyResult<()> {
        self.with(py, |estimation| estimation.add(run))
    }

    /// Writes the model, when every part has come back.
    fn finish(&self, py: Python<'_>, out: &str, form: &str, bits: u8, options: &str) -> PyResult<Figures> {
        let kind = kind(form, bits)?;
        let estimation = self.inner.lock().expect("no panic while locked").take().ok_or_else(finished)?;
        let run = || written(|target| estimation.finish(target), out, kind, options);
        threads::run(py, run).map(figures).map_err(to_py)
    }
}

/// The n-grams of a part of the text and their counts as a sorted run.
#[pyfunction]
pub fn lm_run<'py>(py: Python<'py>, order: usize, chunk: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let found = threads::run(py, || run(order, chunk)).map_err(to_py)?;
    Ok(PyBytes::new(py, &found))
}

/// Rewrites an ARPA file in another form; gives the n-grams of each order and how many had no back-off weight.
#[pyfunction]
pub fn lm_convert(
    py: Python<'_>,
    path: &str,
    out: &str,
    form: &str,
    bits: u8,
    options: &str,
) -> PyResult<(Vec<u64>, u64)> {
    let kind = kind(form, bits)?;
    let run = || -> Result<(Vec<u64>, u64)> {
        let ngrams = arpa::read(path)?;
        save(&ngrams, out, kind, options)?;
        Ok((ngrams.counts(), ngrams.without_backoff))
    };
    threads::run(py, run).map_err(to_py)
}

/// Mixes ARPA files into one model; gives the n-grams of each order.
#[pyfunction]
pub fn lm_merge(
    py: Python<'_>,
    paths: Vec<String>,
    weights: Vec<f64>,
    out: &str,
    form: &str,
    bits: u8,
    options: &str,
) -> PyResult<Vec<u64>> {
    let kind = kind(form, bits)?;
    let run = || -> Result<Vec<u64>> {
        let models = paths.iter().map(|path| arpa::read(path)).collect::<Result<Vec<_>>>()?;
        let merged = dragoman_lm::merge(&models, &weights)?;
        save(&merged, out, kind, options)?;
        Ok(merged.counts())
    };
    threads::run(py, run).map_err(to_py)
}

/// Scores of tokens: starts of sentences, natural logs, lengths of n-grams, whether unknown.
type Columns<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<f32>>,
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<bool>>,
);

fn score<'py, S: Scorer>(py: Python<'py>, scorer: &S, texts: &Texts) -> Columns<'py> {
    let scored = threads::run(py, || query::lines(scorer, &texts.inner));
    (
        scored.starts.into_pyarray(py),
        scored.logs.into_pyarray(py),
        scored.lengths.into_pyarray(py),
        scored.unknown.into_pyarray(py),
    )
}

/// Sentences, tokens, unknown words, control characters, natural log of all tokens and of the unknown ones.
type Sums = (u64, u64, u64, u64, f64, f64);

fn score_file<S: Scorer>(py: Python<'_>, scorer: &S, path: &str, tokens: bool) -> PyResult<Sums> {
    let run = || -> Result<Totals> {
        if !tokens {
            return query::file(scorer, path, None);
        }
        let mut out = BufWriter::with_capacity(1 << 18, std::io::stdout());
        let totals = query::file(scorer, path, Some(&mut out))?;
        out.flush().map_err(|source| dragoman_base::Error::Io { path: "-".to_owned(), source })?;
        Ok(totals)
    };
    let Totals { sentences, tokens, unknown, controls, log, log_unknown } =
        threads::run(py, run).map_err(to_py)?;
    Ok((sentences, tokens, unknown, controls, log, log_unknown))
}

/// A language model, mapped from its file.
#[pyclass(frozen, module = "dragoman._core")]
pub struct LmModel {
    inner: Arc<Model>,
}

#[pymethods]
impl LmModel {
    #[new]
    fn new(py: Python<'_>, path: &str) -> PyResult<Self> {
        let inner = Arc::new(threads::run(py, || Model::open(path)).map_err(to_py)?);
        Ok(Self { inner })
    }

    /// Number of words in the longest n-grams.
    #[getter]
    fn order(&self) -> usize {
        self.inner.order()
    }

    /// N-grams of each order.
    #[getter]
    fn counts(&self) -> Vec<u64> {
        self.inner.counts().to_vec()
    }

    /// `hash`, or `compact` and its bits.
    #[getter]
    fn form(&self) -> (&'static str, u8) {
        match self.inner.kind() {
            Kind::Hash => ("hash", 0),
            Kind::Compact(bits) => ("compact", bits),
        }
    }

    /// The options it was made with, as JSON text.
    #[getter]
    fn options(&self) -> &str {
        self.inner.options()
    }

    /// Hash of the contents.
    #[getter]
    fn hash(&self) -> u64 {
        self.inner.hash()
    }

    /// Size in bytes.
    #[getter]
    fn size(&self) -> usize {
        self.inner.size()
    }

    /// All words in order of their ids.
    fn words(&self) -> Vec<String> {
        (0..self.inner.words() as u32).map(|id| self.inner.name(id).to_owned()).collect()
    }

    /// Whether the model knows a word.
    fn knows(&self, word: Text) -> bool {
        self.inner.word(&word) != dragoman_lm::UNK
    }

    /// Checks the hash of all contents.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        threads::run(py, || self.inner.verify()).map_err(to_py)
    }

    /// Writes the tables to a file.
    fn save(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        threads::run(py, || self.inner.save(path)).map_err(to_py)
    }

    /// Scores sentences, token by token.
    fn score<'py>(&self, py: Python<'py>, texts: &Texts) -> Columns<'py> {
        score(py, self.inner.as_ref(), texts)
    }

    /// Scores a file; with `tokens`, writes every token to standard output.
    fn score_file(&self, py: Python<'_>, path: &str, tokens: bool) -> PyResult<Sums> {
        score_file(py, self.inner.as_ref(), path, tokens)
    }

    /// Natural log probability of a phrase when nothing is known of what stands before it.
    fn estimate(&self, phrase: Text) -> f32 {
        let ids: Vec<u32> = dragoman_base::words(&phrase).map(|word| self.inner.word(word)).collect();
        self.inner.estimate(&ids)
    }
}

/// A linear mixture of models.
#[pyclass(frozen, module = "dragoman._core")]
pub struct LmMixture {
    inner: Mixture,
}

#[pymethods]
impl LmMixture {
    #[new]
    fn new(models: Vec<PyRef<'_, LmModel>>, weights: Vec<f64>) -> PyResult<Self> {
        let models = models.iter().map(|model| Arc::clone(&model.inner)).collect();
        Ok(Self { inner: Mixture::new(models, &weights).map_err(to_py)? })
    }

    /// Scores sentences, token by token.
    fn score<'py>(&self, py: Python<'py>, texts: &Texts) -> Columns<'py> {
        score(py, &self.inner, texts)
    }

    /// Scores a file; with `tokens`, writes every token to standard output.
    fn score_file(&self, py: Python<'_>, path: &str, tokens: bool) -> PyResult<Sums> {
        score_file(py, &self.inner, path, tokens)
    }
}

/// Says whether this process may copy language models to large pages; without, processes share the pages of the file.
#[pyfunction]
pub fn lm_copies(wanted: bool) {
    dragoman_lm::copies(wanted);
}
