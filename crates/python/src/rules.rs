//! Rules: extraction, import, and mapped tables behind an opaque handle.

use crate::errors::{invalid, to_py};
use crate::text::Text;
use crate::threads;
use dragoman_base::{Result, parse_size};
use dragoman_rules::extract::{
    Extraction, Limits, Model, Options, ReorderingSmoothing, Report, Scores, Scoring, Smoothing, Threshold,
    extract, find, gather, rules_of_pair,
};
use dragoman_rules::{ExportOptions, Form, ImportOptions, Table, export, gap, import, score_count};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Pairs, empty, long, bars, unaligned, tokens, extracted, rules, phrases, insignificant, below the top, rare.
type Figures = (u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64);
/// Span, symbols, least words of a gap in source and target, gaps, tight edges, fractional counts.
type GapLimits = (usize, usize, (usize, usize), usize, bool, bool);
/// Rules, phrases, repeated, missing and unused of each reordering table, columns.
type Imported = (u64, u64, u64, Vec<u64>, Vec<u64>, Vec<String>);
/// Source, target, links, count.
type Occurrence = (String, String, Vec<(u8, u8)>, f64);
/// Target phrase, scores, links.
type Found = (String, Vec<f32>, Vec<(u8, u8)>);

fn figures(r: Report) -> Figures {
    let pruned = (r.insignificant, r.below_top, r.rare);
    let (pairs, skipped) = (r.pairs, (r.empty, r.long, r.bars));
    let made = (r.tokens, r.extracted, r.rules, r.phrases);
    let (empty, long, bars) = skipped;
    let (tokens, extracted, rules, phrases) = made;
    let (insignificant, below, rare) = pruned;
    (pairs, empty, long, bars, r.unaligned, tokens, extracted, rules, phrases, insignificant, below, rare)
}

fn limits((span, symbols, gap, gaps, tight, fractional): GapLimits) -> Limits {
    Limits { span, symbols, gap, gaps, tight, fractional }
}

fn scores(name: &str) -> PyResult<Scores> {
    match name {
        "moses" => Ok(Scores::Moses),
        "cdec" => Ok(Scores::Cdec),
        _ => Err(invalid(format!("expected the scores moses or cdec, found `{name}`"))),
    }
}

fn smoothing(name: &str) -> PyResult<Smoothing> {
    match name {
        "none" => Ok(Smoothing::None),
        "kneser-ney" => Ok(Smoothing::KneserNey),
        "good-turing" => Ok(Smoothing::GoodTuring),
        _ => Err(invalid(format!("expected the smoothing none, kneser-ney or good-turing, found `{name}`"))),
    }
}

fn threshold(text: &str) -> PyResult<Threshold> {
    match text {
        "a+e" => Ok(Threshold::AlphaPlus),
        "a-e" => Ok(Threshold::AlphaMinus),
        _ => text
            .parse()
            .map(Threshold::Value)
            .map_err(|_| invalid(format!("expected the significance a+e, a-e or a number, found `{text}`"))),
    }
}

fn model(name: &String) -> PyResult<Model> {
    Model::parse(name)
        .ok_or_else(|| invalid(format!("expected the reordering model wbe, phrase or hier, found `{name}`")))
}

/// An extraction of rules from three files: here (`extract`), or with the help of other processes, which do the four stages
/// `find`, `gather`, and of a [`RuleScoring`] `join` and `score`: `chunk` gives the parts of a stage, `add` takes what
/// became of them in any order, `advance` goes on to the next stage, and `finish` writes the table.
#[pyclass(frozen, module = "dragoman._core")]
pub struct RuleExtraction {
    options: Options,
    /// None before the first part goes out, and after the end.
    inner: Mutex<Option<Extraction>>,
}

impl RuleExtraction {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut Extraction) -> Result<T> + Send,
    ) -> PyResult<T> {
        let work = || {
            let mut inner = self.inner.lock().expect("no panic while locked");
            let extraction = match inner.as_mut() {
                Some(extraction) => extraction,
                None => inner.insert(Extraction::new(self.options.clone())?),
            };
            f(extraction)
        };
        threads::run(py, work).map_err(to_py)
    }
}

