//! Values that belong to the rules of a table, shared by all threads. Space comes with use, however many rules there
//! are or will be.

use std::sync::OnceLock;

/// Rules whose values come into being together.
const CHUNK: u32 = 1 << 12;
/// The first shelf has room for `1 << FIRST` chunks, every other one for twice as many as the one before.
const FIRST: u32 = 6;
/// Shelves for the chunks of all numbers of 32 bits.
const SHELVES: usize = (u32::BITS - CHUNK.ilog2() - FIRST + 1) as usize;

type Chunk<T> = OnceLock<Box<[T]>>;

/// So many values for each rule of a table.
pub struct Chunks<T> {
    shelves: [OnceLock<Box<[Chunk<T>]>>; SHELVES],
    each: usize,
}

/// The shelf of a chunk, and its place there.
#[inline]
fn place(chunk: u32) -> (usize, usize) {
    let chunk = chunk + (1 << FIRST);
    let size = chunk.ilog2();
    ((size - FIRST) as usize, (chunk - (1 << size)) as usize)
}

impl<T: Default> Chunks<T> {
    /// Room for `each` values of each rule.
    pub fn new(each: usize) -> Self {
        Self { shelves: [const { OnceLock::new() }; SHELVES], each }
    }

    #[inline]
    fn index(&self, rule: u32, way: usize) -> usize {
        (rule % CHUNK) as usize * self.each + way
    }

    /// A value of a rule.
    #[inline]
    pub fn at(&self, rule: u32, way: usize) -> &T {
        let (shelf, at) = place(rule / CHUNK);
        let chunks = || (0..1usize << (shelf as u32 + FIRST)).map(|_| OnceLock::new()).collect();
        let values = || (0..CHUNK as usize * self.each).map(|_| T::default()).collect();
        &self.shelves[shelf].get_or_init(chunks)[at].get_or_init(values)[self.index(rule, way)]
    }

    /// The same, if there is space yet.
    pub fn get(&self, rule: u32, way: usize) -> Option<&T> {
        let (shelf, at) = place(rule / CHUNK);
        Some(&self.shelves[shelf].get()?[at].get()?[self.index(rule, way)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn every_value_has_its_place() {
        // The first and last chunks of shelves, and the last number that there is.
        let shelf = CHUNK << FIRST;
        let rules: Vec<u32> = (0..CHUNK * 2 + 3)
            .chain(shelf - 2..shelf + 2)
            .chain(3 * shelf - 2..3 * shelf + 2)
            .chain([1 << 31, u32::MAX - 1, u32::MAX])
            .collect();
        let values = Chunks::<AtomicU32>::new(2);
        let all = || rules.iter().flat_map(|&rule| [(rule, 0), (rule, 1)]).zip(1..);
        assert!(values.get(0, 0).is_none() && values.get(u32::MAX, 0).is_none());
        for ((rule, way), number) in all() {
            assert_eq!(values.at(rule, way).swap(number, Ordering::Relaxed), 0);
        }
        for ((rule, way), number) in all() {
            assert_eq!(values.get(rule, way).unwrap().load(Ordering::Relaxed), number);
        }
    }
}
