//! Training in shards, which may be on many machines: each sampler goes over all shards at the same time, and its counts
//! are merged after each sweep (approximate distributed sampling: Newman et al. 2009).
//!
//! Within a sweep a shard sees its own links as they change, and those of the others as they were after the sweep
//! before. A shard is every so manieth sentence pair. Links are all that comes back: counts follow from them, so that
//! a sweep of a shard can be done anywhere, and done again.

use crate::bitext::{Bitext, Report, Side};
use crate::cells::partners;
use crate::counts::{Counts, Part};
use crate::direction::Direction;
use crate::links::Links;
use crate::model::{Lexicon, Model, Table};
use crate::sampler::{FERTILITIES, Level, Sampler};
use crate::train::{Decision, Options, Trained, decide, level_of, push_links, sweeps_for};
use crate::weights::NONE;
use crate::wire::{self, damaged};
use dragoman_base::{Error, Names, Result, Texts, random};
use rayon::prelude::*;
use std::sync::{Arc, OnceLock};

/// What a shard must know of the whole run.
#[derive(Debug, Clone, PartialEq)]
struct Plan {
    options: Options,
    sweeps: [usize; 3],
    shards: usize,
    /// Words of the longest sentence of each side.
    longest: [usize; 2],
    /// For each type of source and target, with how many of the other side it shares a sentence pair.
    partners: [Vec<u32>; 2],
}

impl Plan {
    /// The random stream of a sampler in a sweep of a shard; sweep 0 scatters links, and the one after the last decides.
    fn random(&self, sampler: usize, sweep: usize, shard: usize) -> random::Generator {
        let place = (sweep * self.shards + shard) * 2 * self.options.samplers + sampler;
        random::stream(self.options.seed, place as u64)
    }

    /// The model of a sweep, counted from 1; before them, and when all are done, the first and the last.
    fn level(&self, sweep: usize) -> Level {
        level_of(sweep.saturating_sub(1), self.sweeps)
    }
}

/// A part of a bitext.
#[derive(Debug)]
pub struct Shard {
    plan: Plan,
    number: usize,
    sides: [Arc<Side>; 2],
    /// The index of each direction, made when it is needed.
    indexes: [OnceLock<Index>; 2],
}

/// One direction of a shard.
#[derive(Debug)]
struct Index {
    direction: Direction,
    /// The given type at each place of each row; 0 at the first.
    row_types: Vec<u32>,
}

impl Index {
    fn new(given: &Arc<Side>, made: &Arc<Side>, longest: usize, partners: &[u32]) -> Self {
        // A pair that has one cell here may have others elsewhere.
        let mut direction = Direction::with(given, made, 1);
        direction.longest = longest;
        direction.cells.partners = partners.to_vec();
        let cells = &direction.cells;
        let mut row_types = vec![0; cells.rows[cells.rows.len() - 1]];
        for s in 0..given.len() {
            let (words, mut at) = (given.sentence(s), cells.starts[s]);
            for &f in made.sentence(s) {
                for &e in words {
                    row_types[cells.rows[f as usize] + cells.places.get(at)] = e;
                    at += 1;
                }
            }
        }
        Self { direction, row_types }
    }
}

/// A direction: which side is given.
fn given_side(sampler: usize, samplers: usize) -> usize {
    usize::from(sampler >= samplers)
}

impl Shard {
    fn index(&self, given: usize) -> &Index {
        let make = || {
            let (one, other) = (&self.sides[given], &self.sides[1 - given]);
            Index::new(one, other, self.plan.longest[given], &self.plan.partners[given])
        };
        self.indexes[given].get_or_init(make)
    }

    fn links(&self, given: usize, mut bytes: &[u8]) -> Result<Vec<u16>> {
        let links = wire::take(&mut bytes)?;
        if bytes.is_empty() && fits(&self.sides[given], &self.sides[1 - given], &links) {
            Ok(links)
        } else {
            Err(damaged())
        }
    }

