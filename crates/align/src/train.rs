//! Training: independent samplers in both directions, and links from the average of what they believe.

use crate::bitext::{Bitext, Report, Side, Spelling};
use crate::direction::Direction;
use crate::links::Links;
use crate::model::{Lexicon, Model, Table};
use crate::sampler::{FERTILITIES, Level, Priors, Sampler};
use crate::weights::NONE;
use dragoman_base::{Error, Result, Texts, random};
use rayon::prelude::*;

/// How an aligner is trained.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// How words become types.
    pub spelling: Spelling,
    /// Independent samplers in each direction.
    pub samplers: usize,
    /// Sweeps of IBM 1, of the HMM, and of the HMM with fertilities; without, as many as [`sweeps_for`] says.
    pub sweeps: Option<[usize; 3]>,
    /// Times each sentence is sampled in the last pass, whose distributions are averaged.
    pub collect: usize,
    /// Priors of the model.
    pub priors: Priors,
    /// Seed of everything random.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            spelling: Spelling::default(),
            samplers: 3,
            sweeps: None,
            collect: 4,
            priors: Priors::default(),
            seed: 0,
        }
    }
}

/// How many sweeps a text of so many pairs needs. A small text needs more, since there is less to learn from, and
/// can have more in the same time.
pub fn sweeps_for(pairs: usize) -> [usize; 3] {
    let last = ((3500.0 / (pairs as f64).sqrt()).round() as usize).clamp(8, 28);
    [(last / 4).max(2), last / 2, last]
}

impl Options {
    /// Checks the options, and reads and indexes a bitext.
    pub(crate) fn read(&self, source: &Texts, target: &Texts) -> Result<Bitext> {
        self.check()?;
        let bitext = Bitext::new(source, target, self.spelling)?;
        if bitext.source.tokens.is_empty() {
            return Err(Error::Invalid(format!(
                "expected a sentence pair with words on both sides and at most {} on each, found none in {}",
                self.spelling.longest, bitext.report.pairs
            )));
        }
        Ok(bitext)
    }

    /// Refuses what cannot be trained.
    pub fn check(&self) -> Result<()> {
        let Priors { lexical, null_lexical, null, jump, fertility } = self.priors;
        let positive = [lexical, null_lexical, jump, fertility].iter().all(|p| p.is_finite() && *p > 0.0);
        let wrong = if self.samplers == 0 || self.collect == 0 || self.sweeps.is_some_and(|s| s[2] == 0) {
            "at least one sampler, one sweep of the last model and one sample of each sentence"
        } else if !positive || !(0.0..1.0).contains(&null) {
            "positive priors, and a probability below 1 of having no link"
        } else if self.spelling.longest == 0 || self.spelling.longest > 10_000 {
            "a longest sentence of 1 to 10000 words"
        } else {
            return Ok(());
        };
        Err(Error::Invalid(format!("expected {wrong}")))
    }
}

/// Sentence pairs between two meetings of the samplers in the last pass.
const BLOCK: usize = 512;

/// Links less probable than this do not enter the model.
const UNLIKELY: f32 = 0.01;

/// The model of a sweep, counted from 0.
pub(crate) fn level_of(sweep: usize, [ibm1, hmm, _]: [usize; 3]) -> Level {
    match sweep {
        k if k < ibm1 => Level::Ibm1,
        k if k < ibm1 + hmm => Level::Hmm,
        _ => Level::Fertility,
    }
}

/// What the samplers of a direction agree on.
pub(crate) struct Decision {
    pub links: Vec<u16>,
    pub lexicon: Lexicon,
}

/// All samplers of one direction.
struct Chain {
    shared: Direction,
    samplers: Vec<Sampler>,
}

/// A last pass, in which the distributions of all links are averaged.
pub(crate) fn decide(shared: &Direction, samplers: &mut [Sampler], level: Level, collect: usize) -> Decision {
    let mut links = Vec::with_capacity(shared.made.tokens.len());
    let mut entries = Vec::new();
    let mut nulls = vec![0.0; shared.made.types];
    for first in (0..shared.given.len()).step_by(BLOCK) {
        let block = first..shared.given.len().min(first + BLOCK);
        let rows = block_posterior(shared, samplers, block.clone(), level, collect);
        let mut rest = rows.as_slice();
        for s in block {
            let words = shared.given.sentence(s);
            for &f in shared.made.sentence(s) {
                let (row, after) = rest.split_at(words.len() + 1);
                rest = after;
                links.push(most_probable(row));
                nulls[f as usize] += row[words.len()];
                let likely = words.iter().zip(row).filter(|(_, p)| **p >= UNLIKELY);
                entries.extend(likely.map(|(&e, &p)| (e, f, p)));
            }
        }
    }
    let partners = shared.cells.partners.clone();
    Decision { links, lexicon: Lexicon::new(shared.given.types, entries, nulls, partners) }
}

impl Chain {
    fn new(shared: Direction, options: &Options, first: usize) -> Self {
        let make =
            |k| Sampler::new(&shared, options.priors, random::stream(options.seed, (first + k) as u64));
        let samplers = (0..options.samplers).into_par_iter().map(make).collect();
        Self { shared, samplers }
    }

    fn table(&self, lexicon: Lexicon) -> Table {
        let share = 1.0 / self.samplers.len() as f32;
        let mut jumps = vec![0.0; 2 * self.shared.longest + 3];
        let mut fertility = vec![0.0; self.shared.given.types * FERTILITIES];
        for sampler in &self.samplers {
            for (mean, p) in jumps.iter_mut().zip(sampler.jumps.probabilities()) {
                *mean += share * p;
            }
            for (mean, count) in fertility.iter_mut().zip(sampler.fertilities()) {
                *mean += share * count;
            }
        }
        Table { lexicon, jumps, fertility }
    }
}

