//! BLEU to first order, for searches over paths: what a word and a match are worth, and which n-grams of the
//! references a growing text completes, in as few states as possible.

use super::{Bleu, COUNTS, HYP, REF};
use crate::Metric;
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
        let (mut limits, mut lengths) = (Limits::default(), Vec::new());
        for reference in references {
            let line = self.prepare(reference);
            let ids: Vec<u32> = split(&line).map(|word| words.intern(word)).collect();
            lengths.push(ids.len() as i64);
            limits.add(&mut tree, &ids);
        }
        let (states, limits) = (tree.resting(), limits.0);
        let mut slots = vec![0];
        slots.extend(limits.iter().scan(0, |sum, &limit| {
            *sum += limit;
            Some(*sum)
        }));
        let (orders, grams) = (Vec::new(), Vec::new());
        let (begun, endings) = (tree.begun(), tree.endings());
        let mut made = Matcher {
            bleu: self.clone(),
            tree,
            words,
            lengths,
            states,
            slots,
            orders,
            grams,
            begun,
            endings,
        };
        made.orders = made.orders();
        made.grams = made.grams();
        made
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
    /// Words of each reference.
    lengths: Vec<i64>,
    /// For each n-gram of the tree, the state that a text is in that ends with it.
    states: Vec<u32>,
    /// An n-gram has a slot for each time that it may count; its slots are from here up to the next's.
    slots: Vec<u32>,
    /// The slots of the n-grams of each order, a row of [`Used`] each.
    orders: Vec<u64>,
    /// The n-gram of each slot.
    grams: Vec<Gram>,
    /// Which n-grams some word comes before in a reference, within the longest order.
    begun: Vec<bool>,
    /// Each n-gram without its last word, and that word.
    endings: Vec<(u32, u32)>,
}

/// What is to be known of a text that gets words on both sides.
///
/// Words on its left can complete n-grams with its first words, as far as a reference n-gram could begin before them:
/// `left` is that n-gram. Texts with equal parts get the same matches from whatever is around them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Part {
    /// The n-gram of its first words; for a text that nothing comes before, the empty one.
    pub left: u32,
    /// Whether that is the whole text.
    pub whole: bool,
    /// The state after it.
    pub right: u32,
}

/// Which n-grams of the references a text has used up: a bit for each slot.
pub type Used = [u64];

/// An n-gram of the references that a text completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Gram {
    /// Number of words.
    pub order: u32,
    /// Its slots: from here
    from: u32,
    /// up to here.
    to: u32,
}