#[pymethods]
impl RuleExtraction {
    #[new]
    #[allow(clippy::too_many_arguments)] // one per option
    fn new(
        files: (String, String, String),
        out: PathBuf,
        meta: String,
        length: usize,
        gaps: Option<GapLimits>,
        least: u32,
        scores: &str,
        filter: Vec<String>,
        longest: usize,
        tags: Option<(String, PathBuf)>,
        models: Vec<String>,
        share: f64,
        moses_next: bool,
        smoothing: &str,
        alpha: Option<f64>,
        constant: f64,
        orientation_counts: bool,
        top: Option<usize>,
        significance: Option<&str>,
        lexical: Option<(String, String)>,
        memory: &str,
    ) -> PyResult<Self> {
        let options = Options {
            source: files.0,
            target: files.1,
            links: files.2,
            out,
            meta,
            length,
            gaps: gaps.map(limits),
            least,
            scores: self::scores(scores)?,
            filter,
            longest,
            tags,
            share,
            models: models.iter().map(model).collect::<PyResult<_>>()?,
            moses_next,
            smoothing: self::smoothing(smoothing)?,
            reordering: alpha.map_or(ReorderingSmoothing::Constant(constant), ReorderingSmoothing::Recursive),
            orientation_counts,
            top,
            significance: significance.map(threshold).transpose()?,
            lexical,
            memory: parse_size(memory).map_err(to_py)?,
        };
        Ok(Self { options, inner: Mutex::new(None) })
    }

    /// All of it here.
    fn extract(&self, py: Python<'_>) -> PyResult<Figures> {
        threads::run(py, || extract(&self.options)).map(figures).map_err(to_py)
    }

    /// The next part of the text; None at its end.
    fn chunk<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        Ok(self.with(py, Extraction::chunk)?.map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// Takes what became of a part.
    fn add(&self, py: Python<'_>, result: &[u8]) -> PyResult<()> {
        self.with(py, |extraction| extraction.add(result))
    }

    /// Goes on to the next stage, which so many workers will do.
    fn advance(&self, py: Python<'_>, workers: usize) -> PyResult<()> {
        self.with(py, |extraction| extraction.advance(workers))
    }

    /// What a [`RuleScoring`] must know.
    fn knowledge<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.with(py, Extraction::knowledge)?))
    }

    /// The occurrences of rules in a part of the text.
    fn find<'py>(&self, py: Python<'py>, part: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        sent(py, || find(&self.options, part))
    }

    /// The rules of a range of source phrases.
    fn gather<'py>(&self, py: Python<'py>, part: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        sent(py, || gather(&self.options, part))
    }

    /// Writes the table, when every part has come back.
    fn finish(&self, py: Python<'_>) -> PyResult<Figures> {
        let extraction = self.inner.lock().expect("no panic while locked").take();
        let extraction = extraction.ok_or_else(|| invalid("this extraction has not begun"))?;
        threads::run(py, || extraction.finish()).map(figures).map_err(to_py)
    }
}

/// Does work of which bytes come back.
fn sent(py: Python<'_>, work: impl FnOnce() -> Result<Vec<u8>> + Send) -> PyResult<Bound<'_, PyBytes>> {
    Ok(PyBytes::new(py, &threads::run(py, work).map_err(to_py)?))
}

/// A worker of an extraction that knows what it takes to score rules.
#[pyclass(frozen, module = "dragoman._core")]
pub struct RuleScoring {
    inner: Scoring,
}

#[pymethods]
impl RuleScoring {
    #[new]
    fn new(py: Python<'_>, extraction: &RuleExtraction, knowledge: &[u8]) -> PyResult<Self> {
        let options = extraction.options.clone();
        Ok(Self { inner: threads::run(py, || Scoring::new(options, knowledge)).map_err(to_py)? })
    }

    /// What is known of a range of target phrases.
    fn join<'py>(&self, py: Python<'py>, part: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        sent(py, || self.inner.join(part))
    }

    /// The part of the table with a range of source phrases.
    fn score<'py>(&self, py: Python<'py>, part: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        sent(py, || self.inner.score(part))
    }
}

/// The rules with gaps of one sentence pair: source, target, links, count of each occurrence.
#[pyfunction]
pub fn rules_of_sentence(
    source: Text<String>,
    target: Text<String>,
    links: Text<String>,
    gaps: GapLimits,
) -> PyResult<Vec<Occurrence>> {
    let found = rules_of_pair(&source, &target, &links, &limits(gaps)).map_err(to_py)?;
    let pairs = |links: Vec<[u8; 2]>| links.into_iter().map(|[i, j]| (i, j)).collect();
    let text = |symbols: Vec<String>| gap::shown(symbols.iter().map(String::as_str));
    Ok(found.into_iter().map(|(s, t, l, count)| (text(s), text(t), pairs(l), count)).collect())
}

