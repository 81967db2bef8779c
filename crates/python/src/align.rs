//! Word alignment: a training run and a trained aligner behind opaque handles; links as three arrays.

use crate::columns::{Reduced, Texts, core};
use crate::errors::{invalid, to_py};
use crate::threads;
use dragoman_align::{
    Effort, Gold, Links, Method, Model, Options, Priors, Report, Shard, Shards, Spelling, Trainer,
};
use dragoman_stream::pools;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::sync::{Arc, Mutex};

/// Links as Python gets them: starts, source, target.
type Columns<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>);
/// Links as Python hands them over.
type Given<'py> = (PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, u32>, PyReadonlyArray1<'py, u32>);
/// Pairs, and how many of them are empty, too long, have control characters, have bars.
type Figures = (usize, usize, usize, usize, usize);

fn to_columns(py: Python<'_>, links: Links) -> Columns<'_> {
    (links.starts.into_pyarray(py), links.source.into_pyarray(py), links.target.into_pyarray(py))
}

fn to_links(columns: &Given<'_>) -> PyResult<Links> {
    let links = Links {
        starts: columns.0.as_slice()?.to_vec(),
        source: columns.1.as_slice()?.to_vec(),
        target: columns.2.as_slice()?.to_vec(),
    };
    links.check().map_err(to_py)?;
    Ok(links)
}

fn to_figures(report: Report) -> Figures {
    (report.pairs, report.empty, report.long, report.control, report.bar)
}

/// Sweeps with each model.
type Sweeps = Option<(usize, usize, usize)>;

fn options(
    samplers: usize,
    sweeps: Sweeps,
    collect: usize,
    spelling: (bool, usize, usize),
    priors: (f32, f32, f32, f32, f32),
    seed: u64,
) -> Options {
    let (lexical, null_lexical, null, jump, fertility) = priors;
    Options {
        spelling: Spelling { lower: spelling.0, prefix: spelling.1, longest: spelling.2 },
        samplers,
        sweeps: sweeps.map(Into::into),
        collect,
        priors: Priors { lexical, null_lexical, null, jump, fertility },
        seed,
    }
}

/// A training run, sweep by sweep.
#[pyclass(frozen, module = "dragoman._core")]
pub struct AlignTrainer {
    inner: Mutex<Option<Trainer>>,
}

impl AlignTrainer {
    fn with<T>(&self, f: impl FnOnce(&mut Trainer) -> T) -> PyResult<T> {
        self.inner.lock().expect("no panic while locked").as_mut().map(f).ok_or_else(finished)
    }
}

fn finished() -> PyErr {
    invalid("this training run is already finished")
}

#[pymethods]
impl AlignTrainer {
    #[new]
    #[allow(clippy::too_many_arguments)] // one per option
    fn new(
        py: Python<'_>,
        source: &Texts,
        target: &Texts,
        samplers: usize,
        sweeps: Sweeps,
        collect: usize,
        spelling: (bool, usize, usize),
        priors: (f32, f32, f32, f32, f32),
        seed: u64,
    ) -> PyResult<Self> {
        let options = options(samplers, sweeps, collect, spelling, priors, seed);
        let (source, target) = (source.inner.clone(), target.inner.clone());
        let trainer = threads::run(py, || Trainer::new(&source, &target, options)).map_err(to_py)?;
        Ok(Self { inner: Mutex::new(Some(trainer)) })
    }

    /// What was odd about the text.
    fn report(&self) -> PyResult<Figures> {
        self.with(|trainer| to_figures(trainer.report()))
    }

    /// Number of sweeps of the whole run.
    fn sweeps(&self) -> PyResult<usize> {
        self.with(|trainer| trainer.sweeps())
    }

    /// The next sweep of all samplers; false when all are done.
    fn sweep(&self, py: Python<'_>) -> PyResult<bool> {
        py.detach(|| self.with(|trainer| pools::apart(|| trainer.sweep())))
    }

    /// Does what sweeps are left, and decides: forward links, reverse links, the aligner.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<(Columns<'py>, Columns<'py>, AlignModel)> {
        let trainer = self.inner.lock().expect("no panic while locked").take().ok_or_else(finished)?;
        let trained = threads::run(py, || trainer.finish());
        let model = AlignModel { inner: Arc::new(trained.model) };
        Ok((to_columns(py, trained.forward), to_columns(py, trained.reverse), model))
    }
}

