//! The upper envelope of the lines of all derivations of a forest (Kumar et al. 2009).
//!
//! The lines of a node are those of its edges: a union, of which the envelope stays. Those of an edge are its own plus
//! those of its tails, all with all; of these sums only such are on an envelope as add lines that win at the same γ
//! (a Minkowski sum of convex hulls), so that one walk along the corners of the tails finds them. No line of the root is
//! lost, however many derivations there are.

use super::envelope::Envelope;
use dragoman_forest::{Forest, span};

/// The lines of each node of a forest, with the way back. Keeps its arrays from one forest to the next.
#[derive(Debug, Default)]
pub struct Hull {
    /// The lines of node n are from here up to the next, by rising slope.
    starts: Vec<u32>,
    slopes: Vec<f64>,
    scores: Vec<f64>,
    /// The edge of each line, and where the lines of its tails are listed.
    edges: Vec<(u32, u32)>,
    tails: Vec<u32>,
    open: Gathered,
    envelope: Envelope,
}

/// The lines of a node's edges, before the envelope is known.
#[derive(Debug, Default)]
struct Gathered {
    slopes: Vec<f64>,
    scores: Vec<f64>,
    /// The edge, and the line of its one tail or where the lines of its tails are listed.
    backs: Vec<(u32, u32)>,
    tails: Vec<u32>,
}

impl Gathered {
    fn clear(&mut self) {
        self.slopes.clear();
        self.scores.clear();
        self.backs.clear();
        self.tails.clear();
    }

    fn push(&mut self, slope: f64, score: f64, back: (u32, u32)) {
        self.slopes.push(slope);
        self.scores.push(score);
        self.backs.push(back);
    }
}

/// Lines on an envelope: slopes and scores, by rising slope.
pub type Lines<'a> = (&'a [f64], &'a [f64]);

