//! Phrase pairs, their scores and their reordering models from a word-aligned bitext, in bounded memory.
//!
//! Text and links ([`bitext`]) -> phrase pairs and orientations of each sentence pair ([`blocks`]), or rules with gaps
//! ([`gaps`]) -> counts ([`gather`]) -> scores ([`score`], [`lexical`], [`significance`]) -> a table ([`finish`]). The result is the same
//! to the last byte whatever the memory and the number of threads.

mod bitext;
mod blocks;
mod exchange;
mod filter;
mod finish;
mod gaps;
mod gather;
mod lexical;
mod passes;
mod sampled;
mod score;
mod significance;

pub use blocks::{Model, Orientation, Shape};
pub use exchange::{Extraction, Scoring, find, gather};
pub use finish::TAG_COLUMNS;
pub use gaps::Limits;
pub use sampled::{Grammar, Index, Sampling};
pub use score::{ReorderingSmoothing, Scores, Smoothing, orientations};
pub use significance::Threshold;

use crate::gap;
use crate::table::Builder;
use bitext::Reader;
use dragoman_base::io::Output;
use dragoman_base::scratch::{Scratch, Spool};
use dragoman_base::sort::{Sorted, Sorter, Strings};
use dragoman_base::{Error, Names, Result};
use filter::Filter;
use gaps::{Cutter, Written};
use gather::{Counting, Totals};
use significance::Test;
use std::path::{Path, PathBuf};

/// The longest phrase that can be extracted.
pub const MAX_PHRASE: usize = 15;
/// The least memory that makes sense, in bytes.
pub const MIN_MEMORY: usize = 1 << 20;

/// What to extract from what, and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// Source text, a sentence a line; packed or not, as all input.
    pub source: String,
    /// Target text.
    pub target: String,
    /// Links of each sentence pair, `0-0 1-2`.
    pub links: String,
    /// The table to write.
    pub out: PathBuf,
    /// Meta-data of the table, as JSON.
    pub meta: String,
    /// Words of the longest phrase on either side, where there are no gaps.
    pub length: usize,
    /// Rules with gaps, for the hierarchical system; without reordering models.
    pub gaps: Option<Limits>,
    /// Rules with gaps must have been seen so many times.
    pub least: u32,
    /// Which scores rules with gaps have.
    pub scores: Scores,
    /// Texts that the rules with gaps are for: only those that some line can match. Empty for all.
    pub filter: Vec<String>,
    /// Words of the longest sentence that is used.
    pub longest: usize,
    /// Tags of the target text, as many in a line as it has words, and where their names go. Rules then have the
    /// numbers of the tags that their first and last target word have most often together, as columns.
    pub tags: Option<(String, PathBuf)>,
    /// Reordering models.
    pub models: Vec<Model>,
    /// Share of the sentence pairs whose orientations count, drawn by line.
    pub share: f64,
    /// Whether `phrase` and `hier` judge the next block as Moses does, by a block that ends in the next target word,
    /// instead of by one that begins there.
    pub moses_next: bool,
    /// Smoothing of phrase translation probabilities.
    pub smoothing: Smoothing,
    /// Smoothing of orientation probabilities.
    pub reordering: ReorderingSmoothing,
    /// Whether orientation counts get columns, too.
    pub orientation_counts: bool,
    /// At most so many rules of each source phrase are kept.
    pub top: Option<usize>,
    /// Significance pruning.
    pub significance: Option<Threshold>,
    /// Where Moses' lexical tables go: what their names begin and end with.
    pub lexical: Option<(String, String)>,
    /// Bytes that sorting may use; words, word translations and a significance test come on top.
    pub memory: usize,
}

impl Options {
    fn counting(&self) -> Counting {
        let gaps = self.gaps.as_ref().map(|limits| limits.fractional);
        let tags = self.tags.is_some();
        Counting {
            models: self.models.len(),
            tags,
            gaps,
            least: self.least,
            filtered: !self.filter.is_empty(),
        }
    }
}

