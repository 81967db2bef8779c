//! Lists in few bits. A pass over all candidates is bound by memory, and asks for one or two of them: numbers of
//! 16 bits find the few that can be meant, whose true values then decide. Nothing that is chosen depends on them.

use crate::lists::{Lists, first_max};
/// Candidates whose numbers lie side by side. The last of a list is repeated to fill it.
pub(crate) use dragoman_metric::capability::LANES;
use rayon::prelude::*;

/// Codes reach from −`REACH` to `REACH`.
const REACH: f64 = 32767.0;
/// What rounding to f32 changes at most, relative to the number.
const NARROW: f64 = 1.0 / 16_777_216.0;

/// The dense features of all candidates as codes.
#[derive(Debug)]
pub(crate) struct Screen {
    sentences: Vec<Coded>,
}

/// The codes of a sentence, for each [`LANES`] candidates the codes of each feature.
#[derive(Debug)]
struct Coded {
    codes: Vec<i16>,
    grids: Vec<Grid>,
}

/// How a feature's values in a sentence became codes: `value = middle + step · code`, but for `slack`.
#[derive(Debug, Clone, Copy)]
struct Grid {
    column: u32,
    step: f64,
    /// By how much a product may be off for a weight of 1: codes and sums are rounded.
    slack: f64,
}

impl Screen {
    /// Codes the features of lists that have no sparse ones.
    pub fn pack(lists: &Lists) -> Self {
        let code = |s: usize| Coded::new(&lists.blocks(s).collect::<Vec<_>>());
        Self { sentences: (0..lists.sentences()).into_par_iter().with_min_len(8).map(code).collect() }
    }

    /// Writes w·h of every candidate of sentence `s`, less a number that is the same for all of them, and returns
    /// by how much each may be off. None if that cannot be said: numbers out of range, or an empty list.
    pub fn scores(&self, s: usize, w: &[f64], factors: &mut Vec<f32>, out: &mut Vec<f32>) -> Option<f64> {
        let Coded { codes, grids } = &self.sentences[s];
        let (mut reach, mut slack) = (0.0, 0.0);
        factors.clear();
        factors.extend(grids.iter().map(|grid| {
            let weight = w[grid.column as usize];
            let factor = weight * grid.step;
            reach += factor.abs();
            slack += weight.abs() * grid.slack;
            factor as f32
        }));
        if codes.is_empty() || !(reach < 1e30 && slack < 1e30) {
            return None;
        }
        out.resize(codes.len() / grids.len(), 0.0);
        products(codes, factors, out);
        Some(slack + 1e-33)
    }
}

impl Coded {
    fn new(columns: &[(u32, &[f64])]) -> Self {
        let size = columns.first().map_or(0, |(_, values)| values.len());
        let mut codes = vec![0; size.next_multiple_of(LANES) * columns.len()];
        let grids = columns
            .iter()
            .enumerate()
            .map(|(at, &(column, values))| {
                let grid = Grid::new(column, values, columns.len());
                for i in 0..size.next_multiple_of(LANES) {
                    let code = grid.1.code(values[i.min(size - 1)]);
                    codes[(i / LANES * columns.len() + at) * LANES + i % LANES] = code;
                }
                grid.0
            })
            .collect();
        Self { codes, grids }
    }
}

/// What turns values into codes.
#[derive(Clone, Copy)]
struct Coder {
    middle: f64,
    step: f64,
    codes_per_one: f64,
}

impl Coder {
    fn code(self, value: f64) -> i16 {
        // Shifted to be positive, so that cutting off rounds.
        let code = ((value - self.middle) * self.codes_per_one + (REACH + 0.5)) as i32 - REACH as i32;
        code.clamp(-(REACH as i32), REACH as i32) as i16
    }
}

