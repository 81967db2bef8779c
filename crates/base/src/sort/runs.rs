//! Sorted runs of byte strings in one temporary file, and their merge.

use crate::io::read_at;
use crate::scratch::{CHUNK, Scratch};
use crate::{Error, Result};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

/// Takes runs, record by record: the records of a run come in order.
#[derive(Debug)]
pub struct Runs {
    scratch: Scratch,
    /// Bytes of every record; without it each is written behind its length.
    width: Option<usize>,
    file: BufWriter<File>,
    length: u64,
    /// Where each run ends in the file.
    ends: Vec<u64>,
}

impl Runs {
    /// No runs yet. Records have `width` bytes each or, without it, any number below 2^32.
    pub fn new(scratch: &Scratch, width: Option<usize>) -> Result<Self> {
        let file = BufWriter::with_capacity(CHUNK, scratch.file()?);
        Ok(Self { scratch: scratch.clone(), width, file, length: 0, ends: Vec::new() })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.length += bytes.len() as u64;
        self.file.write_all(bytes).map_err(|e| self.scratch.error(e))
    }

    /// Adds a record to the run: the first one, or one that is not below that before it.
    #[inline]
    pub fn push(&mut self, record: &[u8]) -> Result<()> {
        if self.width.is_none() {
            self.write(&(record.len() as u32).to_le_bytes())?;
        }
        self.write(record)
    }

    /// Adds a whole run, which another process made.
    pub fn add(&mut self, run: &[u8]) -> Result<()> {
        self.add_seen(run, |_, _| ())
    }

    /// The same; `see` is given each record, and where it begins.
    pub fn add_seen(&mut self, run: &[u8], mut see: impl FnMut(usize, &[u8])) -> Result<()> {
        let (mut at, mut last): (usize, &[u8]) = (0, &[]);
        for (end, record) in split_records(run, self.width) {
            if record < last {
                return Err(damaged());
            }
            see(at, record);
            (at, last) = (end, record);
        }
        if at < run.len() {
            return Err(damaged());
        }
        self.write(run)?;
        self.end();
        Ok(())
    }

    /// Bytes of all runs.
    pub fn bytes(&self) -> u64 {
        self.length
    }

    /// The file with all runs, the width of records, where temporary files are, and where each run ends.
    pub fn into_file(self) -> Result<(File, Option<usize>, Scratch, Vec<u64>)> {
        let Self { scratch, width, file, ends, .. } = self;
        let file = file.into_inner().map_err(|e| scratch.error(e.into_error()))?;
        Ok((file, width, scratch, ends))
    }

    /// The run is complete.
    pub fn end(&mut self) {
        self.ends.push(self.length);
    }

    /// The records of all runs in order, read with buffers of about so many bytes together.
    pub fn merge(self, memory: usize) -> Result<Merge> {
        let (file, width, scratch, ends) = self.into_file()?;
        let file = Arc::new(file);
        let share = (memory / ends.len().max(1)).clamp(1 << 12, CHUNK * 4);
        let mut heap = BinaryHeap::with_capacity(ends.len());
        let starts = [0].iter().chain(&ends);
        for (&at, &end) in starts.zip(&ends) {
            let (file, buffer) = (Arc::clone(&file), Vec::new());
            let mut run = Run { file, at, end, width, buffer, from: 0, to: 0, share };
            if run.advance().map_err(|e| scratch.error(e))? {
                heap.push(run);
            }
        }
        Ok(Merge { heap, scratch, fresh: true })
    }
}

fn damaged() -> Error {
    Error::Invalid("a sorted run was damaged on its way".to_owned())
}

/// The first record of a run, and where it ends; none if there is no whole one.
fn split_record(run: &[u8], width: Option<usize>) -> Option<(usize, &[u8])> {
    let (head, length) = match width {
        Some(width) => (0, width),
        None => (4, u32::from_le_bytes(*run.first_chunk::<4>()?) as usize),
    };
    Some((head + length, run.get(head..head + length)?))
}

/// The whole records of a run, and where each ends.
pub fn split_records(run: &[u8], width: Option<usize>) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (length, record) = split_record(&run[at..], width)?;
        at += length;
        Some((at, record))
    })
}

/// One sorted run, read piece by piece.
#[derive(Debug)]
struct Run {
    file: Arc<File>,
    /// What of the file is not in the buffer yet.
    at: u64,
    end: u64,
    width: Option<usize>,
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
    #[inline]
    fn fill(&mut self, count: usize) -> io::Result<bool> {
        if self.buffer.len() - self.to >= count { Ok(true) } else { self.read(count) }
    }

    fn read(&mut self, count: usize) -> io::Result<bool> {
        self.buffer.drain(..self.to);
        (self.from, self.to) = (0, 0);
        let have = self.buffer.len();
        let more = (self.share.max(count) - have).min((self.end - self.at) as usize);
        self.buffer.resize(have + more, 0);
        read_at(&self.file, &mut self.buffer[have..], self.at)?;
        self.at += more as u64;
        Ok(self.buffer.len() >= count)
    }

    /// Bytes before the next record, and bytes of it; none at the end.
    #[inline]
    fn shape(&mut self) -> io::Result<Option<(usize, usize)>> {
        if let Some(width) = self.width {
            return Ok(Some((0, width)));
        }
        if !self.fill(4)? {
            return Ok(None);
        }
        let head = &self.buffer[self.to..self.to + 4];
        Ok(Some((4, u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize)))
    }

    /// Makes the next record current; false at the end.
    fn advance(&mut self) -> io::Result<bool> {
        let Some((head, length)) = self.shape()? else { return Ok(false) };
        if !self.fill(head + length)? {
            return Ok(false);
        }
        self.from = self.to + head;
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

/// The records of several runs in order.
#[derive(Debug)]
pub struct Merge {
    /// All runs that have a record left.
    heap: BinaryHeap<Run>,
    /// Where they are.
    scratch: Scratch,
    /// Whether the smallest record has not been given yet.
    fresh: bool,
}

impl Merge {
    /// The next record.
    #[allow(clippy::should_implement_trait)] // the record borrows the buffer, which `Iterator` cannot say
    pub fn next(&mut self) -> Result<Option<&[u8]>> {
        if !std::mem::take(&mut self.fresh)
            && let Some(mut top) = self.heap.peek_mut()
            && !top.advance().map_err(|e| self.scratch.error(e))?
        {
            PeekMut::pop(top);
        }
        Ok(self.heap.peek().map(Run::current))
    }
}
