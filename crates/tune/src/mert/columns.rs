//! Features laid out by feature: a coordinate direction's slopes are a column, read in one run.
//!
//! Products with all features at once (model scores, slopes of a direction, gradients) read every value, and most of
//! their time is reading. So small whole numbers that are not rare (counts, bins, shapes) are kept in a byte for them,
//! and what fires rarely by candidate: see [`Products`].

use super::line::Judged;
use super::share;
use dragoman_base::sparse::{Rows, dot};

/// Candidates that one task of a product covers: their sums stay in the first-level cache.
const BLOCK: usize = 2048;
/// A feature that one in so many candidates has is read faster in full than by its places, if in bytes.
const RARE: usize = 8;
/// Columns that are read side by side.
const FEW: usize = 4;

/// The values of one feature.
#[derive(Debug, Clone, Copy)]
pub enum Column<'a> {
    /// One for each candidate.
    Wide(&'a [f64]),
    /// One for each candidate, in half the memory.
    Narrow(&'a [f32]),
    /// Whole numbers, one for each candidate, in a byte.
    Small(&'a [i8]),
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
    products: Products,
}

/// The same features as products read them.
#[derive(Debug, Default, PartialEq)]
struct Products {
    /// For each feature where its bytes are in `small`, if it has such.
    places: Vec<Option<usize>>,
    small: Vec<i8>,
    /// The features that are small or stored in full.
    full: Vec<usize>,
    /// All features, those of one form together.
    order: Vec<u32>,
    /// What is neither stored in full nor small: by candidate, by rising feature.
    rest: Rows,
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
        let mut made = Self {
            spans,
            rows: vec![0; row_end],
            values: vec![0.0; value_end],
            products: Products::default(),
        };
        counts.fill(0);
        for (row, entry) in starts.windows(2).enumerate() {
            let entry = entry[0] as usize..entry[1] as usize;
            for (&c, &v) in columns[entry.clone()].iter().zip(&values[entry]) {
                if (c as usize) < width && v != 0.0 {
                    made.put(row, c as usize, v, &mut counts);
                }
            }
        }
        made.products = Products::new(&made.views(), size);
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
        self.spans.iter().map(|span| self.view(span)).collect()
    }

    fn view(&self, span: &Span) -> Column<'_> {
        let values = &self.values[span.values..][..span.len];
        if span.full {
            Column::Wide(values)
        } else {
            Column::Sparse { rows: &self.rows[span.rows..][..span.len], values }
        }
    }

    /// A column as products read it: small whole numbers in bytes.
    fn read(&self, feature: usize) -> Column<'_> {
        match self.products.places[feature] {
            Some(at) => Column::Small(&self.products.small[at..][..self.products.rest.len()]),
            None => self.view(&self.spans[feature]),
        }
    }

    /// `direction · h` of each candidate, as [`combine`]: first what is stored in full, by feature, and then what is rare,
    /// by feature. So candidates with the same features have the same bits.
    pub fn combine(&self, direction: &[f64]) -> Vec<f64> {
        let (full, factors): (Vec<Column<'_>>, Vec<f64>) =
            self.products.full.iter().map(|&j| (self.read(j), direction[j])).unzip();
        let rest = &self.products.rest;
        combine_with(&full, &factors, rest.len(), |start, sums| {
            for (row, sum) in (start..).zip(sums) {
                let (columns, values) = rest.row(row);
                if !columns.is_empty() {
                    *sum += dot(columns, values, direction);
                }
            }
        })
    }

    /// `column_j · factors` of each feature, as [`dots`].
    pub fn dots(&self, factors: &[f64]) -> Vec<f64> {
        let order = &self.products.order;
        let columns: Vec<Column<'_>> = order.iter().map(|&feature| self.read(feature as usize)).collect();
        let mut found = vec![0.0; order.len()];
        for (&feature, dot) in order.iter().zip(dots(&columns, factors)) {
            found[feature as usize] = dot;
        }
        found
    }

    /// Whether every column is stored in full, so that [`combine`] reads them in runs.
    pub fn all_full(&self) -> bool {
        self.spans.iter().all(|span| span.full)
    }
}

