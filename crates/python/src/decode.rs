//! The decoder: a system behind a handle, sentences in, columns of translations out.

use crate::columns::{Names, Texts};
use crate::errors::{invalid, to_py};
use crate::found::{ExplainedStep, LatticeArc, LatticeColumns, TranslationColumns};
use crate::own;
use crate::text::Text;
use crate::threads;
use dragoman_base::{Error, Names as BaseNames, Result};
use dragoman_model::feature::{Part, Reference, StateFeature};
use dragoman_model::{Forced, Input, Weights, markup};
use dragoman_phrase::columns::{Candidates, Explained, Filing, Lattices, explained};
use dragoman_phrase::search::{Graph, Limits, Ready};
use dragoman_phrase::{Choice, Lattice, Phrase, Settings, System, Translation, search, translate};
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
    pop_limit: usize,
    threshold: f32,
    distortion_limit: i64,
    table_limit: usize,
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
            stack: self.stack_size.max(1),
            pops: self.pop_limit,
            threshold: self.threshold,
            distortion: usize::try_from(self.distortion_limit).ok(),
            // What is no time at all, or longer than a clock can tell, is no limit.
            deadline: Duration::try_from_secs_f64(self.deadline).ok().filter(|time| !time.is_zero()),
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
    system: Arc<System>,
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
        Ok(Self { inner, system: Arc::clone(&self.system) })
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
    /// Opens tables and builds features: kind, name and options of each part.
    #[new]
    #[pyo3(signature = (tables, parts, rules=Text(vec![]), states=Text(vec![])))]
    fn new(
        py: Python<'_>,
        tables: Text<Vec<String>>,
        parts: Text<Vec<Described>>,
        rules: Text<Vec<own::RuleParts>>,
        states: Text<Vec<own::StateParts>>,
    ) -> PyResult<Self> {
        let parts: Vec<Part> =
            parts.0.into_iter().map(|(kind, name, options)| Part { kind, name, options }).collect();
        let inner = Arc::new(
            threads::run(py, || {
                System::open_with(&tables, &parts, |to| own::add(rules.0, states.0, tables.len(), to))
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
        Ok(NativeWeights { inner, system: Arc::clone(&self.inner) })
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
        let plan = settings.settings();
        let one = |i: usize| -> Result<Translation> {
            let target = targets.map(|targets| reference(targets.inner.get(i)));
            read(lines.inner.get(i), settings.markup, demands.as_ref().map(|d| &d[i]))
                .and_then(|input| translate(&self.inner, &input, weights, &plan, demand(target.as_ref())))
                .map_err(at_line(i))
        };
        let system = settings.features.then_some(&*self.inner);
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
    ) -> PyResult<(f64, Vec<ExplainedStep>)> {
        let weights = &weights.inner;
        let plan = Settings { explain: true, features: true, size: 1, ..settings.settings() };
        let run = || -> Result<(f64, Vec<Explained>)> {
            let input = read(&line, settings.markup, demands.as_deref())?;
            let translation = translate(&self.inner, &input, weights, &plan, None)?;
            let own = self.inner.file(&translation.own);
            let Some(best) = translation.hypotheses.first() else {
                return Err(Error::Invalid("this sentence has no derivation".to_owned()));
            };
            Ok((best.score, explained(&input, best, Filing { dense: self.inner.dense(), own: &own })))
        };
        let (score, steps) = py.detach(run).map_err(to_py)?;
        Ok((score, steps.into_iter().map(ExplainedStep::from).collect()))
    }

    /// The lattices of sentences with all features, in columns: `density` arcs for each source word, 0 for all.
    #[allow(clippy::too_many_arguments)] // one per column of the input
    #[pyo3(signature = (lines, weights, settings, density, demands=None, threads=None))]
    fn lattices(
        &self,
        py: Python<'_>,
        lines: &Texts,
        weights: &NativeWeights,
        settings: PySettings,
        density: f64,
        demands: Option<Text<Vec<Demands>>>,
        threads: Option<usize>,
    ) -> PyResult<LatticeColumns> {
        if demands.as_ref().is_some_and(|demands| demands.len() != lines.inner.len()) {
            return Err(invalid(format!("expected demands for each of {} lines", lines.inner.len())));
        }
        let weights = &weights.inner;
        let mut plan = settings.settings();
        plan.limits.keep = true;
        let one = |i: usize| -> Result<Lattice> {
            let input = read(lines.inner.get(i), settings.markup, demands.as_ref().map(|d| &d[i]))?;
            let most = (density > 0.0).then(|| (density * input.words.len() as f64).ceil() as usize);
            let see = |ready: &Ready<'_>, graph: &Graph| Lattice::new(ready, graph, true, most);
            search(&self.inner, &input, weights, &plan, None, see).map_err(at_line(i))
        };
        let run = || {
            let done = self.each(threads, lines.inner.len(), one)?;
            Ok(Lattices::of(&done, &self.inner))
        };
        LatticeColumns::new(py, py.detach(run).map_err(to_py)?)
    }

    /// The lattice of a sentence: number of nodes, final nodes, arcs.
    #[pyo3(signature = (line, weights, settings, demands=None))]
    fn lattice(
        &self,
        py: Python<'_>,
        line: Text,
        weights: &NativeWeights,
        settings: PySettings,
        demands: Option<Text<Demands>>,
    ) -> PyResult<(usize, Vec<u32>, Vec<LatticeArc>)> {
        let weights = &weights.inner;
        let mut plan = settings.settings();
        plan.limits.keep = true;
        let run = || -> Result<(Lattice, Vec<u32>)> {
            let input = read(&line, settings.markup, demands.as_deref())?;
            let made = search(&self.inner, &input, weights, &plan, None, |ready, graph| {
                Lattice::new(ready, graph, settings.features, None)
            })?;
            let own = self.inner.file(&made.own);
            Ok((made, own))
        };
        let (Lattice { nodes, finals, arcs, .. }, own) = py.detach(run).map_err(to_py)?;
        let filing = Filing { dense: self.inner.dense(), own: &own };
        let arc = |arc: Phrase| {
            let features = filing.rows(&arc.features);
            LatticeArc::new(arc, features)
        };
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

/// A sentence of a stream: a line and what its writer demands.
type Line = (String, Option<Demands>);

/// Sentences in, translations out in the same order, with a bounded number in between: for streams.
#[pyclass(frozen, module = "dragoman._core")]
pub struct TranslationStream {
    inner: Stream<Line, Result<Translation>>,
    /// Given if features are listed.
    system: Option<Arc<System>>,
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
        let named = settings.features.then(|| Arc::clone(&system.inner));
        let (system, weights) = (Arc::clone(&system.inner), Arc::clone(&weights.inner));
        let (plan, marked) = (settings.settings(), settings.markup);
        let work = move |number: usize, (line, demands): Line| {
            read(&line, marked, demands.as_ref())
                .and_then(|input| translate(&system, &input, &weights, &plan, None))
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
