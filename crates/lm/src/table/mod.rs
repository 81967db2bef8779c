//! Query tables: contexts as the nodes of an automaton, in a file that is mapped and not read.
//!
//! A node is a context that matters: some n-gram extends it, or its back-off weight is not 1. An n-gram is an edge
//! (node, word) with a probability and the node that the search is in afterwards: the longest ending of the n-gram
//! that is a node. A node knows its back-off weight and its suffix, the longest proper ending that is a node. So the
//! state of a search is one number, and scoring a word is a walk down the suffixes until there is an edge.

mod build;
mod compact;
mod file;
mod hash;

pub use build::Automaton;
pub use compact::Compact;
pub use file::{FORM, Head, Kind, assemble, parse};
pub use hash::Hash;

/// The node of the empty context.
pub const ROOT: u32 = 0;

/// A little-endian 32-bit word at the `i`-th place of `bytes`.
pub fn word(bytes: &[u8], i: usize) -> u32 {
    let b = &bytes[i * 4..i * 4 + 4];
    u32::from_le_bytes([b[0], b[1], b[2], b[3]])
}
