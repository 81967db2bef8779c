//! Bitext: a cleaning run and a truecase model behind opaque handles.

use crate::columns::Texts;
use crate::errors::{invalid, to_py};
use crate::text::Text;
use crate::threads;
use dragoman_base::io::{Lines, Output};
use dragoman_base::{Result, Texts as BaseTexts};
use dragoman_corpus::{
    Bars, Cleaner, Counter, FileForm, Form, Input, Languages, Limits, Options, Reason, Report, Tag,
    Truecaser, normalise, sample, sniff, traced, undo,
};
use dragoman_stream::pools;
use pyo3::prelude::*;
use rayon::prelude::*;
use std::sync::{Arc, Mutex};

/// An input: the kind (`files`, `tsv`, `jsonl`, `tmx`, `xliff`), the path or both paths, and what the kind needs.
type GivenInput = (String, String, String, String);
/// Read, kept, dropped by reason with the first places (input, line), pairs with invisible characters, escaped.
type Figures = (u64, u64, Vec<(&'static str, u64, Vec<(usize, usize)>)>, u64, u64);

/// `files` has both paths; the others have a path, then what says which side is which.
fn to_input((kind, path, source, target): GivenInput) -> PyResult<Input> {
    let number = |text: &str| {
        let found = text.parse::<usize>().ok().filter(|&n| n > 0);
        found.ok_or_else(|| invalid(format!("expected the number of a column from 1, found {text}")))
    };
    Ok(match kind.as_str() {
        "files" => Input::Files(path, source),
        "tsv" => Input::Bitext(path, FileForm::Tsv(number(&source)?, number(&target)?)),
        "jsonl" => Input::Bitext(path, FileForm::Jsonl(source, target)),
        "tmx" => Input::Bitext(path, FileForm::Tmx(source, target)),
        "xliff" => Input::Bitext(path, FileForm::Xliff(source, target)),
        _ => return Err(invalid(format!("expected files, tsv, jsonl, tmx or xliff, found {kind}"))),
    })
}

fn to_figures(report: Report) -> Figures {
    let rows = Reason::ALL.iter().zip(report.dropped).zip(report.places);
    let rows = rows.map(|((reason, count), places)| (reason.name(), count, places)).collect();
    (report.read, report.kept, rows, report.invisible, report.escaped)
}

/// A cleaning run, batch by batch.
#[pyclass(frozen, module = "dragoman._core")]
pub struct CorpusCleaner {
    inner: Mutex<Option<Cleaner>>,
}

impl CorpusCleaner {
    fn with<T: Send>(&self, py: Python<'_>, f: impl FnOnce(&mut Cleaner) -> Result<T> + Send) -> PyResult<T> {
        let work = |cleaner: &mut Cleaner| pools::apart(|| f(cleaner));
        py.detach(|| self.inner.lock().expect("no panic while locked").as_mut().map(work))
            .ok_or_else(finished)?
            .map_err(to_py)
    }
}

fn finished() -> PyErr {
    invalid("this cleaning run is already finished")
}

#[pymethods]
impl CorpusCleaner {
    /// `limits`: shortest, longest, characters, ratio; `switches`: lower, factored, distinct, skip.
    #[new]
    #[allow(clippy::too_many_arguments)] // one per option
    fn new(
        py: Python<'_>,
        inputs: Vec<GivenInput>,
        exclude: Vec<String>,
        outputs: (String, String),
        form: &str,
        bars: &str,
        limits: (usize, usize, usize, f64),
        switches: (bool, bool, bool, bool),
    ) -> PyResult<Self> {
        let inputs = inputs.into_iter().map(to_input).collect::<PyResult<Vec<_>>>()?;
        let (shortest, longest, characters, ratio) = limits;
        let (lower, factored, distinct, skip) = switches;
        let bars = Bars::parse(bars).map_err(to_py)?;
        let limits = Limits { shortest, longest, characters, ratio, lower, factored, bars };
        let options = Options { form: Form::parse(form).map_err(to_py)?, limits, distinct, skip };
        let outputs = [outputs.0.as_str(), outputs.1.as_str()];
        let cleaner = threads::run(py, || Cleaner::new(inputs, &exclude, outputs, options)).map_err(to_py)?;
        Ok(Self { inner: Mutex::new(Some(cleaner)) })
    }

    /// The next normalised pairs, at most `count`; None at the end.
    fn read(&self, py: Python<'_>, count: usize) -> PyResult<Option<(Texts, Texts)>> {
        let pairs = self.with(py, |cleaner| cleaner.read(count))?;
        Ok(pairs.map(|(source, target)| (source.into(), target.into())))
    }

    /// Judges and writes the pairs of the last `read`, which may have been tokenised.
    fn write(&self, py: Python<'_>, source: &Texts, target: &Texts) -> PyResult<()> {
        let (source, target) = (source.inner.clone(), target.inner.clone());
        self.with(py, move |cleaner| cleaner.write(&source, &target))
    }

    /// Completes the outputs and gives the report.
    fn finish(&self, py: Python<'_>) -> PyResult<Figures> {
        let cleaner = self.inner.lock().expect("no panic while locked").take().ok_or_else(finished)?;
        threads::run(py, || cleaner.finish()).map(to_figures).map_err(to_py)
    }

    /// Ends the run without outputs.
    fn abandon(&self) {
        self.inner.lock().expect("no panic while locked").take();
    }
}

/// What a file is by its first bytes: `xml:` and the root element, `json`, `tabs`, `text`, `binary` or `empty`.
#[pyfunction]
pub fn sniff_file(py: Python<'_>, path: &str) -> PyResult<String> {
    threads::run(py, || sniff(path)).map(|found| found.name()).map_err(to_py)
}

/// The source language that a TMX (or XLIFF) file names, and how many texts it has in each language.
#[pyfunction]
pub fn bitext_languages(py: Python<'_>, path: &str, xliff: bool) -> PyResult<(String, Vec<(String, u64)>)> {
    let found = threads::run(py, || Languages::of(path, xliff)).map_err(to_py)?;
    Ok((found.source, found.counts))
}

/// Up to `count` pairs from the beginnings of the inputs, as they were read.
#[pyfunction]
pub fn bitext_sample(
    py: Python<'_>,
    inputs: Vec<GivenInput>,
    count: usize,
    skip: bool,
) -> PyResult<(Texts, Texts)> {
    let inputs = inputs.into_iter().map(to_input).collect::<PyResult<Vec<_>>>()?;
    let (source, target) = threads::run(py, || sample(&inputs, count, skip)).map_err(to_py)?;
    Ok((source.into(), target.into()))
}

/// The shortest code of the language that a code means: `sn` for `sna` and `sn-ZW`.
#[pyfunction]
pub fn language_code(code: &str) -> String {
    Tag::parse(code).language
}

/// Whether a code is of ISO 639's languages with two letters, in any of its forms.
#[pyfunction]
pub fn language_known(code: &str) -> bool {
    Tag::parse(code).is_known()
}

/// Whether a code means what was asked for: `sn` asks for `sn-ZW`, too.
#[pyfunction]
pub fn language_fits(asked: &str, found: &str) -> bool {
    Tag::parse(asked).fit(&Tag::parse(found)) > 0
}

/// The words of a line, as everything but the metrics counts them.
#[pyfunction]
pub fn words(line: Text) -> Vec<String> {
    dragoman_base::words(&line).map(ToOwned::to_owned).collect()
}

/// The forms of words inside sentences.
#[pyclass(frozen, module = "dragoman._core")]
pub struct TruecaseModel {
    inner: Arc<Truecaser>,
}

impl From<Truecaser> for TruecaseModel {
    fn from(model: Truecaser) -> Self {
        Self { inner: Arc::new(model) }
    }
}

#[pymethods]
impl TruecaseModel {
    /// Learns from files.
    #[staticmethod]
    fn of_files(py: Python<'_>, paths: Vec<String>, factored: bool) -> PyResult<Self> {
        let train = || {
            let mut counter = Counter::new(factored);
            paths.iter().try_for_each(|path| counter.file(path))?;
            Ok(counter.finish())
        };
        threads::run(py, train).map(Self::from).map_err(to_py)
    }

    /// Learns from lines.
    #[staticmethod]
    fn of_texts(py: Python<'_>, texts: &Texts, factored: bool) -> Self {
        let texts = texts.inner.clone();
        threads::run(py, || {
            let mut counter = Counter::new(factored);
            texts.iter().for_each(|line| counter.line(line));
            counter.finish().into()
        })
    }

    /// Reads a model, ours or Moses'.
    #[staticmethod]
    fn read(py: Python<'_>, path: &str) -> PyResult<Self> {
        threads::run(py, || Truecaser::read(path)).map(Self::from).map_err(to_py)
    }

    /// Writes the model to a file that appears when it is whole.
    fn write(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        threads::run(py, || self.inner.write(path)).map_err(to_py)
    }

    fn __len__(&self) -> usize {
        self.inner.len()
    }

    /// The most frequent form of a word, or None.
    fn best(&self, word: Text) -> Option<&str> {
        self.inner.best(&word)
    }

    /// Truecases lines.
    fn apply(&self, py: Python<'_>, texts: &Texts, factored: bool) -> Texts {
        let texts = texts.inner.clone();
        threads::run(py, || each(&texts, |line| self.inner.apply(line, factored))).into()
    }

    /// Truecases a file, line by line.
    fn apply_file(&self, py: Python<'_>, path: &str, out: &str, factored: bool) -> PyResult<()> {
        let run = || {
            let (mut lines, mut out) = (Lines::open(path)?, Output::create(out)?);
            while let Some(line) = lines.next()? {
                out.write(self.inner.apply(line, factored).as_bytes())?;
                out.write(b"\n")?;
            }
            out.finish()
        };
        threads::run(py, run).map_err(to_py)
    }
}

/// Each line changed, on all cores.
fn each(texts: &BaseTexts, change: impl Fn(&str) -> String + Sync) -> BaseTexts {
    let range = (0..texts.len()).into_par_iter().with_min_len(256);
    let lines: Vec<String> = range.map(|index| change(texts.get(index))).collect();
    lines.iter().collect()
}

/// Capital letters at the starts of sentences.
#[pyfunction]
pub fn truecase_undo(py: Python<'_>, texts: &Texts, factored: bool) -> Texts {
    let texts = texts.inner.clone();
    threads::run(py, || each(&texts, |line| undo(line, factored))).into()
}

/// A line as [`normalise_lines`] makes it, and where each of its characters comes from: first character and one past the
/// last.
#[pyfunction]
pub fn normalise_spans(line: Text, form: &str) -> PyResult<(String, Vec<(usize, usize)>)> {
    Ok(traced(&line, Form::parse(form).map_err(to_py)?))
}

/// Lines in a Unicode normal form (`nfc`, `nfkc`, `none`), without invisible characters and odd white space.
#[pyfunction]
pub fn normalise_lines(py: Python<'_>, texts: &Texts, form: &str) -> PyResult<Texts> {
    let form = Form::parse(form).map_err(to_py)?;
    let texts = texts.inner.clone();
    let change = |line: &str| {
        let mut out = String::new();
        normalise(line, form, &mut out);
        out
    };
    Ok(threads::run(py, || each(&texts, change)).into())
}
