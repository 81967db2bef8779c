//! Significance pruning (Johnson, Martin, Foster and Kuhn 2007): is it by chance that the two phrases of a rule share
//! sentence pairs? Fisher's exact test on how many sentence pairs have the one, the other, and both.
//!
//! A sentence has a side with gaps if it has the runs of words of that side in their order, with at least one word for
//! each gap: the test asks how surely the two sides belong together, not where the rule was extracted.

use super::Options;
use dragoman_base::Result;
use dragoman_base::frames::damaged;
use rayon::prelude::*;
use std::ops::Range;

/// Stands behind every sentence, so that no phrase reaches into the next.
const END: u32 = u32::MAX;

/// All sentences of one side, and where every phrase begins in them: a suffix array.
#[derive(Debug)]
pub struct Corpus {
    words: Vec<u32>,
    /// First word of each sentence, and the end.
    starts: Vec<u32>,
    suffixes: Vec<u32>,
    /// Symbols below this are gaps of phrases; no sentence has them.
    gaps: u32,
}

impl Default for Corpus {
    fn default() -> Self {
        Self::with_gaps(0)
    }
}

impl Corpus {
    /// No sentences; the first `gaps` symbols of the vocabulary are gaps.
    pub fn with_gaps(gaps: u32) -> Self {
        Self { words: Vec::new(), starts: vec![0], suffixes: Vec::new(), gaps }
    }

    /// Adds a sentence.
    pub fn push(&mut self, words: &[u32]) -> Result<()> {
        self.words.extend_from_slice(words);
        self.words.push(END);
        let full = "more than 2^32 words for the significance test".to_owned();
        let end = u32::try_from(self.words.len()).map_err(|_| dragoman_base::Error::Invalid(full))?;
        self.starts.push(end);
        Ok(())
    }

    /// As bytes, for another process; what was indexed is not among them.
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = [self.gaps, self.starts.len() as u32];
        let numbers = head.iter().chain(&self.starts).chain(&self.words);
        numbers.flat_map(|number| number.to_le_bytes()).collect()
    }

    /// The sentences of these bytes.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self> {
        let numbers = bytes.as_chunks().0.iter().map(|number| u32::from_le_bytes(*number));
        let numbers: Vec<u32> = numbers.collect();
        let (&[gaps, count], rest) = numbers.split_first_chunk().ok_or_else(damaged)?;
        let (starts, words) = rest.split_at_checked(count as usize).ok_or_else(damaged)?;
        Ok(Self { gaps, starts: starts.to_vec(), words: words.to_vec(), suffixes: Vec::new() })
    }

    /// The words at `at`, no more than `length`.
    fn phrase(&self, at: u32, length: usize) -> &[u32] {
        &self.words[at as usize..self.words.len().min(at as usize + length)]
    }

    /// Sorts the beginnings of phrases up to `length` words.
    pub fn index(&mut self, length: usize) {
        let mut suffixes: Vec<u32> = (0..self.words.len() as u32).collect();
        let phrase = |at: u32| self.phrase(at, length);
        suffixes.par_sort_unstable_by(|&a, &b| phrase(a).cmp(phrase(b)).then(a.cmp(&b)));
        self.suffixes = suffixes;
    }

    /// The sentence of a word.
    pub fn sentence_of(&self, at: u32) -> usize {
        self.starts.partition_point(|&start| start <= at) - 1
    }

    fn sentence(&self, index: usize) -> &[u32] {
        &self.words[self.starts[index] as usize..self.starts[index + 1] as usize]
    }

    /// The first word of a sentence.
    pub fn start(&self, sentence: usize) -> u32 {
        self.starts[sentence]
    }

    /// The words of a sentence.
    pub fn words_of(&self, sentence: usize) -> &[u32] {
        let words = self.sentence(sentence);
        &words[..words.len() - 1]
    }

    /// Where a phrase begins, by no order that matters.
    pub fn positions(&self, phrase: &[u32]) -> &[u32] {
        &self.suffixes[self.find(phrase)]
    }

    /// Where a phrase begins, as a range of the suffix array.
    fn find(&self, phrase: &[u32]) -> Range<usize> {
        let order = |&at: &u32| self.phrase(at, phrase.len()).cmp(phrase);
        let from = self.suffixes.partition_point(|at| order(at).is_lt());
        from..from + self.suffixes[from..].partition_point(|at| order(at).is_le())
    }

    /// The sentences that have a phrase, in order; symbols below `self.gaps` are gaps.
    pub fn sentences(&self, phrase: &[u32]) -> Vec<u32> {
        // The rarest run of words leaves the fewest sentences to look at.
        let runs = phrase.split(|&symbol| symbol < self.gaps).filter(|run| !run.is_empty());
        let places = runs.map(|run| self.find(run)).min_by_key(Range::len).unwrap_or(0..0);
        let mut found: Vec<u32> =
            self.suffixes[places].iter().map(|&at| self.sentence_of(at) as u32).collect();
        found.sort_unstable();
        found.dedup();
        if self.has_gaps(phrase) {
            found.retain(|&index| self.has(index, phrase));
        }
        found
    }

    fn has_gaps(&self, phrase: &[u32]) -> bool {
        phrase.iter().any(|&symbol| symbol < self.gaps)
    }

    /// Whether a sentence has a phrase.
    fn has(&self, index: u32, phrase: &[u32]) -> bool {
        let words = self.words_of(index as usize);
        if !self.has_gaps(phrase) {
            return words.windows(phrase.len()).any(|w| w == phrase);
        }
        // Gaps have no longest length, so the first place of each run leaves most room for the rest.
        let mut rest = words;
        let mut gap = 0; // words that a gap before the next run takes, at least
        for part in phrase.chunk_by(|&a, &b| (a < self.gaps) == (b < self.gaps)) {
            if part[0] < self.gaps {
                gap = part.len();
                continue;
            }
            let Some(from) = rest.get(gap..) else { return false };
            let Some(at) = from.windows(part.len()).position(|w| w == part) else { return false };
            rest = &from[at + part.len()..];
            gap = 0;
        }
        rest.len() >= gap
    }

    /// How many of these sentences have a phrase.
    fn count_in(&self, sentences: &[u32], phrase: &[u32]) -> usize {
        sentences.iter().filter(|&&index| self.has(index, phrase)).count()
    }

    /// Number of sentences.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }
}

