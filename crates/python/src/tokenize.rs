//! Tokenisers behind opaque handles: columns of lines in, columns of lines out.

use crate::columns::Texts;
use crate::errors::invalid;
use crate::threads;
use dragoman_base::Texts as BaseTexts;
use dragoman_tokenize::{Lists, Moses, Spans, Unicode, each, follow};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

/// Lines; the first word of each and the number of all words; where each word starts and ends, in characters.
type Spanned<'py> = (Texts, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>);

fn to_spanned(py: Python<'_>, (texts, spans): (BaseTexts, Option<Spans>)) -> Spanned<'_> {
    let Spans { lines, starts, ends } = spans.unwrap_or_default();
    (texts.into(), lines.into_pyarray(py), starts.into_pyarray(py), ends.into_pyarray(py))
}

/// The tokeniser by Unicode's classes, for a language.
#[pyclass(frozen, module = "dragoman._core")]
pub struct UnicodeTokenizer {
    inner: Unicode,
}

impl UnicodeTokenizer {
    fn run(&self, py: Python<'_>, texts: &Texts, there: bool, spans: bool) -> (BaseTexts, Option<Spans>) {
        let (unicode, texts) = (self.inner, texts.inner.clone());
        threads::run(py, || {
            each(&texts, spans, |line, out, spans| {
                if there { unicode.tokenize(line, out, spans) } else { unicode.detokenize(line, out, spans) }
            })
        })
    }
}

#[pymethods]
impl UnicodeTokenizer {
    #[new]
    fn new(language: &str) -> Self {
        Self { inner: Unicode::new(language) }
    }

    /// Words apart by single spaces.
    fn tokenize(&self, py: Python<'_>, texts: &Texts) -> Texts {
        self.run(py, texts, true, false).0.into()
    }

    /// Plain text.
    fn detokenize(&self, py: Python<'_>, texts: &Texts) -> Texts {
        self.run(py, texts, false, false).0.into()
    }

    /// Words, and where they are in the lines.
    fn tokenize_spans<'py>(&self, py: Python<'py>, texts: &Texts) -> Spanned<'py> {
        to_spanned(py, self.run(py, texts, true, true))
    }

    /// Plain text, and where the words are in it.
    fn detokenize_spans<'py>(&self, py: Python<'py>, texts: &Texts) -> Spanned<'py> {
        to_spanned(py, self.run(py, texts, false, true))
    }
}

/// Where the words of tokenised lines are in the plain ones: the first word of each line and the number of all words;
/// where each word starts and ends, in characters.
#[pyfunction]
pub fn follow_spans<'py>(py: Python<'py>, plain: &Texts, tokenized: &Texts) -> PyResult<Spanned<'py>> {
    if plain.inner.len() != tokenized.inner.len() {
        return Err(invalid("expected a tokenised line for each plain one"));
    }
    let mut spans = Spans::default();
    for i in 0..plain.inner.len() {
        follow(plain.inner.get(i), tokenized.inner.get(i), &mut spans);
    }
    Ok(to_spanned(py, (tokenized.inner.as_ref().clone(), Some(spans))))
}

/// Moses' rules for a language, with lists that the caller brings.
#[pyclass(frozen, module = "dragoman._core")]
pub struct MosesTokenizer {
    inner: Moses,
}

#[pymethods]
impl MosesTokenizer {
    /// `classes`: characters that are alphanumeric, alphabetic, numbers, small; `prefixes`: words before a period, all
    /// and those before numbers; `joining`: letters, currency signs, ranges of characters without spaces.
    #[new]
    fn new(
        language: &str,
        classes: (String, String, String, String),
        prefixes: (Vec<String>, Vec<String>),
        joining: (String, String, Vec<(u32, u32)>),
    ) -> Self {
        let (alnum, alpha, number, lower) = classes;
        let (prefixes, numeric) = prefixes;
        let (joined_alpha, currency, dense) = joining;
        let lists = Lists { alnum, alpha, number, lower, prefixes, numeric, joined_alpha, currency, dense };
        Self { inner: Moses::new(language, &lists) }
    }

    /// Words apart by single spaces.
    fn tokenize(&self, py: Python<'_>, texts: &Texts) -> Texts {
        let texts = texts.inner.clone();
        threads::run(py, || each(&texts, false, |line, out, _| self.inner.tokenize(line, out)).0).into()
    }

    /// Plain text.
    fn detokenize(&self, py: Python<'_>, texts: &Texts) -> Texts {
        let texts = texts.inner.clone();
        threads::run(py, || each(&texts, false, |line, out, _| self.inner.detokenize(line, out)).0).into()
    }
}
