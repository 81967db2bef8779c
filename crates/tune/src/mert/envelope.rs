//! The upper envelope of the lines `scores[i] + γ·slopes[i]` of one sentence.
//!
//! A line on the envelope is a point `(slope, score)` on the upper convex hull, and a corner of the envelope is
//! an edge of the hull. The hull is found by repeatedly taking the point farthest above a chord (quickhull):
//! most of a list lies below the first two chords and is looked at twice. That needs no sorting, and is faster
//! than the textbook stack even where the slopes come sorted (5 times on 500 lines of normal slopes): that one
//! pushes and pops every line, and no branch predictor can tell how often.

/// Finds envelopes; keeps its buffers from one sentence to the next.
#[derive(Debug, Default)]
pub struct Envelope {
    winners: Vec<u32>,
    above: Vec<u32>,
    spill: Vec<u32>,
    open: Vec<Chord>,
}

/// Lines that may still rise above the chord from `left` to `right`: `above[span]`, of which `apex` rises most.
#[derive(Debug, Clone, Copy)]
struct Chord {
    left: u32,
    right: u32,
    span: (usize, usize),
    apex: u32,
}

/// The winners at γ → -∞, γ = 0 and γ → +∞, as positions. Of parallel lines the higher wins, of equal ones the first.
#[derive(Debug, Clone, Copy)]
pub struct Landmarks {
    /// The smallest slope.
    pub left: u32,
    /// The largest score.
    pub top: u32,
    /// The largest slope.
    pub right: u32,
}

/// The lines of one sentence as points.
#[derive(Clone, Copy)]
struct Lines<'a> {
    slopes: &'a [f64],
    scores: &'a [f64],
}

/// What stays above one chord, and the highest of it.
struct Side {
    from: (f64, f64),
    run: f64,
    rise: f64,
    apex: u32,
    apex_at: (f64, f64),
    highest: f64,
}

impl Side {
    fn new(lines: Lines<'_>, left: u32, right: u32) -> Self {
        let (from, to) = (lines.point(left), lines.point(right));
        let (run, rise) = (to.0 - from.0, to.1 - from.1);
        Self { from, run, rise, apex: left, apex_at: from, highest: 0.0 }
    }

    /// Twice the area of the triangle over the chord: positive above it. Differences are taken first, so that
    /// nearly parallel lines lose no digits to the size of their slopes.
    fn height(&self, slope: f64, score: f64) -> f64 {
        (score - self.from.1) * self.run - self.rise * (slope - self.from.0)
    }

    /// Whether a line rises above the chord; the one that rises most becomes the apex.
    fn rises(&mut self, index: u32, (slope, score): (f64, f64)) -> bool {
        let height = self.height(slope, score);
        let parallel_above = height == self.highest && slope == self.apex_at.0 && score > self.apex_at.1;
        if height > self.highest || (height > 0.0 && parallel_above) {
            (self.apex, self.apex_at, self.highest) = (index, (slope, score), height);
        }
        height > 0.0
    }
}

impl Lines<'_> {
    fn point(&self, index: u32) -> (f64, f64) {
        (self.slopes[index as usize], self.scores[index as usize])
    }

    fn landmarks(&self) -> Landmarks {
        let first = (self.slopes[0], self.scores[0]);
        let (mut left, mut left_at) = (0, first);
        let (mut top, mut top_score) = (0, first.1);
        let (mut right, mut right_at) = (0, first);
        for (i, (&slope, &score)) in self.slopes.iter().zip(self.scores).enumerate().skip(1) {
            if slope <= left_at.0 && (slope < left_at.0 || score > left_at.1) {
                (left, left_at) = (i as u32, (slope, score));
            }
            if slope >= right_at.0 && (slope > right_at.0 || score > right_at.1) {
                (right, right_at) = (i as u32, (slope, score));
            }
            if score > top_score {
                (top, top_score) = (i as u32, score);
            }
        }
        Landmarks { left, top, right }
    }
}

impl Envelope {
    /// The winners from γ = -∞ to +∞ as positions in the slices, in order of strictly rising slope, and the
    /// winner at γ = 0 (the first of the highest scores). Of equal lines the first stands for all.
    ///
    /// The slices are not empty and as long as each other.
    pub fn find(&mut self, slopes: &[f64], scores: &[f64]) -> (&[u32], u32) {
        self.find_from(slopes, scores, None)
    }

