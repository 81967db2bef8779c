//! Online learning on fixed lists: mini-batches and five losses (Green et al. 2013 and relatives).
//!
//! A batch costs what its active features cost, however many features there are.

use crate::lists::Lists;
use crate::mira::{Oracle, Prediction, Rules, lesson};
use crate::pairs::{Pairs, log_loss, sigmoid};
use dragoman_optim::{Average, Gradient, Learner, Memory, Rule};

/// Hope and fear, as MIRA has them.
const HOPE_FEAR: Rules = Rules { oracle: Oracle::Hope, prediction: Prediction::Fear, near: 0 };

/// The loss of a sentence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Objective {
    /// Σ log(1 + exp(−w·x)) over pairs (Green et al. 2013, equation 12).
    Logistic,
    /// Σ max(0, 1 − w·x) over pairs.
    Hinge,
    /// max(M + G) − max(M − G) over the list, as a margin (Chiang 2012).
    HopeFear,
    /// Largest gain minus the expected one under softmax(γ M).
    Expected(f64),
    /// Divergence of softmax(γ M) from softmax(sharpness · G): (γ, sharpness).
    Softmax(f64, f64),
}

/// What an epoch reads.
pub struct Epoch<'a> {
    /// The candidates.
    pub lists: &'a Lists,
    /// A gain for each.
    pub gains: &'a [f64],
    /// Pairs, for the losses on pairs.
    pub pairs: &'a Pairs,
    /// The loss.
    pub objective: Objective,
    /// Sentences in a batch.
    pub batch: usize,
    /// Shrink idle weights only when they are next needed. False: all of them after every batch.
    pub lazy: bool,
    /// Every loss is multiplied by this: 2 counts each pair twice.
    pub factor: f64,
    /// Divide a batch's loss by its number of sentences.
    pub mean: bool,
}

struct Pass<'a> {
    epoch: &'a Epoch<'a>,
    learner: &'a mut Learner,
    gradient: Gradient,
    found: Vec<(u32, f64)>,
    difference: Vec<(u32, f64)>,
    model: Vec<f64>,
    coefficients: Vec<f64>,
}

impl<'a> Pass<'a> {
    fn new(epoch: &'a Epoch<'a>, learner: &'a mut Learner) -> Self {
        let width = epoch.lists.width();
        learner.widen(width);
        let (found, difference, model, coefficients) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { epoch, learner, gradient: Gradient::new(width), found, difference, model, coefficients }
    }
}

/// One pass over the sentences of `order`; returns the summed loss. All weights are up to date afterwards.
pub fn pass(epoch: &Epoch, learner: &mut Learner, order: &[usize]) -> f64 {
    let mut pass = Pass::new(epoch, learner);
    let mut total = 0.0;
    for batch in order.chunks(epoch.batch.max(1)) {
        total += pass.batch(batch);
    }
    learner.refresh();
    total
}

/// The gradient of the loss of all sentences at `weights`, and the loss.
pub fn gradient(epoch: &Epoch, weights: &[f64]) -> (Vec<f64>, f64) {
    let memory = Memory { weights: weights.to_vec(), ..Memory::default() };
    let mut learner = Learner::new(Rule::Sgd { rate: 0.0 }, Average::None, memory);
    let mut pass = Pass::new(epoch, &mut learner);
    let sentences: Vec<usize> = (0..epoch.lists.sentences()).collect();
    let loss = pass.sum(&sentences);
    let mut all = vec![0.0; epoch.lists.width()];
    for &(id, g) in &pass.found {
        all[id as usize] = g;
    }
    (all, loss)
}

