//! Gains of candidates inside a context: the statistics of other sentences are added before scoring.

use super::counts::Counts;
use crate::lists::Lists;
use dragoman_base::{Error, Result};
use dragoman_metric::Metric;

/// Lists and their statistics.
pub(crate) type Pool<'a> = (&'a Lists, &'a Judged);

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

    /// The statistics of the candidate at `offset` of sentence `s`.
    pub fn row(&self, lists: &Lists, s: usize, offset: usize) -> Vec<f64> {
        let mut row = Vec::new();
        self.fill(lists, s, offset, &mut row);
        row
    }

    /// The same in an array that is at hand.
    pub(crate) fn fill(&self, lists: &Lists, s: usize, offset: usize, row: &mut Vec<f64>) {
        row.clear();
        row.resize(self.width, 0.0);
        self.add(lists, s, offset, 1.0, row);
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

/// A metric whose scores are gains.
#[derive(Clone, Copy)]
pub struct Scorer<'a> {
    /// The metric.
    pub metric: &'a dyn Metric,
    /// 1 if higher is better, else −1.
    pub sign: f64,
    /// The metric's scale.
    pub scale: f64,
}

/// What statistics are worth: `sign * score / scale * unit` on top of a sum.
#[derive(Clone, Copy)]
pub struct Worth<'a> {
    /// The metric.
    pub scorer: Scorer<'a>,
    /// The sum.
    pub base: &'a [f64],
    /// The unit of gains.
    pub unit: f64,
}

impl Worth<'_> {
    /// The gain of a row.
    pub fn gain(&self, row: &[f64]) -> f64 {
        let sum: Vec<f64> = self.base.iter().zip(row).map(|(base, x)| base + x).collect();
        self.of_sum(&sum)
    }

    /// The gain of a sum. The operations and their order are also those of the Python path.
    fn of_sum(&self, sum: &[f64]) -> f64 {
        self.scorer.sign * self.scorer.metric.score(sum) / self.scorer.scale * self.unit
    }

    /// What a score is multiplied by.
    pub(crate) fn factor(&self) -> f64 {
        self.scorer.sign / self.scorer.scale * self.unit
    }

    /// The gain of one candidate of sentence `s`.
    pub(crate) fn exact(
        &self,
        (lists, judged): Pool<'_>,
        s: usize,
        offset: usize,
        sum: &mut Vec<f64>,
    ) -> f64 {
        sum.clear();
        sum.extend_from_slice(self.base);
        judged.add(lists, s, offset, 1.0, sum);
        self.of_sum(sum)
    }

    /// Writes the gains of all candidates of sentence `s`, and returns by how much each may differ from
    /// [`Self::exact`]: 0, or a tiny amount where the metric has approximate scores.
    pub(crate) fn all(&self, pool: Pool<'_>, s: usize, out: &mut Vec<f64>) -> f64 {
        if let Some(error) = self.approximate(pool, s, out) {
            return error;
        }
        let mut sum = Vec::new();
        out.clear();
        out.extend((0..pool.0.group(s).len()).map(|i| self.exact(pool, s, i, &mut sum)));
        0.0
    }

    fn approximate(&self, (lists, judged): Pool<'_>, s: usize, out: &mut Vec<f64>) -> Option<f64> {
        let columns: Vec<&[f64]> = (0..judged.width).map(|k| judged.column(lists, s, k)).collect();
        self.scorer.metric.approximate()?.columns(&columns, self.base, self.factor(), out)
    }

    /// Writes rough gains of all candidates of sentence `s` and returns by how much each may differ from
    /// [`Self::exact`]; None where single precision does not serve.
    pub(crate) fn rough(&self, counts: &Counts, s: usize, out: &mut Vec<f32>) -> Option<f64> {
        self.scorer.metric.approximate()?.counts(counts.of(s), self.base, self.factor(), out)
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
            unit in prop_oneof![Just(1.0), 0.1..1e6f64],
            sign in prop_oneof![Just(1.0), Just(-1.0)],
        ) {
            let bleu = Bleu { smoothing, ..Bleu::default() };
            let rows: Vec<f64> = matches.iter().flat_map(|&(a, b, c, d, length)| {
                let n = f64::from(length);
                [n, 40.0, a.into(), b.into(), c.into(), d.into(), n, n - 1.0, n - 2.0, n - 3.0]
            }).collect();
            let lists = packed(&[matches.iter().map(|_| vec![]).collect()], 1);
            let judged = Judged::pack(&lists, &rows, 10).unwrap();
            let (scorer, pool) = (Scorer { metric: &bleu, sign, scale: 100.0 }, (&lists, &judged));
            let mut base = [background; 10];
            let worth = Worth { scorer, base: &base, unit };
            let (mut out, mut short, mut sum) = (Vec::new(), Vec::new(), Vec::new());
            let slack = worth.all(pool, 0, &mut out);
            let rough = worth.rough(judged.counts().unwrap(), 0, &mut short).unwrap();
            prop_assert!(slack > 0.0);
            for (i, (gain, short)) in out.iter().zip(&short).enumerate() {
                let exact = worth.exact(pool, 0, i, &mut sum);
                prop_assert_eq!(exact, worth.gain(&rows[10 * i..10 * i + 10]));
                prop_assert!((gain - exact).abs() <= 0.01 * slack, "{} {}", gain, exact);
                prop_assert!((f64::from(*short) - exact).abs() <= 0.4 * rough, "{} {}", short, exact);
            }
            base[5] = 0.0;
            let worth = Worth { scorer, base: &base, unit };
            prop_assert_eq!(worth.all(pool, 0, &mut out), 0.0, "rules for zeros");
            prop_assert!(worth.rough(judged.counts().unwrap(), 0, &mut short).is_none());
        }
    }
}
