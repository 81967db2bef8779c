//! Candidate lists packed for learning: what PRO, MIRA, online learning and risk all read.

use crate::screen::{Room, Screen};
use dragoman_base::{Error, Result};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::OnceLock;

/// Number of parts that parallel sums are cut into. It is fixed, so that a sum has one order of additions and
/// one result whatever the number of threads.
const SHARDS: usize = 8;

/// The feature vectors of all candidates, sentence by sentence.
///
/// Features that at least half of the candidates have lie in blocks, one column of numbers for each feature of
/// each sentence: a list's model scores are then a few passes over short contiguous arrays. All other features
/// are sparse rows with rising columns and no zeros. A product is the sum over the block's features, then over
/// the sparse ones, always in this order.
#[derive(Debug)]
pub struct Lists {
    groups: Vec<usize>,
    width: usize,
    dense: Vec<u32>,
    block: Vec<f64>,
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    screen: OnceLock<Screen>,
}

impl Lists {
    /// Packs the candidates `groups[s]..groups[s + 1]` of each sentence, whose sparse rows are cut by `starts`.
    pub fn pack(
        groups: &[i64],
        starts: &[i64],
        columns: &[u32],
        values: &[f64],
        width: usize,
    ) -> Result<Self> {
        check_cuts(groups, starts.len().saturating_sub(1), "sentences")?;
        check_cuts(starts, columns.len(), "rows")?;
        if columns.len() != values.len() {
            return Err(Error::Invalid("sparse rows need as many columns as values".into()));
        }
        if let Some(column) = columns.iter().find(|&&c| c as usize >= width) {
            return Err(Error::Invalid(format!("feature {column} is out of range: there are {width}")));
        }
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            let row = starts.partition_point(|&start| start <= at as i64) - 1;
            let sentence = groups.partition_point(|&start| start <= row as i64) - 1;
            return Err(Error::Invalid(format!(
                "feature {} of candidate {row} (sentence {sentence}) is not a finite number",
                columns[at]
            )));
        }
        let groups: Vec<usize> = groups.iter().map(|&g| g as usize).collect();
        let dense = frequent(columns, starts.len() - 1, width);
        let mut lists = Self {
            block: vec![0.0; dense.len() * (starts.len() - 1)],
            groups,
            width,
            dense,
            starts: vec![0],
            columns: Vec::new(),
            values: Vec::new(),
            screen: OnceLock::new(),
        };
        lists.fill(starts, columns, values);
        Ok(lists)
    }

    fn fill(&mut self, starts: &[i64], columns: &[u32], values: &[f64]) {
        let mut place = vec![u32::MAX; self.width];
        for (at, &column) in self.dense.iter().enumerate() {
            place[column as usize] = at as u32;
        }
        let rest = columns.iter().filter(|&&c| place[c as usize] == u32::MAX).count();
        self.columns.reserve_exact(rest);
        self.values.reserve_exact(rest);
        self.starts.reserve_exact(starts.len() - 1);
        let mut row: Vec<(u32, f64)> = Vec::new();
        for s in 0..self.sentences() {
            let span = self.group(s);
            for i in span.clone() {
                row.clear();
                for k in starts[i] as usize..starts[i + 1] as usize {
                    match place[columns[k] as usize] {
                        u32::MAX => row.push((columns[k], values[k])),
                        at => {
                            let cell =
                                span.start * self.dense.len() + at as usize * span.len() + i - span.start;
                            self.block[cell] += values[k];
                        }
                    }
                }
                self.push_row(&mut row);
            }
        }
    }

    fn push_row(&mut self, row: &mut [(u32, f64)]) {
        if !row.is_sorted_by_key(|entry| entry.0) {
            row.sort_by_key(|entry| entry.0);
        }
        for same in row.chunk_by(|a, b| a.0 == b.0) {
            let value: f64 = same.iter().map(|entry| entry.1).sum();
            if value != 0.0 {
                self.columns.push(same[0].0);
                self.values.push(value);
            }
        }
        self.starts.push(self.columns.len());
    }

    /// Number of sentences.
    pub fn sentences(&self) -> usize {
        self.groups.len() - 1
    }

    /// Number of candidates of all sentences together.
    pub fn candidates(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of features.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The candidates of sentence `s`.
    pub fn group(&self, s: usize) -> Range<usize> {
        self.groups[s]..self.groups[s + 1]
    }

    /// One array for each block feature of sentence `s`, with its column: a value for each candidate.
    pub(crate) fn blocks(&self, s: usize) -> impl Iterator<Item = (u32, &[f64])> {
        let span = self.group(s);
        let n = span.len();
        let base = span.start * self.dense.len();
        let cut = move |at: usize| &self.block[base + at * n..base + (at + 1) * n];
        self.dense.iter().enumerate().map(move |(at, &column)| (column, cut(at)))
    }

    fn sparse(&self, candidate: usize) -> (&[u32], &[f64]) {
        let span = self.starts[candidate]..self.starts[candidate + 1];
        (&self.columns[span.clone()], &self.values[span])
    }

    /// Writes w·h of every candidate of sentence `s` to `out`.
    pub fn scores(&self, s: usize, w: &[f64], out: &mut Vec<f64>) {
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has just been asked.
            return unsafe { self.scores_wide(s, w, out) };
        }
        self.scores_any(s, w, out);
    }

    /// The same compiled for wider registers: the same operations in the same order, so the same bits.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn scores_wide(&self, s: usize, w: &[f64], out: &mut Vec<f64>) {
        self.scores_any(s, w, out);
    }

    #[allow(clippy::inline_always)] // else it would not be compiled for the caller's registers
    #[inline(always)]
    fn scores_any(&self, s: usize, w: &[f64], out: &mut Vec<f64>) {
        let span = self.group(s);
        out.clear();
        out.resize(span.len(), 0.0);
        let (count, size) = (self.dense.len(), span.len());
        let block = &self.block[span.start * count..span.end * count];
        let weight = |d: usize| w[self.dense[d] as usize];
        let array = |d: usize| &block[d * size..(d + 1) * size];
        // Four features a pass: the additions stay in order, the running sums stay in registers.
        let whole = count - count % 4;
        for d in (0..whole).step_by(4) {
            let weights = [weight(d), weight(d + 1), weight(d + 2), weight(d + 3)];
            add_four(out, weights, [array(d), array(d + 1), array(d + 2), array(d + 3)]);
        }
        for d in whole..count {
            let factor = weight(d);
            out.iter_mut().zip(array(d)).for_each(|(sum, x)| *sum += factor * x);
        }
        if !self.columns.is_empty() {
            for (o, i) in out.iter_mut().zip(span) {
                let (columns, values) = self.sparse(i);
                *o = columns.iter().zip(values).fold(*o, |sum, (&c, v)| sum + w[c as usize] * v);
            }
        }
    }

    /// Calls `visit` with each feature of a candidate and its value; block features come with their zeros.
    pub fn each(&self, s: usize, candidate: usize, mut visit: impl FnMut(u32, f64)) {
        let offset = candidate - self.groups[s];
        for (column, values) in self.blocks(s) {
            visit(column, values[offset]);
        }
        let (columns, values) = self.sparse(candidate);
        for (&column, &value) in columns.iter().zip(values) {
            visit(column, value);
        }
    }

    /// w·h of one candidate, bit for bit as [`Self::scores`] gives it.
    pub fn score(&self, s: usize, candidate: usize, w: &[f64]) -> f64 {
        let mut sum = 0.0;
        self.each(s, candidate, |column, value| sum += w[column as usize] * value);
        sum
    }

    /// The features in which two candidates of sentence `s` differ, and h(plus) − h(minus) there.
    pub fn difference(&self, s: usize, plus: usize, minus: usize, out: &mut Vec<(u32, f64)>) {
        out.clear();
        let (up, down) = (plus - self.groups[s], minus - self.groups[s]);
        out.extend(self.blocks(s).map(|(column, values)| (column, values[up] - values[down])));
        let (mut left, mut right) = (self.sparse(plus), self.sparse(minus));
        while let (Some(&x), Some(&y)) = (left.0.first(), right.0.first()) {
            let value = if x <= y { left.1[0] } else { 0.0 } - if y <= x { right.1[0] } else { 0.0 };
            out.push((x.min(y), value));
            if x <= y {
                left = (&left.0[1..], &left.1[1..]);
            }
            if y <= x {
                right = (&right.0[1..], &right.1[1..]);
            }
        }
        out.extend(left.0.iter().zip(left.1).map(|(&column, &value)| (column, value)));
        out.extend(right.0.iter().zip(right.1).map(|(&column, &value)| (column, -value)));
        out.retain(|entry| entry.1 != 0.0);
    }

    /// Adds `coefficients[i] * h(i)` of the candidates of sentence `s` to `sum`.
    pub fn add_combination(&self, s: usize, coefficients: &[f64], sum: &mut [f64]) {
        for (column, values) in self.blocks(s) {
            sum[column as usize] += coefficients.iter().zip(values).map(|(c, v)| c * v).sum::<f64>();
        }
        if self.columns.is_empty() {
            return;
        }
        for (i, &coefficient) in self.group(s).zip(coefficients) {
            let (columns, values) = self.sparse(i);
            for (&column, value) in columns.iter().zip(values) {
                sum[column as usize] += coefficient * value;
            }
        }
    }

    /// Makes the short form of the features that many passes over all candidates are worth, for lists without
    /// sparse ones.
    pub(crate) fn sharpen(&self) {
        if self.columns.is_empty() && !self.dense.is_empty() {
            self.screen.get_or_init(|| Screen::pack(self));
        }
    }

    /// The short form, if it was made.
    pub(crate) fn screen(&self) -> Option<&Screen> {
        self.screen.get()
    }

    /// The best candidate of each sentence under `w` (the first of equals), -1 where there is none.
    pub fn best(&self, w: &[f64]) -> Vec<i64> {
        let find = |room: &mut Room, s: usize| {
            if let Some(best) = self.best_screened(s, w, room) {
                return best as i64;
            }
            self.scores(s, w, &mut room.scores);
            first_max(&room.scores).map_or(-1, |at| (self.groups[s] + at) as i64)
        };
        (0..self.sentences()).into_par_iter().with_min_len(8).map_init(Room::default, find).collect()
    }

    /// For each feature, the number of sentences in which some candidate has it (with a value other than 0).
    pub fn sentence_counts(&self) -> Vec<i64> {
        let (mut counts, mut last) = (vec![0; self.width], vec![usize::MAX; self.width]);
        for s in 0..self.sentences() {
            for i in self.group(s) {
                self.each(s, i, |column, value| {
                    if value != 0.0 && last[column as usize] != s {
                        last[column as usize] = s;
                        counts[column as usize] += 1;
                    }
                });
            }
        }
        counts
    }
}

