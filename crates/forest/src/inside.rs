//! Inside and outside: the best derivation of each node, or the sum of all of them, and what is around it.

use crate::derivation::Derivation;
use crate::forest::{Forest, span};

/// How derivations of a node are put together; scores are logarithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sum {
    /// The best one (Viterbi).
    Max,
    /// The logarithm of the sum of their exponentials.
    Log,
}

impl Sum {
    fn add(self, a: f64, b: f64) -> f64 {
        let (low, high) = if a < b { (a, b) } else { (b, a) };
        if self == Self::Max || low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
    }
}

impl Forest {
    /// The value of each node from the edges below it; minus infinity if it has no derivation. `scores` are the edges'.
    pub fn inside(&self, scores: &[f64], sum: Sum) -> Vec<f64> {
        let mut inside = vec![f64::NEG_INFINITY; self.nodes as usize];
        for (edge, &head) in self.heads.iter().enumerate() {
            let value = scores[edge] + self.below(edge, &inside);
            inside[head as usize] = sum.add(inside[head as usize], value);
        }
        inside
    }

    /// The sum of the values of an edge's tails.
    fn below(&self, edge: usize, inside: &[f64]) -> f64 {
        self.tails(edge).iter().map(|&tail| inside[tail as usize]).sum()
    }

    /// The value of what is around each node, from the root down; minus infinity if no translation has it.
    pub fn outside(&self, scores: &[f64], inside: &[f64], sum: Sum) -> Vec<f64> {
        let mut outside = vec![f64::NEG_INFINITY; self.nodes as usize];
        let Some(last) = outside.last_mut() else { return outside };
        *last = 0.0;
        for edge in (0..self.edges()).rev() {
            let around = outside[self.heads[edge] as usize] + scores[edge];
            if around == f64::NEG_INFINITY {
                continue;
            }
            let tails = self.tails(edge);
            for (at, &tail) in tails.iter().enumerate() {
                // Without subtraction: the others are summed anew, exactly, and none of them may be infinite.
                let others = tails.iter().enumerate().filter(|(other, _)| *other != at);
                let others: f64 = others.map(|(_, &tail)| inside[tail as usize]).sum();
                outside[tail as usize] = sum.add(outside[tail as usize], around + others);
            }
        }
        outside
    }

    /// The value of each edge: of the best translation with it, or of all of them.
    pub fn through(&self, scores: &[f64], sum: Sum) -> Vec<f64> {
        let inside = self.inside(scores, sum);
        let outside = self.outside(scores, &inside, sum);
        let value =
            |(edge, &head): (usize, &u32)| outside[head as usize] + scores[edge] + self.below(edge, &inside);
        self.heads.iter().enumerate().map(value).collect()
    }

    /// The best derivation of the root; of equals the one with the first edge.
    pub fn best(&self, scores: &[f64]) -> Option<Derivation> {
        let inside = self.inside(scores, Sum::Max);
        let score = *inside.last().filter(|value| value.is_finite())?;
        let starts = self.starts();
        let (mut edges, mut open) = (Vec::new(), vec![self.nodes - 1]);
        while let Some(node) = open.pop() {
            let value = |edge: &usize| scores[*edge] + self.below(*edge, &inside);
            let edge = span(&starts, node).find(|edge| value(edge) == inside[node as usize])?;
            edges.push(edge as u32);
            open.extend(self.tails(edge));
        }
        edges.reverse(); // bottom up
        Some(Derivation { score, edges })
    }

    /// The score of each edge under some weights; features past their end weigh nothing.
    pub fn scored(&self, weights: &[f64]) -> Vec<f64> {
        let dot = |edge| {
            let (columns, values) = self.rows.row(edge);
            dragoman_base::sparse::dot(columns, values, weights)
        };
        (0..self.edges()).map(dot).collect()
    }
}