    /// The same where the landmarks may be known.
    pub fn find_from(&mut self, slopes: &[f64], scores: &[f64], known: Option<Landmarks>) -> (&[u32], u32) {
        debug_assert!(!slopes.is_empty() && slopes.len() == scores.len());
        let lines = Lines { slopes, scores: &scores[..slopes.len()] };
        let Landmarks { left, top, right } = known.unwrap_or_else(|| lines.landmarks());
        self.winners.clear();
        self.winners.push(left);
        if slopes[left as usize] < slopes[right as usize] {
            self.above.resize(slopes.len(), 0);
            let (low, high) = (Side::new(lines, left, top), Side::new(lines, top, right));
            let kept = keep_above(lines, &low, &high, &mut self.above);
            self.split((left, top, right), (0, kept), lines);
            self.close_all(lines);
        }
        (&self.winners, top)
    }

    /// Adds the next winner, and drops before it those that only touch the envelope in a corner.
    fn win(&mut self, lines: Lines<'_>, line: u32) {
        while let [.., under, last] = self.winners[..] {
            let (under, last, next) = (lines.point(under), lines.point(last), lines.point(line));
            if (last.1 - under.1) * (next.0 - under.0) > (next.1 - under.1) * (last.0 - under.0) {
                break;
            }
            self.winners.pop();
        }
        self.winners.push(line);
    }

    /// Splits open chords at their highest line until none is left; chords close from left to right.
    fn close_all(&mut self, lines: Lines<'_>) {
        while let Some(Chord { left, right, span: (start, end), apex }) = self.open.pop() {
            if start == end {
                self.win(lines, right);
                continue;
            }
            self.split((left, apex, right), (start, end), lines);
        }
    }

    /// Opens the two chords beside `apex` with what rises above them of `above[start..end]`.
    fn split(
        &mut self,
        (left, apex, right): (u32, u32, u32),
        (start, end): (usize, usize),
        lines: Lines<'_>,
    ) {
        let split = lines.slopes[apex as usize];
        let (mut low, mut high) = (Side::new(lines, left, apex), Side::new(lines, apex, right));
        self.spill.clear();
        let mut cut = start;
        for at in start..end {
            let i = self.above[at];
            let point = lines.point(i);
            if point.0 < split {
                self.above[cut] = i;
                cut += usize::from(low.rises(i, point));
            } else if point.0 > split && high.rises(i, point) {
                self.spill.push(i);
            }
        }
        let end = cut + self.spill.len();
        self.above[cut..end].copy_from_slice(&self.spill);
        if apex != right {
            self.open.push(Chord { left: apex, right, span: (cut, end), apex: high.apex });
        }
        if apex != left {
            self.open.push(Chord { left, right: apex, span: (start, cut), apex: low.apex });
        }
    }
}

/// Writes the positions of the lines above one chord or the other, and returns how many there are. Above the bend of
/// two chords is above either.
fn keep_above(lines: Lines<'_>, low: &Side, high: &Side, above: &mut [u32]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has just been asked.
        return unsafe { keep_above_wide(lines, low, high, above) };
    }
    keep_above_from(0, 0, lines, low, high, above)
}

/// Four lines at a time: the same operations, so the same lines. Few are above, and only these are written.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn keep_above_wide(lines: Lines<'_>, low: &Side, high: &Side, above: &mut [u32]) -> usize {
    use std::arch::x86_64::{
        __m256d, _CMP_GT_OQ, _mm256_cmp_pd, _mm256_loadu_pd, _mm256_movemask_pd, _mm256_mul_pd, _mm256_or_pd,
        _mm256_set1_pd, _mm256_setzero_pd, _mm256_sub_pd,
    };
    let spread = |side: &Side| [side.from.0, side.from.1, side.run, side.rise].map(|x| _mm256_set1_pd(x));
    let rises = |[slope_from, score_from, run, rise]: [__m256d; 4], slope: __m256d, score: __m256d| {
        let up = _mm256_mul_pd(_mm256_sub_pd(score, score_from), run);
        let along = _mm256_mul_pd(rise, _mm256_sub_pd(slope, slope_from));
        _mm256_cmp_pd::<_CMP_GT_OQ>(_mm256_sub_pd(up, along), _mm256_setzero_pd())
    };
    let (low_wide, high_wide) = (spread(low), spread(high));
    let (slopes, _) = lines.slopes.as_chunks::<4>();
    let (scores, _) = lines.scores.as_chunks::<4>();
    let mut kept = 0;
    for (block, (slopes, scores)) in slopes.iter().zip(scores).enumerate() {
        // SAFETY: both are four numbers long.
        let (slope, score) = unsafe { (_mm256_loadu_pd(slopes.as_ptr()), _mm256_loadu_pd(scores.as_ptr())) };
        let either = _mm256_or_pd(rises(low_wide, slope, score), rises(high_wide, slope, score));
        let mut mask = _mm256_movemask_pd(either);
        while mask != 0 {
            above[kept] = 4 * block as u32 + mask.trailing_zeros();
            kept += 1;
            mask &= mask - 1;
        }
    }
    keep_above_from(4 * slopes.len(), kept, lines, low, high, above)
}

