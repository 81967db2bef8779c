//! Pairs of candidates that the metric tells apart, and a logistic ranker on them (Hopkins & May 2011).

use crate::lists::{Lists, sharded};
use dragoman_base::random::{below, stream};
use dragoman_optim::lbfgs::{self, Objective, Options, Outcome};
use rayon::prelude::*;
use std::cmp::Ordering;

/// How pairs are drawn from the list of a sentence.
#[derive(Debug, Clone, Copy)]
pub struct Sampling {
    /// Number of draws (Γ); both candidates are drawn with replacement.
    pub draws: usize,
    /// How many of the accepted pairs are kept, largest difference first (Ξ).
    pub keep: usize,
    /// Pairs that differ by less in gain are rejected; so are equal ones, whatever the threshold.
    pub threshold: f64,
    /// The run's seed.
    pub seed: u64,
    /// The run's step: each has draws of its own.
    pub step: u64,
}

/// Sampled pairs, grouped by sentence.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Pairs {
    /// Where each sentence's pairs start, and where the last end.
    pub starts: Vec<usize>,
    /// The candidate with the larger gain, and the other.
    pub pairs: Vec<(usize, usize)>,
}

impl Pairs {
    /// The pairs of sentence `s`.
    pub fn of(&self, s: usize) -> &[(usize, usize)] {
        &self.pairs[self.starts[s]..self.starts[s + 1]]
    }

    /// Number of sentences that gave at least one pair.
    pub fn sentences(&self) -> usize {
        self.starts.windows(2).filter(|w| w[0] < w[1]).count()
    }
}

/// Draws pairs for every sentence on all cores; sentence `s` has a random stream of its own.
pub fn sample(lists: &Lists, gains: &[f64], sampling: &Sampling) -> Pairs {
    let groups = (0..lists.sentences()).into_par_iter().with_min_len(8);
    let drawn: Vec<Vec<(usize, usize)>> =
        groups.map(|s| draw(s, &gains[lists.group(s)], lists.group(s).start, sampling)).collect();
    let mut pairs = Pairs { starts: vec![0], pairs: Vec::with_capacity(drawn.iter().map(Vec::len).sum()) };
    for of_sentence in drawn {
        pairs.pairs.extend(of_sentence);
        pairs.starts.push(pairs.pairs.len());
    }
    pairs
}

fn draw(s: usize, gains: &[f64], first: usize, sampling: &Sampling) -> Vec<(usize, usize)> {
    if gains.len() < 2 {
        return Vec::new();
    }
    let mut rng = stream(sampling.seed, (sampling.step << 32) ^ s as u64);
    // Few of the draws are among the largest differences: from time to time the others go, and what comes later must
    // be larger than all of them.
    let room = sampling.keep.saturating_mul(4).max(1);
    let mut accepted: Vec<Drawn> = Vec::with_capacity(room.min(sampling.draws));
    let mut floor = 0.0;
    for turn in 0..sampling.draws {
        let (i, j) = (below(&mut rng, gains.len()), below(&mut rng, gains.len()));
        let difference = gains[i] - gains[j];
        let size = difference.abs();
        if size >= sampling.threshold && size > floor {
            let (better, worse) = if difference > 0.0 { (i, j) } else { (j, i) };
            accepted.push((size, turn, (first + better, first + worse)));
            if accepted.len() == room {
                keep_largest(&mut accepted, sampling.keep);
                floor = accepted.iter().map(|entry| entry.0).fold(f64::INFINITY, f64::min);
            }
        }
    }
    keep_largest(&mut accepted, sampling.keep);
    accepted.sort_unstable_by(by_difference);
    accepted.into_iter().map(|entry| entry.2).collect()
}

/// A pair with its difference in gain and the turn in which it was drawn.
type Drawn = (f64, usize, (usize, usize));

/// Largest difference first, the earlier draw of equals.
fn by_difference(a: &Drawn, b: &Drawn) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

fn keep_largest(accepted: &mut Vec<Drawn>, count: usize) {
    if accepted.len() > count {
        accepted.select_nth_unstable_by(count, by_difference);
        accepted.truncate(count);
    }
}

/// Penalties on the weights: `l2/2 |w|² + pull/2 |w − start|²`.
#[derive(Debug, Clone, Copy)]
pub struct Penalty {
    /// Toward zero: 1/σ² of a Gaussian prior.
    pub l2: f64,
    /// Toward the start.
    pub pull: f64,
}

