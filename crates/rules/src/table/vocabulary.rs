//! Words to ids and back, from mapped bytes.

use dragoman_base::Texts;
use dragoman_base::hash::{place, text as hash};

const EMPTY: u32 = u32::MAX;

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
