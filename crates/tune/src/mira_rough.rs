//! Which few candidates can be hope or fear: gains in single precision from counts of 16 bits.

use crate::lists::Lists;
use crate::mira_gain::{Context, Scorer, Unit};
use crate::screen::{LANES, at_least, floor, top};
use dragoman_metric::bleu::{Bleu, Smoothing};
use std::any::Any;

/// By how much a rough gain may be off, relative to the largest: 30 roundings of 6e-8 each, and some room.
const SLACK: f64 = 4e-6;
/// Statistics of BLEU-4.
const WIDTH: usize = 10;

/// Statistics that are counts below 2¹⁶, for each [`LANES`] candidates an array for each statistic.
#[derive(Debug)]
pub(crate) struct Counts {
    starts: Vec<usize>,
    counts: Vec<u16>,
}

impl Counts {
    /// Packs rows of statistics; None if these are not ten small counts.
    pub fn pack(lists: &Lists, rows: &[f64], width: usize) -> Option<Self> {
        let small = |x: &f64| *x >= 0.0 && *x <= 65535.0 && x.fract() == 0.0;
        if width != WIDTH || !rows.iter().all(small) {
            return None;
        }
        let mut starts = vec![0];
        for s in 0..lists.sentences() {
            starts.push(starts[s] + lists.group(s).len().next_multiple_of(LANES) * WIDTH);
        }
        let mut counts = vec![0; starts[lists.sentences()]];
        for (s, &start) in starts.iter().enumerate().take(lists.sentences()) {
            let span = lists.group(s);
            for i in 0..span.len().next_multiple_of(LANES) {
                let row = (span.start + i).min(span.end - 1) * WIDTH;
                let base = start + i / LANES * LANES * WIDTH + i % LANES;
                for (k, x) in rows[row..row + WIDTH].iter().enumerate() {
                    counts[base + k * LANES] = *x as u16;
                }
            }
        }
        Some(Self { starts, counts })
    }

    /// Statistic `k` of the candidate at `offset` of sentence `s`.
    pub fn get(&self, s: usize, offset: usize, k: usize) -> f64 {
        let block = self.starts[s] + offset / LANES * LANES * WIDTH;
        f64::from(self.counts[block + k * LANES + offset % LANES])
    }
}

/// Rough model scores and gains of a list.
#[derive(Default)]
pub(crate) struct Rough {
    pub model: Vec<f32>,
    pub gains: Vec<f32>,
    /// By how much these may be off.
    pub slack: (f64, f64),
    pub factors: Vec<f32>,
    values: Vec<f32>,
}

impl Rough {
    /// The candidates, `count` of them in all, for which `m · model + g · gain` may be the largest.
    pub fn contenders(&mut self, (m, g): (f32, f32), count: usize, out: &mut Vec<u32>) {
        let Self { model, gains, values, .. } = self;
        values.resize(model.len(), 0.0);
        let top = mix((m, model), (g, gains), values);
        // A sum is rounded once, to a part of itself that the slack of its larger term covers.
        let slack = f64::from(m.abs()) * self.slack.0 + f64::from(g.abs()) * self.slack.1;
        at_least(values, floor(top, slack), count, out);
    }
}

fn mix(model: (f32, &[f32]), gains: (f32, &[f32]), out: &mut [f32]) -> f32 {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has just been asked.
        return unsafe { mix_wide(model, gains, out) };
    }
    mix_any(model, gains, out)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn mix_wide(model: (f32, &[f32]), gains: (f32, &[f32]), out: &mut [f32]) -> f32 {
    mix_any(model, gains, out)
}

/// Weighted sums of model scores and gains; returns the largest.
#[allow(clippy::inline_always)] // else it would not be compiled for the caller's registers
#[inline(always)]
fn mix_any((m, model): (f32, &[f32]), (g, gains): (f32, &[f32]), out: &mut [f32]) -> f32 {
    for ((out, model), gain) in out.iter_mut().zip(model).zip(gains) {
        *out = m * model + g * gain;
    }
    top(out)
}

/// What is added to the counts before they are multiplied, and what the result is multiplied with.
struct Terms {
    /// Hypothesis length, reference length, matches and totals.
    base: [f32; WIDTH],
    length_scale: f32,
    factor: f32,
    /// Which statistic multiplies the score, and what is added to it.
    unit: Option<(usize, f32)>,
}

