//! Sorted runs that go on to other processes by ranges of their keys.
//!
//! While runs come in, samples of their keys are kept; these say where to cut so that ranges are about equal, and near
//! which place of each run a range begins. What comes out of all ranges, one after the other, is what a merge of the runs
//! gives, wherever they are cut.

use super::runs::{Runs, split_records};
use crate::Result;
use crate::io::read_at;
use crate::scratch::Scratch;
use std::fs::File;
use std::ops::Range;

/// Bytes of a run for each sample.
const STEP: usize = 1 << 14;

/// The key of a record, and where in the file the record begins.
#[derive(Debug)]
struct Sample {
    key: Box<[u8]>,
    at: u64,
}

/// Takes runs.
#[derive(Debug)]
pub struct Exchange {
    runs: Runs,
    /// Bytes of the key in front of a record; no key is the beginning of another one. Records of one key stay together.
    key: fn(&[u8]) -> usize,
    samples: Vec<Vec<Sample>>,
}

impl Exchange {
    /// No runs yet; records have `width` bytes or, without it, a length.
    pub fn new(scratch: &Scratch, width: Option<usize>, key: fn(&[u8]) -> usize) -> Result<Self> {
        Ok(Self { runs: Runs::new(scratch, width)?, key, samples: Vec::new() })
    }

    /// Bytes of all runs.
    pub fn bytes(&self) -> u64 {
        self.runs.bytes()
    }

    /// Adds a run that [`super::Sorter::run`] made.
    pub fn add(&mut self, run: &[u8]) -> Result<()> {
        let (from, mut samples, mut next) = (self.runs.bytes(), Vec::new(), 0);
        self.runs.add_seen(run, |at, record| {
            if at >= next {
                let key = record[..(self.key)(record)].into();
                samples.push(Sample { key, at: from + at as u64 });
                next = at + STEP;
            }
        })?;
        self.samples.push(samples);
        Ok(())
    }

    /// Cuts the runs into about `count` ranges of about the same number of bytes, fewer where keys are large.
    pub fn ranges(self, count: usize) -> Result<Ranges> {
        let cuts = self.quantiles(count);
        self.cut(cuts)
    }

    fn quantiles(&self, count: usize) -> Vec<Vec<u8>> {
        let mut samples: Vec<&Sample> = self.samples.iter().flatten().collect();
        samples.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        let mut cuts: Vec<Vec<u8>> = Vec::new();
        for range in 1..count {
            let Some(sample) = samples.get(range * samples.len() / count) else { break };
            let last = cuts.last().map_or(&*samples[0].key, Vec::as_slice);
            if *last < *sample.key {
                cuts.push(sample.key.to_vec());
            }
        }
        cuts
    }

    /// Cuts the runs before these keys, which are in order.
    pub fn cut(self, cuts: Vec<Vec<u8>>) -> Result<Ranges> {
        let (file, width, scratch, ends) = self.runs.into_file()?;
        let mut from = 0;
        let runs = ends.into_iter().zip(self.samples).map(|(end, samples)| {
            let left = from..end;
            from = end;
            Rest { left, samples }
        });
        Ok(Ranges { runs: runs.collect(), cuts, given: 0, file, width, scratch })
    }
}

/// What of a run has not been given yet.
#[derive(Debug)]
struct Rest {
    left: Range<u64>,
    samples: Vec<Sample>,
}

/// The ranges, in the order of their keys.
#[derive(Debug)]
pub struct Ranges {
    runs: Vec<Rest>,
    /// What the second and later ranges begin with, at least.
    cuts: Vec<Vec<u8>>,
    given: usize,
    file: File,
    width: Option<usize>,
    scratch: Scratch,
}

impl Ranges {
    /// How many ranges there are.
    pub fn count(&self) -> usize {
        self.cuts.len() + 1
    }

    /// The number of the next range and its share of each run, a sorted run itself; none after the last.
    #[allow(clippy::should_implement_trait)] // reading may fail
    pub fn next(&mut self) -> Result<Option<(usize, Vec<Vec<u8>>)>> {
        if self.given == self.count() {
            return Ok(None);
        }
        let (mut shares, cut) = (Vec::new(), self.cuts.get(self.given));
        for run in &mut self.runs {
            let to = match cut {
                Some(cut) => run.before(cut, &self.file, self.width).map_err(|e| self.scratch.error(e))?,
                None => run.left.end,
            };
            if to > run.left.start {
                let share = read(&self.file, run.left.start..to).map_err(|e| self.scratch.error(e))?;
                shares.push(share);
                run.left.start = to;
            }
        }
        self.given += 1;
        Ok(Some((self.given - 1, shares)))
    }
}

impl Rest {
    /// Where records that are not below `cut` begin.
    fn before(&self, cut: &[u8], file: &File, width: Option<usize>) -> std::io::Result<u64> {
        let above = self.samples.partition_point(|sample| *sample.key < *cut);
        let from = above.checked_sub(1).map_or(self.left.start, |below| self.samples[below].at);
        let to = self.samples.get(above).map_or(self.left.end, |sample| sample.at);
        let from = from.max(self.left.start);
        let bytes = read(file, from..to.max(from))?;
        let below = split_records(&bytes, width).take_while(|(_, record)| *record < cut);
        let last = below.last().map_or(0, |(end, _)| end);
        Ok(from + last as u64)
    }
}

fn read(file: &File, range: Range<u64>) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; (range.end - range.start) as usize];
    read_at(file, &mut bytes, range.start)?;
    Ok(bytes)
}
