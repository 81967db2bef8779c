//! The fast form: edges in an open-addressing table with exact 64-bit keys (node, word), 16 bytes a slot.

use super::{Automaton, ROOT};
use dragoman_base::hash::{mix, place};

const EMPTY: u32 = u32::MAX;

/// Slots for each edge: fewer are smaller, more are faster.
const ROOM: f64 = 1.5;

fn slot(a: u32, b: u32, c: u32, d: u32) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (to, from) in bytes.chunks_exact_mut(4).zip([a, b, c, d]) {
        to.copy_from_slice(&from.to_le_bytes());
    }
    bytes
}

fn pair(bytes: [u8; 8]) -> (f32, u32) {
    let both = u64::from_le_bytes(bytes);
    (f32::from_bits(both as u32), (both >> 32) as u32)
}

fn key(node: u32, word: u32) -> u64 {
    u64::from(node) << 32 | u64::from(word)
}

/// Pairs of a logarithm and a node as bytes.
pub fn pairs(values: &[(f32, u32)]) -> Vec<u8> {
    values.iter().flat_map(|&(p, n)| (u64::from(p.to_bits()) | u64::from(n) << 32).to_le_bytes()).collect()
}

/// The sections: unigrams, nodes, slots.
pub fn sections(automaton: &Automaton) -> [Vec<u8>; 3] {
    let edges: usize = automaton.edges.iter().map(Vec::len).sum();
    let size = (edges as f64 * ROOM) as usize + 1;
    let mut slots = vec![slot(EMPTY, EMPTY, 0, 0); size];
    let mut taken = vec![false; size];
    for edge in automaton.edges.iter().flatten() {
        let mut at = place(mix(key(edge.node, edge.word)), size);
        while taken[at] {
            at = if at + 1 == size { 0 } else { at + 1 };
        }
        taken[at] = true;
        slots[at] = slot(edge.word, edge.node, edge.probability.to_bits(), edge.next);
    }
    [pairs(&automaton.unigrams), pairs(&automaton.nodes), slots.into_flattened()]
}

/// The edge of a key and its place, none if there is no such edge; nothing at all if the slots end before that is sure.
#[inline]
#[allow(clippy::option_option)]
fn seek(slots: &[[u8; 16]], key: u64) -> Option<Option<(usize, f32, u32)>> {
    for (place, slot) in slots.iter().enumerate() {
        let slot = u128::from_le_bytes(*slot);
        let found = slot as u64;
        if found == key {
            return Some(Some((place, f32::from_bits((slot >> 64) as u32), (slot >> 96) as u32)));
        }
        if found == u64::MAX {
            return Some(None);
        }
    }
    None
}

/// A mapped table.
#[derive(Debug, Clone, Copy)]
pub struct Hash<'a> {
    unigrams: &'a [[u8; 8]],
    nodes: &'a [[u8; 8]],
    slots: &'a [[u8; 16]],
}

impl<'a> Hash<'a> {
    /// A view of the three sections; none if they do not fit together.
    pub fn new(unigrams: &'a [u8], nodes: &'a [u8], slots: &'a [u8], words: usize) -> Option<Self> {
        let (unigrams, nodes, slots) =
            (unigrams.as_chunks::<8>(), nodes.as_chunks::<8>(), slots.as_chunks::<16>());
        let whole = unigrams.1.is_empty() && nodes.1.is_empty() && slots.1.is_empty();
        let fits = whole && unigrams.0.len() == words && !nodes.0.is_empty() && !slots.0.is_empty();
        fits.then_some(Self { unigrams: unigrams.0, nodes: nodes.0, slots: slots.0 })
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    #[inline]
    fn find(&self, node: u32, word: u32) -> Option<(f32, u32)> {
        self.edge(node, word).map(|(_, probability, next)| (probability, next))
    }

    /// Places that edges may have.
    pub fn places(&self) -> usize {
        self.slots.len()
    }

    /// The edge at a place: node, word, next node.
    pub fn at(&self, place: usize) -> Option<(u32, u32, u32)> {
        let slot = u128::from_le_bytes(self.slots[place]);
        (slot as u64 != u64::MAX).then_some(((slot >> 32) as u32, slot as u32, (slot >> 96) as u32))
    }

    /// Back-off weight and suffix of a node. Suffixes have smaller numbers: those of a damaged table that have not, and
    /// nodes that it lacks, lead to the empty context.
    #[inline]
    pub fn fall(&self, node: u32) -> (f32, u32) {
        let (backoff, suffix) = self.nodes.get(node as usize).map_or((0.0, ROOT), |&entry| pair(entry));
        (backoff, if suffix < node { suffix } else { ROOT })
    }

    /// The place of an edge, its probability, and the node after it.
    #[inline]
    pub fn edge(&self, node: u32, word: u32) -> Option<(usize, f32, u32)> {
        let key = key(node, word);
        let at = place(mix(key), self.slots.len());
        // To the end and on from the beginning: a table without an empty slot is damaged, and must end, too.
        match seek(&self.slots[at..], key) {
            Some(found) => found.map(|(by, probability, next)| (at + by, probability, next)),
            None => seek(&self.slots[..at], key).flatten(),
        }
    }

    /// Natural log probability of `word` after `node`, the next node, and the node the probability belongs to.
    #[inline]
    pub fn step(&self, mut node: u32, word: u32) -> (f32, u32, u32) {
        let mut sum = 0.0;
        while node != ROOT {
            if let Some((probability, next)) = self.find(node, word) {
                return (sum + probability, next, node);
            }
            let (backoff, suffix) = self.fall(node);
            sum += backoff;
            node = suffix;
        }
        let (probability, next) = pair(self.unigrams[word as usize]);
        (sum + probability, next, ROOT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_tables_come_to_an_end() {
        let unigrams = pairs(&[(-1.0, 0); 3]);
        // Nodes that are their own suffixes, or have one that there is not; no slot is empty.
        let nodes = pairs(&[(0.0, ROOT), (-0.5, 1), (-0.25, 7), (-2.0, 3)]);
        let slots = [slot(9, 9, 0, 0), slot(8, 8, 0, 0)].concat();
        let table = Hash::new(&unigrams, &nodes, &slots, 3).unwrap();
        assert_eq!(table.step(1, 2), (-1.5, 0, ROOT));
        assert_eq!(table.step(2, 2), (-1.25, 0, ROOT));
        assert_eq!(table.step(3, 1), (-3.0, 0, ROOT));
        assert_eq!(table.step(99, 0), (-1.0, 0, ROOT), "a node that there is not");
        assert_eq!(table.edge(1, 2), None);
    }
}