/// The mean distribution of every link of some sentence pairs, over samplers and samples, one row after the other.
fn block_posterior(
    shared: &Direction,
    samplers: &mut [Sampler],
    block: std::ops::Range<usize>,
    level: Level,
    collect: usize,
) -> Vec<f32> {
    let share = 1.0 / (samplers.len() * collect) as f32;
    let rows: Vec<Vec<f32>> = samplers
        .par_iter_mut()
        .map(|sampler| {
            let mut rows = Vec::new();
            for s in block.clone() {
                let start = rows.len();
                let size = (shared.given.sentence(s).len() + 1) * shared.made.sentence(s).len();
                rows.resize(start + size, 0.0);
                for _ in 0..collect {
                    sampler.sentence(shared, s, level, Some(&mut rows[start..]));
                }
            }
            rows
        })
        .collect();
    let mut sum = vec![0.0f32; rows[0].len()];
    for row in &rows {
        for (sum, p) in sum.iter_mut().zip(row) {
            *sum += share * p;
        }
    }
    sum
}

/// The most probable link of a row; the first of equals.
pub(crate) fn most_probable(row: &[f32]) -> u16 {
    let mut best = 0;
    for (i, &p) in row.iter().enumerate() {
        if p > row[best] {
            best = i;
        }
    }
    if best + 1 == row.len() { NONE } else { best as u16 }
}

/// Adds the links of a sentence pair, given the link of each made word; `flip` where the made side is the source.
pub(crate) fn push_links(links: &mut Links, best: &[u16], flip: bool, pair: &mut Vec<(u32, u32)>) {
    pair.clear();
    for (j, &i) in best.iter().enumerate() {
        if i != NONE {
            pair.push(if flip { (j as u32, u32::from(i)) } else { (u32::from(i), j as u32) });
        }
    }
    links.push(pair);
}

fn all_links(made: &Side, best: &[u16], flip: bool) -> Links {
    let (mut links, mut pair) = (Links::new(), Vec::new());
    for s in 0..made.len() {
        push_links(&mut links, &best[made.starts[s]..made.starts[s + 1]], flip, &mut pair);
    }
    links
}

/// The outcome of training. Both kinds of links name source positions first.
pub struct Trained {
    /// Links in which each target word has at most one source word.
    pub forward: Links,
    /// Links in which each source word has at most one target word.
    pub reverse: Links,
    /// What new text can be aligned with.
    pub model: Model,
}

/// A training run, sweep by sweep.
pub struct Trainer {
    options: Options,
    bitext: Bitext,
    chains: [Chain; 2],
    sweeps: [usize; 3],
    done: usize,
}

impl Trainer {
    /// Reads and indexes a bitext, a line a sentence, on all cores.
    pub fn new(source: &Texts, target: &Texts, options: Options) -> Result<Self> {
        let bitext = options.read(source, target)?;
        let (forward, reverse) = rayon::join(
            || Direction::new(&bitext.source, &bitext.target),
            || Direction::new(&bitext.target, &bitext.source),
        );
        let chains = [Chain::new(forward, &options, 0), Chain::new(reverse, &options, options.samplers)];
        let sweeps = options.sweeps.unwrap_or_else(|| sweeps_for(bitext.report.pairs));
        Ok(Self { options, bitext, chains, sweeps, done: 0 })
    }

    /// What was odd about the bitext.
    pub fn report(&self) -> Report {
        self.bitext.report
    }

    /// Number of sweeps of the whole run.
    pub fn sweeps(&self) -> usize {
        self.sweeps.iter().sum()
    }

    /// Number of sweeps done.
    pub fn done(&self) -> usize {
        self.done
    }

    /// The next sweep of all samplers of both directions, on all cores; false when all are done.
    pub fn sweep(&mut self) -> bool {
        if self.done == self.sweeps() {
            return false;
        }
        let level = level_of(self.done, self.sweeps);
        self.chains.par_iter_mut().for_each(|chain| {
            let shared = &chain.shared;
            chain.samplers.par_iter_mut().for_each(|sampler| sampler.sweep(shared, level));
        });
        self.done += 1;
        true
    }

    /// Does what sweeps are left, and decides.
    pub fn finish(mut self) -> Trained {
        while self.sweep() {}
        let collect = self.options.collect;
        let decisions: Vec<Decision> = self
            .chains
            .par_iter_mut()
            .map(|chain| decide(&chain.shared, &mut chain.samplers, Level::Fertility, collect))
            .collect();
        let links: Vec<Links> = decisions
            .iter()
            .zip([(&self.bitext.target, false), (&self.bitext.source, true)])
            .map(|(decision, (made, flip))| all_links(made, &decision.links, flip))
            .collect();
        let mut tables = decisions.into_iter().zip(&self.chains).map(|(d, chain)| chain.table(d.lexicon));
        let mut table = || tables.next().expect("two directions");
        let model = Model {
            spelling: self.options.spelling,
            priors: self.options.priors,
            words: [self.bitext.source.words.clone(), self.bitext.target.words.clone()],
            tables: [table(), table()],
        };
        let [forward, reverse]: [Links; 2] = links.try_into().expect("two directions");
        Trained { forward, reverse, model }
    }
}
