//! Rules with gaps of one sentence pair (Chiang 2007): phrase pairs out of which smaller phrase pairs are cut.
//!
//! A rule comes from a phrase pair and up to two smaller ones inside it that do not overlap on either side and are no
//! neighbours in the source; at least one aligned word is left. Phrase pairs grow over unaligned words at their edges; where
//! edges are tight, they do not.

use super::bitext::Sentence;
use super::blocks::{Blocks, Shape, Span};
use super::filter::GAP;
use crate::gap;
use rustc_hash::FxHashMap;

/// One occurrence of a rule, in counts that are shared out: a number that 1 to 24 divide, so that such shares are exact and
/// sums do not depend on an order. Shares among more are rounded to it.
pub const UNIT: u64 = 5_354_228_880;

/// The share of one among `count`.
pub fn share(count: u32) -> u64 {
    let count = u64::from(count.max(1));
    (UNIT + count / 2) / count
}

/// What rules with gaps may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Words that a rule covers on either side at most.
    pub span: usize,
    /// Words and gaps of its source side at most.
    pub symbols: usize,
    /// Words that a gap covers at least, in the source and in the target.
    pub gap: (usize, usize),
    /// Gaps of a rule at most.
    pub gaps: usize,
    /// Whether phrases and gaps begin and end with aligned words, on both sides.
    pub tight: bool,
    /// Whether the rules that come from one phrase pair share one count; otherwise each occurrence counts.
    pub fractional: bool,
}

/// An occurrence of a rule.
#[derive(Debug, Clone, Copy)]
pub struct Found {
    /// The phrase pair.
    pub span: Span,
    /// What is cut out, in the order of the source; the first `count` of them.
    gaps: [Span; gap::MOST],
    count: usize,
    /// Among how many rules a count is shared out: those of the phrase pair or, where each occurrence counts, those of the
    /// same source words.
    pub shared: u32,
}

impl Found {
    /// What is cut out, in the order of the source.
    pub fn gaps(&self) -> &[Span] {
        &self.gaps[..self.count]
    }
}

/// A rule as symbols, with the links of its words (source offset in the high, target offset in the low half of a byte).
#[derive(Debug, Default)]
pub struct Written {
    pub source: Vec<u32>,
    pub target: Vec<u32>,
    pub links: Vec<u8>,
}

/// Working memory for one sentence pair after the other.
#[derive(Debug, Default)]
pub struct Cutter {
    blocks: Blocks,
    /// All phrase pairs, by their first target word.
    spans: Vec<Span>,
    /// For each target word and the end, the first of its phrase pairs.
    starts: Vec<usize>,
    /// For each target word and the end, aligned words before it.
    aligned: Vec<u32>,
    inside: Vec<Span>,
    found: Vec<Found>,
    places: FxHashMap<[u16; 6], u32>,
}

fn length(range: (usize, usize)) -> usize {
    range.1 + 1 - range.0
}

fn within(inner: (usize, usize), outer: (usize, usize)) -> bool {
    outer.0 <= inner.0 && inner.1 <= outer.1
}

impl Cutter {
    /// All occurrences of rules in a sentence pair; and where the links of each source word begin.
    pub fn rules(&mut self, sentence: Sentence<'_>, limits: &Limits) -> (&[Found], &[usize]) {
        self.found.clear();
        if !sentence.links.is_empty() {
            self.load(sentence, limits);
            for at in 0..self.spans.len() {
                self.cut(self.spans[at], limits);
            }
            if !limits.fractional {
                self.share_sources();
            }
        }
        (&self.found, &self.blocks.starts)
    }

    fn load(&mut self, sentence: Sentence<'_>, limits: &Limits) {
        let shape = Shape { length: limits.span, models: Vec::new(), moses: false };
        self.blocks.load(sentence, &shape);
        let words = sentence.target.len();
        self.aligned.clear();
        self.aligned.resize(words + 1, 0);
        sentence.links.iter().for_each(|link| self.aligned[usize::from(link[1]) + 1] = 1);
        (0..words).for_each(|word| self.aligned[word + 1] += self.aligned[word]);
        let mut spans = std::mem::take(&mut self.spans);
        spans.clear();
        if limits.tight {
            let is_aligned = |word: usize| self.aligned_in((word, word)) > 0;
            let tight = |span: &&Span| is_aligned(span.target.0) && is_aligned(span.target.1);
            spans.extend(self.blocks.tight().iter().filter(tight));
        } else {
            self.blocks.phrases(limits.span, |span| spans.push(span));
        }
        spans.sort_unstable_by_key(|span| (span.target, span.source));
        self.starts.clear();
        self.starts.extend((0..=words).map(|word| spans.partition_point(|span| span.target.0 < word)));
        self.spans = spans;
    }

    fn aligned_in(&self, target: (usize, usize)) -> u32 {
        self.aligned[target.1 + 1] - self.aligned[target.0]
    }

