//! The state of a Markov chain: a derivation with all that is needed to change it in place.

use super::cover::Cover;
use super::judge::{Judge, Known};
use super::neighbourhood::Scratch;
use dragoman_base::{Error, Result};
use dragoman_phrase::Span;
use dragoman_phrase::coverage::Covered;
use dragoman_phrase::feature::Step;
use dragoman_phrase::search::Ready;

/// A derivation of one sentence.
pub struct Chain<'a> {
    pub(super) ready: &'a Ready<'a>,
    /// Source words that a jump may skip.
    pub(super) far: usize,
    /// Options in order of the target.
    pub(super) phrases: Vec<u32>,
    /// State bytes before each phrase, and after the last.
    states: Vec<u8>,
    /// What is covered before each phrase, and after the last: bits, first gap and count.
    bits: Vec<u64>,
    gaps: Vec<(u32, u32)>,
    /// Score of each phrase, and the version of the weights that it holds for.
    scores: Vec<(u32, f64)>,
    pub(super) known: Known,
    /// Bit words of a coverage.
    width: usize,
    /// By first word and size less one: the options of a span.
    spans: Vec<Option<(u32, u32)>>,
    longest: usize,
}

/// Where a chain starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// A gloss: the best option of each word, in order (Haddow et al. 2011, 2.2.2).
    Gloss,
    /// The phrases whose estimates, language model and all, are best together, in order.
    Best,
}

/// Nothing of a source is left open, or it could not be covered at all.
const NO_WAY: &str =
    "no translation in order of the source meets the constraints: given translations overlap or cross a zone";

impl<'a> Chain<'a> {
    /// Starts in order of the source.
    pub fn new(
        ready: &'a Ready<'a>,
        (distortion, start): (Option<usize>, Start),
        judge: &mut impl Judge,
        scratch: &mut Scratch,
    ) -> Result<Self> {
        let (options, length) = (ready.options(), ready.sentence().len());
        let longest = options.longest();
        let mut spans = vec![None; length * longest];
        for from in 0..length {
            for &Span { to, first, last, .. } in options.starting(from) {
                spans[from * longest + to as usize - from - 1] = Some((first, last));
            }
        }
        let mut made = Self {
            ready,
            far: distortion.unwrap_or(usize::MAX / 4),
            phrases: Vec::new(),
            states: vec![0; ready.stride()],
            bits: vec![0; length.div_ceil(64).max(1)],
            gaps: vec![(0, 0)],
            scores: Vec::new(),
            known: Known::new(options.len()),
            width: length.div_ceil(64).max(1),
            spans,
            longest,
        };
        ready.start(&mut made.states);
        let first = made.first(judge, start)?;
        made.replace(judge, scratch, (0, 0), &first);
        Ok(made)
    }

    /// The best phrases in order of the source: by what stands in them as many as possible, or by their estimates.
    fn first(&mut self, judge: &mut impl Judge, start: Start) -> Result<Vec<u32>> {
        let length = self.ready.sentence().len();
        let mut best: Vec<Option<(usize, f64, u32)>> = vec![None; length + 1];
        best[length] = Some((0, 0.0, 0));
        for from in (0..length).rev() {
            for size in 1..=self.longest.min(length - from) {
                let Some((first, last)) = self.span(from, from + size) else { continue };
                let Some((count, after, _)) = best[from + size] else { continue };
                for option in first..last {
                    let (more, phrase) = match start {
                        Start::Gloss => (1, judge.option(self.ready, &mut self.known, option)),
                        Start::Best => (0, f64::from(self.ready.options().get(option).estimate)),
                    };
                    let score = after + phrase;
                    let better =
                        |(c, s, _): (usize, f64, u32)| count + more > c || (count + more == c && score > s);
                    if best[from].is_none_or(better) {
                        best[from] = Some((count + more, score, option));
                    }
                }
            }
        }
        let (mut at, mut gloss) = (0, Vec::new());
        while at < length {
            let Some((.., option)) = best[at] else { return Err(Error::Invalid(NO_WAY.to_owned())) };
            gloss.push(option);
            at = self.ready.options().get(option).to as usize;
        }
        Ok(gloss)
    }

    /// The options of a span.
    #[inline]
    pub(super) fn span(&self, from: usize, to: usize) -> Option<(u32, u32)> {
        if to - from > self.longest { None } else { self.spans[from * self.longest + to - from - 1] }
    }

    /// The derivation: options in order of the target.
    pub fn phrases(&self) -> &[u32] {
        &self.phrases
    }

    /// Number of phrases.
    pub fn len(&self) -> usize {
        self.phrases.len()
    }

    /// Whether there is no phrase, since there is no word.
    pub fn is_empty(&self) -> bool {
        self.phrases.is_empty()
    }

    /// The features at work on this sentence.
    pub fn ready(&self) -> &'a Ready<'a> {
        self.ready
    }

    /// The state before a phrase.
    #[inline]
    pub(super) fn state(&self, at: usize) -> &[u8] {
        &self.states[at * self.ready.stride()..(at + 1) * self.ready.stride()]
    }

    /// The source position after the phrase before this one.
    #[inline]
    pub(super) fn last(&self, at: usize) -> usize {
        if at == 0 { 0 } else { self.ready.options().get(self.phrases[at - 1]).to as usize }
    }

