//! Words to ids and back, from mapped bytes.

use super::file::mix;
use dragoman_base::Texts;

const EMPTY: u32 = u32::MAX;

/// A hash of a word that files rely on: it must never change.
fn hash(text: &[u8]) -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15 ^ text.len() as u64;
    let (chunks, rest) = text.as_chunks::<8>();
    for chunk in chunks {
        state = (state ^ u64::from_le_bytes(*chunk)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        state ^= state >> 32;
    }
    let mut tail = [0; 8];
    tail[..rest.len()].copy_from_slice(rest);
    mix(state ^ u64::from_le_bytes(tail))
}

/// The place of `hash` in a table of `size` slots.
fn place(hash: u64, size: usize) -> usize {
    ((u128::from(hash) * size as u128) >> 64) as usize
}

/// The sections of a vocabulary: all bytes, starts of words, hash slots (tag and id).
pub fn sections(words: &Texts) -> [Vec<u8>; 3] {
    let starts = words.offsets().iter().flat_map(|&o| (o as u32).to_le_bytes()).collect();
    let size = words.len() * 2 + 1;
    let mut slots = vec![[0, EMPTY]; size];
    for (id, text) in words.iter().enumerate() {
        let hash = hash(text.as_bytes());
        let mut at = place(hash, size);
        while slots[at][1] != EMPTY {
            at = (at + 1) % size;
        }
        slots[at] = [hash as u32, id as u32];
    }
    let slots = slots.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    [words.bytes().to_vec(), starts, slots]
}

/// The words of one side of a mapped table.
#[derive(Debug, Clone, Copy)]
pub struct Vocabulary<'a> {
    pub text: &'a [u8],
    pub starts: &'a [u32],
    pub slots: &'a [[u32; 2]],
}

impl<'a> Vocabulary<'a> {
    /// Whether the sections fit together; says nothing about each single word.
    pub fn fits(&self) -> bool {
        let ends = (self.starts.first(), self.starts.last());
        ends == (Some(&0), Some(&(self.text.len() as u32))) && self.slots.len() >= self.starts.len()
    }

    /// Whether every word is where it should be.
    pub fn is_whole(&self) -> bool {
        self.starts.is_sorted()
            && std::str::from_utf8(self.text).is_ok()
            && (0..self.len() as u32).all(|id| self.id(self.name(id)) == Some(id))
    }

    /// Number of words.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    fn bytes(&self, id: u32) -> &'a [u8] {
        let bounds = self.starts.get(id as usize).zip(self.starts.get(id as usize + 1));
        bounds.and_then(|(&from, &to)| self.text.get(from as usize..to as usize)).unwrap_or_default()
    }

    /// The word behind `id`; nothing for an id that is none.
    pub fn name(&self, id: u32) -> &'a str {
        std::str::from_utf8(self.bytes(id)).unwrap_or("")
    }

    /// The id of a word.
    pub fn id(&self, text: &str) -> Option<u32> {
        let hash = hash(text.as_bytes());
        let first = place(hash, self.slots.len());
        let slots = self.slots[first..].iter().chain(&self.slots[..first]);
        let known = slots.take_while(|slot| slot[1] != EMPTY);
        let mut alike = known.filter(|slot| slot[0] == hash as u32).map(|slot| slot[1]);
        alike.find(|&id| (id as usize) < self.len() && self.bytes(id) == text.as_bytes())
    }
}
