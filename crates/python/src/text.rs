//! Text that comes from Python, where a string may hold what no text has: a lone surrogate, half of a character.

use crate::errors::input;
use pyo3::exceptions::PyUnicodeEncodeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PySlice;
use std::ops::Deref;

/// An argument with text in it: a string, or whatever else has strings inside. A lone surrogate is an error of ours.
pub struct Text<T = PyBackedStr>(pub T);

impl<T> Deref for Text<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<'a, 'py, T: FromPyObject<'a, 'py>> FromPyObject<'a, 'py> for Text<T> {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let py = given.py();
        given.extract().map(Self).map_err(|error: T::Error| readable(py, error.into()))
    }
}

/// Characters before the place that a message shows.
const SHOWN: usize = 30;

/// Ours in place of Python's, if a text could not be written as UTF-8; any other error as it is.
fn readable(py: Python<'_>, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyUnicodeEncodeError>(py) {
        return error;
    }
    let said = || -> PyResult<String> {
        let value = error.value(py);
        let (text, start) = (value.getattr("object")?, value.getattr("start")?.extract::<usize>()?);
        let shown = PySlice::new(py, start.saturating_sub(SHOWN) as isize, start as isize, 1);
        let before: String = text.get_item(shown)?.extract()?;
        let code: u32 = py.import("builtins")?.call_method1("ord", (text.get_item(start)?,))?.extract()?;
        Ok(format!(
            "expected text, found half of a character (the lone surrogate U+{code:04X}) after `{before}`: \
             leave it out, or read the text with errors=\"replace\""
        ))
    };
    said().map_or_else(|failed| failed, |message| input(&message))
}
