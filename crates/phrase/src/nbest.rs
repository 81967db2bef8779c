//! N-best derivations from the search graph, lazily: the k-th best way to a node is made when it is asked for.
//!
//! Huang & Chiang 2005, algorithm 3, for arcs with one tail: a node's derivations are the arcs that lead to it, each
//! continued by the derivations of the node where it starts; the next best is always one of a few candidates.
//!
//! Where texts must differ, every node lists each text once, by its best derivation: whatever follows, a worse one
//! with the same text so far ends in the same text and stays worse. So copies are dropped where they arise, long before
//! their number explodes. Texts are told apart by 64-bit hashes of their words.

use crate::options::Options;
use crate::search::{Graph, NONE};
use rustc_hash::FxHashSet;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A derivation of a node: the arc it ends with, and which derivation of the arc's start it continues.
#[derive(Debug, Clone, Copy)]
struct Entry {
    score: f64,
    /// Hash of the target words so far.
    text: u64,
    way: u32,
    rank: u32,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        let place = |entry: &Self| (entry.way, entry.rank);
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
    /// What was taken from the heap last, while its successor is still to be made.
    pending: Option<Entry>,
    /// Hashes of the texts found, if they must differ.
    seen: FxHashSet<u64>,
}

/// The derivations of a graph, best first.
#[derive(Debug)]
pub struct Nbest<'g> {
    graph: &'g Graph,
    options: &'g Options,
    /// Whether texts must differ.
    distinct: bool,
    /// Score and text of the best derivation of each node.
    best: Vec<(f64, u64)>,
    /// By node; the last list is that of the whole graph, whose ways are final nodes.
    lists: Vec<List>,
    given: usize,
}

impl<'g> Nbest<'g> {
    /// Gets ready; nothing is enumerated yet.
    pub fn new(graph: &'g Graph, options: &'g Options, distinct: bool) -> Self {
        let lists = (0..=graph.nodes.len()).map(|_| List::default()).collect();
        let best = Vec::with_capacity(graph.nodes.len());
        let mut made = Self { graph, options, distinct, best, lists, given: 0 };
        for node in 0..graph.nodes.len() as u32 {
            let first = graph.ways(node).map(|arc| made.first(arc)).max();
            made.best.push(first.map_or((0.0, 0), |entry| (entry.score, entry.text)));
        }
        made
    }

    /// The best derivation that ends with an arc.
    fn first(&self, arc: u32) -> Entry {
        let (score, text) = self.best[self.graph.arcs[arc as usize].from as usize];
        Entry { score: score + self.graph.gain(arc), text: self.longer(text, arc), way: arc, rank: 0 }
    }

    /// The hash of a text that an arc's words make longer.
    fn longer(&self, text: u64, arc: u32) -> u64 {
        let words = self.options.target(self.graph.arcs[arc as usize].option);
        words.iter().fold(text, |hash, &word| {
            let mixed = (hash.rotate_left(23) ^ (u64::from(word) + 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed ^ mixed >> 29
        })
    }

    /// The node that a way to `node` starts from.
    fn tail(&self, node: u32, way: u32) -> u32 {
        if node as usize == self.graph.nodes.len() { way } else { self.graph.arcs[way as usize].from }
    }

    /// A derivation of `node` that continues `tail`, which is number `rank` of its node, by a way.
    fn continued(&self, node: u32, way: u32, tail: Entry, rank: usize) -> Entry {
        let rank = rank as u32;
        if node as usize == self.graph.nodes.len() {
            return Entry { way, rank, ..tail };
        }
        Entry { score: tail.score + self.graph.gain(way), text: self.longer(tail.text, way), way, rank }
    }

    /// Makes the derivations of a node up to number `rank`; false if it has fewer. A loop, since derivations may be
    /// thousands of steps deep.
    fn find(&mut self, node: u32, rank: usize) -> bool {
        let mut work = vec![(node, rank)];
        while let Some(&(node, rank)) = work.last() {
            self.start(node);
            let list = &self.lists[node as usize];
            if list.found.len() > rank {
                work.pop();
                continue;
            }
            if let Some(last) = list.pending {
                let (from, wanted) = (self.tail(node, last.way), last.rank as usize + 1);
                if let Some(&tail) = self.lists[from as usize].found.get(wanted) {
                    let next = self.continued(node, last.way, tail, wanted);
                    self.lists[node as usize].heap.push(next);
                } else if !self.exhausted(from) {
                    work.push((from, wanted));
                    continue;
                }
            }
            let distinct = self.distinct;
            let list = &mut self.lists[node as usize];
            list.pending = list.heap.pop();
            let Some(entry) = list.pending else {
                work.pop();
                continue;
            };
            if !distinct || list.seen.insert(entry.text) {
                list.found.push(entry);
            }
        }
        self.lists[node as usize].found.len() > rank
    }

    /// Whether a node has no more derivations than those found.
    fn exhausted(&self, node: u32) -> bool {
        let list = &self.lists[node as usize];
        list.started && list.pending.is_none() && list.heap.is_empty()
    }

    fn start(&mut self, node: u32) {
        if std::mem::replace(&mut self.lists[node as usize].started, true) {
            return;
        }
        let heap: BinaryHeap<Entry> = if node as usize == self.graph.nodes.len() {
            let end = |&end: &u32| {
                let (score, text) = self.best[end as usize];
                Entry { score, text, way: end, rank: 0 }
            };
            self.graph.finals.iter().map(end).collect()
        } else {
            self.graph.ways(node).map(|arc| self.first(arc)).collect()
        };
        let list = &mut self.lists[node as usize];
        if node == 0 && heap.is_empty() {
            // The empty hypothesis is its own only derivation.
            list.found.push(Entry { score: 0.0, text: 0, way: NONE, rank: 0 });
        }
        list.heap = heap;
    }
}

impl Iterator for Nbest<'_> {
    type Item = (f64, Vec<u32>);

    /// The next derivation: its score and its arcs, in order of the target.
    fn next(&mut self) -> Option<Self::Item> {
        let root = self.graph.nodes.len() as u32;
        if !self.find(root, self.given) {
            return None;
        }
        let entry = self.lists[root as usize].found[self.given];
        self.given += 1;
        let (mut node, mut rank, mut arcs) = (entry.way, entry.rank as usize, Vec::new());
        while self.graph.nodes[node as usize].arcs != NONE {
            // Its list has been asked for, unless only the best is needed.
            self.find(node, rank);
            let entry = self.lists[node as usize].found[rank];
            arcs.push(entry.way);
            (node, rank) = (self.graph.arcs[entry.way as usize].from, entry.rank as usize);
        }
        arcs.reverse();
        Some((entry.score, arcs))
    }
}
