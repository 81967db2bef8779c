//! Learning on packed candidate lists: pairs, logistic ranking, online updates, risk.

use crate::errors::{invalid, to_py};
use crate::learner::Learner;
use dragoman_optim::lbfgs::{Options, Outcome};
use dragoman_tune::lists::Lists;
use dragoman_tune::online::{self, Epoch, Objective};
use dragoman_tune::pairs::{self, Pairs, Penalty, Sampling};
use dragoman_tune::risk::{self, Payoff, Risk};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

pub type Array<'py, T> = Bound<'py, PyArray1<T>>;
pub type Slice<'py, T> = PyReadonlyArray1<'py, T>;

/// Candidate lists packed for learning; made once, read by every step.
#[pyclass(frozen, module = "dragoman._core")]
pub struct CandidateLists {
    pub inner: Arc<Lists>,
}

impl CandidateLists {
    fn weights<'a>(&self, array: &'a Slice<'_, f64>) -> PyResult<&'a [f64]> {
        sized(array, self.inner.width(), "weights or limits, one for each feature")
    }

    fn gains<'a>(&self, array: &'a Slice<'_, f64>) -> PyResult<&'a [f64]> {
        let gains = sized(array, self.inner.candidates(), "gains, one for each candidate")?;
        match gains.iter().position(|g| !g.is_finite()) {
            Some(at) => Err(invalid(format!("the gain of candidate {at} is not a finite number"))),
            None => Ok(gains),
        }
    }

    fn pairs(
        &self,
        starts: &Slice<'_, i64>,
        better: &Slice<'_, i64>,
        worse: &Slice<'_, i64>,
    ) -> PyResult<Pairs> {
        let (better, worse) = (better.as_slice()?, worse.as_slice()?);
        crate::columns::check_spans(
            sized(starts, self.inner.sentences() + 1, "starts of pairs")?,
            better.len(),
        )?;
        let pairs = Pairs {
            starts: starts.as_slice()?.iter().map(|&s| s as usize).collect(),
            pairs: better.iter().zip(worse).map(|(&b, &w)| (b as usize, w as usize)).collect(),
        };
        let inside = |s: usize| {
            let span = self.inner.group(s);
            pairs.of(s).iter().all(|(b, w)| span.contains(b) && span.contains(w))
        };
        if better.len() == worse.len() && (0..self.inner.sentences()).all(inside) {
            Ok(pairs)
        } else {
            Err(invalid("a pair must hold two candidates of its sentence"))
        }
    }
}

pub fn sized<'a, T: numpy::Element>(array: &'a Slice<'_, T>, size: usize, what: &str) -> PyResult<&'a [T]> {
    let slice = array.as_slice()?;
    if slice.len() == size {
        Ok(slice)
    } else {
        Err(invalid(format!("expected {size} {what}, found {}", slice.len())))
    }
}

fn options(iterations: usize, memory: usize, tolerance: f64) -> Options {
    Options { memory, iterations, decrease: tolerance, ..Options::default() }
}

/// The outcome as a dictionary; its order is fixed, so that equal records are equal files.
fn report(py: Python<'_>, outcome: Outcome) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("objective", outcome.value)?;
    dict.set_item("iterations", outcome.iterations as f64)?;
    dict.set_item("evaluations", outcome.evaluations as f64)?;
    dict.set_item("converged", f64::from(u8::from(outcome.converged)))?;
    Ok(dict)
}

#[pymethods]
impl CandidateLists {
    /// Packs sparse rows; candidates `groups[s]` up to `groups[s + 1]` belong to sentence s.
    #[new]
    fn new(
        py: Python<'_>,
        groups: Slice<'_, i64>,
        starts: Slice<'_, i64>,
        columns: Slice<'_, u32>,
        values: Slice<'_, f64>,
        width: usize,
    ) -> PyResult<Self> {
        let (groups, starts) = (groups.as_slice()?, starts.as_slice()?);
        let (columns, values) = (columns.as_slice()?, values.as_slice()?);
        let lists = py.detach(|| Lists::pack(groups, starts, columns, values, width)).map_err(to_py)?;
        Ok(Self { inner: Arc::new(lists) })
    }

