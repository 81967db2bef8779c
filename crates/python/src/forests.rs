//! Forests: from the decoder and from files, and to the search for hope and fear.

use crate::columns::{Names, Texts};
use crate::errors::{invalid, to_py};
use crate::learn::sized;
use crate::metric::NativeMetric;
use crate::mira;
use crate::text::Text;
use crate::threads;
use dragoman_base::sparse::Rows;
use dragoman_base::{Result, Texts as BaseTexts};
use dragoman_forest::{Columns, Derivation, Forest, cdec, jsonl};
use dragoman_optim::Memory;
use dragoman_tune::forest::{Kept, Path, Pool, Run, read, write};
use dragoman_tune::mira::{Around, Context, Rules, Unit, Wish, learner};
use numpy::{Element, IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyDict;
use rayon::prelude::*;
use std::sync::Arc;

type Array<'py, T> = Bound<'py, PyArray1<T>>;
type Slice<'py, T> = PyReadonlyArray1<'py, T>;

/// After a pass: weights, drift, updates, background, its count, sums of the statistics of oracles and predictions, and
/// how many sentences could teach anything.
type Visited<'py> =
    (Array<'py, f64>, Array<'py, f64>, u64, Array<'py, f64>, f64, Array<'py, f64>, Array<'py, f64>, usize);

/// Some derivations: texts, row starts, feature ids, values.
type PathColumns<'py> = (Texts, Array<'py, i64>, Array<'py, u32>, Array<'py, f64>);

/// Some derivations of one forest: texts, scores, row starts, feature ids, values, links, edges bottom up.
type Listed<'py> =
    (Texts, Array<'py, f64>, Array<'py, i64>, Array<'py, u32>, Array<'py, f64>, Texts, Vec<Vec<u32>>);

/// Forests of some sentences.
#[pyclass(frozen, sequence, module = "dragoman._core")]
pub struct NativeForests {
    pub inner: Arc<Vec<Forest>>,
}

impl From<Vec<Forest>> for NativeForests {
    fn from(forests: Vec<Forest>) -> Self {
        Self { inner: Arc::new(forests) }
    }
}

fn or_zeros<T: Element + Copy + Default>(array: Option<Slice<'_, T>>, size: usize) -> PyResult<Vec<T>> {
    array.map_or_else(|| Ok(vec![T::default(); size]), |array| Ok(array.as_slice()?.to_vec()))
}

#[pymethods]
impl NativeForests {
    /// Forests from columns, as `columns` gives them.
    #[staticmethod]
    #[allow(clippy::too_many_arguments)] // one per column
    #[pyo3(signature = (*, nodes, starts, heads, tail_starts, tails, symbol_starts, symbols, words, row_starts, columns,
        values, scores=None, spans=None, link_starts=None, links=None, tags=None, labels=None))]
    fn from_columns(
        py: Python<'_>,
        nodes: Slice<'_, i64>,
        starts: Slice<'_, i64>,
        heads: Slice<'_, u32>,
        tail_starts: Slice<'_, i64>,
        tails: Slice<'_, u32>,
        symbol_starts: Slice<'_, i64>,
        symbols: Slice<'_, u32>,
        words: &Texts,
        row_starts: Slice<'_, i64>,
        columns: Slice<'_, u32>,
        values: Slice<'_, f64>,
        scores: Option<Slice<'_, f64>>,
        spans: Option<Slice<'_, u32>>,
        link_starts: Option<Slice<'_, i64>>,
        links: Option<Slice<'_, u32>>,
        tags: Option<Slice<'_, u32>>,
        labels: Option<Slice<'_, u32>>,
    ) -> PyResult<Self> {
        let edges = heads.as_slice()?.len();
        let made = Columns {
            nodes: nodes.as_slice()?.to_vec(),
            starts: starts.as_slice()?.to_vec(),
            heads: heads.as_slice()?.to_vec(),
            tail_starts: tail_starts.as_slice()?.to_vec(),
            tails: tails.as_slice()?.to_vec(),
            symbol_starts: symbol_starts.as_slice()?.to_vec(),
            symbols: symbols.as_slice()?.to_vec(),
            words: (*words.inner).clone(),
            rows: Rows {
                starts: row_starts.as_slice()?.to_vec(),
                columns: columns.as_slice()?.to_vec(),
                values: values.as_slice()?.to_vec(),
            },
            scores: or_zeros(scores, edges)?,
            spans: or_zeros(spans, 2 * edges)?,
            link_starts: or_zeros(link_starts, edges + 1)?,
            links: or_zeros(links, 0)?,
            tags: or_zeros(tags, edges)?,
            labels: or_zeros(labels, 0)?,
        };
        Ok(py.detach(|| made.forests()).map_err(to_py)?.into())
    }

    /// The columns, by name.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let made = py.detach(|| Columns::of(&self.inner));
        let all = PyDict::new(py);
        all.set_item("nodes", made.nodes.into_pyarray(py))?;
        all.set_item("starts", made.starts.into_pyarray(py))?;
        all.set_item("heads", made.heads.into_pyarray(py))?;
        all.set_item("tail_starts", made.tail_starts.into_pyarray(py))?;
        all.set_item("tails", made.tails.into_pyarray(py))?;
        all.set_item("symbol_starts", made.symbol_starts.into_pyarray(py))?;
        all.set_item("symbols", made.symbols.into_pyarray(py))?;
        all.set_item("words", Texts::from(made.words))?;
        all.set_item("row_starts", made.rows.starts.into_pyarray(py))?;
        all.set_item("columns", made.rows.columns.into_pyarray(py))?;
        all.set_item("values", made.rows.values.into_pyarray(py))?;
        all.set_item("scores", made.scores.into_pyarray(py))?;
        all.set_item("spans", made.spans.into_pyarray(py))?;
        all.set_item("link_starts", made.link_starts.into_pyarray(py))?;
        all.set_item("links", made.links.into_pyarray(py))?;
        all.set_item("tags", made.tags.into_pyarray(py))?;
        all.set_item("labels", made.labels.into_pyarray(py))?;
        Ok(all)
    }

    fn __len__(&self) -> usize {
        self.inner.len()
    }

    /// Number of nodes of each.
    #[getter]
    fn nodes<'py>(&self, py: Python<'py>) -> Array<'py, i64> {
        self.inner.iter().map(|forest| i64::from(forest.nodes)).collect::<Vec<_>>().into_pyarray(py)
    }

    /// Number of edges of each.
    #[getter]
    fn edges<'py>(&self, py: Python<'py>) -> Array<'py, i64> {
        self.inner.iter().map(|forest| forest.edges() as i64).collect::<Vec<_>>().into_pyarray(py)
    }

    /// Whether no edge of any has more than one tail.
    #[getter]
    fn lattices(&self) -> bool {
        self.inner.iter().all(Forest::is_lattice)
    }

    /// Some of them, by number.
    fn take(&self, numbers: Slice<'_, i64>) -> PyResult<Self> {
        let one = |&number: &i64| self.get(usize::try_from(number).unwrap_or(usize::MAX)).cloned();
        Ok(numbers.as_slice()?.iter().map(one).collect::<PyResult<Vec<_>>>()?.into())
    }

    /// The same with other numbers of features: `numbers[c]` for feature c.
    fn renamed(&self, py: Python<'_>, numbers: Slice<'_, u32>) -> PyResult<Self> {
        let numbers = numbers.as_slice()?;
        let used = self.inner.iter().flat_map(|forest| &forest.rows.columns).max();
        if used.is_some_and(|&column| column as usize >= numbers.len()) {
            return Err(invalid("expected a number for each feature"));
        }
        let one = |forest: &Forest| {
            let mut made = forest.clone();
            made.rows.columns.iter_mut().for_each(|column| *column = numbers[*column as usize]);
            made
        };
        Ok(py.detach(|| self.inner.iter().map(one).collect::<Vec<_>>()).into())
    }

    /// The same with scores under some weights.
    fn rescored(&self, py: Python<'_>, weights: Slice<'_, f64>) -> PyResult<Self> {
        let weights = weights.as_slice()?;
        let one = |forest: &Forest| Forest { scores: forest.scored(weights), ..forest.clone() };
        Ok(py.detach(|| self.inner.iter().map(one).collect::<Vec<_>>()).into())
    }

    /// The edges on the best derivations: about `most` in each forest.
    fn densest(&self, py: Python<'_>, most: Slice<'_, i64>) -> PyResult<Self> {
        let most = sized(&most, self.inner.len(), "numbers of edges, one for each forest")?;
        let one = |(forest, &most): (&Forest, &i64)| forest.densest(most.max(0) as usize);
        Ok(py.detach(|| self.inner.iter().zip(most).map(one).collect::<Vec<_>>()).into())
    }

    /// The edges whose best derivation is worse than the very best by `beam` at most.
    fn within(&self, py: Python<'_>, beam: f64) -> PyResult<Self> {
        if beam.is_nan() || beam < 0.0 {
            return Err(invalid("expected a beam of 0 or more"));
        }
        Ok(py.detach(|| self.inner.iter().map(|forest| forest.within(beam)).collect::<Vec<_>>()).into())
    }

    /// The text of the best derivation of each under some weights; None where there is no derivation.
    fn best(&self, py: Python<'_>, weights: Slice<'_, f64>) -> PyResult<Vec<Option<String>>> {
        let weights = weights.as_slice()?;
        let one = |forest: &Forest| {
            let best = forest.best(&forest.scored(weights))?;
            Some(forest.text_of(&best.edges))
        };
        Ok(threads::run(py, || self.inner.par_iter().map(one).collect()))
    }

    /// The best derivations of a forest under its scores.
    fn kbest<'py>(
        &self,
        py: Python<'py>,
        forest: usize,
        size: usize,
        distinct: bool,
    ) -> PyResult<Listed<'py>> {
        let forest = self.get(forest)?;
        let found = py.detach(|| forest.kbest(size, distinct));
        Ok(listed(py, forest, found))
    }

    /// The best derivation of a forest with these words; nothing if it has none.
    fn reach<'py>(
        &self,
        py: Python<'py>,
        forest: usize,
        words: Text<Vec<PyBackedStr>>,
    ) -> PyResult<Listed<'py>> {
        let forest = self.get(forest)?;
        let found = py.detach(|| {
            let words: Vec<&str> = words.iter().map(|word| &**word).collect();
            forest.reach(&words, &forest.scores)
        });
        Ok(listed(py, forest, found.into_iter().collect()))
    }

    /// A derivation as indented lines.
    fn outline(&self, forest: usize, edges: Vec<u32>) -> PyResult<String> {
        let forest = self.get(forest)?;
        if edges.iter().any(|&edge| edge as usize >= forest.edges()) || forest.tree(&edges).is_none() {
            return Err(invalid("these edges are no derivation of the forest"));
        }
        Ok(forest.outline(&edges))
    }

    /// A forest as a line of JSON.
    fn jsonl(&self, py: Python<'_>, forest: usize, id: Text, names: &Names) -> PyResult<String> {
        let forest = self.get(forest)?;
        let mut line = Vec::new();
        py.detach(|| names.read(|names| jsonl::write(forest, &id, names, &mut line)));
        Ok(String::from_utf8(line).expect("JSON is text"))
    }

    /// A forest in cdec's form; with the words of its sentence, rules have a source side.
    fn cdec(
        &self,
        py: Python<'_>,
        forest: usize,
        names: &Names,
        source: Text<Vec<PyBackedStr>>,
    ) -> PyResult<String> {
        let forest = self.get(forest)?;
        let mut line = Vec::new();
        let run = || {
            let source: Vec<&str> = source.iter().map(|word| &**word).collect();
            names.read(|names| cdec::write(forest, names, &source, &mut line))
        };
        py.detach(run).map_err(to_py)?;
        Ok(String::from_utf8(line).expect("JSON is text"))
    }

    /// A forest from a line of JSON, and its name; `path` and `number` are for errors.
    #[staticmethod]
    fn read_jsonl(line: Text, names: &Names, path: &str, number: usize) -> PyResult<(String, Self)> {
        let mut names = names.inner.write().expect("no panic while locked");
        let (id, forest) = jsonl::read(&line, &mut names, (path, number)).map_err(to_py)?;
        Ok((id, vec![forest].into()))
    }

    /// A forest from a line in cdec's form.
    #[staticmethod]
    fn read_cdec(line: Text, names: &Names, path: &str, number: usize) -> PyResult<Self> {
        let mut names = names.inner.write().expect("no panic while locked");
        Ok(vec![cdec::read(&line, &mut names, (path, number)).map_err(to_py)?].into())
    }
}

