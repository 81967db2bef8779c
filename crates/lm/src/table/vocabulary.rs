//! Words to ids and back, from mapped bytes.

use super::word;
use crate::words::UNK;
use dragoman_base::Texts;
use dragoman_base::hash::{place, text as hash};

const EMPTY: u32 = u32::MAX;

/// The sections of a vocabulary: all bytes, starts of words, hash slots (tag and id).
pub fn sections(words: &Texts) -> [Vec<u8>; 3] {
    let starts = words.offsets().iter().flat_map(|&o| (o as u32).to_le_bytes()).collect();
    let size = words.len() * 2 + 1;
    let mut slots = vec![(0, EMPTY); size];
    for (id, text) in words.iter().enumerate() {
        let hash = hash(text.as_bytes());
        let mut at = place(hash, size);
        while slots[at].1 != EMPTY {
            at = (at + 1) % size;
        }
        slots[at] = (hash as u32, id as u32);
    }
    let slots = slots.iter().map(|&(tag, id)| (u64::from(tag) | u64::from(id) << 32).to_le_bytes());
    [words.bytes().to_vec(), starts, slots.flatten().collect()]
}

/// The words of a mapped model.
#[derive(Debug, Clone, Copy)]
pub struct Vocabulary<'a> {
    text: &'a [u8],
    starts: &'a [u8],
    slots: &'a [[u8; 8]],
}

impl<'a> Vocabulary<'a> {
    /// A view of the three sections; none if they do not fit together. The words themselves are not looked at: bytes
    /// that make no sense are words that nobody finds.
    pub fn new(text: &'a [u8], starts: &'a [u8], slots: &'a [u8]) -> Option<Self> {
        let (slots, rest) = slots.as_chunks::<8>();
        let words = (starts.len() / 4).checked_sub(1)?;
        let whole = rest.is_empty() && starts.len().is_multiple_of(4) && slots.len() > words;
        let fits = whole && word(starts, words) as usize == text.len();
        fits.then_some(Self { text, starts, slots })
    }

    /// Number of words.
    pub fn len(&self) -> usize {
        self.starts.len() / 4 - 1
    }

    fn bytes(&self, id: u32) -> Option<&'a [u8]> {
        if id as usize >= self.len() {
            return None;
        }
        let (from, to) = (word(self.starts, id as usize), word(self.starts, id as usize + 1));
        self.text.get(from as usize..to as usize)
    }

    /// The word behind `id`, which must be below [`Vocabulary::len`].
    pub fn name(&self, id: u32) -> &'a str {
        self.bytes(id).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or("")
    }

    /// The id of a word; that of `<unk>` for an unknown one.
    pub fn id(&self, text: &[u8]) -> u32 {
        let hash = hash(text);
        let (before, after) = self.slots.split_at(place(hash, self.slots.len()));
        for slot in after.iter().chain(before) {
            let slot = u64::from_le_bytes(*slot);
            let id = (slot >> 32) as u32;
            if id == EMPTY {
                break;
            }
            if slot as u32 == hash as u32 && self.bytes(id) == Some(text) {
                return id;
            }
        }
        UNK
    }
}