impl Grid {
    /// The grid of some values, one of `count` features.
    fn new(column: u32, values: &[f64], count: usize) -> (Self, Coder) {
        let fold = |start: f64, more: fn(f64, f64) -> f64| values.iter().fold(start, |a, &b| more(a, b));
        let (low, high) = (fold(f64::INFINITY, f64::min), fold(f64::NEG_INFINITY, f64::max));
        if values.is_empty() {
            return (
                Self { column, step: 0.0, slack: 0.0 },
                Coder { middle: 0.0, step: 0.0, codes_per_one: 0.0 },
            );
        }
        let (middle, half) = (0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low);
        let per_one = REACH / half;
        let codes_per_one = if per_one.is_finite() { per_one } else { 0.0 };
        let coder = Coder { middle, step: half / REACH, codes_per_one };
        let off = |&x: &f64| (x - (middle + coder.step * f64::from(coder.code(x)))).abs();
        let coding = values.iter().map(off).fold(0.0, f64::max);
        let terms = count as f64 + 4.0;
        let size = low.abs().max(high.abs());
        let slack = coding + terms * (half * NARROW + size * f64::EPSILON);
        (Self { column, step: coder.step, slack: 1.01 * slack }, coder)
    }
}

/// Buffers of [`Lists::best`].
#[derive(Default)]
pub(crate) struct Room {
    pub scores: Vec<f64>,
    rough: Vec<f32>,
    factors: Vec<f32>,
    few: Vec<u32>,
}

impl Lists {
    /// The best candidate of a sentence by way of the short form, if that says which few it may be.
    pub(crate) fn best_screened(&self, s: usize, w: &[f64], room: &mut Room) -> Option<usize> {
        let span = self.group(s);
        let slack = self.screen()?.scores(s, w, &mut room.factors, &mut room.rough)?;
        let floor = floor(top(&room.rough), slack);
        at_least(&room.rough, floor, span.len(), &mut room.few);
        if let [only] = room.few[..] {
            return Some(span.start + only as usize);
        }
        if room.few.len() > span.len() / 8 + 8 {
            return None;
        }
        room.scores.clear();
        room.scores.extend(room.few.iter().map(|&at| self.score(s, span.start + at as usize, w)));
        first_max(&room.scores).map(|at| span.start + room.few[at] as usize)
    }
}