impl NativeForests {
    fn get(&self, forest: usize) -> PyResult<&Forest> {
        self.inner.get(forest).ok_or_else(|| PyIndexError::new_err("there is no such forest"))
    }

    /// As tuning keeps them.
    pub fn kept(&self) -> Result<Vec<Kept>> {
        self.inner.par_iter().map(Kept::new).collect()
    }
}

fn listed<'py>(py: Python<'py>, forest: &Forest, found: Vec<Derivation>) -> Listed<'py> {
    let (mut texts, mut links, mut rows) = (BaseTexts::new(), BaseTexts::new(), Rows::default());
    py.detach(|| {
        for Derivation { edges, .. } in &found {
            texts.push(&forest.text_of(edges));
            let pairs: Vec<String> = forest.links_of(edges).iter().map(|(s, t)| format!("{s}-{t}")).collect();
            links.push(&pairs.join(" "));
            for (column, value) in forest.features_of(edges) {
                rows.push(column, value);
            }
            rows.end_row();
        }
    });
    let scores: Vec<f64> = found.iter().map(|derivation| derivation.score).collect();
    let (columns, values) = (rows.columns.into_pyarray(py), rows.values.into_pyarray(py));
    let edges = found.into_iter().map(|derivation| derivation.edges).collect();
    (
        texts.into(),
        scores.into_pyarray(py),
        rows.starts.into_pyarray(py),
        columns,
        values,
        links.into(),
        edges,
    )
}

