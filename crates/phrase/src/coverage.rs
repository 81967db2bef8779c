//! Which source words a hypothesis has translated, interned: equal coverages have equal ids.
//!
//! A coverage is the first open position (the gap) and a window of bits from there on, as short as it can be. Under a
//! distortion limit the window stays within a machine word, however long the sentence is; without one it grows.

use dragoman_model::Input;
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// The coverage of nothing.
pub const EMPTY: u32 = 0;

#[derive(Debug, Clone, Copy)]
struct Entry {
    gap: u32,
    start: u32,
    words: u32,
    count: u32,
}

/// All coverages that the search of one sentence has met.
#[derive(Debug)]
pub struct Coverages {
    length: usize,
    entries: Vec<Entry>,
    bits: Vec<u64>,
    slots: HashTable<u32>,
    scratch: Vec<u64>,
}

fn hash(gap: u32, bits: &[u64]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u32(gap);
    for &word in bits {
        hasher.write_u64(word);
    }
    hasher.finish()
}

impl Coverages {
    /// The coverages of a sentence of `length` words; [`EMPTY`] is among them.
    pub fn new(length: usize) -> Self {
        let mut made = Self {
            length,
            entries: Vec::new(),
            bits: Vec::new(),
            slots: HashTable::new(),
            scratch: Vec::new(),
        };
        made.intern(0, 0);
        made
    }

    /// Number of distinct coverages.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Never: the empty coverage is always there.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of words of the sentence.
    pub fn words(&self) -> usize {
        self.length
    }

    /// Bytes that the coverages take.
    pub fn bytes(&self) -> usize {
        self.entries.len() * (size_of::<Entry>() + 8) + self.bits.len() * 8
    }

    /// One of them, to ask.
    #[inline]
    pub fn get(&self, id: u32) -> Covered<'_> {
        let Entry { gap, start, words, count } = self.entries[id as usize];
        let window = &self.bits[start as usize..(start + words) as usize];
        Covered { length: self.length, gap: gap as usize, base: gap as usize, window, count: count as usize }
    }

    /// The coverage with the open positions from `from` up to `to` added.
    pub fn with(&mut self, id: u32, from: usize, to: usize) -> u32 {
        let Entry { gap, start, words, count } = self.entries[id as usize];
        let (start, words, gap) = (start as usize, words as usize, gap as usize);
        self.scratch.clear();
        self.scratch.extend_from_slice(&self.bits[start..start + words]);
        let needed = (to - gap).div_ceil(64);
        if self.scratch.len() < needed {
            self.scratch.resize(needed, 0);
        }
        for at in from - gap..to - gap {
            self.scratch[at / 64] |= 1 << (at % 64);
        }
        let filled = leading_ones(&self.scratch);
        shift_down(&mut self.scratch, filled);
        self.intern((gap + filled) as u32, count + (to - from) as u32)
    }

    /// The id of the window in `scratch`.
    fn intern(&mut self, gap: u32, count: u32) -> u32 {
        while self.scratch.last() == Some(&0) {
            self.scratch.pop();
        }
        let Self { entries, bits, slots, scratch, .. } = self;
        let window =
            |entry: &Entry| bits[entry.start as usize..(entry.start + entry.words) as usize].iter().copied();
        let equal = |&id: &u32| {
            let entry = &entries[id as usize];
            entry.gap == gap
                && entry.words as usize == scratch.len()
                && window(entry).eq(scratch.iter().copied())
        };
        let key = hash(gap, scratch);
        if let Some(&id) = slots.find(key, equal) {
            return id;
        }
        let id = entries.len() as u32;
        let start = bits.len() as u32;
        entries.push(Entry { gap, start, words: scratch.len() as u32, count });
        bits.extend_from_slice(scratch);
        slots.insert_unique(key, id, |&other| {
            let entry = &entries[other as usize];
            hash(entry.gap, &bits[entry.start as usize..(entry.start + entry.words) as usize])
        });
        id
    }
}

/// How many bits are set before the first that is not.
fn leading_ones(window: &[u64]) -> usize {
    let mut count = 0;
    for word in window {
        count += word.trailing_ones() as usize;
        if *word != u64::MAX {
            break;
        }
    }
    count
}

