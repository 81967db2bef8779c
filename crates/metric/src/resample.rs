//! Sums of statistics over resampled and reshuffled corpora: what significance tests score.
//!
//! Each sample has its own random stream, so results depend on the seed alone, not on the number of threads.

use dragoman_base::random::{below, stream};
use rayon::prelude::*;

/// Statistic sums of `samples` bootstrap corpora: each draws as many sentences as there are, with replacement.
///
/// `rows` holds `width` statistics for each sentence. Two systems resampled under one seed draw the same
/// sentences, which makes the comparison a paired one.
pub fn bootstrap_sums(rows: &[f64], width: usize, samples: usize, seed: u64) -> Vec<f64> {
    let sentences = rows.len() / width;
    let mut sums = vec![0.0; samples * width];
    sums.par_chunks_mut(width).enumerate().for_each(|(sample, sum)| {
        let mut rng = stream(seed, sample as u64);
        for _ in 0..sentences {
            let at = below(&mut rng, sentences) * width;
            add(sum, &rows[at..at + width]);
        }
    });
    sums
}

/// Statistic sums of the first of two pseudo-systems in `samples` random relabellings; the second is the rest.
///
/// `rows` holds, sentence after sentence, the statistics of `2 * runs` outputs: those of system A's runs, then
/// those of B's. Under the null hypothesis the labels mean nothing, so each relabelling gives the first
/// pseudo-system a uniformly random half of every sentence's outputs: for one run each, a fair swap.
pub fn shuffle_sums(rows: &[f64], width: usize, runs: usize, samples: usize, seed: u64) -> Vec<f64> {
    let outputs = 2 * runs;
    let mut sums = vec![0.0; samples * width];
    sums.par_chunks_mut(width).enumerate().for_each(|(sample, sum)| {
        let mut rng = stream(seed, sample as u64);
        let mut order: Vec<usize> = (0..outputs).collect();
        for sentence in rows.chunks_exact(outputs * width) {
            // The first half of a Fisher-Yates shuffle; starting from any order gives a uniform half.
            for i in 0..runs {
                order.swap(i, i + below(&mut rng, outputs - i));
                add(sum, &sentence[order[i] * width..][..width]);
            }
        }
    });
    sums
}

fn add(sum: &mut [f64], row: &[f64]) {
    for (s, r) in sum.iter_mut().zip(row) {
        *s += r;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bootstrap_draws_each_sentence_equally_often() {
        // One statistic per sentence, one-hot: the sums are the counts of draws.
        let n = 5;
        let rows: Vec<f64> = (0..n * n).map(|i| f64::from(u8::from(i % n == i / n))).collect();
        let sums = bootstrap_sums(&rows, n, 20_000, 3);
        for sample in sums.chunks(n) {
            assert_eq!(sample.iter().sum::<f64>(), n as f64);
        }
        for sentence in 0..n {
            let mean = sums.iter().skip(sentence).step_by(n).sum::<f64>() / 20_000.0;
            assert!((mean - 1.0).abs() < 0.03, "{mean}");
        }
        // A draw with replacement: the variance of a count is (n - 1) / n.
        let var = sums.iter().step_by(n).map(|c| (c - 1.0).powi(2)).sum::<f64>() / 20_000.0;
        assert!((var - 0.8).abs() < 0.05, "{var}");
    }

    #[test]
    fn shuffles_reach_every_half_equally_often() {
        // Three runs of two systems on one sentence: 20 halves, told apart by powers of two.
        let rows: Vec<f64> = (0..6).map(|i| f64::from(1 << i)).collect();
        let samples = 40_000;
        let mut counts = std::collections::BTreeMap::new();
        for half in shuffle_sums(&rows, 1, 3, samples, 9) {
            assert_eq!((half as u32).count_ones(), 3, "a half of six outputs");
            *counts.entry(half as u32).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 20);
        assert!(counts.values().all(|&c| (1_800..2_200).contains(&c)), "{counts:?}");
    }

    #[test]
    fn threads_do_not_matter() {
        let rows: Vec<f64> = (0..600).map(f64::from).collect();
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| (bootstrap_sums(&rows, 3, 50, 1), shuffle_sums(&rows, 3, 2, 50, 1)))
        };
        assert_eq!(run(1), run(3));
    }
}
