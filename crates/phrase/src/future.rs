//! Future cost: the best that can still be made of the open words, phrase by phrase, in isolation.

use crate::coverage::Covered;

/// Estimates for open runs of source words.
#[derive(Debug)]
pub struct Future {
    /// `inner[i * (width + 1) + k]`: the run of `k` words from `i`.
    inner: Vec<f32>,
    width: usize,
    /// `tail[i]`: the run from `i` to the end of the sentence.
    tail: Vec<f32>,
}

impl Future {
    /// For a sentence of `length` words, of which runs up to `width` may stay open between covered words. `best` is
    /// the best option of a span (from, to), minus infinity where there is none; no option is longer than `longest`.
    pub fn new(length: usize, width: usize, longest: usize, best: impl Fn(usize, usize) -> f32) -> Self {
        let width = width.min(length);
        let mut inner = vec![f32::NEG_INFINITY; (length + 1) * (width + 1)];
        let mut tail = vec![f32::NEG_INFINITY; length + 1];
        inner[length * (width + 1)] = 0.0;
        tail[length] = 0.0;
        for from in (0..length).rev() {
            let row = from * (width + 1);
            inner[row] = 0.0;
            for size in 1..=longest.min(length - from) {
                let first = best(from, from + size);
                if first == f32::NEG_INFINITY {
                    continue;
                }
                tail[from] = tail[from].max(first + tail[from + size]);
                let after = (from + size) * (width + 1);
                for whole in size..=width.min(length - from) {
                    inner[row + whole] = inner[row + whole].max(first + inner[after + whole - size]);
                }
            }
        }
        Self { inner, width, tail }
    }

    /// The estimate of everything that is still open.
    pub fn of(&self, covered: &Covered<'_>) -> f32 {
        covered.gaps().map(|(from, to)| self.run(from, to)).sum()
    }

    fn run(&self, from: usize, to: usize) -> f32 {
        if to + 1 == self.tail.len() {
            self.tail[from]
        } else {
            self.inner[from * (self.width + 1) + to - from]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::{Coverages, EMPTY};
    use proptest::prelude::*;

    /// The best way to cut a run into phrases, by trying all of them.
    fn slow(from: usize, to: usize, best: &dyn Fn(usize, usize) -> f32) -> f32 {
        if from == to {
            return 0.0;
        }
        (from + 1..=to).map(|cut| best(from, cut) + slow(cut, to, best)).fold(f32::NEG_INFINITY, f32::max)
    }

    proptest! {
        #[test]
        fn equals_the_best_of_all_segmentations(costs in prop::collection::vec(-8i8..0, 64), from in 1usize..7, size in 1usize..4, longest in 1usize..4) {
            let length = 8;
            let best = |a: usize, b: usize| {
                if b - a <= longest && (b - a == 1 || costs[a * 8 + b % 8] < -2) { f32::from(costs[a * 8 + b % 8]) } else { f32::NEG_INFINITY }
            };
            let mut all = Coverages::new(length);
            let to = (from + size).min(length);
            let covered = all.with(EMPTY, from, to);
            let future = Future::new(length, 6, longest, best);
            let want = slow(0, from, &best) + slow(to, length, &best);
            prop_assert_eq!(future.of(&all.get(covered)), want);
            prop_assert_eq!(future.of(&all.get(EMPTY)), slow(0, length, &best));
        }
    }
}