/// The forests of the sentences of a tuning text, of one or more rounds.
#[pyclass(module = "dragoman._core")]
pub struct ForestPool {
    inner: Pool,
}

#[pymethods]
impl ForestPool {
    /// No forests yet; the metric must have the capability `linear`.
    #[new]
    fn new(py: Python<'_>, metric: &NativeMetric, references: Text<Vec<Vec<PyBackedStr>>>) -> PyResult<Self> {
        if let Some(empty) = references.iter().position(Vec::is_empty) {
            return Err(invalid(format!("sentence {empty} has no reference")));
        }
        let inner = threads::run(py, || {
            let lines: Vec<Vec<&str>> =
                references.iter().map(|refs| refs.iter().map(|line| &**line).collect()).collect();
            Pool::new(Arc::clone(&metric.inner), &lines)
        });
        Ok(Self { inner: inner.map_err(to_py)? })
    }

    /// Adds forests to some sentences.
    fn add(
        &mut self,
        py: Python<'_>,
        round: u32,
        sentences: Slice<'_, i64>,
        forests: &NativeForests,
    ) -> PyResult<()> {
        let sentences: Vec<usize> = sentences.as_slice()?.iter().map(|&s| s as usize).collect();
        if sentences.len() != forests.inner.len() {
            return Err(invalid(format!("expected {} forests, one for each sentence", sentences.len())));
        }
        threads::run(py, || self.inner.add(round, &sentences, forests.kept()?)).map_err(to_py)
    }

