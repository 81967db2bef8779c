//! Equation 4 and its gradient, on all cores, the same to the last bit whatever their number.
//!
//! Examples are rows of feature numbers. One pass over rows gives the value and what each example pulls at its three
//! orientations; one pass over the same matrix by features sums these to the gradient. Both work in blocks whose
//! bounds do not depend on threads, and blocks are summed in order.

use crate::ORIENTATIONS;
use dragoman_optim::lbfgs::Objective;
use rayon::prelude::*;

/// Examples that one task looks at.
const ROWS: usize = 4096;
/// Entries of the matrix that one task sums.
const ENTRIES: usize = 1 << 15;

type Three = [f64; ORIENTATIONS];

/// Examples in flat arrays.
#[derive(Debug, Default)]
pub struct Examples {
    /// Features of example i are `features[starts[i]..starts[i + 1]]`.
    starts: Vec<usize>,
    features: Vec<u32>,
    /// By feature: where its examples begin, and the examples.
    places: Vec<usize>,
    rows: Vec<u32>,
}

impl Examples {
    /// Takes rows of features, all below `count`, each with its end.
    pub fn new(starts: Vec<usize>, features: Vec<u32>, count: usize) -> Self {
        let mut places = vec![0; count + 1];
        for &feature in &features {
            places[feature as usize + 1] += 1;
        }
        for feature in 0..count {
            places[feature + 1] += places[feature];
        }
        let mut next = places.clone();
        let mut rows = vec![0; features.len()];
        for example in 0..starts.len() - 1 {
            for &feature in &features[starts[example]..starts[example + 1]] {
                rows[next[feature as usize]] = example as u32;
                next[feature as usize] += 1;
            }
        }
        Self { starts, features, places, rows }
    }

    /// Number of examples.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.places.len() - 1
    }

    fn row(&self, example: usize) -> &[u32] {
        &self.features[self.starts[example]..self.starts[example + 1]]
    }
}

/// Log probabilities of the orientations for some features (equation 3).
pub fn log_probabilities(weights: &[f64], features: &[u32]) -> Three {
    distribution(weights, features).0
}

/// Log probabilities, and probabilities.
fn distribution(weights: &[f64], features: &[u32]) -> (Three, Three) {
    let mut scores = [0.0; ORIENTATIONS];
    for &feature in features {
        let at = feature as usize * ORIENTATIONS;
        for (score, weight) in scores.iter_mut().zip(&weights[at..at + ORIENTATIONS]) {
            *score += weight;
        }
    }
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers = scores.map(|score| (score - most).exp());
    let total: f64 = powers.iter().sum();
    let log = total.ln();
    (scores.map(|score| score - most - log), powers.map(|power| power / total))
}

/// Equation 4 for one direction.
#[derive(Debug)]
pub struct Loss<'a> {
    examples: &'a Examples,
    /// Orientation counts of each example: the product of its weight and its target distribution.
    counts: &'a [Three],
    /// C.
    emphasis: f64,
    pulls: Vec<Three>,
}

impl<'a> Loss<'a> {
    /// `counts` has a row for each example.
    pub fn new(examples: &'a Examples, counts: &'a [Three], emphasis: f64) -> Self {
        assert_eq!(counts.len(), examples.len(), "counts for each example");
        Self { examples, counts, emphasis, pulls: vec![[0.0; ORIENTATIONS]; counts.len()] }
    }

    /// Fills in what each example pulls; gives the loss without the penalty.
    fn pull(&mut self, weights: &[f64]) -> f64 {
        let Self { examples, counts, emphasis, pulls } = self;
        let blocks = pulls.par_chunks_mut(ROWS).enumerate().map(|(block, pulls)| {
            let mut loss = 0.0;
            for (i, pull) in pulls.iter_mut().enumerate() {
                let example = block * ROWS + i;
                let (logs, believed) = distribution(weights, examples.row(example));
                let seen = &counts[example];
                let total: f64 = seen.iter().sum();
                for o in 0..ORIENTATIONS {
                    loss -= seen[o] * logs[o];
                    pull[o] = *emphasis * (total * believed[o] - seen[o]);
                }
            }
            loss
        });
        let losses: Vec<f64> = blocks.collect();
        *emphasis * losses.iter().sum::<f64>()
    }

    /// Adds the pulls of the examples of each feature to the gradient.
    fn sum(&self, gradient: &mut [f64]) {
        let Examples { places, rows, .. } = self.examples;
        let blocks: Vec<(usize, Vec<Three>)> = rows
            .par_chunks(ENTRIES)
            .enumerate()
            .map(|(block, entries)| {
                let from = block * ENTRIES;
                // The feature that the first entry belongs to: the last one that begins at or before it.
                let first = places.partition_point(|&place| place <= from) - 1;
                let (mut feature, mut sums) = (first, vec![[0.0; ORIENTATIONS]]);
                for (i, &example) in entries.iter().enumerate() {
                    while places[feature + 1] <= from + i {
                        feature += 1;
                        sums.push([0.0; ORIENTATIONS]);
                    }
                    let (sum, pull) = (&mut sums[feature - first], &self.pulls[example as usize]);
                    (0..ORIENTATIONS).for_each(|o| sum[o] += pull[o]);
                }
                (first, sums)
            })
            .collect();
        for (first, sums) in blocks {
            let at = first * ORIENTATIONS;
            gradient[at..].iter_mut().zip(sums.as_flattened()).for_each(|(g, sum)| *g += sum);
        }
    }

