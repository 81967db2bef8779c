//! Which n-grams of the references a growing text completes, in as few states as possible: what a search that
//! counts matches has to remember about the words behind it.

use crate::bleu::Bleu;
use crate::ngrams::{NgramTree, Words};
use crate::tokenize::{Tokenizer, split};

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
}

impl Matcher {
    /// For some references; None if the metric's tokens are not the words between blanks.
    pub fn new(bleu: &Bleu, references: &[&str]) -> Option<Self> {
        if bleu.tokenizer != Tokenizer::None {
            return None;
        }
        let (mut tree, mut words) = (NgramTree::new(bleu.order), Words::default());
        for reference in references {
            let line = bleu.prepare(reference);
            let ids: Vec<u32> = split(&line).map(|word| words.intern(word)).collect();
            tree.add(&ids, |_| ());
        }
        let states = tree.resting();
        Some(Self { bleu: bleu.clone(), tree, words, states })
    }

    /// Longest n-gram that counts.
    pub fn order(&self) -> usize {
        self.bleu.order
    }

    /// The words of a phrase, as [`Matcher::walk`] takes them.
    pub fn words(&self, phrase: &str) -> Vec<u32> {
        let line = self.bleu.prepare(phrase);
        split(&line).map(|word| self.words.get(word).unwrap_or(FOREIGN)).collect()
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
    use crate::bleu::{RefLength, Smoothing};
    use proptest::prelude::*;

    fn bleu(order: usize, lowercase: bool) -> Bleu {
        Bleu {
            order,
            tokenizer: Tokenizer::None,
            lowercase,
            ref_length: RefLength::Closest,
            smoothing: Smoothing::None,
            effective_order: false,
            length_scale: 1.0,
            length_offset: 0.0,
        }
    }

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
            let matcher = Matcher::new(&bleu(order, false), &lines).unwrap();
            let (mut state, mut found) = (0, vec![0; order]);
            for phrase in &phrases {
                state = matcher.walk(state, &matcher.words(&phrase.join(" ")), &mut found);
                // States are worth their name: never a whole n-gram, never one that nothing continues.
                prop_assert!(matcher.tree.depth(state) < order && matcher.states[state as usize] == state);
            }
            prop_assert_eq!(found, slow(order, &phrases.concat(), &references));
        }
    }

    #[test]
    fn words_are_compared_as_the_metric_does() {
        let matcher = Matcher::new(&bleu(2, true), &["Ein Haus"]).unwrap();
        let mut found = [0; 2];
        matcher.walk(0, &matcher.words("EIN  haus hoch"), &mut found);
        assert_eq!((found, matcher.order()), ([2, 1], 2));
        let other = Bleu { tokenizer: Tokenizer::V13a, ..bleu(4, false) };
        assert!(Matcher::new(&other, &["a"]).is_none());
    }
}
