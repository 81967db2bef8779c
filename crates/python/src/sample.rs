//! The sampler: translations by sampling, and `SampleRank`.

use crate::columns::Texts;
use crate::decode::{Demands, NativeSystem, NativeWeights, PySettings, read};
use crate::errors::{invalid, to_py};
use crate::found::TranslationColumns;
use crate::metric::NativeMetric;
use crate::text::Text;
use dragoman_base::{Error, Result};
use dragoman_metric::bleu::incremental::References;
use dragoman_metric::capability::{Incremental, refusal};
use dragoman_model::Input;
use dragoman_model::found::{Candidates, Translation};
use dragoman_phrase::{Choice, System};
use dragoman_sample::{
    Mix, Mixed, OpenTexts, Oracle, Pace, Plan, RankOptions, Shard, Start, TextFeatures, Whole, rank, sample,
};
use dragoman_stream::pools;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArrayDyn};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

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

/// Which sentences are sampled together, read from the fields of a Python object.
#[derive(FromPyObject)]
pub struct PyDocuments {
    /// The first line of each and one past its last.
    bounds: Vec<(usize, usize)>,
    /// An object for each that judges its texts.
    wholes: Option<Vec<Py<PyAny>>>,
}

/// Translates by sampling. Sentences of a document are sampled together, which matters only if its texts are judged.
#[pyfunction]
#[pyo3(signature = (system, lines, weights, settings, sampling, documents, demands=None, threads=None))]
#[allow(clippy::too_many_arguments)] // and the interpreter
pub fn sample_translations(
    py: Python<'_>,
    system: &NativeSystem,
    lines: &Texts,
    weights: &NativeWeights,
    settings: PySettings,
    sampling: PySampling,
    documents: PyDocuments,
    demands: Option<Text<Vec<Demands>>>,
    threads: Option<usize>,
) -> PyResult<TranslationColumns> {
    let count = lines.inner.len();
    if demands.as_ref().is_some_and(|demands| demands.len() != count) {
        return Err(invalid(format!("expected demands for each of {count} lines")));
    }
    let PyDocuments { bounds: documents, wholes } = documents;
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
    let phrases = system.inner.phrase("sampling").map_err(to_py)?;
    let (wanted, marked) = (settings.phrase(), settings.markup());
    let one = |number: usize| -> std::result::Result<Vec<Translation>, Box<Failure>> {
        let (from, to) = documents[number];
        let input = |i: usize| read(lines.inner.get(i), marked, demands.as_ref().map(|d| &d[i]));
        let inputs = (from..to).map(input).collect::<Result<Vec<Input>>>()?;
        let object = wholes.as_ref().map(|wholes| Python::attach(|py| wholes[number].clone_ref(py)));
        let mut asked = object.map(|object| Asked { object, error: None });
        let whole = asked.as_mut().map(|asked| asked as &mut dyn Whole);
        let done = sample(phrases, &inputs, &weights.inner, &wanted, &plan, whole, number as u64);
        match (done, asked.and_then(|asked| asked.error)) {
            (Ok(done), None) => Ok(done),
            (Ok(_), error) => {
                let what = Error::Invalid("a feature of the whole text failed".to_owned());
                Err(Box::new(Failure { what, why: error }))
            }
            (Err(error), why) => Err(Box::new(Failure { what: at_lines(error, from), why })),
        }
    };
    let done = py.detach(|| pools::each(threads, documents.len(), one));
    let done = done.map_err(|failure| {
        let Failure { what, why } = *failure;
        why.unwrap_or_else(|| to_py(what))
    })?;
    let named = settings.lists_features().then_some(&*system.inner);
    TranslationColumns::new(py, Candidates::of(done.iter().flatten(), named))
}

/// Why a document could not be translated; what its feature raised comes first.
struct Failure {
    what: Error,
    why: Option<PyErr>,
}

impl From<Error> for Box<Failure> {
    fn from(what: Error) -> Self {
        Box::new(Failure { what, why: None })
    }
}

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
    distortion_limit: i64,
    table_limit: usize,
    drop_unknown: bool,
    clock: bool,
    seed: u64,
    first: u64,
    threads: Option<usize>,
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
            distortion: usize::try_from(self.distortion_limit).ok(),
            choice: Choice { limit: self.table_limit, drop_unknown: self.drop_unknown },
            clock: self.clock,
        })
    }
}

/// What an epoch gives: mixed weights, sum of all collected weights, mean sums of squares, summed information of the dense
/// features, row by row; and figures by name.
type Ranked<'py> = ([Bound<'py, PyArray1<f64>>; 4], BTreeMap<&'static str, f64>);

/// What the sizes of steps depend on, read from the fields of a Python object.
#[derive(FromPyObject)]
pub struct PyPace<'py> {
    /// Sums of squares.
    squares: PyReadonlyArray1<'py, f64>,
    /// The metric of the dense features; empty if it is not known yet.
    metric: PyReadonlyArrayDyn<'py, f64>,
    energy: f64,
}

/// Features of whole texts: their numbers, and an object whose `open(batch)` gives one with `values(place, text)` and
/// `keep(place, text)`.
struct AskedTexts {
    ids: Vec<u32>,
    object: Py<PyAny>,
    /// The first thing that went wrong, for the caller.
    error: Mutex<Option<PyErr>>,
}

