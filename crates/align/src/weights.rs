//! The conditional distribution of one link: weighing, summing, drawing.

use dragoman_base::random::{Generator, Rng};

/// Words are weighed so many at a time; rows are padded with weights of zero.
pub const LANES: usize = 8;

/// No link.
pub const NONE: u16 = u16::MAX;

/// The conditional distribution of one link, in whole lanes.
#[derive(Debug, Default)]
pub struct Weights {
    /// Weight of each given word.
    pub p: Vec<f32>,
    /// Sum of each eight weights.
    sums: Vec<f32>,
    /// Weight of having no link.
    pub null: f32,
    /// Sum of all weights.
    pub total: f32,
}

impl Weights {
    /// Makes room for `words` given words.
    pub fn resize(&mut self, words: usize) {
        let lanes = words.div_ceil(LANES);
        self.p.clear();
        self.p.resize(lanes * LANES, 0.0);
        self.sums.clear();
        self.sums.resize(lanes, 0.0);
    }

    /// Multiplies `p` by the words' own weights and, if there are any, jump probabilities; sums up.
    pub fn multiply(&mut self, weight: &[f32], jumps: Option<(&[f32], &[f32])>) {
        let lanes = self.p.chunks_exact_mut(LANES).zip(weight.chunks_exact(LANES)).zip(&mut self.sums);
        if let Some((onward, toward)) = jumps {
            let tables = onward.chunks_exact(LANES).zip(toward.chunks_exact(LANES));
            for (((p, w), sum), (a, b)) in lanes.zip(tables) {
                for k in 0..LANES {
                    p[k] *= w[k] * a[k] * b[k];
                }
                *sum = add(p);
            }
        } else {
            for ((p, w), sum) in lanes {
                for k in 0..LANES {
                    p[k] *= w[k];
                }
                *sum = add(p);
            }
        }
        self.total = self.sums.iter().sum::<f32>() + self.null;
    }

    /// Draws a link.
    pub fn draw(&self, random: &mut Generator) -> u16 {
        // 24 random bits: as many as fit a float without rounding up to 1.
        let mut left = (random.next_u64() >> 40) as f32 * (1.0 / (1 << 24) as f32) * self.total;
        for (lane, sum) in self.sums.iter().enumerate() {
            if left < *sum {
                let lane = lane * LANES;
                for (k, p) in self.p[lane..lane + LANES].iter().enumerate() {
                    left -= p;
                    if left < 0.0 {
                        return (lane + k) as u16;
                    }
                }
                // Rounding: the lane's sum and its parts differ in the last bit. The last word with a weight.
                let last = self.p[lane..lane + LANES].iter().rposition(|&p| p > 0.0);
                return last.map_or(NONE, |k| (lane + k) as u16);
            }
            left -= sum;
        }
        NONE
    }

    /// Adds the distribution to a row of the given words and, last, no link.
    pub fn add_to(&self, row: &mut [f32]) {
        let (norm, words) = (1.0 / self.total, row.len() - 1);
        for (sum, p) in row[..words].iter_mut().zip(&self.p) {
            *sum += p * norm;
        }
        row[words] += self.null * norm;
    }
}

fn add(p: &[f32]) -> f32 {
    ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]))
}
