//! Which few candidates can be hope or fear: gains in single precision from counts of 16 bits.

use crate::lists::Lists;
use crate::screen::{LANES, at_least, floor, top};

/// Statistics that are counts below 2¹⁶, for each [`LANES`] candidates an array for each statistic.
#[derive(Debug)]
pub(crate) struct Counts {
    width: usize,
    starts: Vec<usize>,
    blocks: Vec<u16>,
}

impl Counts {
    /// Packs rows of statistics; None if these are not small counts.
    pub fn pack(lists: &Lists, rows: &[f64], width: usize) -> Option<Self> {
        let small = |x: &f64| *x >= 0.0 && *x <= 65535.0 && x.fract() == 0.0;
        if !rows.iter().all(small) {
            return None;
        }
        let mut starts = vec![0];
        for s in 0..lists.sentences() {
            starts.push(starts[s] + lists.group(s).len().next_multiple_of(LANES) * width);
        }
        let mut blocks = vec![0; starts[lists.sentences()]];
        for (s, &start) in starts.iter().enumerate().take(lists.sentences()) {
            let span = lists.group(s);
            for i in 0..span.len().next_multiple_of(LANES) {
                let row = (span.start + i).min(span.end - 1) * width;
                let base = start + i / LANES * LANES * width + i % LANES;
                for (k, x) in rows[row..row + width].iter().enumerate() {
                    blocks[base + k * LANES] = *x as u16;
                }
            }
        }
        Some(Self { width, starts, blocks })
    }

    /// All counts of sentence `s`.
    pub fn of(&self, s: usize) -> &[u16] {
        &self.blocks[self.starts[s]..self.starts[s + 1]]
    }

    /// Statistic `k` of the candidate at `offset` of sentence `s`.
    pub fn get(&self, s: usize, offset: usize, k: usize) -> f64 {
        let block = self.starts[s] + offset / LANES * LANES * self.width;
        f64::from(self.blocks[block + k * LANES + offset % LANES])
    }
}

/// Rough model scores and gains of a list.
#[derive(Default)]
pub(crate) struct Rough {
    pub model: Vec<f32>,
    pub gains: Vec<f32>,
    /// By how much these may be off.
    pub slack: (f64, f64),
    pub factors: Vec<f32>,
    values: Vec<f32>,
}

impl Rough {
    /// The candidates, `count` of them in all, that may have the largest model score. Gains are not looked at.
    pub fn model_contenders(&self, count: usize, out: &mut Vec<u32>) {
        at_least(&self.model, floor(top(&self.model), self.slack.0), count, out);
    }

    /// The candidates, `count` of them in all, for which `m · model + g · gain` may be the largest.
    pub fn contenders(&mut self, (m, g): (f32, f32), count: usize, out: &mut Vec<u32>) {
        debug_assert_eq!(self.model.len(), self.gains.len());
        let Self { model, gains, values, .. } = self;
        values.resize(model.len(), 0.0);
        let top = mix((m, model), (g, gains), values);
        // A sum is rounded once, to a part of itself that the slack of its larger term covers.
        let slack = f64::from(m.abs()) * self.slack.0 + f64::from(g.abs()) * self.slack.1;
        at_least(values, floor(top, slack), count, out);
    }
}

fn mix(model: (f32, &[f32]), gains: (f32, &[f32]), out: &mut [f32]) -> f32 {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has just been asked.
        return unsafe { mix_wide(model, gains, out) };
    }
    mix_any(model, gains, out)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn mix_wide(model: (f32, &[f32]), gains: (f32, &[f32]), out: &mut [f32]) -> f32 {
    mix_any(model, gains, out)
}

/// Weighted sums of model scores and gains; returns the largest.
#[allow(clippy::inline_always)] // else it would not be compiled for the caller's registers
#[inline(always)]
fn mix_any((m, model): (f32, &[f32]), (g, gains): (f32, &[f32]), out: &mut [f32]) -> f32 {
    for ((out, model), gain) in out.iter_mut().zip(model).zip(gains) {
        *out = m * model + g * gain;
    }
    top(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lists::tests::packed;

    #[test]
    fn counts_are_small_and_whole() {
        let lists = packed(&[vec![vec![]], vec![], vec![vec![]; 20]], 1);
        let rows: Vec<f64> = (0..63).map(f64::from).collect();
        let counts = Counts::pack(&lists, &rows, 3).unwrap();
        assert_eq!((counts.of(0).len(), counts.of(1).len(), counts.of(2).len()), (48, 0, 96));
        for (candidate, row) in rows.chunks(3).enumerate() {
            let (s, offset) = if candidate == 0 { (0, 0) } else { (2, candidate - 1) };
            assert_eq!((0..3).map(|k| counts.get(s, offset, k)).collect::<Vec<_>>(), row);
        }
        for bad in [0.5, 7e4, -1.0, f64::NAN] {
            assert!(Counts::pack(&lists, &[bad; 63], 3).is_none());
        }
    }
}