/// `2 Σ log(1 + exp(−w·x)) + penalty` over the difference vectors x: the loss of a classifier without bias that
/// sees each x as positive and −x as negative. Only features in which some pair differs are variables.
///
/// A language model's scores differ by tens where a penalty differs by one, and L-BFGS would take hundreds of steps along
/// the narrow valleys that this makes. So each feature is divided by the root of a typical curvature along it, and its
/// weight is multiplied by that.
struct Ranker<'a> {
    active: Vec<u32>,
    /// The unit of each variable.
    scales: Vec<f64>,
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    anchor: Vec<f64>,
    penalty: &'a Penalty,
    partials: Vec<Vec<f64>>,
}

impl<'a> Ranker<'a> {
    fn new(lists: &Lists, pairs: &Pairs, start: &[f64], penalty: &'a Penalty) -> Self {
        let mut place = vec![u32::MAX; lists.width()];
        let mut ranker = Self {
            active: Vec::new(),
            scales: Vec::new(),
            starts: vec![0],
            columns: Vec::new(),
            values: Vec::new(),
            anchor: Vec::new(),
            penalty,
            partials: Vec::new(),
        };
        let mut difference = Vec::new();
        for s in 0..lists.sentences() {
            for &(better, worse) in pairs.of(s) {
                lists.difference(s, better, worse, &mut difference);
                for &(column, value) in &difference {
                    let at = &mut place[column as usize];
                    if *at == u32::MAX {
                        *at = ranker.active.len() as u32;
                        ranker.active.push(column);
                        ranker.scales.push(penalty.l2 + penalty.pull);
                    }
                    ranker.scales[*at as usize] += TYPICAL * value * value;
                    ranker.columns.push(*at);
                    ranker.values.push(value);
                }
                ranker.starts.push(ranker.columns.len());
            }
        }
        ranker.rescale();
        ranker.anchor = ranker.gather(start);
        ranker
    }

    /// Turns the curvatures in `scales` into units, and the values into these; like ones are left alone.
    fn rescale(&mut self) {
        let Self { scales, columns, values, .. } = self;
        let most = scales.iter().copied().fold(0.0, f64::max);
        if scales.iter().all(|&curvature| curvature > most / LIKE) {
            scales.fill(1.0);
            return;
        }
        for scale in scales.iter_mut() {
            *scale = scale.sqrt();
        }
        for (value, &at) in values.iter_mut().zip(&*columns) {
            *value /= scales[at as usize];
        }
    }

    /// Weights or limits as the variables have them.
    fn gather(&self, of: &[f64]) -> Vec<f64> {
        self.active.iter().zip(&self.scales).map(|(&column, scale)| of[column as usize] * scale).collect()
    }
}

impl Objective for Ranker<'_> {
    fn evaluate(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
        let Penalty { l2, pull } = *self.penalty;
        let mut value = 0.0;
        for (((g, &x), &anchor), scale) in gradient.iter_mut().zip(x).zip(&self.anchor).zip(&self.scales) {
            let (l2, pull) = (l2 / (scale * scale), pull / (scale * scale));
            *g = l2 * x + pull * (x - anchor);
            value += 0.5 * (l2 * x * x + pull * (x - anchor) * (x - anchor));
        }
        let (starts, columns, values) = (&self.starts, &self.columns, &self.values);
        value
            + sharded(starts.len() - 1, gradient, &mut self.partials, |range, partial| {
                let mut loss = 0.0;
                for pair in range {
                    let span = starts[pair]..starts[pair + 1];
                    let entries = columns[span.clone()].iter().zip(&values[span]);
                    let margin: f64 = entries.clone().map(|(&c, v)| x[c as usize] * v).sum();
                    loss += 2.0 * log_loss(margin);
                    let slope = -2.0 * sigmoid(-margin);
                    for (&c, v) in entries {
                        partial[c as usize] += slope * v;
                    }
                }
                loss
            })
    }

    fn curvature(&mut self, x: &[f64], hessian: &mut Vec<f64>) -> bool {
        let n = x.len();
        if n > FEW {
            return false;
        }
        let prior = self.penalty.l2 + self.penalty.pull;
        hessian.clear();
        hessian.resize(n * n, 0.0);
        for (i, scale) in self.scales.iter().enumerate() {
            hessian[i * n + i] = prior / (scale * scale);
        }
        let (starts, columns, values) = (&self.starts, &self.columns, &self.values);
        sharded(starts.len() - 1, hessian, &mut self.partials, |range, partial| {
            let mut row = [0.0; FEW];
            for pair in range {
                let span = starts[pair]..starts[pair + 1];
                let entries = columns[span.clone()].iter().zip(&values[span]);
                let margin: f64 = entries.clone().map(|(&c, v)| x[c as usize] * v).sum();
                let rare = sigmoid(-margin.abs());
                let bend = 2.0 * rare * (1.0 - rare);
                entries.clone().for_each(|(&c, v)| row[c as usize] = *v);
                for (&c, v) in entries.clone() {
                    let at = c as usize;
                    // Below the diagonal and on it.
                    let sums = partial[at * n..][..=at].iter_mut();
                    sums.zip(&row).for_each(|(sum, other)| *sum += bend * v * other);
                }
                entries.for_each(|(&c, _)| row[c as usize] = 0.0);
            }
            0.0
        });
        true
    }
}

