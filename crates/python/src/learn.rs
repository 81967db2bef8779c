//! Learning on packed candidate lists: pairs, logistic ranking, MIRA, online updates, risk.

use crate::errors::{invalid, to_py};
use crate::metric::NativeMetric;
use crate::threads;
use dragoman_tune::lbfgs::{Options, Outcome};
use dragoman_tune::lists::Lists;
use dragoman_tune::mira::{
    Context, Feed, Judged, Oracle, Prediction, Rules, Run, Scorer, Surroundings, Unit,
};
use dragoman_tune::online::{self, Epoch, Learner, Objective, Updater};
use dragoman_tune::pairs::{self, Pairs, Penalty, Sampling};
use dragoman_tune::risk::{self, Payoff, Risk};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

type Array<'py, T> = Bound<'py, PyArray1<T>>;
type Slice<'py, T> = PyReadonlyArray1<'py, T>;

/// Candidate lists packed for learning; made once, read by every step.
#[pyclass(frozen, module = "dragoman._core")]
pub struct CandidateLists {
    inner: Arc<Lists>,
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
        let lists =
            threads::run(py, || Lists::pack(groups, starts, columns, values, width)).map_err(to_py)?;
        Ok(Self { inner: Arc::new(lists) })
    }

    /// Number of sentences.
    fn __len__(&self) -> usize {
        self.inner.sentences()
    }

    /// The best candidate of each sentence (the first of equals), -1 where there is none.
    fn best<'py>(&self, py: Python<'py>, weights: Slice<'py, f64>) -> PyResult<Array<'py, i64>> {
        let weights = self.weights(&weights)?;
        Ok(threads::run(py, || self.inner.best(weights)).into_pyarray(py))
    }

    /// For each feature, the number of sentences in whose list it occurs.
    fn sentence_counts<'py>(&self, py: Python<'py>) -> Array<'py, i64> {
        threads::run(py, || self.inner.sentence_counts()).into_pyarray(py)
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
        let pairs = threads::run(py, || pairs::sample(&self.inner, gains, &sampling));
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
            threads::run(py, || pairs::fit(&self.inner, &pairs, start, bounds, &penalty, options));
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
            threads::run(py, || pairs::loss(&self.inner, &pairs, weights, &Penalty { l2, pull }, start));
        Ok((value, gradient.into_pyarray(py)))
    }

    /// One epoch of online learning: (weights, squares, sums, time, loss). Objective and updater are a name and
    /// numbers; see `dragoman.tune.online`.
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    #[pyo3(signature = (gains, starts, better, worse, order, weights, squares, sums, time, lower, upper, movable, *, objective, updater, batch, factor, mean))]
    fn online_epoch<'py>(
        &self,
        py: Python<'py>,
        gains: Slice<'py, f64>,
        starts: Slice<'py, i64>,
        better: Slice<'py, i64>,
        worse: Slice<'py, i64>,
        order: Slice<'py, i64>,
        weights: Slice<'py, f64>,
        squares: Slice<'py, f64>,
        sums: Slice<'py, f64>,
        time: u64,
        lower: Slice<'py, f64>,
        upper: Slice<'py, f64>,
        movable: Slice<'py, bool>,
        objective: (String, Vec<f64>),
        updater: (String, Vec<f64>),
        batch: usize,
        factor: f64,
        mean: bool,
    ) -> PyResult<(Array<'py, f64>, Array<'py, f64>, Array<'py, f64>, u64, f64)> {
        let pairs = self.pairs(&starts, &better, &worse)?;
        let order = self.order(&order)?;
        let sums = sums.as_slice()?.to_vec();
        if !sums.is_empty() && sums.len() != self.inner.width() {
            return Err(invalid("expected a sum for each feature, or none"));
        }
        let mut learner = Learner {
            weights: self.weights(&weights)?.to_vec(),
            squares: self.weights(&squares)?.to_vec(),
            sums,
            time,
        };
        let epoch = Epoch {
            lists: &self.inner,
            gains: self.gains(&gains)?,
            pairs: &pairs,
            objective: objective_of(&objective)?,
            updater: updater_of(&updater)?,
            batch,
            factor,
            mean,
            bounds: (self.weights(&lower)?, self.weights(&upper)?),
            movable: sized(&movable, self.inner.width(), "marks")?,
        };
        let loss = threads::run(py, || online::pass(&epoch, &mut learner, &order));
        let Learner { weights, squares, sums, time } = learner;
        Ok((weights.into_pyarray(py), squares.into_pyarray(py), sums.into_pyarray(py), time, loss))
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
        use dragoman_tune::lbfgs::Objective as _;
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
            threads::run(py, || work(&mut risk))
        };
        failure.map_or(Ok(result), Err)
    }
}

