//! The decoder: a system behind a handle, sentences in, columns of translations out.

use crate::columns::{Names, Texts};
use crate::errors::{invalid, to_py};
use crate::lattices::{LatticeColumns, lattice_columns};
use crate::own;
use crate::threads;
use dragoman_base::sparse::Rows;
use dragoman_base::{Error, Result, Texts as BaseTexts};
use dragoman_decode::feature::{Part, Reference, StateFeature};
use dragoman_decode::search::{Graph, Limits, Ready};
use dragoman_decode::{
    Choice, Forced, Hypothesis, Input, Lattice, Origin, Settings, System, Translation, Weights, markup,
    search, translate,
};
use dragoman_stream::pools;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

/// How to search, read from the fields of a Python object.
#[derive(FromPyObject)]
#[allow(clippy::struct_excessive_bools)] // options of a call, not states
pub struct PySettings {
    stack: usize,
    pops: usize,
    threshold: f32,
    distortion: i64,
    options: usize,
    drop_unknown: bool,
    deadline: f64,
    memory: usize,
    size: usize,
    distinct: bool,
    features: bool,
    explain: bool,
    markup: bool,
}

impl PySettings {
    /// Whether lines have markup.
    pub fn markup(&self) -> bool {
        self.markup
    }

    /// Whether lists have features.
    pub fn lists_features(&self) -> bool {
        self.features
    }

    /// As the core wants it.
    pub fn settings(&self) -> Settings {
        let limits = Limits {
            stack: self.stack.max(1),
            pops: self.pops,
            threshold: self.threshold,
            distortion: usize::try_from(self.distortion).ok(),
            // What is no time at all, or longer than a clock can tell, is no limit.
            deadline: Duration::try_from_secs_f64(self.deadline).ok().filter(|time| !time.is_zero()),
            memory: self.memory,
            keep: self.size > 1,
        };
        Settings {
            limits,
            choice: Choice { limit: self.options, drop_unknown: self.drop_unknown },
            size: self.size,
            distinct: self.distinct,
            features: self.features,
            explain: self.explain,
        }
    }
}

/// Demands of one sentence: given translations (from, up to, text, log probability), whether they rule others out,
/// walls, zones.
pub type Demands = (Vec<(usize, usize, String, f32)>, bool, Vec<usize>, Vec<(usize, usize)>);

/// A line as the search wants it.
pub fn read(line: &str, marked: bool, demands: Option<&Demands>) -> Result<Input> {
    if marked {
        return markup::parse(line);
    }
    let mut input = Input::plain(line);
    if let Some((forced, exclusive, walls, zones)) = demands {
        input.forced = forced
            .iter()
            .map(|(from, to, text, log)| {
                let target = dragoman_lm::words(text).map(str::to_owned).collect();
                Forced { from: *from, to: *to, target, log: *log }
            })
            .collect();
        input.exclusive = *exclusive;
        input.walls.clone_from(walls);
        input.zones.clone_from(zones);
    }
    Ok(input)
}

/// The translations of some sentences: starts, texts, scores, row starts, feature ids, values, word alignments,
/// phrase alignments, and which sentences ran out of time or memory.
pub type Columns<'py> = (
    Bound<'py, PyArray1<i64>>,
    Texts,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<f64>>,
    Texts,
    Texts,
    Vec<bool>,
);

/// Translations of sentences, as columns.
#[derive(Default)]
pub struct Batch {
    starts: Vec<i64>,
    texts: BaseTexts,
    scores: Vec<f64>,
    rows: Rows,
    links: BaseTexts,
    phrases: BaseTexts,
    narrow: Vec<bool>,
}

impl Batch {
    /// None yet.
    pub fn new() -> Self {
        Self { starts: vec![0], ..Self::default() }
    }

