//! chrF (Popović 2015) and chrF++ (Popović 2017): F-score of character and word n-grams.

use crate::ngrams::{NgramTree, Words};
use crate::pairwise::{Counted, Numbers};
use crate::tokenize::{is_space, split};
use crate::{Metric, Reference};
use std::borrow::Cow;

/// chrF and its options; [`Chrf::default`] is chrF2, the default of sacreBLEU.
///
/// A row holds, for every character order and then every word order, three counts: n-grams of the hypothesis,
/// of the reference, and of both. With several references they are those of the one with the best score for
/// this hypothesis (the first of equals). An order that the reference is too short for counts no n-grams of the
/// hypothesis either.
#[derive(Debug, Clone)]
pub struct Chrf {
    /// Longest character n-gram that counts.
    pub char_order: usize,
    /// Longest word n-gram that counts: 0 in chrF, 2 in chrF++.
    pub word_order: usize,
    /// How many times recall counts as much as precision.
    pub beta: f64,
    /// Compare lower-cased text.
    pub lowercase: bool,
    /// Let white space take part in character n-grams.
    pub whitespace: bool,
    /// Average F-scores over all orders, a missing one counting as almost zero (Popović's own script), in place of
    /// averaging precision and recall over the orders that both sides have.
    pub eps_smoothing: bool,
}

impl Default for Chrf {
    fn default() -> Self {
        Self {
            char_order: 6,
            word_order: 0,
            beta: 2.0,
            lowercase: false,
            whitespace: false,
            eps_smoothing: false,
        }
    }
}

impl Chrf {
    fn prepare<'a>(&self, line: &'a str) -> Cow<'a, str> {
        if self.lowercase { Cow::Owned(line.to_lowercase()) } else { Cow::Borrowed(line) }
    }

    fn chars(&self, line: &str) -> impl Iterator<Item = u32> {
        line.chars().filter(|&c| self.whitespace || !is_space(c)).map(u32::from)
    }

    /// The mean over all orders of their F-scores.
    fn smoothed(&self, row: &[f64]) -> f64 {
        const EPSILON: f64 = 1e-16;
        let factor = self.beta * self.beta;
        let mut sum = 0.0;
        for (hyp, reference, matched) in triples(row) {
            let precision = if hyp > 0.0 { matched / hyp } else { EPSILON };
            let recall = if reference > 0.0 { matched / reference } else { EPSILON };
            let denominator = factor * precision + recall;
            sum +=
                if denominator > 0.0 { (1.0 + factor) * precision * recall / denominator } else { EPSILON };
        }
        100.0 * sum / (self.char_order + self.word_order) as f64
    }
}

fn triples(row: &[f64]) -> impl Iterator<Item = (f64, f64, f64)> {
    row.chunks_exact(3).map(|c| (c[0], c[1], c[2]))
}

impl Metric for Chrf {
    fn width(&self) -> usize {
        3 * (self.char_order + self.word_order)
    }

    fn digest(&self, references: &[&str]) -> Box<dyn Reference> {
        Box::new(Digest::new(self.clone(), references))
    }

    fn counted(&self) -> Option<&dyn Counted> {
        Some(self)
    }

    // The order of operations is sacreBLEU's: the choice between references hangs on the last bit.
    fn score(&self, row: &[f64]) -> f64 {
        if self.eps_smoothing {
            return self.smoothed(row);
        }
        let (mut precision, mut recall, mut orders) = (0.0, 0.0, 0.0);
        for (hyp, reference, matched) in triples(row).filter(|t| t.0 > 0.0 && t.1 > 0.0) {
            precision += matched / hyp;
            recall += matched / reference;
            orders += 1.0;
        }
        if precision + recall == 0.0 {
            return 0.0;
        }
        precision /= orders;
        recall /= orders;
        let factor = self.beta * self.beta;
        100.0 * ((1.0 + factor) * precision * recall / (factor * precision + recall))
    }
}

impl Counted for Chrf {
    fn orders(&self) -> Vec<usize> {
        vec![self.char_order, self.word_order]
    }

    fn symbols(&self, text: &str, numbers: &mut Numbers) -> Vec<Vec<u32>> {
        let line = self.prepare(text);
        let tokens = words(&line).take_while(|_| self.word_order > 0);
        vec![self.chars(&line).collect(), tokens.map(|word| numbers.of(word)).collect()]
    }