/// A typical second derivative of 2 log(1 + exp(−m)): a tenth of the largest, since most pairs have a margin.
const TYPICAL: f64 = 0.05;
/// Curvatures that differ by less than this factor make no narrow valley.
const LIKE: f64 = 30.0;
/// With so many features, second derivatives cost less than the steps that they save.
const FEW: usize = 64;

/// log(1 + exp(−m)), without overflow.
pub(crate) fn log_loss(m: f64) -> f64 {
    if m > 0.0 { (-m).exp().ln_1p() } else { m.exp().ln_1p() - m }
}

/// 1 / (1 + exp(−x)), without overflow.
pub(crate) fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
}

/// Fits weights to the pairs inside `lower..=upper`. Weights of features in which no pair differs go
/// to the minimum of their penalty.
pub fn fit(
    lists: &Lists,
    pairs: &Pairs,
    start: &[f64],
    (lower, upper): (&[f64], &[f64]),
    penalty: &Penalty,
    options: Options,
) -> (Vec<f64>, Outcome) {
    let mut ranker = Ranker::new(lists, pairs, start, penalty);
    let total = penalty.l2 + penalty.pull;
    let idle = |w: f64| if total > 0.0 { penalty.pull * w / total } else { w };
    let mut weights: Vec<f64> =
        (0..start.len()).map(|j| idle(start[j]).max(lower[j]).min(upper[j])).collect();
    let mut x = ranker.anchor.clone();
    let bounds = (ranker.gather(lower), ranker.gather(upper));
    let outcome = lbfgs::minimise(&mut ranker, &mut x, &bounds.0, &bounds.1, options);
    for (at, x) in x.into_iter().enumerate() {
        let j = ranker.active[at] as usize;
        // What ended at a limit is the limit itself, not what rounding leaves of it.
        weights[j] = if x <= bounds.0[at] {
            lower[j]
        } else if x >= bounds.1[at] {
            upper[j]
        } else {
            (x / ranker.scales[at]).max(lower[j]).min(upper[j])
        };
    }
    (weights, outcome)
}

