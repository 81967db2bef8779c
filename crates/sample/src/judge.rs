//! How steps are scored: with weights that stay as they are, or with weights that change between two moves.

use dragoman_base::Names;
use dragoman_model::Origin;
use dragoman_model::{OWN, Sink};
use dragoman_phrase::feature::Step;
use dragoman_phrase::search::Ready;

/// Scores steps.
pub trait Judge {
    /// Changes whenever the weights do.
    fn version(&self) -> u32;

    /// What the rule features say of an option; `known` is the sentence's memory for it.
    fn option(&mut self, ready: &Ready<'_>, known: &mut Known, option: u32) -> f64;

    /// What all other features say of a step; fills in the state after it.
    fn step(&mut self, ready: &Ready<'_>, step: &Step<'_>, previous: &[u8], next: &mut [u8]) -> f64;
}

/// The weights that the sentence was made ready with: sums were weighted beforehand.
#[derive(Debug, Clone, Copy)]
pub struct Fixed;

impl Judge for Fixed {
    fn version(&self) -> u32 {
        1
    }

    #[inline]
    fn option(&mut self, ready: &Ready<'_>, _: &mut Known, option: u32) -> f64 {
        f64::from(ready.options().get(option).score)
    }

    #[inline]
    fn step(&mut self, ready: &Ready<'_>, step: &Step<'_>, previous: &[u8], next: &mut [u8]) -> f64 {
        let mut out = Sink::scoring(ready.weights());
        ready.jump(step, &mut out);
        ready.step(step, previous, next, &mut out);
        f64::from(out.score())
    }
}

/// The rule features of a sentence's options, listed when they are first asked for.
#[derive(Debug, Default)]
pub struct Known {
    /// Where each option's rows are; (`u32::MAX`, 0) until they are listed.
    spans: Vec<(u32, u32)>,
    rows: Vec<(u32, f32)>,
    /// Weighted sums, and the version of the weights that they hold for.
    sums: Vec<(u32, f64)>,
}

impl Known {
    /// For so many options.
    pub fn new(options: usize) -> Self {
        Self { spans: vec![(u32::MAX, 0); options], rows: Vec::new(), sums: vec![(0, 0.0); options] }
    }

    /// The rows of an option.
    pub fn rows(&mut self, ready: &Ready<'_>, own: &mut Names, option: u32) -> &[(u32, f32)] {
        let at = option as usize;
        if self.spans[at].0 == u32::MAX {
            let start = self.rows.len() as u32;
            ready.list_rule(option, &mut self.rows, own);
            self.spans[at] = (start, self.rows.len() as u32);
        }
        let (start, end) = self.spans[at];
        &self.rows[start as usize..end as usize]
    }
}

/// Weights that are being learned. Features that the system has no name for get names of the learner's own.
#[derive(Debug, Default)]
pub struct Learned {
    /// By the system's numbers.
    pub weights: Vec<f64>,
    /// Names that the system lacks.
    pub own: Names,
    /// Their weights.
    pub own_weights: Vec<f64>,
    version: u32,
    rows: Vec<(u32, f32)>,
}

impl Learned {
    /// Starts with weights.
    pub fn new(weights: Vec<f64>) -> Self {
        Self { weights, version: 1, ..Self::default() }
    }

    /// The weight of a feature.
    #[inline]
    pub fn weight(&self, id: u32) -> f64 {
        let (values, at) =
            if id >= OWN { (&self.own_weights, (id - OWN) as usize) } else { (&self.weights, id as usize) };
        values.get(at).copied().unwrap_or(0.0)
    }

    /// Adds to the weight of a feature.
    pub fn add(&mut self, id: u32, value: f64) {
        let (values, at) = if id >= OWN {
            (&mut self.own_weights, (id - OWN) as usize)
        } else {
            (&mut self.weights, id as usize)
        };
        if values.len() <= at {
            values.resize(at + 1, 0.0);
        }
        values[at] += value;
    }

    /// To be told after the weights were changed.
    pub fn changed(&mut self) {
        self.version = self.version.wrapping_add(1);
    }

    /// Appends every feature that fires in a step, rule features included; fills in the state after it.
    pub fn list(
        &mut self,
        ready: &Ready<'_>,
        known: &mut Known,
        (step, previous): (&Step<'_>, &[u8]),
        next: &mut [u8],
        rows: &mut Vec<(u32, f32)>,
    ) {
        rows.extend_from_slice(known.rows(ready, &mut self.own, step.option));
        let mut out = Sink::collecting(ready.weights(), rows, &mut self.own);
        ready.jump(step, &mut out);
        ready.step(step, previous, next, &mut out);
    }
}

impl Judge for Learned {
    fn version(&self) -> u32 {
        self.version
    }

    #[inline]
    fn option(&mut self, ready: &Ready<'_>, known: &mut Known, option: u32) -> f64 {
        let at = option as usize;
        if known.sums[at].0 == self.version {
            return known.sums[at].1;
        }
        known.rows(ready, &mut self.own, option);
        let (start, end) = known.spans[at];
        let rows = &known.rows[start as usize..end as usize];
        let mut sum: f64 = rows.iter().map(|&(id, value)| self.weight(id) * f64::from(value)).sum();
        let opt = ready.options().get(option);
        if opt.origin() == Origin::Given {
            sum += f64::from(ready.sentence().input.forced[opt.rule as usize].log);
        }
        known.sums[at] = (self.version, sum);
        sum
    }

    #[inline]
    fn step(&mut self, ready: &Ready<'_>, step: &Step<'_>, previous: &[u8], next: &mut [u8]) -> f64 {
        self.rows.clear();
        let mut out = Sink::collecting(ready.weights(), &mut self.rows, &mut self.own);
        ready.jump(step, &mut out);
        ready.step(step, previous, next, &mut out);
        self.rows.iter().map(|&(id, value)| self.weight(id) * f64::from(value)).sum()
    }
}
