//! Features on two levels. A [`RuleFeature`] depends on one applied rule and is asked once for each; a
//! [`StateFeature`] depends on the target words of a derivation and keeps what matters of them in a few bytes.
//!
//! A new feature is a file here and a line in [`build::KINDS`].

pub mod build;
mod chunks;
pub mod joined;
mod language;
mod language_joined;
pub mod own;
mod penalty;
mod reference;
mod scores;
pub mod sparse;

pub use build::{Builder, Kinds, Part};
pub use joined::Joined;
pub use reference::Reference;

use crate::rule::{Applied, Rule};
use crate::sentence::Sentence;
use crate::sink::Sink;
use crate::weights::Weights;

/// Depends on one rule in one sentence. Asked once for each applied rule; the weighted sum is kept.
pub trait RuleFeature: Send + Sync {
    /// Says what fires.
    fn score(&self, sentence: &Sentence<'_>, rule: &Rule<'_>, out: &mut Sink<'_>);
}

/// Depends on the source side of a rule and on where its gaps are, and not on its target side: asked once for all rules
/// of a source side, each time that it applies. Without gaps, that is where its words are.
pub trait PlaceFeature: Send + Sync {
    /// Says what fires.
    fn score(&self, sentence: &Sentence<'_>, rule: &Rule<'_>, out: &mut Sink<'_>);
}

/// What is known when a sentence's search begins.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The sentence.
    pub sentence: &'a Sentence<'a>,
    /// The rules that apply to it.
    pub rules: &'a dyn Applied,
    /// The weights of all features.
    pub weights: &'a Weights,
    /// Entries of a feature's memory for each source word, about.
    pub memory: usize,
}

/// Depends on the target words of the derivation, left to right. Equal state bytes must mean equal futures.
pub trait StateFeature: Send + Sync {
    /// Size of the state.
    fn state_bytes(&self) -> usize {
        0
    }

    /// A guess of what the rule will score, for future cost and ranking only; never part of a score. `weights` are
    /// those of [`Weights::head`].
    fn estimate(&self, _sentence: &Sentence<'_>, _rule: &Rule<'_>, _weights: &[f32]) -> f32 {
        0.0
    }

    /// Gets ready for a sentence: whatever can be computed once for each rule that applies.
    fn prepare<'a>(&'a self, context: Context<'a>) -> Box<dyn Prepared + 'a>;

    /// Gets ready for a sentence in a chart, and says how many bytes a state has there; none if it needs to know what
    /// came before.
    fn joined<'a>(&'a self, _context: Context<'a>) -> Option<(Box<dyn Joined + 'a>, usize)> {
        None
    }
}

/// A state feature, ready for one sentence, in the hands of one thread.
pub trait Prepared {
    /// Fills in the state of the empty hypothesis; it arrives as zeros.
    fn start(&self, _state: &mut [u8]) {}

    /// Says what fires if a rule without gaps, by its number among those that apply, comes next and, if so, last; fills
    /// in the next state, which arrives as zeros.
    fn extend(&self, rule: u32, last: bool, previous: &[u8], next: &mut [u8], out: &mut Sink<'_>);

    /// Why it could not answer, if it could not: the sentence's results are void then.
    fn failure(&self) -> Option<String> {
        None
    }
}

/// A state as numbers: features keep theirs in little-endian words.
#[inline]
pub fn get_u32(state: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([state[at], state[at + 1], state[at + 2], state[at + 3]])
}

/// Stores a number in a state.
#[inline]
pub fn put_u32(state: &mut [u8], at: usize, value: u32) {
    state[at..at + 4].copy_from_slice(&value.to_le_bytes());
}
