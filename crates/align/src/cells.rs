//! Where the count of each word pair lives, for every cell of every sentence pair.
//!
//! A sampler looks up n(e, f) for all words e of a sentence at once, for one f after the other. So the counts of
//! all pairs with one f stand together (a row), and each cell (j, i) of a sentence pair knows the place of its
//! pair in the row of f_j: no hashing in the inner loop, and a row that is in use fits the cache.
//!
//! A pair of types that meets in one cell of the whole corpus shares place 0 with all others of that kind:
//! while its only cell is sampled its count is zero, and it is never looked up at any other time. That leaves
//! a small fraction of the pairs.

use crate::bitext::Side;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The index of all cells of a bitext in one direction.
#[derive(Debug)]
pub struct Cells {
    /// First cell of each sentence pair, and the end of the last.
    pub starts: Vec<usize>,
    /// For word j of the made side and word i of the given side (I words), the place of their pair in the row of
    /// the made type, at `starts[s] + j * I + i`.
    pub places: Vec<u32>,
    /// Where the row of each made type starts in an array of counts, and where the last ends.
    pub rows: Vec<usize>,
    /// For each given type, with how many made types it shares a sentence pair.
    pub partners: Vec<u32>,
}

/// Where the tokens of each type stand: `(sentence, position)`, type after type.
struct Occurrences {
    starts: Vec<usize>,
    places: Vec<(u32, u32)>,
}

impl Occurrences {
    fn of(side: &Side) -> Self {
        let mut starts = vec![0; side.words.len() + 1];
        for &token in &side.tokens {
            starts[token as usize + 1] += 1;
        }
        for k in 1..starts.len() {
            starts[k] += starts[k - 1];
        }
        let mut next = starts.clone();
        let mut places = vec![(0, 0); side.tokens.len()];
        for s in 0..side.len() {
            for (j, &token) in side.sentence(s).iter().enumerate() {
                places[next[token as usize]] = (s as u32, j as u32);
                next[token as usize] += 1;
            }
        }
        Self { starts, places }
    }

    fn get(&self, kind: usize) -> &[(u32, u32)] {
        &self.places[self.starts[kind]..self.starts[kind + 1]]
    }
}

/// Counts of one row under construction; zero between rows.
struct Row {
    counts: Vec<u32>,
    touched: Vec<u32>,
}

impl Row {
    fn new(types: usize) -> Self {
        Self { counts: vec![0; types], touched: Vec::new() }
    }

    /// Replaces the counts by places (0 for pairs of one cell); gives the length of the row.
    fn number(&mut self, partners: &[AtomicU32]) -> usize {
        let mut next = 1;
        for &e in &self.touched {
            partners[e as usize].fetch_add(1, Relaxed);
            let count = &mut self.counts[e as usize];
            *count = if *count > 1 { next } else { 0 };
            next += u32::from(*count > 0);
        }
        next as usize
    }

    fn clear(&mut self) {
        for e in self.touched.drain(..) {
            self.counts[e as usize] = 0;
        }
    }
}

impl Cells {
    /// Indexes all cells, on all cores. The result does not depend on their number.
    pub fn new(given: &Side, made: &Side) -> Self {
        let mut starts = Vec::with_capacity(given.len() + 1);
        starts.push(0);
        for s in 0..given.len() {
            starts.push(starts[s] + given.sentence(s).len() * made.sentence(s).len());
        }
        let places: Vec<AtomicU32> = (0..starts[given.len()]).map(|_| AtomicU32::new(0)).collect();
        let partners: Vec<AtomicU32> = given.words.texts().iter().map(|_| AtomicU32::new(0)).collect();
        let occurrences = Occurrences::of(made);
        let lengths: Vec<usize> = (0..made.words.len())
            .into_par_iter()
            .with_min_len(64)
            .map_init(
                || Row::new(given.words.len()),
                |row, f| {
                    for &(s, _) in occurrences.get(f) {
                        for &e in given.sentence(s as usize) {
                            if row.counts[e as usize] == 0 {
                                row.touched.push(e);
                            }
                            row.counts[e as usize] += 1;
                        }
                    }
                    let length = row.number(&partners);
                    for &(s, j) in occurrences.get(f) {
                        let words = given.sentence(s as usize);
                        let first = starts[s as usize] + j as usize * words.len();
                        for (place, &e) in places[first..].iter().zip(words) {
                            place.store(row.counts[e as usize], Relaxed);
                        }
                    }
                    row.clear();
                    length
                },
            )
            .collect();
        let mut rows = Vec::with_capacity(lengths.len() + 1);
        rows.push(0);
        for length in lengths {
            rows.push(rows[rows.len() - 1] + length);
        }
        Self {
            starts,
            places: places.into_iter().map(AtomicU32::into_inner).collect(),
            rows,
            partners: partners.into_iter().map(AtomicU32::into_inner).collect(),
        }
    }
}
