//! How far weights move: from slopes, the directions in which the gain rises, to steps.
//!
//! Sparse features have a pace each (`AdaGrad`: Duchi et al. 2011): the rate over the root of the sum of their squared
//! slopes. The dense ones are few and depend on each other (the number of phrases, say, and the counts of their rules),
//! so that a step along each alone goes far in a score that hardly changes, and slowly where it should. They share one pace
//! and step along the natural gradient (Amari 1998): the slope times the inverse of the Fisher information, which is
//! the covariance of the features in the neighbourhoods that were sampled. Which scale a feature has is then all the same.

use dragoman_model::OWN;
use dragoman_optim::adagrad;

/// The sums that paces depend on, handed on from epoch to epoch.
#[derive(Debug, Clone, Default)]
pub struct Pace {
    /// Sums of squared slopes: of the system's features, then of those that the chain has named itself.
    pub squares: (Vec<f64>, Vec<f64>),
    /// Dense features.
    dense: usize,
    /// The inverse of the Fisher information, row by row; empty until it is known.
    metric: Vec<f64>,
    /// Sum of the squared lengths of dense slopes in that metric, for each dimension.
    pub energy: f64,
    /// The Fisher information summed over the neighbourhoods seen, row by row.
    pub information: Vec<f64>,
    /// Mean differences of the neighbourhood at hand.
    mean: Vec<f64>,
    one: Vec<f64>,
}

impl Pace {
    /// Goes on with the sums of an earlier epoch; `metric` is empty if it is not known yet.
    pub fn new(dense: usize, squares: Vec<f64>, metric: Vec<f64>, energy: f64) -> Self {
        let (information, mean, one) = (vec![0.0; dense * dense], vec![0.0; dense], vec![0.0; dense]);
        Self { squares: (squares, Vec::new()), dense, metric, energy, information, mean, one }
    }

    /// A feature of the next member differs by this from the current derivation.
    #[inline]
    pub(super) fn differ(&mut self, id: u32, value: f64) {
        if let Some(place) = self.one.get_mut(id as usize) {
            *place += value;
        }
    }

    /// That was all of the member, whose probability this is.
    pub(super) fn member(&mut self, share: f64) {
        let Self { dense, information, mean, one, .. } = self;
        for i in 0..*dense {
            if one[i] == 0.0 {
                continue;
            }
            let part = share * one[i];
            mean[i] += part;
            information[i * *dense..][..*dense]
                .iter_mut()
                .zip(&*one)
                .for_each(|(sum, other)| *sum += part * other);
        }
        one.fill(0.0);
    }

    /// That was all of the neighbourhood.
    pub(super) fn neighbourhood(&mut self) {
        let Self { dense, information, mean, .. } = self;
        for i in 0..*dense {
            let part = mean[i];
            if part != 0.0 {
                information[i * *dense..][..*dense]
                    .iter_mut()
                    .zip(&*mean)
                    .for_each(|(sum, m)| *sum -= part * m);
            }
        }
        mean.fill(0.0);
    }

    /// Puts steps in the place of slopes, each feature's once.
    pub(super) fn steps(&mut self, rate: f64, slopes: &mut Vec<(u32, f64)>) {
        if !self.metric.is_empty() {
            self.natural(rate, slopes);
        }
        let from = if self.metric.is_empty() { 0 } else { self.dense as u32 };
        for (id, slope) in slopes.iter_mut().filter(|(id, _)| *id >= from) {
            let (squares, at) = if *id >= OWN {
                (&mut self.squares.1, (*id - OWN) as usize)
            } else {
                (&mut self.squares.0, *id as usize)
            };
            if squares.len() <= at {
                squares.resize(at + 1, 0.0);
            }
            *slope *= adagrad(rate, 0.0, *slope, &mut squares[at]);
        }
    }

    /// The steps of the dense features.
    fn natural(&mut self, rate: f64, slopes: &mut Vec<(u32, f64)>) {
        let Self { dense, metric, energy, one, .. } = self;
        slopes.retain(|&(id, slope)| {
            if let Some(place) = one.get_mut(id as usize) {
                *place = slope;
            }
            id as usize >= *dense
        });
        let sparse = slopes.len();
        let mut length = 0.0;
        for (i, row) in metric.chunks_exact((*dense).max(1)).enumerate() {
            let step: f64 = row.iter().zip(&*one).map(|(m, slope)| m * slope).sum();
            length += step * one[i];
            if step != 0.0 {
                slopes.push((i as u32, step));
            }
        }
        one.fill(0.0);
        *energy += length / *dense as f64;
        let size = if *energy > 0.0 { rate / energy.sqrt() } else { 0.0 };
        for (_, step) in &mut slopes[sparse..] {
            *step *= size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn information_is_the_covariance() {
        // Three members of two dense features, of which one is the current derivation.
        let members = [(0.5, [0.0, 0.0]), (0.3, [1.0, -2.0]), (0.2, [4.0, 0.5])];
        let mut pace = Pace::new(2, Vec::new(), Vec::new(), 0.0);
        for _ in 0..2 {
            for (share, values) in members {
                values.iter().enumerate().for_each(|(id, &value)| pace.differ(id as u32, value));
                pace.differ(7, 1.0);
                pace.member(share);
            }
            pace.neighbourhood();
        }
        let mean = |f: &dyn Fn([f64; 2]) -> f64| {
            members.iter().map(|(share, values)| share * f(*values)).sum::<f64>()
        };
        for i in 0..2 {
            for j in 0..2 {
                let want = mean(&|v| v[i] * v[j]) - mean(&|v| v[i]) * mean(&|v| v[j]);
                assert!((pace.information[2 * i + j] - 2.0 * want).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn sparse_features_have_a_pace_each() {
        let mut pace = Pace::new(0, vec![0.0, 3.0], Vec::new(), 0.0);
        let mut slopes = vec![(1, 1.0), (OWN, -2.0)];
        pace.steps(0.5, &mut slopes);
        assert_eq!(slopes, [(1, 0.25), (OWN, -0.5)]);
        assert_eq!(pace.squares, (vec![0.0, 4.0], vec![4.0]));
    }

    #[test]
    fn dense_steps_do_not_depend_on_scales() {
        // The same slopes with the second feature in other units: steps of the score, step times unit, are the same.
        let metric = [2.0, 0.5, 0.5, 1.0];
        let run = |unit: f64| {
            let own = metric.iter().zip([1.0, 1.0 / unit, 1.0 / unit, 1.0 / unit / unit]).map(|(m, u)| m * u);
            let mut pace = Pace::new(2, Vec::new(), own.collect(), 0.0);
            let mut all = Vec::new();
            for slopes in [[1.0, 0.5], [-0.2, 0.7]] {
                let mut list = vec![(0, slopes[0]), (5, 1.0), (1, slopes[1] * unit)];
                pace.steps(0.1, &mut list);
                assert_eq!(list[0].0, 5, "sparse ones stay");
                all.push((list[1].1, list[2].1 * unit));
            }
            all
        };
        let (one, other) = (run(1.0), run(50.0));
        for (a, b) in one.iter().zip(&other) {
            assert!((a.0 - b.0).abs() < 1e-12 && (a.1 - b.1).abs() < 1e-12, "{one:?} {other:?}");
        }
        // By hand: metric times slopes is (2.25, 1.0), the length 2.75 / 2 a dimension.
        assert!((one[0].0 - 0.1 * 2.25 / 1.375_f64.sqrt()).abs() < 1e-12);
    }
}