    fn row(&self, text: &[usize], reference: &[usize], common: &[u32], row: &mut [f64]) {
        let slots = (0..self.char_order).map(|n| (0, n)).chain((0..self.word_order).map(|n| (1, n)));
        for ((row, (kind, n)), &matched) in row.chunks_exact_mut(3).zip(slots).zip(common) {
            let of_reference = reference[kind].saturating_sub(n);
            let of_text = if of_reference > 0 { text[kind].saturating_sub(n) } else { 0 };
            row.copy_from_slice(&[of_text as f64, of_reference as f64, f64::from(matched)]);
        }
    }
}

/// The tokens of chrF++: words, each parted from one punctuation mark at its end or else at its start.
fn words(line: &str) -> impl Iterator<Item = &str> {
    split(line).flat_map(|word| {
        let mut chars = word.chars();
        let cut = match (chars.next(), chars.next_back()) {
            (Some(_), Some(last)) if last.is_ascii_punctuation() => word.len() - 1,
            (Some(first), Some(_)) if first.is_ascii_punctuation() => 1,
            _ => word.len(),
        };
        let (head, tail) = word.split_at(cut);
        [head, tail].into_iter().filter(|part| !part.is_empty())
    })
}

/// The n-grams of all references in one tree, with a count for each reference, so that one walk over the
/// hypothesis serves all of them.
struct Occurrences {
    order: usize,
    tree: NgramTree,
    /// Occurrences of the n-gram of node `n` in reference `r`, at `n * references + r`.
    counts: Vec<u32>,
    /// Number of symbols of each reference.
    lengths: Vec<usize>,
}

impl Occurrences {
    fn new(order: usize, sequences: &[Vec<u32>]) -> Self {
        let mut tree = NgramTree::new(order);
        let k = sequences.len();
        let mut counts = Vec::new();
        for (r, symbols) in sequences.iter().enumerate() {
            tree.add(symbols, |node| {
                let at = node as usize * k + r;
                if counts.len() <= at {
                    counts.resize(at + k, 0);
                }
                counts[at] += 1;
            });
        }
        counts.resize(tree.len() * k, 0);
        Self { order, tree, counts, lengths: sequences.iter().map(Vec::len).collect() }
    }

    /// Writes the statistics of `symbols` against reference `r` to `rows[r * width + offset..]`.
    fn fill(&self, symbols: &[Option<u32>], rows: &mut [f64], width: usize, offset: usize) {
        let k = self.lengths.len();
        for (r, &length) in self.lengths.iter().enumerate() {
            for n in 0..self.order {
                let of_reference = length.saturating_sub(n);
                let of_hypothesis = if of_reference > 0 { symbols.len().saturating_sub(n) } else { 0 };
                rows[r * width + offset + 3 * n] = of_hypothesis as f64;
                rows[r * width + offset + 3 * n + 1] = of_reference as f64;
            }
        }
        let mut used = vec![0u32; self.tree.len()];
        self.tree.matches(symbols.iter().copied(), |node, n| {
            let node = node as usize;
            let limits = &self.counts[node * k..(node + 1) * k];
            for (r, &limit) in limits.iter().enumerate() {
                if used[node] < limit {
                    rows[r * width + offset + 3 * n - 1] += 1.0;
                }
            }
            used[node] += 1;
        });
    }
}

struct Digest {
    chrf: Chrf,
    chars: Occurrences,
    vocabulary: Words,
    words: Occurrences,
}

impl Digest {
    fn new(chrf: Chrf, references: &[&str]) -> Self {
        let mut vocabulary = Words::default();
        let (mut chars, mut word_ids) = (Vec::new(), Vec::new());
        for reference in references {
            let line = chrf.prepare(reference);
            chars.push(chrf.chars(&line).collect());
            let tokens = words(&line).take_while(|_| chrf.word_order > 0);
            word_ids.push(tokens.map(|word| vocabulary.intern(word)).collect());
        }
        let chars = Occurrences::new(chrf.char_order, &chars);
        let words = Occurrences::new(chrf.word_order, &word_ids);
        Self { chrf, chars, vocabulary, words }
    }
}

