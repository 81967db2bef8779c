//! Passes of MIRA over lattices.

use super::pool::{Path, Pool};
use super::product::Wish;
use crate::mira::{Context, Feed, Oracle, Prediction, Rules, Unit};
use dragoman_base::{Error, Result};
use dragoman_optim::Learner;

/// A run of MIRA: weights, their average, and the background of earlier oracles.
pub struct Run {
    rules: Rules,
    wishes: (Wish, Wish),
    unit: Unit,
    /// The weights on their way.
    pub learner: Learner,
    /// The decaying sum.
    pub background: Context,
    /// The sums of the statistics of the oracles and of the predictions that were visited.
    pub met: (Vec<f64>, Vec<f64>),
    /// Number of visits in which the oracle had the larger gain: only these teach anything.
    pub telling: usize,
}

/// Of some paths the first that is best under the true gains, with its gain.
fn choose<'p>(wish: Wish, paths: &'p [Path], gains: &[f64]) -> Option<(&'p Path, f64)> {
    let value = |at: usize| wish.model * paths[at].model + wish.gain * gains[at];
    let first = (0..paths.len()).reduce(|best, at| if value(at) > value(best) { at } else { best })?;
    Some((&paths[first], gains[first]))
}

impl Run {
    /// Goes on with a learner, as [`crate::mira::learner`] makes it, and a background.
    pub fn new(rules: Rules, unit: Unit, learner: Learner, background: Context) -> Result<Self> {
        let plus = match rules.oracle {
            Oracle::Hope => Wish { model: 1.0, gain: 1.0 },
            Oracle::MaxGain => Wish { model: 0.0, gain: 1.0 },
            Oracle::Local(_) => {
                return Err(Error::Invalid("a lattice has no local oracle: expected hope or mb".into()));
            }
        };
        let minus = match rules.prediction {
            Prediction::Fear => Wish { model: 1.0, gain: -1.0 },
            Prediction::MaxCost => Wish { model: 0.0, gain: -1.0 },
            Prediction::Model => Wish::MODEL,
        };
        let met = (vec![0.0; background.row.len()], vec![0.0; background.row.len()]);
        Ok(Self { rules, wishes: (plus, minus), unit, learner, background, met, telling: 0 })
    }

    /// What scores are multiplied by, for the sum of the background and the 1-best path.
    fn size(&self, sum: &[f64]) -> f64 {
        match self.unit {
            Unit::Score => 1.0,
            Unit::Sentence => self.background.count + 1.0,
            Unit::Statistic(k) => sum[k],
        }
    }

    /// Visits a sentence: finds its oracle and its prediction, and tells them apart.
    pub fn visit(&mut self, pool: &Pool, s: usize) {
        let Some(best) = pool.best(s, self.learner.weights()) else { return };
        let sum: Vec<f64> = self.background.row.iter().zip(&best.row).map(|(a, b)| a + b).collect();
        let worth = pool.worth(&self.background.row, self.size(&sum));
        let (plus, minus) = self.wishes;
        let paths = pool.seek(s, self.learner.weights(), &[plus, minus], &worth);
        let gains: Vec<f64> = paths.iter().map(|path| worth.gain(&path.row)).collect();
        let (Some(plus), Some(minus)) = (choose(plus, &paths, &gains), choose(minus, &paths, &gains)) else {
            return;
        };
        add(&mut self.met.0, &plus.0.row);
        add(&mut self.met.1, &minus.0.row);
        if plus.1 <= minus.1 {
            return;
        }
        self.telling += 1;
        self.learn(pool, s, plus, minus);
        let fed = match self.rules.feed {
            Feed::Oracle => plus,
            Feed::Model => choose(Wish::MODEL, &paths, &gains).unwrap_or(plus),
        };
        self.background.row.iter_mut().for_each(|x| *x *= self.rules.decay);
        add(&mut self.background.row, &fed.0.row);
        self.background.count = self.background.count * self.rules.decay + 1.0;
    }

    /// The passive-aggressive step (Eidelman 2012, algorithm 1), if the margin is not met.
    fn learn(&mut self, pool: &Pool, s: usize, (plus, good): (&Path, f64), (minus, bad): (&Path, f64)) {
        let loss = (minus.model - plus.model) + (good - bad);
        let size = minus.model.abs() + plus.model.abs() + good.abs() + bad.abs();
        if loss > 1e-12 * size {
            let gradient = pool.features(s, &[(plus, -1.0), (minus, 1.0)]);
            self.learner.step(&gradient, loss);
        }
    }
}

fn add(sum: &mut [f64], row: &[f64]) {
    sum.iter_mut().zip(row).for_each(|(total, x)| *total += x);
}
