//! Online learning on fixed lists: mini-batches, five losses, four updaters (Green et al. 2013 and relatives).
//!
//! A batch costs what its active features cost, however many features there are.

use crate::lists::{Lists, first_max};
use crate::pairs::{Pairs, log_loss, sigmoid};

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

/// How weights follow a gradient.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Updater {
    /// w −= rate · g.
    Sgd {
        /// Step size (η).
        rate: f64,
    },
    /// w −= rate · g / (√G + epsilon), G = Σ g² (Duchi et al. 2011); then each weight with a G shrinks by
    /// `l1` times its own rate (FOBOS, Duchi & Singer 2009).
    AdaGrad {
        /// Step size (η).
        rate: f64,
        /// Added to √G.
        epsilon: f64,
        /// Strength of the L1 penalty (λ).
        l1: f64,
        /// Shrink idle weights only when they are next needed. False: all of them after every batch.
        lazy: bool,
    },
    /// w −= rate · g / (prior + Σ g²): linearised AROW (Green et al. 2013, equation 11).
    Arow {
        /// Step size (η).
        rate: f64,
        /// The precision before the first gradient, Σ₀⁻¹.
        prior: f64,
    },
    /// w −= min(cap, loss/|g|²) · g.
    PassiveAggressive {
        /// Largest step (C).
        cap: f64,
    },
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
    /// The update rule.
    pub updater: Updater,
    /// Sentences in a batch.
    pub batch: usize,
    /// Every loss is multiplied by this: 2 counts each pair twice.
    pub factor: f64,
    /// Divide a batch's loss by its number of sentences.
    pub mean: bool,
    /// Lower and upper limits of the weights.
    pub bounds: (&'a [f64], &'a [f64]),
    /// Which weights may move.
    pub movable: &'a [bool],
}

/// What an epoch changes.
#[derive(Debug, Clone)]
pub struct Learner {
    /// The weights.
    pub weights: Vec<f64>,
    /// Σ g² of each feature.
    pub squares: Vec<f64>,
    /// Sum of the weights after every batch so far; empty if no average is wanted.
    pub sums: Vec<f64>,
    /// Number of batches so far.
    pub time: u64,
}

/// The gradient of a batch: only its active features are ever looked at.
struct Gradient {
    sum: Vec<f64>,
    size: Vec<f64>,
    active: Vec<u32>,
    loss: f64,
}

impl Gradient {
    fn add(&mut self, column: u32, value: f64) {
        let j = column as usize;
        if value != 0.0 {
            if self.size[j] == 0.0 {
                self.active.push(column);
            }
            self.sum[j] += value;
            self.size[j] += value.abs();
        }
    }

    /// The next active feature and its gradient. Terms that cancel leave rounding errors, which `AdaGrad` would blow
    /// up to full steps: below 1e-12 of the terms' size they are nothing.
    fn pop(&mut self) -> Option<(usize, f64)> {
        let j = self.active.pop()? as usize;
        let (g, size) = (std::mem::take(&mut self.sum[j]), std::mem::take(&mut self.size[j]));
        Some((j, if g.abs() <= 1e-12 * size { 0.0 } else { g }))
    }
}

struct Pass<'a> {
    epoch: &'a Epoch<'a>,
    learner: &'a mut Learner,
    /// The batch after which each weight was last brought up to date.
    last: Vec<u64>,
    gradient: Gradient,
    difference: Vec<(u32, f64)>,
    model: Vec<f64>,
    coefficients: Vec<f64>,
}

/// One pass over the sentences of `order`; returns the summed loss. All weights are up to date afterwards.
pub fn pass(epoch: &Epoch, learner: &mut Learner, order: &[usize]) -> f64 {
    let width = learner.weights.len();
    let mut pass = Pass {
        epoch,
        last: vec![learner.time; width],
        learner,
        gradient: Gradient { sum: vec![0.0; width], size: vec![0.0; width], active: Vec::new(), loss: 0.0 },
        difference: Vec::new(),
        model: Vec::new(),
        coefficients: Vec::new(),
    };
    let mut total = 0.0;
    for batch in order.chunks(epoch.batch.max(1)) {
        total += pass.batch(batch);
    }
    pass.catch_up_all();
    total
}

