//! Weights that every list sees through noise of its own: a smoother surface to climb.
//!
//! In list `s` the weight of feature `j` counts `1 + ν·u(s, j)` times, with `u` uniform on [-1, 1). A corpus of such
//! lists is worth most where a whole neighbourhood of weights is good, not where one lucky point is. Noise that
//! multiplies does not care about the scale of weights or features; scaling the features of a list is the same as
//! scaling its weights, so that line searches need not know.

use dragoman_base::random::{Rng, stream, unit};
use rayon::prelude::*;

/// The values of `copies` noisy copies of some rows, one copy after the other. List `s` has the rows
/// `lists[s]..lists[s + 1]`, row `i` the entries `rows[i]..rows[i + 1]`.
pub fn noisy_copies(
    lists: &[i64],
    rows: &[i64],
    columns: &[u32],
    values: &[f64],
    noise: f64,
    copies: usize,
    seed: u64,
) -> Vec<f64> {
    let mut made = vec![0.0; copies * values.len()];
    let mut parts = Vec::with_capacity(copies * lists.len());
    let mut rest = made.as_mut_slice();
    for copy in 0..copies {
        for (list, ends) in lists.windows(2).enumerate() {
            let entries = rows[ends[0] as usize] as usize..rows[ends[1] as usize] as usize;
            let (part, after) = rest.split_at_mut(entries.len());
            parts.push((copy * (lists.len() - 1) + list, entries, part));
            rest = after;
        }
    }
    parts.into_par_iter().for_each(|(index, entries, part)| {
        let own = stream(seed, index as u64).next_u64();
        for ((noisy, &column), &value) in part.iter_mut().zip(&columns[entries.clone()]).zip(&values[entries])
        {
            *noisy = value * (1.0 + noise * centred(own, column));
        }
    });
    made
}

/// Uniform on [-1, 1), the same for a feature wherever it occurs in a list.
fn centred(own: u64, column: u32) -> f64 {
    2.0 * unit(&mut stream(own, u64::from(column))) - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two lists of two rows, all with the features 0 and 1, and an empty list between them.
    fn factors(noise: f64, copies: usize, seed: u64) -> Vec<f64> {
        let (lists, rows) = ([0, 2, 2, 4], [0, 2, 4, 6, 8]);
        noisy_copies(&lists, &rows, &[0, 1, 0, 1, 0, 1, 0, 1], &[1.0; 8], noise, copies, seed)
    }

    #[test]
    fn a_list_has_one_factor_for_a_feature() {
        let made = factors(0.1, 2, 7);
        for list in made.chunks(4) {
            assert_eq!(list[..2], list[2..]);
        }
        let mut distinct = made.clone();
        distinct.sort_by(f64::total_cmp);
        distinct.dedup();
        assert_eq!(distinct.len(), 8, "two features in two lists of two copies");
    }

    #[test]
    fn seeds_repeat_and_differ() {
        assert_eq!(factors(0.1, 2, 7), factors(0.1, 2, 7));
        assert_ne!(factors(0.1, 2, 7), factors(0.1, 2, 8));
        assert_eq!(factors(0.1, 2, 7)[..8], factors(0.1, 1, 7));
        assert_eq!(factors(0.0, 3, 7), [1.0; 24]);
    }

    #[test]
    fn factors_are_uniform_around_one() {
        let n = 20_000;
        let ends: Vec<i64> = (0..=n).collect();
        let made = noisy_copies(&ends, &ends, &vec![3; n as usize], &vec![2.0; n as usize], 0.5, 1, 1);
        let spread =
            |of: fn(f64) -> f64| made.iter().map(|value| of(value / 2.0 - 1.0)).sum::<f64>() / n as f64;
        assert!(made.iter().all(|value| (1.0..3.0).contains(value)));
        assert!(spread(|x| x).abs() < 0.01);
        assert!((spread(|x| x * x) - 0.25 / 3.0).abs() < 0.002);
    }
}
