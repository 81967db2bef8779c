//! BLEU to first order, for searches over paths: what a word and a match are worth, and which n-grams of the
//! references a growing text completes, in as few states as possible.

use super::{Bleu, COUNTS, HYP};
use crate::capability::Linear;
use crate::ngrams::{Limits, NgramTree, Words};
use crate::tokenize::split;

impl Linear for Bleu {
    fn order(&self) -> usize {
        self.order
    }

    fn slopes(&self, row: &[f64]) -> Vec<f64> {
        let (order, score) = (self.order, self.exact(row));
        let mut longer = row.to_vec();
        longer[HYP] += 1.0;
        longer[COUNTS + order..].iter_mut().for_each(|total| *total += 1.0);
        let mut slopes = vec![self.exact(&longer) - score];
        slopes.extend((0..order).map(|n| {
            let mut better = row.to_vec();
            better[COUNTS + n] += 1.0;
            self.exact(&better) - score
        }));
        slopes
    }

    fn value(&self, slopes: &[f64], row: &[f64]) -> f64 {
        let matches = slopes[1..].iter().zip(&row[COUNTS..]).map(|(slope, count)| slope * count);
        slopes[0] * row[HYP] + matches.sum::<f64>()
    }

    fn matcher(&self, references: &[&str]) -> Matcher {
        let (mut tree, mut words) = (NgramTree::new(self.order), Words::default());
        let mut limits = Limits::default();
        for reference in references {
            let line = self.prepare(reference);
            let ids: Vec<u32> = split(&line).map(|word| words.intern(word)).collect();
            limits.add(&mut tree, &ids);
        }
        let (states, limits) = (tree.resting(), limits.0);
        let mut slots = vec![0];
        slots.extend(limits.iter().scan(0, |sum, &limit| {
            *sum += limit;
            Some(*sum)
        }));
        Matcher { bleu: self.clone(), tree, words, states, slots }
    }
}

/// A word that no reference has.
const FOREIGN: u32 = u32::MAX;

/// The n-grams of one sentence's references as an automaton. State 0 is the start.
///
/// A state is the longest suffix of the text that a reference n-gram could still continue: texts in the same state
/// get the same matches from whatever follows.
pub struct Matcher {
    bleu: Bleu,
    tree: NgramTree,
    words: Words,
    /// For each n-gram of the tree, the state that a text is in that ends with it.
    states: Vec<u32>,
    /// An n-gram has a slot for each time that it may count; its slots are from here up to the next's.
    slots: Vec<u32>,
}

/// Which n-grams of the references a text has used up: a bit for each slot.
pub type Used = [u64];

impl Matcher {
    /// Longest n-gram that counts.
    pub fn order(&self) -> usize {
        self.bleu.order
    }

    /// The words of a phrase, as [`Matcher::walk`] takes them.
    pub fn words(&self, phrase: &str) -> Vec<u32> {
        let line = self.bleu.prepare(phrase);
        split(&line).map(|word| self.words.get(word).unwrap_or(FOREIGN)).collect()
    }

    /// Numbers that [`Used`] takes.
    pub fn used(&self) -> usize {
        (self.slots.last().map_or(0, |&count| count as usize)).div_ceil(64)
    }

    /// Uses a slot of an n-gram; false if none is left.
    fn take(&self, node: u32, used: &mut Used) -> bool {
        let free = (self.slots[node as usize]..self.slots[node as usize + 1])
            .find(|&slot| used[slot as usize / 64] & (1 << (slot % 64)) == 0);
        if let Some(slot) = free {
            used[slot as usize / 64] |= 1 << (slot % 64);
        }
        free.is_some()
    }

    /// As [`Matcher::walk`], but n-grams count no more often than a reference has them: `used` says which the text has
    /// already, and then which it has with these words.
    pub fn walk_clipped(&self, mut state: u32, words: &[u32], used: &mut Used, matches: &mut [u32]) -> u32 {
        for &word in words {
            let node = if word == FOREIGN { 0 } else { self.tree.step(state, word) };
            let mut gram = node;
            while gram != 0 {
                matches[self.tree.depth(gram) - 1] += u32::from(self.take(gram, used));
                gram = self.tree.shorter(gram);
            }
            state = self.states[node as usize];
        }
        state
    }

