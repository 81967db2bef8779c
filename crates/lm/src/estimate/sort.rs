//! Sorting in bounded memory: full buffers are sorted on all cores and written as runs, and the runs are merged.
//!
//! Records are `width` 32-bit words and sort by them from the first to the last. What comes out depends on the
//! records alone, not on the memory or the number of threads.

use super::store::{Window, write_words};
use dragoman_base::{Result, Scratch};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;

/// The widest record that can be sorted.
pub const MAX_WIDTH: usize = 20;

/// Sorts the records of `width` words in `flat`.
fn sort_records(flat: &mut [u32], width: usize) {
    macro_rules! dispatch {
        ($($n:literal)*) => {
            match width {
                $($n => flat.as_chunks_mut::<$n>().0.par_sort_unstable(),)*
                _ => unreachable!("widths are checked when a sorter is made"),
            }
        };
    }
    dispatch!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20);
}

/// Takes records in any order.
#[derive(Debug)]
pub struct Sorter {
    scratch: Scratch,
    width: usize,
    /// Whether the last word is a count, and records that agree otherwise are to be added up.
    counting: bool,
    /// Words that may stay in memory.
    limit: usize,
    buffer: Vec<u32>,
    runs: Vec<(u64, u64)>,
    file: Option<BufWriter<File>>,
}

impl Sorter {
    /// A sorter of records of `width` words that keeps at most `bytes` in memory.
    pub fn new(scratch: &Scratch, width: usize, bytes: usize, counting: bool) -> Self {
        assert!((1..=MAX_WIDTH).contains(&width), "records of 1 to {MAX_WIDTH} words");
        // Counts of one buffer must fit into 32 bits.
        let limit = (bytes / 4).clamp(width, width * (u32::MAX as usize - 1));
        let (scratch, buffer) = (scratch.clone(), Vec::new());
        Self { scratch, width, counting, limit, buffer, runs: Vec::new(), file: None }
    }

    /// Room for one more record.
    fn reserve(&mut self) -> Result<()> {
        if self.buffer.len() + self.width > self.limit {
            self.spill()?;
        }
        if self.buffer.len() + self.width > self.buffer.capacity() {
            let more = self.buffer.len().max(1 << 12).min(self.limit - self.buffer.len());
            self.buffer.reserve_exact(more.max(self.width));
        }
        Ok(())
    }

    /// Adds a record, given in two parts.
    pub fn push(&mut self, key: &[u32], rest: &[u32]) -> Result<()> {
        self.reserve()?;
        self.buffer.extend_from_slice(key);
        self.buffer.extend_from_slice(rest);
        Ok(())
    }

    fn sort(&mut self) {
        sort_records(&mut self.buffer, self.width);
        if self.counting {
            self.combine();
        }
    }

    /// Adds up the counts of equal keys in the sorted buffer.
    fn combine(&mut self) {
        let (width, key) = (self.width, self.width - 1);
        let mut end = 0;
        for at in (0..self.buffer.len()).step_by(width) {
            if end > 0 && self.buffer[end - width..end - 1] == self.buffer[at..at + key] {
                self.buffer[end - 1] += self.buffer[at + key];
            } else {
                self.buffer.copy_within(at..at + width, end);
                end += width;
            }
        }
        self.buffer.truncate(end);
    }

    fn spill(&mut self) -> Result<()> {
        self.sort();
        let mut file = match self.file.take() {
            Some(file) => file,
            None => BufWriter::new(self.scratch.file()?),
        };
        let from = self.runs.last().map_or(0, |&(_, end)| end);
        write_words(&mut file, &self.buffer).map_err(|e| self.scratch.error(e))?;
        self.runs.push((from, from + self.buffer.len() as u64));
        self.buffer.clear();
        self.file = Some(file);
        Ok(())
    }

