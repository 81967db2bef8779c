//! One Gibbs sampler in one direction: every made word j has a link to a given word or to none.
//!
//! The three models (Östling & Tiedemann 2016) build on each other:
//!
//! - IBM 1: `p(a_j = i) ~ (n(e_i, f_j) + alpha) / (n(e_i) + alpha V)`, the collapsed Dirichlet predictive, `V` being
//!   the number of types that meet `e_i`;
//! - HMM: times `p(i - prev) p(next - i)`, the jumps from the linked word before and to the one after;
//! - fertility: times `(n(e_i, phi + 1) + beta) / (n(e_i, phi) + beta)`, `phi` being the links `e_i` has without `j`.

use crate::cells::Places;
use crate::counts::Counts;
use crate::direction::Direction;
use crate::jumps::Jumps;
use crate::weights::{NONE, Weights};
use dragoman_base::random::{Generator, below};

/// Which factors the conditional distribution has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Lexical probabilities only.
    Ibm1,
    /// And jumps.
    Hmm,
    /// And fertilities.
    Fertility,
}

/// The priors of the model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Priors {
    /// Dirichlet parameter of p(f | e).
    pub lexical: f32,
    /// Dirichlet parameter of p(f | null).
    pub null_lexical: f32,
    /// Probability that a made word has no link.
    pub null: f32,
    /// Dirichlet parameter of jumps.
    pub jump: f32,
    /// Dirichlet parameter of fertilities.
    pub fertility: f32,
}

impl Default for Priors {
    fn default() -> Self {
        Self { lexical: 0.001, null_lexical: 0.001, null: 0.2, jump: 0.5, fertility: 0.5 }
    }
}

/// Fertilities from 0; the last stands for all higher ones, too.
pub const FERTILITIES: usize = 12;

/// For each made word, the given word that the next linked one is linked to; `words` after the last.
pub fn links_after(links: &[u16], words: usize, next: &mut Vec<isize>) {
    next.resize(links.len(), 0);
    let mut after = words as isize;
    for (slot, &link) in next.iter_mut().zip(links).rev() {
        *slot = after;
        if link != NONE {
            after = link as isize;
        }
    }
}

/// Place of a fertility's count among those of its type.
pub fn fertility_at(phi: u32) -> usize {
    (phi as usize).min(FERTILITIES - 1)
}

/// What is counted for a given type, in one line of the cache.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Kind {
    /// Links.
    total: f32,
    /// alpha V.
    alphas: f32,
    /// Tokens with 0, 1, ... links; all zero before the third model.
    fertility: [f32; FERTILITIES],
}

impl Kind {
    fn new(alphas: f32) -> Self {
        Self { total: 0.0, alphas, fertility: [0.0; FERTILITIES] }
    }
}

/// The place of a link's pair in its row; 0 without a link.
fn place_of<P: Copy + Into<u32>>(places: &[P], link: u16) -> usize {
    if link == NONE { 0 } else { places[link as usize].into() as usize }
}

/// Arrays for one sentence, reused.
#[derive(Debug, Default)]
struct Scratch {
    weight: Vec<f32>,
    phi: Vec<u32>,
    next: Vec<isize>,
    weights: Weights,
}

/// A sampler: links of all made tokens, and the counts that follow from them (whole numbers, exact as floats up
/// to 2^24).
pub struct Sampler {
    priors: Priors,
    /// Link of every made token: a position of the given sentence, or [`NONE`].
    pub links: Vec<u16>,
    pairs: Vec<f32>,
    kinds: Vec<Kind>,
    nulls: Vec<f32>,
    null_total: f32,
    with_fertility: bool,
    /// Jump probabilities in force.
    pub jumps: Jumps,
    random: Generator,
    scratch: Scratch,
}

impl Sampler {
    /// A sampler with random links.
    pub fn new(shared: &Direction, priors: Priors, random: Generator) -> Self {
        let mut sampler = Self::bare(shared, priors, random);
        sampler.scatter(shared);
        sampler
    }

    /// A sampler without links and counts.
    fn bare(shared: &Direction, priors: Priors, random: Generator) -> Self {
        Self {
            priors,
            links: vec![NONE; shared.made.tokens.len()],
            pairs: vec![0.0; shared.cells.rows[shared.cells.rows.len() - 1]],
            kinds: shared.cells.partners.iter().map(|&v| Kind::new(priors.lexical * v as f32)).collect(),
            nulls: vec![0.0; shared.made.types],
            null_total: 0.0,
            with_fertility: false,
            jumps: Jumps::new(shared.longest),
            random,
            scratch: Scratch::default(),
        }
    }

