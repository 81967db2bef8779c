//! Where the count of each word pair lives, for every cell of every sentence pair.
//!
//! A sampler looks up n(e, f) for all words e of a sentence at once, for one f after the other. So the counts of
//! all pairs with one f stand together (a row), and each cell (j, i) of a sentence pair knows the place of its
//! pair in the row of `f_j`: no hashing in the inner loop, and a row that is in use fits the cache.
//!
//! A pair of types that meets in one cell of the whole corpus shares place 0 with all others of that kind:
//! while its only cell is sampled its count is zero, and it is never looked up at any other time. That leaves
//! a small fraction of the pairs.

use crate::bitext::Side;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering::Relaxed};

/// The place of each cell's pair, in as few bytes as the vocabulary allows: this is what takes the memory.
#[derive(Debug)]
pub enum Places {
    /// For fewer than 65,536 given types.
    Narrow(Vec<u16>),
    /// For more.
    Wide(Vec<u32>),
}

impl Places {
    /// The place of a cell.
    pub fn get(&self, cell: usize) -> usize {
        match self {
            Self::Narrow(places) => places[cell] as usize,
            Self::Wide(places) => places[cell] as usize,
        }
    }
}

/// A place that threads may write at the same time.
trait Slot: Default + Send + Sync {
    type Plain;
    fn set(&self, place: u32);
    fn plain(self) -> Self::Plain;
}

impl Slot for AtomicU16 {
    type Plain = u16;
    fn set(&self, place: u32) {
        self.store(place as u16, Relaxed);
    }
    fn plain(self) -> u16 {
        self.into_inner()
    }
}

impl Slot for AtomicU32 {
    type Plain = u32;
    fn set(&self, place: u32) {
        self.store(place, Relaxed);
    }
    fn plain(self) -> u32 {
        self.into_inner()
    }
}

/// The index of all cells of a bitext in one direction.
#[derive(Debug)]
pub struct Cells {
    /// First cell of each sentence pair, and the end of the last.
    pub starts: Vec<usize>,
    /// For word j of the made side and word i of the given side (I words), the place of their pair in the row of
    /// the made type, at `starts[s] + j * I + i`.
    pub places: Places,
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
        let mut starts = vec![0; side.types + 1];
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

    fn count(&mut self, words: &[u32]) {
        for &e in words {
            if self.counts[e as usize] == 0 {
                self.touched.push(e);
            }
            self.counts[e as usize] += 1;
        }
    }

