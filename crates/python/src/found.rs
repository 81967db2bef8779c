//! What the decoder found, as frozen records of columns.

use crate::columns::Texts;
use dragoman_base::Texts as BaseTexts;
use dragoman_model::Origin;
use dragoman_model::found::{Candidates, Explained};
use numpy::{Element, IntoPyArray, PyArray1};
use pyo3::prelude::*;

type Array<T> = Py<PyArray1<T>>;

fn array<T: Element>(py: Python<'_>, values: Vec<T>) -> Array<T> {
    values.into_pyarray(py).unbind()
}

fn texts(py: Python<'_>, texts: BaseTexts) -> PyResult<Py<Texts>> {
    Py::new(py, Texts::from(texts))
}

/// Candidate translations of some sentences, in columns.
#[pyclass(frozen, get_all, module = "dragoman._core")]
pub struct TranslationColumns {
    /// Where the candidates of each sentence start, and where the last ones end.
    starts: Array<i64>,
    texts: Py<Texts>,
    /// Model scores.
    scores: Array<f64>,
    /// Where the features of each candidate start, and where the last ones end.
    rows: Array<i64>,
    /// Numbers of features.
    features: Array<u32>,
    values: Array<f64>,
    /// Word alignments.
    links: Py<Texts>,
    /// Phrase alignments.
    phrases: Py<Texts>,
    /// Which sentences ran out of time or memory.
    narrow: Vec<bool>,
}

impl TranslationColumns {
    pub fn new(py: Python<'_>, found: Candidates) -> PyResult<Self> {
        Ok(Self {
            starts: array(py, found.starts),
            texts: texts(py, found.texts)?,
            scores: array(py, found.scores),
            rows: array(py, found.rows.starts),
            features: array(py, found.rows.columns),
            values: array(py, found.rows.values),
            links: texts(py, found.links)?,
            phrases: texts(py, found.phrases)?,
            narrow: found.narrow,
        })
    }
}

/// A phrase of an explained derivation.
#[pyclass(frozen, get_all, module = "dragoman._core")]
pub struct ExplainedStep {
    /// First source word.
    start: usize,
    /// The source word after the last.
    end: usize,
    source: String,
    target: String,
    /// `rule`, `unknown`, `given` or `glue`.
    origin: &'static str,
    /// Numbers of features and their values.
    features: Vec<(u32, f32)>,
    /// Rules around it, in a tree.
    depth: usize,
}

impl From<Explained> for ExplainedStep {
    fn from(step: Explained) -> Self {
        let origin = match step.origin {
            Origin::Table(_) => "rule",
            Origin::Unknown => "unknown",
            Origin::Given => "given",
            Origin::Glue => "glue",
        };
        let Explained { from, to, source, target, features, depth, .. } = step;
        Self { start: from, end: to, source, target, origin, features, depth }
    }
}
