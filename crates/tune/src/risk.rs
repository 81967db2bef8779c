//! Minimum risk: the expected gain of candidates drawn from softmax(γ w·h) (Smith & Eisner 2006), or the score
//! of the expected statistics of the corpus, by L-BFGS.

use crate::lists::{Lists, sharded};
use crate::online::softmax;
use dragoman_optim::lbfgs::{self, Objective, Options, Outcome};

/// The gain of a sum of statistics; writes its derivatives. Not finite if it cannot be had.
pub type CorpusGain<'a> = dyn FnMut(&[f64], &mut [f64]) -> f64 + Send + 'a;

/// What is expected.
pub enum Payoff<'a> {
    /// The mean of these gains of single candidates.
    Sentence(&'a [f64]),
    /// The gain of the sum of these rows, of so many statistics each.
    Corpus(&'a [f64], usize, &'a mut CorpusGain<'a>),
}

/// −(expected gain) + l2/2 |w − start|².
pub struct Risk<'a> {
    /// The candidates.
    pub lists: &'a Lists,
    /// Inverse temperature (γ).
    pub gamma: f64,
    /// What is expected.
    pub payoff: Payoff<'a>,
    /// 1/σ² of the penalty.
    pub l2: f64,
    /// Where the penalty pulls to.
    pub start: &'a [f64],
    /// Room.
    pub partials: Vec<Vec<f64>>,
}

impl Risk<'_> {
    /// Adds −∂(expected gain)/∂w for the gain of each candidate that `gain` gives, divided by `count`; returns
    /// the sum of the expected gains, divided likewise.
    fn add_slopes(
        &mut self,
        w: &[f64],
        count: f64,
        gain: impl Fn(usize) -> f64 + Sync,
        sum: &mut [f64],
    ) -> f64 {
        let (lists, gamma) = (self.lists, self.gamma);
        sharded(lists.sentences(), sum, &mut self.partials, |sentences, partial| {
            let (mut model, mut p, mut total) = (Vec::new(), Vec::new(), 0.0);
            for s in sentences.filter(|&s| !lists.group(s).is_empty()) {
                lists.scores(s, w, &mut model);
                softmax(&model, gamma, &mut p);
                let gains = lists.group(s).map(&gain);
                let mean: f64 = p.iter().zip(gains.clone()).map(|(p, g)| p * g).sum();
                total += mean / count;
                p.iter_mut().zip(gains).for_each(|(p, g)| *p *= -gamma * (g - mean) / count);
                lists.add_combination(s, &p, partial);
            }
            total
        })
    }

    /// The sum of the expected statistics.
    fn expectation(&mut self, w: &[f64], rows: &[f64], width: usize) -> Vec<f64> {
        let (lists, gamma) = (self.lists, self.gamma);
        let mut sum = vec![0.0; width];
        sharded(lists.sentences(), &mut sum, &mut Vec::new(), |sentences, partial| {
            let (mut model, mut p) = (Vec::new(), Vec::new());
            for s in sentences {
                lists.scores(s, w, &mut model);
                softmax(&model, gamma, &mut p);
                for (i, p) in lists.group(s).zip(&p) {
                    let row = &rows[i * width..(i + 1) * width];
                    partial.iter_mut().zip(row).for_each(|(total, x)| *total += p * x);
                }
            }
            0.0
        });
        sum
    }
}

impl Objective for Risk<'_> {
    fn evaluate(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
        let mut penalty = 0.0;
        for ((g, x), start) in gradient.iter_mut().zip(x).zip(self.start) {
            *g = self.l2 * (x - start);
            penalty += self.l2 * (x - start) * (x - start) / 2.0;
        }
        // The payoff is taken out for a while so that the parts of self can be borrowed one by one.
        let mut payoff = std::mem::replace(&mut self.payoff, Payoff::Sentence(&[]));
        let gain = match &mut payoff {
            Payoff::Sentence(gains) => {
                let lists = self.lists;
                let count = (0..lists.sentences()).filter(|&s| !lists.group(s).is_empty()).count();
                self.add_slopes(x, count.max(1) as f64, |i| gains[i], gradient)
            }
            Payoff::Corpus(rows, width, score) => {
                let (rows, width) = (*rows, *width);
                let expected = self.expectation(x, rows, width);
                let mut slopes = vec![0.0; width];
                let value = score(&expected, &mut slopes);
                let linear = |i: usize| {
                    rows[i * width..(i + 1) * width].iter().zip(&slopes).map(|(x, d)| x * d).sum::<f64>()
                };
                self.add_slopes(x, 1.0, linear, gradient);
                value
            }
        };
        self.payoff = payoff;
        penalty - gain
    }
}

/// Moves `weights` to a minimum of the risk inside `lower..=upper`.
pub fn fit(risk: &mut Risk, weights: &mut [f64], lower: &[f64], upper: &[f64], options: Options) -> Outcome {
    lbfgs::minimise(risk, weights, lower, upper, options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lists::tests::{packed, pools};
    use proptest::prelude::*;

    fn check(risk: &mut Risk, w: &[f64]) -> bool {
        let mut gradient = vec![0.0; w.len()];
        risk.evaluate(w, &mut gradient);
        (0..w.len()).all(|j| {
            let mut at = |by: f64| {
                let mut w = w.to_vec();
                w[j] += by;
                risk.evaluate(&w, &mut vec![0.0; w.len()])
            };
            let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
            (slope - gradient[j]).abs() < 1e-6 * (1.0 + slope.abs())
        })
    }

    proptest! {
        #[test]
        fn gradients_are_slopes(pool in pools(), w in prop::collection::vec(-1.0..1.0f64, 7)) {
            let lists = packed(&pool, 7);
            let n = lists.candidates();
            let gains: Vec<f64> = (0..n).map(|i| (i * 7 % 5) as f64 / 4.0).collect();
            let rows: Vec<f64> = (0..2 * n).map(|i| 1.0 + (i * 11 % 7) as f64).collect();
            let mut ratio = |sum: &[f64], slopes: &mut [f64]| {
                slopes.copy_from_slice(&[1.0 / (1.0 + sum[1]), -sum[0] / (1.0 + sum[1]).powi(2)]);
                sum[0] / (1.0 + sum[1])
            };
            for payoff in [Payoff::Sentence(&gains), Payoff::Corpus(&rows, 2, &mut ratio)] {
                let mut risk = Risk {
                    lists: &lists, gamma: 1.3, payoff, l2: 0.4, start: &[0.2; 7], partials: Vec::new(),
                };
                prop_assert!(check(&mut risk, &w));
            }
        }
    }
}
