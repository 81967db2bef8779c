//! Hierarchical search: rules with gaps in a chart, glue, lists and forests.

mod graph;
mod parse;
mod rules;
mod search;

pub use graph::{Edge, Graph, NONE, Node};
pub use parse::{Completed, Parse, Pattern, Reach, Source};
pub use rules::{Choice, Rules};
pub use search::{Limits, Ready, Search};
