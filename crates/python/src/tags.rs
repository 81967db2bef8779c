//! Tags of words: counts behind a handle.

use crate::columns::Texts;
use crate::errors::to_py;
use dragoman_corpus::TagCounts as Counts;
use pyo3::prelude::*;
use std::sync::Mutex;

/// How often each word has each tag.
#[pyclass(frozen, module = "dragoman._core")]
pub struct TagCounts {
    inner: Mutex<Counts>,
}

impl TagCounts {
    fn with<T>(&self, f: impl FnOnce(&mut Counts) -> T) -> T {
        f(&mut self.inner.lock().expect("no panic while locked"))
    }
}

#[pymethods]
impl TagCounts {
    #[new]
    fn new() -> Self {
        Self { inner: Mutex::default() }
    }

    /// Counts a text of factors, `word|tag`; the tag is the factor with this number.
    fn add_factored(&self, py: Python<'_>, path: &str, factor: usize) -> PyResult<()> {
        py.detach(|| self.with(|counts| counts.add_factored(path, factor))).map_err(to_py)
    }

    /// Counts a text and the file of its tags.
    fn add_files(&self, py: Python<'_>, text: &str, tags: &str) -> PyResult<()> {
        py.detach(|| self.with(|counts| counts.add_files(text, tags))).map_err(to_py)
    }

    /// Counts lines and their tags, words and tags between blanks.
    fn add_lines(&self, py: Python<'_>, lines: &Texts, tags: &Texts) -> PyResult<()> {
        py.detach(|| self.with(|counts| counts.add_lines(&lines.inner, &tags.inner))).map_err(to_py)
    }

    /// Number of different words.
    fn __len__(&self) -> usize {
        self.with(|counts| counts.len())
    }

    /// Number of words, each occurrence counted.
    #[getter]
    fn tokens(&self) -> u64 {
        self.with(|counts| counts.tokens())
    }

    /// All tags, in order of first appearance.
    #[getter]
    fn tags(&self) -> Vec<String> {
        self.with(|counts| counts.tags().iter().map(str::to_owned).collect())
    }

    /// Writes each word and its most frequent tag.
    fn write(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        py.detach(|| self.with(|counts| counts.write(path))).map_err(to_py)
    }
}