/// Adds w·x to every sum, in the order of the four weights.
#[allow(clippy::inline_always)]
#[inline(always)]
fn add_four(sums: &mut [f64], w: [f64; 4], x: [&[f64]; 4]) {
    let [first, second, third, fourth] = x;
    let rows = first.iter().zip(second).zip(third).zip(fourth);
    for (sum, (((x0, x1), x2), x3)) in sums.iter_mut().zip(rows) {
        *sum = *sum + w[0] * x0 + w[1] * x1 + w[2] * x2 + w[3] * x3;
    }
}

/// Position of the largest number, the first of equals.
pub(crate) fn first_max(numbers: &[f64]) -> Option<usize> {
    let top = largest(numbers);
    numbers.iter().position(|x| *x == top)
}

/// The largest number, eight comparisons at a time.
pub(crate) fn largest(numbers: &[f64]) -> f64 {
    let more = |a: f64, b: f64| if b > a { b } else { a };
    let (chunks, rest) = numbers.as_chunks::<8>();
    let mut lanes = [f64::NEG_INFINITY; 8];
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane = more(*lane, *x);
        }
    }
    lanes.iter().chain(rest).fold(f64::NEG_INFINITY, |a, &b| more(a, b))
}

/// Sums `add(range, partial)` over `0..n` on all cores: returns the sum of the values and adds the partial
/// vectors to `sum`, both in a fixed order. `partials` is room that is kept between calls.
pub(crate) fn sharded(
    n: usize,
    sum: &mut [f64],
    partials: &mut Vec<Vec<f64>>,
    add: impl Fn(Range<usize>, &mut [f64]) -> f64 + Sync,
) -> f64 {
    partials.resize(SHARDS, Vec::new());
    let values: Vec<f64> = partials
        .par_iter_mut()
        .enumerate()
        .map(|(k, partial)| {
            partial.clear();
            partial.resize(sum.len(), 0.0);
            add(n * k / SHARDS..n * (k + 1) / SHARDS, partial)
        })
        .collect();
    for partial in partials {
        for (total, x) in sum.iter_mut().zip(partial) {
            *total += *x;
        }
    }
    values.iter().sum()
}

