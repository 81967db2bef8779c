//! BLEU-4 as a fourth root, without logarithms: tens of millions of them were most of a run's time. The orders are
//! multiplied, so every count must be positive; then no smoothing rule for missing orders applies.

use super::{Bleu, COUNTS, HYP, REF};
use crate::capability::{Approximate, LANES};

/// Statistics of BLEU-4.
const WIDTH: usize = 10;
/// By how much scores of rows may be off, relative to the largest (tested: 1e-14).
const ROWS: f64 = 1e-12;
/// The same for scores of columns, whose exponentials are series.
const COLUMNS: f64 = 1e-11;
/// The same in single precision: 30 roundings of 6e-8 each, and some room.
const COUNTED: f64 = 4e-6;

impl Approximate for Bleu {
    fn rows(&self, rows: &[f64], factor: f64, out: &mut Vec<f64>) -> f64 {
        let added = self.added();
        let quick = |row: &[f64]| 100.0 * factor * root(row, added) * self.brevity(row);
        let score = |row: &[f64]| {
            if row.iter().all(|&x| x > 0.0) { quick(row) } else { factor * self.exact(row) }
        };
        out.clear();
        out.extend(rows.chunks_exact(WIDTH).map(score));
        ROWS
    }

    fn columns(&self, columns: &[&[f64]], base: &[f64], factor: f64, out: &mut Vec<f64>) -> Option<f64> {
        if base.iter().any(|&x| x <= 0.0) {
            return None;
        }
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has just been asked.
            return Some(COLUMNS * unsafe { self.columns_wide(columns, base, factor, out) });
        }
        Some(COLUMNS * self.columns_any(columns, base, factor, out))
    }

    fn counts(&self, counts: &[u16], base: &[f64], factor: f64, out: &mut Vec<f32>) -> Option<f64> {
        let terms = Terms::new(self, base, factor)?;
        out.resize(counts.len() / WIDTH, 0.0);
        let (shortest, most) = counted(counts, &terms, out);
        // Below, the series of the exponential is not good enough.
        (shortest >= -0.5 && most < 1e30).then_some(COUNTED * f64::from(most))
    }
}

/// The fourth root of the product of matches over the product of totals.
fn root(row: &[f64], (low, high): (f64, f64)) -> f64 {
    let matched = ((row[2] + low) * (row[3] + high)) * ((row[4] + high) * (row[5] + high));
    let total = ((row[6] + low) * (row[7] + high)) * ((row[8] + high) * (row[9] + high));
    (matched / total).sqrt().sqrt()
}

impl Bleu {
    fn brevity(&self, row: &[f64]) -> f64 {
        let exponent = 1.0 - (row[REF] * self.length_scale + self.length_offset) / row[HYP];
        if exponent < 0.0 { exponent.exp() } else { 1.0 }
    }

    /// [`Self::columns_any`] compiled for wider registers.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn columns_wide(&self, columns: &[&[f64]], base: &[f64], factor: f64, out: &mut Vec<f64>) -> f64 {
        self.columns_any(columns, base, factor, out)
    }

    /// Writes the scores and returns the largest, without sign.
    #[allow(clippy::inline_always)] // else it would not be compiled for the caller's registers
    #[inline(always)]
    fn columns_any(&self, columns: &[&[f64]], base: &[f64], factor: f64, out: &mut Vec<f64>) -> f64 {
        let (low, high) = self.added();
        let shifted = |k: usize| (columns[k], base[k] + if k == 2 || k == 6 { low } else { high });
        roots(
            std::array::from_fn(|n| shifted(COUNTS + n)),
            std::array::from_fn(|n| shifted(COUNTS + 4 + n)),
            out,
        );
        let reference = (columns[REF], self.length_scale, base[REF] * self.length_scale + self.length_offset);
        shorten((columns[HYP], base[HYP]), reference, out);
        let mut most = 0.0;
        for x in out.iter_mut() {
            *x *= 100.0 * factor;
            most = if x.abs() > most { x.abs() } else { most };
        }
        most
    }
}

/// An array and what is added to each of its numbers.
type Shifted<'a> = (&'a [f64], f64);

/// The fourth roots of the products of matches over the products of totals.
#[allow(clippy::inline_always)]
#[inline(always)]
fn roots(matches: [Shifted; 4], totals: [Shifted; 4], out: &mut Vec<f64>) {
    let n = matches[0].0.len();
    out.clear();
    out.resize(n, 0.0);
    let [m, t] = [matches, totals].map(|side| side.map(|(x, base)| (&x[..n], base)));
    let at = |(x, base): (&[f64], f64), i: usize| x[i] + base;
    for (i, root) in out.iter_mut().enumerate() {
        let matched = (at(m[0], i) * at(m[1], i)) * (at(m[2], i) * at(m[3], i));
        let total = (at(t[0], i) * at(t[1], i)) * (at(t[2], i) * at(t[3], i));
        *root = (matched / total).sqrt().sqrt();
    }
}