    /// Adds the translations of a sentence; `system` is given if features are listed.
    pub fn push(&mut self, translation: &Translation, system: Option<&System>) {
        // In order of the sentences, so that names get the same numbers however many threads there are.
        let own = system.map_or_else(Vec::new, |system| system.file(&translation.own));
        for hypothesis in &translation.hypotheses {
            self.texts.push(&hypothesis.text);
            self.scores.push(hypothesis.score);
            self.push_features(hypothesis, system.map(System::dense), &own);
            let links: Vec<String> = hypothesis.links.iter().map(|(s, t)| format!("{s}-{t}")).collect();
            self.links.push(&links.join(" "));
            self.phrases.push(&phrases(hypothesis));
        }
        self.starts.push(self.texts.len() as i64);
        self.narrow.push(translation.narrow);
    }

    /// All dense features, zero or not, then the sparse ones that are not.
    fn push_features(&mut self, hypothesis: &Hypothesis, dense: Option<usize>, own: &[u32]) {
        if let Some(dense) = dense {
            let mut at = 0;
            for id in 0..dense as u32 {
                let value =
                    hypothesis.features.get(at).filter(|(have, _)| *have == id).map(|(_, value)| *value);
                at += usize::from(value.is_some());
                self.rows.push(id, value.unwrap_or(0.0));
            }
            for &(id, value) in hypothesis.features[at..].iter().filter(|(_, value)| *value != 0.0) {
                self.rows.push(System::filed(id, own), value);
            }
        }
        self.rows.end_row();
    }