/// What extraction saw and did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Sentence pairs, skipped ones included.
    pub pairs: u64,
    /// Skipped: a side without words.
    pub empty: u64,
    /// Skipped: too many words.
    pub long: u64,
    /// Skipped: `|||` is a word, which would break Moses' tables.
    pub bars: u64,
    /// Used, but without any link, so that there are no rules in them.
    pub unaligned: u64,
    /// Phrase pairs, each occurrence counted.
    pub tokens: u64,
    /// Different phrase pairs.
    pub extracted: u64,
    /// Rules in the table.
    pub rules: u64,
    /// Different source phrases, before pruning.
    pub phrases: u64,
    /// Rules that were not significant.
    pub insignificant: u64,
    /// Rules that were not among the best of their source phrase.
    pub below_top: u64,
    /// Rules with gaps that were seen too few times.
    pub rare: u64,
}

impl Report {
    /// Takes what was counted of all rules.
    fn take(&mut self, totals: &Totals) {
        (self.tokens, self.phrases) = (totals.tokens, totals.phrases);
        (self.extracted, self.rare) = (totals.all(), totals.rare);
    }
}

fn check_length(length: usize) -> Result<()> {
    if (1..=MAX_PHRASE).contains(&length) {
        return Ok(());
    }
    Err(Error::Invalid(format!("expected phrases of 1 to {MAX_PHRASE} words, found {length}")))
}

fn check(options: &Options) -> Result<()> {
    let bad = |message: String| Err(Error::Invalid(message));
    check_length(options.length)?;
    if options.memory < MIN_MEMORY {
        return bad(format!("expected at least 1M of memory, found {} bytes", options.memory));
    }
    if !(options.share > 0.0 && options.share <= 1.0) {
        return bad(format!("expected a share of the text above 0, at most 1, found {}", options.share));
    }
    if options.tags.is_some() && options.gaps.is_some() {
        return bad("rules with gaps carry no tags".to_owned());
    }
    if options.top == Some(0) {
        return bad("expected to keep at least 1 rule of each source phrase, found 0".to_owned());
    }
    let (ReorderingSmoothing::Recursive(value) | ReorderingSmoothing::Constant(value)) = options.reordering;
    if !(value.is_finite() && value > 0.0) {
        return bad(format!("expected a positive number for the smoothing of orientations, found {value}"));
    }
    if let Some(Threshold::Value(value)) = options.significance
        && !(value.is_finite() && value >= 0.0)
    {
        return bad(format!("expected a significance threshold of at least 0, found {value}"));
    }
    if let Some(limits) = &options.gaps {
        check_gaps(options, limits)?;
    } else if !options.filter.is_empty() {
        return bad("extraction for a given input is for rules with gaps".to_owned());
    }
    let repeated = (1..options.models.len()).any(|i| options.models[..i].contains(&options.models[i]));
    if repeated { bad("a reordering model was named twice".to_owned()) } else { Ok(()) }
}

fn check_limits(limits: &Limits) -> Result<()> {
    let bad = |message: String| Err(Error::Invalid(message));
    if !(1..=MAX_PHRASE).contains(&limits.span) {
        return bad(format!("expected rules that span 1 to {MAX_PHRASE} words, found {}", limits.span));
    }
    if limits.symbols == 0 || limits.gap.0 == 0 || limits.gap.1 == 0 || limits.gaps > gap::MOST {
        return bad(
            "expected at least one symbol, gaps of at least one word, and at most two gaps".to_owned()
        );
    }
    Ok(())
}

fn check_gaps(options: &Options, limits: &Limits) -> Result<()> {
    let bad = |message: String| Err(Error::Invalid(message));
    check_limits(limits)?;
    if !options.models.is_empty() {
        return bad("rules with gaps have no reordering models".to_owned());
    }
    if options.scores == Scores::Cdec && (limits.fractional || options.smoothing != Smoothing::None) {
        return bad("cdec's scores are made of whole counts, without smoothing".to_owned());
    }
    if !options.filter.is_empty() && options.smoothing != Smoothing::None {
        return bad(
            "smoothing needs the counts of all rules, and a filter leaves most of them out".to_owned()
        );
    }
    Ok(())
}

