//! Which n-grams are endings of longer ones.

use crate::model::{Model, State};
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// One bit for each of many places, set by any thread.
#[derive(Debug)]
struct Bits(Vec<AtomicU64>);

impl Bits {
    fn new(count: usize) -> Self {
        Self((0..count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    fn set(&self, place: usize) {
        self.0[place / 64].fetch_or(1 << (place % 64), Ordering::Relaxed);
    }

    #[inline]
    fn get(&self, place: usize) -> bool {
        self.0[place / 64].load(Ordering::Relaxed) >> (place % 64) & 1 == 1
    }
}

/// Hash of words: that of all but the last, and the last.
pub fn hash(before: u64, word: u32) -> u64 {
    dragoman_base::hash::mix(before.wrapping_add(u64::from(word) + 1))
}

/// For each n-gram of a model, whether a longer one ends with it.
///
/// One pass over the tables when a system is opened; a bit an n-gram. Endings that are no n-grams themselves are known
/// by hashes: should two have the same, a left edge is longer than it need be, and no score is wrong.
#[derive(Debug)]
pub struct Extended {
    words: Bits,
    edges: Bits,
    lacking: HashSet<u64>,
}

impl Extended {
    /// Looks at all n-grams, on all cores.
    pub fn new(model: &Model) -> Self {
        let made = Self {
            words: Bits::new(model.words()),
            edges: Bits::new(model.edge_places()),
            lacking: HashSet::new(),
        };
        let lacking = Mutex::new(Vec::new());
        model.each_edge(|node, word, _| {
            if !made.mark(model, node, word) {
                lacking.lock().expect("no panic while locked").push((node, word));
            }
        });
        let lacking = lacking.into_inner().expect("no panic while locked");
        if lacking.is_empty() { made } else { made.with_lacking(model, &lacking) }
    }

    /// Marks an n-gram without its first word; false if that is no n-gram.
    fn mark(&self, model: &Model, node: State, word: u32) -> bool {
        let (length, (_, suffix)) = (model.length(node), model.fall(node));
        if length == 1 {
            self.words.set(word as usize);
            return true;
        }
        let place = (model.length(suffix) + 1 == length).then(|| model.edge(suffix, word)).flatten();
        place.inspect(|&place| self.edges.set(place)).is_some()
    }

    /// Files the endings of some n-grams whose next ending is none.
    fn with_lacking(mut self, model: &Model, some: &[(State, u32)]) -> Self {
        let parents = parents(model);
        let mut words = Vec::new();
        for &(mut node, word) in some {
            words.clear();
            words.push(word);
            while node != model.empty() {
                let (parent, last) = parents[node.0 as usize];
                words.push(last);
                node = parent;
            }
            words.reverse();
            for first in 1..words.len() {
                if let Some(place) = place(model, &words[first..]) {
                    place.map_or_else(|| self.words.set(word as usize), |place| self.edges.set(place));
                    break; // it has marked its own ending
                }
                self.lacking.insert(words[first..].iter().fold(0, |sum, &word| hash(sum, word)));
            }
        }
        self
    }

    /// Whether a longer n-gram ends with that of a node and a word; none if these are no n-gram.
    pub(super) fn find(&self, model: &Model, node: State, word: u32) -> Option<bool> {
        if node == model.empty() {
            return Some(self.words.get(word as usize));
        }
        model.edge(node, word).map(|place| self.edges.get(place))
    }

    /// Whether an n-gram ends with words that are no n-gram, by their hash.
    pub(super) fn lacks(&self, hash: u64) -> bool {
        !self.lacking.is_empty() && self.lacking.contains(&hash)
    }
}

/// The place of an n-gram, none inside for a single word; nothing if it is none.
fn place(model: &Model, words: &[u32]) -> Option<Option<usize>> {
    let (last, context) = words.split_last()?;
    let mut node = model.empty();
    for (length, &word) in context.iter().enumerate() {
        node = model.score(&node, word).1;
        if model.length(node) != length + 1 {
            return None;
        }
    }
    if context.is_empty() { Some(None) } else { model.edge(node, *last).map(Some) }
}

/// For each node the one without its last word, and that word.
fn parents(model: &Model) -> Vec<(State, u32)> {
    let all: Vec<AtomicU64> = (0..model.nodes()).map(|_| AtomicU64::new(0)).collect();
    let note = |node: State, word: u32, next: State| {
        if model.length(next) == model.length(node) + 1 {
            let both = u64::from(node.0) << 32 | u64::from(word);
            all[next.0 as usize].store(both, Ordering::Relaxed);
        }
    };
    for word in 0..model.words() as u32 {
        note(model.empty(), word, model.score(&model.empty(), word).1);
    }
    model.each_edge(note);
    all.into_iter().map(AtomicU64::into_inner).map(|both| (State((both >> 32) as u32), both as u32)).collect()
}
