//! Modified Kneser-Ney estimation in bounded memory (Chen and Goodman 1998; Heafield and others 2013).
//!
//! Text -> n-grams of the highest order with counts, sorted ([`count`]) -> adjusted counts of all orders
//! ([`adjust`]) -> discounts ([`discount`]) -> probabilities and back-off weights ([`smooth`]). Every arrow is a
//! sort that spills to disk when the memory is used up; results do not depend on memory or threads.

mod adjust;
mod count;
mod discount;
mod smooth;
mod store;

pub use discount::Discounts;

use count::Counter;
use dragoman_base::sort::{self, Numbers, Sorter};
use dragoman_base::{Error, Result, Scratch, Texts};
use rayon::prelude::*;

/// The highest order that can be estimated: a record of the widest sort holds the words and two numbers.
pub const MAX_ORDER: usize = sort::MAX_WIDTH - 2;
/// The least memory that makes sense, in bytes.
pub const MIN_MEMORY: usize = 1 << 20;

/// How to estimate.
#[derive(Debug, Clone)]
pub struct Options {
    /// Number of words in the longest n-grams.
    pub order: usize,
    /// Bytes that sorting may use; words and output come on top.
    pub memory: usize,
    /// Folder for temporary files; the system's place if none.
    pub scratch: Option<String>,
    /// N-grams of order i + 1 seen at most `prune[i]` times are dropped; the last value holds for higher orders.
    pub prune: Vec<u64>,
    /// Discounts for orders whose counts of counts give none.
    pub fallback: Option<Discounts>,
    /// Whether `<s>`, `</s>` and `<unk>` in the text are skipped instead of being an error.
    pub skip_symbols: bool,
}

/// What estimation saw and did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// Lines of text, empty ones included.
    pub sentences: u64,
    /// Words, sentence ends not included.
    pub tokens: u64,
    /// Different words.
    pub types: u64,
    /// Control characters, which were taken for blanks.
    pub controls: u64,
    /// Special words that were skipped.
    pub symbols: u64,
    /// N-grams of each order, `<s>` and `<unk>` among the first.
    pub counts: Vec<u64>,
    /// N-grams of each order before pruning.
    pub counts_before: Vec<u64>,
    /// Discounts of each order.
    pub discounts: Vec<Discounts>,
    /// For each order, whether the discounts are the fallback.
    pub fallback: Vec<bool>,
}

/// Takes n-grams, order by order from 1, each order sorted by the words from the last to the first.
pub trait Target {
    /// What is coming: all words by id (pruned ones included), and how many n-grams each order has.
    fn start(&mut self, words: &Texts, counts: &[u64]) -> Result<()>;
    /// One n-gram, its last word first, with log10 of its probability and of its back-off weight.
    fn gram(&mut self, reversed: &[u32], probability: f32, backoff: f32) -> Result<()>;
    /// No more n-grams.
    fn finish(&mut self) -> Result<()>;
}

/// Where sentences come from.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// Text files, packed or not, one sentence a line.
    Files(&'a [String]),
    /// Lines in memory.
    Lines(&'a Texts),
}

fn check(options: &Options) -> Result<Vec<u64>> {
    let order = options.order;
    let bad = |message: String| Err(Error::Invalid(message));
    if !(1..=MAX_ORDER).contains(&order) {
        return bad(format!("expected an order from 1 to {MAX_ORDER}, found {order}"));
    }
    if options.memory < MIN_MEMORY {
        return bad(format!("expected at least 1M of memory, found {} bytes", options.memory));
    }
    if options.prune.len() > order {
        return bad(format!("expected at most {order} pruning thresholds, found {}", options.prune.len()));
    }
    if let Some([low, high, ..]) = options.prune.windows(2).find(|pair| !pair.is_sorted()) {
        return bad(format!("expected pruning thresholds that never fall, found {high} after {low}"));
    }
    let values = options.fallback.unwrap_or_default();
    if let Some(i) = (0..3).find(|&i| !(0.0..=(i + 1) as f64).contains(&values[i])) {
        let (limit, found) = (i + 1, values[i]);
        return bad(format!(
            "expected a fallback discount from 0 to {limit} for count {limit}, found {found}"
        ));
    }
    let mut prune = options.prune.clone();
    prune.resize(order, prune.last().copied().unwrap_or(0));
    Ok(prune)
}

fn count(source: Source<'_>, options: &Options, scratch: &Scratch, report: &mut Report) -> Result<Counter> {
    let sorter = Sorter::new(Numbers::counted(options.order + 1), scratch, options.memory / 2);
    let mut counter = Counter::new(options, sorter);
    match source {
        Source::Files(paths) => paths.iter().try_for_each(|path| counter.file(path, report))?,
        Source::Lines(lines) => {
            for (i, line) in lines.iter().enumerate() {
                if let Err(word) = counter.line(line, report)? {
                    return Err(Error::format("text", i + 1, "words other than <s>, </s> and <unk>", word));
                }
            }
        }
    }
    report.types = counter.names.len() as u64 - 3;
    if report.tokens == 0 {
        let name = match source {
            Source::Files([first, ..]) => first,
            _ => "text",
        };
        let found = format!("{} lines without any", report.sentences);
        let want = "text with at least one word".to_owned();
        return Err(Error::Format { path: name.to_owned(), line: 1, want, found });
    }
    Ok(counter)
}

/// Estimates a model from text and hands it to `target`.
pub fn estimate(source: Source<'_>, options: &Options, target: &mut dyn Target) -> Result<Report> {
    let prune = check(options)?;
    let scratch = Scratch::new(options.scratch.as_deref());
    let mut report = Report::default();
    let order = options.order;
    let counter = count(source, options, &scratch, &mut report)?;
    let (names, full) = (counter.names, counter.sorter.finish()?);
    // The other half of the memory; wider records get more of it.
    let share = |n: usize| options.memory / 2 * (n + 2) / (2..=order).map(|n| n + 2).sum::<usize>();
    let contexts = (2..=order).map(|n| Sorter::new(Numbers::new(n + 2), &scratch, share(n))).collect();
    let adjusted = adjust::adjust(full, order, &prune, names.len(), contexts)?;
    (report.discounts, report.fallback) = discount::discounts(&adjusted.stats, options.fallback)?;
    report.counts = adjusted.stats.iter().map(|s| s.kept).collect();
    report.counts_before = adjusted.stats.iter().map(|s| s.total).collect();
    let discounts = &report.discounts;
    let orders: Vec<_> = adjusted.contexts.into_par_iter().enumerate().collect();
    let orders = orders
        .into_par_iter()
        .map(|(i, sorter)| smooth::weigh(sorter.finish()?, i + 2, &discounts[i + 1], &scratch, share(i + 2)));
    let orders = orders.collect::<Result<Vec<_>>>()?;
    target.start(names.texts(), &report.counts)?;
    let words = smooth::unigrams(&adjusted.unigrams, &discounts[0]);
    smooth::interpolate(words, orders, &scratch, options.memory / 4, target)?;
    target.finish()?;
    Ok(report)
}
