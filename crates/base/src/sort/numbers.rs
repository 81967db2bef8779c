//! Rows of so many 32-bit numbers, in the order of these from the first to the last.

use super::{Buffer, Sorter};
use crate::Result;
use rayon::prelude::*;

/// The most numbers of a row.
pub const MAX_WIDTH: usize = 20;
/// Numbers that the buffer first has room for.
const FIRST: usize = 1 << 12;

/// Sorts the rows of `width` numbers in `flat`.
fn sort_rows(flat: &mut [u32], width: usize) {
    macro_rules! dispatch {
        ($($n:literal)*) => {
            match width {
                $($n => flat.as_chunks_mut::<$n>().0.par_sort_unstable(),)*
                _ => unreachable!("widths are checked when a buffer is made"),
            }
        };
    }
    dispatch!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20);
}

/// Rows of numbers, one behind the other.
#[derive(Debug)]
pub struct Numbers {
    flat: Vec<u32>,
    width: usize,
    /// Whether the last number is a count, and rows that agree otherwise are added up.
    counted: bool,
    /// The row that was last read from a run.
    row: Vec<u32>,
}

impl Numbers {
    /// No rows yet, of `width` numbers each.
    pub fn new(width: usize) -> Self {
        assert!((1..=MAX_WIDTH).contains(&width), "rows of 1 to {MAX_WIDTH} numbers");
        Self { flat: Vec::new(), width, counted: false, row: Vec::new() }
    }

    /// As [`Numbers::new`], but the last number of a row is a count. Rows that agree otherwise may come out as several,
    /// one behind the other; their counts add up to the counts that went in.
    pub fn counted(width: usize) -> Self {
        Self { counted: true, ..Self::new(width) }
    }

    /// Adds up the counts of equal rows, which are neighbours.
    fn combine(&mut self) {
        let (width, key) = (self.width, self.width - 1);
        let mut end = 0;
        for at in (0..self.flat.len()).step_by(width) {
            if end > 0 && self.flat[end - width..end - 1] == self.flat[at..at + key] {
                self.flat[end - 1] += self.flat[at + key];
            } else {
                self.flat.copy_within(at..at + width, end);
                end += width;
            }
        }
        self.flat.truncate(end);
    }
}

impl Buffer for Numbers {
    type Record = [u32];

    fn most(&self) -> usize {
        // Counts of one buffer must fit into 32 bits.
        if self.counted { 4 * self.width * (u32::MAX as usize - 1) } else { usize::MAX }
    }

    fn width(&self) -> Option<usize> {
        Some(self.width * 4)
    }

    #[inline]
    fn bytes(&self) -> usize {
        self.flat.len() * 4
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.flat.is_empty()
    }

    fn sort(&mut self) {
        sort_rows(&mut self.flat, self.width);
        if self.counted {
            self.combine();
        }
    }

    #[inline]
    fn get(&self, at: usize) -> Option<&[u32]> {
        self.flat.get(at * self.width..(at + 1) * self.width)
    }

    fn each(&self, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut bytes = [0; 4 * MAX_WIDTH];
        let bytes = &mut bytes[..4 * self.width];
        self.flat.chunks_exact(self.width).try_for_each(|row| {
            for (place, number) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(row) {
                // The most significant byte first, so that bytes compare as numbers do.
                *place = number.to_be_bytes();
            }
            take(bytes)
        })
    }

    #[inline]
    fn decode<'a>(&'a mut self, bytes: &'a [u8]) -> &'a [u32] {
        self.row.clear();
        self.row.extend(bytes.as_chunks::<4>().0.iter().map(|number| u32::from_be_bytes(*number)));
        &self.row
    }

    fn clear(&mut self) {
        self.flat.clear();
    }

    fn anew(&self) -> Self {
        Self { flat: Vec::new(), row: Vec::with_capacity(self.width), ..*self }
    }
}

impl Sorter<Numbers> {
    /// Adds a row, given in two parts.
    #[inline]
    pub fn push(&mut self, key: &[u32], rest: &[u32]) -> Result<()> {
        let width = self.buffer.width;
        debug_assert_eq!(key.len() + rest.len(), width);
        self.make_room(4 * width)?;
        let flat = &mut self.buffer.flat;
        if flat.len() + width > flat.capacity() {
            // Twice as much as there is, but never more than the limit.
            let more = flat.len().max(FIRST).min((self.limit / 4).saturating_sub(flat.len()));
            flat.reserve_exact(more.max(width));
        }
        flat.extend_from_slice(key);
        flat.extend_from_slice(rest);
        Ok(())
    }
}
