//! Sorting byte strings in bounded memory: full buffers are sorted on all cores and written as runs, and the runs
//! are merged.
//!
//! What comes out depends on the records alone, not on the memory or the number of threads.

use dragoman_base::io::read_at;
use dragoman_base::scratch::{CHUNK, Scratch};
use dragoman_base::{Error, Result};
use rayon::prelude::*;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;

/// A record in the buffer: its first bytes as a number, so that most comparisons need not look further.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    prefix: u64,
    start: u32,
    length: u32,
}

/// The longest record.
const LONGEST: usize = 1 << 20;

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

/// Takes records in any order.
#[derive(Debug)]
pub struct Sorter {
    scratch: Scratch,
    /// Bytes that may stay in memory.
    limit: usize,
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    runs: Vec<(u64, u64)>,
    file: Option<BufWriter<File>>,
}

impl Sorter {
    /// A sorter that keeps about `limit` bytes in memory.
    pub fn new(scratch: &Scratch, limit: usize) -> Self {
        let limit = limit.min(u32::MAX as usize - LONGEST);
        let (bytes, entries) = (Vec::new(), Vec::new());
        Self { scratch: scratch.clone(), limit, bytes, entries, runs: Vec::new(), file: None }
    }

    /// Adds a record.
    pub fn push(&mut self, record: &[u8]) -> Result<()> {
        if record.len() > LONGEST {
            return Err(Error::Invalid(format!("a rule of {} bytes is too long to sort", record.len())));
        }
        let used = self.bytes.len() + (self.entries.len() + 1) * size_of::<Entry>();
        if used + record.len() > self.limit && !self.entries.is_empty() {
            self.spill()?;
        }
        let (start, length) = (self.bytes.len() as u32, record.len() as u32);
        self.entries.push(Entry { prefix: prefix(record), start, length });
        self.bytes.extend_from_slice(record);
        Ok(())
    }

    /// Adds all records of `bytes`, each behind its length (16 bits, least significant byte first).
    pub fn push_all(&mut self, mut bytes: &[u8]) -> Result<()> {
        while let Some((length, rest)) = bytes.split_first_chunk::<2>() {
            let (record, rest) = rest.split_at(usize::from(u16::from_le_bytes(*length)));
            self.push(record)?;
            bytes = rest;
        }
        Ok(())
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        self.entries.par_sort_unstable_by(|a, b| a.order(b, bytes));
    }

    fn spill(&mut self) -> Result<()> {
        self.sort();
        if self.file.is_none() {
            self.file = Some(BufWriter::with_capacity(CHUNK, self.scratch.file()?));
        }
        let file = self.file.as_mut().expect("made above");
        let from = self.runs.last().map_or(0, |run| run.1);
        let mut to = from;
        for entry in &self.entries {
            let record = entry.record(&self.bytes);
            file.write_all(&entry.length.to_le_bytes())
                .and_then(|()| file.write_all(record))
                .map_err(|e| self.scratch.error(e))?;
            to += 4 + record.len() as u64;
        }
        self.runs.push((from, to));
        self.bytes.clear();
        self.entries.clear();
        Ok(())
    }

    /// The records in order.
    pub fn finish(mut self) -> Result<Sorted> {
        if self.runs.is_empty() {
            self.sort();
            return Ok(Sorted::Memory { bytes: self.bytes, entries: self.entries, next: 0 });
        }
        if !self.entries.is_empty() {
            self.spill()?;
        }
        // Merging has the memory of the buffer for itself.
        drop((std::mem::take(&mut self.bytes), std::mem::take(&mut self.entries)));
        let file = self.file.take().expect("there are runs").into_inner();
        let file = Arc::new(file.map_err(|e| self.scratch.error(e.into_error()))?);
        let share = (self.limit / self.runs.len()).clamp(1 << 12, CHUNK * 4);
        let mut heap = BinaryHeap::with_capacity(self.runs.len());
        for (from, to) in self.runs {
            let mut run =
                Run { file: file.clone(), at: from, end: to, buffer: Vec::new(), from: 0, to: 0, share };
            if run.advance().map_err(|e| self.scratch.error(e))? {
                heap.push(run);
            }
        }
        Ok(Sorted::Runs { heap, scratch: self.scratch, fresh: true })
    }
}

