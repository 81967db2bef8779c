//! Long vectors on all cores: in blocks whose bounds do not depend on threads, so that sums do not either.
//!
//! What fits one block is done at once: the way to other threads would take longer.

use rayon::prelude::*;

/// Components that one task looks at.
pub const BLOCK: usize = 1 << 14;
/// Sums that grow side by side within a block, so that additions need not wait for each other.
const LANES: usize = 8;

/// The inner product.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    if a.len() <= BLOCK {
        return a.iter().zip(b).map(|(x, y)| x * y).sum();
    }
    let blocks = a.par_chunks(BLOCK).zip(b.par_chunks(BLOCK)).map(|(a, b)| {
        let mut sums = [0.0; LANES];
        for (a, b) in a.chunks(LANES).zip(b.chunks(LANES)) {
            sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (x, y))| *sum += x * y);
        }
        sums.iter().sum::<f64>()
    });
    blocks.collect::<Vec<f64>>().iter().sum()
}

/// Calls `change` for each component with its place; the sum of what it returns.
pub fn fill(to: &mut [f64], change: impl Fn(usize, &mut f64) -> f64 + Sync) -> f64 {
    let block = |(number, to): (usize, &mut [f64])| -> f64 {
        to.iter_mut().enumerate().map(|(i, to)| change(number * BLOCK + i, to)).sum()
    };
    if to.len() <= BLOCK {
        return block((0, to));
    }
    to.par_chunks_mut(BLOCK).enumerate().map(block).collect::<Vec<f64>>().iter().sum()
}

/// Adds `factor` times `x` where it is free.
pub fn add(to: &mut [f64], factor: f64, x: &[f64], free: &[bool]) {
    fill(to, |i, to| {
        if free[i] {
            *to += factor * x[i];
        }
        0.0
    });
}

/// `a` - `b`.
pub fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut made = a.to_vec();
    fill(&mut made, |i, made| {
        *made -= b[i];
        0.0
    });
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_leave_nothing_out() {
        for n in [0, 5, BLOCK, BLOCK + 1, 3 * BLOCK + 7] {
            // Whole numbers: exact in any order.
            let a: Vec<f64> = (0..n).map(|i| (i % 13) as f64 - 4.0).collect();
            let b: Vec<f64> = (0..n).map(|i| (i % 7) as f64 - 3.0).collect();
            let free: Vec<bool> = (0..n).map(|i| i % 3 > 0).collect();
            assert_eq!(dot(&a, &b), a.iter().zip(&b).map(|(x, y)| x * y).sum::<f64>(), "{n}");
            assert_eq!(difference(&a, &b), a.iter().zip(&b).map(|(x, y)| x - y).collect::<Vec<_>>(), "{n}");
            let mut sum = a.clone();
            add(&mut sum, 2.0, &b, &free);
            let wanted = |i: usize| if free[i] { a[i] + 2.0 * b[i] } else { a[i] };
            assert!(sum.iter().enumerate().all(|(i, sum)| *sum == wanted(i)), "{n}");
            let places = fill(&mut sum, |i, to| {
                *to = i as f64;
                1.0
            });
            assert!(places == n as f64 && sum.iter().enumerate().all(|(i, sum)| *sum == i as f64), "{n}");
        }
    }
}
