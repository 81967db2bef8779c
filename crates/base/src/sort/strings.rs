//! Byte strings of any length, in the order of their bytes.

use super::{Buffer, Sorter};
use crate::{Error, Result};
use rayon::prelude::*;
use std::cmp::Ordering;

/// The longest record.
const LONGEST: usize = 1 << 20;

/// A record in the buffer: its first bytes as a number, so that most comparisons need not look further.
#[derive(Debug, Clone, Copy)]
struct Entry {
    prefix: u64,
    start: u32,
    length: u32,
}

fn prefix(record: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let count = record.len().min(8);
    bytes[..count].copy_from_slice(&record[..count]);
    u64::from_be_bytes(bytes)
}

impl Entry {
    fn record<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.start as usize..self.start as usize + self.length as usize]
    }

    fn order(&self, other: &Self, bytes: &[u8]) -> Ordering {
        self.prefix.cmp(&other.prefix).then_with(|| self.record(bytes).cmp(other.record(bytes)))
    }
}

/// Byte strings, one behind the other, and where each is.
#[derive(Debug, Default)]
pub struct Strings {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

impl Buffer for Strings {
    type Record = [u8];

    fn most(&self) -> usize {
        u32::MAX as usize - LONGEST
    }

    fn width(&self) -> Option<usize> {
        None
    }

    #[inline]
    fn bytes(&self) -> usize {
        self.bytes.len() + self.entries.len() * size_of::<Entry>()
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        self.entries.par_sort_unstable_by(|a, b| a.order(b, bytes));
    }

    #[inline]
    fn get(&self, at: usize) -> Option<&[u8]> {
        self.entries.get(at).map(|entry| entry.record(&self.bytes))
    }

    fn each(&self, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.entries.iter().try_for_each(|entry| take(entry.record(&self.bytes)))
    }

    #[inline]
    fn decode<'a>(&'a mut self, bytes: &'a [u8]) -> &'a [u8] {
        bytes
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
    }

    fn anew(&self) -> Self {
        Self::default()
    }
}

impl Sorter<Strings> {
    /// Adds a record.
    pub fn push(&mut self, record: &[u8]) -> Result<()> {
        if record.len() > LONGEST {
            return Err(Error::Invalid(format!("a record of {} bytes is too long to sort", record.len())));
        }
        self.make_room(record.len() + size_of::<Entry>())?;
        let Strings { bytes, entries } = &mut self.buffer;
        let (start, length) = (bytes.len() as u32, record.len() as u32);
        entries.push(Entry { prefix: prefix(record), start, length });
        bytes.extend_from_slice(record);
        Ok(())
    }
}