    /// A sampler of a shard with the links that it has there, and with the counts of all shards.
    pub fn of_shard(
        shared: &Direction,
        row_types: &[u32],
        priors: Priors,
        random: Generator,
        links: Vec<u16>,
        counts: &Counts,
    ) -> Self {
        let mut sampler = Self::bare(shared, priors, random);
        sampler.links = links;
        sampler.jumps = Jumps::fixed(&counts.jumps, shared.longest);
        sampler.nulls = counts.nulls.iter().map(|&n| n as f32).collect();
        sampler.null_total = counts.nulls.iter().map(|&n| u64::from(n)).sum::<u64>() as f32;
        sampler.with_fertility = !counts.fertilities.is_empty();
        for (e, kind) in sampler.kinds.iter_mut().enumerate() {
            kind.total = counts.totals[e] as f32;
            let seen = counts.fertilities.get(e * FERTILITIES..(e + 1) * FERTILITIES).unwrap_or_default();
            kind.fertility.iter_mut().zip(seen).for_each(|(sum, &n)| *sum = n as f32);
        }
        let mut found = vec![0.0; shared.given.types];
        for (f, row) in shared.cells.rows.windows(2).enumerate() {
            if row[1] - row[0] < 2 {
                continue;
            }
            let known = counts.row(f as u32);
            for &[_, e, n] in known {
                found[e as usize] = n as f32;
            }
            let places = row[0] + 1..row[1];
            for (sum, &e) in sampler.pairs[places.clone()].iter_mut().zip(&row_types[places]) {
                *sum = found[e as usize];
            }
            for &[_, e, _] in known {
                found[e as usize] = 0.0;
            }
        }
        sampler
    }

    #[cfg(test)]
    pub(crate) fn reseed(&mut self, random: Generator) {
        self.random = random;
    }

    /// How many tokens of each given type have 0, 1, ... links, type after type.
    pub fn fertilities(&self) -> impl Iterator<Item = f32> {
        self.kinds.iter().flat_map(|kind| kind.fertility)
    }

    /// Links every word at random. To give words one after the other a link in view of those before would be
    /// faster, but lets the first ones, and the absent word, draw all others to them.
    fn scatter(&mut self, shared: &Direction) {
        for s in 0..shared.given.len() {
            let words = shared.given.sentence(s);
            self.prepare(shared, s, Level::Ibm1);
            for (j, &f) in shared.made.sentence(s).iter().enumerate() {
                let (token, mut place) = (shared.made.starts[s] + j, 0);
                if below(&mut self.random, 1 << 24) as f32 >= self.priors.null * (1 << 24) as f32 {
                    let i = below(&mut self.random, words.len());
                    self.links[token] = i as u16;
                    place = shared.cells.places.get(shared.cells.starts[s] + j * words.len() + i);
                }
                self.count(shared, s, token, (f, place), Level::Ibm1, 1.0);
            }
        }
    }

    /// Samples every link once, and then estimates the jumps.
    pub fn sweep(&mut self, shared: &Direction, level: Level) {
        if level == Level::Fertility && !self.with_fertility {
            self.count_fertilities(shared);
        }
        for s in 0..shared.given.len() {
            self.sentence(shared, s, level, None);
            self.count_jumps(shared, s);
        }
        self.jumps.estimate(self.priors.jump);
    }

    fn count_fertilities(&mut self, shared: &Direction) {
        self.with_fertility = true;
        for s in 0..shared.given.len() {
            self.load_fertilities(shared, s);
            for (&e, &phi) in shared.given.sentence(s).iter().zip(&self.scratch.phi) {
                self.kinds[e as usize].fertility[fertility_at(phi)] += 1.0;
            }
        }
    }

    fn load_fertilities(&mut self, shared: &Direction, s: usize) {
        self.scratch.phi.clear();
        self.scratch.phi.resize(shared.given.sentence(s).len(), 0);
        for &link in &self.links[shared.made.starts[s]..shared.made.starts[s + 1]] {
            if link != NONE {
                self.scratch.phi[link as usize] += 1;
            }
        }
    }

    fn count_jumps(&mut self, shared: &Direction, s: usize) {
        let mut from = -1;
        for &link in &self.links[shared.made.starts[s]..shared.made.starts[s + 1]] {
            if link != NONE {
                self.jumps.count(from, link as isize);
                from = link as isize;
            }
        }
        if from >= 0 {
            self.jumps.count(from, shared.given.sentence(s).len() as isize);
        }
    }

    /// Samples the links of one sentence pair; adds the conditional distributions to `posterior`, if there is
    /// one: for each made word a row of the given words and, last, no link.
    pub fn sentence(&mut self, shared: &Direction, s: usize, level: Level, posterior: Option<&mut [f32]>) {
        let cells = shared.cells.starts[s]..shared.cells.starts[s + 1];
        match &shared.cells.places {
            Places::Narrow(places) => self.sample(shared, s, &places[cells], level, posterior),
            Places::Wide(places) => self.sample(shared, s, &places[cells], level, posterior),
        }
    }