    fn sampler(&self, sampler: usize, sweep: usize, links: &[u8], counts: &[u8]) -> Result<Sampler> {
        let Plan { options, longest, .. } = &self.plan;
        let given = given_side(sampler, options.samplers);
        let links = self.links(given, links)?;
        let Index { direction, row_types } = self.index(given);
        let (types, made) = (direction.given.types, direction.made.types);
        let counts = Counts::of_bytes(counts, types, made, longest[given])?;
        let random = self.plan.random(sampler, sweep, self.number);
        Ok(Sampler::of_shard(direction, row_types, options.priors, random, links, &counts))
    }

    fn check(&self, sampler: usize) -> Result<()> {
        let samplers = 2 * self.plan.options.samplers;
        if sampler < samplers {
            return Ok(());
        }
        Err(Error::Invalid(format!("expected a sampler below {samplers}, found {sampler}")))
    }

    /// Random links of a sampler, before the first sweep. Samplers are counted from 0, forward ones first.
    pub fn scatter(&self, sampler: usize) -> Result<Vec<u8>> {
        self.check(sampler)?;
        let random = self.plan.random(sampler, 0, self.number);
        let index = self.index(given_side(sampler, self.plan.options.samplers));
        let links = Sampler::new(&index.direction, self.plan.options.priors, random).links;
        let mut bytes = Vec::new();
        wire::put(&mut bytes, links.iter().copied());
        Ok(bytes)
    }

    /// A sweep of a sampler, counted from 1: new links, from those before and the counts of all shards.
    pub fn sweep(&self, sampler: usize, sweep: usize, links: &[u8], counts: &[u8]) -> Result<Vec<u8>> {
        self.check(sampler)?;
        let mut chain = self.sampler(sampler, sweep, links, counts)?;
        let index = self.index(given_side(sampler, self.plan.options.samplers));
        chain.sweep(&index.direction, self.plan.level(sweep));
        let mut bytes = Vec::new();
        wire::put(&mut bytes, chain.links.iter().copied());
        Ok(bytes)
    }

    /// What all samplers of a direction agree on in this shard; `given` is the side that is conditioned on, and
    /// `states` are links and counts of each of its samplers.
    pub fn decide(&self, given: usize, states: &[(&[u8], &[u8])]) -> Result<Vec<u8>> {
        let (samplers, last) = (self.plan.options.samplers, self.plan.sweeps.iter().sum::<usize>() + 1);
        if given > 1 || states.len() != samplers {
            return Err(Error::Invalid(format!("expected the states of {samplers} samplers of a direction")));
        }
        let chain = |(k, (links, counts)): (usize, &(&[u8], &[u8]))| {
            self.sampler(given * samplers + k, last, links, counts)
        };
        let mut chains = states.iter().enumerate().map(chain).collect::<Result<Vec<_>>>()?;
        let index = self.index(given);
        let found = decide(&index.direction, &mut chains, Level::Fertility, self.plan.options.collect);
        let mut bytes = Vec::new();
        wire::put(&mut bytes, found.links.iter().copied());
        wire::put(&mut bytes, found.lexicon.starts.iter().copied());
        wire::put(&mut bytes, found.lexicon.made.iter().copied());
        for numbers in [&found.lexicon.counts, &found.lexicon.totals, &found.lexicon.nulls] {
            wire::put(&mut bytes, numbers.iter().copied());
        }
        for chain in &chains {
            wire::put(&mut bytes, chain.links.iter().copied());
        }
        Ok(bytes)
    }

