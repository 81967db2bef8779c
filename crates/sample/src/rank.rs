//! `SampleRank` (Haddow et al. 2011): weights are moved while derivations are sampled, whenever the model and BLEU rank
//! two members of a neighbourhood differently. Nothing is ever decoded.

use super::MEMORY;
use super::anneal::{text, text_with};
use super::bounds::Bounds;
use super::chain::{Chain, Start};
use super::judge::Learned;
use super::learn::Pick;
use super::moves::{Mix, draw};
use super::neighbourhood::{Neighbourhood, Scratch};
use super::pace::Pace;
use super::sparse::Sparse;
use dragoman_base::random::{Generator, below, stream};
use dragoman_base::{Error, Result};
use dragoman_metric::bleu::incremental::{References, Scorer, Tally, Text};
use dragoman_metric::capability::Incremental;
use dragoman_model::Weights;
use dragoman_model::{Input, Sentence};
use dragoman_phrase::System;
use dragoman_phrase::feature::{Context, Stacks};
use dragoman_phrase::search::Ready;
use dragoman_phrase::{Choice, Collector, Options};
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// Which member of a neighbourhood the others are held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oracle {
    /// The one with the largest sum of gain and model score (equation before 3 in the paper; "chiang" in its program).
    Hope,
    /// The one with the largest gain; of equal gains the one with the largest score.
    Gain,
    /// None: every member counts, by its probability times its gain above the mean, so that the weights climb the
    /// expected gain of the neighbourhood.
    Mean,
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
    /// Steps are this far at first and shorter later, see [`Pace`]; 0 takes the paper's steps, up to `c`.
    pub rate: f64,
    /// Largest step.
    pub c: f64,
    /// What a perfect gain is: 100 or 1.
    pub scale: f64,
    /// Added to all counts of the gain, unless the metric adds to counts itself.
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

/// Features of whole sentences and documents, whose weights are learned with all others.
pub trait TextFeatures: Sync {
    /// Their numbers in the system.
    fn ids(&self) -> &[u32];
    /// The sentences of a batch, without translations yet.
    fn open(&self, batch: &[usize]) -> Result<Box<dyn OpenTexts + '_>>;
}

/// The translations of a batch, as text features see them.
pub trait OpenTexts {
    /// Appends the value of each feature if the sentence at a place of the batch had this translation.
    fn values(&mut self, place: usize, text: &str, out: &mut Vec<f64>) -> Result<()>;
    /// The sentence has this translation from now on.
    fn keep(&mut self, place: usize, text: &str) -> Result<()>;
}

/// What one chain works on.
pub struct Shard<'a> {
    /// All sentences.
    pub inputs: &'a [Input],
    /// What is to be learned.
    pub metric: &'a Incremental,
    /// Their references.
    pub references: &'a [References],
    /// The sentences of each batch.
    pub batches: &'a [Vec<usize>],
    /// Features of whole texts.
    pub texts: Option<&'a dyn TextFeatures>,
}

/// What a chain has learned in an epoch.
#[derive(Debug, Default)]
pub struct Epoch {
    /// The weights at the end.
    pub learned: Learned,
    /// Sum over updates of the update times the number of samples before it: the weights less this over
    /// [`Epoch::collected`] are the average. The system's features, then the chain's own.
    pub drift: (Vec<f64>, Vec<f64>),
    /// What the sizes of steps depend on.
    pub pace: Pace,
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
    /// Best gains seen, summed over the neighbourhoods whose gains were worked out.
    pub oracle: f64,
    /// Those neighbourhoods.
    pub learned_from: u64,
    /// Members whose gain was worked out, and all members, while learning.
    pub probed: (u64, u64),
    /// Time that gains took.
    pub gain_time: Duration,
    /// Time that sampling and learning took, getting ready aside.
    pub time: Duration,
}

