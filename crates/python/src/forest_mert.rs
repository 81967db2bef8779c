//! Line searches over forests, behind one handle.

use crate::columns::{Names, Texts};
use crate::errors::{invalid, to_py};
use crate::forests::NativeForests;
use crate::threads;
use dragoman_base::Result;
use dragoman_tune::forest::{Kept, read, write};
use dragoman_tune::mert::forests::{Forests, Searched};
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1,
};
use pyo3::prelude::*;

type Row<'py> = Bound<'py, PyArray1<f64>>;

/// A line whose winners are known, but not all of their statistics.
#[pyclass(module = "dragoman._core")]
pub struct ForestLine {
    inner: Option<Searched>,
    /// Strings that lack statistics.
    #[pyo3(get)]
    texts: Py<Texts>,
    /// Their sentences.
    #[pyo3(get)]
    sentences: Py<PyArray1<i64>>,
}

/// The forests of a tuning text, of one or more rounds, laid out for line searches. Scores and slopes are one for each
/// edge of all forests.
#[pyclass(module = "dragoman._core")]
pub struct ForestLines {
    inner: Forests,
    width: usize,
}

#[pymethods]
impl ForestLines {
    /// No forests yet, of so many sentences; a row of statistics has `width` numbers.
    #[new]
    fn new(sentences: usize, width: usize) -> Self {
        Self { inner: Forests::new(sentences, width), width }
    }

    /// Adds forests of a round to some sentences.
    fn add(
        &mut self,
        py: Python<'_>,
        round: u32,
        sentences: PyReadonlyArray1<'_, i64>,
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

    /// Number of edges.
    #[getter]
    fn edges(&self) -> usize {
        self.inner.edges()
    }

    /// The largest feature number, plus one.
    #[getter]
    fn features(&self) -> usize {
        self.inner.features()
    }

    /// Writes the forests of a round.
    fn save(&self, py: Python<'_>, path: &str, round: u32, names: &Names) -> PyResult<()> {
        let run = || {
            let found = self.inner.round(round);
            let found: Vec<(usize, &Kept)> = found.iter().map(|(s, kept)| (*s, kept)).collect();
            names.read(|names| write(path, names, &found))
        };
        py.detach(run).map_err(to_py)
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

    /// The product of each edge's features with a vector.
    fn product<'py>(&self, py: Python<'py>, vector: PyReadonlyArray1<'_, f64>) -> PyResult<Row<'py>> {
        let vector = vector.as_slice()?;
        Ok(threads::run(py, || self.inner.product(vector)).into_pyarray(py))
    }

    /// How far apart the values of each feature are among the best derivations under some scores.
    fn spreads<'py>(
        &self,
        py: Python<'py>,
        scores: PyReadonlyArray1<'_, f64>,
        width: usize,
    ) -> PyResult<Row<'py>> {
        let scores = self.check(scores.as_slice()?)?;
        Ok(threads::run(py, || self.inner.spreads(scores, width)).into_pyarray(py))
    }

    /// Moves scores on by gamma along one feature.
    fn advance(
        &self,
        py: Python<'_>,
        feature: u32,
        mut scores: PyReadwriteArray1<'_, f64>,
        gamma: f64,
    ) -> PyResult<()> {
        let scores = scores.as_slice_mut()?;
        self.check(scores)?;
        py.detach(|| self.inner.advance(feature, scores, gamma));
        Ok(())
    }

    /// Searches a line; `finish` gives its intervals when the statistics of its texts are known.
    fn search(
        &self,
        py: Python<'_>,
        scores: PyReadonlyArray1<'_, f64>,
        slopes: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<ForestLine> {
        let (scores, slopes) = (self.check(scores.as_slice()?)?, self.check(slopes.as_slice()?)?);
        let (found, texts) = threads::run(py, || {
            let found = self.inner.search(scores, slopes);
            let texts = self.inner.texts(&found);
            (found, texts)
        });
        let sentences: Vec<i64> = found.missing().map(|s| s as i64).collect();
        let texts = Py::new(py, Texts::from(texts))?;
        Ok(ForestLine { inner: Some(found), texts, sentences: sentences.into_pyarray(py).unbind() })
    }

    /// The corners of a line and the statistics of its intervals, given those of its texts, a row each.
    fn finish<'py>(
        &mut self,
        py: Python<'py>,
        line: &mut ForestLine,
        rows: PyReadonlyArray2<'_, f64>,
    ) -> PyResult<(Row<'py>, Bound<'py, PyArray2<f64>>)> {
        let rows = rows.as_slice()?;
        let searched = line.inner.take().ok_or_else(|| invalid("this line was finished before"))?;
        let found = py.detach(|| self.inner.finish(searched, rows)).map_err(to_py)?;
        let totals = found.totals.into_pyarray(py).reshape([found.corners.len() + 1, self.width])?;
        Ok((found.corners.into_pyarray(py), totals))
    }

    /// The text of the best derivation of each sentence; None where there is no derivation.
    fn best(&self, py: Python<'_>, scores: PyReadonlyArray1<'_, f64>) -> PyResult<Vec<Option<String>>> {
        let scores = self.check(scores.as_slice()?)?;
        Ok(threads::run(py, || self.inner.best(scores)))
    }
}

impl ForestLines {
    fn check<'a>(&self, array: &'a [f64]) -> PyResult<&'a [f64]> {
        if array.len() == self.inner.edges() {
            return Ok(array);
        }
        Err(invalid(format!(
            "expected {} numbers, one for each edge, found {}",
            self.inner.edges(),
            array.len()
        )))
    }
}
