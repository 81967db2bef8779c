//! MIRA with a decoder in the loop: contexts of sentences, and walks from one to the next.

use crate::columns::check_spans;
use crate::errors::invalid;
use crate::learn::{Array, Slice, sized};
use crate::metric::NativeMetric;
use crate::mira::PyMira;
use dragoman_tune::mira::{Around, Context, Gains, List, Rules, Scorer, Unit, Walk, learner};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use std::sync::Arc;

/// What sentences are judged together with.
#[pyclass(module = "dragoman._core")]
pub struct MiraContext {
    around: Around,
    rules: (Rules, Unit),
    cap: f64,
    width: usize,
}

#[pymethods]
impl MiraContext {
    /// The context at the start of an epoch: a background (1 everywhere if none is given, as Moses' is), the corpus of
    /// some rows of statistics, one for each sentence, or nothing.
    #[new]
    #[pyo3(signature = (options, width, *, background=None, count=0.0, corpus=None))]
    fn new(
        options: PyMira,
        width: usize,
        background: Option<Slice<'_, f64>>,
        count: f64,
        corpus: Option<PyReadonlyArray2<'_, f64>>,
    ) -> PyResult<Self> {
        let rules = options.rules(width)?;
        let around = match corpus {
            _ if options.gain == "background" => {
                let row = background.map_or_else(
                    || Ok(vec![1.0; width]),
                    |row| sized(&row, width, "statistics").map(<[f64]>::to_vec),
                )?;
                options.background(row, count)?
            }
            Some(rows) if options.gain == "corpus" => {
                let rows = rows.as_slice()?.chunks_exact(width).map(|row| Some(row.to_vec())).collect();
                Around::corpus(rows, width, options.context == "latest")
            }
            _ => Around::Alone { width },
        };
        Ok(Self { around, rules, cap: options.c, width })
    }

    /// What the statistics of a candidate are added to; None if it is judged alone.
    fn others<'py>(&self, py: Python<'py>, sentence: usize) -> PyResult<Option<Array<'py, f64>>> {
        check(&self.around, sentence)?;
        let alone = self.around.alone();
        Ok((!alone).then(|| self.around.others(sentence).row.into_pyarray(py)))
    }

    /// What scores are multiplied by, where `total` is the sum of the others and the 1-best translation.
    fn unit(&self, total: Slice<'_, f64>) -> PyResult<f64> {
        let total = sized(&total, self.width, "statistics")?;
        Ok(self.rules.1.of(self.around.others(0).count, |k| total[k]))
    }

    /// Takes in the statistics of the 1-best translation, and of the oracle if it had a larger gain.
    #[pyo3(signature = (sentence, model, oracle=None))]
    fn saw(
        &mut self,
        sentence: usize,
        model: Slice<'_, f64>,
        oracle: Option<Slice<'_, f64>>,
    ) -> PyResult<()> {
        check(&self.around, sentence)?;
        let model = sized(&model, self.width, "statistics")?;
        let oracle = oracle.as_ref().map(|row| sized(row, self.width, "statistics")).transpose()?;
        self.around.saw(sentence, model, oracle);
        Ok(())
    }

    /// Statistics of the corpus, or the background.
    #[getter]
    fn sum<'py>(&self, py: Python<'py>) -> Array<'py, f64> {
        total(&self.around).row.into_pyarray(py)
    }

    /// How many sentences that is.
    #[getter]
    fn count(&self) -> f64 {
        total(&self.around).count
    }
}

/// A walk of MIRA over some sentences, each with a list of its own.
#[pyclass(module = "dragoman._core")]
pub struct MiraWalk {
    walk: Walk,
    /// The metric for sentences alone, the metric, its sign and its scale; None if gains are given.
    metric: Option<(Arc<dyn dragoman_metric::Metric>, Arc<dyn dragoman_metric::Metric>)>,
    sign: f64,
    scale: f64,
    width: usize,
}

#[pymethods]
impl MiraWalk {
    /// Starts with weights, of which some are fixed, in a context. `metric` is a native metric's form for sentences
    /// alone and itself; without it `visit` is to be given scores.
    #[new]
    #[pyo3(signature = (context, weights, fixed, metric=None, *, sign=1.0, scale=1.0))]
    fn new(
        context: &MiraContext,
        weights: Slice<'_, f64>,
        fixed: Vec<u32>,
        metric: Option<(PyRef<'_, NativeMetric>, PyRef<'_, NativeMetric>)>,
        sign: f64,
        scale: f64,
    ) -> PyResult<Self> {
        let start = (weights.as_slice()?.to_vec(), Vec::new(), 0);
        let mut learner = learner(context.cap, &(Vec::new(), Vec::new()), start);
        for id in fixed {
            let weight = learner.value(id);
            learner.bound(id, weight, weight);
        }
        learner.watch();
        let width = context.width;
        let metric = metric.map(|(level, whole)| (Arc::clone(&level.inner), Arc::clone(&whole.inner)));
        if metric.as_ref().is_some_and(|(level, whole)| level.width() != width || whole.width() != width) {
            return Err(invalid(format!("expected a metric with {width} statistics")));
        }
        let walk = Walk::new(context.rules, learner, context.around.clone(), width);
        Ok(Self { walk, metric, sign, scale, width })
    }

    /// Bounds a weight from now on; equal bounds fix it.
    fn bound(&mut self, feature: u32, lower: f64, upper: f64) {
        self.walk.learner.bound(feature, lower, upper);
    }

