//! Expected statistics under `P(e) ∝ exp(μ·w·h(e))`, and how they move with the weights (R13, section 4.1).

use super::line::Judged;
use rayon::prelude::*;

const TASK: usize = 16;

/// The probability of each candidate within its sentence, and the corpus' expected statistics.
pub fn expect(scores: &[f64], mu: f64, pool: Judged<'_>) -> (Vec<f64>, Vec<f64>) {
    let softened = |s: usize| {
        let span = pool.span(s);
        let top = scores[span.clone()].iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut chances: Vec<f64> = scores[span].iter().map(|score| (mu * (score - top)).exp()).collect();
        let norm: f64 = chances.iter().sum();
        for p in &mut chances {
            *p /= norm;
        }
        chances
    };
    let sentences = || (0..pool.sentences()).into_par_iter().with_min_len(TASK);
    let lists: Vec<Vec<f64>> = sentences().map(softened).collect();
    let means: Vec<Vec<f64>> = sentences().map(|s| mean(&lists[s], pool, s)).collect();
    let mut expected = vec![0.0; pool.width];
    for row in means {
        expected.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
    (lists.concat(), expected)
}

fn mean(chances: &[f64], pool: Judged<'_>, sentence: usize) -> Vec<f64> {
    let mut sums = vec![0.0; pool.width];
    for (i, &p) in pool.span(sentence).zip(chances).filter(|(_, p)| **p != 0.0) {
        sums.iter_mut().zip(pool.row(i as u32)).for_each(|(sum, x)| *sum += p * x);
    }
    sums
}

/// How each candidate's model score moves the expectation of `values`, over μ: `P (q - E[q])` in its sentence.
///
/// Summed with the features this is a gradient by the weights: the `E[h]` of the paper's formula cancels, for the
/// factors of a sentence add up to nothing.
pub fn pull(chances: &[f64], values: &[f64], pool: Judged<'_>) -> Vec<f64> {
    let sentence = |s: usize| {
        let (chances, values) = (&chances[pool.span(s)], &values[pool.span(s)]);
        let mean: f64 = chances.iter().zip(values).map(|(p, q)| p * q).sum();
        chances.iter().zip(values).map(|(p, q)| p * (q - mean)).collect()
    };
    let lists: Vec<Vec<f64>> =
        (0..pool.sentences()).into_par_iter().with_min_len(TASK).map(sentence).collect();
    lists.concat()
}

/// The statistics of each candidate times `slope`: what it is worth where the score has that derivative.
pub fn worth(slope: &[f64], pool: Judged<'_>) -> Vec<f64> {
    let value = |row: &[f64]| row.iter().zip(slope).map(|(x, v)| x * v).sum();
    pool.statistics.par_chunks(pool.width.max(1)).with_min_len(1024).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expectations_sharpen_and_pulls_balance() {
        let statistics = [1.0, 0.0, 3.0, 1.0, 5.0, 2.0];
        let pool = Judged { starts: &[0, 2, 2, 3], statistics: &statistics, width: 2 };
        let scores = [1e3, 1e3, -4.0];
        let (chances, even) = expect(&scores, 0.5, pool);
        assert_eq!((chances, even), (vec![0.5, 0.5, 1.0], vec![7.0, 2.5]));
        let (sharp, one) = expect(&[2.0, 1.0, 0.0], 1e3, pool);
        assert_eq!(one, [6.0, 2.0]);
        let values = worth(&[1.0, 1.0], pool);
        assert_eq!(values, [1.0, 4.0, 7.0]);
        assert_eq!(pull(&sharp, &values, pool), [0.0, 0.0, 0.0]);
        assert_eq!(pull(&[0.5, 0.5, 1.0], &values, pool), [-0.75, 0.75, 0.0]);
    }
}
