//! Adjusted counts (Chen and Goodman 1998, section 2.7): how many different words stand before an n-gram.
//!
//! The n-grams of the highest order, and all that begin with `<s>`, keep their counts as they are.

use crate::words::{BOS, SPECIAL};
use dragoman_base::Result;
use dragoman_base::sort::{Numbers, Sorted, Sorter};

/// Counts of counts of one order.
#[derive(Debug, Clone, Default)]
pub struct Stat {
    /// `seen[j]`: n-grams whose adjusted count is `j`, for 1 to 4.
    pub seen: [u64; 5],
    /// All n-grams.
    pub total: u64,
    /// Those that stay.
    pub kept: u64,
}

impl Stat {
    fn add(&mut self, count: u64, pruned: bool) {
        self.total += 1;
        self.kept += u64::from(!pruned);
        if count < 5 {
            self.seen[count as usize] += 1;
        }
    }
}

/// A count, and whether its n-gram is pruned, in two words of a record.
pub fn pack(count: u64, pruned: bool) -> [u32; 2] {
    [count as u32, (count >> 32) as u32 | u32::from(pruned) << 31]
}

/// The count and the mark in two words of a record.
pub fn unpack(words: &[u32]) -> (u64, bool) {
    (u64::from(words[0]) | u64::from(words[1] & 0x7fff_ffff) << 32, words[1] >> 31 == 1)
}

/// What the highest order tells about all orders.
#[derive(Debug)]
pub struct Adjusted {
    pub stats: Vec<Stat>,
    /// Adjusted count and mark of each word.
    pub unigrams: Vec<(u64, bool)>,
    /// For each order from 2 on: records of context (last word first), word and count.
    pub contexts: Vec<Sorter<Numbers>>,
}

/// Walks over the n-grams of the highest order, those with the same ending together.
struct Walk<'a> {
    order: usize,
    prune: &'a [u64],
    /// The n-gram before, last word first; its first `bos` words are other than `<s>`.
    last: Vec<u32>,
    bos: usize,
    /// By length: different words before, and occurrences, of the n-gram that `last` begins with.
    before: Vec<u64>,
    raw: Vec<u64>,
    record: Vec<u32>,
    out: Adjusted,
}

impl Walk<'_> {
    fn emit(&mut self, length: usize, count: u64, raw: u64) -> Result<()> {
        let word = self.last[0];
        let special = length == 1 && (word as usize) < SPECIAL.len();
        let pruned = raw <= self.prune[length - 1] && !special;
        self.out.stats[length - 1].add(count, pruned);
        if length == 1 {
            self.out.unigrams[word as usize] = (count, pruned);
            return Ok(());
        }
        self.record.clear();
        self.record.extend_from_slice(&self.last[1..length]);
        self.record.push(word);
        self.out.contexts[length - 2].push(&self.record, &pack(count, pruned))
    }

    /// Closes the n-grams longer than `same` words, except that of the highest order.
    fn flush(&mut self, same: usize) -> Result<()> {
        for length in (same + 1..self.order).rev() {
            if length <= self.bos {
                self.emit(length, self.before[length], self.raw[length])?;
            } else if length == self.bos + 1 {
                self.emit(length, self.raw[length], self.raw[length])?;
            }
        }
        Ok(())
    }

    fn step(&mut self, key: &[u32], count: u64) -> Result<()> {
        let same = self.last.iter().zip(key).take_while(|(a, b)| a == b).count();
        if !self.last.is_empty() {
            self.flush(same)?;
        }
        self.raw[1..=same].iter_mut().for_each(|raw| *raw += count);
        self.before[same] += 1;
        self.before[same + 1..].fill(1);
        self.raw[same + 1..].fill(count);
        self.last.clear();
        self.last.extend_from_slice(key);
        self.bos = key.iter().position(|&w| w == BOS).unwrap_or(key.len());
        if self.bos + 1 >= self.order {
            self.emit(self.order, count, count)?;
        }
        Ok(())
    }
}

/// Computes adjusted counts of all orders; `contexts` are empty sorters for order 2 and up.
pub fn adjust(
    mut full: Sorted<Numbers>,
    order: usize,
    prune: &[u64],
    types: usize,
    contexts: Vec<Sorter<Numbers>>,
) -> Result<Adjusted> {
    let out = Adjusted { stats: vec![Stat::default(); order], unigrams: vec![(0, true); types], contexts };
    let (before, raw) = (vec![0; order + 1], vec![0; order + 1]);
    let (last, record) = (Vec::with_capacity(order), Vec::with_capacity(order));
    let mut walk = Walk { order, prune, last, bos: 0, before, raw, record, out };
    for special in [0, BOS] {
        walk.out.unigrams[special as usize] = (0, false);
        walk.out.stats[0].add(0, false);
    }
    let mut key: Vec<u32> = Vec::with_capacity(order);
    let mut count = 0;
    while let Some(record) = full.next()? {
        if record[..order] != key[..] {
            if count > 0 {
                walk.step(&key, count)?;
            }
            key.clear();
            key.extend_from_slice(&record[..order]);
            count = 0;
        }
        count += u64::from(record[order]);
    }
    if count > 0 {
        walk.step(&key, count)?;
        walk.flush(0)?;
    }
    Ok(walk.out)
}
