//! MIRA on packed candidate lists, and with a decoder in the loop.

use crate::errors::{invalid, to_py};
use crate::learn::{Array, CandidateLists, Slice, sized};
use crate::metric::NativeMetric;
use crate::threads;
use dragoman_optim::Memory;
use dragoman_tune::lists::Lists;
use dragoman_tune::mira::{
    Around, Context, Feed, Judged, Oracle, Prediction, Rules, Run, Scorer, Unit, learner,
};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::sync::Arc;

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

/// How to learn, read from the fields of a Python object: `dragoman.tune.mira.Mira`.
#[derive(FromPyObject)]
pub struct PyMira {
    oracle: String,
    prediction: String,
    local: usize,
    near: usize,
    pub c: f64,
    unit: String,
    length_column: usize,
    pub gain: String,
    pub context: String,
    decay: f64,
    feed: String,
}

pub fn oracle(name: &str, local: usize) -> PyResult<Oracle> {
    match name {
        "lu" => Ok(Oracle::Local(local)),
        "mb" => Ok(Oracle::MaxGain),
        "hope" => Ok(Oracle::Hope),
        _ => Err(invalid(format!("expected lu, mb or hope, found `{name}`"))),
    }
}

pub fn prediction(name: &str) -> PyResult<Prediction> {
    match name {
        "pb" => Ok(Prediction::Model),
        "mc" => Ok(Prediction::MaxCost),
        "fear" => Ok(Prediction::Fear),
        _ => Err(invalid(format!("expected pb, mc or fear, found `{name}`"))),
    }
}

pub fn feed(name: &str) -> PyResult<Feed> {
    match name {
        "oracle" => Ok(Feed::Oracle),
        "model" => Ok(Feed::Model),
        _ => Err(invalid(format!("expected oracle or model, found `{name}`"))),
    }
}

impl PyMira {
    /// What is told apart, and what gains are counted in.
    pub fn rules(&self, width: usize) -> PyResult<(Rules, Unit)> {
        let oracle = oracle(&self.oracle, self.local)?;
        Ok((Rules { oracle, prediction: prediction(&self.prediction)?, near: self.near }, self.unit(width)?))
    }

    fn unit(&self, width: usize) -> PyResult<Unit> {
        match self.unit.as_str() {
            "score" => Ok(Unit::Score),
            "sentence" => Ok(Unit::Sentence),
            "length" if self.length_column < width => Ok(Unit::Statistic(self.length_column)),
            "length" => Err(invalid(format!("MIRA: length_column must be below {width}"))),
            other => Err(invalid(format!("expected score, sentence or length, found `{other}`"))),
        }
    }

    pub fn background(&self, row: Vec<f64>, count: f64) -> PyResult<Around> {
        Ok(Around::Background { sum: Context { row, count }, decay: self.decay, feed: feed(&self.feed)? })
    }
}

/// A pass of MIRA over sentences. It lives for one step of a tuner.
#[pyclass(module = "dragoman._core")]
pub struct MiraRun {
    run: Run,
    width: usize,
    sizes: Vec<usize>,
}

