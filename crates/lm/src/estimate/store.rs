//! Sequences of fixed-width records that move to a temporary file when they outgrow their share of the memory.

use dragoman_base::io::read_at;
use dragoman_base::{Result, Scratch};
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

/// The bytes of `words`, least significant first.
pub fn write_words(file: &mut impl Write, words: &[u32]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(words.len().min(CHUNK) * 4);
    for chunk in words.chunks(CHUNK) {
        bytes.clear();
        bytes.extend(chunk.iter().flat_map(|w| w.to_le_bytes()));
        file.write_all(&bytes)?;
    }
    Ok(())
}

/// Words that are turned to bytes at a time.
const CHUNK: usize = 1 << 15;

/// Reads words from part of a file, whoever else reads it at the same time.
#[derive(Debug)]
pub struct Window {
    file: Arc<File>,
    at: u64,
    end: u64,
    buffer: Vec<u32>,
    next: usize,
    width: usize,
    /// Records that one read fetches.
    batch: usize,
}

impl Window {
    /// The records of `width` words in words `from..to` of `file`, read `batch` records at a time.
    pub fn new(file: Arc<File>, from: u64, to: u64, width: usize, batch: usize) -> Self {
        Self { file, at: from, end: to, buffer: Vec::new(), next: 0, width, batch: batch.max(1) }
    }

    /// Makes the next record current; false at the end.
    pub fn advance(&mut self) -> io::Result<bool> {
        self.next += self.width;
        if self.next < self.buffer.len() {
            return Ok(true);
        }
        let count = (self.end - self.at).min((self.batch * self.width) as u64) as usize;
        self.buffer.clear();
        self.next = 0;
        if count == 0 {
            return Ok(false);
        }
        let mut bytes = vec![0; count * 4];
        read_at(&self.file, &mut bytes, self.at * 4)?;
        self.buffer.extend(bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])));
        self.at += count as u64;
        Ok(true)
    }

    /// The current record.
    pub fn current(&self) -> &[u32] {
        &self.buffer[self.next..self.next + self.width]
    }
}

/// Takes records one by one; gives them back in the same order.
#[derive(Debug)]
pub struct Store {
    scratch: Scratch,
    width: usize,
    /// Words that may stay in memory.
    limit: usize,
    buffer: Vec<u32>,
    file: Option<File>,
    written: u64,
}

impl Store {
    /// An empty store of records of `width` words that keeps at most `bytes` in memory.
    pub fn new(scratch: &Scratch, width: usize, bytes: usize) -> Self {
        let limit = (bytes / 4).max(width);
        Self { scratch: scratch.clone(), width, limit, buffer: Vec::new(), file: None, written: 0 }
    }

    /// Appends a record, given in two parts.
    pub fn push(&mut self, key: &[u32], rest: &[u32]) -> Result<()> {
        if self.buffer.len() + self.width > self.limit {
            self.spill().map_err(|e| self.scratch.error(e))?;
        }
        self.buffer.extend_from_slice(key);
        self.buffer.extend_from_slice(rest);
        Ok(())
    }

    fn spill(&mut self) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(self.scratch.file().map_err(io::Error::other)?);
        }
        if let Some(file) = &mut self.file {
            write_words(file, &self.buffer)?;
        }
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Reads the records from the start.
    pub fn read(self) -> Records {
        let batch = (CHUNK / self.width).max(1);
        let file = self.file.map(|file| Window::new(Arc::new(file), 0, self.written, self.width, batch));
        Records { file, buffer: self.buffer, next: None, width: self.width, scratch: self.scratch }
    }
}

/// The records of a [`Store`] in order.
#[derive(Debug)]
pub struct Records {
    file: Option<Window>,
    buffer: Vec<u32>,
    /// Start of the current record in the buffer; none while the file is being read.
    next: Option<usize>,
    width: usize,
    scratch: Scratch,
}

impl Records {
    /// Makes the next record current; false at the end.
    pub fn advance(&mut self) -> Result<bool> {
        if let Some(file) = &mut self.file {
            if file.advance().map_err(|e| self.scratch.error(e))? {
                return Ok(true);
            }
            self.file = None;
        }
        let next = self.next.map_or(0, |at| at + self.width).min(self.buffer.len());
        self.next = Some(next);
        Ok(next < self.buffer.len())
    }

    /// The current record; empty before the first and after the last.
    pub fn current(&self) -> &[u32] {
        match (&self.file, self.next) {
            (Some(file), _) if !file.buffer.is_empty() => file.current(),
            (None, Some(at)) if at < self.buffer.len() => &self.buffer[at..at + self.width],
            _ => &[],
        }
    }
}
