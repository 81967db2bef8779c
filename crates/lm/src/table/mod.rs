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
mod vocabulary;

pub use build::Automaton;
pub use compact::Compact;
pub use file::{Bytes, Head, Kind, assemble, is_table, parse};
pub use hash::Hash;
pub use vocabulary::Vocabulary;

/// The node of the empty context.
pub const ROOT: u32 = 0;

/// A little-endian 32-bit word at the `i`-th place of `bytes`.
pub fn word(bytes: &[u8], i: usize) -> u32 {
    let b = &bytes[i * 4..i * 4 + 4];
    u32::from_le_bytes([b[0], b[1], b[2], b[3]])
}

/// Spreads the bits of a key over 64, a bijection (the finaliser of `SplitMix64`).
pub fn mix(key: u64) -> u64 {
    let key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ (key >> 31)
}

/// The place of `hash` in a table of `size` slots.
pub fn place(hash: u64, size: usize) -> usize {
    ((u128::from(hash) * size as u128) >> 64) as usize
}