#[pymethods]
impl MiraRun {
    /// Goes on from `weights`, `drift` and `updates`. With `background` gains are scored on top of it; with
    /// `choice` inside the sum of these candidates, one for each sentence (-1 for none).
    #[new]
    #[allow(clippy::too_many_arguments)] // the state of a run
    #[pyo3(signature = (judged, options, weights, drift, updates, lower, upper, *, background=None, count=0.0, choice=None))]
    fn new(
        judged: &JudgedLists,
        options: PyMira,
        weights: Slice<'_, f64>,
        drift: Slice<'_, f64>,
        updates: u64,
        lower: Slice<'_, f64>,
        upper: Slice<'_, f64>,
        background: Option<Slice<'_, f64>>,
        count: f64,
        choice: Option<Slice<'_, i64>>,
    ) -> PyResult<Self> {
        let (lists, width) = (&judged.lists, judged.judged.width());
        let all = |array: &Slice<'_, f64>| {
            sized(array, lists.width(), "numbers, one for each feature").map(<[f64]>::to_vec)
        };
        let around = match (background, choice) {
            (Some(row), None) => options.background(sized(&row, width, "statistics")?.to_vec(), count)?,
            (None, Some(choice)) => judged.corpus(sized(&choice, lists.sentences(), "choices")?)?,
            (None, None) => Around::Alone { width },
            _ => return Err(invalid("expected a background or a choice, not both")),
        };
        let start = (all(&weights)?, all(&drift)?, updates);
        let learner = learner(options.c, &(all(&lower)?, all(&upper)?), start);
        let pool = (Arc::clone(lists), Arc::clone(&judged.judged));
        let run = Run::new(pool, options.rules(width)?, learner, around);
        let sizes = (0..lists.sentences()).map(|s| lists.group(s).len()).collect();
        Ok(Self { run, width, sizes })
    }

    /// What a candidate's statistics are added to before scoring.
    fn others<'py>(&self, py: Python<'py>, sentence: usize) -> PyResult<Array<'py, f64>> {
        self.check(sentence)?;
        Ok(self.run.around.others(sentence).row.into_pyarray(py))
    }

    /// Visits a sentence whose candidates have these gains, still without the unit.
    fn visit(&mut self, sentence: usize, gains: Slice<'_, f64>) -> PyResult<()> {
        self.check(sentence)?;
        let gains = sized(&gains, self.sizes[sentence], "gains of the sentence's candidates")?;
        if gains.iter().any(|g| !g.is_finite()) {
            return Err(invalid(format!("a gain of sentence {sentence} is not a finite number")));
        }
        self.run.visit(sentence, gains);
        Ok(())
    }

    /// Visits the sentences of `order` with gains that are given for all candidates, still without the unit.
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

    /// Visits the sentences of `order` with the gains of a native metric in context: `sign * score / scale`, times the
    /// unit.
    fn visit_native(
        &mut self,
        py: Python<'_>,
        order: Slice<'_, i64>,
        metric: &NativeMetric,
        sign: f64,
        scale: f64,
    ) -> PyResult<()> {
        let order = self.order(&order)?;
        if self.width != metric.inner.width() {
            return Err(invalid(format!("expected rows of {} statistics", metric.inner.width())));
        }
        let scorer = Scorer { metric: metric.inner.as_ref(), sign, scale };
        threads::run(py, || order.into_iter().for_each(|s| self.run.visit_native(s, scorer)));
        Ok(())
    }

    /// The state after the visits: (weights, drift, updates, 1-best candidates when visited).
    #[allow(clippy::type_complexity)]
    fn state<'py>(&mut self, py: Python<'py>) -> (Array<'py, f64>, Array<'py, f64>, u64, Array<'py, i64>) {
        let Memory { weights, sums, time, .. } = self.run.learner.memory();
        (
            PyArray1::from_slice(py, weights),
            PyArray1::from_slice(py, sums),
            *time,
            PyArray1::from_slice(py, &self.run.seen),
        )
    }

    /// The background after the visits, and the number of sentences in it.
    fn background<'py>(&self, py: Python<'py>) -> (Array<'py, f64>, f64) {
        match &self.run.around {
            Around::Background { sum, .. } => (PyArray1::from_slice(py, &sum.row), sum.count),
            _ => (PyArray1::zeros(py, 0, false), 0.0),
        }
    }

    /// The sums of the statistics of the oracles and of the predictions that were visited.
    fn met<'py>(&self, py: Python<'py>) -> (Array<'py, f64>, Array<'py, f64>) {
        (PyArray1::from_slice(py, &self.run.met.0.row), PyArray1::from_slice(py, &self.run.met.1.row))
    }
}

impl MiraRun {
    fn check(&self, sentence: usize) -> PyResult<()> {
        if sentence < self.sizes.len() {
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
    fn corpus(&self, choice: &[i64]) -> PyResult<Around> {
        let row = |(s, &at): (usize, &i64)| {
            let span = self.lists.group(s);
            match usize::try_from(at) {
                Err(_) => Ok(None),
                Ok(at) if span.contains(&at) => Ok(Some(self.judged.row(&self.lists, s, at - span.start))),
                Ok(_) => Err(invalid(format!("candidate {at} does not belong to sentence {s}"))),
            }
        };
        let rows = choice.iter().enumerate().map(row).collect::<PyResult<_>>()?;
        Ok(Around::corpus(rows, self.judged.width(), false))
    }
}