/// A part of a text whose links are sampled wherever it is.
#[pyclass(frozen, module = "dragoman._core")]
pub struct AlignShard {
    inner: Arc<Shard>,
}

fn bytes(
    py: Python<'_>,
    work: impl FnOnce() -> dragoman_base::Result<Vec<u8>> + Send,
) -> PyResult<Bound<'_, PyBytes>> {
    Ok(PyBytes::new(py, &threads::run(py, work).map_err(to_py)?))
}

#[pymethods]
impl AlignShard {
    /// The shard of these bytes.
    #[new]
    fn new(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        Ok(Self { inner: Arc::new(threads::run(py, || Shard::of_bytes(bytes)).map_err(to_py)?) })
    }

    /// By content.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let content = bytes(py, || Ok(self.inner.to_bytes()))?;
        Ok((core(py, "AlignShard")?, (content,).into_pyobject(py)?))
    }

    /// Random links of a sampler, before the first sweep.
    fn scatter<'py>(&self, py: Python<'py>, sampler: usize) -> PyResult<Bound<'py, PyBytes>> {
        bytes(py, || self.inner.scatter(sampler))
    }

    /// The links of a sampler after a sweep, counted from 1.
    fn sweep<'py>(
        &self,
        py: Python<'py>,
        sampler: usize,
        sweep: usize,
        links: &[u8],
        counts: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        bytes(py, || self.inner.sweep(sampler, sweep, links, counts))
    }

    /// What the samplers of a direction agree on.
    fn decide<'py>(
        &self,
        py: Python<'py>,
        given: usize,
        states: Vec<(PyBackedBytes, PyBackedBytes)>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let states: Vec<(&[u8], &[u8])> =
            states.iter().map(|(links, counts)| (&**links, &**counts)).collect();
        bytes(py, || self.inner.decide(given, &states))
    }
}

/// A training run in shards: who merges the counts.
#[pyclass(frozen, module = "dragoman._core")]
pub struct AlignShards {
    inner: Mutex<Option<Shards>>,
}

impl AlignShards {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut Shards) -> dragoman_base::Result<T> + Send,
    ) -> PyResult<T> {
        let work = || self.inner.lock().expect("no panic while locked").as_mut().map(f);
        threads::run(py, work).ok_or_else(finished)?.map_err(to_py)
    }
}

#[pymethods]
impl AlignShards {
    #[new]
    #[allow(clippy::too_many_arguments)] // one per option
    fn new(
        py: Python<'_>,
        source: &Texts,
        target: &Texts,
        shards: usize,
        samplers: usize,
        sweeps: Sweeps,
        collect: usize,
        spelling: (bool, usize, usize),
        priors: (f32, f32, f32, f32, f32),
        seed: u64,
    ) -> PyResult<Self> {
        let options = options(samplers, sweeps, collect, spelling, priors, seed);
        let (source, target) = (source.inner.clone(), target.inner.clone());
        let all = threads::run(py, || Shards::new(&source, &target, options, shards)).map_err(to_py)?;
        Ok(Self { inner: Mutex::new(Some(all)) })
    }

    /// What was odd about the text.
    fn report(&self, py: Python<'_>) -> PyResult<Figures> {
        self.with(py, |all| Ok(to_figures(all.report())))
    }

    /// Number of sweeps of the whole run.
    fn sweeps(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |all| Ok(all.sweeps()))
    }

    /// All shards.
    fn shards(&self, py: Python<'_>) -> PyResult<Vec<AlignShard>> {
        let shards = self.with(py, |all| Ok(all.shards().to_vec()))?;
        Ok(shards.into_iter().map(|inner| AlignShard { inner }).collect())
    }

    /// The counts of a sampler in all shards, for a sweep.
    fn counts<'py>(&self, py: Python<'py>, sampler: usize, sweep: usize) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.with(py, |all| all.counts(sampler, sweep))?))
    }

    /// The links of a sampler in a shard.
    fn state<'py>(&self, py: Python<'py>, sampler: usize, shard: usize) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.with(py, |all| Ok(all.state(sampler, shard)))?))
    }

    /// Takes the links of a sampler in a shard.
    fn take(&self, py: Python<'_>, sampler: usize, shard: usize, links: &[u8]) -> PyResult<()> {
        self.with(py, |all| all.take(sampler, shard, links))
    }

    /// Takes what was decided in a shard.
    fn decided(&self, py: Python<'_>, given: usize, shard: usize, found: &[u8]) -> PyResult<()> {
        self.with(py, |all| all.decided(given, shard, found))
    }

    /// Forward links, reverse links, the aligner.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<(Columns<'py>, Columns<'py>, AlignModel)> {
        let all = self.inner.lock().expect("no panic while locked").take().ok_or_else(finished)?;
        let trained = threads::run(py, || all.finish()).map_err(to_py)?;
        let model = AlignModel { inner: Arc::new(trained.model) };
        Ok((to_columns(py, trained.forward), to_columns(py, trained.reverse), model))
    }
}

