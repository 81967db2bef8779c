//! Forests: hypergraphs of derivations in columns. A lattice is a forest whose edges have one tail at most.

mod arrange;
mod check;
mod forest;

pub use forest::{Edge, Forest, TAIL, span};