/// The loss and its gradient at `weights`, for checks.
pub fn loss(
    lists: &Lists,
    pairs: &Pairs,
    weights: &[f64],
    penalty: &Penalty,
    start: &[f64],
) -> (f64, Vec<f64>) {
    let mut ranker = Ranker::new(lists, pairs, start, penalty);
    let (x, mut slope) = (ranker.gather(weights), vec![0.0; ranker.active.len()]);
    let value = ranker.evaluate(&x, &mut slope);
    let mut gradient = vec![0.0; weights.len()];
    for ((&column, g), scale) in ranker.active.iter().zip(slope).zip(&ranker.scales) {
        gradient[column as usize] = g * scale;
    }
    (value, gradient)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lists::tests::{packed, pools};
    use proptest::prelude::*;

    fn sampling(draws: usize, keep: usize, threshold: f64) -> Sampling {
        Sampling { draws, keep, threshold, seed: 3, step: 5 }
    }

    proptest! {
        #[test]
        fn pairs_are_the_largest_accepted(
            pool in pools(), gains in prop::collection::vec(0u8..4, 30), keep in 0usize..9,
        ) {
            let lists = packed(&pool, 7);
            let gains: Vec<f64> = gains[..lists.candidates()].iter().map(|&g| f64::from(g)).collect();
            let all = sample(&lists, &gains, &sampling(40, usize::MAX, 2.0));
            let some = sample(&lists, &gains, &sampling(40, keep, 2.0));
            for s in 0..lists.sentences() {
                prop_assert!(all.of(s).iter().all(|&(b, w)| gains[b] - gains[w] >= 2.0));
                prop_assert!(all.of(s).iter().all(|&(b, w)| lists.group(s).contains(&b) && lists.group(s).contains(&w)));
                let gaps: Vec<f64> = all.of(s).iter().map(|&(b, w)| gains[b] - gains[w]).collect();
                prop_assert!(gaps.is_sorted_by(|a, b| a >= b));
                prop_assert_eq!(some.of(s), &all.of(s)[..keep.min(all.of(s).len())]);
            }
        }

        #[test]
        fn the_gradient_is_the_slope(pool in pools(), w in prop::collection::vec(-1.0..1.0f64, 7)) {
            let lists = packed(&pool, 7);
            let gains: Vec<f64> = (0..lists.candidates()).map(|i| (i * 7 % 5) as f64).collect();
            let pairs = sample(&lists, &gains, &sampling(20, 8, 1.0));
            let penalty = Penalty { l2: 0.3, pull: 0.2 };
            let at = |w: &[f64]| loss(&lists, &pairs, w, &penalty, &[0.1; 7]);
            let (_, gradient) = at(&w);
            for j in 0..7 {
                let moved = |by: f64| {
                    let mut w = w.clone();
                    w[j] += by;
                    at(&w).0
                };
                let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                prop_assert!((slope - gradient[j]).abs() < 1e-6 * (1.0 + slope.abs()));
            }
        }

        #[test]
        fn the_curvature_is_the_slope_of_the_gradient(pool in pools(), w in prop::collection::vec(-1.0..1.0f64, 7)) {
            let lists = packed(&pool, 7);
            let gains: Vec<f64> = (0..lists.candidates()).map(|i| (i * 7 % 5) as f64).collect();
            let pairs = sample(&lists, &gains, &sampling(20, 8, 1.0));
            let penalty = Penalty { l2: 0.3, pull: 0.2 };
            let mut ranker = Ranker::new(&lists, &pairs, &[0.1; 7], &penalty);
            let (x, n) = (ranker.gather(&w), ranker.active.len());
            let mut hessian = Vec::new();
            prop_assert!(ranker.curvature(&x, &mut hessian));
            for j in 0..n {
                let mut moved = |by: f64| {
                    let (mut x, mut gradient) = (x.clone(), vec![0.0; n]);
                    x[j] += by;
                    ranker.evaluate(&x, &mut gradient);
                    gradient
                };
                let (up, down) = (moved(1e-5), moved(-1e-5));
                for i in j..n {
                    let bend = (up[i] - down[i]) / 2e-5;
                    prop_assert!((bend - hessian[i * n + j]).abs() < 1e-6, "{} {}", bend, hessian[i * n + j]);
                }
            }
        }

        /// Features in any units, inside bounds: by Newton's steps, and with so many features that L-BFGS does it, the
        /// answer satisfies the conditions of optimality in the units of each.
        #[test]
        fn the_fit_is_optimal_in_any_units(
            pool in pools(), units in prop::collection::vec(-2.0..2.0f64, 7), low in -0.3..0.1f64,
        ) {
            let gains: Vec<f64> = (0..30).map(|i| f64::from(i * 7 % 5)).collect();
            for many in [0u32, 70] {
                let mut pool: Vec<_> = pool.clone();
                for list in &mut pool {
                    for (i, row) in list.iter_mut().enumerate() {
                        for (c, v) in row.iter_mut() {
                            *v *= 10f64.powf(units[*c as usize]);
                        }
                        // Each differs a little between candidates, so that all are variables.
                        row.extend((7..7 + many).map(|c| (c, f64::from((i as u32 * c) % 7) / 7.0)));
                    }
                }
                let width = 7 + many as usize;
                let lists = packed(&pool, width);
                let pairs = sample(&lists, &gains[..lists.candidates()], &sampling(20, 8, 1.0));
                let (lower, upper) = (vec![low; width], vec![0.4; width]);
                let penalty = Penalty { l2: 0.3, pull: 0.2 };
                let patience = usize::from(many > 0) * 1000;
                let options = Options { iterations: 1000, decrease: 0.0, patience, ..Options::default() };
                let start = vec![0.1; width];
                let (w, outcome) = fit(&lists, &pairs, &start, (&lower, &upper), &penalty, options);
                let (_, gradient) = loss(&lists, &pairs, &w, &penalty, &start);
                for (j, g) in gradient.iter().enumerate().filter(|e| *e.1 != 0.0) {
                    let unit = if j < 7 { 10f64.powf(units[j]) } else { 1.0 };
                    prop_assert!(low <= w[j] && w[j] <= 0.4);
                    let inside = low < w[j] && w[j] < 0.4;
                    let held = (w[j] == low && *g > 0.0) || (w[j] == 0.4 && *g < 0.0);
                    prop_assert!(held || (inside && g.abs() < 1e-4 * (1.0 + unit)), "{} {} {:?}", w[j], g, outcome);
                }
            }
        }
    }

    #[test]
    fn a_difference_of_just_the_threshold_is_enough() {
        let lists = packed(&[vec![vec![], vec![]]], 1);
        let pairs = |gains: &[f64], threshold| sample(&lists, gains, &sampling(50, 50, threshold)).pairs;
        assert!(pairs(&[0.0, 0.5], 0.5).iter().all(|&pair| pair == (1, 0)));
        assert!(pairs(&[0.0, 0.5], 0.5).len() > 10 && pairs(&[0.0, 0.5], 0.51).is_empty());
        assert!(pairs(&[0.5, 0.5], 0.0).is_empty(), "equal candidates are no pair");
    }

    /// A language model's scores beside penalties: few features, which Newton's steps fit, and many.
    #[test]
    fn features_in_all_units_are_fitted_in_few_steps() {
        for (width, most) in [(17, 30), (90, 100)] {
            let mut rng = stream(7, width);
            let mut number = || below(&mut rng, 2001) as f64 / 1000.0 - 1.0;
            let mut row = || {
                let common = number();
                (0..width as u32)
                    .map(|c| (c, (number() + 2.0 * common) * 10f64.powi(c as i32 % 5 - 2)))
                    .collect()
            };
            let pool: Vec<Vec<Vec<(u32, f64)>>> = (0..40).map(|_| (0..20).map(|_| row()).collect()).collect();
            let lists = packed(&pool, width as usize);
            let worth = |row: &[(u32, f64)]| row.iter().map(|(c, v)| v * f64::from(*c % 7)).sum::<f64>();
            let gains: Vec<f64> = pool.iter().flatten().map(|row| (worth(row) / 10.0).sin()).collect();
            let pairs = sample(&lists, &gains, &sampling(100, 20, 0.05));
            let bounds = (vec![f64::NEG_INFINITY; width as usize], vec![f64::INFINITY; width as usize]);
            let penalty = Penalty { l2: 0.01, pull: 0.0 };
            let start = vec![0.1; width as usize];
            let (_, outcome) =
                fit(&lists, &pairs, &start, (&bounds.0, &bounds.1), &penalty, Options::default());
            assert!(outcome.converged && outcome.iterations < most, "{width}: {outcome:?}");
        }
    }

    #[test]
    fn a_planted_order_is_found_inside_the_limits() {
        let lists = packed(&[vec![vec![(0, 1.0)], vec![(1, 1.0)], vec![(0, 0.5), (2, 1.0)]]], 4);
        let pairs = sample(&lists, &[2.0, 0.0, 1.0], &sampling(100, 50, 0.5));
        let penalty = Penalty { l2: 1.0, pull: 0.0 };
        let bounds = ([-9.0; 4], [9.0, 9.0, 0.0, 9.0]);
        let (w, outcome) =
            fit(&lists, &pairs, &[1.0; 4], (&bounds.0, &bounds.1), &penalty, Options::default());
        assert!(outcome.converged && w[0] > 1.0 && w[1] < -0.5 && w[2] <= 0.0, "{w:?}");
        assert_eq!(w[3], 0.0, "a feature that never differs goes to the prior's mean");
    }
}