    /// Packs rows in which few of all features are; these are numbered anew in the order in which they come, which
    /// does not depend on their own numbers. Gives the lists and the features' own numbers.
    #[staticmethod]
    fn renumbered<'py>(
        py: Python<'py>,
        groups: Slice<'py, i64>,
        starts: Slice<'py, i64>,
        columns: Slice<'py, u32>,
        values: Slice<'py, f64>,
    ) -> PyResult<(Self, Array<'py, u32>)> {
        let (groups, starts) = (groups.as_slice()?, starts.as_slice()?);
        let (columns, values) = (columns.as_slice()?, values.as_slice()?);
        let (lists, met) =
            py.detach(|| Lists::pack_renumbered(groups, starts, columns, values)).map_err(to_py)?;
        Ok((Self { inner: Arc::new(lists) }, met.into_pyarray(py)))
    }

    /// Number of sentences.
    fn __len__(&self) -> usize {
        self.inner.sentences()
    }

    /// The best candidate of each sentence (the first of equals), -1 where there is none.
    fn best<'py>(&self, py: Python<'py>, weights: Slice<'py, f64>) -> PyResult<Array<'py, i64>> {
        let weights = self.weights(&weights)?;
        Ok(py.detach(|| self.inner.best(weights)).into_pyarray(py))
    }

    /// For each feature, the number of sentences in whose list it occurs.
    fn sentence_counts<'py>(&self, py: Python<'py>) -> Array<'py, i64> {
        py.detach(|| self.inner.sentence_counts()).into_pyarray(py)
    }

    /// Pairs of candidates whose gains differ: (start of each sentence's pairs, the better, the worse).
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    #[pyo3(signature = (gains, *, draws, keep, threshold, seed, step))]
    fn sample_pairs<'py>(
        &self,
        py: Python<'py>,
        gains: Slice<'py, f64>,
        draws: usize,
        keep: usize,
        threshold: f64,
        seed: u64,
        step: u64,
    ) -> PyResult<(Array<'py, i64>, Array<'py, i64>, Array<'py, i64>)> {
        let gains = self.gains(&gains)?;
        let sampling = Sampling { draws, keep, threshold, seed, step };
        let pairs = py.detach(|| pairs::sample(&self.inner, gains, &sampling));
        let starts: Vec<i64> = pairs.starts.iter().map(|&s| s as i64).collect();
        let (better, worse): (Vec<i64>, Vec<i64>) =
            pairs.pairs.iter().map(|&(b, w)| (b as i64, w as i64)).unzip();
        Ok((starts.into_pyarray(py), better.into_pyarray(py), worse.into_pyarray(py)))
    }

    /// Weights that rank the pairs, by L-BFGS, and a report.
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    #[pyo3(signature = (starts, better, worse, start, lower, upper, *, l2, pull, iterations, memory, tolerance))]
    fn fit_pairs<'py>(
        &self,
        py: Python<'py>,
        starts: Slice<'py, i64>,
        better: Slice<'py, i64>,
        worse: Slice<'py, i64>,
        start: Slice<'py, f64>,
        lower: Slice<'py, f64>,
        upper: Slice<'py, f64>,
        l2: f64,
        pull: f64,
        iterations: usize,
        memory: usize,
        tolerance: f64,
    ) -> PyResult<(Array<'py, f64>, Bound<'py, PyDict>)> {
        let pairs = self.pairs(&starts, &better, &worse)?;
        let (start, bounds) = (self.weights(&start)?, (self.weights(&lower)?, self.weights(&upper)?));
        let (penalty, options) = (Penalty { l2, pull }, options(iterations, memory, tolerance));
        let (weights, outcome) =
            py.detach(|| pairs::fit(&self.inner, &pairs, start, bounds, &penalty, options));
        Ok((weights.into_pyarray(py), report(py, outcome)?))
    }

    /// The loss that `fit_pairs` lowers, and its gradient.
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (starts, better, worse, weights, start, *, l2, pull))]
    fn pair_loss<'py>(
        &self,
        py: Python<'py>,
        starts: Slice<'py, i64>,
        better: Slice<'py, i64>,
        worse: Slice<'py, i64>,
        weights: Slice<'py, f64>,
        start: Slice<'py, f64>,
        l2: f64,
        pull: f64,
    ) -> PyResult<(f64, Array<'py, f64>)> {
        let pairs = self.pairs(&starts, &better, &worse)?;
        let (weights, start) = (self.weights(&weights)?, self.weights(&start)?);
        let (value, gradient) =
            py.detach(|| pairs::loss(&self.inner, &pairs, weights, &Penalty { l2, pull }, start));
        Ok((value, gradient.into_pyarray(py)))
    }

    /// One epoch of online learning over the sentences of `order`; returns the loss. `pairs` is what `sample_pairs`
    /// gives, `options` has the fields of `dragoman.tune.online.Online`.
    fn online_epoch(
        &self,
        py: Python<'_>,
        mut learner: PyRefMut<'_, Learner>,
        gains: Slice<'_, f64>,
        pairs: PairArrays<'_>,
        order: Slice<'_, i64>,
        options: LossOptions,
    ) -> PyResult<f64> {
        let (pairs, order) = (self.pairs(&pairs.0, &pairs.1, &pairs.2)?, self.order(&order)?);
        let epoch = options.epoch(&self.inner, self.gains(&gains)?, &pairs)?;
        let learner = &mut learner.inner;
        Ok(py.detach(|| online::pass(&epoch, learner, &order)))
    }

    /// The gradient of the loss of all sentences together at `weights`, and the loss.
    fn gradient<'py>(
        &self,
        py: Python<'py>,
        gains: Slice<'py, f64>,
        pairs: PairArrays<'py>,
        weights: Slice<'py, f64>,
        options: LossOptions,
    ) -> PyResult<(Array<'py, f64>, f64)> {
        let (pairs, weights) = (self.pairs(&pairs.0, &pairs.1, &pairs.2)?, self.weights(&weights)?);
        let epoch = options.epoch(&self.inner, self.gains(&gains)?, &pairs)?;
        let (gradient, loss) = py.detach(|| online::gradient(&epoch, weights));
        Ok((gradient.into_pyarray(py), loss))
    }

    /// The expected gain at `weights` and its gradient, or (with `iterations` above 0) weights that maximise it
    /// and a report: `fit_risk` of the stub tells more. `score` maps a sum of statistics to (gain, derivatives).
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (weights, anchor, lower, upper, *, gains=None, statistics=None, score=None, gamma, l2, iterations, memory, tolerance))]
    fn fit_risk<'py>(
        &self,
        py: Python<'py>,
        weights: Slice<'py, f64>,
        anchor: Slice<'py, f64>,
        lower: Slice<'py, f64>,
        upper: Slice<'py, f64>,
        gains: Option<Slice<'py, f64>>,
        statistics: Option<PyReadonlyArray2<'py, f64>>,
        score: Option<Py<PyAny>>,
        gamma: f64,
        l2: f64,
        iterations: usize,
        memory: usize,
        tolerance: f64,
    ) -> PyResult<(Array<'py, f64>, Bound<'py, PyDict>)> {
        let options = options(iterations, memory, tolerance);
        let mut found = self.weights(&weights)?.to_vec();
        let (lower, upper) = (self.weights(&lower)?, self.weights(&upper)?);
        let outcome = self.with_risk(py, &anchor, gains, statistics, score, (gamma, l2), |risk| {
            risk::fit(risk, &mut found, lower, upper, options)
        })?;
        Ok((found.into_pyarray(py), report(py, outcome)?))
    }

    /// What `fit_risk` lowers at `weights`, and its gradient.
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (weights, anchor, *, gains=None, statistics=None, score=None, gamma, l2))]
    fn risk<'py>(
        &self,
        py: Python<'py>,
        weights: Slice<'py, f64>,
        anchor: Slice<'py, f64>,
        gains: Option<Slice<'py, f64>>,
        statistics: Option<PyReadonlyArray2<'py, f64>>,
        score: Option<Py<PyAny>>,
        gamma: f64,
        l2: f64,
    ) -> PyResult<(f64, Array<'py, f64>)> {
        use dragoman_optim::lbfgs::Objective as _;
        let at = self.weights(&weights)?;
        let mut gradient = vec![0.0; at.len()];
        let value = self.with_risk(py, &anchor, gains, statistics, score, (gamma, l2), |risk| {
            risk.evaluate(at, &mut gradient)
        })?;
        Ok((value, gradient.into_pyarray(py)))
    }
}

