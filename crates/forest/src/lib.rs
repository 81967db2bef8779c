//! Forests: hypergraphs of derivations in columns. A lattice is a forest whose edges have one tail at most.

mod arrange;
pub mod cdec;
mod check;
mod columns;
mod derivation;
mod forest;
mod inside;
pub mod jsonl;
mod kbest;
mod prune;
mod reach;
#[cfg(test)]
mod tests;

pub use columns::Columns;
pub use derivation::{Derivation, Tree};
pub use forest::{Edge, Forest, TAIL, span};
pub use inside::Sum;
pub use kbest::Kbest;
