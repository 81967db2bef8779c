//! The threads of all native kernels.

use crate::errors::to_py;
use dragoman_stream::pools;
use pyo3::prelude::*;

/// Sets the number of threads of all native kernels; None is one for each core. Results do not depend on it.
#[pyfunction]
#[pyo3(signature = (count))]
pub fn set_threads(count: Option<usize>) -> PyResult<()> {
    pools::set(count).map_err(to_py)
}

/// The number that `set_threads` set.
#[pyfunction]
pub fn get_threads() -> Option<usize> {
    pools::get()
}

/// Runs a kernel without the interpreter, on the process-wide pool if there is one. Not for kernels that hold a lock
/// while others work for them: these detach, lock and use [`pools::apart`].
pub fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    py.detach(|| pools::run(work))
}
