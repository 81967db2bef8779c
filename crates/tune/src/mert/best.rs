//! The best point of a line without a penalty: gains of all intervals, the widest of the best ones.

use super::line::Intervals;
use dragoman_metric::Metric;

/// Intervals narrower than this, relative to their place, cannot be hit by sums of floats: they are passed over.
const HAIR: f64 = 1e-10;

/// A metric as a gain: `unit · score`; what has no score is worth nothing.
#[derive(Clone, Copy)]
pub struct Gain<'a> {
    /// The metric.
    pub metric: &'a dyn Metric,
    /// ±1 over the metric's scale.
    pub unit: f64,
}

/// Where a line may be left.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Smallest γ.
    pub low: f64,
    /// Largest γ.
    pub high: f64,
    /// The γ that changes the weights by as much as their own size.
    pub reach: f64,
}

/// The best point of a line.
#[derive(Debug, Clone, PartialEq)]
pub struct Best {
    /// Where it is.
    pub gamma: f64,
    /// The gain there.
    pub gain: f64,
    /// Corpus statistics there; None where the point is a corner.
    pub total: Option<Vec<f64>>,
}

impl Gain<'_> {
    fn exact(&self, row: &[f64]) -> f64 {
        let gain = self.unit * self.metric.score(row);
        if gain.is_nan() { f64::NEG_INFINITY } else { gain }
    }

    /// The gains of rows: exact where they are within reach of the largest, close elsewhere.
    fn all(&self, rows: &[f64], width: usize, usable: impl Fn(usize) -> bool) -> Vec<f64> {
        let Some(approximate) = self.metric.approximate() else {
            return rows.chunks_exact(width).map(|row| self.exact(row)).collect();
        };
        let mut gains = Vec::new();
        let error = approximate.rows(rows, self.unit, &mut gains);
        gains.iter_mut().filter(|gain| gain.is_nan()).for_each(|gain| *gain = f64::NEG_INFINITY);
        let most =
            gains.iter().enumerate().filter(|e| usable(e.0)).fold(f64::NEG_INFINITY, |a, (_, &b)| a.max(b));
        let floor = most - error * most.abs();
        for (gain, row) in gains.iter_mut().zip(rows.chunks_exact(width)).filter(|e| *e.0 >= floor) {
            *gain = self.exact(row);
        }
        gains
    }
}

/// The middle of the best interval within bounds; of equally good ones, of the widest. None if none can be hit, or
/// none has a finite gain.
pub fn best(line: &Intervals, bounds: Bounds, gain: Gain<'_>) -> Option<Best> {
    let width = line.totals.len() / (line.corners.len() + 1);
    let first = line.corners.partition_point(|&c| c <= bounds.low);
    let mut last = line.corners.partition_point(|&c| c <= bounds.high);
    last -= usize::from(last > 0 && line.corners[last - 1] == bounds.high);
    let last = last.max(first);
    let inside = &line.corners[first..last];
    let cut = |k: usize| {
        let low = if k == 0 { bounds.low } else { inside[k - 1] };
        let high = if k == inside.len() { bounds.high } else { inside[k] };
        cut(low, high, bounds.reach)
    };
    let usable = |k: usize| {
        let (low, high) = cut(k);
        high - low > HAIR * bounds.reach.max(low.abs())
    };
    let gains = gain.all(&line.totals[first * width..(last + 1) * width], width, usable);
    let mut chosen: Option<(f64, f64, f64)> = None;
    for (k, &gain) in gains.iter().enumerate() {
        if chosen.is_none_or(|(most, ..)| gain >= most) && usable(k) {
            let (low, high) = cut(k);
            if chosen.is_none_or(|(most, wide, _)| gain > most || high - low > wide) {
                chosen = Some((gain, high - low, 0.5 * (low + high)));
            }
        }
    }
    let (gain, _, gamma) = chosen.filter(|found| found.0.is_finite() && found.2.is_finite())?;
    let at = line.corners.partition_point(|&c| c < gamma);
    let corner = line.corners.get(at) == Some(&gamma);
    Some(Best { gamma, gain, total: (!corner).then(|| line.totals[at * width..(at + 1) * width].to_vec()) })
}

/// The ends of an interval, none farther from its nearest point to 0 than is sensible: a step beyond the last
/// corner, or into a very long interval, goes as far as the reach or as far as the interval is away.
fn cut(low: f64, high: f64, reach: f64) -> (f64, f64) {
    let near = 0.0f64.max(low).min(high);
    let room = 2.0 * reach.max(near.abs());
    (low.max(near - room), high.min(near + room))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dragoman_metric::bleu::{Bleu, Smoothing};
    use proptest::prelude::*;

    proptest! {
        /// Whatever is left to the quick form cannot be the largest, and what it gives is close.
        #[test]
        fn quick_gains_never_hide_the_largest(
            rows in prop::collection::vec((0u16..40, 0u16..20, 0u16..9, 0u16..4, 200u16..210), 1..60),
            smoothing in prop_oneof![
                Just(Smoothing::None), Just(Smoothing::Exp), Just(Smoothing::AddK(0.7)), Just(Smoothing::AddAll(0.01))
            ],
            scale in 0.9..1.1f64, unit in prop_oneof![Just(0.01), Just(-0.01)],
        ) {
            let rows: Vec<f64> = rows.iter().flat_map(|&(a, b, c, d, n)| {
                let n = f64::from(n);
                [n, 205.0, a.into(), b.into(), c.into(), d.into(), n, n - 1.0, n - 2.0, n - 3.0]
            }).collect();
            let bleu = Bleu { smoothing, length_scale: scale, ..Bleu::default() };
            let gain = Gain { metric: &bleu, unit };
            let found = gain.all(&rows, 10, |_| true);
            let exact: Vec<f64> = rows.chunks(10).map(|row| gain.exact(row)).collect();
            let most = exact.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
            for (found, exact) in found.iter().zip(&exact) {
                prop_assert!((found - exact).abs() <= 1e-14, "{found} {exact}");
                prop_assert_eq!(*found == most, *exact == most);
            }
        }
    }

    #[test]
    fn the_widest_of_the_best_is_taken() {
        let row = |matches: f64| [10.0, 10.0, matches, 5.0, 4.0, 3.0, 10.0, 9.0, 8.0, 7.0];
        let totals: Vec<f64> = [6.0, 9.0, 7.0, 9.0, 9.0].into_iter().flat_map(row).collect();
        let line = Intervals { corners: vec![-1.0, -0.5, 1.0, 2.0], totals };
        let bleu = Bleu::default();
        let find = |low, high| {
            let gain = Gain { metric: &bleu, unit: 0.01 };
            best(&line, Bounds { low, high, reach: 1.0 }, gain).map(|found| found.gamma)
        };
        assert_eq!(find(f64::NEG_INFINITY, f64::INFINITY), Some(4.0), "(2, 6): cut where it is twice as far");
        assert_eq!(find(-9.0, 2.5), Some(1.5));
        assert_eq!(find(-9.0, 0.9), Some(-0.75));
        assert_eq!(find(-0.5, 1.0), Some(0.25), "corners on the bounds");
        assert_eq!(find(0.5, 0.5), None);
    }
}