    /// As arrays.
    pub fn into_columns(self, py: Python<'_>) -> Columns<'_> {
        (
            self.starts.into_pyarray(py),
            self.texts.into(),
            self.scores.into_pyarray(py),
            self.rows.starts.into_pyarray(py),
            self.rows.columns.into_pyarray(py),
            self.rows.values.into_pyarray(py),
            self.links.into(),
            self.phrases.into(),
            self.narrow,
        )
    }
}

/// Phrases as `from-to:from-to` (source, target, last words included), `!` after those that no table has.
fn phrases(hypothesis: &Hypothesis) -> String {
    let segment = |s: &dragoman_decode::Segment| {
        let mark = if matches!(s.origin, Origin::Table(_)) { "" } else { "!" };
        format!("{}-{}:{}-{}{mark}", s.from, s.to, s.target, s.target_end)
    };
    hypothesis.segments.iter().map(segment).collect::<Vec<_>>().join(" ")
}

/// An arc of a lattice: from, to, text, source span, score, features.
type LatticeArc = (u32, u32, String, (u32, u32), f64, Vec<(u32, f32)>);

/// A phrase of an explained derivation: source span and words, target words, origin, features.
type ExplainedStep = (usize, usize, String, String, &'static str, Vec<(u32, f32)>);

/// A part of a system: kind, name, options.
type Described = (String, String, Vec<(String, String)>);

/// Tables and features, without weights; shared by all threads.
#[pyclass(frozen, module = "dragoman._core")]
pub struct NativeSystem {
    pub(crate) inner: Arc<System>,
    /// Sentences that were searched so far, for those who wait.
    searched: AtomicUsize,
}

/// Weights that are ready for a system; made once, used for many sentences.
#[pyclass(frozen, module = "dragoman._core")]
pub struct NativeWeights {
    pub(crate) inner: Arc<Weights>,
}

fn demand(target: Option<&Reference>) -> Option<&dyn StateFeature> {
    target.map(|target| target as &dyn StateFeature)
}

fn reference(line: &str) -> Reference {
    Reference::new(dragoman_lm::words(line).map(str::to_owned).collect())
}

/// Names the line that an error belongs to.
fn at_line(line: usize) -> impl Fn(Error) -> Error {
    move |error| match error {
        Error::Invalid(what) => Error::Invalid(format!("line {}: {what}", line + 1)),
        other => other,
    }
}

#[pymethods]
impl NativeSystem {
    /// Opens tables and builds features: kind, name and options of each part.
    #[new]
    #[pyo3(signature = (tables, parts, rules=vec![], states=vec![]))]
    fn new(
        py: Python<'_>,
        tables: Vec<String>,
        parts: Vec<Described>,
        rules: Vec<own::RuleParts>,
        states: Vec<own::StateParts>,
    ) -> PyResult<Self> {
        let parts: Vec<Part> =
            parts.into_iter().map(|(kind, name, options)| Part { kind, name, options }).collect();
        let inner = Arc::new(
            threads::run(py, || {
                System::open_with(&tables, &parts, |to| own::add(rules, states, tables.len(), to))
            })
            .map_err(to_py)?,
        );
        Ok(Self { inner, searched: AtomicUsize::new(0) })
    }

    /// Sentences that were searched so far, those of calls under way among them.
    #[getter]
    fn searched(&self) -> usize {
        self.searched.load(Ordering::Relaxed)
    }

    /// The names of all features.
    #[getter]
    fn names(&self) -> Names {
        Names { inner: Arc::clone(self.inner.names()) }
    }

    /// The target words of all tables, by their ids in the search: a copy.
    #[getter]
    fn vocabulary(&self) -> Names {
        Names { inner: Arc::new(RwLock::new(self.inner.vocabulary().clone())) }
    }

    /// Number of dense features, which come first among the names.
    #[getter]
    fn dense(&self) -> usize {
        self.inner.dense()
    }

    /// The first name that no feature of this system can have.
    fn unknown(&self, names: &Names) -> Option<String> {
        if Arc::ptr_eq(&names.inner, self.inner.names()) {
            return None;
        }
        names.read(|names| self.inner.unknown(names).map(str::to_owned))
    }

    /// The prefixes of the sparse sets.
    #[getter]
    fn sets(&self) -> Vec<String> {
        self.inner.sets().iter().map(|set| set.prefix.clone()).collect()
    }

    /// Gets weights ready for this system; the names of its sparse sets are filed.
    fn weights(
        &self,
        py: Python<'_>,
        names: &Names,
        values: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<NativeWeights> {
        let values = values.as_slice()?;
        let run = || {
            if Arc::ptr_eq(&names.inner, self.inner.names()) {
                self.inner.weights(None, values)
            } else {
                names.read(|names| self.inner.weights(Some(names), values))
            }
        };
        let inner = Arc::new(py.detach(run).map_err(to_py)?);
        Ok(NativeWeights { inner })
    }

    /// Translates sentences on all cores, or on `threads` of them.
    #[allow(clippy::too_many_arguments)] // one per column of the input
    #[pyo3(signature = (lines, weights, settings, demands=None, targets=None, threads=None))]
    fn translate<'py>(
        &self,
        py: Python<'py>,
        lines: &Texts,
        weights: &NativeWeights,
        settings: PySettings,
        demands: Option<Vec<Demands>>,
        targets: Option<&Texts>,
        threads: Option<usize>,
    ) -> PyResult<Columns<'py>> {
        let weights = &weights.inner;
        let plan = settings.settings();
        let one = |i: usize| -> Result<Translation> {
            let target = targets.map(|targets| reference(targets.inner.get(i)));
            read(lines.inner.get(i), settings.markup, demands.as_ref().map(|d| &d[i]))
                .and_then(|input| translate(&self.inner, &input, weights, &plan, demand(target.as_ref())))
                .map_err(at_line(i))
        };
        let system = settings.features.then_some(&*self.inner);
        let batch = py
            .detach(|| {
                let done = self.each(threads, lines.inner.len(), one)?;
                let mut batch = Batch::new();
                for translation in &done {
                    batch.push(translation, system);
                }
                Ok(batch)
            })
            .map_err(to_py)?;
        Ok(batch.into_columns(py))
    }

    /// The best derivation of a sentence, phrase by phrase.
    #[pyo3(signature = (line, weights, settings, demands=None))]
    fn explain(
        &self,
        py: Python<'_>,
        line: &str,
        weights: &NativeWeights,
        settings: PySettings,
        demands: Option<Demands>,
    ) -> PyResult<(f64, Vec<ExplainedStep>)> {
        let weights = &weights.inner;
        let plan = Settings { explain: true, features: true, size: 1, ..settings.settings() };
        let run = || -> Result<(Input, Translation)> {
            let input = read(line, settings.markup, demands.as_ref())?;
            let translation = translate(&self.inner, &input, weights, &plan, None)?;
            Ok((input, translation))
        };
        let (input, translation) = py.detach(run).map_err(to_py)?;
        let own = self.inner.file(&translation.own);
        let Some(best) = translation.hypotheses.into_iter().next() else {
            return Err(invalid("this sentence has no derivation"));
        };
        Ok((best.score, explained(&input, best, &own)))
    }

    /// The lattices of sentences with all features, in columns: `density` arcs for each source word, 0 for all.
    #[pyo3(signature = (lines, weights, settings, density, threads=None))]
    fn lattices<'py>(
        &self,
        py: Python<'py>,
        lines: &Texts,
        weights: &NativeWeights,
        settings: PySettings,
        density: f64,
        threads: Option<usize>,
    ) -> PyResult<LatticeColumns<'py>> {
        let weights = &weights.inner;
        let mut plan = settings.settings();
        plan.limits.keep = true;
        let one = |i: usize| -> Result<Lattice> {
            let input = read(lines.inner.get(i), settings.markup, None)?;
            let most = (density > 0.0).then(|| (density * input.words.len() as f64).ceil() as usize);
            let see = |ready: &Ready<'_>, graph: &Graph| Lattice::new(ready, graph, true, most);
            search(&self.inner, &input, weights, &plan, None, see).map_err(at_line(i))
        };
        let done = py.detach(|| self.each(threads, lines.inner.len(), one)).map_err(to_py)?;
        Ok(lattice_columns(py, &self.inner, &done))
    }

    /// The lattice of a sentence: number of nodes, final nodes, arcs.
    #[pyo3(signature = (line, weights, settings, demands=None))]
    fn lattice(
        &self,
        py: Python<'_>,
        line: &str,
        weights: &NativeWeights,
        settings: PySettings,
        demands: Option<Demands>,
    ) -> PyResult<(usize, Vec<u32>, Vec<LatticeArc>)> {
        let weights = &weights.inner;
        let mut plan = settings.settings();
        plan.limits.keep = true;
        let run = || -> Result<Lattice> {
            let input = read(line, settings.markup, demands.as_ref())?;
            search(&self.inner, &input, weights, &plan, None, |ready, graph| {
                Lattice::new(ready, graph, settings.features, None)
            })
        };
        let Lattice { nodes, finals, arcs, own } = py.detach(run).map_err(to_py)?;
        let own = self.inner.file(&own);
        let arc =
            |a: dragoman_decode::Phrase| (a.from, a.to, a.text, a.span, a.score, filed(a.features, &own));
        Ok((nodes, finals, arcs.into_iter().map(arc).collect()))
    }
}

