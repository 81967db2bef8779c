//! Line search over a pool of candidates, behind one handle.

use crate::columns::check_spans;
use crate::errors::invalid;
use crate::metric::NativeMetric;
use crate::threads;
use dragoman_stream::pools;
use dragoman_tune::mert::best::{Bounds, Gain};
use dragoman_tune::mert::columns::{Column, Columns, advance, combine, dots, spreads};
use dragoman_tune::mert::expected::{expect, pull, worth};
use dragoman_tune::mert::line::{Intervals, Judged, search, search_column, total};
use dragoman_tune::mert::noise;
use dragoman_tune::mert::quick::{Fixed, search_best};
use dragoman_tune::mert::share::alone;
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use std::sync::OnceLock;

/// A line's corners and the statistics of its intervals, as arrays.
type Line<'py> = (Row<'py>, Bound<'py, PyArray2<f64>>);

/// The best points of some lines: γ, gain and statistics (None at a corner); None where there is none.
type Points<'py> = Vec<Option<(f64, f64, Option<Row<'py>>)>>;

/// A number for each candidate, feature or statistic.
type Row<'py> = Bound<'py, PyArray1<f64>>;

/// The features, by feature.
enum Store {
    Columns(Box<Columns>),
    Wide(Py<PyArray2<f64>>),
    Narrow(Py<PyArray2<f32>>),
}

/// Candidates laid out for line searches. Statistics and dense matrices are borrowed from Python, not copied.
#[pyclass(frozen, module = "dragoman._core")]
pub struct LinePool {
    starts: Vec<i64>,
    statistics: Py<PyArray2<f64>>,
    features: Store,
    width: usize,
    fixed: OnceLock<Fixed>,
}

impl LinePool {
    fn new(
        starts: PyReadonlyArray1<'_, i64>,
        size: usize,
        width: usize,
        features: Store,
        statistics: PyReadonlyArray2<'_, f64>,
    ) -> PyResult<Self> {
        let starts = starts.as_slice()?.to_vec();
        check_spans(&starts, size)?;
        if statistics.as_array().nrows() != size || u32::try_from(size).is_err() {
            return Err(invalid(format!("expected {size} rows of statistics, and fewer than 2^32")));
        }
        if !statistics.is_c_contiguous() {
            return Err(invalid("the statistics of a candidate must lie side by side in memory"));
        }
        let statistics = statistics.as_array_owner();
        Ok(Self { starts, statistics, features, width, fixed: OnceLock::new() })
    }

    fn size(&self) -> usize {
        self.starts[self.starts.len() - 1] as usize
    }

    fn check(&self, array: &[f64], what: &str) -> PyResult<()> {
        if array.len() == self.size() {
            Ok(())
        } else {
            Err(invalid(format!("expected {} {what}, one for each candidate", self.size())))
        }
    }

    fn check_weights(&self, weights: &[f64]) -> PyResult<()> {
        if weights.len() == self.width {
            Ok(())
        } else {
            Err(invalid(format!("expected {} weights, found {}", self.width, weights.len())))
        }
    }

    /// Runs `work` without the interpreter on the borrowed arrays and on the pool of all kernels; with one thread on the
    /// thread that asks.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl Send + FnOnce(&[Column<'_>], Judged<'_>) -> T,
    ) -> PyResult<T> {
        self.with_own(py, |columns, pool| run(|| work(columns, pool)))
    }

    /// The same for work that chooses its pool itself.
    fn with_own<T: Send>(
        &self,
        py: Python<'_>,
        work: impl Send + FnOnce(&[Column<'_>], Judged<'_>) -> T,
    ) -> PyResult<T> {
        let statistics = self.statistics.bind(py).try_readonly()?;
        let width = statistics.as_array().ncols();
        let pool = Judged { starts: &self.starts, statistics: statistics.as_slice()?, width };
        let size = self.size().max(1);
        match &self.features {
            Store::Columns(columns) => {
                let views = columns.views();
                Ok(py.detach(|| work(&views, pool)))
            }
            Store::Wide(matrix) => {
                let matrix = matrix.bind(py).try_readonly()?;
                let views: Vec<_> = matrix.as_slice()?.chunks(size).map(Column::Wide).collect();
                Ok(py.detach(|| work(&views, pool)))
            }
            Store::Narrow(matrix) => {
                let matrix = matrix.bind(py).try_readonly()?;
                let views: Vec<_> = matrix.as_slice()?.chunks(size).map(Column::Narrow).collect();
                Ok(py.detach(|| work(&views, pool)))
            }
        }
    }

    fn line<'py>(&self, py: Python<'py>, found: Intervals) -> PyResult<Line<'py>> {
        let rows = found.corners.len() + 1;
        let width = self.statistics.bind(py).readonly().as_array().ncols();
        Ok((found.corners.into_pyarray(py), found.totals.into_pyarray(py).reshape([rows, width])?))
    }
}

