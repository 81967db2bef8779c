//! Fragments of sentences whose left context is not known yet: scored as far as they can be, exact once it is.
//!
//! A [`Fringe`] is all that matters of a fragment when others are put before and behind it: the words at its left edge
//! whose probability may still change, and the node of the automaton at its right edge. [`Fringes`] numbers the left
//! edges of one sentence, so that a fringe is eight bytes and equal fringes have equal futures.
//!
//! Let w1..wk be the fragment, a(i) the node after its first i words with nothing before them, and c(i) the node after
//! them with a context before. Both are the longest ending of what was read that is a node, so a(i) is c(i) or on the
//! way down its suffixes. A left edge is the longest w1..wi all of whose beginnings some n-gram extends to the left
//! ([`Extended`]). No n-gram reaches from the context to w(i + 1): its probability is that after a(i), and the back-off
//! weights from c(i) down to a(i), and from there on nothing depends on the context. A fragment that is nothing but its
//! left edge is open: what is put behind it may make its left edge longer.

mod extended;
#[cfg(test)]
mod tests;

pub use extended::Extended;

use crate::model::{Model, State};
use extended::hash;

/// Both edges of a fragment. It means something only to the [`Fringes`] that gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Fringe {
    /// Twice the number of the left edge; one more if the fragment is longer than that, or might as well be.
    left: u32,
    right: State,
}

impl Fringe {
    /// The fringe as bytes, for recombination.
    #[inline]
    pub fn to_bytes(self) -> [u8; 8] {
        (u64::from(self.left) << 32 | u64::from(self.right.0)).to_le_bytes()
    }

    /// The fringe that [`Fringe::to_bytes`] gave.
    #[inline]
    pub fn from_bytes(bytes: [u8; 8]) -> Self {
        let both = u64::from_le_bytes(bytes);
        Self { left: (both >> 32) as u32, right: State(both as u32) }
    }

    fn closed(self) -> bool {
        self.left & 1 == 1
    }

    fn prefix(self) -> u32 {
        self.left >> 1
    }

    fn is_empty(self) -> bool {
        self.left == 0
    }
}

/// A beginning of fragments.
#[derive(Debug, Clone, Copy)]
struct Prefix {
    /// The beginning without its last word.
    parent: u32,
    /// Its last word.
    word: u32,
    /// Log probability of the last word after the others, with nothing before them; of a first word that a context will
    /// change, what that will be on the average.
    log: f32,
    /// The node after it, with nothing before it.
    node: State,
    length: u8,
    /// Whether some n-gram extends it to the left.
    extends: bool,
    hash: u64,
}

/// What two fringes gave.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    /// Both, plus one: 0 is nobody's.
    key: u64,
    log: f32,
    left: u32,
    node: State,
}

/// Scores fragments of one sentence.
#[derive(Debug)]
pub struct Fringes<'m> {
    model: &'m Model,
    extended: &'m Extended,
    prefixes: Vec<Prefix>,
    /// Open addressing: a prefix and a word give the number of a longer prefix; 0 is an empty slot.
    children: Vec<(u64, u32)>,
    /// What was joined before. A pair that falls on the place of another takes it.
    memo: Vec<Known>,
    /// The words that are being appended.
    work: Vec<u32>,
    longest: u8,
}

impl<'m> Fringes<'m> {
    /// For one sentence, with room for about `memory` pairs of fringes that were joined.
    pub fn new(model: &'m Model, extended: &'m Extended, memory: usize) -> Self {
        let root =
            Prefix { parent: 0, word: 0, log: 0.0, node: model.empty(), length: 0, extends: true, hash: 0 };
        Self {
            model,
            extended,
            prefixes: vec![root],
            children: vec![(0, 0); 1 << 10],
            memo: vec![Known::default(); memory.next_power_of_two()],
            work: Vec::new(),
            longest: u8::try_from(model.order() - 1).unwrap_or(u8::MAX),
        }
    }

    /// A fragment without words.
    pub fn empty(&self) -> Fringe {
        Fringe::default()
    }

    /// The start of a sentence: nothing comes before it.
    pub fn start(&self) -> Fringe {
        Fringe { left: 1, right: self.model.start() }
    }

    /// Puts a word (the model's id) behind a fragment: its log probability as far as it is known, and the new fringe.
    pub fn push(&mut self, fringe: Fringe, word: u32) -> (f32, Fringe) {
        if fringe.closed() {
            let (log, right) = self.model.score(&fringe.right, word);
            return (log, Fringe { right, ..fringe });
        }
        let child = self.child(fringe.prefix(), word);
        let Prefix { log, node, extends, length, .. } = self.prefixes[child as usize];
        let left = if extends { child << 1 | u32::from(length >= self.longest) } else { fringe.left | 1 };
        (log, Fringe { left, right: node })
    }

