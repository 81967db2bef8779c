//! Whether a forest has a given translation, and by which derivation.

use crate::derivation::Derivation;
use crate::forest::{Forest, TAIL, span};
use rustc_hash::FxHashMap;

/// The best derivation of a node over a part of the target: score, edge, and the parts that its tails have.
struct Found {
    score: f64,
    edge: u32,
    parts: Vec<(u32, u32)>,
}

/// A target side matched up to some symbol.
#[derive(Clone)]
struct Partial {
    from: u32,
    to: u32,
    score: f64,
    parts: Vec<(u32, u32)>,
}

impl Forest {
    /// The best derivation of the root whose words are these; none if there is none. `scores` are the edges'.
    ///
    /// Bottom up, each node knows which parts of the target it can derive: a parse of the target by the forest.
    pub fn reach(&self, target: &[&str], scores: &[f64]) -> Option<Derivation> {
        let root = self.root()?;
        let numbers: FxHashMap<&str, u32> =
            self.words.iter().enumerate().map(|(number, word)| (word, number as u32)).collect();
        let words: Vec<u32> = target.iter().map(|word| numbers.get(word).copied()).collect::<Option<_>>()?;
        let starts = self.starts();
        let mut nodes: Vec<FxHashMap<(u32, u32), Found>> = Vec::with_capacity(self.nodes as usize);
        for node in 0..self.nodes {
            let mut made = FxHashMap::default();
            for edge in span(&starts, node) {
                for Partial { from, to, score, parts } in self.matches(edge, &words, scores[edge], &nodes) {
                    let known = made.get(&(from, to)).is_some_and(|old: &Found| old.score >= score);
                    if !known {
                        made.insert((from, to), Found { score, edge: edge as u32, parts });
                    }
                }
            }
            nodes.push(made);
        }
        let whole = (0, words.len() as u32);
        let score = nodes[root as usize].get(&whole)?.score;
        let (mut edges, mut open) = (Vec::new(), vec![(root, whole)]);
        while let Some((node, part)) = open.pop() {
            let found = &nodes[node as usize][&part];
            edges.push(found.edge);
            let tails = self.tails(found.edge as usize).iter().copied();
            open.extend(tails.zip(found.parts.iter().copied()));
        }
        edges.reverse(); // bottom up
        Some(Derivation { score, edges })
    }

    /// All parts of the target that an edge's target side can be.
    fn matches(
        &self,
        edge: usize,
        words: &[u32],
        score: f64,
        nodes: &[FxHashMap<(u32, u32), Found>],
    ) -> Vec<Partial> {
        let tails = self.tails(edge);
        let start = |from: u32| Partial { from, to: from, score, parts: vec![(0, 0); tails.len()] };
        let mut open: Vec<Partial> = (0..=words.len() as u32).map(start).collect();
        for &symbol in self.target(edge) {
            if symbol < TAIL {
                open.retain_mut(|partial| {
                    partial.to += 1;
                    words.get(partial.to as usize - 1) == Some(&symbol)
                });
                continue;
            }
            let tail = (symbol - TAIL) as usize;
            let mut by_start: FxHashMap<u32, Vec<(u32, f64)>> = FxHashMap::default();
            for (&(from, to), found) in &nodes[tails[tail] as usize] {
                by_start.entry(from).or_default().push((to, found.score));
            }
            let longer = |partial: Partial| {
                let found = by_start.get(&partial.to).cloned().unwrap_or_default();
                found.into_iter().map(move |(to, score)| {
                    let mut next = partial.clone();
                    next.parts[tail] = (next.to, to);
                    (next.to, next.score) = (to, next.score + score);
                    next
                })
            };
            open = open.into_iter().flat_map(longer).collect();
        }
        // The order of a table of parts must not decide between equals.
        open.sort_by(|a, b| (a.from, a.to, &a.parts).cmp(&(b.from, b.to, &b.parts)));
        open
    }
}
