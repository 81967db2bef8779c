//! Phrase-based search: translation options, reordering, multi-stack beam, n-best lists and lattices.

pub mod coverage;
pub mod feature;
mod forest;
mod future;
mod nbest;
mod options;
mod prune;
pub mod search;
mod system;
mod translate;

pub use forest::Lattice;
pub use nbest::Nbest;
pub use options::{Choice, Collector, Opt, Options, Span};
pub use system::System;
pub use translate::{Extractor, Settings, search, translate};