/// Runs a kernel of a climb on the pool of all kernels, or on this thread if that pool has only one.
fn run<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if pools::get() == Some(1) { alone(work) } else { pools::run(work) }
}

/// Keeps an array alive that was borrowed as read-only.
trait Owner<T> {
    fn as_array_owner(&self) -> Py<T>;
}

impl<T: numpy::Element> Owner<PyArray2<T>> for PyReadonlyArray2<'_, T> {
    fn as_array_owner(&self) -> Py<PyArray2<T>> {
        (**self).clone().unbind()
    }
}

#[pymethods]
impl LinePool {
    /// A pool from sparse feature rows; frequent features are stored in full.
    #[staticmethod]
    fn from_rows(
        py: Python<'_>,
        starts: PyReadonlyArray1<'_, i64>,
        row_starts: PyReadonlyArray1<'_, i64>,
        columns: PyReadonlyArray1<'_, u32>,
        values: PyReadonlyArray1<'_, f64>,
        width: usize,
        statistics: PyReadonlyArray2<'_, f64>,
    ) -> PyResult<Self> {
        let (rows, columns, values) = (row_starts.as_slice()?, columns.as_slice()?, values.as_slice()?);
        check_spans(rows, columns.len())?;
        if columns.len() != values.len() {
            return Err(invalid("sparse rows need as many columns as values"));
        }
        let made = threads::run(py, || Columns::from_rows(rows, columns, values, width));
        Self::new(starts, rows.len() - 1, width, Store::Columns(Box::new(made)), statistics)
    }

