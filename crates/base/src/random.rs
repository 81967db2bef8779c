//! Reproducible random streams: one seed, one independent generator per task, whatever the thread.

pub use rand::Rng;
use rand::SeedableRng;
pub use rand_xoshiro::Xoshiro256PlusPlus as Generator;

/// The generator of task `index` under `seed`. Tasks may run in any order on any thread.
pub fn stream(seed: u64, index: u64) -> Generator {
    // An odd multiplier spreads consecutive indices; `seed_from_u64` then mixes all bits (SplitMix64).
    Generator::seed_from_u64(seed.rotate_left(32) ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// A uniform number below `bound` (Lemire's multiply-shift; the bias is below 2^-32 for any bound we use).
pub fn below(rng: &mut Generator, bound: usize) -> usize {
    ((u128::from(rng.next_u64()) * bound as u128) >> 64) as usize
}

/// A uniform number from 0 up to 1.
#[inline]
pub fn unit(rng: &mut Generator) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ() {
        let draw = |seed, index| stream(seed, index).next_u64();
        assert_eq!(draw(7, 3), draw(7, 3));
        let mut seen: Vec<u64> = (0..50).flat_map(|s| (0..50).map(move |i| draw(s, i))).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 2500);
    }

    #[test]
    fn below_is_uniform() {
        let mut rng = stream(1, 1);
        let mut counts = [0u32; 5];
        for _ in 0..50_000 {
            counts[below(&mut rng, 5)] += 1;
        }
        assert!(counts.iter().all(|&c| (9_500..10_500).contains(&c)), "{counts:?}");
    }
}
