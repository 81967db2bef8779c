//! New text with a trained aligner: its counts are fixed, so that the links of a sentence pair depend on nothing
//! but the pair, the model and the seed.

use crate::bitext::{Report, spell};
use crate::jumps::Jumps;
use crate::links::Links;
use crate::model::{Model, Table};
use crate::sampler::{FERTILITIES, Level, Priors, fertility_at, links_after};
use crate::train::{most_probable, push_links};
use crate::weights::{NONE, Weights};
use dragoman_base::random::{self, Generator};
use dragoman_base::{Error, Names, Result, Texts, words};
use rayon::prelude::*;

/// How new text is sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Sweeps of IBM 1, of the HMM, and of the HMM with fertilities, before any counts.
    pub warm: [usize; 3],
    /// Further sweeps, whose distributions are averaged.
    pub collect: usize,
    /// Seed of everything random.
    pub seed: u64,
}

impl Default for Effort {
    fn default() -> Self {
        Self { warm: [1, 2, 3], collect: 32, seed: 0 }
    }
}

/// A word that training never saw.
const UNKNOWN: u32 = u32::MAX;

/// One sentence pair in one direction under fixed counts; arrays are reused.
#[derive(Default)]
struct Field {
    given: Vec<u32>,
    made: Vec<u32>,
    /// `p(f_j | e_i)`, a row in whole lanes for each made word.
    lexical: Vec<f32>,
    nulls: Vec<f32>,
    weight: Vec<f32>,
    links: Vec<u16>,
    phi: Vec<u32>,
    next: Vec<isize>,
    weights: Weights,
    rows: Vec<f32>,
}

impl Field {
    fn load(&mut self, table: &Table, priors: &Priors) {
        self.weights.resize(self.given.len());
        let (stride, lexicon) = (self.weights.p.len(), &table.lexicon);
        self.lexical.clear();
        self.lexical.resize(stride * self.made.len(), 0.0);
        self.weight.clear();
        self.weight.resize(stride, 0.0);
        for (j, &f) in self.made.iter().enumerate() {
            for (i, &e) in self.given.iter().enumerate() {
                self.lexical[j * stride + i] = (1.0 - priors.null) * lexical(table, priors, e, f);
            }
        }
        let alpha = priors.null_lexical;
        let total = lexicon.nulls.iter().sum::<f32>() + alpha * lexicon.nulls.len() as f32;
        let count = |f: u32| lexicon.nulls.get(f as usize).map_or(0.0, |n| *n);
        self.nulls.clear();
        self.nulls.extend(self.made.iter().map(|&f| priors.null * (count(f) + alpha) / total));
        self.links.clear();
        self.links.resize(self.made.len(), NONE);
        self.phi.clear();
        self.phi.resize(self.given.len(), 0);
        self.rows.clear();
        self.rows.resize((self.given.len() + 1) * self.made.len(), 0.0);
    }

    /// The factor by which one more link changes the probability of the fertility of word i.
    fn reweigh(&mut self, table: &Table, priors: &Priors, i: usize, level: Level) {
        self.weight[i] = match (level, self.given[i]) {
            (Level::Fertility, e) if e != UNKNOWN => {
                let counts = &table.fertility[e as usize * FERTILITIES..];
                let count = |phi| counts[fertility_at(phi)] + priors.fertility;
                count(self.phi[i] + 1) / count(self.phi[i])
            }
            _ => 1.0,
        };
    }

    fn sweep(
        &mut self,
        (table, priors, jumps): (&Table, &Priors, &Jumps),
        level: Level,
        collect: bool,
        random: &mut Generator,
    ) {
        for i in 0..self.given.len() {
            self.reweigh(table, priors, i, level);
        }
        links_after(&self.links, self.given.len(), &mut self.next);
        let (stride, width) = (self.weight.len(), self.given.len() + 1);
        let mut prev = -1;
        for j in 0..self.made.len() {
            self.change(table, priors, j, level, -1);
            self.weights.p.copy_from_slice(&self.lexical[j * stride..(j + 1) * stride]);
            self.weights.null = self.nulls[j];
            if level == Level::Ibm1 {
                self.weights.multiply(&self.weight, None);
            } else {
                self.weights.null *= jumps.probability(prev, self.next[j]);
                self.weights.multiply(&self.weight, Some((jumps.onward(prev), jumps.toward(self.next[j]))));
            }
            if collect {
                self.weights.add_to(&mut self.rows[j * width..(j + 1) * width]);
            }
            self.links[j] = self.weights.draw(random);
            self.change(table, priors, j, level, 1);
            if self.links[j] != NONE {
                prev = self.links[j] as isize;
            }
        }
    }