impl CandidateLists {
    fn order(&self, order: &Slice<'_, i64>) -> PyResult<Vec<usize>> {
        let inside = |&s: &i64| usize::try_from(s).ok().filter(|&s| s < self.inner.sentences());
        let order: Option<Vec<usize>> = order.as_slice()?.iter().map(inside).collect();
        order.ok_or_else(|| invalid("the order names a sentence that does not exist"))
    }

    /// Runs `work` on the risk with the interpreter released; it is taken back only to call `score`.
    #[allow(clippy::too_many_arguments)]
    fn with_risk<T: Send>(
        &self,
        py: Python<'_>,
        anchor: &Slice<'_, f64>,
        gains: Option<Slice<'_, f64>>,
        statistics: Option<PyReadonlyArray2<'_, f64>>,
        score: Option<Py<PyAny>>,
        (gamma, l2): (f64, f64),
        work: impl FnOnce(&mut Risk) -> T + Send,
    ) -> PyResult<T> {
        let start = self.weights(anchor)?;
        let mut failure: Option<PyErr> = None;
        let mut call = |sum: &[f64], slopes: &mut [f64]| {
            let answer = Python::attach(|py| {
                let Some(score) = &score else { return Ok((f64::NAN, Vec::new())) };
                score.call1(py, (PyArray1::from_slice(py, sum),))?.extract::<(f64, Vec<f64>)>(py)
            });
            match answer {
                Ok((value, found)) if found.len() == slopes.len() => {
                    slopes.copy_from_slice(&found);
                    value
                }
                Ok(_) => f64::NAN,
                Err(error) => {
                    failure = Some(error);
                    f64::NAN
                }
            }
        };
        let result = {
            let width = statistics.as_ref().map_or(0, |rows| rows.as_array().ncols());
            let payoff = match (&gains, &statistics) {
                (Some(gains), None) => Payoff::Sentence(self.gains(gains)?),
                (None, Some(rows)) if rows.as_array().nrows() == self.inner.candidates() => {
                    Payoff::Corpus(rows.as_slice()?, width, &mut call)
                }
                _ => return Err(invalid("expected gains or a row of statistics for each candidate")),
            };
            let mut risk = Risk { lists: &self.inner, gamma, payoff, l2, start, partials: Vec::new() };
            // SAFETY of threads: `call` alone touches Python, and attaches first.
            py.detach(|| work(&mut risk))
        };
        failure.map_or(Ok(result), Err)
    }
}

/// Starts of each sentence's pairs, the better candidates and the worse.
type PairArrays<'py> = (Slice<'py, i64>, Slice<'py, i64>, Slice<'py, i64>);

/// The options of a loss, as fields of a Python object.
#[derive(FromPyObject)]
pub struct LossOptions {
    objective: String,
    gamma: f64,
    sharpness: f64,
    factor: f64,
    reduce: String,
    batch: usize,
    lazy: bool,
}

impl LossOptions {
    fn epoch<'a>(&self, lists: &'a Lists, gains: &'a [f64], pairs: &'a Pairs) -> PyResult<Epoch<'a>> {
        let objective = match self.objective.as_str() {
            "logistic" => Objective::Logistic,
            "hinge" => Objective::Hinge,
            "hope-fear" => Objective::HopeFear,
            "expected" => Objective::Expected(self.gamma),
            "softmax" => Objective::Softmax(self.gamma, self.sharpness),
            other => return Err(invalid(format!("no objective is called `{other}`"))),
        };
        let (batch, lazy, mean) = (self.batch, self.lazy, self.reduce == "mean");
        Ok(Epoch { lists, gains, pairs, objective, batch, lazy, factor: self.factor, mean })
    }
}
