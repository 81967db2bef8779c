//! The decoder: a system behind a handle, sentences in, columns of translations out.

use crate::columns::{Names, Texts};
use crate::errors::{invalid, to_py};
use crate::forests::NativeForests;
use crate::found::{ExplainedStep, TranslationColumns};
use crate::own;
use crate::systems::System;
use crate::text::Text;
use crate::threads;
use dragoman_base::{Error, Names as BaseNames, Result};
use dragoman_forest::Forest;
use dragoman_model::feature::sparse::attributes::OWN;
use dragoman_model::feature::{Part, Reference, StateFeature};
use dragoman_model::found::{Candidates, Translation};
use dragoman_model::{Forced, Input, Weights, markup};
use dragoman_phrase::search::Limits;
use dragoman_phrase::{Choice, Settings};
use dragoman_stream::{Lost, Stream, pools};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

/// How to search, read from the fields of a Python object.
#[derive(FromPyObject)]
#[allow(clippy::struct_excessive_bools)] // options of a call, not states
pub struct PySettings {
    stack_size: usize,
    pub(crate) cell_limit: usize,
    pub(crate) pop_limit: usize,
    pub(crate) threshold: f32,
    distortion_limit: i64,
    pub(crate) span_limit: usize,
    pub(crate) table_limit: usize,
    pub(crate) drop_unknown: bool,
    pub(crate) pass_through: bool,
    deadline: f64,
    pub(crate) memory: usize,
    pub(crate) size: usize,
    pub(crate) distinct: bool,
    pub(crate) features: bool,
    explain: bool,
    markup: bool,
    stop: Option<Py<Stop>>,
}