/// Both sides, and logarithms of factorials.
#[derive(Debug)]
pub struct Test {
    pub source: Corpus,
    pub target: Corpus,
    factorials: Vec<f64>,
    /// Rules whose negative log probability is below this are dropped.
    threshold: f64,
}

/// Where rules are cut off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Threshold {
    /// Just above the value of a rule that was seen once, whose phrases were seen once: such rules are dropped.
    AlphaPlus,
    /// Just below it: such rules are kept.
    AlphaMinus,
    /// A negative natural log probability.
    Value(f64),
}

impl Test {
    /// The test that the options ask for.
    pub fn of(options: &Options, corpora: Option<(Corpus, Corpus)>) -> Option<Self> {
        let ((source, target), threshold) = corpora.zip(options.significance)?;
        Some(Self::new(source, target, options.length, threshold))
    }

    /// Indexes both sides.
    pub fn new(mut source: Corpus, mut target: Corpus, length: usize, threshold: Threshold) -> Self {
        rayon::join(|| source.index(length), || target.index(length));
        let mut factorials = vec![0.0];
        for n in 1..=source.len() {
            factorials.push(factorials[n - 1] + (n as f64).ln());
        }
        let alpha = (source.len() as f64).ln();
        let threshold = match threshold {
            Threshold::AlphaPlus => alpha + 0.01,
            Threshold::AlphaMinus => alpha - 0.01,
            Threshold::Value(value) => value,
        };
        Self { source, target, factorials, threshold }
    }

    /// Number of sentence pairs with both phrases; the sentences with the source phrase and the number of those with
    /// the target phrase are known.
    fn joint(&self, sources: &[u32], targets: u32, source: &[u32], target: &[u32]) -> usize {
        if sources.len() <= targets as usize {
            self.target.count_in(sources, target)
        } else {
            self.source.count_in(&self.target.sentences(target), source)
        }
    }

    /// Negative log of the probability that at least `joint` of all pairs have both phrases by chance.
    pub fn value(&self, joint: usize, source: usize, target: usize) -> f64 {
        let all = self.source.len();
        let choose = |n: usize, k: usize| self.factorials[n] - self.factorials[k] - self.factorials[n - k];
        let least = (source + target).saturating_sub(all);
        // Terms fall behind the mode of the distribution; those that cannot show are left out.
        let mode = (source + 1) * (target + 1) / (all + 2);
        let (mut most, mut sum) = (f64::NEG_INFINITY, 0.0);
        for k in joint.max(least)..=source.min(target) {
            let log = choose(source, k) + choose(all - source, target - k) - choose(all, target);
            if k > mode && log < most - 50.0 {
                break;
            }
            if log > most {
                sum = sum * (most - log).exp() + 1.0;
                most = log;
            } else {
                sum += (log - most).exp();
            }
        }
        -(most + sum.ln())
    }

    /// Whether a rule is significant.
    pub fn passes(&self, sources: &[u32], targets: u32, source: &[u32], target: &[u32]) -> bool {
        let joint = self.joint(sources, targets, source, target);
        self.value(joint, sources.len(), targets as usize) >= self.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Whether words match symbols from their first one on, by trying all lengths of gaps.
    fn matches(words: &[u32], symbols: &[u32], gaps: u32) -> bool {
        match symbols.split_first() {
            None => true,
            Some((&symbol, rest)) if symbol < gaps => {
                (1..=words.len()).any(|length| matches(&words[length..], rest, gaps))
            }
            Some((&symbol, rest)) => words.first() == Some(&symbol) && matches(&words[1..], rest, gaps),
        }
    }

    proptest! {
        #[test]
        fn sentences_with_gaps_are_those_that_a_slow_search_finds(
            text in prop::collection::vec(prop::collection::vec(2u32..6, 0..9), 1..12),
            phrase in prop::collection::vec(0u32..6, 1..6),
        ) {
            prop_assume!(phrase.iter().any(|&symbol| symbol >= 2));
            let mut corpus = Corpus::with_gaps(2);
            for sentence in &text {
                corpus.push(sentence).unwrap();
            }
            corpus.index(6);
            let slow: Vec<u32> = (0..text.len() as u32)
                .filter(|&i| {
                    let words = &text[i as usize];
                    (0..=words.len()).any(|from| matches(&words[from..], &phrase, 2))
                })
                .collect();
            prop_assert_eq!(corpus.sentences(&phrase), slow);
        }
    }
}