impl AskedTexts {
    fn ask<T>(&self, what: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T> {
        Python::attach(what).map_err(|error| {
            self.error.lock().expect("no panic while locked").get_or_insert(error);
            Error::Invalid("a feature of the whole text failed".to_owned())
        })
    }
}

impl TextFeatures for AskedTexts {
    fn ids(&self) -> &[u32] {
        &self.ids
    }

    fn open(&self, batch: &[usize]) -> Result<Box<dyn OpenTexts + '_>> {
        let batch = batch.to_vec();
        let object = self.ask(|py| self.object.call_method1(py, "open", (batch,)))?;
        Ok(Box::new(AskedBatch { texts: self, object }))
    }
}

struct AskedBatch<'a> {
    texts: &'a AskedTexts,
    object: Py<PyAny>,
}

impl OpenTexts for AskedBatch<'_> {
    fn values(&mut self, place: usize, text: &str, out: &mut Vec<f64>) -> Result<()> {
        let values = self
            .texts
            .ask(|py| self.object.call_method1(py, "values", (place, text))?.extract::<Vec<f64>>(py))?;
        if values.len() != self.texts.ids.len() || values.iter().any(|value| !value.is_finite()) {
            return Err(Error::Invalid(format!(
                "a feature of the whole text must give a finite number, found {values:?}"
            )));
        }
        out.extend(values);
        Ok(())
    }

    fn keep(&mut self, place: usize, text: &str) -> Result<()> {
        self.texts.ask(|py| self.object.call_method1(py, "keep", (place, text)).map(|_| ()))
    }
}

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
    #[pyo3(signature = (system, lines, references, metric, demands=None))]
    fn new(
        system: &NativeSystem,
        lines: &Texts,
        references: Text<Vec<Vec<String>>>,
        metric: &NativeMetric,
        demands: Option<Text<Vec<Demands>>>,
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
        if demands.as_ref().is_some_and(|demands| demands.len() != lines.inner.len()) {
            return Err(invalid(format!("expected demands for each of {} lines", lines.inner.len())));
        }
        let input = |i: usize| read(lines.inner.get(i), false, demands.as_ref().map(|d| &d[i]));
        let inputs = (0..lines.inner.len()).map(input).collect::<Result<Vec<Input>>>().map_err(to_py)?;
        let mut made = Vec::with_capacity(references.len());
        for (line, texts) in references.iter().enumerate() {
            let Some(one) = metric.references(texts) else {
                return Err(invalid(format!("line {}: the references have too many words", line + 1)));
            };
            made.push(one);
        }
        Ok(Self {
            system: Arc::clone(system.inner.phrase("SampleRank").map_err(to_py)?),
            inputs,
            metric,
            references: made,
        })
    }

    /// One epoch of all chains; `shards` has for each chain the sentences of its batches. Chain k draws from the stream
    /// (seed, first + k), so that the result does not depend on the number of threads.
    #[allow(clippy::too_many_arguments)] // and the interpreter
    #[pyo3(signature = (weights, start, pace, fixed, shards, ranking, texts=None))]
    fn epoch<'py>(
        &self,
        py: Python<'py>,
        weights: &NativeWeights,
        start: PyReadonlyArray1<'_, f64>,
        pace: PyPace<'_>,
        fixed: Vec<usize>,
        shards: Vec<Vec<Vec<usize>>>,
        ranking: PyRanking,
        texts: Option<(Vec<u32>, Py<PyAny>)>,
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
        let texts = texts.map(|(ids, object)| AskedTexts { ids, object, error: Mutex::default() });
        let one = |number: usize| {
            let shard = Shard {
                inputs: &self.inputs,
                metric: &self.metric,
                references: &self.references,
                batches: &shards[number],
                texts: texts.as_ref().map(|texts| texts as &dyn TextFeatures),
            };
            let pace = pace.clone();
            rank(
                &self.system,
                &weights.inner,
                (start, pace),
                &still,
                &shard,
                &options,
                (ranking.seed, ranking.first + number as u64),
            )
        };
        let done = py.detach(|| pools::each(ranking.threads, shards.len(), one)).map_err(|error| {
            let raised = texts.as_ref().and_then(|t| t.error.lock().expect("no panic while locked").take());
            raised.unwrap_or_else(|| to_py(error))
        })?;
        let Mixed { weights, sum, squares, information, figures } =
            Mixed::of(done.into_iter().enumerate(), &self.system);
        let lists = [weights, sum, squares, information];
        Ok((lists.map(|list| list.into_pyarray(py)), figures))
    }
}

impl SampleRanker {
    fn pace(&self, pace: &PyPace<'_>) -> PyResult<Pace> {
        let (dense, squares) = (self.system.dense(), pace.squares.as_slice()?.to_vec());
        let metric: Vec<f64> = pace.metric.as_array().iter().copied().collect();
        if metric.is_empty() || metric.len() == dense * dense {
            return Ok(Pace::new(dense, squares, metric, pace.energy));
        }
        Err(invalid(format!("expected a metric of {dense} x {dense} numbers, found {}", metric.len())))
    }
}
