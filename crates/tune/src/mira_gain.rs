//! Gains of candidates inside a context: the statistics of other sentences are added before scoring.

use crate::lists::Lists;
use crate::mira_rough::Counts;
use dragoman_base::{Error, Result};
use dragoman_metric::Metric;
use dragoman_metric::bleu::{Bleu, Smoothing};
use std::any::Any;

/// The statistics of all candidates, an array for each statistic of each sentence.
#[derive(Debug)]
pub struct Judged {
    width: usize,
    columns: Vec<f64>,
    counts: Option<Counts>,
}

impl Judged {
    /// Packs rows of `width` statistics, one for each candidate, and readies the lists for many passes.
    pub fn pack(lists: &Lists, rows: &[f64], width: usize) -> Result<Self> {
        if rows.len() != lists.candidates() * width {
            return Err(Error::Invalid("expected a row of statistics for each candidate".into()));
        }
        if let Some(at) = rows.iter().position(|x| !x.is_finite()) {
            return Err(Error::Invalid(format!("a statistic of candidate {} is not finite", at / width)));
        }
        let mut columns = vec![0.0; rows.len()];
        for s in 0..lists.sentences() {
            let span = lists.group(s);
            for (offset, row) in rows[span.start * width..span.end * width].chunks_exact(width).enumerate() {
                for (k, x) in row.iter().enumerate() {
                    columns[span.start * width + k * span.len() + offset] = *x;
                }
            }
        }
        lists.sharpen();
        Ok(Self { width, columns, counts: Counts::pack(lists, rows, width) })
    }

    /// Number of statistics.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The short form, if the statistics are small counts.
    pub(crate) fn counts(&self) -> Option<&Counts> {
        self.counts.as_ref()
    }

    /// Statistic `k` of the candidates of sentence `s`.
    fn column(&self, lists: &Lists, s: usize, k: usize) -> &[f64] {
        let span = lists.group(s);
        let base = span.start * self.width + k * span.len();
        &self.columns[base..base + span.len()]
    }

    /// Adds `factor` times the statistics of the candidate at `offset` of sentence `s` to `sum`.
    pub fn add(&self, lists: &Lists, s: usize, offset: usize, factor: f64, sum: &mut [f64]) {
        for (k, total) in sum.iter_mut().enumerate() {
            let statistic = match &self.counts {
                Some(counts) => counts.get(s, offset, k), // the same number, from fewer places
                None => self.column(lists, s, k)[offset],
            };
            *total += factor * statistic;
        }
    }
}

/// What a score in context is multiplied by, so that a change in one sentence has a fixed size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// 1: the score of the whole context.
    Score,
    /// The number of sentences in the context, this one included: a gain between 0 and 1 for each sentence.
    Sentence,
    /// This statistic of the sum, e.g. the reference length in words (Cherry & Foster 2012).
    Statistic(usize),
}

/// What a candidate's statistics are added to.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// Sum of statistics.
    pub row: Vec<f64>,
    /// Number of sentences in it.
    pub count: f64,
}

/// A native metric as a gain: `sign * score / scale * unit`.
#[derive(Clone, Copy)]
pub struct Scorer<'a> {
    /// The metric.
    pub metric: &'a dyn Metric,
    /// 1 if higher is better, else −1.
    pub sign: f64,
    /// The metric's scale.
    pub scale: f64,
    /// The unit.
    pub unit: Unit,
}