/// A rule of one sentence pair: source, target and links, and its count.
pub type PairRule = (Vec<String>, Vec<String>, Vec<[u8; 2]>, f64);

/// The rules with gaps of one sentence pair, each occurrence with its count, as [`extract`] counts it.
pub fn rules_of_pair(source: &str, target: &str, links: &str, limits: &Limits) -> Result<Vec<PairRule>> {
    let (chunk, names) = bitext::one_pair(source, target, links)?;
    let sentence = chunk.sentence(&chunk.pairs[0]);
    let (mut cutter, mut written) = (Cutter::default(), Written::default());
    let (found, starts) = cutter.rules(sentence, limits);
    let mut rules = Vec::new();
    for each in found {
        written.set(sentence, each, starts);
        let text = |names: &Names, ids: &[u32]| ids.iter().map(|&id| names.name(id).to_owned()).collect();
        let count = if limits.fractional { 1.0 / f64::from(each.shared) } else { 1.0 };
        let links = written.links.iter().map(|link| [link >> 4, link & 15]).collect();
        rules.push((text(&names.0, &written.source), text(&names.1, &written.target), links, count));
    }
    Ok(rules)
}

/// The names of tags, one a line, in the order of their numbers.
fn write_names(path: &Path, names: &Names) -> Result<()> {
    let mut out = Output::create(&path.display().to_string())?;
    for name in names.texts().iter() {
        out.write(name.as_bytes())?;
        out.write(b"\n")?;
    }
    out.finish()
}

/// Extracts rules and writes the table.
pub fn extract(options: &Options) -> Result<Report> {
    check(options)?;
    let filter = Filter::for_rules(options)?;
    let (read, sorted) = passes::first(options, filter.as_ref(), occurrences(options))?;
    score(options, filter.as_ref(), read, sorted)
}

fn occurrences(options: &Options) -> Sorter<Strings> {
    Sorter::new(Strings::default(), &Scratch::beside(&options.out), options.memory / 2)
}

/// Counts sorted occurrences, scores the rules, and writes the table.
fn score(
    options: &Options,
    filter: Option<&Filter>,
    read: passes::Read<'_>,
    sorted: Sorted<Strings>,
) -> Result<Report> {
    let scratch = Scratch::beside(&options.out);
    let (models, counting) = (options.models.len(), options.counting());
    read.write_lexicon(options)?;
    let reader = read.reader;
    let by_target = Sorter::new(Strings::default(), &scratch, options.memory / 4);
    let (totals, spool, mut by_target, targets) =
        gather::gather(sorted, counting, 0, Spool::new(&scratch)?, by_target)?;
    if let (Some(filter), Some(limits)) = (filter, &options.gaps) {
        passes::second(options, (limits, filter, &targets), &mut by_target)?;
    }
    drop(targets);
    let by_target = by_target.finish()?;
    let test = Test::of(options, read.corpora);
    let by_rule = Sorter::new(Strings::default(), &scratch, options.memory / 4);
    let by_rule =
        gather::join_targets(by_target, models, by_rule, |phrase| sentences(test.as_ref(), phrase))?;
    let mut report = reader.report.clone();
    report.take(&totals);
    let finisher = finish::Finisher::new(options, &totals, &read.lexicon, test.as_ref())?;
    let mut builder = Builder::create(&options.out, &finish::columns(options), &options.meta)?;
    finisher.run(spool.read()?, by_rule.finish()?, &mut builder, &mut report)?;
    finished(options, &reader, builder, report)
}

/// How many sentences have a target phrase, if that matters.
fn sentences(test: Option<&Test>, phrase: &[u32]) -> u32 {
    test.map_or(0, |test| test.target.sentences(phrase).len() as u32)
}

/// Writes what has not been written yet.
fn finished(options: &Options, reader: &Reader, builder: Builder, mut report: Report) -> Result<Report> {
    report.rules = builder.len() as u64;
    if let Some((_, names)) = &options.tags {
        write_names(names, &reader.tag_names)?;
    }
    builder.finish(reader.source_names.texts(), reader.target_names.texts())?;
    Ok(report)
}
