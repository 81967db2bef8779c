//! Features of this decoder alone: they look at the order in which the source is covered.
//!
//! A new one is a file here and a line in [`KINDS`]; what looks at a rule or at target words alone belongs to
//! `dragoman_model::feature`, for every decoder.

mod boundary;
pub mod compiled;
mod distortion;
mod hrm;
mod orientation;
mod reordering;
mod sparse_hrm;
mod stack;
#[cfg(test)]
mod tests;

pub use reordering::Orientation;
pub use stack::Stacks;

use crate::coverage::Covered;
use crate::options::Options;
use dragoman_model::feature::Kinds;
use dragoman_model::{Rule, Sentence, Sink, Weights};
use std::cell::RefCell;

/// All kinds that only this decoder has.
pub const KINDS: Kinds<dyn OrderFeature> = Kinds {
    dense: &[("distortion", distortion::distortion), ("reordering", reordering::reordering)],
    sparse: &[
        ("lo", orientation::orientations),
        ("pb", boundary::boundary),
        ("sparse-hrm", sparse_hrm::sparse_hrm),
    ],
};

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
    #[inline]
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

/// Depends on the derivation and the order in which it covers the source. Two hypotheses recombine if and only if
/// coverage, last source position and all state bytes agree: equal bytes must mean equal futures.
pub trait OrderFeature: Send + Sync {
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
    fn prepare<'a>(&'a self, context: Context<'a>) -> Box<dyn PreparedOrder + 'a>;
}

/// Such a feature, ready for one sentence, in the hands of one thread.
pub trait PreparedOrder {
    /// Fills in the state of the empty hypothesis; it arrives as zeros.
    fn start(&self, _state: &mut [u8]) {}

    /// Says what fires and fills in the next state; it arrives as zeros.
    fn extend(&self, step: &Step<'_>, previous: &[u8], next: &mut [u8], out: &mut Sink<'_>);

    /// Why it could not answer, if it could not: the sentence's results are void then.
    fn failure(&self) -> Option<String> {
        None
    }
}