    /// Visits a sentence whose candidates have these sparse rows and statistics. `scores` are the candidates' gains
    /// without the unit, for a walk without a native metric.
    #[pyo3(signature = (sentence, starts, columns, values, statistics, scores=None))]
    #[allow(clippy::too_many_arguments)] // one per column
    fn visit(
        &mut self,
        py: Python<'_>,
        sentence: usize,
        starts: Slice<'_, i64>,
        columns: Slice<'_, u32>,
        values: Slice<'_, f64>,
        statistics: PyReadonlyArray2<'_, f64>,
        scores: Option<Slice<'_, f64>>,
    ) -> PyResult<()> {
        let (starts, columns, values) = (starts.as_slice()?, columns.as_slice()?, values.as_slice()?);
        check_spans(starts, columns.len().min(values.len()))?;
        self.check(sentence)?;
        if statistics.shape() != [starts.len() - 1, self.width] {
            return Err(invalid(format!("expected a row of {} statistics for each candidate", self.width)));
        }
        let scores = scores.as_ref().map(|scores| sized(scores, starts.len() - 1, "scores")).transpose()?;
        if scores.is_some_and(|scores| scores.iter().any(|score| !score.is_finite())) {
            return Err(invalid(format!("a gain of sentence {sentence} is not a finite number")));
        }
        let (sign, scale) = (self.sign, self.scale);
        let scorer = |metric| Scorer { metric, sign, scale };
        let gains = match (scores, &self.metric) {
            (Some(scores), _) => Gains::Given(scores),
            (None, Some((level, whole))) => Gains::Native(scorer(level.as_ref()), scorer(whole.as_ref())),
            (None, None) => return Err(invalid("expected scores: this walk has no native metric")),
        };
        let list = List { starts, columns, values, rows: statistics.as_slice()? };
        py.detach(|| self.walk.visit(sentence, list, gains));
        Ok(())
    }

    /// What the statistics of a candidate are added to; None if it is judged alone.
    fn others<'py>(&self, py: Python<'py>, sentence: usize) -> PyResult<Option<Array<'py, f64>>> {
        self.check(sentence)?;
        let around = &self.walk.around;
        Ok((!around.alone()).then(|| around.others(sentence).row.into_pyarray(py)))
    }

    /// What scores of a sentence are multiplied by if its 1-best translation has these statistics.
    fn unit(&self, sentence: usize, best: Slice<'_, f64>) -> PyResult<f64> {
        self.check(sentence)?;
        Ok(self.walk.unit(sentence, sized(&best, self.width, "statistics")?))
    }

    /// The weights now of the first `width` features.
    fn weights<'py>(&self, py: Python<'py>, width: usize) -> Array<'py, f64> {
        wide(self.walk.learner.weights().to_vec(), width).into_pyarray(py)
    }

    /// The mean of the start and the weights after each update, of the first `width` features.
    fn mean<'py>(&mut self, py: Python<'py>, width: usize) -> Array<'py, f64> {
        wide(self.walk.learner.mean(), width).into_pyarray(py)
    }

    /// The features whose weights have changed since the last call, and their weights.
    fn changes<'py>(&mut self, py: Python<'py>) -> (Array<'py, u32>, Array<'py, f64>) {
        let (ids, values): (Vec<u32>, Vec<f64>) =
            self.walk.learner.changes().unwrap_or_default().into_iter().unzip();
        (ids.into_pyarray(py), values.into_pyarray(py))
    }

    /// The sentences that were visited, and the statistics of their 1-best translations.
    #[allow(clippy::type_complexity)]
    fn seen<'py>(&self, py: Python<'py>) -> PyResult<(Array<'py, i64>, Bound<'py, PyArray2<f64>>)> {
        let ids: Vec<i64> = self.walk.seen.iter().map(|(s, _)| *s as i64).collect();
        let rows: Vec<f64> = self.walk.seen.iter().flat_map(|(_, row)| row.iter().copied()).collect();
        let rows = rows.into_pyarray(py).reshape([ids.len(), self.width])?;
        Ok((ids.into_pyarray(py), rows))
    }

    /// The sums of the statistics of the oracles and of the predictions.
    fn met<'py>(&self, py: Python<'py>) -> (Array<'py, f64>, Array<'py, f64>) {
        (PyArray1::from_slice(py, &self.walk.met.0.row), PyArray1::from_slice(py, &self.walk.met.1.row))
    }

    /// The context after the visits: its statistics, and the number of sentences in it.
    fn context<'py>(&self, py: Python<'py>) -> (Array<'py, f64>, f64) {
        let Context { row, count } = total(&self.walk.around);
        (row.into_pyarray(py), count)
    }

    /// Number of updates.
    #[getter]
    fn updates(&self) -> u64 {
        self.walk.told.updates
    }

    /// Sum of the losses that led to them.
    #[getter]
    fn loss(&self) -> f64 {
        self.walk.told.loss
    }

    /// Sentences whose candidates differ in gain.
    #[getter]
    fn differing(&self) -> usize {
        self.walk.told.differing
    }

    /// Sentences without candidates.
    #[getter]
    fn empty(&self) -> usize {
        self.walk.told.empty
    }
}

impl MiraWalk {
    fn check(&self, sentence: usize) -> PyResult<()> {
        check(&self.walk.around, sentence)
    }
}

/// So many weights: the learner may know fewer features than there are, or have room for more.
fn wide(mut weights: Vec<f64>, width: usize) -> Vec<f64> {
    weights.resize(width, 0.0);
    weights
}

/// The sum that a context holds.
fn total(around: &Around) -> Context {
    match around {
        Around::Alone { width } => Context::nothing(*width),
        Around::Background { sum, .. } => sum.clone(),
        Around::Corpus { total, .. } => total.clone(),
    }
}

fn check(around: &Around, sentence: usize) -> PyResult<()> {
    match around {
        Around::Corpus { rows, .. } if sentence >= rows.len() => {
            Err(invalid(format!("there is no sentence {sentence}")))
        }
        _ => Ok(()),
    }
}