    /// Replaces the counts by places (0 for pairs of fewer than `least` cells); gives the length of the row.
    fn number(&mut self, least: u32, partners: &[AtomicU32]) -> usize {
        let mut next = 1;
        for &e in &self.touched {
            partners[e as usize].fetch_add(1, Relaxed);
            let count = &mut self.counts[e as usize];
            *count = if *count >= least { next } else { 0 };
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
    /// Indexes all cells, on all cores. The result does not depend on their number. Pairs of fewer than `least` cells
    /// share place 0.
    pub fn new(given: &Side, made: &Side, least: u32) -> Self {
        let mut starts = Vec::with_capacity(given.len() + 1);
        starts.push(0);
        for s in 0..given.len() {
            starts.push(starts[s] + given.sentence(s).len() * made.sentence(s).len());
        }
        let partners: Vec<AtomicU32> = (0..given.types).map(|_| AtomicU32::new(0)).collect();
        // A row has a place for each given type at most, and place 0.
        let (places, lengths) = if given.types < usize::from(u16::MAX) {
            let (places, lengths) = fill::<AtomicU16>(given, made, least, &starts, &partners);
            (Places::Narrow(places), lengths)
        } else {
            let (places, lengths) = fill::<AtomicU32>(given, made, least, &starts, &partners);
            (Places::Wide(places), lengths)
        };
        let mut rows = Vec::with_capacity(lengths.len() + 1);
        rows.push(0);
        for length in lengths {
            rows.push(rows[rows.len() - 1] + length);
        }
        Self { starts, places, rows, partners: partners.into_iter().map(AtomicU32::into_inner).collect() }
    }
}

/// For each given type, with how many made types it shares a sentence pair.
pub fn partners(given: &Side, made: &Side) -> Vec<u32> {
    let partners: Vec<AtomicU32> = (0..given.types).map(|_| AtomicU32::new(0)).collect();
    let occurrences = Occurrences::of(made);
    (0..made.types).into_par_iter().with_min_len(64).for_each_init(
        || Row::new(given.types),
        |row, f| {
            occurrences.get(f).iter().for_each(|&(s, _)| row.count(given.sentence(s as usize)));
            row.number(2, &partners);
            row.clear();
        },
    );
    partners.into_iter().map(AtomicU32::into_inner).collect()
}

/// The place of every cell, and the length of each made type's row; counts each given type's partners.
fn fill<S: Slot>(
    given: &Side,
    made: &Side,
    least: u32,
    starts: &[usize],
    partners: &[AtomicU32],
) -> (Vec<S::Plain>, Vec<usize>) {
    let places: Vec<S> = (0..starts[given.len()]).map(|_| S::default()).collect();
    let occurrences = Occurrences::of(made);
    let number = |row: &mut Row, f: usize| {
        for &(s, _) in occurrences.get(f) {
            row.count(given.sentence(s as usize));
        }
        let length = row.number(least, partners);
        for &(s, j) in occurrences.get(f) {
            let words = given.sentence(s as usize);
            let first = starts[s as usize] + j as usize * words.len();
            for (place, &e) in places[first..].iter().zip(words) {
                place.set(row.counts[e as usize]);
            }
        }
        row.clear();
        length
    };
    let lengths =
        (0..made.types).into_par_iter().with_min_len(64).map_init(|| Row::new(given.types), number).collect();
    (places.into_iter().map(S::plain).collect(), lengths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bitext::{Bitext, Spelling};
    use dragoman_base::Texts;
    use std::collections::{HashMap, HashSet};

    #[test]
    fn places_are_apart_exactly_where_pairs_with_two_cells_are() {
        let source: Texts = ["a b a", "b c", "a d", ""].into_iter().collect();
        let target: Texts = ["x y", "x x z", "y z", "x"].into_iter().collect();
        let bitext = Bitext::new(&source, &target, Spelling::default()).unwrap();
        let (given, made) = (&bitext.source, &bitext.target);
        let cells = Cells::new(given, made, 2);
        let mut meetings: HashMap<(u32, u32), usize> = HashMap::new();
        let mut seen: HashMap<(u32, u32), HashSet<usize>> = HashMap::new();
        let mut at = 0;
        for s in 0..given.len() {
            assert_eq!(cells.starts[s], at);
            for &f in made.sentence(s) {
                for &e in given.sentence(s) {
                    *meetings.entry((e, f)).or_default() += 1;
                    seen.entry((e, f)).or_default().insert(cells.places.get(at));
                    assert!(cells.rows[f as usize] + cells.places.get(at) < cells.rows[f as usize + 1]);
                    at += 1;
                }
            }
        }
        let mut taken = HashSet::new();
        for (pair, count) in &meetings {
            let places: Vec<usize> = seen[pair].iter().copied().collect();
            assert_eq!(places.len(), 1, "one place a pair");
            assert_eq!(places[0] > 0, *count > 1, "{pair:?}");
            assert!(places[0] == 0 || taken.insert((pair.1, places[0])), "no place twice");
        }
        for e in 0..given.types as u32 {
            let partners = meetings.keys().filter(|pair| pair.0 == e).count();
            assert_eq!(cells.partners[e as usize] as usize, partners);
            assert_eq!(cells.partners, super::partners(given, made));
        }
        let wide = fill::<AtomicU32>(given, made, 2, &cells.starts, &vec_of_zeros(given.types));
        assert!((0..at).all(|cell| wide.0[cell] as usize == cells.places.get(cell)));
    }

    fn vec_of_zeros(count: usize) -> Vec<AtomicU32> {
        (0..count).map(|_| AtomicU32::new(0)).collect()
    }
}
