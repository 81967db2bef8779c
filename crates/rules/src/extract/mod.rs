//! Phrase pairs, their scores and their reordering models from a word-aligned bitext, in bounded memory.
//!
//! Text and links ([`bitext`]) -> phrase pairs and orientations of each sentence pair ([`blocks`]), or rules with gaps
//! ([`gaps`]) -> counts ([`gather`]) -> scores ([`score`], [`lexical`], [`significance`]) -> a table ([`finish`]). The result is the same
//! to the last byte whatever the memory and the number of threads.

mod bitext;
mod blocks;
mod finish;
mod gaps;
mod gather;
mod lexical;
mod score;
mod significance;

pub use blocks::{Model, Orientation};
pub use gaps::Limits;
pub use score::{ReorderingSmoothing, Scores, Smoothing, orientations};
pub use significance::Threshold;

use crate::gap;
use crate::sort::{Sorted, Sorter};
use bitext::{Chunk, Reader, Sentence};
use blocks::{Blocks, Shape};
use dragoman_base::scratch::{Scratch, Spool};
use dragoman_base::{Error, Names, Result};
use gaps::{Cutter, Written};
use gather::Counting;
use lexical::Lexicon;
use rayon::prelude::*;
use significance::{Corpus, Test};
use std::path::PathBuf;

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
    /// Words of the longest sentence that is used.
    pub longest: usize,
    /// Reordering models.
    pub models: Vec<Model>,
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
        Counting { models: self.models.len(), gaps, least: self.least }
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

fn check(options: &Options) -> Result<()> {
    let bad = |message: String| Err(Error::Invalid(message));
    if !(1..=MAX_PHRASE).contains(&options.length) {
        return bad(format!("expected phrases of 1 to {MAX_PHRASE} words, found {}", options.length));
    }
    if options.memory < MIN_MEMORY {
        return bad(format!("expected at least 1M of memory, found {} bytes", options.memory));
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
    }
    let repeated = (1..options.models.len()).any(|i| options.models[..i].contains(&options.models[i]));
    if repeated { bad("a reordering model was named twice".to_owned()) } else { Ok(()) }
}

fn check_gaps(options: &Options, limits: &Limits) -> Result<()> {
    let bad = |message: String| Err(Error::Invalid(message));
    if !(1..=MAX_PHRASE).contains(&limits.span) {
        return bad(format!("expected rules that span 1 to {MAX_PHRASE} words, found {}", limits.span));
    }
    if limits.symbols == 0 || limits.gap.0 == 0 || limits.gap.1 == 0 || limits.gaps > gap::MOST {
        return bad(
            "expected at least one symbol, gaps of at least one word, and at most two gaps".to_owned()
        );
    }
    if options.significance.is_some() || !options.models.is_empty() {
        return bad("rules with gaps have no reordering models and no significance test".to_owned());
    }
    if options.scores == Scores::Cdec && (limits.fractional || options.smoothing != Smoothing::None) {
        return bad("cdec's scores are made of whole counts, without smoothing".to_owned());
    }
    Ok(())
}

/// Adds the records of all rules with gaps of a sentence pair.
fn gapped(sentence: Sentence<'_>, limits: &Limits, work: &mut (Cutter, Written), bytes: &mut Vec<u8>) {
    let (cutter, written) = work;
    let (found, starts) = cutter.rules(sentence, limits);
    for each in found {
        written.set(sentence, each, starts);
        let links = written.links.iter().copied();
        gather::put_occurrence(bytes, &written.source, &written.target, links, each.shared);
    }
}

/// Adds the records of all phrase pairs of a sentence pair.
fn occurrences(sentence: Sentence<'_>, shape: &Shape, blocks: &mut Blocks, bytes: &mut Vec<u8>) {
    if sentence.links.is_empty() {
        return;
    }
    blocks.load(sentence, shape);
    blocks.phrases(shape.length, |span| {
        let (source, target) = (span.source, span.target);
        let mut code = 0;
        for (i, &model) in shape.models.iter().enumerate() {
            for (side, orientation) in blocks.orient(span, model, shape.moses).into_iter().enumerate() {
                code |= (orientation as u32) << (4 * i + 2 * side);
            }
        }
        let links = &sentence.links[blocks.starts[source.0]..blocks.starts[source.1 + 1]];
        let links = links.iter().map(|&[i, j]| ((i - source.0 as u16) << 4 | (j - target.0 as u16)) as u8);
        let words = (&sentence.source[source.0..=source.1], &sentence.target[target.0..=target.1]);
        gather::put_occurrence(bytes, words.0, words.1, links, code);
    });
}