fn products(codes: &[i16], factors: &[f32], out: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has just been asked.
        return unsafe { products_wide(codes, factors, out) };
    }
    products_any(codes, factors, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn products_wide(codes: &[i16], factors: &[f32], out: &mut [f32]) {
    products_any(codes, factors, out);
}

#[allow(clippy::inline_always)] // else it would not be compiled for the caller's registers
#[inline(always)]
fn products_any(codes: &[i16], factors: &[f32], out: &mut [f32]) {
    let (lists, _) = codes.as_chunks::<LANES>();
    for (sums, block) in out.as_chunks_mut::<LANES>().0.iter_mut().zip(lists.chunks_exact(factors.len())) {
        let mut lanes = [0.0f32; LANES];
        for (codes, factor) in block.iter().zip(factors) {
            for (sum, &code) in lanes.iter_mut().zip(codes) {
                *sum += factor * f32::from(code);
            }
        }
        *sums = lanes;
    }
}

/// Positions below `count` of the numbers that are at least `floor`, in rising order. `numbers` are whole lanes.
pub(crate) fn at_least(numbers: &[f32], floor: f32, count: usize, out: &mut Vec<u32>) {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has just been asked.
        return unsafe { at_least_wide(numbers, floor, count, out) };
    }
    at_least_any(numbers, floor, count, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn at_least_wide(numbers: &[f32], floor: f32, count: usize, out: &mut Vec<u32>) {
    at_least_any(numbers, floor, count, out);
}

#[allow(clippy::inline_always)]
#[inline(always)]
fn at_least_any(numbers: &[f32], floor: f32, count: usize, out: &mut Vec<u32>) {
    out.clear();
    for (block, lanes) in numbers.as_chunks::<LANES>().0.iter().enumerate() {
        if lanes.iter().map(|x| u32::from(*x >= floor)).sum::<u32>() > 0 {
            let first = (block * LANES) as u32;
            out.extend((first..first + LANES as u32).zip(lanes).filter(|e| *e.1 >= floor).map(|e| e.0));
        }
    }
    out.truncate(out.partition_point(|&at| (at as usize) < count));
}

/// The largest number of whole lanes.
#[allow(clippy::inline_always)]
#[inline(always)]
pub(crate) fn top(numbers: &[f32]) -> f32 {
    let mut most = [f32::NEG_INFINITY; LANES];
    for lanes in numbers.as_chunks::<LANES>().0 {
        for (most, &x) in most.iter_mut().zip(lanes) {
            *most = if x > *most { x } else { *most };
        }
    }
    most.iter().fold(f32::NEG_INFINITY, |a, &b| if b > a { b } else { a })
}

/// A number that is surely below every f32 whose true value reaches `top` less twice the slack.
pub(crate) fn floor(top: f32, slack: f64) -> f32 {
    let floor = f64::from(top) - 2.0 * slack;
    (floor - 4.0 * NARROW * floor.abs()) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lists::tests::packed;
    use proptest::prelude::*;

    fn lists(rows: &[Vec<f64>]) -> Lists {
        let row = |values: &Vec<f64>| values.iter().enumerate().map(|(j, &v)| (j as u32, v)).collect();
        packed(&[rows.iter().map(row).collect()], rows[0].len())
    }

    proptest! {
        #[test]
        fn products_are_within_their_slack(
            rows in prop::collection::vec(prop::collection::vec(-5.0..5.0f64, 3), 1..40),
            w in prop::collection::vec(-2.0..2.0f64, 3),
            shift in prop_oneof![Just(0.0), Just(1e6), Just(-1e12)],
            size in prop_oneof![Just(1.0), Just(1e-300), Just(1e9)],
        ) {
            let rows: Vec<Vec<f64>> =
                rows.iter().map(|r| vec![r[0] + shift, r[1] * size, r[2]]).collect();
            let lists = lists(&rows);
            let (mut factors, mut out, mut exact) = (vec![], vec![], vec![]);
            let slack = Screen::pack(&lists).scores(0, &w, &mut factors, &mut out).unwrap();
            lists.scores(0, &w, &mut exact);
            for i in 0..rows.len() {
                for k in 0..rows.len() {
                    let off = (exact[i] - exact[k]) - (f64::from(out[i]) - f64::from(out[k]));
                    prop_assert!(off.abs() <= 2.0 * slack, "{off} {slack}");
                }
            }
            let largest = exact.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
            let best = exact.iter().position(|&x| x == largest).unwrap() as u32;
            let mut found = vec![];
            at_least(&out, floor(top(&out), slack), rows.len(), &mut found);
            prop_assert!(found.contains(&best) && found.is_sorted());
        }
    }

    proptest! {
        /// Few distinct values, so that there are ties: the first of equals stays the best.
        #[test]
        fn the_best_is_that_of_the_full_numbers(
            rows in prop::collection::vec(prop::collection::vec(-2i8..3, 3), 1..60),
            w in prop::collection::vec(-2i8..3, 3),
        ) {
            let rows: Vec<Vec<f64>> = rows.iter().map(|r| r.iter().map(|&x| 0.1 * f64::from(x) + 1.0).collect()).collect();
            let w: Vec<f64> = w.into_iter().map(f64::from).collect();
            let (plain, sharp) = (lists(&rows), lists(&rows));
            sharp.sharpen();
            prop_assert!(sharp.screen().is_some());
            prop_assert_eq!(sharp.best(&w), plain.best(&w));
        }
    }

    #[test]
    fn a_few_candidates_remain() {
        let mut seed = 1u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 40) as f64 / 1e6
        };
        let rows: Vec<Vec<f64>> = (0..500).map(|_| (0..20).map(|_| next()).collect()).collect();
        let (mut factors, mut out, mut found) = (vec![], vec![], vec![]);
        let w: Vec<f64> = (0..20).map(|_| next()).collect();
        let slack = Screen::pack(&lists(&rows)).scores(0, &w, &mut factors, &mut out).unwrap();
        at_least(&out, floor(top(&out), slack), 500, &mut found);
        assert!(found.len() < 4, "{found:?}");
    }

    #[test]
    fn numbers_out_of_range_are_left_to_the_exact_path() {
        let screen = Screen::pack(&lists(&[vec![1.0], vec![2.0]]));
        let (mut factors, mut out) = (vec![], vec![]);
        assert!(screen.scores(0, &[1.0], &mut factors, &mut out).is_some());
        for weight in [1e40, f64::INFINITY, f64::NAN] {
            assert!(screen.scores(0, &[weight], &mut factors, &mut out).is_none());
        }
    }
}