/// The columns that at least half of the rows have.
fn frequent(columns: &[u32], rows: usize, width: usize) -> Vec<u32> {
    let mut counts = vec![0usize; width];
    for &column in columns {
        counts[column as usize] += 1;
    }
    (0..width as u32).filter(|&c| counts[c as usize] > 0 && 2 * counts[c as usize] >= rows).collect()
}

fn check_cuts(cuts: &[i64], end: usize, what: &str) -> Result<()> {
    let rising = cuts.windows(2).all(|w| w[0] <= w[1]);
    if rising && cuts.first() == Some(&0) && cuts.last() == Some(&(end as i64)) {
        return Ok(());
    }
    Err(Error::Invalid(format!("the starts of {what} must rise from 0 to {end}")))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Plain rows, and the same packed: `lists[s][i]` is a row of (column, value).
    pub fn packed(lists: &[Vec<Vec<(u32, f64)>>], width: usize) -> Lists {
        let (mut groups, mut starts, mut columns, mut values) = (vec![0], vec![0], vec![], vec![]);
        for list in lists {
            for row in list {
                columns.extend(row.iter().map(|e| e.0));
                values.extend(row.iter().map(|e| e.1));
                starts.push(columns.len() as i64);
            }
            groups.push(starts.len() as i64 - 1);
        }
        Lists::pack(&groups, &starts, &columns, &values, width).unwrap()
    }

    pub fn pools() -> impl Strategy<Value = Vec<Vec<Vec<(u32, f64)>>>> {
        let value = prop_oneof![Just(0.0), Just(1.0), -2.0..2.0f64];
        let row = prop::collection::vec((0u32..7, value), 0..7);
        prop::collection::vec(prop::collection::vec(row, 0..6), 0..5)
    }

    fn plain(row: &[(u32, f64)]) -> Vec<f64> {
        let mut all = vec![0.0; 7];
        for &(c, v) in row {
            all[c as usize] += v;
        }
        all
    }

    proptest! {
        #[test]
        fn packing_changes_nothing(pool in pools(), w in prop::collection::vec(-1.0..1.0f64, 7)) {
            let lists = packed(&pool, 7);
            let (mut scores, mut difference) = (Vec::new(), Vec::new());
            for (s, list) in pool.iter().enumerate() {
                lists.scores(s, &w, &mut scores);
                let first = lists.group(s).start;
                let mut sum = vec![0.0; 7];
                lists.add_combination(s, &scores, &mut sum);
                let mut want_sum = vec![0.0; 7];
                for (i, row) in list.iter().enumerate() {
                    let want: f64 = plain(row).iter().zip(&w).map(|(x, w)| x * w).sum();
                    prop_assert!((scores[i] - want).abs() < 1e-12);
                    prop_assert_eq!(scores[i], lists.score(s, first + i, &w));
                    for (t, x) in want_sum.iter_mut().zip(plain(row)) {
                        *t += want * x;
                    }
                    lists.difference(s, first + i, first, &mut difference);
                    let want: Vec<f64> = plain(row).iter().zip(plain(&list[0])).map(|(a, b)| a - b).collect();
                    prop_assert!(difference.iter().all(|e| e.1 != 0.0));
                    prop_assert_eq!(plain(&difference), want);
                }
                prop_assert!(sum.iter().zip(&want_sum).all(|(a, b)| (a - b).abs() < 1e-9));
                let best = first_max(&scores).map_or(-1, |at| (first + at) as i64);
                prop_assert_eq!(lists.best(&w)[s], best);
                let sharp = packed(&pool, 7);
                sharp.sharpen();
                prop_assert_eq!(sharp.best(&w)[s], best);
            }
            let count = |c: usize| {
                pool.iter().filter(|list| list.iter().any(|row| plain(row)[c] != 0.0)).count() as i64
            };
            prop_assert_eq!(lists.sentence_counts(), (0..7).map(count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn bad_arrays_are_refused() {
        let error = |groups: &[i64], starts: &[i64], columns: &[u32], values: &[f64]| {
            Lists::pack(groups, starts, columns, values, 3).unwrap_err().to_string()
        };
        assert!(error(&[0, 2], &[0, 1], &[0], &[1.0]).contains("sentences"));
        assert!(error(&[0, 1], &[0, 2], &[0], &[1.0]).contains("rows"));
        assert!(error(&[0, 1], &[0, 1], &[3], &[1.0]).contains("feature 3"));
        assert!(
            error(&[0, 1, 2], &[0, 1, 2], &[0, 2], &[1.0, f64::NAN]).contains("candidate 1 (sentence 1)")
        );
    }
}