impl Terms {
    /// None if the numbers are too small or too large for single precision.
    fn new(scorer: &Scorer, bleu: &Bleu, context: &Context) -> Option<Self> {
        let (low, high) = match bleu.smoothing {
            Smoothing::AddK(k) => (0.0, k),
            Smoothing::AddAll(k) => (k, k),
            _ => (0.0, 0.0),
        };
        let base: [f64; WIDTH] = std::array::from_fn(|k| match k {
            0 => context.row[0],
            1 => context.row[1] * bleu.length_scale + bleu.length_offset,
            2 | 6 => context.row[k] + low,
            _ => context.row[k] + high,
        });
        let plain = base.iter().chain(&context.row).all(|&x| x > 1e-3 && x < 1e8);
        if bleu.order != 4 || context.row.len() != WIDTH || !plain {
            return None;
        }
        let factor = scorer.sign * 100.0 / scorer.scale;
        let (factor, unit) = match scorer.unit {
            Unit::Score => (factor, None),
            Unit::Sentence => (factor * (context.count + 1.0), None),
            Unit::Statistic(k) => (factor, Some((k, context.row[k] as f32))),
        };
        let base = base.map(|x| x as f32);
        Some(Self { base, length_scale: bleu.length_scale as f32, factor: factor as f32, unit })
    }
}

impl Scorer<'_> {
    /// Writes rough gains of all candidates of sentence `s` and returns by how much each may differ from
    /// [`Self::exact`]; None where single precision does not serve.
    pub(crate) fn rough(
        &self,
        counts: &Counts,
        s: usize,
        context: &Context,
        out: &mut Vec<f32>,
    ) -> Option<f64> {
        let metric: &dyn Any = self.metric;
        let terms = Terms::new(self, metric.downcast_ref::<Bleu>()?, context)?;
        let counts = &counts.counts[counts.starts[s]..counts.starts[s + 1]];
        out.resize(counts.len() / WIDTH, 0.0);
        let (shortest, most) = gains(counts, &terms, out);
        (shortest >= -0.5 && most < 1e30).then_some(SLACK * f64::from(most))
    }
}

fn gains(counts: &[u16], terms: &Terms, out: &mut [f32]) -> (f32, f32) {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has just been asked.
        return unsafe { gains_wide(counts, terms, out) };
    }
    gains_any(counts, terms, out)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn gains_wide(counts: &[u16], terms: &Terms, out: &mut [f32]) -> (f32, f32) {
    gains_any(counts, terms, out)
}

/// BLEU-4 as a fourth root times exp(min(0, 1 − r/c)); returns the smallest exponent and the largest gain (without sign).
#[allow(clippy::inline_always)] // else it would not be compiled for the caller's registers
#[inline(always)]
fn gains_any(counts: &[u16], terms: &Terms, out: &mut [f32]) -> (f32, f32) {
    let (mut shortest, mut most) = ([0.0f32; LANES], [0.0f32; LANES]);
    let blocks = counts.as_chunks::<LANES>().0.chunks_exact(WIDTH);
    for (gains, block) in out.as_chunks_mut::<LANES>().0.iter_mut().zip(blocks) {
        let base = &terms.base;
        for i in 0..LANES {
            let at = |k: usize| f32::from(block[k][i]) + base[k];
            let matched = (at(2) * at(3)) * (at(4) * at(5));
            let total = (at(6) * at(7)) * (at(8) * at(9));
            let reference = f32::from(block[1][i]) * terms.length_scale + base[1];
            let exponent = 1.0 - reference / at(0);
            let exponent = if exponent < 0.0 { exponent } else { 0.0 };
            shortest[i] = if exponent < shortest[i] { exponent } else { shortest[i] };
            gains[i] = (matched / total).sqrt().sqrt() * small_exp(exponent) * terms.factor;
        }
        if let Some((k, shift)) = terms.unit {
            for (gain, &count) in gains.iter_mut().zip(&block[k]) {
                *gain *= f32::from(count) + shift;
            }
        }
        for (most, gain) in most.iter_mut().zip(gains) {
            *most = if gain.abs() > *most { gain.abs() } else { *most };
        }
    }
    let fold = |lanes: [f32; LANES], more: fn(f32, f32) -> f32| lanes.into_iter().fold(0.0, more);
    (fold(shortest, f32::min), fold(most, f32::max))
}

