//! A table of names that does not grow and need not be built: it is used where it lies, in a mapped file.

use crate::container::Bytes;
use crate::hash;
use std::ops::Range;
use std::sync::Arc;

/// Names for each slot, in hundredths: more names than that would make searching long.
const FULL: usize = 75;

/// Distinct names in columns: all bytes one after the other, where each name ends (64 bits), a hash table of ids (32
/// bits: id + 1, or 0), and the marks (a byte each, 1 for dense). Numbers have the least significant byte first.
#[derive(Clone)]
pub struct Frozen {
    bytes: Arc<Bytes>,
    parts: [Range<usize>; 4],
}

impl std::fmt::Debug for Frozen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Frozen({})", self.len())
    }
}

impl Frozen {
    /// The parts of a table of names and their marks, in the order of [`Frozen::open`]. The names must differ.
    pub fn parts<'a>(names: impl ExactSizeIterator<Item = (&'a str, bool)>) -> [Vec<u8>; 4] {
        let count = names.len();
        let size = (count * 100 / FULL).max(1) + 1;
        let (mut text, mut marks) = (Vec::new(), Vec::with_capacity(count));
        let mut ends = Vec::with_capacity(count * 8);
        let mut slots = vec![0u32; size];
        for (id, (name, dense)) in names.enumerate() {
            text.extend_from_slice(name.as_bytes());
            ends.extend_from_slice(&(text.len() as u64).to_le_bytes());
            marks.push(u8::from(dense));
            let mut at = hash::place(hash::text(name.as_bytes()), size);
            while slots[at] != 0 {
                at = if at + 1 == size { 0 } else { at + 1 };
            }
            slots[at] = id as u32 + 1;
        }
        [text, ends, slots.iter().flat_map(|slot| slot.to_le_bytes()).collect(), marks]
    }

    /// Looks at parts of `bytes` as [`Frozen::parts`] made them; none if they do not fit together.
    pub fn open(bytes: Arc<Bytes>, parts: [Range<usize>; 4]) -> Option<Self> {
        let [text, ends, slots, marks] = parts.clone().map(|part| bytes.get(part));
        let text = std::str::from_utf8(text?).ok()?;
        let (ends, slots) = (ends?.as_chunks::<8>(), slots?.as_chunks::<4>());
        let count = ends.0.len();
        let whole = ends.1.is_empty() && slots.1.is_empty() && marks?.len() == count;
        let mut last = 0;
        let rising = ends.0.iter().all(|end| {
            let end = u64::from_le_bytes(*end) as usize;
            let fits = end >= last && text.is_char_boundary(end);
            last = end;
            fits
        });
        let inside = slots.0.iter().all(|slot| u32::from_le_bytes(*slot) as usize <= count);
        // Without an empty slot a search for a name that is not there would never end.
        let ends_somewhere = slots.0.contains(&[0; 4]);
        (whole && rising && last == text.len() && inside && ends_somewhere).then_some(Self { bytes, parts })
    }

    fn part(&self, part: usize) -> &[u8] {
        &self.bytes[self.parts[part].clone()]
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.parts[3].len()
    }

    /// Whether there is no name.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn end(&self, id: usize) -> usize {
        let ends = self.part(1).as_chunks::<8>().0;
        u64::from_le_bytes(ends[id]) as usize
    }

    /// The name behind `id`; panics for an id that is not there.
    pub fn name(&self, id: u32) -> &str {
        let id = id as usize;
        let from = if id == 0 { 0 } else { self.end(id - 1) };
        let name = &self.part(0)[from..self.end(id)];
        // SAFETY: when the table was opened, all of the text was UTF-8 and every name ended between characters.
        unsafe { std::str::from_utf8_unchecked(name) }
    }

    /// Whether the name behind `id` is marked dense.
    pub fn is_dense(&self, id: u32) -> bool {
        self.part(3)[id as usize] != 0
    }

    /// The id of `name`, if it is there.
    pub fn get(&self, name: &str) -> Option<u32> {
        let slots = self.part(2).as_chunks::<4>().0;
        let mut at = hash::place(hash::text(name.as_bytes()), slots.len());
        loop {
            let id = u32::from_le_bytes(slots[at]).checked_sub(1)?;
            if self.name(id) == name {
                return Some(id);
            }
            at = if at + 1 == slots.len() { 0 } else { at + 1 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(parts: &[Vec<u8>; 4]) -> (Arc<Bytes>, [Range<usize>; 4]) {
        let mut all = Vec::new();
        let places = parts.each_ref().map(|part| {
            all.extend_from_slice(part);
            all.len() - part.len()..all.len()
        });
        (Arc::new(Bytes::Owned(all)), places)
    }

    #[test]
    fn all_names_are_found_and_no_others() {
        for count in [0, 1, 2, 7, 1000] {
            let names: Vec<String> = (0..count).map(|i| format!("é{i}")).collect();
            let rows = names.iter().enumerate().map(|(i, name)| (name.as_str(), i % 3 == 0));
            let (bytes, parts) = joined(&Frozen::parts(rows));
            let frozen = Frozen::open(bytes, parts).unwrap();
            assert_eq!((frozen.len(), frozen.is_empty()), (count, count == 0));
            for i in 0..count as u32 {
                assert_eq!(frozen.name(i), format!("é{i}"));
                assert_eq!((frozen.get(&format!("é{i}")), frozen.is_dense(i)), (Some(i), i % 3 == 0));
                assert_eq!(frozen.get(&format!("e{i}")), None);
            }
        }
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let good = Frozen::parts([("é", true), ("bc", false)].into_iter());
        let broken = |change: &dyn Fn(&mut [Vec<u8>; 4])| {
            let mut parts = good.clone();
            change(&mut parts);
            let (bytes, places) = joined(&parts);
            Frozen::open(bytes, places).is_none()
        };
        assert!(!broken(&|_| {}));
        assert!(broken(&|parts| parts[0][0] = b'x'), "not UTF-8");
        assert!(broken(&|parts| parts[1][0] = 1), "an end inside a character");
        assert!(broken(&|parts| parts[1][0] = 200), "ends that fall");
        assert!(broken(&|parts| parts[0].push(b'x')), "text behind the last name");
        assert!(broken(&|parts| parts[2].fill(1)), "ids that are not there");
        assert!(broken(&|parts| parts[2].as_chunks_mut::<4>().0.fill([1, 0, 0, 0])), "no empty slot");
        assert!(broken(&|parts| parts[3].truncate(1)), "too few marks");
        assert!(broken(&|parts| parts[2].truncate(7)), "half a slot");
    }
}