    /// A pool from a matrix with a row for each feature and a column for each candidate, f64 or f32.
    #[staticmethod]
    fn from_matrix(
        starts: PyReadonlyArray1<'_, i64>,
        matrix: &Bound<'_, PyAny>,
        statistics: PyReadonlyArray2<'_, f64>,
    ) -> PyResult<Self> {
        let contiguous =
            "the feature matrix must be f64 or f32, with the values of a feature side by side in memory";
        if let Ok(wide) = matrix.extract::<PyReadonlyArray2<'_, f64>>() {
            if !wide.is_c_contiguous() {
                return Err(invalid(contiguous));
            }
            let (width, size) = wide.as_array().dim();
            return Self::new(starts, size, width, Store::Wide(wide.as_array_owner()), statistics);
        }
        let narrow = matrix.extract::<PyReadonlyArray2<'_, f32>>().map_err(|_| invalid(contiguous))?;
        if !narrow.is_c_contiguous() {
            return Err(invalid(contiguous));
        }
        let (width, size) = narrow.as_array().dim();
        Self::new(starts, size, width, Store::Narrow(narrow.as_array_owner()), statistics)
    }

    /// Number of features.
    #[getter]
    fn width(&self) -> usize {
        self.width
    }

    /// Number of candidates.
    fn __len__(&self) -> usize {
        self.size()
    }

    /// Whether every feature is stored in full, so that `combine` reads columns in runs.
    #[getter]
    fn dense(&self) -> bool {
        if let Store::Columns(columns) = &self.features { columns.all_full() } else { true }
    }

    /// How far apart each feature's values are in a list, averaged over the lists in which it differs at all.
    fn spreads<'py>(&self, py: Python<'py>) -> PyResult<Row<'py>> {
        Ok(self.with(py, spreads)?.into_pyarray(py))
    }

    /// `weights · h` of every candidate: model scores, or the slopes of a direction.
    fn combine<'py>(&self, py: Python<'py>, weights: PyReadonlyArray1<'py, f64>) -> PyResult<Row<'py>> {
        let weights = weights.as_slice()?;
        self.check_weights(weights)?;
        let found = match &self.features {
            Store::Columns(columns) => py.detach(|| run(|| columns.combine(weights))),
            _ => self.with(py, |columns, _| combine(columns, weights, self.size()))?,
        };
        Ok(found.into_pyarray(py))
    }

    /// `Σ factors · h`, summed over candidates: one number for each feature.
    fn dots<'py>(&self, py: Python<'py>, factors: PyReadonlyArray1<'py, f64>) -> PyResult<Row<'py>> {
        let factors = factors.as_slice()?;
        self.check(factors, "factors")?;
        Ok(self.with(py, |columns, _| self.all_dots(columns, factors))?.into_pyarray(py))
    }

    /// Adds `step` times a feature to the scores, in place.
    fn advance(
        &self,
        py: Python<'_>,
        feature: usize,
        mut scores: PyReadwriteArray1<'_, f64>,
        step: f64,
    ) -> PyResult<()> {
        let scores = scores.as_slice_mut()?;
        self.check(scores, "scores")?;
        self.check_feature(feature)?;
        self.with(py, |columns, _| advance(columns[feature], scores, step))
    }

    /// Corpus statistics of the winners under `scores`.
    fn total<'py>(&self, py: Python<'py>, scores: PyReadonlyArray1<'py, f64>) -> PyResult<Row<'py>> {
        let scores = scores.as_slice()?;
        self.check(scores, "scores")?;
        Ok(self.with(py, |_, pool| total(scores, pool))?.into_pyarray(py))
    }

    /// Corners of the line `scores + γ·slopes` and the corpus statistics of its intervals, left to right.
    fn search<'py>(
        &self,
        py: Python<'py>,
        scores: PyReadonlyArray1<'py, f64>,
        slopes: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Line<'py>> {
        let (scores, slopes) = (scores.as_slice()?, slopes.as_slice()?);
        self.check(scores, "scores")?;
        self.check(slopes, "slopes")?;
        let found = self.with(py, |_, pool| search(scores, slopes, pool))?;
        self.line(py, found)
    }

    /// The same in the direction of one feature; `total` are the statistics under `scores` themselves.
    fn search_feature<'py>(
        &self,
        py: Python<'py>,
        scores: PyReadonlyArray1<'py, f64>,
        feature: usize,
        total: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Line<'py>> {
        let (scores, total) = (scores.as_slice()?, total.as_slice()?);
        self.check(scores, "scores")?;
        self.check_feature(feature)?;
        let found = self.with(py, |columns, pool| {
            (total.len() == pool.width).then(|| search_column(scores, columns[feature], total, pool))
        })?;
        self.line(py, found.ok_or_else(|| invalid("expected a row of statistics as total"))?)
    }

    /// The best point along each of some features, from the point with these scores and corpus statistics: `low` and
    /// `high` bound γ, and a step of `reach` changes the weights by as much as their own size. Gains are
    /// `unit * score`.
    #[allow(clippy::too_many_arguments)]
    fn search_best<'py>(
        &self,
        py: Python<'py>,
        scores: PyReadonlyArray1<'py, f64>,
        total: PyReadonlyArray1<'py, f64>,
        features: Vec<usize>,
        low: Vec<f64>,
        high: Vec<f64>,
        reach: f64,
        metric: &NativeMetric,
        unit: f64,
    ) -> PyResult<Points<'py>> {
        let (scores, total) = (scores.as_slice()?, total.as_slice()?);
        self.check(scores, "scores")?;
        features.iter().try_for_each(|&feature| self.check_feature(feature))?;
        if low.len() != features.len() || high.len() != features.len() {
            return Err(invalid("expected bounds for each feature"));
        }
        let bounds = low.into_iter().zip(high).map(|(low, high)| Bounds { low, high, reach });
        let wanted: Vec<_> = features.into_iter().zip(bounds).collect();
        let gain = Gain { metric: metric.inner.as_ref(), unit };
        let found = self.with_own(py, |columns, pool| {
            if total.len() != pool.width || pool.width != gain.metric.width() {
                return None;
            }
            let fixed = self.fixed.get_or_init(|| pools::apart(|| Fixed::new(columns, pool)));
            Some(run(|| search_best((scores, total), columns, &wanted, (pool, fixed), gain)))
        })?;
        let found = found.ok_or_else(|| invalid("expected rows of statistics as the metric has them"))?;
        let point = |best: dragoman_tune::mert::best::Best| {
            (best.gamma, best.gain, best.total.map(|row| row.into_pyarray(py)))
        };
        Ok(found.into_iter().map(|best| best.map(point)).collect())
    }

    /// Probabilities under `P ∝ exp(mu · score)` within each sentence, and the corpus' expected statistics.
    fn expect<'py>(
        &self,
        py: Python<'py>,
        scores: PyReadonlyArray1<'py, f64>,
        mu: f64,
    ) -> PyResult<(Row<'py>, Row<'py>)> {
        let scores = scores.as_slice()?;
        self.check(scores, "scores")?;
        let (chances, expected) = self.with(py, |_, pool| expect(scores, mu, pool))?;
        Ok((chances.into_pyarray(py), expected.into_pyarray(py)))
    }

    /// The gradient by the weights, over mu, of a function of the expected statistics whose derivative by these
    /// is `slope`.
    fn gradient<'py>(
        &self,
        py: Python<'py>,
        chances: PyReadonlyArray1<'py, f64>,
        slope: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Row<'py>> {
        let (chances, slope) = (chances.as_slice()?, slope.as_slice()?);
        self.check(chances, "probabilities")?;
        let found = self.with(py, |columns, pool| {
            let pulled = || pull(chances, worth(slope, pool), pool);
            (slope.len() == pool.width).then(|| self.all_dots(columns, &pulled()))
        })?;
        Ok(found.ok_or_else(|| invalid("expected a derivative by each statistic"))?.into_pyarray(py))
    }

    /// The covariance of each feature with `values` within sentences, summed over sentences.
    fn covary<'py>(
        &self,
        py: Python<'py>,
        chances: PyReadonlyArray1<'py, f64>,
        values: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Row<'py>> {
        let (chances, values) = (chances.as_slice()?, values.as_slice()?);
        self.check(chances, "probabilities")?;
        self.check(values, "values")?;
        let found =
            self.with(py, |columns, pool| self.all_dots(columns, &pull(chances, values.to_vec(), pool)))?;
        Ok(found.into_pyarray(py))
    }
}