    /// Forgets the forests of rounds before this one.
    fn forget(&mut self, round: u32) {
        self.inner.forget(round);
    }

    /// Bytes in use.
    #[getter]
    fn bytes(&self) -> usize {
        self.inner.bytes()
    }

    /// Number of edges, and of steps that a search looks at.
    #[getter]
    fn size(&self) -> (usize, usize) {
        self.inner.size()
    }

    fn __len__(&self) -> usize {
        self.inner.sentences()
    }

    /// Longest n-gram that counts.
    #[getter]
    fn order(&self) -> usize {
        self.inner.order()
    }

    /// Writes the forests of a round.
    fn save(&self, py: Python<'_>, path: &str, round: u32, names: &Names) -> PyResult<()> {
        py.detach(|| names.read(|names| write(path, names, &self.inner.round(round)))).map_err(to_py)
    }

    /// Reads the forests of a round.
    fn load(&mut self, py: Python<'_>, path: &str, round: u32, names: &Names) -> PyResult<()> {
        let run = || -> Result<()> {
            let found = read(path, &mut names.inner.write().expect("no panic while locked"))?;
            let (sentences, forests): (Vec<usize>, Vec<Kept>) = found.into_iter().unzip();
            self.inner.add(round, &sentences, forests)
        };
        threads::run(py, run).map_err(to_py)
    }

