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
use dragoman_base::io::Lines;
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

fn check_order(order: usize) -> Result<()> {
    if (1..=MAX_ORDER).contains(&order) {
        return Ok(());
    }
    Err(Error::Invalid(format!("expected an order from 1 to {MAX_ORDER}, found {order}")))
}

fn check(options: &Options) -> Result<Vec<u64>> {
    let order = options.order;
    let bad = |message: String| Err(Error::Invalid(message));
    check_order(order)?;
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

fn counter(options: &Options, scratch: &Scratch) -> Counter {
    let sorter = Sorter::new(Numbers::counted(options.order + 1), scratch, options.memory / 2);
    Counter::new(options, sorter)
}

fn count(source: Source<'_>, options: &Options, scratch: &Scratch, report: &mut Report) -> Result<Counter> {
    let mut counter = counter(options, scratch);
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
    Ok(counter)
}

/// Estimates a model from text and hands it to `target`.
pub fn estimate(source: Source<'_>, options: &Options, target: &mut dyn Target) -> Result<Report> {
    let prune = check(options)?;
    let scratch = Scratch::new(options.scratch.as_deref());
    let mut report = Report::default();
    let counter = count(source, options, &scratch, &mut report)?;
    let name = match source {
        Source::Files([first, ..]) => first,
        _ => "text",
    };
    smoothed(counter, options, &prune, name, report, target)
}

/// An estimation whose n-grams are counted by other processes: parts of the text go out, sorted runs come back in any
/// order. The model is that of [`estimate`].
pub struct Estimation {
    options: Options,
    prune: Vec<u64>,
    paths: Vec<String>,
    /// The file that is being read, and its lines.
    current: usize,
    lines: Option<Lines>,
    counter: Counter,
    report: Report,
}

impl Estimation {
    /// An estimation from text files.
    pub fn new(paths: Vec<String>, options: Options) -> Result<Self> {
        let prune = check(&options)?;
        let counter = counter(&options, &Scratch::new(options.scratch.as_deref()));
        Ok(Self { options, prune, paths, current: 0, lines: None, counter, report: Report::default() })
    }

    /// The next part of the text, for [`run`]; none at its end.
    pub fn chunk(&mut self) -> Result<Option<Vec<u8>>> {
        let mut chunk = Vec::new();
        while let Some(path) = self.paths.get(self.current) {
            let lines = match &mut self.lines {
                Some(lines) => lines,
                none => none.insert(Lines::open(path)?),
            };
            if self.counter.gather(lines, &mut chunk, &mut self.report)? {
                break;
            }
            self.lines = None;
            self.current += 1;
        }
        Ok((!chunk.is_empty()).then_some(chunk))
    }

    /// Takes what [`run`] made of a part.
    pub fn add(&mut self, run: &[u8]) -> Result<()> {
        self.counter.sorter.add(run)
    }

    /// Estimates the model, when every part has come back, and hands it to `target`.
    pub fn finish(self, target: &mut dyn Target) -> Result<Report> {
        let name = self.paths.first().map_or("text", String::as_str);
        smoothed(self.counter, &self.options, &self.prune, name, self.report, target)
    }
}

/// The n-grams of a part of the text and their counts, as a sorted run.
pub fn run(order: usize, chunk: &[u8]) -> Result<Vec<u8>> {
    check_order(order)?;
    count::run(order, chunk)
}

/// From counted n-grams to a model; `name` is that of the text.
fn smoothed(
    counter: Counter,
    options: &Options,
    prune: &[u64],
    name: &str,
    mut report: Report,
    target: &mut dyn Target,
) -> Result<Report> {
    report.types = counter.names.len() as u64 - 3;
    if report.tokens == 0 {
        let found = format!("{} lines without any", report.sentences);
        let want = "text with at least one word".to_owned();
        return Err(Error::Format { path: name.to_owned(), line: 1, want, found });
    }
    let (order, scratch) = (options.order, Scratch::new(options.scratch.as_deref()));
    let (names, full) = (counter.names, counter.sorter.finish()?);
    // The other half of the memory; wider records get more of it.
    let share = |n: usize| options.memory / 2 * (n + 2) / (2..=order).map(|n| n + 2).sum::<usize>();
    let contexts = (2..=order).map(|n| Sorter::new(Numbers::new(n + 2), &scratch, share(n))).collect();
    let adjusted = adjust::adjust(full, order, prune, names.len(), contexts)?;
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
