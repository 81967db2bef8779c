//! One Gibbs sampler in one direction: every made word j has a link to a given word or to none.
//!
//! The three models (Östling & Tiedemann 2016) build on each other:
//!
//! - IBM 1: p(a_j = i) ~ (n(e_i, f_j) + alpha) / (n(e_i) + alpha V), the collapsed Dirichlet predictive;
//! - HMM: times p(i - prev) p(next - i), the jumps from the linked word before and to the one after;
//! - fertility: times (n(e_i, phi + 1) + beta) / (n(e_i, phi) + beta), phi being the links e_i has without j.

use crate::bitext::Side;
use crate::cells::Cells;
use dragoman_base::random::{Generator, Rng};

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

/// What all samplers of a direction share.
pub struct Direction<'a> {
    /// The side that is conditioned on.
    pub given: &'a Side,
    /// The side that is generated.
    pub made: &'a Side,
    /// Places of the counts.
    pub cells: Cells,
    /// For each given token, the next position of the same type in its sentence, around in a ring.
    pub ring: Vec<u32>,
    /// Words of the longest given sentence.
    pub longest: usize,
}

impl<'a> Direction<'a> {
    /// Indexes a bitext.
    pub fn new(given: &'a Side, made: &'a Side) -> Self {
        let mut ring = vec![0; given.tokens.len()];
        let mut last = vec![u32::MAX; given.words.len()];
        let mut longest = 0;
        for s in 0..given.len() {
            let (start, words) = (given.starts[s], given.sentence(s));
            longest = longest.max(words.len());
            // Backwards, so that each token finds the one after it; the last closes the ring with the first.
            for (i, &e) in words.iter().enumerate().rev() {
                ring[start + i] = last[e as usize];
                last[e as usize] = i as u32;
            }
            for (i, &e) in words.iter().enumerate() {
                if ring[start + i] == u32::MAX {
                    ring[start + i] = last[e as usize];
                }
            }
            for &e in words {
                last[e as usize] = u32::MAX;
            }
        }
        Self { given, made, cells: Cells::new(given, made), ring, longest }
    }
}

/// Jump probabilities by distance, forwards and mirrored, so that both look-ups run along the sentence.
#[derive(Debug, Clone)]
pub struct Jumps {
    counts: Vec<u32>,
    ahead: Vec<f32>,
    mirrored: Vec<f32>,
    zero: usize,
}

impl Jumps {
    /// Uniform for sentences of up to `longest` words.
    pub fn new(longest: usize) -> Self {
        let zero = longest + 1;
        let size = 2 * zero + 1;
        Self { counts: vec![0; size], ahead: vec![1.0; size], mirrored: vec![1.0; size], zero }
    }

    /// p(to - from).
    pub fn probability(&self, from: isize, to: isize) -> f32 {
        self.ahead[(self.zero as isize + to - from) as usize]
    }

    /// Sets p to the predictive of the counts, and the counts to zero.
    pub fn estimate(&mut self, alpha: f32) {
        let total: u32 = self.counts.iter().sum();
        let norm = 1.0 / (total as f32 + alpha * self.counts.len() as f32);
        let last = self.counts.len() - 1;
        for (k, count) in self.counts.iter_mut().enumerate() {
            let p = (*count as f32 + alpha) * norm;
            self.ahead[k] = p;
            self.mirrored[last - k] = p;
            *count = 0;
        }
    }

    fn count(&mut self, from: isize, to: isize) {
        self.counts[(self.zero as isize + to - from) as usize] += 1;
    }

    /// p(i - from) for i from 0.
    fn onward(&self, from: isize) -> &[f32] {
        &self.ahead[(self.zero as isize - from) as usize..]
    }

    /// p(to - i) for i from 0.
    fn toward(&self, to: isize) -> &[f32] {
        &self.mirrored[(self.zero as isize - to) as usize..]
    }
}

/// Arrays for one sentence, reused.
#[derive(Debug, Default)]
struct Scratch {
    weight: Vec<f32>,
    p: Vec<f32>,
    phi: Vec<u32>,
    next: Vec<isize>,
}

/// No link.
pub const NONE: u16 = u16::MAX;

/// A sampler: links of all made tokens, and the counts that follow from them.
pub struct Sampler<'a> {
    shared: &'a Direction<'a>,
    priors: Priors,
    /// Link of every made token: a position of the given sentence, or [`NONE`].
    pub links: Vec<u16>,
    pairs: Vec<f32>,
    totals: Vec<f32>,
    nulls: Vec<f32>,
    null_total: f32,
    fertility: Vec<f32>,
    /// Jump probabilities in force.
    pub jumps: Jumps,
    random: Generator,
    scratch: Scratch,
}