/// exp(x) for −1/2 <= x <= 0: its series up to degree 8.
#[allow(clippy::inline_always)]
#[inline(always)]
fn small_exp(x: f32) -> f32 {
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
    use super::*;
    use crate::lists::tests::packed;
    use crate::mira_gain::Judged;
    use dragoman_metric::bleu::RefLength;
    use dragoman_metric::tokenize::Tokenizer;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rough_gains_are_within_their_slack(
            matches in prop::collection::vec((0u32..30, 0u32..30, 0u32..30, 0u32..30, 30u32..60), 1..40),
            background in prop_oneof![0.1..500.0f64, 500.0..1e7f64],
            scale in 0.9..1.1f64,
            smoothing in prop_oneof![Just(Smoothing::Exp), Just(Smoothing::AddK(0.7)), Just(Smoothing::AddAll(0.01))],
            unit in prop_oneof![Just(Unit::Score), Just(Unit::Sentence), Just(Unit::Statistic(1))],
            sign in prop_oneof![Just(1.0), Just(-1.0)],
        ) {
            let bleu = Bleu {
                order: 4, tokenizer: Tokenizer::None, lowercase: false, ref_length: RefLength::Closest,
                smoothing, effective_order: false, length_scale: scale, length_offset: 0.5,
            };
            let rows: Vec<f64> = matches.iter().flat_map(|&(a, b, c, d, length)| {
                let length = f64::from(length);
                [length, 40.0, a.into(), b.into(), c.into(), d.into(), length, length - 1.0, length - 2.0, length - 3.0]
            }).collect();
            let lists = packed(&[matches.iter().map(|_| vec![]).collect()], 1);
            let judged = Judged::pack(&lists, &rows, 10).unwrap();
            let counts = Counts::pack(&lists, &rows, 10).unwrap();
            let scorer = Scorer { metric: &bleu, sign, scale: 100.0, unit };
            let context = Context { row: vec![background; 10], count: 3.0 };
            let (mut out, mut sum) = (Vec::new(), Vec::new());
            let slack = scorer.rough(&counts, 0, &context, &mut out).unwrap();
            for (i, &gain) in out.iter().enumerate().take(matches.len()) {
                let exact = scorer.exact(&lists, &judged, 0, i, &context, &mut sum);
                prop_assert!((f64::from(gain) - exact).abs() <= 0.3 * slack, "{gain} {exact} {slack}");
            }
        }
    }

    #[test]
    fn what_single_precision_cannot_hold_is_refused() {
        let lists = packed(&[vec![vec![]]], 1);
        let row = [20.0, 20.0, 9.0, 8.0, 7.0, 6.0, 20.0, 19.0, 18.0, 17.0];
        let counts = Counts::pack(&lists, &row, 10).unwrap();
        let bleu = Bleu {
            order: 4,
            tokenizer: Tokenizer::None,
            lowercase: false,
            ref_length: RefLength::Closest,
            smoothing: Smoothing::None,
            effective_order: false,
            length_scale: 1.0,
            length_offset: 0.0,
        };
        let scorer = Scorer { metric: &bleu, sign: 1.0, scale: 100.0, unit: Unit::Score };
        let rough = |row: [f64; 10]| {
            scorer.rough(&counts, 0, &Context { row: row.to_vec(), count: 1.0 }, &mut Vec::new())
        };
        assert!(rough([1.0; 10]).is_some());
        for (k, x) in [(2, 0.0), (3, 1e9), (4, f64::NAN), (1, 60.0)] {
            let mut context = [1.0; 10];
            context[k] = x;
            assert!(rough(context).is_none(), "{k} {x}");
        }
        assert!(Counts::pack(&lists, &[0.5; 10], 10).is_none());
        assert!(Counts::pack(&lists, &[7e4; 10], 10).is_none());
        assert!(Counts::pack(&lists, &[1.0; 4], 4).is_none());
    }
}
