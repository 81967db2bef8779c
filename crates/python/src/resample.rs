//! Resampled sums of statistics for significance tests.

use crate::errors::invalid;
use crate::threads;
use dragoman_metric::resample;
use numpy::{IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::prelude::*;

/// Statistic sums of bootstrap corpora: (sentences, width) to (samples, width).
#[pyfunction]
pub fn bootstrap_sums<'py>(
    py: Python<'py>,
    statistics: PyReadonlyArray2<'py, f64>,
    samples: usize,
    seed: u64,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let width = statistics.as_array().ncols();
    let rows = statistics.as_slice()?;
    if rows.is_empty() {
        return Err(invalid("there are no statistics to resample"));
    }
    let sums = threads::run(py, || resample::bootstrap_sums(rows, width, samples, seed));
    sums.into_pyarray(py).reshape([samples, width])
}

/// Statistic sums of one pseudo-system in random relabellings: (sentences, 2 * runs, width) to (samples, width).
#[pyfunction]
pub fn shuffle_sums<'py>(
    py: Python<'py>,
    statistics: PyReadonlyArray3<'py, f64>,
    samples: usize,
    seed: u64,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (outputs, width) = (statistics.as_array().shape()[1], statistics.as_array().shape()[2]);
    let rows = statistics.as_slice()?;
    if rows.is_empty() || outputs % 2 != 0 {
        return Err(invalid("expected statistics of as many runs for one system as for the other"));
    }
    let sums = threads::run(py, || resample::shuffle_sums(rows, width, outputs / 2, samples, seed));
    sums.into_pyarray(py).reshape([samples, width])
}
