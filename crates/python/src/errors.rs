//! The one funnel from Rust errors to `dragoman.errors`.

use dragoman_base::Error;
use pyo3::exceptions::{PyBrokenPipeError, PyRuntimeError};
use pyo3::prelude::*;

/// Turns an error into the Python exception of its kind, with `path` and `line` as attributes.
pub fn to_py(error: Error) -> PyErr {
    let message = error.to_string();
    if matches!(&error, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::BrokenPipe) {
        // Whoever read our output has seen enough: not a fault of any file.
        return PyBrokenPipeError::new_err(message);
    }
    Python::attach(|py| {
        let build = || -> PyResult<PyErr> {
            let module = py.import("dragoman.errors")?;
            let exception = match &error {
                Error::Invalid(_) => module.getattr("OptionError")?.call1((message.as_str(),))?,
                Error::Io { path, .. } => {
                    module.getattr("InputError")?.call1((message.as_str(), path.as_str(), None::<usize>))?
                }
                Error::Format { path, line, .. }
                | Error::Encoding { path, line, .. }
                | Error::Damaged { path, line, .. } => {
                    module.getattr("InputError")?.call1((message.as_str(), path.as_str(), *line))?
                }
            };
            Ok(PyErr::from_value(exception))
        };
        build().unwrap_or_else(|_| PyRuntimeError::new_err(message.clone()))
    })
}

/// An error in the arguments of a call.
pub fn invalid(message: impl Into<String>) -> PyErr {
    to_py(Error::Invalid(message.into()))
}

/// An error in a text that came from no file.
pub fn input(message: &str) -> PyErr {
    Python::attach(|py| {
        let build = || -> PyResult<PyErr> {
            let made = py.import("dragoman.errors")?.getattr("InputError")?.call1((message,))?;
            Ok(PyErr::from_value(made))
        };
        build().unwrap_or_else(|failed| failed)
    })
}