    /// Puts a fragment behind another: what the log probability of both together is above the sum of theirs, and the
    /// fringe of both.
    #[inline]
    pub fn join(&mut self, first: Fringe, second: Fringe) -> (f32, Fringe) {
        if first.is_empty() {
            return (0.0, second);
        }
        if second.is_empty() {
            return (0.0, first);
        }
        // The number of a node says all of a closed fragment; that of an open one is its left edge.
        let before = if first.closed() { first.right.0 } else { first.prefix() };
        let key = u64::from(first.closed()) << 63 | u64::from(before) << 32 | u64::from(second.left);
        let row = u64::from(before).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let place = (row as u32).wrapping_add(second.left) as usize & (self.memo.len() - 1);
        let mut known = self.memo[place];
        if known.key != key + 1 {
            known = Known { key: key + 1, ..self.meet(first, second) };
            self.memo[place] = known;
        }
        let left = if first.closed() { first.left } else { known.left };
        (known.log, Fringe { left, right: if second.closed() { second.right } else { known.node } })
    }

    /// Log probability of the sentence's end behind a fragment.
    pub fn finish(&self, fringe: Fringe) -> f32 {
        self.model.score(&fringe.right, crate::EOS).0
    }

    fn meet(&mut self, first: Fringe, second: Fringe) -> Known {
        let mut work = std::mem::take(&mut self.work);
        work.clear();
        let mut at = second.prefix();
        while at > 0 {
            work.push(at);
            at = self.prefixes[at as usize].parent;
        }
        let (mut sum, mut fringe) = (0.0, first);
        for &prefix in work.iter().rev() {
            let Prefix { word, log: alone, .. } = self.prefixes[prefix as usize];
            let (log, next) = self.push(fringe, word);
            sum += log - alone;
            fringe = next;
        }
        self.work = work;
        let own = self.prefixes[second.prefix() as usize].node;
        let mut node = fringe.right;
        while second.closed() && node != own && node != self.model.empty() {
            let (backoff, suffix) = self.model.fall(node);
            sum += backoff;
            node = suffix;
        }
        Known { key: 0, log: sum, left: fringe.left | (second.left & 1), node }
    }

    /// A beginning and one more word.
    fn child(&mut self, prefix: u32, word: u32) -> u32 {
        let key = u64::from(prefix) << 32 | u64::from(word);
        let place = |size: usize| dragoman_base::hash::place(dragoman_base::hash::mix(key), size);
        let mut at = place(self.children.len());
        while self.children[at].1 != 0 {
            if self.children[at].0 == key {
                return self.children[at].1;
            }
            at = if at + 1 == self.children.len() { 0 } else { at + 1 };
        }
        let number = self.prefixes.len() as u32;
        self.children[at] = (key, number);
        let child = self.make(prefix, word);
        self.prefixes.push(child);
        if self.prefixes.len() * 2 > self.children.len() {
            self.grow();
        }
        number
    }

    fn make(&self, parent: u32, word: u32) -> Prefix {
        let before = self.prefixes[parent as usize];
        let (log, node) = self.model.score(&before.node, word);
        let hash = hash(before.hash, word);
        // The n-gram itself, if it is one, and else its words, which an n-gram without this ending may have.
        let whole = self.model.length(before.node) == usize::from(before.length);
        let known = whole.then(|| self.extended.find(self.model, before.node, word)).flatten();
        let extends = known.unwrap_or_else(|| self.extended.lacks(hash));
        // Any value is right here, since what a context makes of the word is counted from it: the nearer to that, the
        // better do fragments compare.
        let log = if extends && parent == 0 { self.extended.marginal(word) } else { log };
        Prefix { parent, word, log, node, length: before.length.saturating_add(1), extends, hash }
    }

    fn grow(&mut self) {
        let size = self.children.len() * 2;
        let old = std::mem::replace(&mut self.children, vec![(0, 0); size]);
        for (key, number) in old.into_iter().filter(|&(_, number)| number != 0) {
            let mut at = dragoman_base::hash::place(dragoman_base::hash::mix(key), size);
            while self.children[at].1 != 0 {
                at = if at + 1 == size { 0 } else { at + 1 };
            }
            self.children[at] = (key, number);
        }
    }
}
