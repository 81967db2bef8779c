//! Phrase-based search: translation options, reordering, multi-stack beam, n-best lists and lattices.

pub mod columns;
pub mod coverage;
pub mod feature;
mod future;
mod lattice;
mod nbest;
mod options;
mod prune;
pub mod search;
mod system;
mod translate;

pub use lattice::{Lattice, Phrase};
pub use nbest::Nbest;
pub use options::{Choice, Collector, Opt, Options, Span};
pub use system::System;
pub use translate::{Extractor, Hypothesis, Segment, Settings, Translation, search, translate};
