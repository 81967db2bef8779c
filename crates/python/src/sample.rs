//! The sampler: translations by sampling, and `SampleRank`.

use crate::columns::Texts;
use crate::decode::{Batch, Columns, NativeSystem, NativeWeights, PySettings, pool, read};
use crate::errors::{invalid, to_py};
use crate::metric::NativeMetric;
use dragoman_base::{Error, Result};
use dragoman_decode::sample::{
    Epoch, Mix, Oracle, Pace, Plan, RankOptions, Shard, Start, Whole, rank, sample,
};
use dragoman_decode::{Choice, Input, System, Translation};
use dragoman_metric::bleu::incremental::References;
use dragoman_metric::capability::{Incremental, refusal};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How to sample, read from the fields of a Python object.
#[derive(FromPyObject)]
pub struct PySampling {
    burn_in: usize,
    samples: usize,
    hot: f64,
    cold: f64,
    merge: f64,
    reorder: f64,
    retranslate: f64,
    width: usize,
    lag: usize,
    seed: u64,
}

/// Asks a Python object about whole texts: `score(place, text) -> float`, and `keep()` when a text stands.
struct Asked {
    object: Py<PyAny>,
    /// What went wrong, for the caller.
    error: Option<PyErr>,
}

impl Whole for Asked {
    fn score(&mut self, sentence: usize, text: &str) -> Result<f64> {
        let value =
            Python::attach(|py| self.object.call_method1(py, "score", (sentence, text))?.extract::<f64>(py));
        match value {
            Ok(value) if !value.is_nan() => Ok(value),
            Ok(value) => {
                Err(Error::Invalid(format!("a feature of the whole text must give a number, found {value}")))
            }
            Err(error) => {
                self.error = Some(error);
                Err(Error::Invalid("a feature of the whole text failed".to_owned()))
            }
        }
    }

    fn keep(&mut self) {
        let kept = Python::attach(|py| self.object.call_method0(py, "keep").map(|_| ()));
        if let Err(error) = kept {
            self.error = Some(error);
        }
    }
}

/// Translates by sampling. `documents` are (first, one past the last) line of each; sentences of a document are sampled
/// together, which matters only with `wholes`, an object for each document that judges its texts.
#[pyfunction]
#[pyo3(signature = (system, lines, weights, settings, sampling, documents=None, wholes=None, threads=None))]
#[allow(clippy::too_many_arguments)] // one per column of the input
pub fn sample_translations<'py>(
    py: Python<'py>,
    system: &NativeSystem,
    lines: &Texts,
    weights: &NativeWeights,
    settings: PySettings,
    sampling: PySampling,
    documents: Option<Vec<(usize, usize)>>,
    wholes: Option<Vec<Py<PyAny>>>,
    threads: Option<usize>,
) -> PyResult<Columns<'py>> {
    let count = lines.inner.len();
    let documents = documents.unwrap_or_else(|| (0..count).map(|i| (i, i + 1)).collect());
    let tiled = documents.iter().try_fold(0, |at, &(from, to)| (from == at && to >= from).then_some(to));
    if tiled != Some(count) || wholes.as_ref().is_some_and(|wholes| wholes.len() != documents.len()) {
        return Err(invalid("expected documents that follow each other and cover all lines"));
    }
    let plan = Plan {
        burn_in: sampling.burn_in,
        samples: sampling.samples,
        hot: sampling.hot,
        cold: sampling.cold,
        mix: Mix {
            merge: sampling.merge,
            reorder: sampling.reorder,
            retranslate: sampling.retranslate,
            width: sampling.width,
        },
        lag: sampling.lag,
        seed: sampling.seed,
    };
    let (wanted, marked) = (settings.settings(), settings.markup());
    let one = |number: usize| -> std::result::Result<Vec<Translation>, Box<Failure>> {
        let (from, to) = documents[number];
        let inputs =
            (from..to).map(|i| read(lines.inner.get(i), marked, None)).collect::<Result<Vec<Input>>>();
        let inputs = inputs.map_err(|error| Box::new((error, None)))?;
        let object = wholes.as_ref().map(|wholes| Python::attach(|py| wholes[number].clone_ref(py)));
        let mut asked = object.map(|object| Asked { object, error: None });
        let whole = asked.as_mut().map(|asked| asked as &mut dyn Whole);
        let done = sample(&system.inner, &inputs, &weights.inner, &wanted, &plan, whole, number as u64);
        match (done, asked.and_then(|asked| asked.error)) {
            (Ok(done), None) => Ok(done),
            (Ok(_), error) => {
                Err(Box::new((Error::Invalid("a feature of the whole text failed".to_owned()), error)))
            }
            (Err(error), why) => Err(Box::new((at_lines(error, from), why))),
        }
    };
    let all = || {
        (0..documents.len())
            .into_par_iter()
            .with_max_len(1)
            .map(one)
            .collect::<std::result::Result<Vec<_>, _>>()
    };
    let done = py.detach(|| match threads {
        None => all(),
        Some(count) => pool(count).map_err(|error| Box::new((error, None)))?.install(all),
    });
    let done = done.map_err(|failure| {
        let (error, why) = *failure;
        why.unwrap_or_else(|| to_py(error))
    })?;
    let mut batch = Batch::new();
    let named = settings.lists_features().then_some(&*system.inner);
    for translation in done.iter().flatten() {
        batch.push(translation, named);
    }
    Ok(batch.into_columns(py))
}

