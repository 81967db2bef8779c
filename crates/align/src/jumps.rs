//! The distribution of jumps: from the given word that one made word is linked to, to that of the next.

use crate::weights::LANES;

/// Jump probabilities by distance, forwards and mirrored, so that both look-ups run along the sentence.
#[derive(Debug, Clone)]
pub struct Jumps {
    counts: Vec<u32>,
    ahead: Vec<f32>,
    mirrored: Vec<f32>,
    zero: usize,
}

impl Jumps {
    /// All alike, for sentences of up to `longest` words.
    pub fn new(longest: usize) -> Self {
        let zero = longest + 1;
        let size = 2 * zero + 1;
        // Look-ups come in whole lanes, so they may run over the end.
        let room = size + LANES;
        Self { counts: vec![0; size], ahead: vec![1.0; room], mirrored: vec![1.0; room], zero }
    }

    /// With given probabilities of the distances from `-(longest + 1)` to `longest + 1`, an odd number of them, for
    /// sentences of up to `words` words: farther jumps are as probable as the farthest.
    pub fn fixed(probabilities: &[f32], words: usize) -> Self {
        let mut jumps = Self::new(words);
        let middle = (probabilities.len() / 2) as isize;
        let last = jumps.counts.len() - 1;
        for k in 0..=last {
            let distance = (k as isize - jumps.zero as isize).clamp(-middle, middle);
            jumps.ahead[k] = probabilities[(middle + distance) as usize];
            jumps.mirrored[last - k] = jumps.ahead[k];
        }
        jumps
    }

    /// The probabilities of the distances from `-(longest + 1)` to `longest + 1`.
    pub fn probabilities(&self) -> &[f32] {
        &self.ahead[..self.counts.len()]
    }

    /// p(to - from).
    pub fn probability(&self, from: isize, to: isize) -> f32 {
        self.ahead[(self.zero as isize + to - from) as usize]
    }

    /// Counts a jump.
    pub fn count(&mut self, from: isize, to: isize) {
        self.counts[(self.zero as isize + to - from) as usize] += 1;
    }

    /// Adds the counts of others, for sentences as long.
    pub fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, n)| *sum += n);
    }

    /// Sets p to the predictive of the counts under a symmetric Dirichlet prior, and the counts to zero.
    pub fn estimate(&mut self, alpha: f32) {
        let total: u64 = self.counts.iter().map(|&c| u64::from(c)).sum();
        let norm = 1.0 / (total as f32 + alpha * self.counts.len() as f32);
        let last = self.counts.len() - 1;
        for (k, count) in self.counts.iter_mut().enumerate() {
            let p = (*count as f32 + alpha) * norm;
            self.ahead[k] = p;
            self.mirrored[last - k] = p;
            *count = 0;
        }
    }

    /// p(i - from) for i from 0.
    pub fn onward(&self, from: isize) -> &[f32] {
        &self.ahead[(self.zero as isize - from) as usize..]
    }

    /// p(to - i) for i from 0.
    pub fn toward(&self, to: isize) -> &[f32] {
        &self.mirrored[(self.zero as isize - to) as usize..]
    }
}
