//! Features on two levels. A [`RuleFeature`] depends on one translation option and is asked once for each; a
//! [`StateFeature`] depends on the derivation and keeps what matters of it in a few bytes.
//!
//! A new feature is a file here and a line in [`KINDS`].

mod build;
mod chunks;
mod distortion;
mod hierarchical;
mod language;
pub mod own;
mod penalty;
mod reference;
mod reordering;
mod scores;
pub mod sparse;
mod stack;

pub use build::{Builder, KINDS, Part, SETS};
pub use reference::Reference;
pub use reordering::Orientation;
pub use stack::Stacks;

use crate::coverage::Covered;
use crate::options::{Opt, Options};
use crate::sentence::Sentence;
use crate::weights::Weights;
use dragoman_base::Names;
use std::cell::RefCell;

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
    pub fn scoring(weights: &'a Weights) -> Self {
        Self { head: weights.head(), weights, score: 0.0, rows: None }
    }

    /// Sums up and keeps each (feature, value); names that the system lacks go to `own`.
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

    /// Rules the hypothesis out.
    pub fn forbid(&mut self) {
        self.score = f32::NEG_INFINITY;
    }

    /// The weighted sum so far.
    #[inline]
    pub fn score(&self) -> f32 {
        self.score
    }
}

/// A translation option as rule features see it.
#[derive(Debug, Clone, Copy)]
pub struct Rule<'a> {
    /// The option.
    pub opt: &'a Opt,
    /// Its target words, by their ids in the system's vocabulary or, past its end, the sentence's own.
    pub target: &'a [u32],
}

/// Depends on one rule in one sentence. Asked once for each translation option; the weighted sum is kept.
pub trait RuleFeature: Send + Sync {
    /// Says what fires.
    fn score(&self, sentence: &Sentence<'_>, rule: &Rule<'_>, out: &mut Sink<'_>);
}

/// One extension of a hypothesis by an option.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// The option's number in [`Options`].
    pub option: u32,
    /// Its first source word.
    pub from: usize,
    /// The source word after its last.
    pub to: usize,
    /// The source position after the previous phrase; 0 at the start.
    pub last: usize,
    /// What was covered before.
    pub before: Covered<'a>,
    /// Whether every source word is covered now.
    pub complete: bool,
}

impl Step<'_> {
    /// Whether it is the first phrase.
    pub fn first(&self) -> bool {
        self.before.count() == 0
    }
}

/// What is known when a sentence's search begins.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The sentence.
    pub sentence: &'a Sentence<'a>,
    /// Its options.
    pub options: &'a Options,
    /// The weights of all features.
    pub weights: &'a Weights,
    /// Stacks of source blocks, which all features that need them share.
    pub stacks: &'a RefCell<Stacks>,
    /// Entries of a feature's memory for each source word, about.
    pub memory: usize,
}

/// What suits a search that meets every state of a sentence: states and options repeat under other coverages.
pub const MEMORY: usize = 1 << 11;

/// Depends on the derivation. Two hypotheses recombine if and only if coverage, last source position and all state
/// bytes agree: equal bytes must mean equal futures.
pub trait StateFeature: Send + Sync {
    /// Size of the state.
    fn state_bytes(&self) -> usize {
        0
    }

    /// Whether it only looks at [`Step::from`], `to`, `last`, `before` and `complete`: asked once for many options.
    fn jump_only(&self) -> bool {
        false
    }

    /// A guess of what the rule will score, for future cost and ranking only; never part of a score. `weights` are
    /// those of [`Weights::head`].
    fn estimate(&self, _sentence: &Sentence<'_>, _rule: &Rule<'_>, _weights: &[f32]) -> f32 {
        0.0
    }

    /// Gets ready for a sentence: whatever can be computed once for each option.
    fn prepare<'a>(&'a self, context: Context<'a>) -> Box<dyn Prepared + 'a>;
}

/// A state feature, ready for one sentence, in the hands of one thread.
pub trait Prepared {
    /// Fills in the state of the empty hypothesis; it arrives as zeros.
    fn start(&self, _state: &mut [u8]) {}

    /// Says what fires and fills in the next state; it arrives as zeros.
    fn extend(&self, step: &Step<'_>, previous: &[u8], next: &mut [u8], out: &mut Sink<'_>);

    /// Why it could not answer, if it could not: the sentence's results are void then.
    fn failure(&self) -> Option<String> {
        None
    }
}

/// A state as numbers: features keep theirs in little-endian words.
pub(crate) fn get_u32(state: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([state[at], state[at + 1], state[at + 2], state[at + 3]])
}

/// Stores a number in a state.
pub(crate) fn put_u32(state: &mut [u8], at: usize, value: u32) {
    state[at..at + 4].copy_from_slice(&value.to_le_bytes());
}