impl NativeSystem {
    /// Does the same for each of so many sentences; each one that is done is counted at once.
    fn each<T: Send>(
        &self,
        threads: Option<usize>,
        count: usize,
        one: impl Fn(usize) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        pools::each(threads, count, |i| {
            let made = one(i);
            self.searched.fetch_add(1, Ordering::Relaxed);
            made
        })
    }
}

fn explained(input: &Input, best: Hypothesis, own: &[u32]) -> Vec<ExplainedStep> {
    let words: Vec<&str> = best.text.split(' ').filter(|word| !word.is_empty()).collect();
    let steps = best.segments.iter().zip(best.steps).map(|(segment, features)| {
        let origin = match segment.origin {
            Origin::Table(_) => "rule",
            Origin::Unknown => "unknown",
            Origin::Given => "given",
        };
        let source = input.words[segment.from..segment.to].join(" ");
        (
            segment.from,
            segment.to,
            source,
            words[segment.target..segment.target_end].join(" "),
            origin,
            filed(features, own),
        )
    });
    steps.collect()
}

/// Numbers as the system has them.
fn filed(rows: Vec<(u32, f32)>, own: &[u32]) -> Vec<(u32, f32)> {
    rows.into_iter().map(|(id, value)| (System::filed(id, own), value)).collect()
}

struct Job {
    number: usize,
    line: String,
    demands: Option<Demands>,
}

/// What workers return, and what has come early.
struct Done {
    results: Receiver<(usize, Result<Translation>)>,
    early: BTreeMap<usize, Result<Translation>>,
    next: usize,
}

