//! What a list is like, in figures.

use crate::batch::Batch;
use dragoman_base::Names;
use rustc_hash::FxHashSet;

/// The range of a dense feature over all candidates; a candidate without it counts as 0.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureStat {
    /// The feature's name.
    pub name: String,
    /// Smallest value.
    pub min: f64,
    /// Mean value.
    pub mean: f64,
    /// Largest value.
    pub max: f64,
    /// Whether it is the same for all candidates of each sentence, so that no weight can matter.
    pub constant: bool,
}

/// The values of one dense feature so far.
#[derive(Debug, Clone)]
struct Range {
    id: u32,
    count: u64,
    sum: f64,
    min: f64,
    max: f64,
    constant: bool,
    /// Number of values in the sentence under way, and their range.
    here: (u64, f64, f64),
}

/// Nothing seen yet.
const NOTHING: (u64, f64, f64) = (0, f64::INFINITY, f64::NEG_INFINITY);

/// Sums over the batches of one list. Memory holds one entry for each dense feature.
#[derive(Debug, Default)]
pub struct Stat {
    /// Number of sentences.
    pub sentences: u64,
    /// Number of candidates.
    pub candidates: u64,
    /// Size of the smallest list.
    pub smallest: u64,
    /// Size of the largest list.
    pub largest: u64,
    /// Candidates whose text stands earlier in the same sentence's list.
    pub duplicates: u64,
    ranges: Vec<Range>,
    /// For each feature id its place in `ranges`, from 1; 0 for sparse ones.
    places: Vec<u32>,
}

impl Stat {
    /// Counts a batch in.
    pub fn add(&mut self, batch: &Batch, names: &Names) {
        for id in self.places.len() as u32..names.len() as u32 {
            if names.is_dense(id) {
                let (_, min, max) = NOTHING;
                self.ranges.push(Range { id, count: 0, sum: 0.0, min, max, constant: true, here: NOTHING });
            }
            self.places.push(if names.is_dense(id) { self.ranges.len() as u32 } else { 0 });
        }
        for span in batch.starts.windows(2) {
            self.add_sentence(batch, span[0] as usize..span[1] as usize);
        }
    }

    fn add_sentence(&mut self, batch: &Batch, span: std::ops::Range<usize>) {
        let size = span.len() as u64;
        self.smallest = if self.sentences == 0 { size } else { self.smallest.min(size) };
        self.largest = self.largest.max(size);
        self.sentences += 1;
        self.candidates += size;
        let texts: FxHashSet<&str> = span.clone().map(|at| batch.texts.get(at)).collect();
        self.duplicates += size - texts.len() as u64;
        for at in span {
            let (columns, values) = batch.rows.row(at);
            for (&id, &value) in columns.iter().zip(values) {
                let place = self.places[id as usize] as usize;
                if place > 0 {
                    let (count, min, max) = &mut self.ranges[place - 1].here;
                    (*count, *min, *max) = (*count + 1, min.min(value), max.max(value));
                    self.ranges[place - 1].sum += value;
                }
            }
        }
        for range in &mut self.ranges {
            let (count, min, max) = std::mem::replace(&mut range.here, NOTHING);
            let all_or_zero = count == size || (min.max(max) <= 0.0 && min.min(max) >= 0.0);
            range.constant &= count == 0 || (min == max && all_or_zero);
            range.count += count;
            range.min = range.min.min(min);
            range.max = range.max.max(max);
        }
    }

    /// The dense features, in order of their first appearance.
    pub fn features(&self, names: &Names) -> Vec<FeatureStat> {
        let zero = |range: &Range| range.count < self.candidates;
        let bound = |range: &Range, value: f64, pick: fn(f64, f64) -> f64| {
            if zero(range) { pick(value, 0.0) } else { value }
        };
        let figures = |range: &Range| FeatureStat {
            name: names.name(range.id).to_owned(),
            min: bound(range, range.min, f64::min),
            mean: range.sum / self.candidates.max(1) as f64,
            max: bound(range, range.max, f64::max),
            constant: range.constant,
        };
        self.ranges.iter().map(figures).collect()
    }
}