fn objective_of((name, numbers): &(String, Vec<f64>)) -> PyResult<Objective> {
    match (name.as_str(), numbers.as_slice()) {
        ("logistic", []) => Ok(Objective::Logistic),
        ("hinge", []) => Ok(Objective::Hinge),
        ("hope-fear", []) => Ok(Objective::HopeFear),
        ("expected", &[gamma]) => Ok(Objective::Expected(gamma)),
        ("softmax", &[gamma, sharpness]) => Ok(Objective::Softmax(gamma, sharpness)),
        _ => Err(invalid(format!("no objective is called `{name}` and has {} numbers", numbers.len()))),
    }
}

fn updater_of((name, numbers): &(String, Vec<f64>)) -> PyResult<Updater> {
    match (name.as_str(), numbers.as_slice()) {
        ("sgd", &[rate]) => Ok(Updater::Sgd { rate }),
        ("adagrad", &[rate, epsilon, l1, lazy]) => {
            Ok(Updater::AdaGrad { rate, epsilon, l1, lazy: lazy != 0.0 })
        }
        ("arow", &[rate, prior]) => Ok(Updater::Arow { rate, prior }),
        ("passive-aggressive", &[cap]) => Ok(Updater::PassiveAggressive { cap }),
        _ => Err(invalid(format!("no updater is called `{name}` and has {} numbers", numbers.len()))),
    }
}

/// The statistics of all candidates, packed for MIRA.
#[pyclass(frozen, module = "dragoman._core")]
pub struct JudgedLists {
    lists: Arc<Lists>,
    judged: Arc<Judged>,
}

#[pymethods]
impl JudgedLists {
    #[new]
    fn new(py: Python<'_>, lists: &CandidateLists, statistics: PyReadonlyArray2<'_, f64>) -> PyResult<Self> {
        let (rows, width) = (statistics.as_slice()?, statistics.as_array().ncols());
        let judged = threads::run(py, || Judged::pack(&lists.inner, rows, width)).map_err(to_py)?;
        Ok(Self { lists: Arc::clone(&lists.inner), judged: Arc::new(judged) })
    }
}

/// A pass of MIRA over sentences. It lives for one step of a tuner.
#[pyclass(module = "dragoman._core")]
pub struct MiraRun {
    run: Run,
    sentences: usize,
    sizes: Vec<usize>,
}

pub fn rules(
    oracle: &str,
    prediction: &str,
    local: usize,
    c: f64,
    decay: f64,
    feed: &str,
) -> PyResult<Rules> {
    Ok(Rules {
        oracle: match oracle {
            "lu" => Oracle::Local(local),
            "mb" => Oracle::MaxGain,
            "hope" => Oracle::Hope,
            _ => return Err(invalid(format!("expected lu, mb or hope, found `{oracle}`"))),
        },
        prediction: match prediction {
            "pb" => Prediction::Model,
            "mc" => Prediction::MaxCost,
            "fear" => Prediction::Fear,
            _ => return Err(invalid(format!("expected pb, mc or fear, found `{prediction}`"))),
        },
        cap: c,
        decay,
        feed: match feed {
            "oracle" => Feed::Oracle,
            "model" => Feed::Model,
            _ => return Err(invalid(format!("expected oracle or model, found `{feed}`"))),
        },
    })
}

