//! `SampleRank` (Haddow et al. 2011): weights are moved while derivations are sampled, whenever the model and BLEU rank
//! two members of a neighbourhood differently. Nothing is ever decoded.

use super::MEMORY;
use super::bounds::Bounds;
use super::chain::{Chain, Start};
use super::gain::{Bleu, References, Tally, Text};
use super::hood::{Hood, Scratch};
use super::judge::Learned;
use super::moves::{Mix, draw};
use super::sparse::Sparse;
use crate::feature::{Context, OWN, Stacks};
use crate::options::{Choice, Collector, Options};
use crate::search::Ready;
use crate::sentence::{Input, Sentence};
use crate::system::System;
use crate::weights::Weights;
use dragoman_base::random::{Generator, below, stream};
use dragoman_base::{Error, Result};
use std::cell::RefCell;
use std::time::{Duration, Instant};

#[cfg(test)]
thread_local! {
    /// Tests may have every gain worked out.
    pub(super) static PROBE_ALL: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Which member of a neighbourhood the others are held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oracle {
    /// The one with the largest sum of gain and model score (equation before 3 in the paper; "chiang" in its program).
    Hope,
    /// The one with the largest gain; of equal gains the one with the largest score.
    Gain,
}

/// How to learn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankOptions {
    /// Samples for each sentence of a batch before anything is learned.
    pub burn_in: usize,
    /// Samples for each sentence of a batch from which is learned.
    pub samples: usize,
    /// Samples in a row that one sentence gives before another one is drawn.
    pub visit: usize,
    /// Largest step.
    pub c: f64,
    /// What a perfect gain is: 100 or 1.
    pub scale: f64,
    /// Added to all counts of the gain.
    pub add: f64,
    /// What is learned from.
    pub oracle: Oracle,
    /// Whether the margin is multiplied by the oracle's gain.
    pub margin: bool,
    /// Whether a right ranking by less than the margin moves the weights, too.
    pub always: bool,
    /// Of the distribution that is sampled from.
    pub temperature: f64,
    /// Temperature at the start of the burn-in; it falls by a constant factor.
    pub hot: f64,
    /// Where derivations start.
    pub start: Start,
    /// Of operators.
    pub mix: Mix,
    /// Source words that a jump may skip.
    pub distortion: Option<usize>,
    /// Which options there are.
    pub choice: Choice,
    /// Whether the gain's time is measured, which takes time itself.
    pub clock: bool,
}

/// What one chain works on.
pub struct Shard<'a> {
    /// All sentences.
    pub inputs: &'a [Input],
    /// Their references.
    pub references: &'a [References],
    /// The sentences of each batch.
    pub batches: &'a [Vec<usize>],
}

/// What a chain has learned in an epoch.
#[derive(Debug, Default)]
pub struct Epoch {
    /// The weights at the end.
    pub learned: Learned,
    /// Sum over updates of the update times the number of samples before it: the weights less this over
    /// [`Epoch::collected`] are the average. The system's features, then the chain's own.
    pub drift: (Vec<f64>, Vec<f64>),
    /// Samples after which the weights were collected.
    pub collected: u64,
    /// All samples.
    pub samples: u64,
    /// Samples that changed a derivation.
    pub moves: u64,
    /// Updates of the weights.
    pub updates: u64,
    /// Those that took the largest step.
    pub capped: u64,
    /// Gains of the batches at the end, summed over sentences.
    pub gain: f64,
    /// Gains of the oracles seen, summed over learning samples.
    pub oracle: f64,
    /// Members whose gain was worked out, and all members, while learning.
    pub probed: (u64, u64),
    /// Time that gains took.
    pub gain_time: Duration,
    /// Time that sampling and learning took, getting ready aside.
    pub time: Duration,
}

/// A sentence of a batch.
struct Member<'a> {
    chain: Chain<'a>,
    text: Text<'a>,
    /// Numbers of all target words of the options, as the references have them.
    symbols: Vec<u16>,
    /// For each option, its target words and those that a reference has.
    counts: Vec<(u8, u8)>,
}

impl Member<'_> {
    /// The number of target words before a phrase.
    fn place(&self, at: usize) -> usize {
        let options = self.chain.ready.options;
        self.chain.phrases[..at].iter().map(|&option| options.place(option).len()).sum()
    }

    /// The target words of the phrases of a window.
    fn words(&self, (first, last): (usize, usize)) -> (usize, usize) {
        let options = self.chain.ready.options;
        let from = self.place(first);
        let inside: usize =
            self.chain.phrases[first..last].iter().map(|&option| options.place(option).len()).sum();
        (from, from + inside)
    }
}

