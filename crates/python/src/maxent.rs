//! The Maxent reordering model.

use crate::errors::to_py;
use crate::threads;
use dragoman_maxent::{Options, train};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Iterations, whether it converged, value, perplexity.
type Side = (usize, bool, f64, f64);
/// Tokens, unseen, perplexities of the model and of relative frequencies, the same for seen pairs.
type Heldout = (f64, f64, [f64; 2], [f64; 2], [f64; 2], [f64; 2]);
/// Rules, examples, features, both sides, held-out figures.
type Report = (usize, usize, usize, [Side; 2], Option<Heldout>);

/// Trains the model on a table with counts and writes a table with six columns more.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // one per option
pub fn maxent_train(
    py: Python<'_>,
    rules: PathBuf,
    classes: [String; 2],
    out: PathBuf,
    meta: String,
    model: String,
    name: String,
    emphasis: f64,
    least: f64,
    singletons: f64,
    iterations: usize,
    drop_counts: bool,
    heldout: Option<PathBuf>,
    alpha: f64,
    seed: u64,
    templates: Vec<String>,
    words: Option<[Vec<String>; 2]>,
) -> PyResult<Report> {
    let options = Options {
        rules,
        classes,
        out,
        meta,
        model,
        name,
        emphasis,
        least,
        singletons,
        iterations,
        drop_counts,
        heldout,
        alpha,
        seed,
        templates,
        words,
    };
    let report = threads::run(py, || train(&options)).map_err(to_py)?;
    let sides = report.sides.map(|s| (s.iterations, s.converged, s.value, s.perplexity));
    let held =
        report.heldout.map(|h| (h.tokens, h.unseen, h.maxent, h.relative, h.maxent_seen, h.relative_seen));
    Ok((report.rules, report.examples, report.features, sides, held))
}