impl Scorer<'_> {
    /// The gain of one candidate. The operations and their order are also those of the Python path.
    pub fn exact(
        &self,
        lists: &Lists,
        judged: &Judged,
        s: usize,
        offset: usize,
        context: &Context,
        sum: &mut Vec<f64>,
    ) -> f64 {
        sum.clear();
        sum.extend_from_slice(&context.row);
        judged.add(lists, s, offset, 1.0, sum);
        let unit = match self.unit {
            Unit::Score => 1.0,
            Unit::Sentence => context.count + 1.0,
            Unit::Statistic(k) => sum[k],
        };
        self.sign * self.metric.score(sum) / self.scale * unit
    }

    /// Writes the gains of all candidates of sentence `s`, and returns by how much each may differ from
    /// [`Self::exact`]: 0, or a tiny amount where a form without logarithms serves (30 million of them were most
    /// of a run's time).
    pub fn all(
        &self,
        lists: &Lists,
        judged: &Judged,
        s: usize,
        context: &Context,
        out: &mut Vec<f64>,
    ) -> f64 {
        let metric: &dyn Any = self.metric;
        if let Some(bleu) = metric.downcast_ref::<Bleu>()
            && self.fast_bleu(bleu, lists, judged, s, context, out)
        {
            return 1e-11 * out.iter().fold(0.0, |most: f64, x| if x.abs() > most { x.abs() } else { most });
        }
        let mut sum = Vec::new();
        out.clear();
        out.extend((0..lists.group(s).len()).map(|i| self.exact(lists, judged, s, i, context, &mut sum)));
        0.0
    }

    fn fast_bleu(
        &self,
        bleu: &Bleu,
        lists: &Lists,
        judged: &Judged,
        s: usize,
        context: &Context,
        out: &mut Vec<f64>,
    ) -> bool {
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has just been asked.
            return unsafe { self.fast_bleu_wide(bleu, lists, judged, s, context, out) };
        }
        self.fast_bleu_any(bleu, lists, judged, s, context, out)
    }

    /// The same compiled for wider registers.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn fast_bleu_wide(
        &self,
        bleu: &Bleu,
        lists: &Lists,
        judged: &Judged,
        s: usize,
        context: &Context,
        out: &mut Vec<f64>,
    ) -> bool {
        self.fast_bleu_any(bleu, lists, judged, s, context, out)
    }

    /// BLEU-4 as a fourth root, for sums in which every count is positive: then no smoothing rule for missing
    /// orders applies. False if that is not so.
    #[allow(clippy::inline_always)] // else it would not be compiled for the caller's registers
    #[inline(always)]
    fn fast_bleu_any(
        &self,
        bleu: &Bleu,
        lists: &Lists,
        judged: &Judged,
        s: usize,
        context: &Context,
        out: &mut Vec<f64>,
    ) -> bool {
        if bleu.order != 4 || judged.width != 10 || context.row.iter().any(|&x| x <= 0.0) {
            return false;
        }
        let column = |k| judged.column(lists, s, k);
        let (low, high) = match bleu.smoothing {
            Smoothing::AddK(k) => (0.0, k),
            Smoothing::AddAll(k) => (k, k),
            _ => (0.0, 0.0),
        };
        let base = |k: usize| context.row[k] + if k == 2 || k == 6 { low } else { high };
        roots(
            std::array::from_fn(|n| (column(2 + n), base(2 + n))),
            std::array::from_fn(|n| (column(6 + n), base(6 + n))),
            out,
        );
        let reference =
            (column(1), bleu.length_scale, context.row[1] * bleu.length_scale + bleu.length_offset);
        brevity((column(0), context.row[0]), reference, out);
        let factor = self.sign * 100.0 / self.scale;
        match self.unit {
            Unit::Score => out.iter_mut().for_each(|x| *x *= factor),
            Unit::Sentence => out.iter_mut().for_each(|x| *x *= factor * (context.count + 1.0)),
            Unit::Statistic(k) => {
                for (x, size) in out.iter_mut().zip(column(k)) {
                    *x *= factor * (context.row[k] + size);
                }
            }
        }
        true
    }
}

/// An array and what is added to each of its numbers.
type Shifted<'a> = (&'a [f64], f64);

/// The fourth root of the product of matches over the product of totals.
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
fn brevity(hyp: Shifted, (lengths, scale, base): (&[f64], f64, f64), out: &mut [f64]) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lists::tests::packed;
    use dragoman_metric::bleu::RefLength;
    use dragoman_metric::tokenize::Tokenizer;
    use proptest::prelude::*;

    #[test]
    fn small_exponentials() {
        for i in 0..=1000 {
            let x = -0.0005 * f64::from(i);
            assert!((small_exp(x) / x.exp() - 1.0).abs() < 4e-15, "{x}");
        }
    }

    proptest! {
        #[test]
        fn fast_gains_are_close_to_the_exact_ones(
            matches in prop::collection::vec((0u32..30, 0u32..30, 0u32..30, 0u32..30), 1..9),
            background in 0.01..500.0f64,
            short in prop_oneof![0.0..40.0f64, Just(400.0)],
            scale in 0.9..1.1f64,
            smoothing in prop_oneof![
                Just(Smoothing::None), Just(Smoothing::Exp), Just(Smoothing::AddK(0.7)), Just(Smoothing::AddAll(0.01))
            ],
            unit in prop_oneof![Just(Unit::Score), Just(Unit::Sentence), Just(Unit::Statistic(1))],
        ) {
            let bleu = Bleu {
                order: 4, tokenizer: Tokenizer::None, lowercase: false, ref_length: RefLength::Closest,
                smoothing, effective_order: false, length_scale: scale, length_offset: 0.5,
            };
            let rows: Vec<f64> = matches.iter().flat_map(|&(a, b, c, d)| {
                [40.0, 40.0 + short, a.into(), b.into(), c.into(), d.into(), 40.0, 39.0, 38.0, 37.0]
            }).collect();
            let lists = packed(&[matches.iter().map(|_| vec![]).collect()], 1);
            let judged = Judged::pack(&lists, &rows, 10).unwrap();
            let scorer = Scorer { metric: &bleu, sign: 1.0, scale: 100.0, unit };
            let context = Context { row: vec![background; 10], count: 3.0 };
            let (mut out, mut sum) = (Vec::new(), Vec::new());
            let slack = scorer.all(&lists, &judged, 0, &context, &mut out);
            prop_assert!(slack > 0.0);
            let mut nothing = context.clone();
            nothing.row[5] = 0.0;
            let mut plain = Vec::new();
            prop_assert_eq!(scorer.all(&lists, &judged, 0, &nothing, &mut plain), 0.0, "rules for zeros");
            for (i, gain) in out.iter().enumerate() {
                let exact = scorer.exact(&lists, &judged, 0, i, &context, &mut sum);
                prop_assert!((gain - exact).abs() <= 0.01 * slack, "{} {}", gain, exact);
            }
        }
    }
}