    /// The shard as bytes, for another process.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Plan { options, sweeps, shards, longest, partners } = &self.plan;
        let priors = &options.priors;
        let mut bytes = Vec::new();
        let numbers = [self.number, *shards, options.samplers, options.collect, options.seed as usize];
        let sizes = [self.sides[0].types, self.sides[1].types];
        let all = numbers.iter().chain(sweeps).chain(longest).chain(&sizes).map(|&n| n as u64);
        wire::put(&mut bytes, all.collect::<Vec<u64>>().into_iter());
        let given = [priors.lexical, priors.null_lexical, priors.null, priors.jump, priors.fertility];
        wire::put(&mut bytes, given.into_iter());
        for (side, partners) in self.sides.iter().zip(partners) {
            wire::put(&mut bytes, partners.iter().copied());
            wire::put(&mut bytes, side.tokens.iter().copied());
            wire::put(&mut bytes, side.starts.iter().map(|&start| start as u64));
        }
        bytes
    }

    /// The shard of these bytes.
    pub fn of_bytes(mut bytes: &[u8]) -> Result<Self> {
        let numbers: Vec<u64> = wire::take(&mut bytes)?;
        let numbers: [u64; 12] = numbers.try_into().map_err(|_| damaged())?;
        let [number, shards, samplers, collect, _, ibm1, hmm, last, from, to, one, other] =
            numbers.map(|n| n as usize);
        let priors: Vec<f32> = wire::take(&mut bytes)?;
        let &[lexical, null_lexical, null, jump, fertility] = priors.as_slice() else {
            return Err(damaged());
        };
        let priors = crate::Priors { lexical, null_lexical, null, jump, fertility };
        let options = Options { samplers, collect, priors, seed: numbers[4], ..Options::default() };
        let mut side = |types: usize| {
            let (partners, tokens): (Vec<u32>, Vec<u32>) = (wire::take(&mut bytes)?, wire::take(&mut bytes)?);
            let starts: Vec<usize> =
                wire::take::<u64>(&mut bytes)?.iter().map(|&start| start as usize).collect();
            let whole = partners.len() == types
                && tokens.iter().all(|&token| (token as usize) < types)
                && starts.is_sorted()
                && (starts.first(), starts.last()) == (Some(&0), Some(&tokens.len()));
            let side = Side { words: Names::new(), types, tokens, starts };
            if whole { Ok((Arc::new(side), partners)) } else { Err(damaged()) }
        };
        let ((source, first), (target, second)) = (side(one)?, side(other)?);
        let long = |side: &Side, most| side.starts.windows(2).any(|w| w[1] - w[0] > most);
        if !bytes.is_empty() || source.len() != target.len() || long(&source, from) || long(&target, to) {
            return Err(damaged());
        }
        let plan = Plan {
            options,
            sweeps: [ibm1, hmm, last],
            shards,
            longest: [from, to],
            partners: [first, second],
        };
        Ok(Self { plan, number, sides: [source, target], indexes: Default::default() })
    }
}

/// Whether there is a link for each made token, to a word of its sentence.
fn fits(given: &Side, made: &Side, links: &[u16]) -> bool {
    let inside = |s: usize| {
        let words = given.sentence(s).len();
        let own = links.get(made.starts[s]..made.starts[s + 1]);
        own.is_some_and(|own| own.iter().all(|&link| link == NONE || usize::from(link) < words))
    };
    links.len() == made.tokens.len() && (0..given.len()).all(inside)
}

/// A training run in shards, as the process sees it that merges the counts.
pub struct Shards {
    bitext: Bitext,
    plan: Plan,
    parts: Vec<Arc<Shard>>,
    /// For each sampler, forward ones first, its links in each shard.
    links: Vec<Vec<Vec<u16>>>,
    /// For each sampler, the jumps that were in force last.
    jumps: Vec<Vec<f32>>,
    decisions: [Vec<Option<Decision>>; 2],
}

/// Every so manieth sentence of a side.
fn cut(side: &Side, first: usize, step: usize) -> Side {
    let mut part = Side { types: side.types, ..Side::default() };
    for s in (first..side.len()).step_by(step) {
        part.tokens.extend_from_slice(side.sentence(s));
        part.starts.push(part.tokens.len());
    }
    part
}

