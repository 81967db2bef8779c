//! MIRA on packed candidate lists.

use crate::errors::{invalid, to_py};
use crate::learn::{Array, CandidateLists, Slice, sized};
use crate::metric::NativeMetric;
use dragoman_optim::Memory;
use dragoman_tune::lists::Lists;
use dragoman_tune::mira::{
    Context, Feed, Judged, Oracle, Prediction, Rules, Run, Scorer, Surroundings, Unit, learner,
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
        let judged = py.detach(|| Judged::pack(&lists.inner, rows, width)).map_err(to_py)?;
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

pub fn rules(oracle: &str, prediction: &str, local: usize, decay: f64, feed: &str) -> PyResult<Rules> {
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
        let start = (all(&weights)?, all(&drift)?, updates);
        let run = Run::new(
            (Arc::clone(lists), Arc::clone(&judged.judged)),
            rules(oracle, prediction, local, decay, feed)?,
            learner(c, &(all(&lower)?, all(&upper)?), start),
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
        py.detach(|| {
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
        py.detach(|| {
            for s in order {
                self.run.visit_native(s, &scorer);
            }
        });
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