/// Multiplies by the brevity penalty exp(min(0, 1 − r/c)).
#[allow(clippy::inline_always)]
#[inline(always)]
fn shorten(hyp: Shifted, (lengths, scale, base): (&[f64], f64, f64), out: &mut [f64]) {
    let n = out.len();
    let (hyps, lengths) = (&hyp.0[..n], &lengths[..n]);
    let exponent = |i: usize| {
        let x = 1.0 - (lengths[i] * scale + base) / (hyps[i] + hyp.1);
        if x < 0.0 { x } else { 0.0 }
    };
    let shortest = (0..n).fold(0.0, |least: f64, i| if exponent(i) < least { exponent(i) } else { least });
    if shortest < -0.5 {
        (0..n).for_each(|i| out[i] *= exponent(i).exp());
    } else if shortest < 0.0 {
        (0..n).for_each(|i| out[i] *= small_exp(exponent(i)));
    }
}

/// exp(x) for −1/2 <= x <= 0 to within 4e-15: the series of exp(x/4) up to degree 9, squared twice.
#[allow(clippy::inline_always)]
#[inline(always)]
fn small_exp(x: f64) -> f64 {
    const FACTORS: [f64; 9] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
    let y = x * 0.25;
    let mut sum = 1.0;
    for k in FACTORS.iter().rev() {
        sum = 1.0 + y * (1.0 / k) * sum;
    }
    let square = sum * sum;
    square * square
}

/// What is added to the counts before they are multiplied, and what the result is multiplied with.
struct Terms {
    /// Hypothesis length, reference length, matches and totals.
    base: [f32; WIDTH],
    length_scale: f32,
    factor: f32,
}

impl Terms {
    /// None if the numbers are too small or too large for single precision.
    fn new(bleu: &Bleu, sum: &[f64], factor: f64) -> Option<Self> {
        let (low, high) = bleu.added();
        let base: [f64; WIDTH] = std::array::from_fn(|k| match k {
            HYP => sum[HYP],
            REF => sum[REF] * bleu.length_scale + bleu.length_offset,
            2 | 6 => sum[k] + low,
            _ => sum[k] + high,
        });
        let fit = base.iter().chain(sum).all(|&x| x > 1e-3 && x < 1e8) && factor.abs() < 1e20;
        let base = base.map(|x| x as f32);
        let factor = (100.0 * factor) as f32;
        fit.then_some(Self { base, length_scale: bleu.length_scale as f32, factor })
    }
}

fn counted(counts: &[u16], terms: &Terms, out: &mut [f32]) -> (f32, f32) {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has just been asked.
        return unsafe { counted_wide(counts, terms, out) };
    }
    counted_any(counts, terms, out)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn counted_wide(counts: &[u16], terms: &Terms, out: &mut [f32]) -> (f32, f32) {
    counted_any(counts, terms, out)
}

/// Fourth root times exp(min(0, 1 − r/c)); returns the smallest exponent and the largest score, without sign.
#[allow(clippy::inline_always)] // else it would not be compiled for the caller's registers
#[inline(always)]
fn counted_any(counts: &[u16], terms: &Terms, out: &mut [f32]) -> (f32, f32) {
    let (mut shortest, mut most) = ([0.0f32; LANES], [0.0f32; LANES]);
    let blocks = counts.as_chunks::<LANES>().0.chunks_exact(WIDTH);
    for (scores, block) in out.as_chunks_mut::<LANES>().0.iter_mut().zip(blocks) {
        let base = &terms.base;
        for i in 0..LANES {
            let at = |k: usize| f32::from(block[k][i]) + base[k];
            let matched = (at(2) * at(3)) * (at(4) * at(5));
            let total = (at(6) * at(7)) * (at(8) * at(9));
            let reference = f32::from(block[1][i]) * terms.length_scale + base[1];
            let exponent = 1.0 - reference / at(0);
            let exponent = if exponent < 0.0 { exponent } else { 0.0 };
            shortest[i] = if exponent < shortest[i] { exponent } else { shortest[i] };
            scores[i] = (matched / total).sqrt().sqrt() * short_exp(exponent) * terms.factor;
        }
        for (most, score) in most.iter_mut().zip(scores) {
            *most = if score.abs() > *most { score.abs() } else { *most };
        }
    }
    let fold = |lanes: [f32; LANES], more: fn(f32, f32) -> f32| lanes.into_iter().fold(0.0, more);
    (fold(shortest, f32::min), fold(most, f32::max))
}