/// Why a document could not be translated; what its feature raised comes first.
type Failure = (Error, Option<PyErr>);

fn at_lines(error: Error, from: usize) -> Error {
    match error {
        Error::Invalid(what) => Error::Invalid(format!("from line {}: {what}", from + 1)),
        other => other,
    }
}

/// How `SampleRank` learns, read from the fields of a Python object.
#[derive(FromPyObject)]
#[allow(clippy::struct_excessive_bools)] // options of a call, not states
pub struct PyRanking {
    burn_in: usize,
    samples: usize,
    visit: usize,
    rate: f64,
    c: f64,
    scale: f64,
    smooth: f64,
    oracle: String,
    margin: bool,
    always: bool,
    temperature: f64,
    hot: f64,
    start: String,
    merge: f64,
    reorder: f64,
    retranslate: f64,
    width: usize,
    distortion: i64,
    options: usize,
    drop_unknown: bool,
    clock: bool,
}

impl PyRanking {
    fn options(&self) -> PyResult<RankOptions> {
        let oracle = match self.oracle.as_str() {
            "hope" => Oracle::Hope,
            "gain" => Oracle::Gain,
            "mean" => Oracle::Mean,
            other => return Err(invalid(format!("expected the oracle mean, hope or gain, found `{other}`"))),
        };
        let start = match self.start.as_str() {
            "gloss" => Start::Gloss,
            "best" => Start::Best,
            other => return Err(invalid(format!("expected the start gloss or best, found `{other}`"))),
        };
        Ok(RankOptions {
            burn_in: self.burn_in,
            samples: self.samples,
            visit: self.visit,
            rate: self.rate,
            c: self.c,
            scale: self.scale,
            add: self.smooth,
            oracle,
            margin: self.margin,
            always: self.always,
            temperature: self.temperature,
            hot: self.hot,
            start,
            mix: Mix {
                merge: self.merge,
                reorder: self.reorder,
                retranslate: self.retranslate,
                width: self.width,
            },
            distortion: usize::try_from(self.distortion).ok(),
            choice: Choice { limit: self.options, drop_unknown: self.drop_unknown },
            clock: self.clock,
        })
    }
}

/// What an epoch gives: mixed weights, sum of all collected weights, mean sums of squares, summed information of the dense
/// features, row by row; and figures by name.
type Ranked<'py> = ([Bound<'py, PyArray1<f64>>; 4], BTreeMap<&'static str, f64>);

/// What the sizes of steps depend on: sums of squares, the metric of the dense features (row by row; empty if it is not
/// known yet) and the energy.
type Sizes<'a> = (PyReadonlyArray1<'a, f64>, PyReadonlyArray1<'a, f64>, f64);

/// A text and its references, ready for `SampleRank`.
#[pyclass(frozen, module = "dragoman._core")]
pub struct SampleRanker {
    system: Arc<System>,
    inputs: Vec<Input>,
    metric: Incremental,
    references: Vec<References>,
}

#[pymethods]
impl SampleRanker {
    /// Sentences of words between blanks, with the references of each; the metric has the capability `incremental`.
    #[new]
    fn new(
        system: &NativeSystem,
        lines: &Texts,
        references: Vec<Vec<String>>,
        metric: &NativeMetric,
    ) -> PyResult<Self> {
        let metric =
            metric.inner.incremental().ok_or_else(|| invalid(refusal("SampleRank", "incremental")))?;
        if lines.inner.len() != references.len() {
            return Err(invalid(format!(
                "expected references for each of {} lines, found {}",
                lines.inner.len(),
                references.len()
            )));
        }
        let inputs = (0..lines.inner.len()).map(|i| Input::plain(lines.inner.get(i))).collect();
        let mut made = Vec::with_capacity(references.len());
        for (line, texts) in references.iter().enumerate() {
            let Some(one) = metric.references(texts) else {
                return Err(invalid(format!("line {}: the references have too many words", line + 1)));
            };
            made.push(one);
        }
        Ok(Self { system: Arc::clone(&system.inner), inputs, metric, references: made })
    }