impl Gram {
    /// Uses a slot; false if none is left: the n-gram has counted as often as a reference has it.
    #[inline]
    pub fn take(self, used: &mut Used) -> bool {
        let word = self.from / 64;
        if self.to <= 64 * (word + 1) {
            // All slots are bits of one number, and they are taken from the lowest on.
            let all = (u64::MAX >> (64 - (self.to - self.from))) << (self.from % 64);
            let free = all & !used[word as usize];
            used[word as usize] |= free & free.wrapping_neg();
            return free != 0;
        }
        let free = (self.from..self.to).find(|&slot| used[slot as usize / 64] & (1 << (slot % 64)) == 0);
        if let Some(slot) = free {
            used[slot as usize / 64] |= 1 << (slot % 64);
        }
        free.is_some()
    }
}

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

    fn orders(&self) -> Vec<u64> {
        let width = self.used();
        let mut rows = vec![0; width * self.order()];
        for node in 1..self.tree.len() {
            for slot in self.slots[node]..self.slots[node + 1] {
                let row = (self.tree.depth(node as u32) - 1) * width;
                rows[row + slot as usize / 64] |= 1 << (slot % 64);
            }
        }
        rows
    }

    /// Appends words to a text in `state`: lists the n-grams that they complete and gives the state after them.
    pub fn walk(&self, mut state: u32, words: &[u32], grams: &mut Vec<Gram>) -> u32 {
        for &word in words {
            let node = if word == FOREIGN { 0 } else { self.tree.step(state, word) };
            // The tree has every n-gram of the references, so that all suffixes of a match are matches.
            let mut gram = node;
            while gram != 0 {
                let (from, to) = (self.slots[gram as usize], self.slots[gram as usize + 1]);
                grams.push(Gram { order: self.tree.depth(gram) as u32, from, to });
                gram = self.tree.shorter(gram);
            }
            state = self.states[node as usize];
        }
        state
    }

    /// An empty text, that words may come before or not.
    pub fn part(inner: bool) -> Part {
        Part { left: 0, whole: inner, right: 0 }
    }

    /// Appends words to a text, which may be inside of another: lists the n-grams that they complete.
    pub fn extend(&self, part: &mut Part, words: &[u32], grams: &mut Vec<Gram>) {
        for &word in words {
            part.right = self.walk(part.right, &[word], grams);
            self.grow(part, word);
        }
    }

    /// The first words of a text, one more known.
    fn grow(&self, part: &mut Part, word: u32) {
        if part.whole {
            let next = if word == FOREIGN { None } else { self.tree.child(part.left, word) };
            match next.filter(|&next| self.begun[next as usize]) {
                Some(next) => part.left = next,
                None => part.whole = false,
            }
        }
    }

    /// Appends a text whose own n-grams have been listed: lists those that begin before it.
    pub fn append(&self, part: &mut Part, next: Part, grams: &mut Vec<Gram>) {
        let (words, mut state) = (self.spelt(next.left), part.right);
        for (at, &word) in words.iter().enumerate() {
            let from = grams.len();
            state = self.walk(state, &[word], grams);
            // Those that begin inside are known already; longer ones come first.
            let crossing = grams[from..].iter().take_while(|gram| gram.order as usize > at + 1).count();
            grams.truncate(from + crossing);
        }
        part.right = if next.whole { state } else { next.right };
        for &word in &words {
            self.grow(part, word);
        }
        part.whole &= next.whole;
    }

    /// The words of an n-gram.
    fn spelt(&self, mut node: u32) -> Vec<u32> {
        let mut words = Vec::with_capacity(self.tree.depth(node));
        while node != 0 {
            let (before, word) = self.endings[node as usize];
            words.push(word);
            node = before;
        }
        words.reverse();
        words
    }

    /// Adds what another text has used up. Counts, by order, the n-grams for which no slot was left.
    pub fn merge(&self, used: &mut Used, other: &Used, clipped: &mut [u32]) {
        for (at, &bits) in other.iter().enumerate() {
            let mut left = bits;
            while left != 0 {
                let gram = self.grams[at * 64 + left.trailing_zeros() as usize];
                left &= left - 1;
                if !gram.take(used) {
                    clipped[gram.order as usize - 1] += 1;
                }
            }
        }
    }

    fn grams(&self) -> Vec<Gram> {
        let gram = |node: usize| {
            let (from, to) = (self.slots[node], self.slots[node + 1]);
            let order = self.tree.depth(node as u32) as u32;
            std::iter::repeat_n(Gram { order, from, to }, (to - from) as usize)
        };
        (0..self.slots.len() - 1).flat_map(gram).collect()
    }

    /// Number of statistics.
    pub fn width(&self) -> usize {
        self.bleu.width()
    }

    /// The statistics of a text: of its number of words and of what it has used up.
    pub fn statistics(&self, words: usize, used: &Used, row: &mut [f64]) {
        row[HYP] = words as f64;
        row[REF] = self.bleu.ref_length.of(&self.lengths, words as i64);
        for n in 0..self.order() {
            let own = &self.orders[n * used.len()..][..used.len()];
            let count: u32 = own.iter().zip(used).map(|(own, used)| (own & used).count_ones()).sum();
            row[COUNTS + n] = f64::from(count);
            row[COUNTS + self.order() + n] = words.saturating_sub(n) as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::RefLength;
    use super::*;
    use crate::Metric;
    use crate::tokenize::Tokenizer;
    use proptest::prelude::*;

    /// All windows of the text that are windows of a reference.
    fn slow(order: usize, text: &[String], references: &[Vec<String>]) -> Vec<u32> {
        let found = |gram: &[String]| references.iter().any(|r| r.windows(gram.len()).any(|w| w == gram));
        (1..=order).map(|n| text.windows(n).filter(|gram| found(gram)).count() as u32).collect()
    }

    /// How many n-grams of each order there are.
    fn counts(order: usize, grams: &[Gram]) -> Vec<u32> {
        (1..=order as u32).map(|n| grams.iter().filter(|gram| gram.order == n).count() as u32).collect()
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
            let (mut state, mut grams) = (0, Vec::new());
            for phrase in &phrases {
                state = matcher.walk(state, &matcher.words(&phrase.join(" ")), &mut grams);
                // States are worth their name: never a whole n-gram, never one that nothing continues.
                prop_assert!(matcher.tree.depth(state) < order && matcher.states[state as usize] == state);
            }
            prop_assert_eq!(counts(order, &grams), slow(order, &phrases.concat(), &references));
        }
    }

    proptest! {
        /// What n-grams use up, phrase by phrase, gives the statistics of the exact form.
        #[test]
        fn statistics_are_those_of_the_metric(
            references in prop::collection::vec(prop::collection::vec("[a-c]", 0..200), 1..3),
            phrases in prop::collection::vec(prop::collection::vec("[a-d]", 0..4), 0..80),
            order in 1usize..6,
            closest in any::<bool>(),
        ) {
            let ref_length = if closest { RefLength::Closest } else { RefLength::Average };
            let bleu = Bleu { order, ref_length, ..Bleu::default() };
            let lines: Vec<String> = references.iter().map(|r| r.join(" ")).collect();
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let matcher = bleu.matcher(&lines);
            let (mut state, mut used, mut taken) = (0, vec![0; matcher.used()], vec![0.0; order]);
            for phrase in &phrases {
                let mut grams = Vec::new();
                state = matcher.walk(state, &matcher.words(&phrase.join(" ")), &mut grams);
                for gram in grams {
                    taken[gram.order as usize - 1] += f64::from(u8::from(gram.take(&mut used)));
                }
            }
            let text = phrases.concat();
            let (mut want, mut row) = (vec![0.0; bleu.width()], vec![9.0; bleu.width()]);
            bleu.digest(&lines).statistics(&text.join(" "), &mut want);
            matcher.statistics(text.len(), &used, &mut row);
            prop_assert_eq!(&taken[..], &want[COUNTS..COUNTS + order]);
            prop_assert_eq!(row, want);
        }
    }

    /// Words and texts put together in any order, as a tree does it, list each match once and use up the same.
    fn joined(
        matcher: &Matcher,
        words: &[String],
        inner: bool,
        cuts: &[usize],
    ) -> (Part, Vec<Gram>, Vec<u64>) {
        let (mut part, mut grams, mut used) = (Matcher::part(inner), Vec::new(), vec![0; matcher.used()]);
        let mut clipped = vec![0; matcher.order()];
        let Some((&cut, rest)) = cuts.split_first().filter(|_| words.len() > 1) else {
            for word in words {
                matcher.extend(&mut part, &matcher.words(word), &mut grams);
            }
            for gram in &grams {
                gram.take(&mut used);
            }
            return (part, grams, used);
        };
        let (from, to) =
            (cut % words.len(), cut % words.len() + (cut / 7) % (words.len() - cut % words.len()));
        // A text inside: words before it, the text, words after it.
        for word in &words[..from] {
            matcher.extend(&mut part, &matcher.words(word), &mut grams);
        }
        let (middle, mut below, taken) = joined(matcher, &words[from..to], true, rest);
        matcher.append(&mut part, middle, &mut grams);
        for word in &words[to..] {
            matcher.extend(&mut part, &matcher.words(word), &mut grams);
        }
        for gram in &grams {
            gram.take(&mut used);
        }
        matcher.merge(&mut used, &taken, &mut clipped);
        grams.append(&mut below);
        (part, grams, used)
    }

    proptest! {
        #[test]
        fn a_text_from_the_inside_is_the_text_from_the_left(
            references in prop::collection::vec(prop::collection::vec("[a-c]", 0..9), 1..3),
            words in prop::collection::vec("[a-d]", 0..12),
            cuts in prop::collection::vec(0usize..500, 0..4),
            order in 1usize..6,
        ) {
            let lines: Vec<String> = references.iter().map(|r| r.join(" ")).collect();
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let matcher = Bleu { order, ..Bleu::default() }.matcher(&lines);
            let (plain, grams, used) = joined(&matcher, &words, false, &[]);
            let (part, inside, taken) = joined(&matcher, &words, false, &cuts);
            prop_assert_eq!(counts(order, &inside), counts(order, &grams));
            prop_assert_eq!(&taken, &used);
            prop_assert_eq!(part.right, plain.right);
            // What is known of a text depends on the text alone.
            let (inner, ..) = joined(&matcher, &words, true, &cuts);
            prop_assert_eq!(inner, joined(&matcher, &words, true, &[]).0);
        }
    }

    #[test]
    fn words_are_compared_as_the_metric_does() {
        let matcher = Bleu { order: 2, lowercase: true, ..Bleu::default() }.matcher(&["Ein Haus"]);
        let mut found = Vec::new();
        matcher.walk(0, &matcher.words("EIN  haus hoch"), &mut found);
        assert_eq!((counts(2, &found), matcher.order()), (vec![2, 1], 2));
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