impl Pass<'_> {
    fn batch(&mut self, sentences: &[usize]) -> f64 {
        self.learner.time += 1;
        self.gradient.loss = 0.0;
        let share = self.epoch.factor / if self.epoch.mean { sentences.len() as f64 } else { 1.0 };
        for &s in sentences {
            match self.epoch.objective {
                Objective::Logistic | Objective::Hinge => self.add_pairs(s, share),
                _ => self.add_list(s, share),
            }
        }
        let loss = self.gradient.loss;
        self.apply(loss);
        if let Updater::AdaGrad { lazy: false, .. } = self.epoch.updater {
            self.catch_up_all();
        }
        loss
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
            self.catch_up(column as usize, self.learner.time - 1);
            margin += self.learner.weights[column as usize] * value;
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
            epoch.lists.each(s, i, |column, _| self.catch_up(column as usize, self.learner.time - 1));
        }
        let mut model = std::mem::take(&mut self.model);
        epoch.lists.scores(s, &self.learner.weights, &mut model);
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
        let choose = |sign: f64| {
            let values: Vec<f64> = model.iter().zip(gains).map(|(m, g)| m + sign * g).collect();
            first_max(&values).unwrap_or(0)
        };
        let (hope, fear) = (choose(1.0), choose(-1.0));
        let loss = (model[fear] - model[hope]) + (gains[hope] - gains[fear]);
        if gains[hope] > gains[fear] && loss > 0.0 {
            let first = self.epoch.lists.group(s).start;
            self.differ(s, first + hope, first + fear);
            self.gradient.loss += share * loss;
            self.add_difference(-share);
        }
    }

    fn apply(&mut self, loss: f64) {
        let mut scale = 0.0;
        if let Updater::PassiveAggressive { cap } = self.epoch.updater {
            let movable = self.gradient.active.iter().filter(|&&j| self.epoch.movable[j as usize]);
            let square: f64 = movable.map(|&j| self.gradient.sum[j as usize].powi(2)).sum();
            scale = if square > 0.0 { (loss / square).min(cap) } else { 0.0 };
        }
        while let Some((j, g)) = self.gradient.pop() {
            if g != 0.0 && self.epoch.movable[j] {
                self.update(j, g, scale);
            }
        }
    }

    fn update(&mut self, j: usize, g: f64, scale: f64) {
        self.catch_up(j, self.learner.time - 1);
        let learner = &mut *self.learner;
        let mut w = learner.weights[j];
        match self.epoch.updater {
            Updater::Sgd { rate } => w -= rate * g,
            Updater::PassiveAggressive { .. } => w -= scale * g,
            Updater::Arow { rate, prior } => {
                learner.squares[j] += g * g;
                w -= rate * g / (prior + learner.squares[j]);
            }
            Updater::AdaGrad { rate, epsilon, l1, .. } => {
                learner.squares[j] += g * g;
                let own = rate / (learner.squares[j].sqrt() + epsilon);
                w = shrink(w - own * g, 0.0, l1 * own);
            }
        }
        let w = w.max(self.epoch.bounds.0[j]).min(self.epoch.bounds.1[j]);
        learner.weights[j] = w;
        self.last[j] = learner.time;
        if let Some(sum) = learner.sums.get_mut(j) {
            *sum += w;
        }
    }

    /// Shrinks weight `j` for the batches since it was last touched, up to batch `time`. Its rate did not change
    /// in between, so k shrinks are one of k times the amount; the sum for the average is an arithmetic series.
    fn catch_up(&mut self, j: usize, time: u64) {
        let idle = time.saturating_sub(self.last[j]);
        if idle == 0 {
            return;
        }
        self.last[j] = time;
        let learner = &mut *self.learner;
        let (idle, before) = (idle as f64, learner.weights[j]);
        let amount = match self.epoch.updater {
            Updater::AdaGrad { rate, epsilon, l1, .. }
                if learner.squares[j] > 0.0 && self.epoch.movable[j] =>
            {
                l1 * rate / (learner.squares[j].sqrt() + epsilon)
            }
            _ => 0.0,
        };
        let goal = 0f64.max(self.epoch.bounds.0[j]).min(self.epoch.bounds.1[j]);
        learner.weights[j] = shrink(before, goal, idle * amount);
        if let Some(sum) = learner.sums.get_mut(j) {
            let distance = (before - goal).abs();
            let steps = if amount > 0.0 { (distance / amount).floor().min(idle) } else { idle };
            let covered = steps * distance - amount * steps * (steps + 1.0) / 2.0;
            *sum += idle * goal + covered.copysign(before - goal);
        }
    }

    fn catch_up_all(&mut self) {
        for j in 0..self.last.len() {
            self.catch_up(j, self.learner.time);
        }
    }
}

