//! Hierarchical search: rules with gaps in a chart, glue, lists and forests.

mod forest;
mod graph;
mod parse;
mod rules;
mod search;
mod system;
#[cfg(test)]
mod tests;
mod translate;

pub use forest::forest;
pub use graph::{Edge, Graph, NONE, Node};
pub use parse::{Completed, Parse, Pattern, Reach, Source};
pub use rules::{Choice, Rules};
pub use search::{Limits, Ready, Search};
pub use system::System;
pub use translate::{Settings, explain, forest_of, search, translate};