/// Sentences in, translations out in the same order, with a bounded number in between: for streams.
#[pyclass(frozen, module = "dragoman._core")]
pub struct TranslationStream {
    jobs: Mutex<(Option<SyncSender<Job>>, usize)>,
    done: Mutex<Done>,
    /// Grants a place for a sentence; given back when its translation is taken. Without a receiver all is over.
    places: (SyncSender<()>, Mutex<Option<Receiver<()>>>),
    /// Given if features are listed.
    system: Option<Arc<System>>,
}

/// What all workers of a stream share.
struct Shop {
    system: Arc<System>,
    weights: Arc<Weights>,
    plan: Settings,
    marked: bool,
    jobs: Mutex<Receiver<Job>>,
}

impl Shop {
    /// Translates until no job is left or nobody wants results.
    fn work(&self, done: &SyncSender<(usize, Result<Translation>)>) {
        loop {
            let job = lock(&self.jobs).recv();
            let Ok(Job { number, line, demands }) = job else { return };
            let result = read(&line, self.marked, demands.as_ref())
                .and_then(|input| translate(&self.system, &input, &self.weights, &self.plan, None))
                .map_err(at_line(number));
            if done.send((number, result)).is_err() {
                return;
            }
        }
    }
}

/// Locks; whoever panicked while holding the lock left nothing half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[pymethods]
impl TranslationStream {
    /// Starts `threads` workers; at most `window` sentences are under way or waiting to be taken.
    #[new]
    fn new(
        system: &NativeSystem,
        weights: &NativeWeights,
        settings: PySettings,
        threads: usize,
        window: usize,
    ) -> Self {
        let (send_job, jobs) = sync_channel::<Job>(window);
        let (send_done, results) = sync_channel(window);
        let shop = Arc::new(Shop {
            system: Arc::clone(&system.inner),
            weights: Arc::clone(&weights.inner),
            plan: settings.settings(),
            marked: settings.markup,
            jobs: Mutex::new(jobs),
        });
        for _ in 0..threads.max(1) {
            let (shop, done) = (Arc::clone(&shop), send_done.clone());
            std::thread::spawn(move || shop.work(&done));
        }
        let (grant, taken) = sync_channel(window);
        Self {
            jobs: Mutex::new((Some(send_job), 0)),
            done: Mutex::new(Done { results, early: BTreeMap::new(), next: 0 }),
            places: (grant, Mutex::new(Some(taken))),
            system: settings.features.then(|| Arc::clone(&system.inner)),
        }
    }

    /// Hands in a sentence; waits while the window is full. Says whether it was taken: not after `close` or `stop`.
    #[pyo3(signature = (line, demands=None))]
    fn push(&self, py: Python<'_>, line: String, demands: Option<Demands>) -> bool {
        let sent = py.detach(|| -> Option<()> {
            self.places.0.send(()).ok()?;
            let mut jobs = lock(&self.jobs);
            let number = jobs.1;
            jobs.0.as_ref()?.send(Job { number, line, demands }).ok()?;
            jobs.1 += 1;
            Some(())
        });
        sent.is_some()
    }

    /// Says that no more sentences come.
    fn close(&self) {
        lock(&self.jobs).0 = None;
    }

    /// Says that nobody wants translations any more: whoever waits to hand in a sentence is let go.
    fn stop(&self) {
        *lock(&self.places.1) = None;
        self.close();
    }

    /// The translation of the next sentence, waiting for it if need be; None when all are taken and the stream is
    /// closed.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Option<Columns<'py>>> {
        let taken = py.detach(|| -> Option<Result<Translation>> {
            let mut done = lock(&self.done);
            let next = done.next;
            while !done.early.contains_key(&next) {
                let Ok((number, result)) = done.results.recv() else {
                    let lost = lock(&self.jobs).1 > next;
                    return lost
                        .then(|| Err(Error::Invalid(format!("line {}: the search broke off", next + 1))));
                };
                done.early.insert(number, result);
            }
            done.next += 1;
            if let Some(places) = lock(&self.places.1).as_ref() {
                let _ = places.try_recv();
            }
            done.early.remove(&next)
        });
        let Some(result) = taken else { return Ok(None) };
        let mut batch = Batch::new();
        batch.push(&result.map_err(to_py)?, self.system.as_deref());
        Ok(Some(batch.into_columns(py)))
    }
}