impl Pass<'_> {
    fn batch(&mut self, sentences: &[usize]) -> f64 {
        let loss = self.sum(sentences);
        self.learner.step(&self.found, loss);
        if !self.epoch.lazy && matches!(self.learner.rule(), Rule::AdaGrad { .. }) {
            self.learner.refresh();
        }
        loss
    }

    /// Finds the gradient of the loss of some sentences; returns the loss.
    fn sum(&mut self, sentences: &[usize]) -> f64 {
        let share = self.epoch.factor / if self.epoch.mean { sentences.len() as f64 } else { 1.0 };
        for &s in sentences {
            match self.epoch.objective {
                Objective::Logistic | Objective::Hinge => self.add_pairs(s, share),
                _ => self.add_list(s, share),
            }
        }
        self.gradient.take(&mut self.found)
    }

    fn add_pairs(&mut self, s: usize, share: f64) {
        let epoch = self.epoch;
        for &(better, worse) in epoch.pairs.of(s) {
            let margin = self.differ(s, better, worse);
            let (loss, slope) = match epoch.objective {
                Objective::Logistic => (log_loss(margin), sigmoid(-margin)),
                _ => ((1.0 - margin).max(0.0), if margin < 1.0 { 1.0 } else { 0.0 }),
            };
            self.gradient.loss += share * loss;
            self.add_difference(-share * slope);
        }
    }

    /// Takes the difference of two candidates, brings its weights up to date, and returns w·x.
    fn differ(&mut self, s: usize, plus: usize, minus: usize) -> f64 {
        let mut difference = std::mem::take(&mut self.difference);
        self.epoch.lists.difference(s, plus, minus, &mut difference);
        let mut margin = 0.0;
        for &(column, value) in &difference {
            margin += self.learner.value(column) * value;
        }
        self.difference = difference;
        margin
    }

    fn add_difference(&mut self, factor: f64) {
        for &(column, value) in &self.difference {
            self.gradient.add(column, factor * value);
        }
    }

    fn add_list(&mut self, s: usize, share: f64) {
        let epoch = self.epoch;
        let span = epoch.lists.group(s);
        let gains = &epoch.gains[span.clone()];
        if gains.iter().all(|g| *g == gains[0]) {
            return;
        }
        for i in span.clone() {
            epoch.lists.each(s, i, |column, _| _ = self.learner.value(column));
        }
        let mut model = std::mem::take(&mut self.model);
        epoch.lists.scores(s, self.learner.weights(), &mut model);
        if epoch.objective == Objective::HopeFear {
            self.add_hope_fear(s, &model, gains, share);
        } else {
            let loss = slopes(epoch.objective, &model, gains, &mut self.coefficients);
            self.gradient.loss += share * loss;
            for (i, &coefficient) in span.zip(&self.coefficients) {
                epoch
                    .lists
                    .each(s, i, |column, value| self.gradient.add(column, share * coefficient * value));
            }
        }
        self.model = model;
    }

    fn add_hope_fear(&mut self, s: usize, model: &[f64], gains: &[f64], share: f64) {
        let (hope, fear) = HOPE_FEAR.choose(model, (gains, 0.0), &mut Vec::new(), |at| gains[at]);
        if let Some(loss) = lesson(&hope, &fear).filter(|loss| *loss > 0.0) {
            let first = self.epoch.lists.group(s).start;
            self.differ(s, first + hope.at, first + fear.at);
            self.gradient.loss += share * loss;
            self.add_difference(-share);
        }
    }
}

/// Writes ∂loss/∂M of each candidate to `out` and returns the loss.
fn slopes(objective: Objective, model: &[f64], gains: &[f64], out: &mut Vec<f64>) -> f64 {
    let gamma = match objective {
        Objective::Expected(gamma) | Objective::Softmax(gamma, _) => gamma,
        _ => 1.0,
    };
    let log_total = softmax(model, gamma, out);
    if let Objective::Softmax(_, sharpness) = objective {
        let mut goal = Vec::new();
        let goal_total = softmax(gains, sharpness, &mut goal);
        let mut loss = 0.0;
        for (i, q) in goal.into_iter().enumerate() {
            loss += q * ((sharpness * gains[i] - goal_total) - (gamma * model[i] - log_total));
            out[i] = gamma * (out[i] - q);
        }
        return loss;
    }
    let mean: f64 = out.iter().zip(gains).map(|(p, g)| p * g).sum();
    for (p, g) in out.iter_mut().zip(gains) {
        *p *= -gamma * (g - mean);
    }
    gains.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b)) - mean
}