impl LinePool {
    /// The products of the features with some factors, from where they are read fastest.
    fn all_dots(&self, columns: &[Column<'_>], factors: &[f64]) -> Vec<f64> {
        if let Store::Columns(own) = &self.features { own.dots(factors) } else { dots(columns, factors) }
    }

    fn check_feature(&self, feature: usize) -> PyResult<()> {
        if feature < self.width {
            Ok(())
        } else {
            Err(invalid(format!("there is no feature {feature}: the pool has {}", self.width)))
        }
    }
}

/// The values of noisy copies of sparse rows, one copy after the other; `lists` says which rows belong together.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "sparse rows are three arrays")]
pub fn noisy_copies<'py>(
    py: Python<'py>,
    lists: PyReadonlyArray1<'py, i64>,
    row_starts: PyReadonlyArray1<'py, i64>,
    columns: PyReadonlyArray1<'py, u32>,
    values: PyReadonlyArray1<'py, f64>,
    noise: f64,
    copies: usize,
    seed: u64,
) -> PyResult<Row<'py>> {
    let (lists, rows) = (lists.as_slice()?, row_starts.as_slice()?);
    let (columns, values) = (columns.as_slice()?, values.as_slice()?);
    check_spans(rows, columns.len())?;
    check_spans(lists, rows.len() - 1)?;
    if columns.len() != values.len() {
        return Err(invalid("sparse rows need as many columns as values"));
    }
    let made = threads::run(py, || noise::noisy_copies(lists, rows, columns, values, noise, copies, seed));
    Ok(made.into_pyarray(py))
}