/// A sentence of a batch.
pub(super) struct Member<'a> {
    pub(super) chain: Chain<'a>,
    pub(super) text: Text<'a>,
    /// Numbers of all target words of the options, as the references have them.
    pub(super) symbols: Vec<u16>,
    /// For each option, its target words and those that a reference has.
    pub(super) counts: Vec<(u8, u8)>,
}

impl Member<'_> {
    /// The number of target words before a phrase.
    fn place(&self, at: usize) -> usize {
        let options = self.chain.ready.options();
        self.chain.phrases[..at].iter().map(|&option| options.place(option).len()).sum()
    }

    /// The target words of the phrases of a window.
    pub(super) fn words(&self, (first, last): (usize, usize)) -> (usize, usize) {
        let options = self.chain.ready.options();
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
    (start, pace): (&[f64], Pace),
    fixed: &[bool],
    shard: &Shard<'_>,
    options: &RankOptions,
    (seed, number): (u64, u64),
) -> Result<Epoch> {
    options.mix.check()?;
    let mut epoch = Epoch { learned: Learned::new(start.to_vec()), pace, ..Epoch::default() };
    let mut rng = stream(seed, number);
    for batch in shard.batches {
        let inputs: Vec<&Input> = batch.iter().map(|&i| &shard.inputs[i]).collect();
        inputs.iter().try_for_each(|input| input.check())?;
        let sentences: Vec<Sentence<'_>> = inputs.iter().map(|input| system.sentence(input)).collect();
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
            scorer: shard.metric.scorer(options.scale, options.add),
            total: Tally::default(),
            members: Vec::with_capacity(batch.len()),
            scratch: Scratch::default(),
            neighbourhood: Neighbourhood::default(),
            shares: Vec::new(),
            sequence: Vec::new(),
            step: Sparse::default(),
            picks: Vec::new(),
            gained: Vec::new(),
            moved: Vec::new(),
            bounds: Bounds::default(),
            texts: shard.texts.map(|texts| texts.open(batch)).transpose()?,
            text_ids: shard.texts.map_or(&[], |texts| texts.ids()),
            text_values: Vec::new(),
        };
        for ((ready, &sentence), all) in readies.iter().zip(batch).zip(&all) {
            let references = &shard.references[sentence];
            worker.join(ready, references, symbols(references, ready.sentence(), all), sentence)?;
        }
        worker.run(&mut rng)?;
    }
    Ok(epoch)
}

/// The numbers of all target words of a sentence's options, as its references have them.
pub(super) fn symbols(references: &References, sentence: &Sentence<'_>, options: &Options) -> Vec<u16> {
    options.targets().iter().map(|&word| references.symbol(sentence.target_text(word))).collect()
}