/// Ends the searches of the calls that were given it: what is under way goes on greedily, what waits is not begun.
#[pyclass(frozen, module = "dragoman._core")]
#[derive(Default)]
pub struct Stop {
    inner: dragoman_base::Stop,
}

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Says that nobody wants the results any more.
    fn stop(&self) {
        self.inner.stop();
    }

    /// Whether that was said.
    #[getter]
    fn stopped(&self) -> bool {
        self.inner.stopped()
    }
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

    /// Time for a sentence. What is no time at all, or longer than a clock can tell, is no limit.
    pub(crate) fn time(&self) -> Option<Duration> {
        Duration::try_from_secs_f64(self.deadline).ok().filter(|time| !time.is_zero())
    }

    /// Who may end the search, if anybody.
    pub(crate) fn stop(&self) -> Option<dragoman_base::Stop> {
        self.stop.as_ref().map(|stop| stop.get().inner.clone())
    }

    /// Refuses to begin what nobody wants any more.
    fn go_on(&self) -> Result<()> {
        match &self.stop {
            Some(stop) if stop.get().inner.stopped() => {
                Err(Error::Invalid("the search was stopped".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// As a phrase-based search wants it.
    pub fn phrase(&self) -> Settings {
        let limits = Limits {
            stack: self.stack_size.max(1),
            pops: self.pop_limit,
            threshold: self.threshold,
            distortion: usize::try_from(self.distortion_limit).ok(),
            deadline: self.time(),
            stop: self.stop(),
            memory: self.memory,
            keep: self.size > 1,
        };
        Settings {
            limits,
            choice: Choice { limit: self.table_limit, drop_unknown: self.drop_unknown },
            size: self.size,
            distinct: self.distinct,
            features: self.features,
            explain: self.explain,
        }
    }
}

/// How long a taker waits before it looks for signals.
const LOOK_UP: Duration = Duration::from_millis(100);

/// A given translation: from, up to, text, log probability, whether it rules others out, whether it is a term.
type Given = (usize, usize, String, f32, bool, bool);
/// Demands of one sentence: given translations, walls, zones.
pub type Demands = (Vec<Given>, Vec<usize>, Vec<(usize, usize)>);

/// A line as the search wants it.
pub fn read(line: &str, marked: bool, demands: Option<&Demands>) -> Result<Input> {
    if marked {
        return markup::parse(line);
    }
    let mut input = Input::plain(line);
    if let Some((forced, walls, zones)) = demands {
        input.forced = forced
            .iter()
            .map(|(from, to, text, log, exclusive, term)| {
                let target = dragoman_base::words(text).map(str::to_owned).collect();
                Forced { from: *from, to: *to, target, log: *log, exclusive: *exclusive, term: *term }
            })
            .collect();
        input.walls.clone_from(walls);
        input.zones.clone_from(zones);
    }
    Ok(input)
}

/// A line with markup, plain or of words: the text without tags, given translations (from, up to, text, log
/// probability), walls, zones. Places count characters.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn read_markup(
    line: Text,
    plain: bool,
) -> PyResult<(String, Vec<(usize, usize, String, f32)>, Vec<usize>, Vec<(usize, usize)>)> {
    let found = markup::read(&line, plain).map_err(to_py)?;
    let place = |at: usize| found.text[..at].chars().count();
    let given = found
        .given
        .iter()
        .map(|(from, to, text, log)| (place(*from), place(*to), text.clone(), *log))
        .collect();
    let walls = found.walls.iter().map(|&at| place(at)).collect();
    let zones = found.zones.iter().map(|&(from, to)| (place(from), place(to))).collect();
    Ok((found.text, given, walls, zones))
}

/// The attributes of rules that boosted trees ask about, besides scores: name, and what it is.
#[pyfunction]
pub fn rule_attributes() -> Vec<(&'static str, &'static str)> {
    OWN.iter().map(|&(name, about, _)| (name, about)).collect()
}

/// A part of a system: kind, name, options.
type Described = (String, String, Vec<(String, String)>);

/// Tables and features, without weights; shared by all threads.
#[pyclass(frozen, module = "dragoman._core")]
pub struct NativeSystem {
    pub(crate) inner: System,
    /// Sentences that were searched so far, for those who wait.
    searched: AtomicUsize,
}

/// Weights that are ready for a system; made once, used for many sentences.
#[pyclass(frozen, module = "dragoman._core")]
pub struct NativeWeights {
    pub(crate) inner: Arc<Weights>,
    system: System,
}

#[pymethods]
impl NativeWeights {
    /// Weights with other values for some features, by the system's numbers. What is not changed is shared.
    fn changed(
        &self,
        py: Python<'_>,
        columns: PyReadonlyArray1<'_, u32>,
        values: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Self> {
        let (columns, values) = (columns.as_slice()?, values.as_slice()?);
        if columns.len() != values.len() {
            return Err(invalid("expected a value for each feature that changes"));
        }
        let change = || {
            let changes = columns.iter().zip(values).map(|(&id, &value)| (id, value as f32)).collect();
            self.system.changed(&self.inner, changes)
        };
        let inner = Arc::new(py.detach(change).map_err(to_py)?);
        Ok(Self { inner, system: self.system.clone() })
    }

    /// Number of features; those that were met later weigh nothing.
    fn __len__(&self) -> usize {
        self.inner.len()
    }
}

fn demand(target: Option<&Reference>) -> Option<&dyn StateFeature> {
    target.map(|target| target as &dyn StateFeature)
}

fn reference(line: &str) -> Reference {
    Reference::new(dragoman_base::words(line).map(str::to_owned).collect())
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
    /// Opens tables and builds features: kind, name and options of each part. A system is `phrase` or `hiero`.
    #[new]
    #[pyo3(signature = (tables, parts, rules=Text(vec![]), states=Text(vec![]), system=None))]
    fn new(
        py: Python<'_>,
        tables: Text<Vec<String>>,
        parts: Text<Vec<Described>>,
        rules: Text<Vec<own::RuleParts>>,
        states: Text<Vec<own::StateParts>>,
        system: Option<Text>,
    ) -> PyResult<Self> {
        let parts: Vec<Part> =
            parts.0.into_iter().map(|(kind, name, options)| Part { kind, name, options }).collect();
        let kind = system.as_ref().map_or("phrase", |system| system);
        let inner =
            threads::run(py, || System::open(kind, &tables, &parts, rules.0, states.0)).map_err(to_py)?;
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
    fn unknown(&self, py: Python<'_>, names: &Names) -> Option<String> {
        if Arc::ptr_eq(&names.inner, self.inner.names()) {
            return None;
        }
        py.detach(|| names.read(|names| self.inner.unknown(names).map(str::to_owned)))
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
        Ok(NativeWeights { inner, system: self.inner.clone() })
    }

    /// The numbers that this system has for some names of a table; the names of its sparse sets are filed.
    fn numbers<'py>(
        &self,
        py: Python<'py>,
        names: &Names,
        columns: PyReadonlyArray1<'_, u32>,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let columns = columns.as_slice()?;
        if Arc::ptr_eq(&names.inner, self.inner.names()) {
            return Ok(PyArray1::from_slice(py, columns));
        }
        let find = |names: &BaseNames| {
            if columns.iter().any(|&column| column as usize >= names.len()) {
                return Err(Error::Invalid("there is no such name".to_owned()));
            }
            self.inner.numbers(names, columns)
        };
        Ok(py.detach(|| names.read(find)).map_err(to_py)?.into_pyarray(py))
    }

    /// Translates sentences on all cores, or on `threads` of them.
    #[allow(clippy::too_many_arguments)] // one per column of the input
    #[pyo3(signature = (lines, weights, settings, demands=None, targets=None, threads=None))]
    fn translate(
        &self,
        py: Python<'_>,
        lines: &Texts,
        weights: &NativeWeights,
        settings: PySettings,
        demands: Option<Text<Vec<Demands>>>,
        targets: Option<&Texts>,
        threads: Option<usize>,
    ) -> PyResult<TranslationColumns> {
        let weights = &weights.inner;
        let one = |i: usize| -> Result<Translation> {
            settings.go_on()?;
            let target = targets.map(|targets| reference(targets.inner.get(i)));
            read(lines.inner.get(i), settings.markup, demands.as_ref().map(|d| &d[i]))
                .and_then(|input| self.inner.translate(&input, weights, &settings, demand(target.as_ref())))
                .map_err(at_line(i))
        };
        let system: Option<&dragoman_model::System> = settings.features.then_some(&self.inner);
        let found = py
            .detach(|| {
                let done = self.each(threads, lines.inner.len(), one)?;
                Ok(Candidates::of(&done, system))
            })
            .map_err(to_py)?;
        TranslationColumns::new(py, found)
    }

    /// The best derivation of a sentence, phrase by phrase.
    #[pyo3(signature = (line, weights, settings, demands=None))]
    fn explain(
        &self,
        py: Python<'_>,
        line: Text,
        weights: &NativeWeights,
        settings: PySettings,
        demands: Option<Text<Demands>>,
    ) -> PyResult<(f64, String, Vec<ExplainedStep>)> {
        let weights = &weights.inner;
        let run = || {
            let input = read(&line, settings.markup, demands.as_deref())?;
            self.inner.explain(&input, weights, &settings)
        };
        let (score, text, steps) = py.detach(run).map_err(to_py)?;
        Ok((score, text, steps.into_iter().map(ExplainedStep::from).collect()))
    }

    /// The forests of sentences with all features: `density` edges for each source word, 0 for all.
    #[pyo3(signature = (lines, weights, settings, density, demands=None, threads=None))]
    #[allow(clippy::too_many_arguments)] // one per option
    fn forests(
        &self,
        py: Python<'_>,
        lines: &Texts,
        weights: &NativeWeights,
        settings: PySettings,
        density: f64,
        demands: Option<Text<Vec<Demands>>>,
        threads: Option<usize>,
    ) -> PyResult<NativeForests> {
        let weights = &weights.inner;
        if demands.as_ref().is_some_and(|demands| demands.len() != lines.inner.len()) {
            return Err(invalid("expected constraints for each line"));
        }
        let one = |i: usize| {
            read(lines.inner.get(i), settings.markup, demands.as_ref().map(|all| &all[i]))
                .and_then(|input| self.inner.forest(&input, weights, &settings, density))
                .map_err(at_line(i))
        };
        let run = || -> Result<Vec<Forest>> {
            let done = self.each(threads, lines.inner.len(), one)?;
            // In order of the sentences, so that names get the same numbers however many threads there are.
            Ok(done.into_iter().map(|made| self.inner.filed(made)).collect())
        };
        Ok(py.detach(run).map_err(to_py)?.into())
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

/// A sentence of a stream: a line and what its writer demands.
type Line = (String, Option<Demands>);

/// Sentences in, translations out in the same order, with a bounded number in between: for streams.
#[pyclass(frozen, module = "dragoman._core")]
pub struct TranslationStream {
    inner: Stream<Line, Result<Translation>>,
    /// Given if features are listed.
    system: Option<System>,
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
        let named = settings.features.then(|| system.inner.clone());
        let (system, weights) = (system.inner.clone(), Arc::clone(&weights.inner));
        let work = move |number: usize, (line, demands): Line| {
            read(&line, settings.markup, demands.as_ref())
                .and_then(|input| system.translate(&input, &weights, &settings, None))
                .map_err(at_line(number))
        };
        Self { inner: Stream::new(threads, window, work), system: named }
    }

    /// Hands in a sentence; waits while the window is full. Says whether it was taken: not after `close` or `stop`.
    #[pyo3(signature = (line, demands=None))]
    fn push(&self, py: Python<'_>, line: Text<String>, demands: Option<Text<Demands>>) -> bool {
        py.detach(|| self.inner.push((line.0, demands.map(|demands| demands.0))))
    }

    /// Says that no more sentences come.
    fn close(&self) {
        self.inner.close();
    }

    /// Says that nobody wants translations any more: whoever waits to hand in a sentence is let go.
    fn stop(&self) {
        self.inner.stop();
    }

    /// The translation of the next sentence, waiting for it if need be; None when all are taken and the stream is
    /// closed.
    fn take(&self, py: Python<'_>) -> PyResult<Option<TranslationColumns>> {
        let lost = |Lost(number)| Error::Invalid(format!("line {}: the search broke off", number + 1));
        let run = || {
            self.inner.take_within(LOOK_UP).map(|taken| {
                let translation = taken?.map_err(lost).and_then(|made| made);
                Some(translation.map(|made| Candidates::of([&made], self.system.as_deref())))
            })
        };
        loop {
            match py.detach(run) {
                Some(Some(taken)) => return TranslationColumns::new(py, taken.map_err(to_py)?).map(Some),
                Some(None) => return Ok(None),
                None => py.check_signals()?, // Ctrl-C must not wait for the next line
            }
        }
    }
}