/// One epoch of one chain: all batches of its shard, one after the other.
pub fn rank(
    system: &System,
    weights: &Weights,
    start: &[f64],
    fixed: &[bool],
    shard: &Shard<'_>,
    options: &RankOptions,
    (seed, number): (u64, u64),
) -> Result<Epoch> {
    options.mix.check()?;
    let mut epoch = Epoch { learned: Learned::new(start.to_vec()), ..Epoch::default() };
    let mut rng = stream(seed, number);
    for batch in shard.batches {
        let inputs: Vec<&Input> = batch.iter().map(|&i| &shard.inputs[i]).collect();
        inputs.iter().try_for_each(|input| input.check())?;
        let sentences: Vec<Sentence<'_>> =
            inputs.iter().map(|input| Sentence::new(input, &system.vocabulary)).collect();
        let collect = |s| Collector::new(system, s, weights, None, options.choice).collect();
        let all: Vec<Options> = sentences.iter().map(collect).collect::<Result<_>>()?;
        let stacks: Vec<RefCell<Stacks>> = batch.iter().map(|_| RefCell::default()).collect();
        let made = sentences.iter().zip(&all).zip(&stacks);
        let readies: Vec<Ready<'_>> = made
            .map(|((sentence, options), stacks)| {
                Ready::new(system, Context { sentence, options, weights, stacks, memory: MEMORY }, None)
            })
            .collect();
        let mut worker = Worker {
            epoch: &mut epoch,
            options,
            fixed,
            bleu: Bleu::new(options.scale, options.add),
            total: Tally::default(),
            members: Vec::with_capacity(batch.len()),
            scratch: Scratch::default(),
            hood: Hood::default(),
            shares: Vec::new(),
            sequence: Vec::new(),
            step: Sparse::default(),
            moved: Vec::new(),
            bounds: Bounds::default(),
        };
        for ((ready, &sentence), all) in readies.iter().zip(batch).zip(&all) {
            let references = &shard.references[sentence];
            worker.join(ready, references, references.symbols(ready.sentence, all), sentence)?;
        }
        worker.run(&mut rng);
    }
    Ok(epoch)
}

/// A batch at work.
struct Worker<'a, 'e> {
    epoch: &'e mut Epoch,
    options: &'e RankOptions,
    fixed: &'e [bool],
    bleu: Bleu,
    /// Statistics of the whole batch.
    total: Tally,
    members: Vec<Member<'a>>,
    scratch: Scratch,
    hood: Hood,
    shares: Vec<f64>,
    sequence: Vec<u32>,
    step: Sparse,
    moved: Vec<(u32, f64)>,
    bounds: Bounds,
}

