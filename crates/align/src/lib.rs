//! Word alignment: a Bayesian chain of IBM 1, HMM and HMM with fertilities, trained by Gibbs sampling (Östling &
//! Tiedemann 2016) in both directions on all cores; symmetrisation; error rate; new text with a trained aligner.
//!
//! In each direction one side is *given* and the other is *made*: each made word is linked to a given word or to
//! none. Forward makes the target, reverse makes the source.

pub mod apply;
pub mod bitext;
pub mod cells;
pub mod counts;
pub mod direction;
mod file;
pub mod jumps;
pub mod links;
pub mod model;
pub mod sampler;
pub mod score;
pub mod shards;
pub mod symmetrise;
pub mod train;
pub mod weights;
mod wire;

pub use apply::Effort;
pub use bitext::{Bitext, Report, Spelling, count_words};
pub use links::Links;
pub use model::Model;
pub use sampler::Priors;
pub use score::{Gold, Score, score};
pub use shards::{Shard, Shards};
pub use symmetrise::{Method, symmetrise};
pub use train::{Options, Trained, Trainer};
