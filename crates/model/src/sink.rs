//! Where features say what they have to say.

use crate::weights::Weights;
use dragoman_base::Names;

/// Numbers from here on are names of the list's own, which the system's table does not have (yet).
pub const OWN: u32 = 1 << 31;

/// Takes what features say: in the beam only the weighted sum, for n-best lists every value.
#[derive(Debug)]
pub struct Sink<'a> {
    /// Of the features that are asked for most, see [`Weights::head`].
    head: &'a [f32],
    weights: &'a Weights,
    score: f32,
    rows: Option<(&'a mut Vec<(u32, f32)>, &'a mut Names)>,
}

impl<'a> Sink<'a> {
    /// Sums up, no more.
    #[inline]
    pub fn scoring(weights: &'a Weights) -> Self {
        Self { head: weights.head(), weights, score: 0.0, rows: None }
    }

    /// Sums up and keeps each (feature, value); names that the system lacks go to `own`.
    #[inline]
    pub fn collecting(weights: &'a Weights, rows: &'a mut Vec<(u32, f32)>, own: &'a mut Names) -> Self {
        Self { head: weights.head(), weights, score: 0.0, rows: Some((rows, own)) }
    }

    /// A feature fires.
    #[inline]
    pub fn add(&mut self, feature: u32, value: f32) {
        self.score += self.weight(feature) * value;
        if let Some((rows, _)) = &mut self.rows {
            rows.push((feature, value));
        }
    }

    /// A feature fires that is known by name; one that `names` lacks weighs nothing.
    pub fn named(&mut self, names: &Names, name: &str, value: f32) {
        if let Some(feature) = names.get(name) {
            self.add(feature, value);
        } else {
            self.own(name, value);
        }
    }

    /// A feature fires that the system has no number for: it weighs nothing.
    pub fn own(&mut self, name: &str, value: f32) {
        if let Some((rows, own)) = &mut self.rows {
            rows.push((OWN + own.intern(name), value));
        }
    }

    /// A sum that was weighted beforehand; where [`Sink::collects`], call [`Sink::add`] for its parts instead.
    #[inline]
    pub fn weighted(&mut self, score: f32) {
        debug_assert!(self.rows.is_none());
        self.score += score;
    }

    /// Whether single values are wanted.
    #[inline]
    pub fn collects(&self) -> bool {
        self.rows.is_some()
    }

    /// The weight of a feature; features that the weights do not know weigh nothing.
    #[inline]
    pub fn weight(&self, feature: u32) -> f32 {
        match self.head.get(feature as usize) {
            Some(weight) => *weight,
            None => self.weights.weight(feature),
        }
    }

    /// Whether anything that a sparse set says is wanted.
    pub fn weighs(&self, set: usize) -> bool {
        self.collects() || self.weights.weighs(set)
    }

    /// Rules the hypothesis out.
    #[inline]
    pub fn forbid(&mut self) {
        self.score = f32::NEG_INFINITY;
    }

    /// The weighted sum so far.
    #[inline]
    pub fn score(&self) -> f32 {
        self.score
    }
}