    /// The sum of the statistics of all sentences' 1-best paths.
    fn total<'py>(&self, py: Python<'py>, weights: Slice<'_, f64>) -> PyResult<Array<'py, f64>> {
        let weights = weights.as_slice()?;
        Ok(threads::run(py, || self.inner.total(weights)).into_pyarray(py))
    }

    /// What a word and a match of each order are worth on top of a sum of statistics, to first order.
    fn slopes<'py>(&self, py: Python<'py>, row: Slice<'_, f64>) -> PyResult<Array<'py, f64>> {
        let row = sized(&row, self.inner.metric().width(), "statistics")?;
        Ok(self.inner.linear().slopes(row).into_pyarray(py))
    }

    /// For each wish (a factor of the model score, one of the linearised gain) the best path in each of a sentence's
    /// forests: texts and features. Paths that are best for several wishes come once.
    fn paths<'py>(
        &self,
        py: Python<'py>,
        sentence: usize,
        weights: Slice<'_, f64>,
        wishes: Vec<(f64, f64)>,
        slopes: Slice<'_, f64>,
    ) -> PyResult<PathColumns<'py>> {
        self.check(sentence)?;
        let slopes = sized(&slopes, self.inner.order() + 1, "slopes")?;
        let weights = weights.as_slice()?;
        Ok(self.columns(py, sentence, || self.inner.search(sentence, weights, &wished(wishes), slopes)))
    }

    /// The 1-best path of each of a sentence's forests and, for each wish, the best path that a search finds from there:
    /// as `paths`, but gains are the metric's own on top of `base`, times `unit`.
    fn seek<'py>(
        &self,
        py: Python<'py>,
        sentence: usize,
        weights: Slice<'_, f64>,
        wishes: Vec<(f64, f64)>,
        base: Slice<'_, f64>,
        unit: f64,
    ) -> PyResult<PathColumns<'py>> {
        self.check(sentence)?;
        let base = sized(&base, self.inner.metric().width(), "statistics")?;
        let weights = weights.as_slice()?;
        let worth = self.inner.worth(base, unit);
        Ok(self.columns(py, sentence, || self.inner.firsts(sentence, weights).seek(&wished(wishes), &worth)))
    }

    /// A pass of MIRA over some sentences.
    #[allow(clippy::too_many_arguments)] // the state and the options of a run
    #[pyo3(signature = (order, weights, drift, updates, lower, upper, background, count, *, oracle, prediction, c, decay, feed, unit))]
    fn visit<'py>(
        &self,
        py: Python<'py>,
        order: Slice<'_, i64>,
        weights: Slice<'_, f64>,
        drift: Slice<'_, f64>,
        updates: u64,
        lower: Slice<'_, f64>,
        upper: Slice<'_, f64>,
        background: Slice<'_, f64>,
        count: f64,
        oracle: &str,
        prediction: &str,
        c: f64,
        decay: f64,
        feed: &str,
        unit: &str,
    ) -> PyResult<Visited<'py>> {
        let order: Vec<usize> = order.as_slice()?.iter().map(|&s| s as usize).collect();
        if let Some(bad) = order.iter().find(|&&s| s >= self.inner.sentences()) {
            return Err(invalid(format!("there is no sentence {bad}")));
        }
        let width = weights.as_slice()?.len();
        if self.inner.width() > width {
            return Err(invalid(format!(
                "expected {} weights, one for each feature, found {width}",
                self.inner.width()
            )));
        }
        let all = |array: &Slice<'_, f64>| {
            sized(array, width, "numbers, one for each feature").map(<[f64]>::to_vec)
        };
        let row = sized(&background, self.inner.metric().width(), "statistics")?.to_vec();
        let unit = match unit {
            "score" => Unit::Score,
            "sentence" => Unit::Sentence,
            "length" => Unit::Statistic(1),
            _ => return Err(invalid(format!("expected score, sentence or length, found `{unit}`"))),
        };
        let rules =
            Rules { oracle: mira::oracle(oracle, 1)?, prediction: mira::prediction(prediction)?, near: 0 };
        let bounds = (all(&lower)?, all(&upper)?);
        let learner = learner(c, &bounds, (all(&weights)?, all(&drift)?, updates));
        let sum = Context { row, count };
        let around = Around::Background { sum, decay, feed: mira::feed(feed)? };
        let mut run = Run::new((rules, unit), learner, around, self.inner.metric().width()).map_err(to_py)?;
        threads::run(py, || order.iter().for_each(|&s| run.visit(&self.inner, s)));
        let background = run.around.others(0);
        let Memory { weights, sums, time, .. } = run.learner.memory();
        Ok((
            PyArray1::from_slice(py, weights),
            PyArray1::from_slice(py, sums),
            *time,
            background.row.into_pyarray(py),
            background.count,
            run.met.0.row.into_pyarray(py),
            run.met.1.row.into_pyarray(py),
            run.differing,
        ))
    }
}

fn wished(wishes: Vec<(f64, f64)>) -> Vec<Wish> {
    wishes.into_iter().map(|(model, gain)| Wish { model, gain }).collect()
}

impl ForestPool {
    fn check(&self, sentence: usize) -> PyResult<()> {
        if sentence < self.inner.sentences() {
            return Ok(());
        }
        Err(invalid(format!("there is no sentence {sentence}")))
    }

    /// Texts and features of paths.
    fn columns<'py>(
        &self,
        py: Python<'py>,
        sentence: usize,
        find: impl FnOnce() -> Vec<Path> + Send,
    ) -> PathColumns<'py> {
        let (texts, rows) = py.detach(|| {
            let (mut texts, mut rows) = (BaseTexts::new(), Rows::default());
            for path in find() {
                texts.push(&self.inner.text(sentence, &path));
                for (column, value) in self.inner.features(sentence, &[(&path, 1.0)]) {
                    rows.push(column, value);
                }
                rows.end_row();
            }
            (texts, rows)
        });
        let starts = rows.starts.into_pyarray(py);
        (texts.into(), starts, rows.columns.into_pyarray(py), rows.values.into_pyarray(py))
    }
}