/// Drops the first `count` bits.
fn shift_down(window: &mut Vec<u64>, count: usize) {
    window.drain(..count / 64);
    let shift = count % 64;
    if shift > 0 {
        for i in 0..window.len() {
            let above = window.get(i + 1).map_or(0, |word| word << (64 - shift));
            window[i] = window[i] >> shift | above;
        }
    }
}

/// A coverage to ask. Positions count from 0.
#[derive(Debug, Clone, Copy)]
pub struct Covered<'a> {
    length: usize,
    gap: usize,
    /// The position that the window starts at; never past the gap.
    base: usize,
    window: &'a [u64],
    count: usize,
}

impl<'a> Covered<'a> {
    /// A coverage that is a set of bits from position 0 on; `gap` is the first one that is not set.
    #[inline]
    pub fn of_bits(length: usize, gap: usize, count: usize, bits: &'a [u64]) -> Self {
        Self { length, gap, base: 0, window: bits, count }
    }
}

impl Covered<'_> {
    /// The first open position; the sentence's length if there is none.
    #[inline]
    pub fn gap(&self) -> usize {
        self.gap
    }

    /// Number of covered words.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether every word is covered.
    #[inline]
    pub fn complete(&self) -> bool {
        self.count == self.length
    }

    /// Whether a position is covered; those past the end are not.
    #[inline]
    pub fn has(&self, position: usize) -> bool {
        if position < self.gap {
            return true;
        }
        let at = position - self.base;
        self.window.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// Whether the walls and zones of a sentence let a span come next.
    pub fn allows(&self, input: &Input, from: usize, to: usize) -> bool {
        input.walls.iter().all(|&wall| from < wall || self.gap() >= wall)
            && input.zones.iter().all(|&(start, end)| {
                let done = (start..end).filter(|&i| self.has(i)).count();
                done == 0 || done == end - start || (from >= start && to <= end)
            })
    }

    /// The open runs, in order: from, up to.
    pub fn gaps(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let mut at = self.gap;
        let end = (self.base + self.window.len() * 64).min(self.length);
        std::iter::from_fn(move || {
            while at < end && self.has(at) {
                at += 1;
            }
            if at >= self.length {
                return None;
            }
            let from = at;
            while at < end && !self.has(at) {
                at += 1;
            }
            if at >= end {
                at = self.length;
            }
            Some((from, at))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn behaves_like_a_vector_of_flags(length in 1usize..300, spans in prop::collection::vec((0usize..300, 1usize..9), 0..40)) {
            let mut all = Coverages::new(length);
            let (mut id, mut flags) = (EMPTY, vec![false; length]);
            let mut seen = std::collections::HashMap::from([(flags.clone(), EMPTY)]);
            for (from, size) in spans {
                let to = (from + size).min(length);
                if from >= length || flags[from..to].contains(&true) {
                    continue;
                }
                id = all.with(id, from, to);
                flags[from..to].fill(true);
                prop_assert_eq!(*seen.entry(flags.clone()).or_insert(id), id);
                let covered = all.get(id);
                prop_assert_eq!(covered.gap(), flags.iter().position(|f| !f).unwrap_or(length));
                prop_assert_eq!(covered.count(), flags.iter().filter(|&&f| f).count());
                prop_assert_eq!(covered.complete(), !flags.contains(&false));
                let mut open = vec![true; length];
                for (from, to) in covered.gaps() {
                    prop_assert!(from < to);
                    open[from..to].fill(false);
                }
                for i in 0..length {
                    prop_assert_eq!(covered.has(i), flags[i]);
                    prop_assert_eq!(open[i], flags[i]);
                }
                prop_assert!(!covered.has(length));
            }
            prop_assert_eq!(all.len(), seen.len());
        }
    }

    #[test]
    fn the_same_set_in_any_order_is_one_coverage() {
        let mut all = Coverages::new(9);
        let one = all.with(EMPTY, 2, 4);
        let (a, b) = (all.with(one, 0, 1), all.with(EMPTY, 0, 1));
        assert_eq!(all.with(b, 2, 4), a);
        assert_eq!(all.get(a).gaps().collect::<Vec<_>>(), [(1, 2), (4, 9)]);
    }
}
