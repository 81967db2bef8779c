//! Lattices in columns: from the decoder, and to the search for hope and fear.

use crate::columns::{Names, Texts, check_spans};
use crate::errors::{invalid, to_py};
use crate::learn::sized;
use crate::metric::NativeMetric;
use crate::mira;
use crate::text::Text;
use crate::threads;
use dragoman_base::sparse::Rows;
use dragoman_base::{Result, Texts as BaseTexts};
use dragoman_optim::Memory;
use dragoman_tune::lattice::{Builder, Path, Plain, Pool, Run, read, write};
use dragoman_tune::mira::{Around, Context, Rules, Unit, Wish, learner};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use rayon::prelude::*;
use std::sync::Arc;

type Array<'py, T> = Bound<'py, PyArray1<T>>;
type Slice<'py, T> = PyReadonlyArray1<'py, T>;

/// After a pass: weights, drift, updates, background, its count, sums of the statistics of oracles and predictions, and
/// how many sentences could teach anything.
type Visited<'py> =
    (Array<'py, f64>, Array<'py, f64>, u64, Array<'py, f64>, f64, Array<'py, f64>, Array<'py, f64>, usize);

/// Some paths: texts, row starts, feature ids, values.
type PathColumns<'py> = (Texts, Array<'py, i64>, Array<'py, u32>, Array<'py, f64>);

/// The lattices of the sentences of a tuning text, of one or more rounds.
#[pyclass(module = "dragoman._core")]
pub struct LatticePool {
    inner: Pool,
}

#[pymethods]
impl LatticePool {
    /// No lattices yet; the metric must have the capability `linear`.
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

    /// Adds lattices, in columns, to some sentences.
    #[allow(clippy::too_many_arguments)] // one per column
    fn add(
        &mut self,
        py: Python<'_>,
        round: u32,
        sentences: Slice<'_, i64>,
        nodes: Slice<'_, i64>,
        starts: Slice<'_, i64>,
        tails: Slice<'_, u32>,
        heads: Slice<'_, u32>,
        texts: &Texts,
        row_starts: Slice<'_, i64>,
        columns: Slice<'_, u32>,
        values: Slice<'_, f64>,
    ) -> PyResult<()> {
        let sentences: Vec<usize> = sentences.as_slice()?.iter().map(|&s| s as usize).collect();
        let arcs = texts.inner.len();
        let (nodes, starts) = (
            sized(&nodes, sentences.len(), "numbers of nodes")?,
            sized(&starts, sentences.len() + 1, "starts of lattices")?,
        );
        let (tails, heads) = (sized(&tails, arcs, "tails")?, sized(&heads, arcs, "heads")?);
        let rows = sized(&row_starts, arcs + 1, "starts of features")?;
        let (columns, values) = (columns.as_slice()?, values.as_slice()?);
        check_spans(starts, arcs)?;
        check_spans(rows, columns.len().min(values.len()))?;
        let one = |i: usize| -> Result<Plain> {
            let mut made = Builder::new(u32::try_from(nodes[i]).unwrap_or(u32::MAX));
            for arc in starts[i] as usize..starts[i + 1] as usize {
                let span = rows[arc] as usize..rows[arc + 1] as usize;
                let ends = (tails[arc], heads[arc]);
                made.add(ends, texts.inner.get(arc), &columns[span.clone()], &values[span]);
            }
            made.finish()
        };
        let add = || {
            let made = (0..sentences.len()).into_par_iter().map(one).collect::<Result<Vec<_>>>()?;
            self.inner.add(round, &sentences, made)
        };
        threads::run(py, add).map_err(to_py)
    }

    /// Forgets the lattices of rounds before this one.
    fn forget(&mut self, round: u32) {
        self.inner.forget(round);
    }

    /// Bytes in use.
    #[getter]
    fn bytes(&self) -> usize {
        self.inner.bytes()
    }

    /// Number of arcs, and of steps that a search looks at.
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

    /// Writes the lattices of a round.
    fn save(&self, py: Python<'_>, path: &str, round: u32, names: &Names) -> PyResult<()> {
        py.detach(|| names.read(|names| write(path, names, &self.inner.round(round)))).map_err(to_py)
    }

    /// Reads the lattices of a round.
    fn load(&mut self, py: Python<'_>, path: &str, round: u32, names: &Names) -> PyResult<()> {
        let run = || -> Result<()> {
            let found = read(path, &mut names.inner.write().expect("no panic while locked"))?;
            let (sentences, lattices): (Vec<usize>, Vec<Plain>) = found.into_iter().unzip();
            self.inner.add(round, &sentences, lattices)
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
    /// lattices: texts and features. Paths that are best for several wishes come once.
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

    /// The 1-best path of each of a sentence's lattices and, for each wish, the best path that a search finds from there:
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

impl LatticePool {
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
