//! Phrase-based search: translation options, features, multi-stack beam, n-best lists and lattices.

pub mod columns;
pub mod coverage;
pub mod feature;
mod future;
mod lattice;
pub mod markup;
mod nbest;
mod options;
mod prune;
pub mod sample;
pub mod search;
mod sentence;
mod system;
mod translate;
mod weights;

pub use lattice::{Lattice, Phrase};
pub use nbest::Nbest;
pub use options::{Choice, Collector, Opt, Options, Origin, Span};
pub use sentence::{Forced, Input, Sentence};
pub use system::System;
pub use translate::{Extractor, Hypothesis, Segment, Settings, Translation, search, translate};
pub use weights::Weights;