    fn sample<P: Copy + Into<u32>>(
        &mut self,
        shared: &Direction,
        s: usize,
        cells: &[P],
        level: Level,
        mut posterior: Option<&mut [f32]>,
    ) {
        let (words, tokens) = (shared.given.sentence(s).len(), shared.made.sentence(s));
        self.prepare(shared, s, level);
        let mut prev = -1;
        for (j, &f) in tokens.iter().enumerate() {
            let places = &cells[j * words..(j + 1) * words];
            let token = shared.made.starts[s] + j;
            self.count(shared, s, token, (f, place_of(places, self.links[token])), level, -1.0);
            let next = if level == Level::Ibm1 { 0 } else { self.scratch.next[j] };
            self.weigh(shared, f, places, level, prev, next);
            if let Some(rows) = posterior.as_deref_mut() {
                self.scratch.weights.add_to(&mut rows[j * (words + 1)..(j + 1) * (words + 1)]);
            }
            let link = self.scratch.weights.draw(&mut self.random);
            self.links[token] = link;
            self.count(shared, s, token, (f, place_of(places, link)), level, 1.0);
            if link != NONE {
                prev = link as isize;
            }
        }
    }

    fn prepare(&mut self, shared: &Direction, s: usize, level: Level) {
        let words = shared.given.sentence(s);
        if level == Level::Fertility {
            self.load_fertilities(shared, s);
        }
        self.scratch.weights.resize(words.len());
        self.scratch.weight.clear();
        self.scratch.weight.resize(self.scratch.weights.p.len(), 0.0);
        for i in 0..words.len() {
            self.reweigh(words, i, level);
        }
        if level != Level::Ibm1 {
            let links = &self.links[shared.made.starts[s]..shared.made.starts[s + 1]];
            links_after(links, words.len(), &mut self.scratch.next);
        }
    }

    /// The factors of given word i that do not depend on f: 1 / (n(e) + alpha V), and its fertility's.
    fn reweigh(&mut self, words: &[u32], i: usize, level: Level) {
        let kind = &self.kinds[words[i] as usize];
        let (mut above, mut below) = (1.0 - self.priors.null, kind.total + kind.alphas);
        if level == Level::Fertility {
            let (beta, phi) = (self.priors.fertility, self.scratch.phi[i]);
            above *= kind.fertility[fertility_at(phi + 1)] + beta;
            // The word itself is among those with phi links: its own does not count.
            below *= kind.fertility[fertility_at(phi)] - 1.0 + beta;
        }
        self.scratch.weight[i] = above / below;
    }

    /// Weights of all links of a word f, and of having none.
    fn weigh<P: Copy + Into<u32>>(
        &mut self,
        shared: &Direction,
        f: u32,
        places: &[P],
        level: Level,
        prev: isize,
        next: isize,
    ) {
        let f = f as usize;
        let row = &self.pairs[shared.cells.rows[f]..shared.cells.rows[f + 1]];
        let Scratch { weight, weights, .. } = &mut self.scratch;
        let alpha = self.priors.lexical;
        for (p, &place) in weights.p.iter_mut().zip(places) {
            *p = row[place.into() as usize] + alpha;
        }
        let alpha = self.priors.null_lexical;
        weights.null =
            self.priors.null * (self.nulls[f] + alpha) / (self.null_total + alpha * self.nulls.len() as f32);
        if level == Level::Ibm1 {
            weights.multiply(weight, None);
        } else {
            weights.null *= self.jumps.probability(prev, next);
            weights.multiply(weight, Some((self.jumps.onward(prev), self.jumps.toward(next))));
        }
    }

    /// Adds or takes away (`by` 1 or -1) the link of a token of type f, the count of whose pair has the given place
    /// in f's row, and brings up to date what depends on it.
    fn count(
        &mut self,
        shared: &Direction,
        s: usize,
        token: usize,
        (f, place): (u32, usize),
        level: Level,
        by: f32,
    ) {
        let link = self.links[token];
        if link == NONE {
            self.nulls[f as usize] += by;
            self.null_total += by;
            return;
        }
        let (words, i) = (shared.given.sentence(s), link as usize);
        if place > 0 {
            self.pairs[shared.cells.rows[f as usize] + place] += by;
        }
        let kind = &mut self.kinds[words[i] as usize];
        kind.total += by;
        if level == Level::Fertility {
            let phi = &mut self.scratch.phi[i];
            kind.fertility[fertility_at(*phi)] -= 1.0;
            *phi = if by > 0.0 { *phi + 1 } else { *phi - 1 };
            kind.fertility[fertility_at(*phi)] += 1.0;
        }
        let ring = &shared.ring[shared.given.starts[s]..];
        let mut at = i;
        loop {
            self.reweigh(words, at, level);
            at = ring[at] as usize;
            if at == i {
                break;
            }
        }
    }
}
