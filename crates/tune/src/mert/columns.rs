//! Features laid out by feature: a coordinate direction's slopes are a column, read in one run.

use super::line::Judged;
use rayon::prelude::*;

/// Candidates that one task of a product covers: their sums stay in the first-level cache.
const BLOCK: usize = 2048;

/// The values of one feature.
#[derive(Debug, Clone, Copy)]
pub enum Column<'a> {
    /// One for each candidate.
    Wide(&'a [f64]),
    /// One for each candidate, in half the memory.
    Narrow(&'a [f32]),
    /// Of the candidates `rows`, in rising order; the others have 0.
    Sparse {
        /// Candidates at which the feature fires.
        rows: &'a [u32],
        /// Its values there; what a candidate has twice is added.
        values: &'a [f64],
    },
}

/// Sparse rows turned into columns. A column with entries for half of the candidates or more is stored in full.
#[derive(Debug, Default, PartialEq)]
pub struct Columns {
    spans: Vec<Span>,
    rows: Vec<u32>,
    values: Vec<f64>,
}

/// Where a column's values are, and where its rows are (nowhere if it is stored in full).
#[derive(Debug, Clone, Copy, PartialEq)]
struct Span {
    values: usize,
    rows: usize,
    len: usize,
    full: bool,
}

impl Columns {
    /// Turns rows `starts[i]..starts[i + 1]` of (column, value) entries into `width` columns.
    /// Columns past the width are left out, as in a product with so many weights.
    pub fn from_rows(starts: &[i64], columns: &[u32], values: &[f64], width: usize) -> Self {
        let size = starts.len() - 1;
        let mut counts = vec![0usize; width];
        for (&c, &v) in columns.iter().zip(values) {
            if let Some(count) = counts.get_mut(c as usize) {
                *count += usize::from(v != 0.0);
            }
        }
        let (mut spans, mut value_end, mut row_end) = (Vec::with_capacity(width), 0, 0);
        for &count in &counts {
            let full = 2 * count >= size && count > 0;
            let len = if full { size } else { count };
            spans.push(Span { values: value_end, rows: row_end, len, full });
            value_end += len;
            row_end += if full { 0 } else { count };
        }
        let mut made = Self { spans, rows: vec![0; row_end], values: vec![0.0; value_end] };
        counts.fill(0);
        for (row, entry) in starts.windows(2).enumerate() {
            let entry = entry[0] as usize..entry[1] as usize;
            for (&c, &v) in columns[entry.clone()].iter().zip(&values[entry]) {
                if (c as usize) < width && v != 0.0 {
                    made.put(row, c as usize, v, &mut counts);
                }
            }
        }
        made
    }

    fn put(&mut self, row: usize, column: usize, value: f64, filled: &mut [usize]) {
        let span = self.spans[column];
        if span.full {
            self.values[span.values + row] += value;
        } else {
            let at = filled[column];
            self.values[span.values + at] = value;
            self.rows[span.rows + at] = row as u32;
            filled[column] += 1;
        }
    }

    /// All columns.
    pub fn views(&self) -> Vec<Column<'_>> {
        let view = |span: &Span| {
            let values = &self.values[span.values..][..span.len];
            if span.full {
                Column::Wide(values)
            } else {
                Column::Sparse { rows: &self.rows[span.rows..][..span.len], values }
            }
        };
        self.spans.iter().map(view).collect()
    }

    /// Whether every column is stored in full, so that [`combine`] reads them in runs.
    pub fn all_full(&self) -> bool {
        self.spans.iter().all(|span| span.full)
    }
}

impl Column<'_> {
    /// `sums[i] += factor · value` for the candidates `block` (those of `sums`).
    fn add_block(self, sums: &mut [f64], start: usize, factor: f64) {
        match self {
            Self::Wide(values) => {
                sums.iter_mut().zip(&values[start..]).for_each(|(sum, v)| *sum += factor * v);
            }
            Self::Narrow(values) => {
                sums.iter_mut().zip(&values[start..]).for_each(|(sum, &v)| *sum += factor * f64::from(v));
            }
            Self::Sparse { rows, values } => {
                let from = rows.partition_point(|&row| (row as usize) < start);
                for (&row, value) in rows[from..].iter().zip(&values[from..]) {
                    let Some(sum) = sums.get_mut(row as usize - start) else { break };
                    *sum += factor * value;
                }
            }
        }
    }

    /// `Σ factors[i] · value`. Four partial sums in a fixed order: quick, and the same on any machine.
    fn dot(self, factors: &[f64]) -> f64 {
        match self {
            Self::Wide(values) => dot4(values, factors, |&v| v),
            Self::Narrow(values) => dot4(values, factors, |&v| f64::from(v)),
            Self::Sparse { rows, values } => {
                rows.iter().zip(values).map(|(&row, value)| factors[row as usize] * value).sum()
            }
        }
    }

    /// The mean over sentences of (largest - smallest value), where these differ; 0 if they never do.
    fn spread(self, pool: Judged<'_>, scratch: &mut Vec<f64>) -> f64 {
        scratch.clear();
        scratch.resize(pool.starts[pool.sentences()] as usize, 0.0);
        self.add_block(scratch, 0, 1.0);
        let (mut sum, mut count) = (0.0, 0u32);
        for span in (0..pool.sentences()).map(|s| pool.span(s)) {
            let bounds = |(low, high): (f64, f64), &v: &f64| (low.min(v), high.max(v));
            let (low, high) = scratch[span].iter().fold((f64::INFINITY, f64::NEG_INFINITY), bounds);
            if low < high {
                sum += high - low;
                count += 1;
            }
        }
        if count == 0 { 0.0 } else { sum / f64::from(count) }
    }
}

