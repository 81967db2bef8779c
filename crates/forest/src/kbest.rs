//! K-best derivations, lazily (Huang & Chiang 2005, algorithm 3): the next best derivation of a node is made when it is
//! asked for, and is always one of a few candidates.
//!
//! Where strings must differ, every node lists each string once, by its best derivation: whatever is around it, a worse
//! one with the same words makes the same string and stays worse. So copies are dropped where they arise, long before
//! their number explodes; their successors are still made. Strings are told apart by 61-bit hashes of their words.

use crate::derivation::Derivation;
use crate::forest::{Forest, TAIL, span};
use rustc_hash::FxHashSet;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A hash of words that is made from those of its parts: a polynomial modulo 2^61 - 1, and the base to the power of
/// the number of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hash {
    sum: u64,
    power: u64,
}

const PRIME: u64 = (1 << 61) - 1;
const BASE: u64 = 0x0b4f_37c2_91ad_5e77;

fn times(a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(PRIME)) as u64
}

impl Hash {
    const EMPTY: Self = Self { sum: 0, power: 1 };

    fn then(self, next: Self) -> Self {
        let sum = (times(self.sum, next.power) + next.sum) % PRIME;
        Self { sum, power: times(self.power, next.power) }
    }

    fn word(word: u32) -> Self {
        let mut mixed = (u64::from(word) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        Self { sum: (mixed ^ mixed >> 32) % PRIME, power: BASE }
    }
}

/// A derivation of a node: an edge, and which derivation of each tail it has.
#[derive(Debug, Clone, Copy)]
struct Entry {
    score: f64,
    hash: Hash,
    edge: u32,
    /// Where the ranks of its tails are.
    ranks: u32,
    /// Of equals the one that was met first comes first.
    order: u32,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        let place = |entry: &Self| (entry.edge, entry.order);
        self.score.total_cmp(&other.score).then_with(|| place(other).cmp(&place(self)))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

#[derive(Debug, Default)]
struct List {
    found: Vec<Entry>,
    heap: BinaryHeap<Entry>,
    started: bool,
    /// What was taken from the heap last, while its successors are still to be made: from this tail on.
    pending: Option<(Entry, usize)>,
    /// Hashes of the strings found, if they must differ.
    seen: FxHashSet<u64>,
    count: u32,
}

/// The derivations of a forest, best first.
#[derive(Debug)]
pub struct Kbest<'f> {
    forest: &'f Forest,
    scores: &'f [f64],
    starts: Vec<u32>,
    distinct: bool,
    /// Score and hash of the best derivation of each node.
    best: Vec<(f64, Hash)>,
    lists: Vec<List>,
    ranks: Vec<u32>,
    given: usize,
}

impl<'f> Kbest<'f> {
    /// Gets ready; nothing is enumerated yet. `scores` are the edges'; `distinct` strings, or all derivations.
    pub fn new(forest: &'f Forest, scores: &'f [f64], distinct: bool) -> Self {
        let (starts, nodes) = (forest.starts(), forest.nodes as usize);
        let lists = (0..nodes).map(|_| List::default()).collect();
        let (best, ranks) = (Vec::with_capacity(nodes), Vec::new());
        let mut made = Self { forest, scores, starts, distinct, best, lists, ranks, given: 0 };
        for node in 0..forest.nodes {
            let firsts = span(&made.starts, node).map(|edge| made.first(edge as u32));
            let best =
                firsts.max().map_or((f64::NEG_INFINITY, Hash::EMPTY), |entry| (entry.score, entry.hash));
            made.best.push(best);
        }
        made
    }

    /// The best derivation with an edge; its ranks are still to be filed.
    fn first(&self, edge: u32) -> Entry {
        let tails = self.forest.tails(edge as usize);
        let score =
            tails.iter().fold(self.scores[edge as usize], |sum, &tail| sum + self.best[tail as usize].0);
        let hash = self.hash(edge, |tail| self.best[tails[tail] as usize].1);
        Entry { score, hash, edge, ranks: 0, order: 0 }
    }

    /// The hash of an edge's words, given those of its tails.
    fn hash(&self, edge: u32, tail: impl Fn(usize) -> Hash) -> Hash {
        if !self.distinct {
            return Hash::EMPTY;
        }
        let part = |&symbol: &u32| {
            if symbol < TAIL { Hash::word(symbol) } else { tail((symbol - TAIL) as usize) }
        };
        self.forest.target(edge as usize).iter().map(part).fold(Hash::EMPTY, Hash::then)
    }

    fn start(&mut self, node: u32) {
        if std::mem::replace(&mut self.lists[node as usize].started, true) {
            return;
        }
        for edge in span(&self.starts, node) {
            let first = self.first(edge as u32);
            if first.score > f64::NEG_INFINITY {
                let tails = self.forest.tails(edge).len();
                self.push(node, first, tails);
            }
        }
    }

