//! Sequences of fixed-width records that move to a temporary file when they outgrow their share of the memory.

use dragoman_base::scratch::Spool;
use dragoman_base::{Result, Scratch};
use std::fs::File;
use std::io::{BufReader, Read};

/// Words that are turned to bytes at a time.
const CHUNK: usize = 1 << 15;

/// Takes records one by one; gives them back in the same order.
#[derive(Debug)]
pub struct Store {
    scratch: Scratch,
    width: usize,
    /// Words that may stay in memory.
    limit: usize,
    buffer: Vec<u32>,
    spool: Option<Spool>,
}

impl Store {
    /// An empty store of records of `width` words that keeps at most `bytes` in memory.
    pub fn new(scratch: &Scratch, width: usize, bytes: usize) -> Self {
        let limit = (bytes / 4).max(width);
        Self { scratch: scratch.clone(), width, limit, buffer: Vec::new(), spool: None }
    }

    /// Appends a record, given in two parts.
    pub fn push(&mut self, key: &[u32], rest: &[u32]) -> Result<()> {
        if self.buffer.len() + self.width > self.limit {
            self.spill()?;
        }
        self.buffer.extend_from_slice(key);
        self.buffer.extend_from_slice(rest);
        Ok(())
    }

    fn spill(&mut self) -> Result<()> {
        let spool = match &mut self.spool {
            Some(spool) => spool,
            none => none.insert(Spool::new(&self.scratch)?),
        };
        for chunk in self.buffer.chunks(CHUNK) {
            let bytes: Vec<u8> = chunk.iter().flat_map(|word| word.to_le_bytes()).collect();
            spool.write(&bytes)?;
        }
        self.buffer.clear();
        Ok(())
    }

    /// Reads the records from the start.
    pub fn read(self) -> Result<Records> {
        let Self { scratch, width, buffer, spool, .. } = self;
        let left = spool.as_ref().map_or(0, |spool| spool.len() / (4 * width as u64));
        let file = spool.map(Spool::read).transpose()?.map(|(file, _)| file);
        Ok(Records {
            file,
            left,
            row: Vec::new(),
            bytes: vec![0; 4 * width],
            buffer,
            next: None,
            width,
            scratch,
        })
    }
}

/// The records of a [`Store`] in order.
#[derive(Debug)]
pub struct Records {
    /// Records of the temporary file, and how many are left there.
    file: Option<BufReader<File>>,
    left: u64,
    /// The current record of the file, and its bytes.
    row: Vec<u32>,
    bytes: Vec<u8>,
    buffer: Vec<u32>,
    /// Start of the current record in the buffer; none while the file is being read.
    next: Option<usize>,
    width: usize,
    scratch: Scratch,
}

impl Records {
    /// Makes the next record current; false at the end.
    pub fn advance(&mut self) -> Result<bool> {
        self.row.clear();
        if let Some(file) = self.file.as_mut().filter(|_| self.left > 0) {
            self.left -= 1;
            file.read_exact(&mut self.bytes).map_err(|e| self.scratch.error(e))?;
            self.row.extend(self.bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)));
            return Ok(true);
        }
        self.file = None;
        let next = self.next.map_or(0, |at| at + self.width).min(self.buffer.len());
        self.next = Some(next);
        Ok(next < self.buffer.len())
    }

    /// The current record; empty before the first and after the last.
    pub fn current(&self) -> &[u32] {
        let at = self.next.unwrap_or(self.buffer.len());
        if self.file.is_some() { &self.row } else { self.buffer.get(at..at + self.width).unwrap_or_default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn records_come_back_in_order(rows in prop::collection::vec([0u32..9, 0..1000], 0..200), bytes in 1usize..3000) {
            let mut store = Store::new(&Scratch::new(None), 2, bytes);
            for row in &rows { store.push(&row[..1], &row[1..]).unwrap(); }
            let mut records = store.read().unwrap();
            prop_assert!(records.current().is_empty());
            for row in &rows {
                prop_assert!(records.advance().unwrap());
                prop_assert_eq!(records.current(), row);
            }
            for _ in 0..2 {
                prop_assert!(!records.advance().unwrap());
                prop_assert!(records.current().is_empty());
            }
        }
    }
}