impl Reference for Digest {
    fn statistics(&self, hypothesis: &str, row: &mut [f64]) {
        let line = self.chrf.prepare(hypothesis);
        let width = row.len();
        let mut rows = vec![0.0; width * self.chars.lengths.len()];
        let chars: Vec<Option<u32>> = self.chrf.chars(&line).map(Some).collect();
        self.chars.fill(&chars, &mut rows, width, 0);
        if self.chrf.word_order > 0 {
            let ids: Vec<Option<u32>> = words(&line).map(|word| self.vocabulary.get(word)).collect();
            self.words.fill(&ids, &mut rows, width, 3 * self.chrf.char_order);
        }
        let mut best = -1.0;
        for candidate in rows.chunks_exact(width) {
            let score = self.chrf.score(candidate);
            if score > best {
                best = score;
                row.copy_from_slice(candidate);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn row(metric: &Chrf, hyp: &str, refs: &[&str]) -> Vec<f64> {
        let mut row = vec![0.0; metric.width()];
        metric.digest(refs).statistics(hyp, &mut row);
        row
    }

    fn counts(symbols: &[String], n: usize) -> HashMap<String, f64> {
        let mut counts = HashMap::new();
        for gram in symbols.windows(n) {
            *counts.entry(gram.join(" ")).or_default() += 1.0;
        }
        counts
    }

    /// The definition, n-gram by n-gram, for one reference.
    fn slow_row(metric: &Chrf, hyp: &str, reference: &str) -> Vec<f64> {
        let chars = |line: &str| -> Vec<String> {
            line.chars().filter(|c| metric.whitespace || *c != ' ').map(String::from).collect()
        };
        let tokens = |line: &str| -> Vec<String> {
            // The test's words are letters with at most one mark, at the end.
            line.replace('.', " . ").split_whitespace().map(String::from).collect()
        };
        let mut row = Vec::new();
        let mut push = |hyp: &[String], reference: &[String], order: usize| {
            for n in 1..=order {
                let (h, r) = (counts(hyp, n), counts(reference, n));
                row.push(if r.is_empty() { 0.0 } else { h.values().sum() });
                row.push(r.values().sum());
                row.push(h.iter().map(|(gram, c)| c.min(*r.get(gram).unwrap_or(&0.0))).sum());
            }
        };
        push(&chars(hyp), &chars(reference), metric.char_order);
        push(&tokens(hyp), &tokens(reference), metric.word_order);
        row
    }

    fn line() -> impl Strategy<Value = String> {
        prop::collection::vec("[ab]{1,3}[.]?", 0..6).prop_map(|words| words.join(" "))
    }

    proptest! {
        #[test]
        fn statistics_equal_the_definition(
            hyp in line(),
            refs in prop::collection::vec(line(), 1..4),
            char_order in 0usize..7,
            word_order in 0usize..4,
            whitespace: bool,
            eps_smoothing: bool,
        ) {
            let metric = Chrf { char_order: char_order.max(1), word_order, whitespace, eps_smoothing, ..Chrf::default() };
            let mut best = slow_row(&metric, &hyp, &refs[0]);
            for reference in &refs[1..] {
                let other = slow_row(&metric, &hyp, reference);
                if metric.score(&other) > metric.score(&best) {
                    best = other;
                }
            }
            let refs: Vec<&str> = refs.iter().map(String::as_str).collect();
            prop_assert_eq!(row(&metric, &hyp, &refs), best);
        }
    }

    /// What sacreBLEU 2.6.0 gives.
    #[test]
    fn golden_scores() {
        let check = |metric: Chrf, hyp, refs: &[&str], want: f64| {
            let row = row(&metric, hyp, refs);
            assert!((metric.score(&row) - want).abs() < 1e-12, "{hyp}: {} {want}", metric.score(&row));
        };
        let refs = ["The cat, sat!", "A cat sat."];
        let (chrf, plus) = (Chrf::default(), Chrf { word_order: 2, ..Chrf::default() });
        let eps = Chrf { eps_smoothing: true, ..Chrf::default() };
        check(chrf.clone(), "The cat (sat).", &refs, 47.306_934_355_737_52);
        check(plus, "The cat (sat).", &refs, 44.119_513_788_120_73);
        check(chrf.clone(), "ab", &["abcdefg"], 26.760_563_380_281_69);
        check(eps.clone(), "ab", &["abcdefg"], 8.888_888_888_888_888);
        check(eps, "x", &["y"], 1.000_000_000_000_000_2e-14);
        check(chrf.clone(), "", &["a"], 0.0);
        check(Chrf { whitespace: true, ..chrf.clone() }, "a b", &["ab"], 45.454_545_454_545_45);
        check(Chrf { lowercase: true, word_order: 1, beta: 1.0, ..chrf }, "ÄB", &["äb"], 100.0);
    }

    #[test]
    fn first_of_equal_references() {
        let refs = ["b", "cc", "a"];
        let bigram = Chrf { char_order: 2, ..Chrf::default() };
        assert_eq!(row(&bigram, "x", &refs), [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn one_mark_leaves_a_word() {
        let tokens = |line| words(line).collect::<Vec<_>>();
        assert_eq!(
            tokens("(hi) a. .a ! .. é? ?é “x”"),
            ["(hi", ")", "a", ".", ".", "a", "!", ".", ".", "é", "?", "?", "é", "“x”"]
        );
    }
}
