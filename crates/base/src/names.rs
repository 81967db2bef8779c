//! Interned names: a string is stored once and known by a 32-bit id from then on.
//!
//! Serves as the vocabulary of words and as the table of feature names. Ids count from 0 in order of first
//! appearance and mean nothing outside the table that gave them: between processes only names travel.
//!
//! A name may be marked dense: a feature that every candidate has, written as `name= value` in n-best lists.
//! The components of a dense group `TM= -1 -2` are called `TM[0]` and `TM[1]`.

use crate::texts::Texts;
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// A growing table of distinct strings. Names only ever get added, so an id stays valid.
#[derive(Debug, Clone, Default)]
pub struct Names {
    texts: Texts,
    slots: HashTable<u32>,
    dense: Vec<bool>,
}

fn hash(name: &str) -> u64 {
    FxBuildHasher.hash_one(name)
}

impl Names {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there is no name yet.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The id of `name`, which is added if it is new.
    pub fn intern(&mut self, name: &str) -> u32 {
        self.intern_as(name, false)
    }

    /// The id of `name`; if it is new, it is added with the given mark, else it keeps the mark it has.
    pub fn intern_as(&mut self, name: &str, dense: bool) -> u32 {
        let Self { texts, slots, dense: marks } = self;
        let entry =
            slots.entry(hash(name), |&id| texts.get(id as usize) == name, |&id| hash(texts.get(id as usize)));
        match entry {
            hashbrown::hash_table::Entry::Occupied(slot) => *slot.get(),
            hashbrown::hash_table::Entry::Vacant(slot) => {
                let id = u32::try_from(texts.len()).expect("fewer than 2^32 names");
                slot.insert(id);
                texts.push(name);
                marks.push(dense);
                id
            }
        }
    }

    /// The id of `name`, if it is known.
    pub fn get(&self, name: &str) -> Option<u32> {
        self.slots.find(hash(name), |&id| self.texts.get(id as usize) == name).copied()
    }

    /// Whether the name behind `id` is marked dense.
    pub fn is_dense(&self, id: u32) -> bool {
        self.dense[id as usize]
    }

    /// The name behind `id`; panics for an id that this table never gave.
    pub fn name(&self, id: u32) -> &str {
        self.texts.get(id as usize)
    }

    /// All names in order of their ids.
    pub fn texts(&self) -> &Texts {
        &self.texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn behaves_like_a_map_from_name_to_first_position(words in prop::collection::vec("[a-cé]{0,3}", 0..200)) {
            let mut names = Names::new();
            let mut slow: HashMap<String, u32> = HashMap::new();
            for word in &words {
                let next = slow.len() as u32;
                let want = *slow.entry(word.clone()).or_insert(next);
                prop_assert_eq!(names.intern(word), want);
            }
            prop_assert_eq!(names.len(), slow.len());
            for (word, id) in slow {
                prop_assert_eq!(names.get(&word), Some(id));
                prop_assert_eq!(names.name(id), word);
            }
            prop_assert_eq!(names.get("never interned"), None);
        }
    }

    #[test]
    fn the_first_mark_stays() {
        let mut names = Names::new();
        let (lm, pair) = (names.intern_as("LM", true), names.intern("wp_a_b"));
        assert_eq!(names.intern_as("LM", false), lm);
        assert!(names.is_dense(lm) && !names.is_dense(pair));
    }
}
