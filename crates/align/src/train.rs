//! Training: independent samplers in both directions, and links from the average of what they believe.

use crate::bitext::{Bitext, Side};
use crate::links::Links;
use crate::sampler::{Direction, Level, Priors, Sampler};
use dragoman_base::random;
use rayon::prelude::*;

/// How an aligner is trained.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Independent samplers in each direction.
    pub samplers: usize,
    /// Sweeps of IBM 1, of the HMM, and of the HMM with fertilities.
    pub sweeps: [usize; 3],
    /// Times each sentence is sampled in the last pass, whose distributions are averaged.
    pub collect: usize,
    /// Priors of the model.
    pub priors: Priors,
    /// Seed of everything random.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { samplers: 4, sweeps: [4, 8, 16], collect: 4, priors: Priors::default(), seed: 0 }
    }
}

/// Sentence pairs between two meetings of the samplers in the last pass.
const BLOCK: usize = 512;

/// All samplers of one direction.
pub struct Chain<'a> {
    shared: &'a Direction<'a>,
    /// The samplers.
    pub samplers: Vec<Sampler<'a>>,
}

impl<'a> Chain<'a> {
    /// Samplers `first..` of the random streams.
    pub fn new(shared: &'a Direction<'a>, options: &Options, first: usize) -> Self {
        let make = |k| Sampler::new(shared, options.priors, random::stream(options.seed, (first + k) as u64));
        Self { shared, samplers: (0..options.samplers).map(make).collect() }
    }

    /// The most probable link of each made word, as `(given, made)` pairs of positions.
    pub fn decide(&mut self, level: Level, collect: usize) -> Vec<u16> {
        let (given, made) = (self.shared.given, self.shared.made);
        let mut best = Vec::with_capacity(made.tokens.len());
        for first in (0..given.len()).step_by(BLOCK) {
            let block = first..given.len().min(first + BLOCK);
            let rows: Vec<Vec<f32>> = self
                .samplers
                .par_iter_mut()
                .map(|sampler| {
                    let mut rows = Vec::new();
                    for s in block.clone() {
                        let start = rows.len();
                        let size = (given.sentence(s).len() + 1) * made.sentence(s).len();
                        rows.resize(start + size, 0.0);
                        for _ in 0..collect {
                            sampler.sentence(s, level, false, Some(&mut rows[start..]));
                        }
                    }
                    rows
                })
                .collect();
            let mut sum = vec![0.0f32; rows[0].len()];
            for row in &rows {
                for (a, b) in sum.iter_mut().zip(row) {
                    *a += b;
                }
            }
            let mut at = 0;
            for s in block {
                let width = given.sentence(s).len() + 1;
                for _ in made.sentence(s) {
                    best.push(crate::train::argmax(&sum[at..at + width]));
                    at += width;
                }
            }
        }
        best
    }
}

fn argmax(row: &[f32]) -> u16 {
    let mut best = 0;
    for (i, &p) in row.iter().enumerate() {
        if p > row[best] {
            best = i;
        }
    }
    if best + 1 == row.len() { crate::sampler::NONE } else { best as u16 }
}

/// Turns the link of each made word into links; `flip` where the made side is the source.
pub fn to_links(made: &Side, best: &[u16], flip: bool) -> Links {
    let mut links = Links::new();
    let mut pair = Vec::new();
    for s in 0..made.len() {
        pair.clear();
        for (j, &i) in best[made.starts[s]..made.starts[s + 1]].iter().enumerate() {
            if i != crate::sampler::NONE {
                pair.push(if flip { (j as u32, u32::from(i)) } else { (u32::from(i), j as u32) });
            }
        }
        links.push(&mut pair);
    }
    links
}

/// Trains on a bitext: forward links (each target word has at most one) and reverse links (each source word).
pub fn train(bitext: &Bitext, options: &Options) -> (Links, Links) {
    let forward = Direction::new(&bitext.source, &bitext.target);
    let reverse = Direction::new(&bitext.target, &bitext.source);
    let mut chains = [Chain::new(&forward, options, 0), Chain::new(&reverse, options, options.samplers)];
    let plan = [Level::Ibm1, Level::Hmm, Level::Fertility];
    let mut first = true;
    let mut last = Level::Ibm1;
    for (level, sweeps) in plan.into_iter().zip(options.sweeps) {
        for _ in 0..sweeps {
            chains
                .par_iter_mut()
                .flat_map(|chain| chain.samplers.par_iter_mut())
                .for_each(|sampler| sampler.sweep(level, first));
            first = false;
            last = level;
        }
    }
    let best: Vec<Vec<u16>> =
        chains.par_iter_mut().map(|chain| chain.decide(last, options.collect)).collect();
    (to_links(&bitext.target, &best[0], false), to_links(&bitext.source, &best[1], true))
}
