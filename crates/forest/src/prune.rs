//! Pruning by the best derivation of each edge (for lattices: Sixtus & Ortmanns 1999).

use crate::forest::Forest;
use crate::inside::Sum;

/// Scores that differ by less than this, relative to their size, may be the same sum in another order.
const SLACK: f64 = 1e-9;

impl Forest {
    /// Keeps the edges whose best derivation is worse than the very best by `beam` at most.
    #[must_use]
    pub fn within(&self, beam: f64) -> Self {
        let through = self.through(&self.scores, Sum::Max);
        let best = through.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.above(&through, best - beam)
    }

    /// Keeps about `most` edges, those on the best derivations. The best derivation of each edge that stays, stays as a
    /// whole; a few more edges than wanted may stay where derivations are equally good.
    #[must_use]
    pub fn densest(&self, most: usize) -> Self {
        let through = self.through(&self.scores, Sum::Max);
        let mut finite: Vec<f64> = through.iter().copied().filter(|value| value.is_finite()).collect();
        if most >= finite.len() {
            return self.above(&through, f64::NEG_INFINITY);
        }
        let (_, &mut floor, _) = finite.select_nth_unstable_by(most.max(1) - 1, |a, b| b.total_cmp(a));
        self.above(&through, floor)
    }

    /// `density` edges for each of so many source words; 0 keeps all.
    #[must_use]
    pub fn pruned(&self, density: f64, words: usize) -> Self {
        if density > 0.0 {
            return self.densest((density * words as f64).ceil() as usize);
        }
        self.above(&self.through(&self.scores, Sum::Max), f64::NEG_INFINITY)
    }

    fn above(&self, through: &[f64], floor: f64) -> Self {
        let floor = floor - SLACK * (1.0 + floor.abs());
        // Minus infinity less something is no number.
        let keep = |value: &f64| value.is_finite() && (floor.is_nan() || *value >= floor);
        let keep: Vec<bool> = through.iter().map(keep).collect();
        self.selected(self.nodes.wrapping_sub(1), &keep).expect("a part of a forest in order")
    }
}