#[pymethods]
impl MiraRun {
    /// Goes on from `weights`, `drift` and `updates`. With `background` gains are scored on top of it; with
    /// `choice` inside the sum of these candidates, one for each sentence (-1 for none).
    #[new]
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (judged, weights, drift, updates, lower, upper, *, oracle, prediction, local, c, decay, feed, background=None, count=0.0, choice=None))]
    fn new(
        judged: &JudgedLists,
        weights: Slice<'_, f64>,
        drift: Slice<'_, f64>,
        updates: u64,
        lower: Slice<'_, f64>,
        upper: Slice<'_, f64>,
        oracle: &str,
        prediction: &str,
        local: usize,
        c: f64,
        decay: f64,
        feed: &str,
        background: Option<Slice<'_, f64>>,
        count: f64,
        choice: Option<Slice<'_, i64>>,
    ) -> PyResult<Self> {
        let (lists, width) = (&judged.lists, judged.lists.width());
        let all = |array: &Slice<'_, f64>| {
            sized(array, width, "numbers, one for each feature").map(<[f64]>::to_vec)
        };
        let around = match (background, choice) {
            (Some(row), None) => {
                let row = sized(&row, judged.judged.width(), "statistics")?.to_vec();
                Surroundings::Background(Context { row, count })
            }
            (None, Some(choice)) => judged.corpus(sized(&choice, lists.sentences(), "choices")?)?,
            (None, None) => Surroundings::None,
            _ => return Err(invalid("expected a background or a choice, not both")),
        };
        let run = Run::new(
            (Arc::clone(lists), Arc::clone(&judged.judged)),
            rules(oracle, prediction, local, c, decay, feed)?,
            (all(&lower)?, all(&upper)?),
            (all(&weights)?, all(&drift)?, updates),
            around,
        );
        let sizes = (0..lists.sentences()).map(|s| lists.group(s).len()).collect();
        Ok(Self { run, sentences: lists.sentences(), sizes })
    }

    /// What a candidate's statistics are added to before scoring, and the number of sentences in that sum.
    fn context<'py>(&self, py: Python<'py>, sentence: usize) -> PyResult<(Array<'py, f64>, f64)> {
        self.check(sentence)?;
        let context = self.run.context(sentence);
        Ok((context.row.into_pyarray(py), context.count))
    }

    /// Visits a sentence whose candidates have these gains.
    fn visit(&mut self, sentence: usize, gains: Slice<'_, f64>) -> PyResult<()> {
        self.check(sentence)?;
        let gains = sized(&gains, self.sizes[sentence], "gains of the sentence's candidates")?;
        if gains.iter().any(|g| !g.is_finite()) {
            return Err(invalid(format!("a gain of sentence {sentence} is not a finite number")));
        }
        self.run.visit(sentence, gains);
        Ok(())
    }

    /// Visits the sentences of `order` with gains that are given for all candidates.
    fn visit_all(&mut self, py: Python<'_>, order: Slice<'_, i64>, gains: Slice<'_, f64>) -> PyResult<()> {
        let order = self.order(&order)?;
        let gains = sized(&gains, self.sizes.iter().sum(), "gains, one for each candidate")?;
        if let Some(at) = gains.iter().position(|g| !g.is_finite()) {
            return Err(invalid(format!("the gain of candidate {at} is not a finite number")));
        }
        let mut starts = vec![0];
        starts.extend(self.sizes.iter().scan(0, |sum, n| {
            *sum += n;
            Some(*sum)
        }));
        threads::run(py, || {
            for s in order {
                self.run.visit(s, &gains[starts[s]..starts[s + 1]]);
            }
        });
        Ok(())
    }

    /// Visits the sentences of `order` with the gains of a native metric in context: `sign * score / scale` times
    /// `unit` ("score", "sentence", or the number of a statistic).
    fn visit_native(
        &mut self,
        py: Python<'_>,
        order: Slice<'_, i64>,
        metric: &NativeMetric,
        sign: f64,
        scale: f64,
        unit: &str,
    ) -> PyResult<()> {
        let order = self.order(&order)?;
        let width = metric.inner.width();
        if self.run.context(0).row.len() != width {
            return Err(invalid(format!("expected rows of {width} statistics")));
        }
        let unit = match unit {
            "score" => Unit::Score,
            "sentence" => Unit::Sentence,
            _ => match unit.parse() {
                Ok(k) if k < width => Unit::Statistic(k),
                _ => return Err(invalid(format!("expected score, sentence or a statistic, found `{unit}`"))),
            },
        };
        let scorer = Scorer { metric: metric.inner.as_ref(), sign, scale, unit };
        threads::run(py, || {
            for s in order {
                self.run.visit_native(s, &scorer);
            }
        });
        Ok(())
    }

    /// The state after the visits: (weights, drift, updates, 1-best candidates when visited).
    #[allow(clippy::type_complexity)]
    fn state<'py>(&self, py: Python<'py>) -> (Array<'py, f64>, Array<'py, f64>, u64, Array<'py, i64>) {
        (
            PyArray1::from_slice(py, &self.run.walk.weights),
            PyArray1::from_slice(py, &self.run.walk.drift),
            self.run.walk.updates,
            PyArray1::from_slice(py, &self.run.seen),
        )
    }

    /// The background after the visits, and the number of sentences in it.
    fn background<'py>(&self, py: Python<'py>) -> (Array<'py, f64>, f64) {
        match &self.run.around {
            Surroundings::Background(context) => (PyArray1::from_slice(py, &context.row), context.count),
            _ => (PyArray1::zeros(py, 0, false), 0.0),
        }
    }
}

impl MiraRun {
    fn check(&self, sentence: usize) -> PyResult<()> {
        if sentence < self.sentences {
            Ok(())
        } else {
            Err(invalid(format!("there is no sentence {sentence}")))
        }
    }

    fn order(&self, order: &Slice<'_, i64>) -> PyResult<Vec<usize>> {
        let order: Vec<usize> = order.as_slice()?.iter().map(|&s| s as usize).collect();
        order.iter().try_for_each(|&s| self.check(s))?;
        Ok(order)
    }
}

impl JudgedLists {
    fn corpus(&self, choice: &[i64]) -> PyResult<Surroundings> {
        let mut total = Context { row: vec![0.0; self.judged.width()], count: 0.0 };
        for (s, &at) in choice.iter().enumerate().filter(|e| *e.1 >= 0) {
            let span = self.lists.group(s);
            if !span.contains(&(at as usize)) {
                return Err(invalid(format!("candidate {at} does not belong to sentence {s}")));
            }
            self.judged.add(&self.lists, s, at as usize - span.start, 1.0, &mut total.row);
            total.count += 1.0;
        }
        Ok(Surroundings::Corpus(total, choice.to_vec()))
    }
}