    fn change(&mut self, table: &Table, priors: &Priors, j: usize, level: Level, by: i32) {
        if self.links[j] != NONE {
            let i = self.links[j] as usize;
            self.phi[i] = self.phi[i].wrapping_add_signed(by);
            self.reweigh(table, priors, i, level);
        }
    }

    /// Samples; `rows` then holds the sum of `collect` distributions of each link.
    fn run(&mut self, parts: (&Table, &Priors, &Jumps), effort: &Effort) {
        let mut random = random::stream(effort.seed, 0);
        for (level, sweeps) in [Level::Ibm1, Level::Hmm, Level::Fertility].into_iter().zip(effort.warm) {
            for _ in 0..sweeps {
                self.sweep(parts, level, false, &mut random);
            }
        }
        for _ in 0..effort.collect {
            self.sweep(parts, Level::Fertility, true, &mut random);
        }
    }
}

/// p(f | e), the predictive of the expected counts; a word that training never saw is as likely with all.
fn lexical(table: &Table, priors: &Priors, e: u32, f: u32) -> f32 {
    let lexicon = &table.lexicon;
    if e == UNKNOWN {
        return 1.0 / lexicon.nulls.len() as f32;
    }
    let count = if f == UNKNOWN { 0.0 } else { lexicon.count(e, f) };
    let partners = lexicon.partners[e as usize] as f32;
    (count + priors.lexical) / (lexicon.totals[e as usize] + priors.lexical * partners)
}

impl Model {
    fn ids(&self, names: &Names, line: &str, ids: &mut Vec<u32>) {
        let mut buffer = String::new();
        ids.clear();
        ids.extend(
            words(line).map(|word| names.get(spell(word, self.spelling, &mut buffer)).unwrap_or(UNKNOWN)),
        );
    }

    /// Aligns new sentence pairs, on all cores: forward links, reverse links, and what was odd about the text.
    pub fn align(&self, source: &Texts, target: &Texts, effort: &Effort) -> Result<(Links, Links, Report)> {
        if source.len() != target.len() || effort.collect == 0 {
            return Err(Error::Invalid(format!(
                "expected as many target lines as source lines and at least one sample, found {} and {} lines",
                target.len(),
                source.len()
            )));
        }
        let longest = self.spelling.longest;
        let jumps = [0, 1].map(|k| Jumps::fixed(&self.tables[k].jumps, longest));
        let blocks: Vec<(Links, Links, Report)> = (0..source.len())
            .into_par_iter()
            .step_by(256)
            .map(|first| self.block(source, target, first..source.len().min(first + 256), &jumps, effort))
            .collect();
        let (mut forward, mut reverse, mut report) = (Links::new(), Links::new(), Report::default());
        for (a, b, c) in &blocks {
            forward.append(a);
            reverse.append(b);
            report.add(c);
        }
        Ok((forward, reverse, report))
    }

    fn block(
        &self,
        source: &Texts,
        target: &Texts,
        block: std::ops::Range<usize>,
        jumps: &[Jumps; 2],
        effort: &Effort,
    ) -> (Links, Links, Report) {
        let (mut field, mut pair, mut report) = (Field::default(), Vec::new(), Report::default());
        let mut links = [Links::new(), Links::new()];
        for s in block {
            let takes_part = report.look(source.get(s), target.get(s), self.spelling.longest);
            for (k, links) in links.iter_mut().enumerate() {
                let lines = if takes_part { [source.get(s), target.get(s)] } else { ["", ""] };
                self.ids(&self.words[k], lines[k], &mut field.given);
                self.ids(&self.words[1 - k], lines[1 - k], &mut field.made);
                field.load(&self.tables[k], &self.priors);
                field.run((&self.tables[k], &self.priors, &jumps[k]), effort);
                let best: Vec<u16> =
                    field.rows.chunks_exact(field.given.len() + 1).map(most_probable).collect();
                push_links(links, &best, k == 1, &mut pair);
            }
        }
        let [forward, reverse] = links;
        (forward, reverse, report)
    }
}
