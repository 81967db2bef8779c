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
struct Ranker<'a> {
    active: Vec<u32>,
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
                    }
                    ranker.columns.push(*at);
                    ranker.values.push(value);
                }
                ranker.starts.push(ranker.columns.len());
            }
        }
        ranker.anchor = ranker.gather(start);
        ranker
    }

    fn gather(&self, of: &[f64]) -> Vec<f64> {
        self.active.iter().map(|&column| of[column as usize]).collect()
    }
}

impl Objective for Ranker<'_> {
    fn evaluate(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
        let Penalty { l2, pull } = *self.penalty;
        let mut value = 0.0;
        for ((g, &x), &anchor) in gradient.iter_mut().zip(x).zip(&self.anchor) {
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
}

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

/// Fits weights to the pairs by L-BFGS inside `lower..=upper`. Weights of features in which no pair differs go
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
    for (&column, x) in ranker.active.iter().zip(x) {
        weights[column as usize] = x;
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
    for (&column, g) in ranker.active.iter().zip(slope) {
        gradient[column as usize] = g;
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
    }

    #[test]
    fn a_difference_of_just_the_threshold_is_enough() {
        let lists = packed(&[vec![vec![], vec![]]], 1);
        let pairs = |gains: &[f64], threshold| sample(&lists, gains, &sampling(50, 50, threshold)).pairs;
        assert!(pairs(&[0.0, 0.5], 0.5).iter().all(|&pair| pair == (1, 0)));
        assert!(pairs(&[0.0, 0.5], 0.5).len() > 10 && pairs(&[0.0, 0.5], 0.51).is_empty());
        assert!(pairs(&[0.5, 0.5], 0.0).is_empty(), "equal candidates are no pair");
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