/// Moves `w` toward `goal` by `amount`, and not beyond.
fn shrink(w: f64, goal: f64, amount: f64) -> f64 {
    let distance = w - goal;
    if amount == 0.0 {
        w
    } else if distance.abs() <= amount {
        goal
    } else {
        w - amount.copysign(distance)
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

    fn learner(width: usize) -> Learner {
        Learner { weights: vec![0.3; width], squares: vec![0.0; width], sums: vec![0.0; width], time: 0 }
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
            let high = vec![f64::INFINITY; 7];
            for objective in OBJECTIVES {
                let run = |lazy, order: &[usize]| {
                    let updater = Updater::AdaGrad { rate, epsilon: 0.0, l1, lazy };
                    let epoch = Epoch {
                        lists: &lists, gains: &gains, pairs: &pairs, objective, updater, batch, factor: 1.0,
                        mean: false, bounds: (&low, &high), movable: &[true, true, true, true, true, true, false],
                    };
                    let mut learner = learner(7);
                    let first = pass(&epoch, &mut learner, order);
                    let second = pass(&epoch, &mut learner, order);
                    (learner, [first, second])
                };
                let ((lazy, losses), (exact, want)) = (run(true, &order), run(false, &order));
                prop_assert!(close(&lazy.weights, &exact.weights), "{:?} {:?}", lazy, exact);
                prop_assert!(close(&lazy.sums, &exact.sums), "{:?} {:?}", lazy, exact);
                prop_assert!(close(&losses, &want));
                if batch == 1 {
                    // The sums are those of the weights after each batch: run every beginning of the order.
                    let updater = Updater::AdaGrad { rate, epsilon: 0.0, l1, lazy: true };
                    let epoch = Epoch {
                        lists: &lists, gains: &gains, pairs: &pairs, objective, updater, batch, factor: 1.0,
                        mean: false, bounds: (&low, &high), movable: &[true; 7],
                    };
                    let after = |n: usize| {
                        let mut learner = learner(7);
                        pass(&epoch, &mut learner, &order[..n]);
                        learner
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

        /// One step of plain gradient descent reveals the gradient: it is the loss's slope.
        #[test]
        fn gradients_are_slopes(pool in pools(), w in prop::collection::vec(-0.5..0.5f64, 7)) {
            let lists = packed(&pool, 7);
            let gains: Vec<f64> = (0..lists.candidates()).map(|i| (i * 7 % 5) as f64 / 4.0).collect();
            let sampling = Sampling { draws: 10, keep: 3, threshold: 0.1, seed: 1, step: 1 };
            let pairs = sample(&lists, &gains, &sampling);
            let order: Vec<usize> = (0..lists.sentences()).collect();
            let (low, high) = (vec![f64::NEG_INFINITY; 7], vec![f64::INFINITY; 7]);
            for objective in [Objective::Logistic, Objective::Expected(0.8), Objective::Softmax(0.8, 2.0)] {
                let step = |weights: &[f64]| {
                    let epoch = Epoch {
                        lists: &lists, gains: &gains, pairs: &pairs, objective,
                        updater: Updater::Sgd { rate: 1.0 }, batch: 99, factor: 2.0, mean: true,
                        bounds: (&low, &high), movable: &[true; 7],
                    };
                    let mut learner = Learner { weights: weights.to_vec(), sums: vec![], ..learner(7) };
                    let loss = pass(&epoch, &mut learner, &order);
                    (loss, learner.weights)
                };
                let (_, after) = step(&w);
                for j in 0..7 {
                    let at = |by: f64| {
                        let mut w = w.clone();
                        w[j] += by;
                        step(&w).0
                    };
                    let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                    prop_assert!((w[j] - after[j] - slope).abs() < 1e-6, "{:?}: {} {}", objective, w[j] - after[j], slope);
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
                updater: Updater::AdaGrad { rate: 0.1, epsilon: 0.0, l1: 0.0, lazy: true },
                batch: 1,
                factor: 1.0,
                mean: false,
                bounds: (&[-9.0; 3], &[9.0; 3]),
                movable: &[true; 3],
            };
            let mut learner = learner(3);
            pass(&epoch, &mut learner, &[0; 5]);
            assert_eq!(learner.weights[1..], [0.3, 0.3], "{objective:?}");
            assert_ne!(learner.weights[0], 0.3, "{objective:?}");
        }
    }
}
