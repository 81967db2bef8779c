//! Which source words are covered, as plain bits that can be changed in place.

use dragoman_phrase::coverage::Covered;

/// A set of covered words.
#[derive(Debug, Default, Clone)]
pub struct Cover {
    /// A bit for each position.
    pub bits: Vec<u64>,
    /// First open position.
    pub gap: usize,
    /// Number of covered words.
    pub count: usize,
}

impl Cover {
    /// Takes over a set.
    #[inline]
    pub fn load(&mut self, bits: &[u64], gap: u32, count: u32) {
        self.bits.clear();
        self.bits.extend_from_slice(bits);
        self.gap = gap as usize;
        self.count = count as usize;
    }

    /// Covers the open positions from `from` up to `to`.
    #[inline]
    pub fn add(&mut self, from: usize, to: usize) {
        for at in from..to {
            self.bits[at / 64] |= 1 << (at % 64);
        }
        self.count += to - from;
        if from == self.gap {
            self.gap = to;
            while let Some(&word) = self.bits.get(self.gap / 64) {
                let run = (word >> (self.gap % 64)).trailing_ones() as usize;
                self.gap += run;
                if run == 0 || !self.gap.is_multiple_of(64) {
                    break;
                }
            }
        }
    }

    /// The set as features see it.
    #[inline]
    pub fn view(&self, length: usize) -> Covered<'_> {
        Covered::of_bits(length, self.gap, self.count, &self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn behaves_like_flags(length in 1usize..200, spans in prop::collection::vec((0usize..200, 1usize..70), 0..30)) {
            let mut cover = Cover { bits: vec![0; length / 64 + 1], ..Cover::default() };
            let mut flags = vec![false; length];
            for (from, size) in spans {
                let to = (from + size).min(length);
                if from >= length || flags[from..to].contains(&true) {
                    continue;
                }
                cover.add(from, to);
                flags[from..to].fill(true);
                let view = cover.view(length);
                prop_assert_eq!(view.gap(), flags.iter().position(|f| !f).unwrap_or(length));
                prop_assert_eq!(view.count(), flags.iter().filter(|&&f| f).count());
                prop_assert!((0..length).all(|i| view.has(i) == flags[i]));
            }
        }
    }
}
