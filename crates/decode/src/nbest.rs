//! N-best derivations from the search graph, lazily: the k-th best way to a node is made when it is asked for.
//!
//! Huang & Chiang 2005, algorithm 3, for arcs with one tail: a node's derivations are the arcs that lead to it, each
//! continued by the derivations of the node where it starts; the next best is always one of a few candidates.

use crate::search::Graph;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A derivation of a node: the arc it ends with, and which derivation of the arc's start it continues.
#[derive(Debug, Clone, Copy)]
struct Entry {
    score: f64,
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
    /// Whether the successor of the last found entry is still to be made.
    pending: bool,
}

/// The derivations of a graph, best first.
#[derive(Debug)]
pub struct Nbest<'g> {
    graph: &'g Graph,
    /// Score of the best derivation of each node.
    best: Vec<f64>,
    /// By node; the last list is that of the whole graph, whose ways are final nodes.
    lists: Vec<List>,
    given: usize,
}

impl<'g> Nbest<'g> {
    /// Gets ready; nothing is enumerated yet.
    pub fn new(graph: &'g Graph) -> Self {
        let mut best = vec![0.0; graph.nodes.len()];
        for node in 0..graph.nodes.len() as u32 {
            let ways =
                graph.ways(node).map(|arc| best[graph.arcs[arc as usize].from as usize] + graph.gain(arc));
            if let Some(score) = ways.reduce(f64::max) {
                best[node as usize] = score;
            }
        }
        let lists = (0..=graph.nodes.len()).map(|_| List::default()).collect();
        Self { graph, best, lists, given: 0 }
    }

    /// The node that a way to `node` starts from, and what the way adds.
    fn tail(&self, node: u32, way: u32) -> (u32, f64) {
        if node as usize == self.graph.nodes.len() {
            (way, 0.0)
        } else {
            (self.graph.arcs[way as usize].from, self.graph.gain(way))
        }
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
            if list.pending {
                let last = list.found[list.found.len() - 1];
                let (from, gain) = self.tail(node, last.way);
                let wanted = last.rank as usize + 1;
                let tails = &self.lists[from as usize];
                if let Some(tail) = tails.found.get(wanted) {
                    let entry = Entry { score: tail.score + gain, way: last.way, rank: wanted as u32 };
                    self.lists[node as usize].heap.push(entry);
                } else if !self.exhausted(from) {
                    work.push((from, wanted));
                    continue;
                }
                self.lists[node as usize].pending = false;
            }
            let list = &mut self.lists[node as usize];
            let Some(entry) = list.heap.pop() else {
                work.pop();
                continue;
            };
            list.found.push(entry);
            list.pending = true;
        }
        self.lists[node as usize].found.len() > rank
    }

    /// Whether a node has no more derivations than those found.
    fn exhausted(&self, node: u32) -> bool {
        let list = &self.lists[node as usize];
        list.started && !list.pending && list.heap.is_empty()
    }

    fn start(&mut self, node: u32) {
        if std::mem::replace(&mut self.lists[node as usize].started, true) {
            return;
        }
        let root = self.graph.nodes.len();
        let entry = |way: u32, score: f64| Entry { score, way, rank: 0 };
        let heap: BinaryHeap<Entry> = if node as usize == root {
            self.graph.finals.iter().map(|&end| entry(end, self.best[end as usize])).collect()
        } else {
            let score =
                |arc: u32| self.best[self.graph.arcs[arc as usize].from as usize] + self.graph.gain(arc);
            self.graph.ways(node).map(|arc| entry(arc, score(arc))).collect()
        };
        let list = &mut self.lists[node as usize];
        if node == 0 && heap.is_empty() {
            // The empty hypothesis is its own only derivation.
            list.found.push(entry(crate::search::NONE, 0.0));
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
        while self.graph.nodes[node as usize].arcs != crate::search::NONE {
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
