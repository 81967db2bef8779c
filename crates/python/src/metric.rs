//! Native metrics behind two opaque handles.

use crate::columns::{Reduced, Texts};
use crate::errors::invalid;
use crate::text::Text;
use crate::threads;
use dragoman_metric::bleu::{Bleu, RefLength, Smoothing};
use dragoman_metric::chrf::Chrf;
use dragoman_metric::combined::{Combined, Mean};
use dragoman_metric::pairwise::choices;
use dragoman_metric::ter::Ter;
use dragoman_metric::tokenize::{Tercom, Tokenizer};
use dragoman_metric::wer::Wer;
use dragoman_metric::{Metric, Reference, capability, digest_all, scores, statistics};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Arc;

/// So many rows are scored by the thread that asks.
const FEW_ROWS: usize = 2048;

/// A metric of the Rust core. Built by one of the static constructors.
#[pyclass(frozen, module = "dragoman._core")]
pub struct NativeMetric {
    pub inner: Arc<dyn Metric>,
    /// How it was made, for pickle: the constructor and its options.
    made: (&'static str, Py<PyDict>),
}

impl NativeMetric {
    fn from(metric: impl Metric + 'static, name: &'static str, options: Bound<'_, PyDict>) -> Self {
        Self { inner: Arc::new(metric), made: (name, options.unbind()) }
    }
}

/// The options of a constructor by their names.
macro_rules! options {
    ($py:expr, $($name:ident),*) => {{
        let options = PyDict::new($py);
        $(options.set_item(stringify!($name), $name)?;)*
        options
    }};
}

fn tokenizer(name: &str) -> PyResult<Tokenizer> {
    Tokenizer::parse(name).ok_or_else(|| invalid(format!("no native tokeniser is called `{name}`")))
}

fn ref_length(name: &str) -> PyResult<RefLength> {
    match name {
        "closest" => Ok(RefLength::Closest),
        "shortest" => Ok(RefLength::Shortest),
        "average" => Ok(RefLength::Average),
        _ => Err(invalid(format!("expected closest, shortest or average, found `{name}`"))),
    }
}

fn smoothing(name: &str, value: f64) -> PyResult<Smoothing> {
    match name {
        "none" => Ok(Smoothing::None),
        "exp" => Ok(Smoothing::Exp),
        "floor" => Ok(Smoothing::Floor(value)),
        "add-k" => Ok(Smoothing::AddK(value)),
        "add-all" => Ok(Smoothing::AddAll(value)),
        _ => Err(invalid(format!("expected none, exp, floor, add-k or add-all, found `{name}`"))),
    }
}

/// Why a metric that lacks a capability cannot be used.
#[pyfunction]
pub fn refusal(what: &str, capability: &str) -> String {
    capability::refusal(what, capability)
}

#[pymethods]
impl NativeMetric {
    /// BLEU; see `dragoman.metrics.Bleu` for what the options mean.
    #[staticmethod]
    #[allow(clippy::too_many_arguments)] // one per option, all by name on the Python side
    #[pyo3(signature = (*, order, tokenize, lowercase, smooth, smooth_value, effective_order, ref_length, length_scale, length_offset))]
    fn bleu(
        py: Python<'_>,
        order: usize,
        tokenize: &str,
        lowercase: bool,
        smooth: &str,
        smooth_value: f64,
        effective_order: bool,
        ref_length: &str,
        length_scale: f64,
        length_offset: f64,
    ) -> PyResult<Self> {
        let options = options!(
            py,
            order,
            tokenize,
            lowercase,
            smooth,
            smooth_value,
            effective_order,
            ref_length,
            length_scale,
            length_offset
        );
        let metric = Bleu {
            order,
            tokenizer: tokenizer(tokenize)?,
            lowercase,
            ref_length: self::ref_length(ref_length)?,
            smoothing: smoothing(smooth, smooth_value)?,
            effective_order,
            length_scale,
            length_offset,
        };
        Ok(Self::from(metric, "bleu", options))
    }

    /// chrF; see `dragoman.metrics.Chrf`.
    #[staticmethod]
    #[pyo3(signature = (*, char_order, word_order, beta, lowercase, whitespace, eps_smoothing))]
    #[allow(clippy::too_many_arguments)] // one per option, all by name on the Python side
    fn chrf(
        py: Python<'_>,
        char_order: usize,
        word_order: usize,
        beta: f64,
        lowercase: bool,
        whitespace: bool,
        eps_smoothing: bool,
    ) -> PyResult<Self> {
        let options = options!(py, char_order, word_order, beta, lowercase, whitespace, eps_smoothing);
        let metric = Chrf { char_order, word_order, beta, lowercase, whitespace, eps_smoothing };
        Ok(Self::from(metric, "chrf", options))
    }

    /// TER; see `dragoman.metrics.Ter`.
    #[staticmethod]
    #[pyo3(signature = (*, normalized, no_punct, asian_support, case_sensitive))]
    #[allow(clippy::fn_params_excessive_bools)] // four switches, all by name on the Python side
    fn ter(
        py: Python<'_>,
        normalized: bool,
        no_punct: bool,
        asian_support: bool,
        case_sensitive: bool,
    ) -> PyResult<Self> {
        let options = options!(py, normalized, no_punct, asian_support, case_sensitive);
        let metric = Ter { tokenizer: Tercom { normalized, no_punct, asian_support, case_sensitive } };
        Ok(Self::from(metric, "ter", options))
    }

