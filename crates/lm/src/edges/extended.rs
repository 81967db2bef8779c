//! Which n-grams are endings of longer ones.

use crate::model::{Model, State};
use crate::words::{BOS, EOS};
use std::collections::HashSet;
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
    marginals: Vec<f32>,
    words: Bits,
    edges: Bits,
    lacking: HashSet<u64>,
}

impl Extended {
    /// Looks at all n-grams, on all cores.
    pub fn new(model: &Model) -> Self {
        let made = Self {
            marginals: marginals(model),
            words: Bits::new(model.words()),
            edges: Bits::new(model.edge_places()),
            lacking: HashSet::new(),
        };
        let lacking =
            model.each_edge(|node, word, _| (!made.mark(model, node, word)).then_some((node, word)));
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
                // An n-gram has marked its own ending.
                match place(model, &words[first..]) {
                    Some(Place::Word) => self.words.set(word as usize),
                    Some(Place::Edge(place)) => self.edges.set(place),
                    None => {
                        self.lacking.insert(words[first..].iter().fold(0, |sum, &word| hash(sum, word)));
                        continue;
                    }
                }
                break;
            }
        }
        self
    }

    /// Log probability of a word whatever stands before it.
    pub(super) fn marginal(&self, word: u32) -> f32 {
        self.marginals[word as usize]
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

/// Where an n-gram is.
enum Place {
    Word,
    Edge(usize),
}

/// The place of an n-gram; none if it is none.
fn place(model: &Model, words: &[u32]) -> Option<Place> {
    let (last, context) = words.split_last()?;
    let mut node = model.empty();
    for (length, &word) in context.iter().enumerate() {
        node = model.score(&node, word).1;
        if model.length(node) != length + 1 {
            return None;
        }
    }
    if context.is_empty() { Some(Place::Word) } else { model.edge(node, *last).map(Place::Edge) }
}

/// For each node the one without its last word, and that word.
fn parents(model: &Model) -> Vec<(State, u32)> {
    let mut all = vec![(model.empty(), 0); model.nodes()];
    let longer = |node: State, word: u32, next: State| {
        (model.length(next) == model.length(node) + 1).then_some((next, (node, word)))
    };
    let words = (0..model.words() as u32)
        .filter_map(|word| longer(model.empty(), word, model.score(&model.empty(), word).1));
    for (next, parent) in words.chain(model.each_edge(longer)) {
        if let Some(place) = all.get_mut(next.0 as usize) {
            *place = parent; // a damaged table may name nodes that it lacks
        }
    }
    all
}

/// Rounds after which marginal probabilities hardly change.
const ROUNDS: usize = 8;

/// The marginal log probability of each word in running text of the bigram part of a model: p(w) = sum over v of
/// p(v) p(w | v).
///
/// A model has this nowhere: its unigrams are made for words that bigrams do not foresee, and call frequent words with few
/// left neighbours rare. As estimates of what the first word of a fragment will cost they mislead pruning (Heafield,
/// Koehn & Lavie 2012).
fn marginals(model: &Model) -> Vec<f32> {
    let ids = 0..model.words() as u32;
    let alone: Vec<(f32, State)> = ids.map(|word| model.score(&model.empty(), word)).collect();
    let lone: Vec<f64> = alone.iter().map(|&(log, _)| f64::from(log).exp()).collect();
    let backoff = |&(_, node): &(f32, State)| {
        if node == model.empty() { 1.0 } else { f64::from(model.fall(node).0).exp() }
    };
    let backoffs: Vec<f64> = alone.iter().map(backoff).collect();
    let pairs = bigrams(model, &alone);
    let mut found = lone.clone();
    for _ in 0..ROUNDS {
        found[BOS as usize] = found[EOS as usize];
        let end = std::mem::take(&mut found[EOS as usize]); // nothing follows it
        let total: f64 = found.iter().sum();
        let share: Vec<f64> = found.iter().map(|p| p / total).collect();
        let rest: f64 = share.iter().zip(&backoffs).map(|(p, backoff)| p * backoff).sum();
        let mut next: Vec<f64> = lone.iter().map(|p| p * rest).collect();
        for &(first, second, probability) in &pairs {
            let (first, second) = (first as usize, second as usize);
            next[second] += share[first] * (probability - backoffs[first] * lone[second]);
        }
        found = next;
        found[EOS as usize] = found[EOS as usize].max(end * 1e-3);
    }
    let log = |(p, &(log, _)): (&f64, &(f32, State))| if *p > 0.0 { p.ln() as f32 } else { log };
    found.iter().zip(&alone).map(log).collect()
}

/// All bigrams with their probabilities, in an order that does not depend on threads.
fn bigrams(model: &Model, alone: &[(f32, State)]) -> Vec<(u32, u32, f64)> {
    let mut words = vec![u32::MAX; model.nodes()];
    for (word, &(_, node)) in (0..).zip(alone).filter(|(_, (_, node))| *node != model.empty()) {
        if let Some(place) = words.get_mut(node.0 as usize) {
            *place = word; // a damaged table may name nodes that it lacks
        }
    }
    model.each_edge(|node, word, _| {
        let probability = || f64::from(model.score(&node, word).0).exp();
        let first = words[node.0 as usize];
        (model.length(node) == 1 && first != u32::MAX).then(|| (first, word, probability()))
    })
}
