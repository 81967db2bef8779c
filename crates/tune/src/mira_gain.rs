//! Gains of candidates inside a context: the statistics of other sentences are added before scoring.

use crate::lists::Lists;
use crate::mira_rough::Counts;
use crate::screen::{bottom, top};
use dragoman_base::{Error, Result};
use dragoman_metric::Metric;

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

    /// What a score is multiplied by, but for a statistic of the candidate.
    fn factor(&self, context: &Context) -> f64 {
        let factor = self.sign / self.scale;
        if self.unit == Unit::Sentence { factor * (context.count + 1.0) } else { factor }
    }

    /// Writes the gains of all candidates of sentence `s`, and returns by how much each may differ from
    /// [`Self::exact`]: 0, or a tiny amount where the metric has approximate scores.
    pub fn all(
        &self,
        lists: &Lists,
        judged: &Judged,
        s: usize,
        context: &Context,
        out: &mut Vec<f64>,
    ) -> f64 {
        if let Some(error) = self.approximate(lists, judged, s, context, out) {
            return error * out.iter().fold(0.0, |most: f64, x| if x.abs() > most { x.abs() } else { most });
        }
        let mut sum = Vec::new();
        out.clear();
        out.extend((0..lists.group(s).len()).map(|i| self.exact(lists, judged, s, i, context, &mut sum)));
        0.0
    }

    fn approximate(
        &self,
        lists: &Lists,
        judged: &Judged,
        s: usize,
        context: &Context,
        out: &mut Vec<f64>,
    ) -> Option<f64> {
        let columns: Vec<&[f64]> = (0..judged.width).map(|k| judged.column(lists, s, k)).collect();
        let error = self.metric.approximate()?.columns(&columns, &context.row, self.factor(context), out)?;
        if let Unit::Statistic(k) = self.unit {
            out.iter_mut().zip(columns[k]).for_each(|(x, size)| *x *= context.row[k] + size);
        }
        Some(error)
    }

    /// Writes rough gains of all candidates of sentence `s` and returns by how much each may differ from
    /// [`Self::exact`]; None where single precision does not serve.
    pub(crate) fn rough(
        &self,
        counts: &Counts,
        s: usize,
        context: &Context,
        out: &mut Vec<f32>,
    ) -> Option<f64> {
        let blocks = counts.of(s);
        let error = self.metric.approximate()?.counts(blocks, &context.row, self.factor(context), out)?;
        if let Unit::Statistic(k) = self.unit {
            counts.multiply(s, k, context.row[k] as f32, out);
        }
        let most = top(out).max(-bottom(out));
        (most < 1e30).then_some(error * f64::from(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lists::tests::packed;
    use dragoman_metric::bleu::{Bleu, Smoothing};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn approximate_gains_are_close_to_the_exact_ones(
            matches in prop::collection::vec((0u32..30, 0u32..30, 0u32..30, 0u32..30, 30u32..60), 1..40),
            background in prop_oneof![0.1..500.0f64, 500.0..1e7f64],
            smoothing in prop_oneof![Just(Smoothing::Exp), Just(Smoothing::AddK(0.7)), Just(Smoothing::AddAll(0.01))],
            unit in prop_oneof![Just(Unit::Score), Just(Unit::Sentence), Just(Unit::Statistic(1))],
            sign in prop_oneof![Just(1.0), Just(-1.0)],
        ) {
            let bleu = Bleu { smoothing, ..Bleu::default() };
            let rows: Vec<f64> = matches.iter().flat_map(|&(a, b, c, d, length)| {
                let n = f64::from(length);
                [n, 40.0, a.into(), b.into(), c.into(), d.into(), n, n - 1.0, n - 2.0, n - 3.0]
            }).collect();
            let lists = packed(&[matches.iter().map(|_| vec![]).collect()], 1);
            let judged = Judged::pack(&lists, &rows, 10).unwrap();
            let scorer = Scorer { metric: &bleu, sign, scale: 100.0, unit };
            let context = Context { row: vec![background; 10], count: 3.0 };
            let (mut out, mut short, mut sum) = (Vec::new(), Vec::new(), Vec::new());
            let slack = scorer.all(&lists, &judged, 0, &context, &mut out);
            let rough = scorer.rough(judged.counts().unwrap(), 0, &context, &mut short).unwrap();
            prop_assert!(slack > 0.0);
            for (i, (gain, short)) in out.iter().zip(&short).enumerate() {
                let exact = scorer.exact(&lists, &judged, 0, i, &context, &mut sum);
                prop_assert!((gain - exact).abs() <= 0.01 * slack, "{} {}", gain, exact);
                prop_assert!((f64::from(*short) - exact).abs() <= 0.4 * rough, "{} {}", short, exact);
            }
            let mut nothing = context.clone();
            nothing.row[5] = 0.0;
            prop_assert_eq!(scorer.all(&lists, &judged, 0, &nothing, &mut out), 0.0, "rules for zeros");
            prop_assert!(scorer.rough(judged.counts().unwrap(), 0, &nothing, &mut short).is_none());
        }
    }
}