    fn covered(&self, at: usize) -> Covered<'_> {
        let (gap, count) = self.gaps[at];
        let bits = &self.bits[at * self.width..(at + 1) * self.width];
        Covered::of_bits(self.ready.sentence().len(), gap as usize, count as usize, bits)
    }

    /// What is covered before a phrase, to be changed.
    #[inline]
    pub(super) fn load(&self, at: usize, cover: &mut Cover) {
        let (gap, count) = self.gaps[at];
        cover.load(&self.bits[at * self.width..(at + 1) * self.width], gap, count);
    }

    /// The step of phrase `at` if the phrase before it ended at `last`.
    #[inline]
    pub(super) fn step(&self, at: usize, last: usize) -> Step<'_> {
        step(self.ready, self.phrases[at], last, self.covered(at))
    }

    /// The score of a phrase under the judge's weights.
    #[inline]
    pub(super) fn score(&mut self, judge: &mut impl Judge, at: usize, next: &mut [u8]) -> f64 {
        let version = judge.version();
        if self.scores[at].0 != version {
            let last = self.last(at);
            let rule = judge.option(self.ready, &mut self.known, self.phrases[at]);
            let sum = rule + judge.step(self.ready, &self.step(at, last), self.state(at), next);
            self.scores[at] = (version, sum);
        }
        self.scores[at].1
    }

    /// The model score of the whole derivation.
    pub fn total(&mut self, judge: &mut impl Judge, scratch: &mut Scratch) -> f64 {
        scratch.fit(self.ready.stride());
        (0..self.len()).map(|at| self.score(judge, at, &mut scratch.next)).sum()
    }

    /// Whether a step stays within the distortion limit, does not strand the first gap, and respects walls and zones.
    #[inline]
    pub(super) fn fits(&self, from: usize, to: usize, last: usize, cover: &Cover) -> bool {
        from.abs_diff(last) <= self.far
            && (from == cover.gap || to - cover.gap <= self.far)
            && (!self.ready.sentence().constrained()
                || cover.view(self.ready.sentence().len()).allows(self.ready.sentence().input, from, to))
    }

    /// Puts other options in the place of the phrases `window`, and brings all that follows up to date.
    pub(super) fn replace(
        &mut self,
        judge: &mut impl Judge,
        scratch: &mut Scratch,
        (first, last): (usize, usize),
        options: &[u32],
    ) {
        let stride = self.ready.stride();
        scratch.fit(stride);
        scratch.old.copy_from_slice(self.state(last));
        let mut old_last = self.last(last);
        self.make_room(first, last, options);
        let end = first + options.len();
        let version = judge.version();
        self.load(first, &mut scratch.cover);
        for at in first..self.len() {
            if at >= end && scratch.old == self.state(at) && old_last == self.last(at) {
                break;
            }
            if at >= end {
                old_last = self.ready.options().get(self.phrases[at]).to as usize;
                scratch.old.copy_from_slice(self.state(at + 1));
            }
            let rule = judge.option(self.ready, &mut self.known, self.phrases[at]);
            let sum = rule
                + judge.step(self.ready, &self.step(at, self.last(at)), self.state(at), &mut scratch.next);
            self.scores[at] = (version, sum);
            self.states[(at + 1) * stride..(at + 2) * stride].copy_from_slice(&scratch.next);
            if at < end {
                let opt = self.ready.options().get(self.phrases[at]);
                scratch.cover.add(opt.from as usize, opt.to as usize);
                self.bits[(at + 1) * self.width..(at + 2) * self.width].copy_from_slice(&scratch.cover.bits);
                self.gaps[at + 1] = (scratch.cover.gap as u32, scratch.cover.count as u32);
            }
        }
    }

    /// Changes the number of phrases; what lies behind them moves along.
    fn make_room(&mut self, first: usize, last: usize, options: &[u32]) {
        self.phrases.splice(first..last, options.iter().copied());
        let (old, new) = (last - first, options.len());
        shift(&mut self.scores, first, old, new, (0, 0.0));
        shift(&mut self.gaps, first + 1, old, new, (0, 0));
        let (width, stride) = (self.width, self.ready.stride());
        shift(&mut self.bits, (first + 1) * width, old * width, new * width, 0);
        shift(&mut self.states, (first + 1) * stride, old * stride, new * stride, 0);
    }
}

/// Replaces `old` entries from `at` on by `new` ones of any value.
fn shift<T: Copy>(list: &mut Vec<T>, at: usize, old: usize, new: usize, fill: T) {
    if new > old {
        let length = list.len();
        list.resize(length + new - old, fill);
        list.copy_within((at + old).min(length)..length, (at + new).min(length + new - old));
    } else if old > new {
        list.drain(at + new..at + old);
    }
}

/// A step by an option.
#[inline]
pub(super) fn step<'c>(ready: &Ready<'_>, option: u32, last: usize, before: Covered<'c>) -> Step<'c> {
    let opt = ready.options().get(option);
    let (from, to) = (opt.from as usize, opt.to as usize);
    let complete = before.count() + to - from == ready.sentence().len();
    Step { option, from, to, last, before, complete }
}
