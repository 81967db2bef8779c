//! Any order of nodes and edges made right: topological, with the root last, and nothing that is in no derivation.

use crate::forest::Forest;
use dragoman_base::{Error, Result};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

impl Forest {
    /// The part of a forest that derives `root`: its nodes in topological order, edges in order of their heads and else
    /// as they were. Nodes and edges may come in any order, but without cycles; node numbers must exist.
    pub fn arranged(&self, root: u32) -> Result<Self> {
        self.selected(root, &vec![true; self.edges()])
    }

    /// The same with only some of the edges.
    pub fn selected(&self, root: u32, keep: &[bool]) -> Result<Self> {
        if root >= self.nodes {
            return Ok(Self { words: self.words.clone(), ..Self::default() });
        }
        let heads = Heads::new(self, keep);
        let order = heads.order(self, root)?;
        let (used, kept) = heads.used(self, root, &order);
        let mut number = vec![u32::MAX; self.nodes as usize];
        let mut made = Self { words: self.words.clone(), ..Self::default() };
        let mut tails = Vec::new();
        for &node in order.iter().filter(|&&node| used[node as usize]) {
            number[node as usize] = made.nodes;
            made.nodes += 1;
            if !self.labels.is_empty() {
                made.labels.push(self.labels[node as usize]);
            }
            for &edge in heads.of(node).iter().filter(|&&edge| kept[edge as usize]) {
                let (edge, mut old) = (edge as usize, self.edge(edge as usize));
                tails.clear();
                tails.extend(old.tails.iter().map(|&tail| number[tail as usize]));
                (old.head, old.tails) = (number[node as usize], &tails);
                let (columns, values) = self.rows.row(edge);
                made.add(old, columns.iter().copied().zip(values.iter().copied()));
            }
        }
        Ok(made)
    }
}

/// Edges by head, however they are ordered.
struct Heads {
    starts: Vec<u32>,
    edges: Vec<u32>,
}

impl Heads {
    fn new(forest: &Forest, keep: &[bool]) -> Self {
        let mut starts = forest.starts();
        let mut edges: Vec<u32> = (0..forest.edges() as u32).collect();
        if !forest.heads.is_sorted() {
            edges.sort_by_key(|&edge| forest.heads[edge as usize]); // stable
        }
        edges.retain(|&edge| keep[edge as usize]);
        if edges.len() < forest.edges() {
            let mut counts = vec![0; forest.nodes as usize + 1];
            for &edge in &edges {
                counts[forest.heads[edge as usize] as usize + 1] += 1;
            }
            for node in 0..forest.nodes as usize {
                counts[node + 1] += counts[node];
            }
            starts = counts;
        }
        Self { starts, edges }
    }

    fn of(&self, node: u32) -> &[u32] {
        &self.edges[crate::forest::span(&self.starts, node)]
    }

    /// Nodes below the root in topological order; of those that are ready the one with the lowest number first.
    fn order(&self, forest: &Forest, root: u32) -> Result<Vec<u32>> {
        let mut waits = vec![u32::MAX; forest.nodes as usize]; // tails that have no place yet
        let mut above: Vec<Vec<u32>> = vec![Vec::new(); forest.nodes as usize];
        let (mut open, mut ready, mut count) = (vec![root], BinaryHeap::new(), 1);
        waits[root as usize] = 0;
        while let Some(node) = open.pop() {
            for &tail in self.of(node).iter().flat_map(|&edge| forest.tails(edge as usize)) {
                waits[node as usize] += 1;
                above[tail as usize].push(node);
                if waits[tail as usize] == u32::MAX {
                    waits[tail as usize] = 0;
                    count += 1;
                    open.push(tail);
                }
            }
            if waits[node as usize] == 0 {
                ready.push(Reverse(node));
            }
        }
        let mut order = Vec::with_capacity(count);
        while let Some(Reverse(node)) = ready.pop() {
            order.push(node);
            for &head in &above[node as usize] {
                waits[head as usize] -= 1;
                if waits[head as usize] == 0 {
                    ready.push(Reverse(head));
                }
            }
        }
        if order.len() < count {
            return Err(Error::Invalid(
                "a forest has a cycle: a node that is part of its own derivation".into(),
            ));
        }
        Ok(order)
    }

    /// Nodes and edges that are in a derivation of the root.
    fn used(&self, forest: &Forest, root: u32, order: &[u32]) -> (Vec<bool>, Vec<bool>) {
        let (mut derived, mut kept) = (vec![false; forest.nodes as usize], vec![false; forest.edges()]);
        for &node in order {
            for &edge in self.of(node) {
                let edge = edge as usize;
                kept[edge] = forest.tails(edge).iter().all(|&tail| derived[tail as usize]);
                derived[node as usize] |= kept[edge];
            }
        }
        let mut used = vec![false; forest.nodes as usize];
        used[root as usize] = derived[root as usize];
        for &node in order.iter().rev() {
            for &edge in self.of(node) {
                kept[edge as usize] &= used[node as usize];
                if kept[edge as usize] {
                    forest.tails(edge as usize).iter().for_each(|&tail| used[tail as usize] = true);
                }
            }
        }
        (used, kept)
    }
}
