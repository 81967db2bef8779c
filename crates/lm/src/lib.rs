//! N-gram language models: estimation, mapped query tables, ARPA files, interpolation.
//!
//! [`estimate`] makes a model from text; [`Model`] answers queries from a file that is mapped, not read. In memory
//! logarithms are natural; ARPA files have base 10.

pub mod arpa;
pub mod edges;
pub mod estimate;
mod merge;
mod mixture;
mod model;
mod ngrams;
pub mod query;
mod table;
mod words;

pub use merge::merge;
pub use mixture::{MAX_MODELS, Mixture, MixtureState};
pub use model::{Model, Score, State, copies};
pub use ngrams::{Grams, Ngrams};
pub use table::Kind;
pub use words::{BOS, EOS, UNK};