    /// All records in order.
    pub fn finish(mut self) -> Result<Sorted> {
        let Some(file) = self.file.take() else {
            self.sort();
            let Self { buffer, width, scratch, .. } = self;
            let next = 0usize.wrapping_sub(width);
            return Ok(Sorted { source: Source::Memory { buffer, next }, width, scratch });
        };
        self.file = Some(file);
        self.spill()?;
        let Self { width, scratch, limit, runs, file, .. } = self;
        let file =
            file.expect("a run was just written").into_inner().map_err(|e| scratch.error(e.into_error()))?;
        let file = Arc::new(file);
        let batch = (limit / width / runs.len()).clamp(64, 1 << 14);
        let windows =
            runs.iter().map(|&(from, to)| Window::new(Arc::clone(&file), from, to, width, batch)).collect();
        let merge = Merge { windows, heap: BinaryHeap::new(), last: None };
        Ok(Sorted { source: Source::Runs(merge), width, scratch })
    }
}

/// The runs of a sorter, and the smallest unread record of each.
#[derive(Debug)]
struct Merge {
    windows: Vec<Window>,
    heap: BinaryHeap<Reverse<(Vec<u32>, usize)>>,
    /// The run and the memory of the current record; none before the first.
    last: Option<(Vec<u32>, usize)>,
}

impl Merge {
    fn advance(&mut self) -> std::io::Result<bool> {
        if let Some((mut record, run)) = self.last.take() {
            if self.windows[run].advance()? {
                record.copy_from_slice(self.windows[run].current());
                self.heap.push(Reverse((record, run)));
            }
        } else {
            for (run, window) in self.windows.iter_mut().enumerate() {
                if window.advance()? {
                    self.heap.push(Reverse((window.current().to_vec(), run)));
                }
            }
        }
        self.last = self.heap.pop().map(|Reverse(top)| top);
        Ok(self.last.is_some())
    }
}

#[derive(Debug)]
enum Source {
    Memory { buffer: Vec<u32>, next: usize },
    Runs(Merge),
}

/// Sorted records, one after the other. Counting sorters may give a key several times: their counts add up.
#[derive(Debug)]
pub struct Sorted {
    source: Source,
    width: usize,
    scratch: Scratch,
}

impl Sorted {
    /// Makes the next record current; false at the end. The end comes once: do not ask again.
    pub fn advance(&mut self) -> Result<bool> {
        match &mut self.source {
            Source::Memory { buffer, next } => {
                *next = next.wrapping_add(self.width);
                Ok(*next < buffer.len())
            }
            Source::Runs(merge) => merge.advance().map_err(|e| self.scratch.error(e)),
        }
    }

    /// The current record; empty after the end.
    pub fn current(&self) -> &[u32] {
        match &self.source {
            Source::Memory { buffer, next } => buffer.get(*next..*next + self.width).unwrap_or(&[]),
            Source::Runs(merge) => merge.last.as_ref().map_or(&[], |(record, _)| record.as_slice()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn collect(mut sorted: Sorted) -> Vec<Vec<u32>> {
        let mut all = Vec::new();
        while sorted.advance().unwrap() {
            all.push(sorted.current().to_vec());
        }
        all
    }

    proptest! {
        #[test]
        fn any_memory_gives_the_same_order(rows in prop::collection::vec([0u32..5, 0..5, 0..1000], 0..200), bytes in 1usize..2000) {
            let mut sorter = Sorter::new(&Scratch::new(None), 3, bytes, false);
            for row in &rows {
                sorter.push(&row[..2], &row[2..]).unwrap();
            }
            let mut want: Vec<Vec<u32>> = rows.iter().map(|r| r.to_vec()).collect();
            want.sort();
            prop_assert_eq!(collect(sorter.finish().unwrap()), want);
        }

        #[test]
        fn counts_add_up(words in prop::collection::vec(0u32..7, 0..200), bytes in 1usize..400) {
            let mut sorter = Sorter::new(&Scratch::new(None), 2, bytes, true);
            for &word in &words {
                sorter.push(&[word], &[1]).unwrap();
            }
            let mut found = [0; 7];
            let mut last = 0;
            for row in collect(sorter.finish().unwrap()) {
                prop_assert!(row[0] >= last);
                last = row[0];
                found[row[0] as usize] += row[1] as usize;
            }
            for (word, count) in found.iter().enumerate() {
                prop_assert_eq!(*count, words.iter().filter(|&&w| w as usize == word).count());
            }
        }
    }
}