/// What reading leaves behind besides the occurrences.
struct Read {
    reader: Reader,
    lexicon: Lexicon,
    corpora: Option<(Corpus, Corpus)>,
}

impl Read {
    /// Counts what has to be counted in order, and reads on.
    fn next(&mut self, chunk: Option<&Chunk>) -> Result<Option<Chunk>> {
        for sentence in chunk.iter().flat_map(|chunk| chunk.pairs.iter().map(|pair| chunk.sentence(pair))) {
            self.lexicon.add(sentence);
            if let Some((source, target)) = &mut self.corpora {
                source.push(sentence.source)?;
                target.push(sentence.target)?;
            }
        }
        self.reader.chunk()
    }
}

/// Sentence pairs that one task extracts from: fewer where each has many rules.
const BLOCK: usize = 256;
const BLOCK_OF_GAPS: usize = 32;
/// Blocks that wait for the sorter, for each thread.
const WAITING: usize = 4;

/// Reads the files; phrase pairs go to the sorter. The next chunk is read while phrases come out of this one.
fn read(options: &Options, mut sorter: Sorter) -> Result<(Read, Sorted)> {
    let shape = Shape { length: options.length, models: options.models.clone(), moses: options.moses_next };
    let corpora = options.significance.map(|_| (Corpus::default(), Corpus::default()));
    let lexicon =
        if options.gaps.is_some() { Lexicon::new((1, gap::MOST as u32)) } else { Lexicon::default() };
    let mut read = Read { reader: Reader::open(options)?, lexicon, corpora };
    let block = if options.gaps.is_some() { BLOCK_OF_GAPS } else { BLOCK };
    let wave = block * WAITING * rayon::current_num_threads();
    let mut current = read.next(None)?;
    while let Some(chunk) = current {
        let work = |pairs: &[bitext::Pair]| {
            let (mut blocks, mut cutting, mut bytes) = (Blocks::default(), Default::default(), Vec::new());
            for sentence in pairs.iter().map(|pair| chunk.sentence(pair)) {
                match &options.gaps {
                    Some(limits) => gapped(sentence, limits, &mut cutting, &mut bytes),
                    None => occurrences(sentence, &shape, &mut blocks, &mut bytes),
                }
            }
            bytes
        };
        let (next, pushed) = rayon::join(
            || read.next(Some(&chunk)),
            || {
                chunk.pairs.chunks(wave).try_for_each(|wave| {
                    let found: Vec<Vec<u8>> = wave.par_chunks(block).map(work).collect();
                    found.iter().try_for_each(|bytes| sorter.push_all(bytes))
                })
            },
        );
        pushed?;
        current = next?;
    }
    Ok((read, sorter.finish()?))
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

/// Extracts rules and writes the table.
pub fn extract(options: &Options) -> Result<Report> {
    check(options)?;
    let scratch = Scratch::beside(&options.out);
    let (models, counting) = (options.models.len(), options.counting());
    let (read, sorted) = read(options, Sorter::new(&scratch, options.memory / 2))?;
    let reader = read.reader;
    let mut report = reader.report.clone();
    if let Some((prefix, ending)) = &options.lexical {
        read.lexicon.write(prefix, ending, &reader.source_names, &reader.target_names)?;
    }
    let by_target = Sorter::new(&scratch, options.memory / 4);
    let (totals, spool, by_target) = gather::gather(sorted, counting, Spool::new(&scratch)?, by_target)?;
    let test = match (options.significance, read.corpora) {
        (Some(threshold), Some((source, target))) => {
            Some(Test::new(source, target, options.length, threshold))
        }
        _ => None,
    };
    let seen = |phrase: &[u32]| test.as_ref().map_or(0, |test| test.target.sentences(phrase).len() as u32);
    let by_rule = Sorter::new(&scratch, options.memory / 4);
    let by_rule = gather::join_targets(by_target, models, by_rule, seen)?;
    report.tokens = totals.tokens;
    (report.extracted, report.rare) = (totals.all(), totals.rare);
    report.phrases = totals.phrases;
    let finisher = finish::Finisher::new(options, &totals, &read.lexicon, test.as_ref())?;
    let builder = finisher.run(spool, by_rule, &mut report)?;
    builder.finish(reader.source_names.texts(), reader.target_names.texts())?;
    Ok(report)
}