/// One line at a time, from `start`; no branch depends on the data.
fn keep_above_from(
    start: usize,
    mut kept: usize,
    lines: Lines<'_>,
    low: &Side,
    high: &Side,
    above: &mut [u32],
) -> usize {
    for (i, (&slope, &score)) in lines.slopes.iter().zip(lines.scores).enumerate().skip(start) {
        above[kept] = i as u32;
        kept += usize::from((low.height(slope, score) > 0.0) | (high.height(slope, score) > 0.0));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn winner(slopes: &[f64], scores: &[f64], gamma: f64) -> usize {
        let value = |i: usize| scores[i] + gamma * slopes[i];
        (0..slopes.len()).reduce(|best, i| if value(i) > value(best) { i } else { best }).expect("not empty")
    }

    fn corner(slopes: &[f64], scores: &[f64], pair: &[u32]) -> f64 {
        let (i, j) = (pair[0] as usize, pair[1] as usize);
        (scores[i] - scores[j]) / (slopes[j] - slopes[i])
    }

    /// The textbook method: sort by slope, one pass with a stack.
    fn by_stack(slopes: &[f64], scores: &[f64]) -> Vec<u32> {
        let mut order: Vec<usize> = (0..slopes.len()).collect();
        order.sort_by(|&i, &j| slopes[i].total_cmp(&slopes[j]).then(scores[j].total_cmp(&scores[i])));
        order.dedup_by(|next, kept| slopes[*next] == slopes[*kept]);
        let mut stack: Vec<usize> = Vec::new();
        for line in order {
            while let [.., under, top] = stack[..] {
                let (run, rise) = (slopes[line] - slopes[under], scores[line] - scores[under]);
                let height = (scores[top] - scores[under]) * run - rise * (slopes[top] - slopes[under]);
                if height > 0.0 {
                    break;
                }
                stack.pop();
            }
            stack.push(line);
        }
        stack.into_iter().map(|i| i as u32).collect()
    }

    #[test]
    fn equal_and_parallel_lines() {
        let mut envelope = Envelope::default();
        assert_eq!(envelope.find(&[0.0; 3], &[1.0, 2.0, 2.0]), (&[1][..], 1));
        assert_eq!(envelope.find(&[1.0, 1.0, 0.0, 0.0], &[5.0, 5.0, 5.0, 5.0]), (&[2, 0][..], 0));
        assert_eq!(envelope.find(&[-1.0, 0.0, 1.0], &[0.0, 0.0, 0.0]), (&[0, 2][..], 0));
        assert_eq!(envelope.find(&[-1.0, 0.0, 0.0, 1.0], &[0.0, 1.0, 1.0, 0.0]), (&[0, 1, 3][..], 1));
        assert_eq!(envelope.find(&[1e300], &[f64::MIN_POSITIVE]), (&[0][..], 0));
    }

    #[test]
    fn a_long_hull_needs_no_deep_recursion() {
        let slopes: Vec<f64> = (0..20_000).map(|i| f64::from(i) - 10_000.0).collect();
        let scores: Vec<f64> = slopes.iter().map(|a| -a * a).collect();
        assert_eq!(Envelope::default().find(&slopes, &scores).0.len(), slopes.len());
    }

    proptest! {
        /// Small integers: every comparison is exact, and equal lines and triple corners are frequent.
        #[test]
        fn winners_are_those_of_brute_force(points in prop::collection::vec((-4i8..5, -9i8..10), 1..40)) {
            let slopes: Vec<f64> = points.iter().map(|p| f64::from(p.0)).collect();
            let scores: Vec<f64> = points.iter().map(|p| f64::from(p.1)).collect();
            let mut envelope = Envelope::default();
            let (winners, top) = envelope.find(&slopes, &scores);
            prop_assert_eq!(top as usize, winner(&slopes, &scores, 0.0));
            prop_assert_eq!(winners, &by_stack(&slopes, &scores)[..]);
            let corners: Vec<f64> = winners.windows(2).map(|p| corner(&slopes, &scores, p)).collect();
            let mut edges = vec![-1e3];
            edges.extend(&corners);
            edges.push(1e3);
            for (k, edge) in edges.windows(2).enumerate() {
                prop_assert!(edge[0] < edge[1]);
                let middle = f64::midpoint(edge[0], edge[1]);
                prop_assert_eq!(winner(&slopes, &scores, middle), winners[k] as usize);
            }
        }

        #[test]
        fn real_numbers_agree_with_the_stack(points in prop::collection::vec((-1e3..1e3, -1e6..1e6), 1..200)) {
            let (slopes, scores): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
            let mut envelope = Envelope::default();
            prop_assert_eq!(envelope.find(&slopes, &scores).0, &by_stack(&slopes, &scores)[..]);
        }
    }
}