impl Shards {
    /// Reads a bitext, a line a sentence, and cuts it.
    pub fn new(source: &Texts, target: &Texts, options: Options, shards: usize) -> Result<Self> {
        let bitext = options.read(source, target)?;
        if shards == 0 || shards > bitext.report.pairs {
            let pairs = bitext.report.pairs;
            return Err(Error::Invalid(format!(
                "expected 1 to {pairs} shards of {pairs} pairs, found {shards}"
            )));
        }
        let sides = [&bitext.source, &bitext.target];
        let longest = |side: &Side| side.starts.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0);
        let plan = Plan {
            options,
            sweeps: options.sweeps.unwrap_or_else(|| sweeps_for(bitext.report.pairs)),
            shards,
            longest: sides.map(|side| longest(side)),
            partners: [partners(sides[0], sides[1]), partners(sides[1], sides[0])],
        };
        let cut = |number: usize| {
            let sides = sides.map(|side| Arc::new(cut(side, number, shards)));
            Arc::new(Shard { plan: plan.clone(), number, sides, indexes: Default::default() })
        };
        let parts = (0..shards).into_par_iter().map(cut).collect();
        let links = vec![vec![Vec::new(); shards]; 2 * options.samplers];
        let decisions = [0, 1].map(|_| (0..shards).map(|_| None).collect());
        let jumps = vec![Vec::new(); 2 * options.samplers];
        Ok(Self { bitext, plan, parts, links, jumps, decisions })
    }

    /// What was odd about the bitext.
    pub fn report(&self) -> Report {
        self.bitext.report
    }

    /// Number of sweeps of the whole run.
    pub fn sweeps(&self) -> usize {
        self.plan.sweeps.iter().sum()
    }

    /// The shards.
    pub fn shards(&self) -> &[Arc<Shard>] {
        &self.parts
    }

    fn seen<'a>(&'a self, sampler: usize) -> Result<Vec<Part<'a>>> {
        let given = given_side(sampler, self.plan.options.samplers);
        let part = |(shard, links): (&'a Arc<Shard>, &'a Vec<u16>)| -> Part<'a> {
            (&shard.sides[given], &shard.sides[1 - given], links)
        };
        let parts: Vec<Part<'a>> = self.parts.iter().zip(&self.links[sampler]).map(part).collect();
        if parts.iter().all(|(_, made, links)| made.tokens.len() == links.len()) {
            return Ok(parts);
        }
        Err(Error::Invalid("some shards have not come back from the sweep".to_owned()))
    }

    /// The counts of a sampler for a sweep, counted from 1; the one after the last is the decision.
    pub fn counts(&mut self, sampler: usize, sweep: usize) -> Result<Vec<u8>> {
        let counts = self.counted(sampler, sweep)?;
        let bytes = counts.to_bytes();
        self.jumps[sampler] = counts.jumps;
        Ok(bytes)
    }

    fn counted(&self, sampler: usize, sweep: usize) -> Result<Counts> {
        let Plan { options, longest, .. } = &self.plan;
        let given = given_side(sampler, options.samplers);
        let prior = (sweep > 1).then_some(options.priors.jump);
        Ok(Counts::of(&self.seen(sampler)?, self.plan.level(sweep), longest[given], prior))
    }

    /// The links of a sampler in a shard, as [`Shard::sweep`] takes them.
    pub fn state(&self, sampler: usize, shard: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        wire::put(&mut bytes, self.links[sampler][shard].iter().copied());
        bytes
    }

    /// Takes what [`Shard::scatter`] or [`Shard::sweep`] gave.
    pub fn take(&mut self, sampler: usize, shard: usize, links: &[u8]) -> Result<()> {
        let given = given_side(sampler, self.plan.options.samplers);
        self.links[sampler][shard] = self.parts[shard].links(given, links)?;
        Ok(())
    }

    /// Takes what [`Shard::decide`] gave.
    pub fn decided(&mut self, given: usize, shard: usize, mut bytes: &[u8]) -> Result<()> {
        let bytes = &mut bytes;
        let links: Vec<u16> = wire::take(bytes)?;
        let (starts, made) = (wire::take(bytes)?, wire::take(bytes)?);
        let (counts, totals, nulls) = (wire::take(bytes)?, wire::take(bytes)?, wire::take(bytes)?);
        let sides = &self.parts[shard].sides;
        if !fits(&sides[given], &sides[1 - given], &links) {
            return Err(damaged());
        }
        let samplers = self.plan.options.samplers;
        for k in 0..samplers {
            let last = wire::take(bytes)?;
            if !fits(&self.parts[shard].sides[given], &self.parts[shard].sides[1 - given], &last) {
                return Err(damaged());
            }
            self.links[given * samplers + k][shard] = last;
        }
        let partners = self.plan.partners[given].clone();
        let lexicon = Lexicon { starts, made, counts, totals, partners, nulls };
        self.decisions[given][shard] = Some(Decision { links, lexicon });
        Ok(())
    }

    /// Joins what was decided; every shard has come back in both directions.
    pub fn finish(mut self) -> Result<Trained> {
        let missing = || Error::Invalid("some shards have not been decided".to_owned());
        let mut tables = Vec::new();
        let mut links = Vec::new();
        for given in [0, 1] {
            let decisions = std::mem::take(&mut self.decisions[given]);
            let decisions = decisions.into_iter().collect::<Option<Vec<_>>>().ok_or_else(missing)?;
            let (best, lexicons): (Vec<_>, Vec<_>) =
                decisions.into_iter().map(|d| (d.links, d.lexicon)).unzip();
            links.push(self.joined(given, &best));
            let (jumps, fertility) = self.means(given)?;
            tables.push(Table { lexicon: Lexicon::sum(lexicons), jumps, fertility });
        }
        let words = [self.bitext.source.words.clone(), self.bitext.target.words.clone()];
        let tables: [Table; 2] = tables.try_into().expect("two directions");
        let model =
            Model { spelling: self.plan.options.spelling, priors: self.plan.options.priors, words, tables };
        if !(0..2).all(|k| model.tables[k].is_sound(model.words[k].len(), model.words[1 - k].len())) {
            return Err(damaged());
        }
        let [forward, reverse]: [Links; 2] = links.try_into().expect("two directions");
        Ok(Trained { forward, reverse, model })
    }

    /// Jump probabilities and fertility counts of a direction, as means over its samplers.
    fn means(&self, given: usize) -> Result<(Vec<f32>, Vec<f32>)> {
        let Plan { options, longest, .. } = &self.plan;
        let share = 1.0 / options.samplers as f32;
        let types = self.parts[0].sides[given].types;
        let (mut jumps, mut fertility) = (vec![0.0; 2 * longest[given] + 3], vec![0.0; types * FERTILITIES]);
        for sampler in given * options.samplers..(given + 1) * options.samplers {
            let counts = Counts::of(&self.seen(sampler)?, Level::Fertility, longest[given], None);
            jumps.iter_mut().zip(&self.jumps[sampler]).for_each(|(mean, p)| *mean += share * p);
            fertility.iter_mut().zip(&counts.fertilities).for_each(|(mean, &n)| *mean += share * n as f32);
        }
        Ok((jumps, fertility))
    }

    /// The links of a direction in the order of the text.
    fn joined(&self, given: usize, best: &[Vec<u16>]) -> Links {
        let (mut links, mut pair) = (Links::new(), Vec::new());
        for s in 0..self.bitext.source.len() {
            let (shard, at) = (s % self.plan.shards, s / self.plan.shards);
            let starts = &self.parts[shard].sides[1 - given].starts;
            push_links(&mut links, &best[shard][starts[at]..starts[at + 1]], given == 1, &mut pair);
        }
        links
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn corpus(seed: u64, pairs: usize) -> (Texts, Texts) {
        let mut rng = random::stream(seed, 0);
        let mut side = |letter: char| -> Texts {
            let mut line = |pair: usize| -> String {
                let words = (0..random::below(&mut rng, 7)).map(|_| random::below(&mut rng, 9));
                let words: Vec<String> =
                    words.collect::<Vec<_>>().iter().map(|n| format!("{letter}{n}")).collect();
                if pair == 1 { String::new() } else { words.join(" ") }
            };
            (0..pairs).map(&mut line).collect()
        };
        (side('e'), side('f'))
    }

    fn options() -> Options {
        Options { samplers: 2, sweeps: Some([2, 3, 4]), collect: 3, seed: 5, ..Options::default() }
    }

    /// A whole run, all of which goes through bytes; `look` sees it after each sweep.
    fn run(
        source: &Texts,
        target: &Texts,
        shards: usize,
        mut look: impl FnMut(&mut Shards, usize),
    ) -> Trained {
        let mut all = Shards::new(source, target, options(), shards).unwrap();
        let parts: Vec<Shard> =
            all.shards().iter().map(|shard| Shard::of_bytes(&shard.to_bytes()).unwrap()).collect();
        let samplers = 2 * all.plan.options.samplers;
        for sweep in 0..=all.sweeps() {
            let counts: Vec<Vec<u8>> = match sweep {
                0 => vec![Vec::new(); samplers],
                _ => (0..samplers).map(|k| all.counts(k, sweep).unwrap()).collect(),
            };
            let work: Vec<(usize, usize)> =
                (0..samplers).flat_map(|k| (0..shards).map(move |shard| (k, shard))).collect();
            let found: Vec<Vec<u8>> = work
                .iter()
                .map(|&(k, shard)| match sweep {
                    0 => parts[shard].scatter(k).unwrap(),
                    _ => parts[shard].sweep(k, sweep, &all.state(k, shard), &counts[k]).unwrap(),
                })
                .collect();
            for (&(k, shard), links) in work.iter().zip(&found) {
                all.take(k, shard, links).unwrap();
            }
            look(&mut all, sweep);
        }
        let last = all.sweeps() + 1;
        for given in [0, 1] {
            let own: Vec<usize> = (0..samplers / 2).map(|k| given * samplers / 2 + k).collect();
            let counts: Vec<Vec<u8>> = own.iter().map(|&k| all.counts(k, last).unwrap()).collect();
            for (shard, part) in parts.iter().enumerate() {
                let links: Vec<Vec<u8>> = own.iter().map(|&k| all.state(k, shard)).collect();
                let states: Vec<(&[u8], &[u8])> =
                    links.iter().zip(&counts).map(|(l, c)| (l.as_slice(), c.as_slice())).collect();
                let found = part.decide(given, &states).unwrap();
                all.decided(given, shard, &found).unwrap();
            }
        }
        all.finish().unwrap()
    }

    #[test]
    fn one_shard_is_sampled_as_the_whole_text_is() {
        let (source, target) = corpus(3, 60);
        let bitext = Bitext::new(&source, &target, options().spelling).unwrap();
        let sides = [&bitext.source, &bitext.target];
        let directions = [0, 1].map(|given| Direction::new(sides[given], sides[1 - given]));
        let mut chains: Vec<Sampler> = Vec::new();
        let trained = run(&source, &target, 1, |all, sweep| {
            for k in 0..4 {
                let direction = &directions[k / 2];
                let random = all.plan.random(k, sweep, 0);
                if sweep == 0 {
                    chains.push(Sampler::new(direction, options().priors, random));
                } else {
                    chains[k].reseed(random);
                    chains[k].sweep(direction, all.plan.level(sweep));
                }
                assert_eq!(chains[k].links, all.links[k][0], "sweep {sweep} of sampler {k}");
            }
        });
        for given in [0, 1] {
            let own = &mut chains[2 * given..2 * given + 2];
            let plan = Shards::new(&source, &target, options(), 1).unwrap().plan;
            for (k, chain) in own.iter_mut().enumerate() {
                chain.reseed(plan.random(2 * given + k, 10, 0));
            }
            let want = decide(&directions[given], own, Level::Fertility, 3);
            let table = &trained.model.tables[given];
            assert_eq!(table.lexicon, want.lexicon);
            let mean =
                |at: usize| own.iter().map(|chain| chain.fertilities().nth(at).unwrap()).sum::<f32>() / 2.0;
            assert!(table.fertility.iter().enumerate().all(|(at, &n)| n == mean(at)));
            let jumps =
                |at: usize| own.iter().map(|chain| 0.5 * chain.jumps.probabilities()[at]).sum::<f32>();
            assert!(table.jumps.iter().enumerate().all(|(at, &p)| (p - jumps(at)).abs() < 1e-6));
        }
        assert_eq!(trained.forward.len(), 60);
    }

    #[test]
    fn shards_share_the_counts_of_all() {
        let (source, target) = corpus(4, 50);
        let bitext = Bitext::new(&source, &target, options().spelling).unwrap();
        let trained = run(&source, &target, 3, |all, sweep| {
            for k in 0..4 {
                let given = k / 2;
                let (one, other) = if given == 0 {
                    (&bitext.source, &bitext.target)
                } else {
                    (&bitext.target, &bitext.source)
                };
                let (mut pairs, mut nulls) = (HashMap::<(u32, u32), u32>::new(), 0);
                for s in 0..one.len() {
                    let starts = &all.parts[s % 3].sides[1 - given].starts;
                    let links = &all.links[k][s % 3][starts[s / 3]..starts[s / 3 + 1]];
                    assert_eq!(links.len(), other.sentence(s).len());
                    for (&f, &link) in other.sentence(s).iter().zip(links) {
                        match link {
                            NONE => nulls += 1,
                            _ => *pairs.entry((f, one.sentence(s)[usize::from(link)])).or_default() += 1,
                        }
                    }
                }
                let counts = all.counted(k, sweep + 1).unwrap();
                assert_eq!(counts.pairs.len(), pairs.len());
                assert!(counts.pairs.iter().all(|&[f, e, n]| pairs[&(f, e)] == n));
                assert_eq!(counts.nulls.iter().sum::<u32>(), nulls);
                assert_eq!(counts.totals.iter().sum::<u32>(), pairs.values().sum::<u32>());
                let (given, made) = (one.types, other.types);
                let back =
                    Counts::of_bytes(&counts.to_bytes(), given, made, all.plan.longest[k / 2]).unwrap();
                assert_eq!(back, counts);
            }
        });
        assert_eq!((trained.forward.len(), trained.reverse.len()), (50, 50));
        assert_eq!(trained.forward.pair(1), (&[][..], &[][..]), "an empty side has no links");
        let lexicon = &trained.model.tables[0].lexicon;
        assert!(lexicon.counts.iter().sum::<f32>() > 10.0 && lexicon.starts.len() == bitext.source.types + 1);
    }

    #[test]
    fn bytes_that_were_damaged_are_errors() {
        let (source, target) = corpus(4, 20);
        let mut all = Shards::new(&source, &target, options(), 2).unwrap();
        let shard = Shard::of_bytes(&all.shards()[1].to_bytes()).unwrap();
        let bytes = shard.to_bytes();
        for cut in (0..bytes.len()).step_by(7) {
            assert!(Shard::of_bytes(&bytes[..cut]).is_err());
        }
        let links = shard.scatter(0).unwrap();
        assert!(all.take(0, 1, &links[..links.len() - 1]).is_err());
        assert!(all.take(0, 0, &links).is_err(), "links of another shard");
        assert!(all.counts(0, 1).is_err(), "not all have come back");
        assert!(shard.sweep(0, 1, &links, b"x").is_err() && shard.scatter(4).is_err());
        assert!(shard.decide(2, &[]).is_err());
        assert!(all.finish().is_err());
        assert!(Shards::new(&source, &target, options(), 0).is_err());
        assert!(Shards::new(&source, &target, options(), 21).is_err());
    }
}
