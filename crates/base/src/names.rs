//! Interned names: a string is stored once and known by a 32-bit id from then on.
//!
//! Serves as the vocabulary of words and as the table of feature names. Ids count from 0 in order of first
//! appearance and mean nothing outside the table that gave them: between processes only names travel.
//!
//! A name may be marked dense: a feature that every candidate has, written as `name= value` in n-best lists.
//! The components of a dense group `TM= -1 -2` are called `TM[0]` and `TM[1]`.

use crate::frozen::Frozen;
use crate::texts::Texts;
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// A growing table of distinct strings. Names only ever get added, so an id stays valid.
///
/// It may stand on a table that is mapped from a file, whose names have the first ids.
#[derive(Debug, Clone, Default)]
pub struct Names {
    frozen: Option<Frozen>,
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

    /// A table that stands on one that is mapped.
    pub fn on(frozen: Frozen) -> Self {
        Self { frozen: Some(frozen), ..Self::default() }
    }

    /// An empty table with room for `count` names of `bytes` bytes in all.
    pub fn with_capacity(count: usize, bytes: usize) -> Self {
        let (texts, dense) = (Texts::with_capacity(count, bytes), Vec::with_capacity(count));
        Self { frozen: None, texts, slots: HashTable::with_capacity(count), dense }
    }

    /// Makes room for so many more names, so that the table need not be rebuilt on the way.
    pub fn reserve(&mut self, more: usize) {
        let Self { texts, slots, dense, .. } = self;
        slots.reserve(more, |&id| hash(texts.get(id as usize)));
        dense.reserve(more);
    }

    /// Number of names that are mapped.
    fn base(&self) -> usize {
        self.frozen.as_ref().map_or(0, Frozen::len)
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.base() + self.texts.len()
    }

    /// Whether there is no name yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The id of `name`, which is added if it is new.
    pub fn intern(&mut self, name: &str) -> u32 {
        self.intern_as(name, false)
    }

    /// The id of `name`; if it is new, it is added with the given mark, else it keeps the mark it has.
    pub fn intern_as(&mut self, name: &str, dense: bool) -> u32 {
        let base = self.base() as u32;
        if let Some(id) = self.frozen.as_ref().and_then(|frozen| frozen.get(name)) {
            return id;
        }
        let Self { texts, slots, dense: marks, .. } = self;
        let entry =
            slots.entry(hash(name), |&id| texts.get(id as usize) == name, |&id| hash(texts.get(id as usize)));
        match entry {
            hashbrown::hash_table::Entry::Occupied(slot) => base + *slot.get(),
            hashbrown::hash_table::Entry::Vacant(slot) => {
                let own = u32::try_from(texts.len()).ok().filter(|own| own.checked_add(base).is_some());
                let own = own.expect("fewer than 2^32 names");
                slot.insert(own);
                texts.push(name);
                marks.push(dense);
                base + own
            }
        }
    }

    /// The id of `name`, if it is known.
    pub fn get(&self, name: &str) -> Option<u32> {
        let mapped = self.frozen.as_ref().and_then(|frozen| frozen.get(name));
        let own = || self.slots.find(hash(name), |&id| self.texts.get(id as usize) == name);
        mapped.or_else(|| own().map(|id| id + self.base() as u32))
    }

    /// Whether the name behind `id` is marked dense.
    pub fn is_dense(&self, id: u32) -> bool {
        match &self.frozen {
            Some(frozen) if (id as usize) < frozen.len() => frozen.is_dense(id),
            _ => self.dense[id as usize - self.base()],
        }
    }

    /// The name behind `id`; panics for an id that this table never gave.
    pub fn name(&self, id: u32) -> &str {
        match &self.frozen {
            Some(frozen) if (id as usize) < frozen.len() => frozen.name(id),
            _ => self.texts.get(id as usize - self.base()),
        }
    }

    /// All names in order of their ids.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len() as u32).map(|id| self.name(id))
    }

    /// All names in order of their ids, as a column; only of a table that stands on none, as all vocabularies do.
    pub fn texts(&self) -> &Texts {
        assert!(self.frozen.is_none(), "a table on a mapped one has no single column");
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

    #[test]
    fn a_table_on_a_mapped_one_goes_on_counting() {
        let parts = Frozen::parts([("LM", true), ("wp_a_b", false)].into_iter());
        let mut bytes = Vec::new();
        let places = parts.each_ref().map(|part| {
            bytes.extend_from_slice(part);
            bytes.len() - part.len()..bytes.len()
        });
        let mut names = Names::on(
            Frozen::open(std::sync::Arc::new(crate::container::Bytes::Owned(bytes)), places).unwrap(),
        );
        assert_eq!((names.len(), names.intern("wp_a_b"), names.intern_as("new", true)), (2, 1, 2));
        assert_eq!((names.get("LM"), names.get("new"), names.get("none")), (Some(0), Some(2), None));
        assert_eq!([0, 1, 2].map(|id| names.is_dense(id)), [true, false, true]);
        assert_eq!(names.iter().collect::<Vec<_>>(), ["LM", "wp_a_b", "new"]);
    }
}