    /// Loss for each token, in nats: the logarithm of the perplexity.
    pub fn cross_entropy(&mut self, weights: &[f64]) -> f64 {
        let tokens: f64 = self.counts.iter().flatten().sum();
        self.pull(weights) / self.emphasis / tokens
    }
}

impl Objective for Loss<'_> {
    fn evaluate(&mut self, weights: &[f64], gradient: &mut [f64]) -> f64 {
        let loss = self.pull(weights);
        gradient.copy_from_slice(weights);
        self.sum(gradient);
        loss + weights.iter().map(|w| w * w).sum::<f64>() / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn examples(rows: &[Vec<u32>], count: usize) -> Examples {
        let mut starts = vec![0];
        for row in rows {
            starts.push(starts[starts.len() - 1] + row.len());
        }
        Examples::new(starts, rows.concat(), count)
    }

    /// Equation 4 as it is written.
    fn slow(rows: &[Vec<u32>], counts: &[Three], emphasis: f64, weights: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (row, seen) in rows.iter().zip(counts) {
            let total: f64 = seen.iter().sum();
            let score = |o: usize| row.iter().map(|&f| weights[f as usize * 3 + o]).sum::<f64>();
            let partition: f64 = (0..3).map(|o| score(o).exp()).sum();
            let aim: f64 = (0..3).map(|o| seen[o] / total * score(o)).sum();
            sum += total * (partition.ln() - aim);
        }
        weights.iter().map(|w| w * w).sum::<f64>() / 2.0 + emphasis * sum
    }

    proptest! {
        #[test]
        fn value_and_gradient_are_those_of_equation_4(
            rows in prop::collection::vec(prop::collection::btree_set(0u32..6, 1..5), 1..30),
            seen in prop::collection::vec(prop::array::uniform3(0u32..5), 30),
            weights in prop::collection::vec(-2.0..2.0f64, 18),
            emphasis in 0.01..2.0f64,
        ) {
            let rows: Vec<Vec<u32>> = rows.into_iter().map(|row| row.into_iter().collect()).collect();
            let counts: Vec<Three> =
                seen[..rows.len()].iter().map(|c| [f64::from(c[0]) + 0.5, f64::from(c[1]), f64::from(c[2])]).collect();
            let examples = examples(&rows, 6);
            let mut loss = Loss::new(&examples, &counts, emphasis);
            let mut gradient = vec![f64::NAN; 18];
            let value = loss.evaluate(&weights, &mut gradient);
            prop_assert!((value - slow(&rows, &counts, emphasis, &weights)).abs() < 1e-9 * value.abs().max(1.0));
            for i in 0..18 {
                let h = 1e-5;
                let at = |d: f64| {
                    let mut moved = weights.clone();
                    moved[i] += d;
                    slow(&rows, &counts, emphasis, &moved)
                };
                let slope = (at(h) - at(-h)) / (2.0 * h);
                prop_assert!((gradient[i] - slope).abs() < 1e-5 * slope.abs().max(1.0), "{i}: {} {slope}", gradient[i]);
            }
        }
    }

    #[test]
    fn threads_and_block_bounds_change_nothing() {
        // Enough for several blocks of rows and of entries; feature 3 has no example.
        let rows: Vec<Vec<u32>> =
            (0..20_000u32).map(|i| [0, 1 + i % 2, 4 + i % 7].into_iter().collect()).collect();
        let counts: Vec<Three> =
            (0..20_000u32).map(|i| [1.0 + f64::from(i % 3), f64::from(i % 5), 1.0]).collect();
        let examples = examples(&rows, 11);
        let weights: Vec<f64> = (0..33).map(|i| f64::from(i % 13) / 7.0 - 0.8).collect();
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut gradient = vec![0.0; 33];
            let value = pool.install(|| Loss::new(&examples, &counts, 0.1).evaluate(&weights, &mut gradient));
            (value, gradient)
        };
        let (value, gradient) = run(1);
        assert_eq!(run(3), (value, gradient.clone()));
        assert!((value - slow(&rows, &counts, 0.1, &weights)).abs() < 1e-8 * value);
        let mut plain = weights.clone();
        for (row, seen) in rows.iter().zip(&counts) {
            let logs = log_probabilities(&weights, row);
            let total: f64 = seen.iter().sum();
            for &feature in row {
                (0..3)
                    .for_each(|o| plain[feature as usize * 3 + o] += 0.1 * (total * logs[o].exp() - seen[o]));
            }
        }
        for (a, b) in gradient.iter().zip(&plain) {
            assert!((a - b).abs() < 1e-8 * b.abs().max(1.0), "{a} {b}");
        }
    }
}
