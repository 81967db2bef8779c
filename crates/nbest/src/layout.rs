//! How each feature is written: alone, as part of a dense group, or as a sparse pair.

use crate::features::component;
use crate::format::Format;
use dragoman_base::error::quote;
use dragoman_base::{Error, Names, Result};
use std::collections::BTreeMap;

/// How a feature is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// `name=value`.
    Sparse,
    /// `name= value`.
    Single,
    /// A value of the dense group with this number, at this position.
    Part(u32, u32),
    /// Not at all: the format cannot hold the name.
    Unfit,
}

/// A dense group: what it is called and the ids of its components.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub name: String,
    pub ids: Vec<u32>,
}

/// The slots of all names of a table. Follows the table as it grows.
#[derive(Debug)]
pub struct Layout {
    format: Format,
    pub slots: Vec<Slot>,
    pub groups: Vec<Group>,
    dense: Vec<u32>,
}

impl Layout {
    pub fn new(format: Format) -> Self {
        Self { format, slots: Vec::new(), groups: Vec::new(), dense: Vec::new() }
    }

    /// Takes in the names that are new. A group that was there before must stay as it was.
    pub fn update(&mut self, names: &Names) -> Result<()> {
        let known = self.slots.len();
        if names.len() < known {
            return Err(Error::Invalid(
                "a list is written with one growing table of feature names".to_owned(),
            ));
        }
        let marked = matches!(self.format, Format::Moses | Format::Jsonl);
        let dense = self.dense.len();
        for id in known as u32..names.len() as u32 {
            let fit = self.fits(names.name(id));
            self.slots.push(if fit { Slot::Sparse } else { Slot::Unfit });
            if fit && marked && names.is_dense(id) {
                self.dense.push(id);
            }
        }
        if self.dense.len() > dense {
            self.arrange(known, names)?;
        }
        Ok(())
    }

    /// Whether the format can hold a feature called `name`.
    fn fits(&self, name: &str) -> bool {
        let breaks = |b: u8| match self.format {
            Format::Jsonl => false,
            Format::Cdec => matches!(b, b' ' | b'\t' | b'\n' | b';'),
            Format::Moses | Format::Travatar => matches!(b, b' ' | b'\t' | b'\n'),
        };
        !name.is_empty() && !name.bytes().any(breaks)
    }

    /// Finds the groups among the dense names: two or more components, from 0 on, without a hole.
    fn arrange(&mut self, known: usize, names: &Names) -> Result<()> {
        let mut bases: BTreeMap<&str, BTreeMap<usize, u32>> = BTreeMap::new();
        for &id in &self.dense {
            if let Some((base, index)) = component(names.name(id)).filter(|(base, _)| !base.is_empty()) {
                bases.entry(base).or_default().insert(index, id);
            }
        }
        let mut slots = self.slots.clone();
        for &id in &self.dense {
            slots[id as usize] =
                if component(names.name(id)).is_some() { Slot::Sparse } else { Slot::Single };
        }
        let old = std::mem::take(&mut self.groups);
        for (base, parts) in bases {
            let ids: Vec<u32> = parts
                .iter()
                .enumerate()
                .take_while(|(at, (index, _))| at == *index)
                .map(|(_, (_, &id))| id)
                .collect();
            if ids.len() < 2 {
                continue;
            }
            // One name cannot be a group and a single feature of the same list.
            if let Some(single) = names.get(base) {
                slots[single as usize] = Slot::Sparse;
            }
            for (at, &id) in ids.iter().enumerate() {
                slots[id as usize] = Slot::Part(self.groups.len() as u32, at as u32);
            }
            self.groups.push(Group { name: base.to_owned(), ids });
        }
        let kind = |slot: &Slot| std::mem::discriminant(slot);
        let moved =
            (0..known).find(|&id| kind(&slots[id]) != kind(&self.slots[id])).map(|id| names.name(id as u32));
        let widened = old.iter().find(|group| !self.groups.contains(group)).map(|group| group.name.as_str());
        if let Some(name) = moved.or(widened) {
            let name = quote(name);
            return Err(Error::Invalid(format!(
                "the dense group of {name} changed while its list was being written"
            )));
        }
        self.slots = slots;
        Ok(())
    }
}