fn dot4<T>(values: &[T], factors: &[f64], wide: impl Fn(&T) -> f64) -> f64 {
    let mut sums = [0.0; 4];
    let (pairs, rest) = (values.chunks_exact(4).zip(factors.chunks_exact(4)), values.len() / 4 * 4);
    for (v, f) in pairs {
        for k in 0..4 {
            sums[k] += wide(&v[k]) * f[k];
        }
    }
    let tail: f64 = values[rest..].iter().zip(&factors[rest..]).map(|(v, f)| wide(v) * f).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + tail
}

/// `Σ_j direction[j] · column_j` of each of `size` candidates: slopes, or model scores.
pub fn combine(columns: &[Column<'_>], direction: &[f64], size: usize) -> Vec<f64> {
    let mut sums = vec![0.0; size];
    sums.par_chunks_mut(BLOCK).enumerate().for_each(|(block, sums)| {
        for (column, &factor) in columns.iter().zip(direction).filter(|(_, factor)| **factor != 0.0) {
            column.add_block(sums, block * BLOCK, factor);
        }
    });
    sums
}

/// `column_j · factors` of each feature: how the features move with the candidates' factors.
pub fn dots(columns: &[Column<'_>], factors: &[f64]) -> Vec<f64> {
    columns.par_iter().map(|column| column.dot(factors)).collect()
}

/// `scores += step · column`, in time proportional to what the column stores (R13, footnote 6).
pub fn advance(column: Column<'_>, scores: &mut [f64], step: f64) {
    if let Column::Sparse { .. } = column {
        column.add_block(scores, 0, step);
    } else {
        let blocks = scores.par_chunks_mut(BLOCK).enumerate().with_min_len(16);
        blocks.for_each(|(block, scores)| column.add_block(scores, block * BLOCK, step));
    }
}

/// How far apart a feature's values are in a list, on average over the lists in which it says anything.
pub fn spreads(columns: &[Column<'_>], pool: Judged<'_>) -> Vec<f64> {
    columns.par_iter().map_init(Vec::new, |scratch, column| column.spread(pool, scratch)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn columns_hold_what_the_rows_held(
            rows in prop::collection::vec(prop::collection::vec((0u32..6, -3i8..4), 0..7), 1..20),
            weights in prop::collection::vec(-3i8..4, 5),
            factors in prop::collection::vec(-3i8..4, 20),
        ) {
            let (mut starts, mut columns, mut values) = (vec![0i64], vec![], vec![]);
            let mut dense = vec![[0.0; 6]; rows.len()];
            for (i, row) in rows.iter().enumerate() {
                for &(c, v) in row {
                    columns.push(c);
                    values.push(f64::from(v));
                    dense[i][c as usize] += f64::from(v);
                }
                starts.push(columns.len() as i64);
            }
            let made = Columns::from_rows(&starts, &columns, &values, 5);
            let views = made.views();
            let weights: Vec<f64> = weights.into_iter().map(f64::from).collect();
            let factors: Vec<f64> = factors[..rows.len()].iter().map(|&f| f64::from(f)).collect();
            let scores = combine(&views, &weights, rows.len());
            for (score, row) in scores.iter().zip(&dense) {
                prop_assert_eq!(*score, row.iter().zip(&weights).map(|(h, w)| h * w).sum::<f64>());
            }
            for (j, dot) in dots(&views, &factors).into_iter().enumerate() {
                prop_assert_eq!(dot, dense.iter().zip(&factors).map(|(row, f)| row[j] * f).sum::<f64>());
            }
            let mut moved = scores.clone();
            advance(views[2], &mut moved, 2.0);
            let want: Vec<f64> = scores.iter().zip(&dense).map(|(s, row)| s + 2.0 * row[2]).collect();
            prop_assert_eq!(moved, want);
        }
    }

    #[test]
    fn blocks_meet_without_gap_or_overlap() {
        let n = 3 * BLOCK + 17;
        let rows: Vec<u32> = (0..n as u32).filter(|i| i % 3 == 0).collect();
        let values: Vec<f64> = rows.iter().map(|&i| f64::from(i)).collect();
        let narrow = vec![1.0f32; n];
        let columns = [Column::Sparse { rows: &rows, values: &values }, Column::Narrow(&narrow)];
        let sums = combine(&columns, &[2.0, 0.5], n);
        let want = |i: usize| if i.is_multiple_of(3) { 2.0 * i as f64 + 0.5 } else { 0.5 };
        assert!(sums.iter().enumerate().all(|(i, &sum)| sum == want(i)));
    }

    #[test]
    fn spreads_skip_lists_without_a_say() {
        let pool = Judged { starts: &[0, 2, 2, 4, 6], statistics: &[], width: 0 };
        let full = [1.0, 4.0, 5.0, 5.0, 0.0, -1.0];
        let columns =
            [Column::Wide(&full), Column::Sparse { rows: &[2], values: &[7.0] }, Column::Narrow(&[1.0; 6])];
        assert_eq!(spreads(&columns, pool), [2.0, 7.0, 0.0]);
    }
}
