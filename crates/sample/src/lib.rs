//! Sampling derivations: a Markov chain over complete translations that moves by small local changes.
//!
//! A derivation is a list of options in order of the target that covers the source once, within the distortion limit.
//! A move draws an operator and a place, lists the derivations that differ there and nowhere else (the neighbourhood,
//! which has the current one in it), and draws one of them in proportion to exp(w.h / T). Places are drawn so that
//! every member of a neighbourhood has the same chance to be asked for it; so each move is a Gibbs step, and the chain
//! leaves exp(w.h / T) over all derivations as it is (Arun et al. 2009).
//!
//! Only what changes is scored: from the first phrase that differs until the state bytes of all features are what they
//! were, which for language models is a few words later.

mod anneal;
mod bounds;
mod chain;
mod cover;
mod difference;
mod judge;
mod learn;
mod mix;
mod moves;
mod neighbourhood;
mod pace;
mod rank;
mod sparse;
mod tails;
#[cfg(test)]
mod tests;

/// Entries of features' memories for each source word: a chain stays near the likely derivations.
const MEMORY: usize = 1 << 8;

pub use anneal::{Plan, Whole, sample};
pub use chain::{Chain, Start};
pub use judge::{Fixed, Judge, Learned};
pub use mix::Mixed;
pub use moves::{Mix, draw};
pub use neighbourhood::{Neighbourhood, Scratch};
pub use pace::Pace;
pub use rank::{Epoch, OpenTexts, Oracle, RankOptions, Shard, TextFeatures, rank};