impl<'a> Sampler<'a> {
    /// A sampler without links: its first sweep gives each word one in view of those before.
    pub fn new(shared: &'a Direction<'a>, priors: Priors, random: Generator) -> Self {
        let rows = &shared.cells.rows;
        Self {
            shared,
            priors,
            links: vec![NONE; shared.made.tokens.len()],
            pairs: vec![0.0; rows[rows.len() - 1]],
            totals: vec![0.0; shared.given.words.len()],
            nulls: vec![0.0; shared.made.words.len()],
            null_total: 0.0,
            fertility: Vec::new(),
            jumps: Jumps::new(shared.longest),
            random,
            scratch: Scratch::default(),
        }
    }

    /// Samples every link once.
    pub fn sweep(&mut self, level: Level, first: bool) {
        if level == Level::Fertility && self.fertility.is_empty() {
            self.count_fertilities();
        }
        for s in 0..self.shared.given.len() {
            self.sentence(s, level, first, None);
            self.count_jumps(s);
        }
        self.jumps.estimate(self.priors.jump);
    }

    fn count_fertilities(&mut self) {
        self.fertility = vec![0.0; self.shared.given.words.len() * FERTILITIES];
        for s in 0..self.shared.given.len() {
            self.load_fertilities(s);
            for (&e, &phi) in self.shared.given.sentence(s).iter().zip(&self.scratch.phi) {
                self.fertility[fertility_at(e, phi)] += 1.0;
            }
        }
    }

    fn load_fertilities(&mut self, s: usize) {
        let (given, made) = (self.shared.given, self.shared.made);
        self.scratch.phi.clear();
        self.scratch.phi.resize(given.sentence(s).len(), 0);
        for &link in &self.links[made.starts[s]..made.starts[s + 1]] {
            if link != NONE {
                self.scratch.phi[link as usize] += 1;
            }
        }
    }

    fn count_jumps(&mut self, s: usize) {
        let made = self.shared.made;
        let mut from = -1;
        for &link in &self.links[made.starts[s]..made.starts[s + 1]] {
            if link != NONE {
                self.jumps.count(from, link as isize);
                from = link as isize;
            }
        }
        if from >= 0 {
            self.jumps.count(from, self.shared.given.sentence(s).len() as isize);
        }
    }

    /// Samples the links of one sentence pair; adds the conditional distributions to `posterior`, if there is
    /// one: for each made word a row of the given words and, last, no link.
    pub fn sentence(&mut self, s: usize, level: Level, first: bool, mut posterior: Option<&mut [f32]>) {
        let shared = self.shared;
        let (words, tokens) = (shared.given.sentence(s), shared.made.sentence(s));
        self.prepare(s, level);
        let mut prev = -1;
        for (j, &f) in tokens.iter().enumerate() {
            let at = shared.cells.starts[s] + j * words.len();
            let places = &shared.cells.places[at..at + words.len()];
            let token = shared.made.starts[s] + j;
            if !first {
                self.unlink(s, token, f, places, level);
            }
            let next = if level == Level::Ibm1 { 0 } else { self.scratch.next[j] };
            let null = self.weigh(f, places, level, prev, next);
            let sum = total(&self.scratch.p) + null;
            if let Some(rows) = posterior.as_deref_mut() {
                let row = &mut rows[j * (words.len() + 1)..(j + 1) * (words.len() + 1)];
                for (sum_of, p) in row.iter_mut().zip(&self.scratch.p) {
                    *sum_of += p / sum;
                }
                row[words.len()] += null / sum;
            }
            let link = self.draw(sum);
            self.link(s, token, f, link, places, level);
            if link != NONE {
                prev = link as isize;
            }
        }
    }

    fn prepare(&mut self, s: usize, level: Level) {
        let (given, made) = (self.shared.given, self.shared.made);
        let words = given.sentence(s);
        if level == Level::Fertility {
            self.load_fertilities(s);
        }
        self.scratch.weight.resize(words.len(), 0.0);
        self.scratch.p.resize(words.len(), 0.0);
        for i in 0..words.len() {
            self.reweigh(words, i, level);
        }
        if level != Level::Ibm1 {
            let links = &self.links[made.starts[s]..made.starts[s + 1]];
            self.scratch.next.resize(links.len(), 0);
            let mut next = words.len() as isize;
            for (slot, &link) in self.scratch.next.iter_mut().zip(links).rev() {
                *slot = next;
                if link != NONE {
                    next = link as isize;
                }
            }
        }
    }