    /// The rules of one phrase pair.
    fn cut(&mut self, whole: Span, limits: &Limits) {
        let from = self.found.len();
        let (words, left) = (length(whole.source), self.aligned_in(whole.target));
        let plain = Found { span: whole, gaps: [whole; gap::MOST], count: 0, shared: 1 };
        if words <= limits.symbols {
            self.found.push(plain);
        }
        if limits.gaps > 0 {
            let mut inside = std::mem::take(&mut self.inside);
            self.smaller(whole, limits, &mut inside);
            for (at, &first) in inside.iter().enumerate() {
                let (rest, left) = (words - length(first.source), left - self.aligned_in(first.target));
                if rest < limits.symbols {
                    self.found.push(Found { gaps: [first, whole], count: 1, ..plain });
                }
                if limits.gaps > 1 {
                    self.second(plain, first, &inside[at + 1..], (rest, left), limits);
                }
            }
            self.inside = inside;
        }
        if limits.fractional {
            let shared = (self.found.len() - from) as u32;
            self.found[from..].iter_mut().for_each(|found| found.shared = shared);
        }
    }

    /// The phrase pairs inside another that can be gaps: with one of them cut out an aligned word is left.
    fn smaller(&self, whole: Span, limits: &Limits, inside: &mut Vec<Span>) {
        let all = self.aligned_in(whole.target);
        let (from, to) = (self.starts[whole.target.0], self.starts[whole.target.1 + 1]);
        inside.clear();
        inside.extend(self.spans[from..to].iter().filter(|span| {
            within(span.target, whole.target)
                && within(span.source, whole.source)
                && length(span.source) >= limits.gap.0
                && length(span.target) >= limits.gap.1
                && self.aligned_in(span.target) < all
        }));
    }

    /// Rules with a second gap, which is behind the first one in the target; `rest` source words and `left` aligned target
    /// words are outside the first.
    fn second(
        &mut self,
        plain: Found,
        first: Span,
        later: &[Span],
        (rest, left): (usize, u32),
        limits: &Limits,
    ) {
        let behind = later.partition_point(|span| span.target.0 <= first.target.1);
        for &second in &later[behind..] {
            let before = second.source.1 + 1 < first.source.0;
            let apart = before || first.source.1 + 1 < second.source.0;
            if apart
                && rest + gap::MOST - length(second.source) <= limits.symbols
                && self.aligned_in(second.target) < left
            {
                let gaps = if before { [second, first] } else { [first, second] };
                self.found.push(Found { gaps, count: 2, ..plain });
            }
        }
    }

    /// Counts the rules that have the same source words and differ in the target only.
    fn share_sources(&mut self) {
        let place = |found: &Found| {
            let mut key = [u16::MAX; 6];
            let ranges = std::iter::once(found.span).chain(found.gaps().iter().copied());
            for (pair, span) in key.as_chunks_mut::<2>().0.iter_mut().zip(ranges) {
                *pair = [span.source.0 as u16, span.source.1 as u16];
            }
            key
        };
        self.places.clear();
        for found in &self.found {
            *self.places.entry(place(found)).or_default() += 1;
        }
        for found in &mut self.found {
            found.shared = self.places[&place(found)];
        }
    }
}

/// Symbols of a range of words; `gaps` are what is cut out, with the symbol of each, in order. Also gives for each word of
/// the range the offset of its symbol; none for words in gaps.
fn symbols(
    words: &[u32],
    range: (usize, usize),
    gaps: &[((usize, usize), u32)],
    out: &mut Vec<u32>,
) -> [u8; 16] {
    let mut offsets = [u8::MAX; 16];
    out.clear();
    let (mut at, mut gaps) = (range.0, gaps.iter().peekable());
    while at <= range.1 {
        if let Some((gap, symbol)) = gaps.next_if(|(gap, _)| gap.0 == at) {
            out.push(*symbol);
            at = gap.1 + 1;
        } else {
            offsets[at - range.0] = out.len() as u8;
            out.push(words[at]);
            at += 1;
        }
    }
    offsets
}

/// The source side of an occurrence as the input that rules are extracted for knows its words.
pub fn pattern(sentence: Sentence<'_>, found: &Found, out: &mut Vec<u32>) {
    let mut gaps = [((0, 0), GAP); gap::MOST];
    gaps.iter_mut().zip(found.gaps()).for_each(|(place, cut)| place.0 = cut.source);
    symbols(sentence.asked, found.span.source, &gaps[..found.count], out);
}

impl Written {
    /// Writes an occurrence; `starts` is where the links of each source word begin.
    pub fn set(&mut self, sentence: Sentence<'_>, found: &Found, starts: &[usize]) {
        let Found { span, .. } = *found;
        let mut sources = [((0, 0), gap::ID); gap::MOST];
        let mut targets = sources;
        for (number, cut) in found.gaps().iter().enumerate() {
            sources[number].0 = cut.source;
            targets[number] = (cut.target, gap::ID + number as u32);
        }
        let (sources, targets) = (&sources[..found.count], &mut targets[..found.count]);
        targets.sort_unstable();
        let source = symbols(sentence.source, span.source, sources, &mut self.source);
        let target = symbols(sentence.target, span.target, targets, &mut self.target);
        self.links.clear();
        for link in &sentence.links[starts[span.source.0]..starts[span.source.1 + 1]] {
            let i = source[usize::from(link[0]) - span.source.0];
            if i != u8::MAX {
                self.links.push(i << 4 | target[usize::from(link[1]) - span.target.0]);
            }
        }
    }
}