fn form(name: &str) -> PyResult<Form> {
    Form::parse(name)
        .ok_or_else(|| invalid(format!("expected the form phrases, moses or cdec, found `{name}`")))
}

/// Turns text tables into a mapped one.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // one per option
pub fn rules_import(
    py: Python<'_>,
    rules: String,
    form: &str,
    reordering: Vec<(String, String)>,
    columns: Option<Vec<String>>,
    out: PathBuf,
    meta: String,
    memory: &str,
) -> PyResult<Imported> {
    let memory = parse_size(memory).map_err(to_py)?;
    let form = self::form(form)?;
    let options = ImportOptions { rules, form, reordering, columns, out, meta, memory };
    let r = threads::run(py, || import(&options)).map_err(to_py)?;
    Ok((r.rules, r.phrases, r.repeated, r.missing, r.unused, r.columns))
}

/// What the first line of a text table looks like: `phrases`, `moses` or `cdec`.
#[pyfunction]
pub fn rules_form(py: Python<'_>, path: &str) -> PyResult<&'static str> {
    threads::run(py, || Form::of_file(path)).map(Form::name).map_err(to_py)
}

/// How many scores the first line of a Moses phrase table has.
#[pyfunction]
pub fn rules_score_count(py: Python<'_>, path: &str) -> PyResult<usize> {
    threads::run(py, || score_count(path)).map_err(to_py)
}

/// An open rule table.
#[pyclass(frozen, module = "dragoman._core")]
pub struct RuleTable {
    inner: Arc<Table>,
}

#[pymethods]
impl RuleTable {
    /// Maps a table.
    #[new]
    fn new(path: &str) -> PyResult<Self> {
        Ok(Self { inner: Arc::new(Table::open(Path::new(path)).map_err(to_py)?) })
    }

    /// Names of the score columns.
    fn columns(&self) -> Vec<String> {
        self.inner.columns().to_vec()
    }

    /// Meta-data as JSON.
    fn meta(&self) -> &str {
        self.inner.meta()
    }

    /// Rules, source words, target words, words of the longest source phrase, bytes of the file.
    fn figures(&self) -> (usize, usize, usize, usize, usize) {
        let table = &self.inner;
        let words = (table.source_words(), table.target_words());
        (table.len(), words.0, words.1, table.longest_source(), table.file_size())
    }

    /// Number of source phrases that have rules; reads all nodes.
    fn phrases(&self, py: Python<'_>) -> usize {
        threads::run(py, || self.inner.phrases())
    }

    /// A hash of the contents.
    fn signature(&self) -> u64 {
        self.inner.signature()
    }

    /// Reads all of the file and checks it against its hashes.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        threads::run(py, || self.inner.verify()).map_err(to_py)
    }

    /// The rules of a source phrase.
    fn lookup(&self, words: Text<Vec<String>>) -> Vec<Found> {
        let table = &self.inner;
        let gaps = table.source_word(gap::SOURCE).is_some();
        let symbol = |word: &str| table.source_word(if gaps { gap::read_source(word) } else { word });
        let ids: Option<Vec<u32>> = words.iter().map(|word| symbol(word)).collect();
        let node = ids.filter(|ids| !ids.is_empty()).and_then(|ids| table.find(&ids));
        let rules = node.map_or(0..0, |node| table.rules(node));
        let text = |rule: u32| gap::shown(table.target(rule).iter().map(|&word| table.target_text(word)));
        let links = |rule: u32| table.links(rule).iter().map(|&[i, j]| (i, j)).collect();
        rules.map(|rule| (text(rule), table.scores(rule).to_vec(), links(rule))).collect()
    }

    /// Writes text tables.
    #[allow(clippy::too_many_arguments)] // one per option
    fn export(
        &self,
        py: Python<'_>,
        rules: Option<String>,
        form: &str,
        columns: Vec<String>,
        counts: bool,
        reordering: Vec<(String, String)>,
        memory: &str,
    ) -> PyResult<()> {
        let memory = parse_size(memory).map_err(to_py)?;
        let form = self::form(form)?;
        let options = ExportOptions { rules, form, columns, counts, reordering, memory };
        threads::run(py, || export(&self.inner, &options)).map_err(to_py)
    }
}