/// exp(x) for −1/2 <= x <= 0: its series up to degree 8.
#[allow(clippy::inline_always)]
#[inline(always)]
fn short_exp(x: f32) -> f32 {
    const PARTS: [f32; 8] =
        [1.0, 1.0 / 2.0, 1.0 / 3.0, 1.0 / 4.0, 1.0 / 5.0, 1.0 / 6.0, 1.0 / 7.0, 1.0 / 8.0];
    let mut sum = 1.0;
    for part in PARTS.iter().rev() {
        sum = 1.0 + x * part * sum;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::super::Smoothing;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_exponentials() {
        for i in 0..=1000 {
            let x = -0.0005 * f64::from(i);
            assert!((small_exp(x) / x.exp() - 1.0).abs() < 4e-15, "{x}");
        }
    }

    fn smoothings() -> impl Strategy<Value = Smoothing> {
        prop_oneof![
            Just(Smoothing::None),
            Just(Smoothing::Exp),
            Just(Smoothing::Floor(0.1)),
            Just(Smoothing::AddK(0.7)),
            Just(Smoothing::AddAll(0.01)),
        ]
    }

    /// Rows of 40 words or so.
    fn rows() -> impl Strategy<Value = Vec<[f64; WIDTH]>> {
        let row = (0u32..30, 0u32..30, 0u32..30, 0u32..30, 30u32..60);
        prop::collection::vec(row, 1..40).prop_map(|rows| {
            let whole = |(a, b, c, d, length): (u32, u32, u32, u32, u32)| {
                let n = f64::from(length);
                [n, 40.0, a.into(), b.into(), c.into(), d.into(), n, n - 1.0, n - 2.0, n - 3.0]
            };
            rows.into_iter().map(whole).collect()
        })
    }

    fn largest(scores: &[f64]) -> f64 {
        scores.iter().fold(0.0, |most: f64, x| most.max(x.abs()))
    }

    /// For each 16 rows an array for each statistic; the last row is repeated.
    fn packed(rows: &[[f64; WIDTH]]) -> Vec<u16> {
        let at = |i: usize| rows[i.min(rows.len() - 1)];
        let block =
            |first: usize| (0..WIDTH).flat_map(move |k| (first..first + LANES).map(move |i| at(i)[k] as u16));
        (0..rows.len()).step_by(LANES).flat_map(block).collect()
    }

    proptest! {
        /// All forms against the definition, within a part of the error that they promise.
        #[test]
        fn errors_are_as_promised(
            rows in rows(),
            background in prop_oneof![0.1..500.0f64, 500.0..1e7f64],
            scale in 0.9..1.1f64,
            smoothing in smoothings(),
            factor in prop_oneof![Just(0.01), Just(-0.01), Just(37.0)],
        ) {
            let bleu = Bleu { smoothing, length_scale: scale, length_offset: 0.5, ..Bleu::default() };
            let alone: Vec<f64> = rows.iter().map(|row| factor * bleu.exact(row)).collect();
            let (mut out, mut short) = (Vec::new(), Vec::new());
            let error = bleu.rows(rows.as_flattened(), factor, &mut out);
            for (found, exact) in out.iter().zip(&alone) {
                prop_assert!((found - exact).abs() <= 0.1 * error * largest(&alone), "{} {}", found, exact);
            }
            let on_top = |row: &[f64; WIDTH]| factor * bleu.exact(&row.map(|x| x + background));
            let exact: Vec<f64> = rows.iter().map(on_top).collect();
            let columns: Vec<Vec<f64>> = (0..WIDTH).map(|k| rows.iter().map(|row| row[k]).collect()).collect();
            let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
            let base = [background; WIDTH];
            let error = bleu.columns(&columns, &base, factor, &mut out).unwrap();
            for (found, exact_) in out.iter().zip(&exact) {
                prop_assert!((found - exact_).abs() <= 0.01 * error, "{} {}", found, exact_);
            }
            let error = bleu.counts(&packed(&rows), &base, factor, &mut short).unwrap();
            for (&found, exact_) in short.iter().zip(&exact) {
                prop_assert!((f64::from(found) - exact_).abs() <= 0.3 * error, "{} {}", found, exact_);
            }
        }
    }

    #[test]
    fn what_they_cannot_do_is_refused() {
        let bleu = Bleu::default();
        let row = [20.0, 20.0, 9.0, 8.0, 7.0, 6.0, 20.0, 19.0, 18.0, 17.0];
        let counts =
            |base: [f64; WIDTH], factor| bleu.counts(&packed(&[row]), &base, factor, &mut Vec::new());
        assert!(counts([1.0; WIDTH], 0.01).is_some());
        assert!(counts([1.0; WIDTH], 1e30).is_none());
        for (k, x) in [(2, 0.0), (3, 1e9), (4, f64::NAN), (1, 60.0)] {
            let mut base = [1.0; WIDTH];
            base[k] = x;
            assert!(counts(base, 0.01).is_none(), "{k} {x}");
        }
        let columns: Vec<&[f64]> = row.iter().map(std::slice::from_ref).collect();
        let mut base = [1.0; WIDTH];
        base[5] = 0.0;
        assert!(bleu.columns(&columns, &base, 1.0, &mut Vec::new()).is_none(), "rules for zeros");
    }
}