    /// One epoch of all chains. `pace` is what the sizes of steps depend on, see [`Pace`]; `shards` has for each chain the sentences of its batches. Chain k draws from the stream
    /// (seed, first + k), so that the result does not depend on the number of threads.
    #[allow(clippy::too_many_arguments)] // one per part of the state
    #[pyo3(signature = (weights, start, pace, fixed, shards, ranking, seed, first, threads=None))]
    fn epoch<'py>(
        &self,
        py: Python<'py>,
        weights: &NativeWeights,
        start: PyReadonlyArray1<'_, f64>,
        pace: Sizes<'_>,
        fixed: Vec<usize>,
        shards: Vec<Vec<Vec<usize>>>,
        ranking: PyRanking,
        seed: u64,
        first: u64,
        threads: Option<usize>,
    ) -> PyResult<Ranked<'py>> {
        let options = ranking.options()?;
        let start = start.as_slice()?;
        let pace = self.pace(&pace)?;
        if shards.iter().flatten().flatten().any(|&sentence| sentence >= self.inputs.len()) {
            return Err(invalid(format!("a shard has a sentence beyond the {} given", self.inputs.len())));
        }
        let mut still = vec![false; start.len()];
        for feature in fixed {
            let Some(place) = still.get_mut(feature) else { return Err(invalid("no such feature to fix")) };
            *place = true;
        }
        let one = |(number, batches): (usize, &Vec<Vec<usize>>)| {
            let shard =
                Shard { inputs: &self.inputs, metric: &self.metric, references: &self.references, batches };
            let pace = pace.clone();
            rank(
                &self.system,
                &weights.inner,
                (start, pace),
                &still,
                &shard,
                &options,
                (seed, first + number as u64),
            )
        };
        let all = || shards.par_iter().enumerate().with_max_len(1).map(one).collect::<Result<Vec<Epoch>>>();
        let done = py
            .detach(|| match threads {
                None => all(),
                Some(count) => pool(count)?.install(all),
            })
            .map_err(to_py)?;
        Ok((self.mix(&done).map(|list| list.into_pyarray(py)), figures(&done)))
    }
}

impl SampleRanker {
    fn pace(&self, (squares, metric, energy): &Sizes<'_>) -> PyResult<Pace> {
        let (dense, metric) = (self.system.dense(), metric.as_slice()?.to_vec());
        if metric.is_empty() || metric.len() == dense * dense {
            return Ok(Pace::new(dense, squares.as_slice()?.to_vec(), metric, *energy));
        }
        Err(invalid(format!("expected a metric of {dense} x {dense} numbers, found {}", metric.len())))
    }

    /// The mean of the chains' weights, the sum of all weights that they collected, the mean of their sums of squares,
    /// and the sum of their information.
    fn mix(&self, done: &[Epoch]) -> [Vec<f64>; 4] {
        let filed: Vec<Vec<u32>> = done.iter().map(|epoch| self.system.file(&epoch.learned.own)).collect();
        let width = self.system.names().read().expect("no panic while locked").len();
        let [mut mixed, mut sum, mut squares] = [(); 3].map(|()| vec![0.0; width]);
        let mut information = vec![0.0; self.system.dense() * self.system.dense()];
        let share = 1.0 / done.len() as f64;
        let at = |list: &[f64], i: usize| list.get(i).copied().unwrap_or(0.0);
        for (epoch, filed) in done.iter().zip(&filed) {
            let count = epoch.collected as f64;
            let mut add = |id: usize, weight: f64, drift: f64, square: f64| {
                mixed[id] += share * weight;
                sum[id] += count * weight - drift;
                squares[id] += share * square;
            };
            for (id, &weight) in epoch.learned.weights.iter().enumerate() {
                add(id, weight, at(&epoch.drift.0, id), at(&epoch.pace.squares.0, id));
            }
            for (own, &weight) in epoch.learned.own_weights.iter().enumerate() {
                add(filed[own] as usize, weight, at(&epoch.drift.1, own), at(&epoch.pace.squares.1, own));
            }
            information.iter_mut().zip(&epoch.pace.information).for_each(|(all, one)| *all += one);
        }
        [mixed, sum, squares, information]
    }
}

fn figures(done: &[Epoch]) -> BTreeMap<&'static str, f64> {
    let sum = |part: fn(&Epoch) -> f64| done.iter().map(part).sum::<f64>();
    BTreeMap::from([
        ("collected", sum(|e| e.collected as f64)),
        ("samples", sum(|e| e.samples as f64)),
        ("moves", sum(|e| e.moves as f64)),
        ("updates", sum(|e| e.updates as f64)),
        ("capped", sum(|e| e.capped as f64)),
        ("gain", sum(|e| e.gain)),
        ("oracle", sum(|e| e.oracle)),
        ("learned_from", sum(|e| e.learned_from as f64)),
        ("energy", sum(|e| e.pace.energy) / done.len() as f64),
        ("probed", sum(|e| e.probed.0 as f64)),
        ("members", sum(|e| e.probed.1 as f64)),
        ("gain_time", sum(|e| e.gain_time.as_secs_f64())),
        ("time", sum(|e| e.time.as_secs_f64())),
    ])
}