/// A batch at work.
pub(super) struct Worker<'a, 'e> {
    pub(super) epoch: &'e mut Epoch,
    pub(super) options: &'e RankOptions,
    pub(super) fixed: &'e [bool],
    pub(super) scorer: Scorer,
    /// Statistics of the whole batch.
    pub(super) total: Tally,
    pub(super) members: Vec<Member<'a>>,
    pub(super) scratch: Scratch,
    pub(super) neighbourhood: Neighbourhood,
    pub(super) shares: Vec<f64>,
    pub(super) sequence: Vec<u32>,
    pub(super) step: Sparse,
    pub(super) picks: Vec<Pick>,
    pub(super) gained: Vec<f64>,
    pub(super) moved: Vec<(u32, f64)>,
    pub(super) bounds: Bounds,
    /// Features of whole texts, their numbers, and by how much the values of each member of the neighbourhood differ
    /// from those of the current derivation.
    pub(super) texts: Option<Box<dyn OpenTexts + 'e>>,
    pub(super) text_ids: &'e [u32],
    pub(super) text_values: Vec<f64>,
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
        if let Some(texts) = &mut self.texts {
            texts.keep(self.members.len(), &text(&chain))?;
        }
        let mut text = Text::new(references);
        let words = chain.phrases.iter().map(|&option| &symbols[ready.options().place(option)]);
        text.replace(0, 0, words);
        self.total.add(&text.tally, 1);
        let count = |option: u32| {
            let words = &symbols[ready.options().place(option)];
            let known = words.iter().filter(|symbol| **symbol > 0).count();
            (words.len().min(120) as u8, known.min(120) as u8)
        };
        let counts = (0..ready.options().len() as u32).map(count).collect();
        self.members.push(Member { chain, text, symbols, counts });
        Ok(())
    }

    fn run(&mut self, rng: &mut Generator) -> Result<()> {
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
            self.sample(at, sample >= burn, temperature, rng)?;
        }
        self.epoch.samples += (burn + learn) as u64;
        self.epoch.gain += self.scorer.score(&self.total) * count as f64;
        self.epoch.time += began.elapsed();
        Ok(())
    }

    /// One sample: a move, and while learning an update if the ranking is wrong.
    fn sample(&mut self, at: usize, learning: bool, temperature: f64, rng: &mut Generator) -> Result<()> {
        let Self { epoch, options, members, scratch, neighbourhood, .. } = self;
        let chain = &mut members[at].chain;
        if chain.look(&mut epoch.learned, &options.mix, rng, scratch, neighbourhood) {
            self.weigh_texts(at)?;
            let Self { options, neighbourhood, shares, .. } = self;
            let sampled = draw(neighbourhood, temperature, rng, shares);
            if learning && neighbourhood.scores.len() > 1 {
                match options.oracle {
                    Oracle::Mean => self.climb(at),
                    Oracle::Hope | Oracle::Gain => self.rank(at, sampled),
                }
            }
            if sampled != self.neighbourhood.current {
                if let Some(texts) = &mut self.texts {
                    texts.keep(at, &text_with(&self.members[at].chain, &self.neighbourhood, sampled))?;
                }
                self.take(at, sampled);
            }
        }
        self.epoch.collected += u64::from(learning);
        Ok(())
    }

    /// Adds to the scores of a neighbourhood what features of whole texts say of each of its members.
    fn weigh_texts(&mut self, at: usize) -> Result<()> {
        let Self { epoch, members, neighbourhood, texts, text_ids, text_values, .. } = self;
        let Some(texts) = texts else { return Ok(()) };
        text_values.clear();
        for member in 0..neighbourhood.scores.len() {
            if neighbourhood.scores[member] == f64::NEG_INFINITY {
                text_values.resize(text_values.len() + text_ids.len(), 0.0);
            } else {
                texts.values(at, &text_with(&members[at].chain, neighbourhood, member), text_values)?;
            }
        }
        let count = text_ids.len();
        let now = text_values[neighbourhood.current * count..][..count].to_vec();
        for (values, score) in text_values.chunks_mut(count).zip(&mut neighbourhood.scores) {
            for ((value, now), &id) in values.iter_mut().zip(&now).zip(*text_ids) {
                *value -= now;
                if *score > f64::NEG_INFINITY {
                    *score += epoch.learned.weight(id) * *value;
                }
            }
        }
        Ok(())
    }

    /// Moves a sentence to a member of its neighbourhood.
    fn take(&mut self, at: usize, member: usize) {
        let Self { epoch, members, scratch, neighbourhood, sequence, total, .. } = self;
        let one = &mut members[at];
        neighbourhood.options(&one.chain, member, sequence);
        let (from, to) = one.words(neighbourhood.window);
        one.chain.take(&mut epoch.learned, scratch, neighbourhood, member);
        let options = one.chain.ready.options();
        total.add(&one.text.tally, -1);
        let Member { text, symbols, .. } = one;
        text.replace(from, to, sequence.iter().map(|&option| &symbols[options.place(option)]));
        total.add(&text.tally, 1);
        epoch.moves += 1;
    }
}