    /// Appends words to a text in `state`: adds the n-grams that they complete to `matches` (those of order 1 first),
    /// unclipped, and gives the state after them.
    pub fn walk(&self, mut state: u32, words: &[u32], matches: &mut [u32]) -> u32 {
        for &word in words {
            let node = if word == FOREIGN { 0 } else { self.tree.step(state, word) };
            // The tree has every n-gram of the references, so that all suffixes of a match are matches.
            matches[..self.tree.depth(node)].iter_mut().for_each(|count| *count += 1);
            state = self.states[node as usize];
        }
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metric;
    use crate::tokenize::Tokenizer;
    use proptest::prelude::*;

    /// All windows of the text that are windows of a reference.
    fn slow(order: usize, text: &[String], references: &[Vec<String>]) -> Vec<u32> {
        let found = |gram: &[String]| references.iter().any(|r| r.windows(gram.len()).any(|w| w == gram));
        (1..=order).map(|n| text.windows(n).filter(|gram| found(gram)).count() as u32).collect()
    }

    proptest! {
        #[test]
        fn matches_are_those_of_all_windows(
            references in prop::collection::vec(prop::collection::vec("[a-c]", 0..9), 1..3),
            phrases in prop::collection::vec(prop::collection::vec("[a-d]", 0..4), 0..6),
            order in 1usize..6,
        ) {
            let lines: Vec<String> = references.iter().map(|r| r.join(" ")).collect();
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let matcher = Bleu { order, ..Bleu::default() }.matcher(&lines);
            let (mut state, mut found) = (0, vec![0; order]);
            for phrase in &phrases {
                state = matcher.walk(state, &matcher.words(&phrase.join(" ")), &mut found);
                // States are worth their name: never a whole n-gram, never one that nothing continues.
                prop_assert!(matcher.tree.depth(state) < order && matcher.states[state as usize] == state);
            }
            prop_assert_eq!(found, slow(order, &phrases.concat(), &references));
        }
    }

    proptest! {
        /// Clipped matches, phrase by phrase, are those of the exact form.
        #[test]
        fn clipped_matches_are_those_of_the_metric(
            references in prop::collection::vec(prop::collection::vec("[a-c]", 0..30), 1..3),
            phrases in prop::collection::vec(prop::collection::vec("[a-d]", 0..4), 0..12),
            order in 1usize..6,
        ) {
            let bleu = Bleu { order, ..Bleu::default() };
            let lines: Vec<String> = references.iter().map(|r| r.join(" ")).collect();
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let matcher = bleu.matcher(&lines);
            let (mut state, mut found, mut used) = (0, vec![0; order], vec![0; matcher.used()]);
            let (mut free, mut unclipped) = (0, vec![0; order]);
            for phrase in &phrases {
                let words = matcher.words(&phrase.join(" "));
                state = matcher.walk_clipped(state, &words, &mut used, &mut found);
                free = matcher.walk(free, &words, &mut unclipped);
                prop_assert_eq!(state, free);
            }
            let mut row = vec![0.0; bleu.width()];
            bleu.digest(&lines).statistics(&phrases.concat().join(" "), &mut row);
            let found: Vec<f64> = found.into_iter().map(f64::from).collect();
            prop_assert_eq!(&found[..], &row[COUNTS..COUNTS + order]);
        }
    }

    #[test]
    fn words_are_compared_as_the_metric_does() {
        let matcher = Bleu { order: 2, lowercase: true, ..Bleu::default() }.matcher(&["Ein Haus"]);
        let mut found = [0; 2];
        matcher.walk(0, &matcher.words("EIN  haus hoch"), &mut found);
        assert_eq!((found, matcher.order()), ([2, 1], 2));
        let other = Bleu { tokenizer: Tokenizer::V13a, ..Bleu::default() };
        assert!(Bleu::default().linear().is_some() && other.linear().is_none());
    }

    #[test]
    fn slopes_are_derivatives_of_large_sums() {
        for hyp in [9000.0, 12000.0] {
            let row =
                [hyp, 10_000.0, 6000.0, 3500.0, 2000.0, 1200.0, hyp, hyp - 500.0, hyp - 1e3, hyp - 1.5e3];
            let (metric, found) = (Bleu::default(), Bleu::default().slopes(&row));
            let score = metric.score(&row);
            let brevity = if hyp < 1e4 { 1e4 / (hyp * hyp) } else { 0.0 };
            let word = score * (brevity - row[6..].iter().map(|total| 0.25 / total).sum::<f64>());
            let matches = row[2..6].iter().map(|count| 0.25 * score / count);
            for (found, want) in found.iter().zip(std::iter::once(word).chain(matches)) {
                assert!((found - want).abs() < 1e-5, "{found} {want}");
            }
        }
    }
}