/// Writes softmax(gamma · x) to `out` and returns the logarithm of its normaliser.
pub(crate) fn softmax(x: &[f64], gamma: f64, out: &mut Vec<f64>) -> f64 {
    let top = x.iter().fold(f64::NEG_INFINITY, |most, &x| most.max(gamma * x));
    out.clear();
    out.extend(x.iter().map(|x| (gamma * x - top).exp()));
    let total: f64 = out.iter().sum();
    for p in out.iter_mut() {
        *p /= total;
    }
    top + total.ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lists::tests::{packed, pools};
    use crate::pairs::{Sampling, sample};
    use proptest::prelude::*;

    const OBJECTIVES: [Objective; 5] = [
        Objective::Logistic,
        Objective::Hinge,
        Objective::HopeFear,
        Objective::Expected(0.8),
        Objective::Softmax(0.8, 2.0),
    ];

    fn learner(rule: Rule, weights: &[f64]) -> Learner {
        let memory = Memory { weights: weights.to_vec(), ..Memory::default() };
        Learner::new(rule, Average::Steps, memory)
    }

    fn close(a: &[f64], b: &[f64]) -> bool {
        a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-9 * (1.0 + x.abs()))
    }

    proptest! {
        /// Lazy shrinking is exact: same weights, same averages, whatever the loss and the bounds.
        #[test]
        fn lazy_equals_exact(
            pool in pools(),
            order in prop::collection::vec(0usize..5, 1..40),
            l1 in 0.0..0.6f64,
            rate in 0.01..0.5f64,
            low in prop::collection::vec(prop_oneof![Just(f64::NEG_INFINITY), Just(0.1), Just(0.3)], 7),
            batch in 1usize..4,
        ) {
            let lists = packed(&pool, 7);
            let order: Vec<usize> = order.into_iter().filter(|&s| s < lists.sentences()).collect();
            let gains: Vec<f64> = (0..lists.candidates()).map(|i| (i * 7 % 5) as f64 / 4.0).collect();
            let sampling = Sampling { draws: 10, keep: 3, threshold: 0.1, seed: 1, step: 1 };
            let pairs = sample(&lists, &gains, &sampling);
            let bounded = |fixed: bool| {
                let mut learner = learner(Rule::AdaGrad { rate, epsilon: 0.0, l1 }, &[0.3; 7]);
                low.iter().enumerate().for_each(|(j, &low)| learner.bound(j as u32, low, f64::INFINITY));
                if fixed {
                    learner.bound(6, 0.3, 0.3);
                }
                learner
            };
            for objective in OBJECTIVES {
                let run = |lazy, order: &[usize]| {
                    let epoch = Epoch {
                        lists: &lists, gains: &gains, pairs: &pairs, objective, batch, lazy, factor: 1.0, mean: false,
                    };
                    let mut learner = bounded(true);
                    let first = pass(&epoch, &mut learner, order);
                    let second = pass(&epoch, &mut learner, order);
                    (learner.memory().clone(), [first, second])
                };
                let ((lazy, losses), (exact, want)) = (run(true, &order), run(false, &order));
                prop_assert!(close(&lazy.weights, &exact.weights), "{:?} {:?}", lazy, exact);
                prop_assert!(close(&lazy.sums, &exact.sums), "{:?} {:?}", lazy, exact);
                prop_assert!(close(&losses, &want));
                if batch == 1 {
                    // The sums are those of the weights after each batch: run every beginning of the order.
                    let epoch = Epoch {
                        lists: &lists, gains: &gains, pairs: &pairs, objective, batch, lazy: true, factor: 1.0,
                        mean: false,
                    };
                    let after = |n: usize| {
                        let mut learner = bounded(false);
                        pass(&epoch, &mut learner, &order[..n]);
                        learner.memory().clone()
                    };
                    let mut sums = vec![0.0; 7];
                    for n in 1..=order.len() {
                        sums.iter_mut().zip(after(n).weights).for_each(|(sum, w)| *sum += w);
                    }
                    prop_assert!(close(&after(order.len()).sums, &sums));
                }
                prop_assert_eq!(lazy.weights[6], 0.3);
                prop_assert!(lazy.weights.iter().zip(&low).all(|(w, l)| w >= l));
            }
        }

        /// The gradient is the loss's slope, and what a step of plain gradient descent subtracts.
        #[test]
        fn gradients_are_slopes(pool in pools(), w in prop::collection::vec(-0.5..0.5f64, 7)) {
            let lists = packed(&pool, 7);
            let gains: Vec<f64> = (0..lists.candidates()).map(|i| (i * 7 % 5) as f64 / 4.0).collect();
            let sampling = Sampling { draws: 10, keep: 3, threshold: 0.1, seed: 1, step: 1 };
            let pairs = sample(&lists, &gains, &sampling);
            let order: Vec<usize> = (0..lists.sentences()).collect();
            for objective in [Objective::Logistic, Objective::Expected(0.8), Objective::Softmax(0.8, 2.0)] {
                let epoch = Epoch {
                    lists: &lists, gains: &gains, pairs: &pairs, objective, batch: 99, lazy: true, factor: 2.0,
                    mean: true,
                };
                let mut learner = learner(Rule::Sgd { rate: 1.0 }, &w);
                let total = pass(&epoch, &mut learner, &order);
                let (slopes, loss) = gradient(&epoch, &w);
                prop_assert_eq!(total, loss);
                let stepped: Vec<f64> = w.iter().zip(&slopes).map(|(w, g)| w - g).collect();
                prop_assert_eq!(learner.weights(), stepped);
                for j in 0..7 {
                    let at = |by: f64| {
                        let mut w = w.clone();
                        w[j] += by;
                        gradient(&epoch, &w).1
                    };
                    let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                    prop_assert!((slopes[j] - slope).abs() < 1e-6, "{:?}: {} {}", objective, slopes[j], slope);
                }
            }
        }
    }

    #[test]
    fn constant_features_never_move() {
        let row = |x: f64| vec![(0, x), (1, 0.1), (2, 7.7)];
        let lists = packed(&[vec![row(0.3), row(0.7), row(0.1)]], 3);
        let gains = [0.1, 0.7, 0.3];
        let pairs = Pairs { starts: vec![0, 2], pairs: vec![(1, 0), (1, 2)] };
        for objective in OBJECTIVES {
            let epoch = Epoch {
                lists: &lists,
                gains: &gains,
                pairs: &pairs,
                objective,
                batch: 1,
                lazy: true,
                factor: 1.0,
                mean: false,
            };
            let mut learner = learner(Rule::AdaGrad { rate: 0.1, epsilon: 0.0, l1: 0.0 }, &[0.3; 3]);
            pass(&epoch, &mut learner, &[0; 5]);
            assert_eq!(learner.weights()[1..], [0.3, 0.3], "{objective:?}");
            assert_ne!(learner.weights()[0], 0.3, "{objective:?}");
        }
    }
}