    /// The factors of given word i that do not depend on f: 1 / (n(e) + alpha V), and its fertility's.
    fn reweigh(&mut self, words: &[u32], i: usize, level: Level) {
        let e = words[i] as usize;
        let alphas = self.priors.lexical * self.shared.cells.partners[e] as f32;
        let mut weight = (1.0 - self.priors.null) / (self.totals[e] + alphas);
        if level == Level::Fertility {
            let (beta, phi) = (self.priors.fertility, self.scratch.phi[i]);
            // The word itself is among those with phi links: its own does not count.
            let here = self.fertility[fertility_at(words[i], phi)] - 1.0 + beta;
            weight *= (self.fertility[fertility_at(words[i], phi + 1)] + beta) / here;
        }
        self.scratch.weight[i] = weight;
    }

    /// Weights of all links of a word f; gives that of having none.
    fn weigh(&mut self, f: u32, places: &[u32], level: Level, prev: isize, next: isize) -> f32 {
        let row = &self.pairs[self.shared.cells.rows[f as usize]..self.shared.cells.rows[f as usize + 1]];
        let Scratch { weight, p, .. } = &mut self.scratch;
        let alpha = self.priors.lexical;
        for ((p, &place), weight) in p.iter_mut().zip(places).zip(&*weight) {
            *p = (row[place as usize] + alpha) * weight;
        }
        let alpha = self.priors.null_lexical;
        let mut null = self.priors.null * (self.nulls[f as usize] + alpha)
            / (self.null_total + alpha * self.nulls.len() as f32);
        if level != Level::Ibm1 {
            let (onward, toward) = (self.jumps.onward(prev), self.jumps.toward(next));
            for ((p, a), b) in p.iter_mut().zip(onward).zip(toward) {
                *p *= a * b;
            }
            null *= self.jumps.probability(prev, next);
        }
        null
    }

    fn draw(&mut self, sum: f32) -> u16 {
        // 24 random bits: as many as fit a float without rounding up to 1.
        let mut left = (self.random.next_u64() >> 40) as f32 * (1.0 / (1 << 24) as f32) * sum;
        for (i, p) in self.scratch.p.iter().enumerate() {
            left -= p;
            if left < 0.0 {
                return i as u16;
            }
        }
        NONE
    }

    fn unlink(&mut self, s: usize, token: usize, f: u32, places: &[u32], level: Level) {
        let link = self.links[token];
        if link == NONE {
            self.nulls[f as usize] -= 1.0;
            self.null_total -= 1.0;
        } else {
            self.change(s, link as usize, f, places, level, -1.0);
        }
    }

    fn link(&mut self, s: usize, token: usize, f: u32, link: u16, places: &[u32], level: Level) {
        self.links[token] = link;
        if link == NONE {
            self.nulls[f as usize] += 1.0;
            self.null_total += 1.0;
        } else {
            self.change(s, link as usize, f, places, level, 1.0);
        }
    }

    /// Adds or takes away (`by` 1 or -1) a link of given word i, and brings up to date what depends on it.
    fn change(&mut self, s: usize, i: usize, f: u32, places: &[u32], level: Level, by: f32) {
        let words = self.shared.given.sentence(s);
        let e = words[i];
        let place = places[i] as usize;
        if place > 0 {
            self.pairs[self.shared.cells.rows[f as usize] + place] += by;
        }
        self.totals[e as usize] += by;
        if level == Level::Fertility {
            let phi = &mut self.scratch.phi[i];
            self.fertility[fertility_at(e, *phi)] -= 1.0;
            *phi = if by > 0.0 { *phi + 1 } else { *phi - 1 };
            self.fertility[fertility_at(e, *phi)] += 1.0;
        }
        let mut at = i;
        loop {
            self.reweigh(words, at, level);
            at = self.shared.ring[self.shared.given.starts[s] + at] as usize;
            if at == i {
                break;
            }
        }
    }
}

fn fertility_at(e: u32, phi: u32) -> usize {
    e as usize * FERTILITIES + (phi as usize).min(FERTILITIES - 1)
}

/// The sum, in four lanes.
fn total(p: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 4];
    let chunks = p.chunks_exact(4);
    let rest: f32 = chunks.remainder().iter().sum();
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane += x;
        }
    }
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) + rest
}
