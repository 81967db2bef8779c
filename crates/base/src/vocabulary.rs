//! Words to ids and back, from bytes as they lie in a mapped file.

use crate::Texts;
use crate::hash::{place, text as hash};

const EMPTY: u32 = u32::MAX;

/// The sections of a vocabulary: all bytes, starts of words (32 bits each), hash slots (tag and id, 32 bits each). Least
/// significant byte first.
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

/// The words of a mapped file. Damaged bytes may give wrong answers, but nothing worse.
#[derive(Debug, Clone, Copy, Default)]
pub struct Vocabulary<'a> {
    text: &'a [u8],
    starts: &'a [[u8; 4]],
    slots: &'a [[u8; 8]],
}

impl<'a> Vocabulary<'a> {
    /// A view of the three sections; none if their lengths do not fit together. Says nothing about each single word.
    #[inline]
    pub fn new([text, starts, slots]: [&'a [u8]; 3]) -> Option<Self> {
        let ((starts, odd), (slots, rest)) = (starts.as_chunks::<4>(), slots.as_chunks::<8>());
        let ends = (starts.first()?, u32::from_le_bytes(*starts.last()?) as usize);
        let fits = odd.is_empty() && rest.is_empty() && slots.len() >= starts.len();
        (fits && ends == (&[0; 4], text.len())).then_some(Self { text, starts, slots })
    }

    /// Whether every id has a word.
    pub fn is_sound(&self) -> bool {
        self.starts.iter().map(|start| u32::from_le_bytes(*start)).is_sorted()
            && std::str::from_utf8(self.text).is_ok()
    }

    /// Whether every word is where it should be.
    pub fn is_whole(&self) -> bool {
        self.is_sound() && (0..self.len() as u32).all(|id| self.id(self.name(id)) == Some(id))
    }

    /// Number of words.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there is no word.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn bytes(&self, id: u32) -> &'a [u8] {
        let at = id as usize;
        let Some(&[from, to]) = self.starts.get(at..).and_then(|rest| rest.first_chunk()) else { return &[] };
        let (from, to) = (u32::from_le_bytes(from), u32::from_le_bytes(to));
        self.text.get(from as usize..to as usize).unwrap_or_default()
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
        let slots = slots.map(|&[a, b, c, d, e, f, g, h]| {
            (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]))
        });
        let known = slots.take_while(|&(_, id)| id != EMPTY);
        let mut alike = known.filter(|&(tag, _)| tag == hash as u32).map(|(_, id)| id);
        alike.find(|&id| (id as usize) < self.len() && self.bytes(id) == text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn words_are_found_and_no_others(
            words in prop::collection::btree_set("[a-cé]{0,3}", 0..40),
            others in prop::collection::btree_set("[a-cé]{0,3}", 0..9),
            at in 0usize..4000,
        ) {
            let texts: Texts = words.iter().map(String::as_str).collect();
            let sections = sections(&texts);
            let view = |sections: &[Vec<u8>; 3]| Vocabulary::new([&sections[0], &sections[1], &sections[2]]).map(|v| {
                let names: Vec<String> = (0..v.len() as u32 + 2).map(|id| v.name(id).to_owned()).collect();
                let ids: Vec<Option<u32>> = others.iter().map(|word| v.id(word)).collect();
                (v.len(), v.is_whole(), names, ids)
            });
            let (len, whole, names, ids) = view(&sections).unwrap();
            prop_assert_eq!((len, whole), (words.len(), true));
            prop_assert_eq!(names[..len].iter().cloned().collect::<BTreeSet<_>>(), words.clone());
            let want: Vec<_> = others.iter().map(|w| words.iter().position(|x| x == w).map(|p| p as u32)).collect();
            prop_assert_eq!(ids, want);
            // Damage is no crash.
            for part in 0..3 {
                let mut damaged = sections.clone();
                let size = damaged[part].len().max(1);
                if let Some(byte) = damaged[part].get_mut(at % size) {
                    *byte ^= 1 << (at % 8);
                }
                let _ = view(&damaged);
                damaged[part].pop();
                let _ = view(&damaged);
            }
        }
    }
}