    /// Files a candidate whose ranks are the last `tails` of all, or, if there are not as many, zeros.
    fn push(&mut self, node: u32, mut entry: Entry, tails: usize) {
        entry.ranks = self.ranks.len() as u32;
        self.ranks.extend(std::iter::repeat_n(0, tails));
        self.file(node, entry);
    }

    fn file(&mut self, node: u32, mut entry: Entry) {
        let list = &mut self.lists[node as usize];
        entry.order = list.count;
        list.count += 1;
        list.heap.push(entry);
    }

    /// Makes the derivations of a node up to number `rank`; false if it has fewer. A loop, since derivations may be
    /// thousands of edges deep.
    fn find(&mut self, node: u32, rank: usize) -> bool {
        let mut work = vec![(node, rank)];
        while let Some(&(node, rank)) = work.last() {
            self.start(node);
            if self.lists[node as usize].found.len() > rank {
                work.pop();
                continue;
            }
            if let Some(wanted) = self.successors(node) {
                work.push(wanted);
                continue;
            }
            let distinct = self.distinct;
            let list = &mut self.lists[node as usize];
            let Some(entry) = list.heap.pop() else {
                work.pop();
                continue;
            };
            list.pending = Some((entry, 0));
            if !distinct || list.seen.insert(entry.hash.sum) {
                list.found.push(entry);
            }
        }
        self.lists[node as usize].found.len() > rank
    }

    /// Files the successors of what was taken last; what must be found before, if that stops it.
    ///
    /// A successor has the next derivation of one tail, which is the last one that is past its first, or a later one: so
    /// each combination is met once.
    fn successors(&mut self, node: u32) -> Option<(u32, usize)> {
        let (entry, from) = self.lists[node as usize].pending?;
        let tails = self.forest.tails(entry.edge as usize);
        let ranks = self.ranks[entry.ranks as usize..][..tails.len()].to_vec();
        let last = ranks.iter().rposition(|&rank| rank > 0).unwrap_or(0);
        for at in from.max(last)..tails.len() {
            let (tail, wanted) = (tails[at], ranks[at] as usize + 1);
            if self.lists[tail as usize].found.len() <= wanted && !self.exhausted(tail) {
                self.lists[node as usize].pending = Some((entry, at));
                return Some((tail, wanted));
            }
            if self.lists[tail as usize].found.len() > wanted {
                self.next(node, entry.edge, &ranks, at);
            }
        }
        self.lists[node as usize].pending = None;
        None
    }

    /// Files the derivation with the next derivation of one tail.
    fn next(&mut self, node: u32, edge: u32, ranks: &[u32], at: usize) {
        let tails = self.forest.tails(edge as usize);
        let rank = |tail: usize| (ranks[tail] + u32::from(tail == at)) as usize;
        // Tails that are at their first derivation may not have been asked for it.
        let below = |tail: usize| match self.lists[tails[tail] as usize].found.get(rank(tail)) {
            Some(entry) => (entry.score, entry.hash),
            None => self.best[tails[tail] as usize],
        };
        let score = (0..tails.len()).fold(self.scores[edge as usize], |sum, tail| sum + below(tail).0);
        let hash = self.hash(edge, |tail| below(tail).1);
        let first = self.ranks.len() as u32;
        self.ranks.extend((0..tails.len()).map(|tail| rank(tail) as u32));
        self.file(node, Entry { score, hash, edge, ranks: first, order: 0 });
    }

    /// Whether a node has no more derivations than those found.
    fn exhausted(&self, node: u32) -> bool {
        let list = &self.lists[node as usize];
        list.started && list.pending.is_none() && list.heap.is_empty()
    }
}

impl Iterator for Kbest<'_> {
    type Item = Derivation;

    fn next(&mut self) -> Option<Derivation> {
        let root = self.forest.root()?;
        if !self.find(root, self.given) {
            return None;
        }
        let score = self.lists[root as usize].found[self.given].score;
        let (mut edges, mut open) = (Vec::new(), vec![(root, self.given)]);
        self.given += 1;
        while let Some((node, rank)) = open.pop() {
            self.find(node, rank); // Its list has been asked for, unless only the best is needed.
            let entry = self.lists[node as usize].found[rank];
            edges.push(entry.edge);
            let tails = self.forest.tails(entry.edge as usize);
            let ranks = &self.ranks[entry.ranks as usize..][..tails.len()];
            open.extend(tails.iter().copied().zip(ranks.iter().map(|&rank| rank as usize)));
        }
        edges.reverse(); // bottom up
        Some(Derivation { score, edges })
    }
}

impl Forest {
    /// The k best derivations, the best first; with `distinct`, of each string the best.
    pub fn kbest(&self, k: usize, distinct: bool) -> Vec<Derivation> {
        Kbest::new(self, &self.scores, distinct).take(k).collect()
    }
}