impl<'a> Worker<'a, '_> {
    fn join(
        &mut self,
        ready: &'a Ready<'a>,
        references: &'a References,
        symbols: Vec<u16>,
        sentence: usize,
    ) -> Result<()> {
        let from = (self.options.distortion, self.options.start);
        let chain = Chain::new(ready, from, &mut self.epoch.learned, &mut self.scratch)
            .map_err(|error| Error::Invalid(format!("line {}: {error}", sentence + 1)))?;
        let mut text = Text::new(references);
        let words = chain.phrases.iter().map(|&option| &symbols[ready.options.place(option)]);
        text.replace(0, 0, words);
        self.total.add(&text.tally, 1);
        let count = |option: u32| {
            let words = &symbols[ready.options.place(option)];
            let known = words.iter().filter(|symbol| **symbol > 0).count();
            (words.len().min(120) as u8, known.min(120) as u8)
        };
        let counts = (0..ready.options.len() as u32).map(count).collect();
        self.members.push(Member { chain, text, symbols, counts });
        Ok(())
    }

    fn run(&mut self, rng: &mut Generator) {
        let began = Instant::now();
        let count = self.members.len();
        let (burn, learn) = (self.options.burn_in * count, self.options.samples * count);
        let heat = (self.options.hot / self.options.temperature).max(1.0);
        let mut at = 0;
        for sample in 0..burn + learn {
            if sample % self.options.visit.max(1) == 0 {
                at = below(rng, count);
            }
            let left = (1.0 - sample as f64 / burn.max(1) as f64).max(0.0);
            let temperature = self.options.temperature * heat.powf(left);
            self.sample(at, sample >= burn, temperature, rng);
        }
        self.epoch.samples += (burn + learn) as u64;
        self.epoch.gain += self.bleu.score(&self.total) * count as f64;
        self.epoch.time += began.elapsed();
    }

    /// One sample: a move, and while learning an update if the ranking is wrong.
    fn sample(&mut self, at: usize, learning: bool, temperature: f64, rng: &mut Generator) {
        let Self { epoch, options, members, scratch, hood, shares, .. } = self;
        let chain = &mut members[at].chain;
        if chain.look(&mut epoch.learned, &options.mix, rng, scratch, hood) {
            let sampled = draw(hood, temperature, rng, shares);
            if learning && hood.scores.len() > 1 {
                self.learn(at, sampled);
            }
            if sampled != self.hood.current {
                self.take(at, sampled);
            }
        }
        self.epoch.collected += u64::from(learning);
    }

    /// Moves a sentence to a member of its neighbourhood.
    fn take(&mut self, at: usize, member: usize) {
        let Self { epoch, members, scratch, hood, sequence, total, .. } = self;
        let one = &mut members[at];
        hood.options(&one.chain, member, sequence);
        let (from, to) = one.words(hood.window);
        one.chain.take(&mut epoch.learned, scratch, hood, member);
        let options = one.chain.ready.options;
        total.add(&one.text.tally, -1);
        let Member { text, symbols, .. } = one;
        text.replace(from, to, sequence.iter().map(|&option| &symbols[options.place(option)]));
        total.add(&text.tally, 1);
        epoch.moves += 1;
    }

    fn learn(&mut self, at: usize, sampled: usize) {
        let began = self.options.clock.then(Instant::now);
        let (oracle, best, gain) = self.gains(at, sampled);
        if let Some(began) = began {
            self.epoch.gain_time += began.elapsed();
        }
        self.epoch.oracle += best;
        let (better, closer) = (best - gain, self.hood.scores[oracle] - self.hood.scores[sampled]);
        let margin = if self.options.margin { best } else { 1.0 };
        // Equation 4: the ranks differ. An oracle that is worse by gain would ask for a negative margin.
        let wrong = closer < 0.0 || (self.options.always && closer < margin * better);
        if better <= 0.0 || !wrong {
            return;
        }
        self.update(at, oracle, sampled, margin * better - closer);
    }

    /// Oracle, its gain, and the gain of the sampled member.
    ///
    /// A member whose score and largest possible gain are not above the best sum so far is not looked at further.
    fn gains(&mut self, at: usize, sampled: usize) -> (usize, f64, f64) {
        let Self { epoch, options, members, hood, bleu, total, sequence, bounds, .. } = self;
        let one = &mut members[at];
        let window = one.words(hood.window);
        let Member { chain, text, symbols, counts } = one;
        let all = chain.ready.options;
        let mut rest = *total;
        rest.add(&text.tally, -1);
        text.open(window.0, window.1);
        let mut gain_of = |text: &mut Text<'_>, member: usize| {
            epoch.probed.0 += 1;
            hood.options(chain, member, sequence);
            let mut tally = text.probe(sequence.iter().map(|&option| &symbols[all.place(option)]));
            tally.add(&rest, 1);
            bleu.score(&tally)
        };
        let hope = if options.oracle == Oracle::Hope { 1.0 } else { 1e-9 };
        let gain = gain_of(text, sampled);
        let mut best = (gain + hope * hood.scores[sampled], sampled, gain);
        bounds.fill(hood, counts, text.len() - (window.1 - window.0));
        for (member, &score) in hood.scores.iter().enumerate() {
            if member == sampled || score == f64::NEG_INFINITY {
                continue;
            }
            let most = bounds.of(member, |known, empty, lengths| {
                let mut tally = text.bound(known, empty, lengths);
                tally.add(&rest, 1);
                bleu.score(&tally)
            });
            #[cfg(test)]
            let most = if PROBE_ALL.get() { f64::INFINITY } else { most };
            if hope * score + most <= best.0 {
                continue;
            }
            let gain = gain_of(text, member);
            if gain + hope * score > best.0 {
                best = (gain + hope * score, member, gain);
            }
        }
        text.close();
        epoch.probed.1 += hood.scores.len() as u64;
        (best.1, best.2, gain)
    }

    /// Moves the weights by min(b / |a|^2, C) a, where a is the difference of the features (after equation 6).
    fn update(&mut self, at: usize, oracle: usize, sampled: usize, b: f64) {
        let Self { epoch, options, members, scratch, hood, step, fixed, .. } = self;
        let chain = &mut members[at].chain;
        for (member, sign) in [(oracle, 1.0), (sampled, -1.0)] {
            let mut add = |id: u32, value: f64| step.add(id, value);
            chain.difference(&mut epoch.learned, scratch, hood, (member, sign), &mut add);
        }
        let still = |id: u32| fixed.get(id as usize).copied().unwrap_or(false);
        let (mut norm, mut moved) = (0.0, std::mem::take(&mut self.moved));
        step.drain(|id, value| {
            if !still(id) {
                norm += value * value;
                moved.push((id, value));
            }
        });
        if norm > 0.0 {
            let size = (b / norm).min(options.c);
            epoch.updates += 1;
            epoch.capped += u64::from(b / norm > options.c);
            for &(id, value) in &moved {
                epoch.learned.add(id, size * value);
                let (drift, at) = if id >= OWN {
                    (&mut epoch.drift.1, (id - OWN) as usize)
                } else {
                    (&mut epoch.drift.0, id as usize)
                };
                if drift.len() <= at {
                    drift.resize(at + 1, 0.0);
                }
                drift[at] += epoch.collected as f64 * size * value;
            }
            epoch.learned.changed();
        }
        moved.clear();
        self.moved = moved;
    }
}