/// A trained aligner.
#[pyclass(frozen, module = "dragoman._core")]
pub struct AlignModel {
    inner: Arc<Model>,
}

#[pymethods]
impl AlignModel {
    /// Reads an aligner and checks all of it.
    #[staticmethod]
    fn read(py: Python<'_>, path: &str) -> PyResult<Self> {
        let model = threads::run(py, || Model::read(path)).map_err(to_py)?;
        Ok(Self { inner: Arc::new(model) })
    }

    /// Writes the aligner to a file that appears when it is whole.
    fn write(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        threads::run(py, || self.inner.write(path)).map_err(to_py)
    }

    /// Aligns new text: forward links, reverse links, what was odd about it.
    fn align<'py>(
        &self,
        py: Python<'py>,
        source: &Texts,
        target: &Texts,
        collect: usize,
        seed: u64,
    ) -> PyResult<(Columns<'py>, Columns<'py>, Figures)> {
        let effort = Effort { collect, seed, ..Effort::default() };
        let (source, target) = (source.inner.clone(), target.inner.clone());
        let (forward, reverse, report) =
            threads::run(py, || self.inner.align(&source, &target, &effort)).map_err(to_py)?;
        Ok((to_columns(py, forward), to_columns(py, reverse), to_figures(report)))
    }
}

/// Joins forward and reverse links.
#[pyfunction]
pub fn symmetrise_links<'py>(
    py: Python<'py>,
    forward: Given<'py>,
    reverse: Given<'py>,
    method: &str,
) -> PyResult<Columns<'py>> {
    let (forward, reverse) = (to_links(&forward)?, to_links(&reverse)?);
    let joined = threads::run(py, || dragoman_align::symmetrise(&forward, &reverse, Method::parse(method)?))
        .map_err(to_py)?;
    Ok(to_columns(py, joined))
}

/// Reads links `i-j`; with texts, out-of-range links and unequal numbers of lines are errors.
#[pyfunction]
pub fn read_links<'py>(
    py: Python<'py>,
    path: &str,
    texts: Option<(PyRef<'py, Texts>, PyRef<'py, Texts>)>,
) -> PyResult<Columns<'py>> {
    let texts = texts.map(|(source, target)| (source.inner.clone(), target.inner.clone()));
    let read = || {
        let lengths: Option<Vec<(u32, u32)>> = texts.map(|(source, target)| {
            let count = |line| dragoman_align::count_words(line) as u32;
            source.iter().zip(target.iter()).map(|(s, t)| (count(s), count(t))).collect()
        });
        Links::read(path, lengths.as_deref())
    };
    Ok(to_columns(py, threads::run(py, read).map_err(to_py)?))
}

/// Writes links `i-j`, a line a pair.
#[pyfunction]
pub fn write_links(py: Python<'_>, path: &str, links: Given<'_>) -> PyResult<()> {
    let links = to_links(&links)?;
    threads::run(py, || links.write(path)).map_err(to_py)
}

/// Reads gold links: sure ones, and all possible ones.
#[pyfunction]
pub fn read_gold<'py>(py: Python<'py>, path: &str) -> PyResult<(Columns<'py>, Columns<'py>)> {
    let gold = threads::run(py, || Gold::read(path)).map_err(to_py)?;
    Ok((to_columns(py, gold.sure), to_columns(py, gold.possible)))
}

/// Counts for the error rate: links found, sure links, sure links found, possible links found.
#[pyfunction]
pub fn score_links(found: Given<'_>, sure: Given<'_>, possible: Given<'_>) -> PyResult<(u64, u64, u64, u64)> {
    let gold = Gold { sure: to_links(&sure)?, possible: to_links(&possible)? };
    if gold.sure.len() != gold.possible.len() {
        return Err(invalid("expected as many pairs with possible links as with sure ones"));
    }
    let score = dragoman_align::score(&to_links(&found)?, &gold).map_err(to_py)?;
    Ok((score.found, score.sure, score.found_sure, score.found_possible))
}