/// One sorted run, read piece by piece.
#[derive(Debug)]
pub struct Run {
    file: Arc<File>,
    /// What of the file is not in the buffer yet.
    at: u64,
    end: u64,
    buffer: Vec<u8>,
    /// The current record.
    from: usize,
    to: usize,
    share: usize,
}

impl Run {
    fn current(&self) -> &[u8] {
        &self.buffer[self.from..self.to]
    }

    /// Makes sure that `count` bytes follow the current record in the buffer; false if the run ends there.
    fn fill(&mut self, count: usize) -> std::io::Result<bool> {
        let have = self.buffer.len() - self.to;
        if have >= count {
            return Ok(true);
        }
        self.buffer.drain(..self.to);
        (self.from, self.to) = (0, 0);
        let more = (self.share.max(count) - have).min((self.end - self.at) as usize);
        self.buffer.resize(have + more, 0);
        read_at(&self.file, &mut self.buffer[have..], self.at)?;
        self.at += more as u64;
        Ok(self.buffer.len() >= count)
    }

    /// Makes the next record current; false at the end.
    fn advance(&mut self) -> std::io::Result<bool> {
        if !self.fill(4)? {
            return Ok(false);
        }
        let head = &self.buffer[self.to..self.to + 4];
        let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        self.fill(4 + length)?;
        self.from = self.to + 4;
        self.to = self.from + length;
        Ok(true)
    }
}

impl PartialEq for Run {
    fn eq(&self, other: &Self) -> bool {
        self.current() == other.current()
    }
}
impl Eq for Run {}
impl PartialOrd for Run {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Run {
    /// The smallest record is the greatest run, for a heap that gives the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.current().cmp(self.current())
    }
}

/// Records in order.
#[derive(Debug)]
pub enum Sorted {
    /// All fitted into memory.
    Memory {
        /// The records, unsorted.
        bytes: Vec<u8>,
        /// Where they are, sorted.
        entries: Vec<Entry>,
        /// The next one to give.
        next: usize,
    },
    /// Runs in a file.
    Runs {
        /// All that have a record left.
        heap: BinaryHeap<Run>,
        /// Where they are.
        scratch: Scratch,
        /// Whether the smallest record has not been given yet.
        fresh: bool,
    },
}

impl Sorted {
    /// The next record.
    #[allow(clippy::should_implement_trait)] // the record borrows the buffer, which `Iterator` cannot say
    pub fn next(&mut self) -> Result<Option<&[u8]>> {
        match self {
            Self::Memory { bytes, entries, next } => {
                *next += 1;
                Ok(entries.get(*next - 1).map(|entry| entry.record(bytes)))
            }
            Self::Runs { heap, scratch, fresh } => {
                if !std::mem::take(fresh)
                    && let Some(mut top) = heap.peek_mut()
                    && !top.advance().map_err(|e| scratch.error(e))?
                {
                    std::collections::binary_heap::PeekMut::pop(top);
                }
                Ok(heap.peek().map(Run::current))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(records: &[Vec<u8>], limit: usize) -> Vec<Vec<u8>> {
        let folder = tempfile::tempdir().unwrap();
        let mut sorter = Sorter::new(&Scratch::beside(&folder.path().join("x")), limit);
        for record in records {
            sorter.push(record).unwrap();
        }
        let (mut sorted, mut all) = (sorter.finish().unwrap(), Vec::new());
        while let Some(record) = sorted.next().unwrap() {
            all.push(record.to_vec());
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "temporary files have no names");
        all
    }

    proptest! {
        #[test]
        fn sorts_whatever_the_memory(
            records in prop::collection::vec(prop::collection::vec(0..4u8, 0..14), 0..300), limit in 1..3000usize
        ) {
            let mut slow = records.clone();
            slow.sort();
            prop_assert_eq!(sorted(&records, limit), slow.clone());
            prop_assert_eq!(sorted(&records, 1 << 20), slow);
        }
    }

    #[test]
    fn records_longer_than_a_share_of_the_buffer() {
        let records: Vec<Vec<u8>> = (0..40u8).map(|i| [i.wrapping_mul(37), i].repeat(5_000)).collect();
        let mut slow = records.clone();
        slow.sort();
        assert_eq!(sorted(&records, 64), slow);
    }
}