impl Products {
    fn new(views: &[Column<'_>], size: usize) -> Self {
        let mut made = Self { places: Vec::with_capacity(views.len()), ..Self::default() };
        let (mut rare, mut scratch) = (vec![0i64; size + 1], Vec::new());
        for view in views {
            let values = match view {
                Column::Sparse { rows, .. } if rows.len() * RARE < size || rows.is_empty() => None,
                Column::Wide(values) => Some(*values),
                column => {
                    scratch.clear();
                    scratch.resize(size, 0.0);
                    column.add_block(&mut scratch, 0, 1.0);
                    Some(&scratch[..])
                }
            };
            let fits = |x: &f64| x.abs() <= 127.0 && x.fract() == 0.0;
            let small = values.filter(|values| values.iter().all(fits));
            made.places.push(small.map(|_| made.small.len()));
            made.small.extend(small.unwrap_or(&[]).iter().map(|&x| x as i8));
            if let (Column::Sparse { rows, .. }, None) = (view, small) {
                rows.iter().for_each(|&row| rare[row as usize + 1] += 1);
            }
        }
        for row in 0..size {
            rare[row + 1] += rare[row];
        }
        let entries = rare[size] as usize;
        made.rest = Rows { starts: rare.clone(), columns: vec![0; entries], values: vec![0.0; entries] };
        for (feature, view) in views.iter().enumerate() {
            let Column::Sparse { rows, values } = view else {
                made.full.push(feature);
                continue;
            };
            if made.places[feature].is_some() {
                made.full.push(feature);
            } else {
                for (&row, &value) in rows.iter().zip(*values) {
                    let at = &mut rare[row as usize];
                    (made.rest.columns[*at as usize], made.rest.values[*at as usize]) =
                        (feature as u32, value);
                    *at += 1;
                }
            }
        }
        made.order = (0..views.len() as u32).collect();
        made.order.sort_by_key(|&feature| {
            let feature = feature as usize;
            (made.places[feature].is_some(), matches!(views[feature], Column::Wide(_)))
        });
        made
    }
}

impl Column<'_> {
    /// `sums[i] += factor · value` for the candidates `block` (those of `sums`).
    #[allow(clippy::inline_always)] // else it would not be compiled for the caller's registers
    #[inline(always)]
    fn add_block(self, sums: &mut [f64], start: usize, factor: f64) {
        match self {
            Self::Wide(values) => {
                sums.iter_mut().zip(&values[start..]).for_each(|(sum, v)| *sum += factor * v);
            }
            Self::Narrow(values) => {
                sums.iter_mut().zip(&values[start..]).for_each(|(sum, &v)| *sum += factor * f64::from(v));
            }
            Self::Small(values) => {
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

    /// `Σ factors[i] · value`.
    fn dot(self, factors: &[f64]) -> f64 {
        match self {
            Self::Wide(values) => dot4([values], factors)[0],
            Self::Narrow(values) => dot4([values], factors)[0],
            Self::Small(values) => dot4([values], factors)[0],
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

/// The products of some columns with the same factors. Four partial sums of each in a fixed order: quick, and the same on
/// any machine.
fn dot4<T: Stored, const N: usize>(columns: [&[T]; N], factors: &[f64]) -> [f64; N] {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has just been asked.
        return unsafe { wide::dots(columns, factors) };
    }
    columns.map(|values| {
        let mut sums = [0.0; 4];
        for (v, f) in values.as_chunks::<4>().0.iter().zip(factors.as_chunks::<4>().0) {
            for k in 0..4 {
                sums[k] += v[k].into() * f[k];
            }
        }
        whole(sums, values, factors)
    })
}

/// The sum of four partial sums and of what they left over.
fn whole<T: Stored>(sums: [f64; 4], values: &[T], factors: &[f64]) -> f64 {
    let rest = values.as_chunks::<4>().1.iter().zip(factors.as_chunks::<4>().1);
    let tail: f64 = rest.map(|(&v, f)| v.into() * f).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + tail
}

/// The products of up to [`FEW`] columns with some factors: columns of one form side by side.
fn dot_few(columns: &[Column<'_>], factors: &[f64]) -> [f64; FEW] {
    match *columns {
        [Column::Wide(a), Column::Wide(b), Column::Wide(c), Column::Wide(d)] => dot4([a, b, c, d], factors),
        [Column::Narrow(a), Column::Narrow(b), Column::Narrow(c), Column::Narrow(d)] => {
            dot4([a, b, c, d], factors)
        }
        [Column::Small(a), Column::Small(b), Column::Small(c), Column::Small(d)] => {
            dot4([a, b, c, d], factors)
        }
        _ => {
            let mut found = [0.0; FEW];
            found.iter_mut().zip(columns).for_each(|(found, column)| *found = column.dot(factors));
            found
        }
    }
}

/// A form that values are stored in.
trait Stored: Copy + Into<f64> {
    /// Four of them, widened.
    #[cfg(target_arch = "x86_64")]
    fn four(values: &[Self; 4]) -> std::arch::x86_64::__m256d;
}

/// Implements [`Stored`].
macro_rules! stored {
    ($form:ty, $values:ident => $wide:expr) => {
        impl Stored for $form {
            #[cfg(target_arch = "x86_64")]
            #[allow(clippy::inline_always)]
            #[inline(always)]
            fn four($values: &[Self; 4]) -> std::arch::x86_64::__m256d {
                #[allow(clippy::wildcard_imports)]
                use std::arch::x86_64::*;
                // SAFETY: four values are read; only functions for processors with these instructions call this.
                unsafe { $wide }
            }
        }
    };
}
stored!(f64, values => _mm256_loadu_pd(values.as_ptr()));
stored!(f32, values => _mm256_cvtps_pd(_mm_loadu_ps(values.as_ptr())));
stored!(i8, values => {
    let bytes = i32::from_ne_bytes(values.map(i8::cast_unsigned));
    _mm256_cvtepi32_pd(_mm_cvtepi8_epi32(_mm_cvtsi32_si128(bytes)))
});

/// Adds factors times columns to the sums of the candidates from `start` on. Columns in bytes that follow each other are
/// added together: sums are read and written once, in the order of the columns.
#[allow(clippy::inline_always)]
#[inline(always)]
fn add_all(columns: &[Column<'_>], direction: &[f64], start: usize, sums: &mut [f64]) {
    let mut open: [(&[i8], f64); FEW] = [(&[], 0.0); FEW];
    let mut count = 0;
    for (&column, &factor) in columns.iter().zip(direction).filter(|(_, factor)| **factor != 0.0) {
        if let Column::Small(values) = column {
            open[count] = (&values[start..][..sums.len()], factor);
            count += 1;
            if count == FEW {
                add_few(open, sums);
                count = 0;
            }
        } else {
            for (values, factor) in open.iter().take(std::mem::take(&mut count)) {
                Column::Small(values).add_block(sums, 0, *factor);
            }
            column.add_block(sums, start, factor);
        }
    }
    for (values, factor) in &open[..count] {
        Column::Small(values).add_block(sums, 0, *factor);
    }
}

#[allow(clippy::inline_always)]
#[inline(always)]
fn add_few(columns: [(&[i8], f64); FEW], sums: &mut [f64]) {
    let n = sums.len();
    let values = columns.map(|(values, _)| &values[..n]);
    let factors = columns.map(|(_, factor)| factor);
    for i in 0..n {
        let mut sum = sums[i];
        for (values, factor) in values.iter().zip(factors) {
            sum += factor * f64::from(values[i]);
        }
        sums[i] = sum;
    }
}

/// Products with wider registers: the same operations in the same order, so the same bits.
#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{Column, Stored, whole};

    #[target_feature(enable = "avx2")]
    pub fn add_all(columns: &[Column<'_>], direction: &[f64], start: usize, sums: &mut [f64]) {
        super::add_all(columns, direction, start, sums);
    }

    /// The products of some columns with the same factors: they do not wait for each other, and factors are read once.
    #[target_feature(enable = "avx2")]
    pub fn dots<T: Stored, const N: usize>(columns: [&[T]; N], factors: &[f64]) -> [f64; N] {
        use std::arch::x86_64::{
            _mm256_add_pd, _mm256_loadu_pd, _mm256_mul_pd, _mm256_setzero_pd, _mm256_storeu_pd,
        };
        let (fours, _) = factors.as_chunks::<4>();
        let chunks = columns.map(|column| &column.as_chunks::<4>().0[..fours.len()]);
        let mut sums = [_mm256_setzero_pd(); N];
        for (at, four) in fours.iter().enumerate() {
            // SAFETY: it is four numbers long.
            let four = unsafe { _mm256_loadu_pd(four.as_ptr()) };
            for (sum, chunks) in sums.iter_mut().zip(&chunks) {
                *sum = _mm256_add_pd(*sum, _mm256_mul_pd(T::four(&chunks[at]), four));
            }
        }
        std::array::from_fn(|n| {
            let mut parts = [0.0; 4];
            // SAFETY: it is four numbers long.
            unsafe { _mm256_storeu_pd(parts.as_mut_ptr(), sums[n]) };
            whole(parts, columns[n], factors)
        })
    }
}

/// `Σ_j direction[j] · column_j` of each of `size` candidates: slopes, or model scores.
pub fn combine(columns: &[Column<'_>], direction: &[f64], size: usize) -> Vec<f64> {
    combine_with(columns, direction, size, |_, _| ())
}

/// The same; `more` adds to the sums of the candidates from its first argument on.
fn combine_with(
    columns: &[Column<'_>],
    direction: &[f64],
    size: usize,
    more: impl Fn(usize, &mut [f64]) + Sync + Send,
) -> Vec<f64> {
    let mut sums = vec![0.0; size];
    share::parts(sums.chunks_mut(BLOCK).collect(), 1, |block, sums| {
        let start = block * BLOCK;
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has just been asked.
            unsafe { wide::add_all(columns, direction, start, sums) };
            return more(start, sums);
        }
        add_all(columns, direction, start, sums);
        more(start, sums);
    });
    sums
}

/// `column_j · factors` of each feature: how the features move with the candidates' factors.
pub fn dots(columns: &[Column<'_>], factors: &[f64]) -> Vec<f64> {
    let few = |(): &mut (), k: usize| dot_few(&columns[k * FEW..columns.len().min((k + 1) * FEW)], factors);
    let found = share::tasks(columns.len().div_ceil(FEW), share::ANY, || (), few);
    let mut found = found.into_flattened();
    found.truncate(columns.len());
    found
}

/// `scores += step · column`, in time proportional to what the column stores (R13, footnote 6).
pub fn advance(column: Column<'_>, scores: &mut [f64], step: f64) {
    if let Column::Sparse { .. } = column {
        column.add_block(scores, 0, step);
    } else {
        let blocks = scores.chunks_mut(BLOCK).collect();
        share::parts(blocks, 16, |block, scores| column.add_block(scores, block * BLOCK, step));
    }
}

/// How far apart a feature's values are in a list, on average over the lists in which it says anything.
pub fn spreads(columns: &[Column<'_>], pool: Judged<'_>) -> Vec<f64> {
    share::tasks(columns.len(), share::ANY, Vec::new, |scratch, feature| {
        columns[feature].spread(pool, scratch)
    })
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

    /// Features of all forms: in full with fractions and without, in bytes, too large for these, rare, nowhere.
    #[test]
    fn products_read_all_forms() {
        let n = 2 * BLOCK + 5;
        let forms: [fn(usize) -> f64; 12] = [
            |i| i as f64 / 7.0 + 1.0,
            |i| (i % 100) as f64 + 1.0,
            |i| if i.is_multiple_of(3) { -127.0 } else { 0.0 },
            |i| if i.is_multiple_of(3) { 128.0 } else { 0.0 },
            |i| if i.is_multiple_of(5) { 0.5 } else { 0.0 },
            |i| if i.is_multiple_of(RARE) { 1.0 } else { 0.0 },
            |i| if i.is_multiple_of(RARE + 2) { 2.0 } else { 0.0 },
            |_| 0.0,
            |i| f64::from(i == 17),
            |i| (i % 2) as f64,
            |i| (i % 7) as f64 - 3.0,
            |i| (i % 11) as f64,
        ];
        let (mut starts, mut columns, mut values) = (vec![0i64], vec![], vec![]);
        for i in 0..n {
            // Another order in each row.
            for j in (0..forms.len()).map(|j| (j + i) % forms.len()).filter(|&j| forms[j](i) != 0.0) {
                columns.push(j as u32);
                values.push(forms[j](i));
            }
            starts.push(columns.len() as i64);
        }
        let made = Columns::from_rows(&starts, &columns, &values, forms.len());
        let small: Vec<bool> = made.products.places.iter().map(Option::is_some).collect();
        let want = [false, true, true, false, false, true, false, false, false, true, true, true];
        assert_eq!(small, want);
        assert_eq!(made.products.full, [0, 1, 2, 5, 9, 10, 11]);
        let direction: Vec<f64> = (0..forms.len()).map(|j| (j as f64 + 0.3).sin()).collect();
        let factors: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
        let sums = made.combine(&direction);
        for (i, sum) in sums.iter().enumerate() {
            let exact: f64 = forms.iter().zip(&direction).map(|(form, d)| form(i) * d).sum();
            assert!((sum - exact).abs() < 1e-12 * (1.0 + exact.abs()), "{i}: {sum} {exact}");
        }
        // To the bit: what is stored in full, by feature, then the rest.
        let rest = [3, 4, 6, 7, 8];
        for i in [0, 1, 15, 17, BLOCK - 1, BLOCK, n - 1] {
            let full = made.products.full.iter().fold(0.0, |sum, &j| sum + direction[j] * forms[j](i));
            let rare: f64 =
                rest.iter().filter(|&&j| forms[j](i) != 0.0).map(|&j| direction[j] * forms[j](i)).sum();
            assert_eq!(sums[i], full + rare);
        }
        let views = made.views();
        let found = made.dots(&factors);
        for (j, dot) in found.iter().enumerate() {
            let exact: f64 = (0..n).map(|i| forms[j](i) * factors[i]).sum();
            assert!((dot - exact).abs() < 1e-7 * (1.0 + exact.abs()), "{j}: {dot} {exact}");
            if matches!(views[j], Column::Wide(_)) || !small[j] {
                assert_eq!(*dot, views[j].dot(&factors), "{j}: bytes change no bit");
            }
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
