//! Expected statistics under `P(e) ∝ exp(μ·w·h(e))`, and how they move with the weights (R13, section 4.1).

use super::line::Judged;
use super::share;

const TASK: usize = 16;
const BLOCK: usize = 1024;

/// The probability of each candidate within its sentence, and the corpus' expected statistics.
pub fn expect(scores: &[f64], mu: f64, pool: Judged<'_>) -> (Vec<f64>, Vec<f64>) {
    let mut chances = vec![0.0; scores.len()];
    let soften = |s: usize, chances: &mut [f64]| {
        let scores = &scores[pool.span(s)];
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        chances.iter_mut().zip(scores).for_each(|(p, score)| *p = (mu * (score - top)).exp());
        let norm: f64 = chances.iter().sum();
        for p in chances.iter_mut() {
            *p /= norm;
        }
        let mut mean = vec![0.0; pool.width];
        for (i, &p) in pool.span(s).zip(&*chances).filter(|(_, p)| **p != 0.0) {
            mean.iter_mut().zip(pool.row(i as u32)).for_each(|(sum, x)| *sum += p * x);
        }
        mean
    };
    let means = share::parts(by_sentence(&mut chances, pool), TASK, soften);
    let mut expected = vec![0.0; pool.width];
    for row in means {
        expected.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
    (chances, expected)
}

/// One number for each candidate, by sentence.
fn by_sentence<'a>(mut numbers: &'a mut [f64], pool: Judged<'_>) -> Vec<&'a mut [f64]> {
    let sentence = |s: usize| {
        let (own, rest) = std::mem::take(&mut numbers).split_at_mut(pool.span(s).len());
        numbers = rest;
        own
    };
    (0..pool.sentences()).map(sentence).collect()
}

/// How each candidate's model score moves the expectation of `values`, over μ: `P (q - E[q])` in its sentence.
///
/// Summed with the features this is a gradient by the weights: the `E[h]` of the paper's formula cancels, for the
/// factors of a sentence add up to nothing.
pub fn pull(chances: &[f64], mut values: Vec<f64>, pool: Judged<'_>) -> Vec<f64> {
    share::parts(by_sentence(&mut values, pool), TASK, |s, values| {
        let chances = &chances[pool.span(s)];
        let mean: f64 = chances.iter().zip(&*values).map(|(p, q)| p * q).sum();
        values.iter_mut().zip(chances).for_each(|(q, p)| *q = p * (*q - mean));
    });
    values
}

/// The statistics of each candidate times `slope`: what it is worth where the score has that derivative.
pub fn worth(slope: &[f64], pool: Judged<'_>) -> Vec<f64> {
    let width = pool.width.max(1);
    let mut found = vec![0.0; pool.statistics.len() / width];
    share::parts(found.chunks_mut(BLOCK).collect(), 1, |block, found| {
        let rows = &pool.statistics[block * BLOCK * width..];
        // Sums of four rows side by side: one does not wait for the other.
        let (fours, rest) = found.as_chunks_mut::<4>();
        for (four, rows) in fours.iter_mut().zip(rows.chunks_exact(4 * width)) {
            let mut sums = [-0.0; 4];
            for (k, v) in slope.iter().enumerate() {
                sums.iter_mut().enumerate().for_each(|(row, sum)| *sum += rows[row * width + k] * v);
            }
            *four = sums;
        }
        for (sum, row) in rest.iter_mut().zip(rows[4 * fours.len() * width..].chunks(width)) {
            *sum = row.iter().zip(slope).map(|(x, v)| x * v).sum();
        }
    });
    found
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
        assert_eq!(pull(&sharp, values.clone(), pool), [0.0, 0.0, 0.0]);
        assert_eq!(pull(&[0.5, 0.5, 1.0], values, pool), [-0.75, 0.75, 0.0]);
    }
}
