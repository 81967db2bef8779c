//! What follows from the links of one sampler in all shards: the counts that each shard samples with.

use crate::bitext::Side;
use crate::jumps::Jumps;
use crate::sampler::{FERTILITIES, Level, fertility_at};
use crate::weights::NONE;
use crate::wire::{self, damaged};
use dragoman_base::Result;
use rayon::prelude::*;

/// Counts of one sampler over the whole text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Counts {
    /// Made type, given type and their links, in this order.
    pub pairs: Vec<[u32; 3]>,
    /// Links of each given type.
    pub totals: Vec<u32>,
    /// Tokens of each given type with 0, 1, ... links, type after type; none before the third model.
    pub fertilities: Vec<u32>,
    /// Tokens of each made type without a link.
    pub nulls: Vec<u32>,
    /// Probabilities of jumps, as [`Jumps::probabilities`] gives them.
    pub jumps: Vec<f32>,
}

/// One shard as a sampler sees it: the given side, the made side, and the link of each made token.
pub type Part<'a> = (&'a Side, &'a Side, &'a [u16]);

/// What one shard adds.
struct Share {
    counts: Counts,
    jumps: Jumps,
    /// Made and given type of each link.
    keys: Vec<u64>,
}

impl Share {
    fn empty(given: usize, made: usize, longest: usize) -> Self {
        let counts = Counts { totals: vec![0; given], nulls: vec![0; made], ..Counts::default() };
        Self { counts, jumps: Jumps::new(longest), keys: Vec::new() }
    }

    fn of((given, made, links): Part<'_>, level: Level, longest: usize) -> Self {
        let mut share = Self::empty(given.types, made.types, longest);
        let Self { counts, jumps, keys } = &mut share;
        if level == Level::Fertility {
            counts.fertilities.resize(given.types * FERTILITIES, 0);
        }
        let mut phi = Vec::new();
        for s in 0..given.len() {
            let (words, links) = (given.sentence(s), &links[made.starts[s]..made.starts[s + 1]]);
            phi.clear();
            phi.resize(words.len(), 0);
            let mut from = -1;
            for (&f, &link) in made.sentence(s).iter().zip(links) {
                if link == NONE {
                    counts.nulls[f as usize] += 1;
                    continue;
                }
                let e = words[usize::from(link)];
                counts.totals[e as usize] += 1;
                keys.push(u64::from(f) << 32 | u64::from(e));
                phi[usize::from(link)] += 1;
                jumps.count(from, link as isize);
                from = link as isize;
            }
            if from >= 0 {
                jumps.count(from, words.len() as isize);
            }
            if level == Level::Fertility {
                for (&e, &phi) in words.iter().zip(&phi) {
                    counts.fertilities[e as usize * FERTILITIES + fertility_at(phi)] += 1;
                }
            }
        }
        share
    }

    fn plus(mut self, other: Self) -> Self {
        let (own, more) = (&mut self.counts, other.counts);
        for (own, more) in [
            (&mut own.totals, more.totals),
            (&mut own.fertilities, more.fertilities),
            (&mut own.nulls, more.nulls),
        ] {
            own.iter_mut().zip(more).for_each(|(sum, n)| *sum += n);
        }
        self.jumps.add(&other.jumps);
        self.keys.extend(other.keys);
        self
    }
}

impl Counts {
    /// Counts the links of all shards for a sweep of this model; `jump` is the prior of jumps in sentences of up to
    /// `longest` words, or none before the first sweep, when all are alike.
    pub fn of(parts: &[Part<'_>], level: Level, longest: usize, jump: Option<f32>) -> Self {
        let count = |part: &Part<'_>| Share::of(*part, level, longest);
        let all = parts.par_iter().map(count).reduce_with(Share::plus);
        let Share { mut counts, mut jumps, mut keys } = all.unwrap_or_else(|| Share::empty(0, 0, longest));
        keys.par_sort_unstable();
        let runs = keys.chunk_by(|a, b| a == b);
        counts.pairs = runs.map(|run| [(run[0] >> 32) as u32, run[0] as u32, run.len() as u32]).collect();
        if let Some(alpha) = jump {
            jumps.estimate(alpha);
        }
        counts.jumps = jumps.probabilities().to_vec();
        counts
    }

    /// The pairs of a made type.
    pub fn row(&self, f: u32) -> &[[u32; 3]] {
        let from = self.pairs.partition_point(|pair| pair[0] < f);
        let count = self.pairs[from..].iter().take_while(|pair| pair[0] == f).count();
        &self.pairs[from..from + count]
    }

    /// As bytes, for another process.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        wire::put(&mut bytes, self.pairs.as_flattened().iter().copied());
        for numbers in [&self.totals, &self.fertilities, &self.nulls] {
            wire::put(&mut bytes, numbers.iter().copied());
        }
        wire::put(&mut bytes, self.jumps.iter().copied());
        bytes
    }

    /// The counts of these bytes, for so many given and made types and sentences of up to `longest` words.
    pub fn of_bytes(mut bytes: &[u8], given: usize, made: usize, longest: usize) -> Result<Self> {
        let flat: Vec<u32> = wire::take(&mut bytes)?;
        let (pairs, rest) = flat.as_chunks::<3>();
        let whole = rest.is_empty() && pairs.iter().all(|pair| (pair[1] as usize) < given);
        let mut numbers = || wire::take(&mut bytes);
        let (totals, fertilities, nulls) = (numbers()?, numbers()?, numbers()?);
        let counts =
            Self { pairs: pairs.to_vec(), totals, fertilities, nulls, jumps: wire::take(&mut bytes)? };
        let fits = counts.totals.len() == given
            && (counts.fertilities.is_empty() || counts.fertilities.len() == given * FERTILITIES)
            && counts.nulls.len() == made
            && counts.jumps.len() == 2 * longest + 3;
        if whole && fits && bytes.is_empty() { Ok(counts) } else { Err(damaged()) }
    }
}