    /// WER; see `dragoman.metrics.Wer`.
    #[staticmethod]
    #[pyo3(signature = (*, tokenize, lowercase))]
    fn wer(py: Python<'_>, tokenize: &str, lowercase: bool) -> PyResult<Self> {
        let options = options!(py, tokenize, lowercase);
        Ok(Self::from(Wer { tokenizer: tokenizer(tokenize)?, lowercase }, "wer", options))
    }

    /// The mean of a column of numbers; see `dragoman.metrics.External`.
    #[staticmethod]
    fn mean(py: Python<'_>) -> Self {
        Self::from(Mean, "mean", PyDict::new(py))
    }

    /// A sum of metrics, each times a factor; see `dragoman.metrics.Combined`.
    #[staticmethod]
    #[pyo3(signature = (*, parts, factors))]
    fn combined(py: Python<'_>, parts: Vec<Py<Self>>, factors: Vec<f64>) -> PyResult<Self> {
        if parts.is_empty() || parts.len() != factors.len() {
            return Err(invalid("expected a factor for each of one or more metrics"));
        }
        let inner = factors.iter().zip(&parts).map(|(&f, part)| (f, part.get().inner.clone())).collect();
        let options = options!(py, parts, factors);
        Ok(Self::from(Combined { parts: inner }, "combined", options))
    }

    /// By its options.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let (py, (name, options)) = (slf.py(), &slf.get().made);
        let (make, options) = (slf.get_type().getattr(*name)?, options.bind(py));
        let partial = py.import("functools")?.getattr("partial")?;
        Ok((partial.call((make,), Some(options))?, PyTuple::empty(py)))
    }

    /// Number of statistics in a row.
    #[getter]
    fn width(&self) -> usize {
        self.inner.width()
    }

    /// What it can do inside a kernel, beyond scoring rows.
    #[getter]
    fn capabilities(&self) -> Vec<&'static str> {
        capability::names(self.inner.as_ref())
    }

    /// Digests the references of each sentence (at least one each).
    fn prepare(&self, py: Python<'_>, references: Text<Vec<Vec<PyBackedStr>>>) -> PyResult<NativeReferences> {
        if let Some(empty) = references.iter().position(Vec::is_empty) {
            return Err(invalid(format!("sentence {empty} has no reference")));
        }
        let inner = threads::run(py, || {
            let views: Vec<Vec<&str>> =
                references.iter().map(|refs| refs.iter().map(|r| &**r).collect()).collect();
            digest_all(self.inner.as_ref(), &views)
        });
        Ok(NativeReferences { width: self.inner.width(), inner })
    }

    /// The score of each row of statistics.
    fn score<'py>(
        &self,
        py: Python<'py>,
        rows: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        if rows.as_array().ncols() != self.inner.width() {
            return Err(invalid(format!("expected rows of {} statistics", self.inner.width())));
        }
        let rows = rows.as_slice()?;
        let (metric, width) = (self.inner.as_ref(), self.inner.width());
        // A few rows are scored before another thread would have begun.
        let found = if rows.len() <= FEW_ROWS * width {
            rows.chunks_exact(width).map(|row| metric.score(row)).collect()
        } else {
            threads::run(py, || scores(metric, rows))
        };
        Ok(found.into_pyarray(py))
    }
}

/// For each scale and sentence the candidate with the least expected loss (the row; -1 where there is none).
#[pyfunction]
pub fn mbr_choices<'py>(
    py: Python<'py>,
    metric: &NativeMetric,
    texts: &Texts,
    starts: PyReadonlyArray1<'py, i64>,
    totals: PyReadonlyArray1<'py, f64>,
    scales: PyReadonlyArray1<'py, f64>,
    higher_is_better: bool,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let (starts, totals, scales) = (starts.as_slice()?, totals.as_slice()?, scales.as_slice()?);
    let size = texts.inner.len() as i64;
    let rising = starts.windows(2).all(|w| w[0] <= w[1]);
    if !rising || starts.first() != Some(&0) || starts.last() != Some(&size) {
        return Err(invalid(format!("expected sentence starts that rise from 0 to {size}")));
    }
    if totals.len() != texts.inner.len() || totals.iter().chain(scales).any(|number| !number.is_finite()) {
        return Err(invalid("expected a finite total for each candidate, and finite scales"));
    }
    let sign = if higher_is_better { 1.0 } else { -1.0 };
    let found =
        threads::run(py, || choices(metric.inner.as_ref(), &texts.inner, starts, totals, scales, sign));
    found.into_pyarray(py).reshape([scales.len(), starts.len() - 1])
}

/// The digested references of many sentences.
#[pyclass(frozen, module = "dragoman._core")]
pub struct NativeReferences {
    inner: Vec<Box<dyn Reference>>,
    width: usize,
}

#[pymethods]
impl NativeReferences {
    fn __len__(&self) -> usize {
        self.inner.len()
    }

    /// The statistics of each hypothesis; hypothesis `i` belongs to sentence `sentence[i]`.
    fn statistics<'py>(
        &self,
        py: Python<'py>,
        texts: &Texts,
        sentence: PyReadonlyArray1<'py, i64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let sentence = sentence.as_slice()?;
        if sentence.len() != texts.inner.len() {
            return Err(invalid("expected one sentence number for each hypothesis"));
        }
        if let Some(bad) = sentence.iter().find(|&&s| s < 0 || s as usize >= self.inner.len()) {
            return Err(invalid(format!("sentence {bad} has no reference: there are {}", self.inner.len())));
        }
        let rows = threads::run(py, || statistics(&self.inner, &texts.inner, sentence, self.width));
        rows.into_pyarray(py).reshape([sentence.len(), self.width])
    }
}
