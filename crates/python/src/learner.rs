//! The learner of all online learning.

use crate::errors::invalid;
use crate::learn::{Array, Slice, sized};
use dragoman_optim::{Average, Memory, Rule};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

/// An update rule and what it needs, as fields of a Python object.
#[derive(FromPyObject)]
pub struct RuleOptions {
    updater: String,
    rate: f64,
    epsilon: f64,
    l1: f64,
    prior: f64,
    c: f64,
    min_count: u32,
    average: bool,
}

impl RuleOptions {
    fn rule(&self) -> PyResult<Rule> {
        let Self { rate, epsilon, l1, prior, c, .. } = *self;
        match self.updater.as_str() {
            "sgd" => Ok(Rule::Sgd { rate }),
            "adagrad" => Ok(Rule::AdaGrad { rate, epsilon, l1 }),
            "arow" => Ok(Rule::Arow { rate, prior }),
            "passive-aggressive" => Ok(Rule::PassiveAggressive { cap: c }),
            other => Err(invalid(format!("no updater is called `{other}`"))),
        }
    }
}

/// Weights that learn from gradients; a step costs what its gradient touches.
#[pyclass(module = "dragoman._core")]
pub struct Learner {
    pub inner: dragoman_optim::Learner,
}

#[pymethods]
impl Learner {
    /// Goes on from the arrays of an earlier one. `options` has the fields of `dragoman.tune.online.Online`; with
    /// `watch` the learner can tell `changes`.
    #[new]
    #[allow(clippy::too_many_arguments)] // the arrays that a checkpoint keeps
    #[pyo3(signature = (options, weights, *, squares=None, sums=None, counts=None, time=0, watch=false))]
    fn new(
        options: RuleOptions,
        weights: Slice<'_, f64>,
        squares: Option<Slice<'_, f64>>,
        sums: Option<Slice<'_, f64>>,
        counts: Option<Slice<'_, i64>>,
        time: u64,
        watch: bool,
    ) -> PyResult<Self> {
        let array = |given: Option<Slice<'_, f64>>| -> PyResult<Vec<f64>> {
            given.map_or(Ok(Vec::new()), |array| Ok(array.as_slice()?.to_vec()))
        };
        let counts = counts.map_or(Ok(Vec::new()), |array| sentences(array.as_slice()?))?;
        let memory = Memory {
            weights: weights.as_slice()?.to_vec(),
            squares: array(squares)?,
            sums: array(sums)?,
            counts,
            time,
        };
        let average = if options.average { Average::Steps } else { Average::None };
        let mut inner =
            dragoman_optim::Learner::new(options.rule()?, average, memory).with_min_count(options.min_count);
        if watch {
            inner.watch();
        }
        Ok(Self { inner })
    }

    /// Keeps the weights of some features between limits; equal ones fix a weight.
    fn bound(
        &mut self,
        columns: Slice<'_, u32>,
        lower: Slice<'_, f64>,
        upper: Slice<'_, f64>,
    ) -> PyResult<()> {
        let columns = columns.as_slice()?;
        let lower = sized(&lower, columns.len(), "lower limits")?;
        let upper = sized(&upper, columns.len(), "upper limits")?;
        for (&id, (&lower, &upper)) in columns.iter().zip(lower.iter().zip(upper)) {
            self.inner.bound(id, lower, upper);
        }
        Ok(())
    }

    /// One step along the gradient of a loss; each feature is named once. `seen` is the number of sentences in which
    /// each was.
    #[pyo3(signature = (columns, gradient, loss, seen=None))]
    fn step(
        &mut self,
        columns: Slice<'_, u32>,
        gradient: Slice<'_, f64>,
        loss: f64,
        seen: Option<Slice<'_, i64>>,
    ) -> PyResult<()> {
        let columns = columns.as_slice()?;
        let gradient = sized(&gradient, columns.len(), "slopes, one for each feature")?;
        if let Some(seen) = &seen {
            let seen = sentences(sized(seen, columns.len(), "counts, one for each feature")?)?;
            columns.iter().zip(seen).for_each(|(&id, count)| self.inner.count(id, count));
        }
        let gradient: Vec<(u32, f64)> = columns.iter().copied().zip(gradient.iter().copied()).collect();
        if self.inner.repeats(&gradient) {
            return Err(invalid("a feature has two slopes"));
        }
        self.inner.step(&gradient, loss);
        Ok(())
    }

    /// The weights of some features.
    fn values<'py>(&mut self, py: Python<'py>, columns: Slice<'py, u32>) -> PyResult<Array<'py, f64>> {
        let found: Vec<f64> = columns.as_slice()?.iter().map(|&id| self.inner.value(id)).collect();
        Ok(found.into_pyarray(py))
    }

    /// The features whose weights have changed since the last call, or since the learner was made, and these weights.
    fn changes<'py>(&mut self, py: Python<'py>) -> PyResult<(Array<'py, u32>, Array<'py, f64>)> {
        let changes = self.inner.changes().ok_or_else(|| invalid("this learner does not watch changes"))?;
        let (columns, values): (Vec<u32>, Vec<f64>) = changes.into_iter().unzip();
        Ok((columns.into_pyarray(py), values.into_pyarray(py)))
    }

    /// All weights.
    fn weights<'py>(&mut self, py: Python<'py>) -> Array<'py, f64> {
        PyArray1::from_slice(py, &self.inner.memory().weights)
    }

    /// Sums of squared gradients, as many as weights; zeros if the rule keeps none.
    fn squares<'py>(&mut self, py: Python<'py>) -> Array<'py, f64> {
        let memory = self.inner.memory();
        if memory.squares.is_empty() {
            return PyArray1::zeros(py, memory.weights.len(), false);
        }
        PyArray1::from_slice(py, &memory.squares)
    }

    /// Sums of the weights after each step; none if no average is wanted.
    fn sums<'py>(&mut self, py: Python<'py>) -> Array<'py, f64> {
        PyArray1::from_slice(py, &self.inner.memory().sums)
    }

    /// In how many sentences each feature was seen; none if that does not matter.
    fn counts<'py>(&mut self, py: Python<'py>) -> Array<'py, i64> {
        PyArray1::from_iter(py, self.inner.memory().counts.iter().map(|&count| i64::from(count)))
    }

    /// Number of steps in the sums.
    #[getter]
    fn time(&self) -> u64 {
        self.inner.time()
    }

    /// The average of all weights after each step, or the weights if none is wanted.
    fn mean<'py>(&mut self, py: Python<'py>) -> Array<'py, f64> {
        self.inner.mean().into_pyarray(py)
    }

    /// Forgets the average and starts another.
    fn restart(&mut self) {
        self.inner.restart();
    }
}

/// Counts of sentences.
fn sentences(counts: &[i64]) -> PyResult<Vec<u32>> {
    let counts: Option<Vec<u32>> = counts.iter().map(|&count| u32::try_from(count).ok()).collect();
    counts.ok_or_else(|| invalid("expected counts of sentences, which are not negative"))
}