impl Hull {
    /// Finds the lines of all nodes; gives those of the root. `scores` and `slopes` are the edges'.
    pub fn run(&mut self, forest: &Forest, scores: &[f64], slopes: &[f64]) -> Lines<'_> {
        self.starts.clear();
        self.starts.push(0);
        self.slopes.clear();
        self.scores.clear();
        self.edges.clear();
        self.tails.clear();
        let mut edge = 0;
        for node in 0..forest.nodes {
            self.open.clear();
            while forest.heads.get(edge).is_some_and(|&head| head == node) {
                self.gather(forest, edge, scores[edge], slopes[edge]);
                edge += 1;
            }
            self.settle(forest);
        }
        let root = self.root();
        (&self.slopes[root.clone()], &self.scores[root])
    }

    fn root(&self) -> std::ops::Range<usize> {
        match self.starts[..] {
            [.., from, to] => from as usize..to as usize,
            _ => 0..0,
        }
    }

    /// Adds the lines of an edge.
    fn gather(&mut self, forest: &Forest, edge: usize, score: f64, slope: f64) {
        let Self { starts, slopes, scores, open, .. } = self;
        let number = edge as u32;
        match forest.tails(edge) {
            [] => open.push(slope, score, (number, 0)),
            &[tail] => {
                let own = span(starts, tail);
                open.slopes.extend(slopes[own.clone()].iter().map(|below| below + slope));
                open.scores.extend(scores[own.clone()].iter().map(|below| below + score));
                open.backs.extend(own.map(|line| (number, line as u32)));
            }
            tails => {
                let mut at: Vec<(usize, usize)> =
                    tails.iter().map(|&tail| span(starts, tail)).map(|own| (own.start, own.end)).collect();
                if at.iter().any(|(from, to)| from == to) {
                    return;
                }
                loop {
                    let sum = |values: &[f64]| at.iter().map(|&(line, _)| values[line]).sum::<f64>();
                    let back = (number, open.tails.len() as u32);
                    open.push(sum(slopes) + slope, sum(scores) + score, back);
                    open.tails.extend(at.iter().map(|&(line, _)| line as u32));
                    // The tail whose winner changes next.
                    let corner = |&(line, end): &(usize, usize)| {
                        let rise =
                            |next: usize| (scores[line] - scores[next]) / (slopes[next] - slopes[line]);
                        if line + 1 < end { rise(line + 1) } else { f64::INFINITY }
                    };
                    let next = at.iter().enumerate().filter(|(_, (line, end))| line + 1 < *end);
                    let next = next.min_by(|a, b| corner(a.1).total_cmp(&corner(b.1))).map(|(tail, _)| tail);
                    let Some(tail) = next else { return };
                    at[tail].0 += 1;
                }
            }
        }
    }

    /// Files the lines of a node that are on its envelope.
    fn settle(&mut self, forest: &Forest) {
        let Self { starts, slopes, scores, edges, tails, open, envelope } = self;
        if !open.slopes.is_empty() {
            for &line in envelope.find(&open.slopes, &open.scores).0 {
                let line = line as usize;
                slopes.push(open.slopes[line]);
                scores.push(open.scores[line]);
                let (edge, back) = open.backs[line];
                edges.push((edge, tails.len() as u32));
                match forest.tails(edge as usize).len() {
                    0 => {}
                    1 => tails.push(back),
                    many => tails.extend_from_slice(&open.tails[back as usize..back as usize + many]),
                }
            }
        }
        starts.push(slopes.len() as u32);
    }

    /// The derivation of a line of the root, bottom up; lines count from 0 by rising slope.
    pub fn derivation(&self, forest: &Forest, line: usize) -> Vec<u32> {
        let (mut found, mut open) = (Vec::new(), vec![(self.root().start + line) as u32]);
        while let Some(line) = open.pop() {
            let (edge, first) = self.edges[line as usize];
            found.push(edge);
            let tails = forest.tails(edge as usize).len();
            open.extend_from_slice(&self.tails[first as usize..first as usize + tails]);
        }
        found.reverse();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forest::tests::{all, forest, lattice};
    use dragoman_base::random::{below, stream};

    /// The value of the best line at γ.
    fn at((slopes, scores): Lines<'_>, gamma: f64) -> f64 {
        slopes
            .iter()
            .zip(scores)
            .map(|(slope, score)| score + gamma * slope)
            .fold(f64::NEG_INFINITY, f64::max)
    }

    /// The envelope of a forest is that of all its derivations, line by line, and the way back leads to one of them.
    #[test]
    fn the_envelope_is_that_of_all_derivations() {
        let (mut hull, mut envelope, mut several) = (Hull::default(), Envelope::default(), 0);
        for number in 0..1200 {
            let rng = &mut stream(31, number);
            let made = if number % 3 == 0 { lattice(rng) } else { forest(rng) };
            let derivations = all(&made, made.nodes - 1);
            if derivations.len() > 4000 {
                continue;
            }
            // Whole numbers: all sums are exact.
            let scores: Vec<f64> = (0..made.edges()).map(|_| below(rng, 33) as f64 - 16.0).collect();
            let slopes: Vec<f64> = (0..made.edges()).map(|_| below(rng, 9) as f64 - 4.0).collect();
            let sum = |edges: &[u32], of: &[f64]| edges.iter().map(|&edge| of[edge as usize]).sum::<f64>();
            let all_scores: Vec<f64> = derivations.iter().map(|edges| sum(edges, &scores)).collect();
            let all_slopes: Vec<f64> = derivations.iter().map(|edges| sum(edges, &slopes)).collect();
            let (own_slopes, own_scores) = hull.run(&made, &scores, &slopes);
            let (own_slopes, own_scores) = (own_slopes.to_vec(), own_scores.to_vec());
            if derivations.is_empty() {
                assert!(own_slopes.is_empty());
                continue;
            }
            let (winners, _) = envelope.find(&all_slopes, &all_scores);
            let want: Vec<(f64, f64)> =
                winners.iter().map(|&line| (all_slopes[line as usize], all_scores[line as usize])).collect();
            let found: Vec<(f64, f64)> = own_slopes.iter().copied().zip(own_scores.iter().copied()).collect();
            assert_eq!(found, want, "{number}");
            for (line, &(slope, score)) in found.iter().enumerate() {
                let edges = hull.derivation(&made, line);
                assert!(derivations.contains(&edges));
                assert_eq!((sum(&edges, &slopes), sum(&edges, &scores)), (slope, score));
            }
            for gamma in [-9.0, -1.5, 0.0, 0.25, 3.0] {
                assert_eq!(at((&own_slopes, &own_scores), gamma), at((&all_slopes, &all_scores), gamma));
            }
            several += usize::from(found.len() > 3 && !made.is_lattice());
        }
        assert!(several > 50, "{several}");
    }
}
