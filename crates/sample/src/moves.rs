//! The operators (Arun et al. 2009; Haddow et al. 2011, 2.2.2): where they may act, and the draw.

use super::chain::Chain;
use super::judge::Judge;
use super::neighbourhood::{Neighbourhood, Scratch};
use dragoman_base::random::{Generator, below, unit};
use dragoman_base::{Error, Result};

/// How often each operator is drawn: shares, of any sum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mix {
    /// MERGE-SPLIT: at a position between two source words, the phrases on both sides are merged, split or
    /// translated anew.
    pub merge: f64,
    /// REORDER: two phrases change places.
    pub reorder: f64,
    /// RETRANSLATE: another translation of one phrase.
    pub retranslate: f64,
    /// Translations of a span that are always among the neighbours; of the others, number i (from 0 on, best first) is
    /// with the chance width / (i + 1), and weighs as much more. 0: all are.
    pub width: usize,
}

impl Mix {
    /// An error unless the shares make sense.
    pub fn check(&self) -> Result<()> {
        let shares = [self.merge, self.reorder, self.retranslate];
        if shares.iter().all(|share| *share >= 0.0 && share.is_finite()) && shares.iter().sum::<f64>() > 0.0 {
            return Ok(());
        }
        Err(Error::Invalid(format!(
            "expected shares of operators that are not negative nor all zero, found {shares:?}"
        )))
    }
}

impl Chain<'_> {
    /// Draws an operator and a place and lists the neighbourhood there; false if nothing can change there.
    ///
    /// Whatever member of the neighbourhood were the current derivation, the same neighbourhood would be drawn with
    /// the same probability (but for the chances that [`draw`] makes up for): positions between words do not change; neither does the number of phrases by an exchange
    /// or another translation.
    pub fn look(
        &mut self,
        judge: &mut impl Judge,
        mix: &Mix,
        rng: &mut Generator,
        scratch: &mut Scratch,
        neighbourhood: &mut Neighbourhood,
    ) -> bool {
        if self.is_empty() {
            return false;
        }
        let at = unit(rng) * (mix.merge + mix.reorder + mix.retranslate);
        if at < mix.merge {
            self.look_between(judge, mix.width, rng, scratch, neighbourhood)
        } else if at < mix.merge + mix.reorder {
            self.look_across(judge, rng, scratch, neighbourhood)
        } else {
            let at = below(rng, self.len());
            self.words(judge, scratch, neighbourhood, at, (mix.width, rng));
            true
        }
    }

    /// MERGE-SPLIT at a random position. Phrases that do not follow each other in the target cannot be merged: one of
    /// them is translated anew.
    fn look_between(
        &mut self,
        judge: &mut impl Judge,
        width: usize,
        rng: &mut Generator,
        scratch: &mut Scratch,
        neighbourhood: &mut Neighbourhood,
    ) -> bool {
        let length = self.ready.sentence().len();
        if length < 2 {
            return false;
        }
        let cut = 1 + below(rng, length - 1);
        let (one, from, to) = self.covering(cut - 1);
        if to > cut {
            self.pieces(judge, scratch, neighbourhood, ((one, one + 1), (from, cut, to)), (width, rng));
            return true;
        }
        let (two, _, end) = self.covering(cut);
        if two == one + 1 {
            self.pieces(judge, scratch, neighbourhood, ((one, one + 2), (from, cut, end)), (width, rng));
        } else {
            let at = if below(rng, 2) == 0 { one } else { two };
            self.words(judge, scratch, neighbourhood, at, (width, rng));
        }
        true
    }

    /// The phrase that covers a source word, and its span.
    fn covering(&self, word: usize) -> (usize, usize, usize) {
        let options = self.ready.options();
        for (at, &option) in self.phrases.iter().enumerate() {
            let opt = options.get(option);
            let (from, to) = (opt.from as usize, opt.to as usize);
            if from <= word && word < to {
                return (at, from, to);
            }
        }
        unreachable!("every source word is covered")
    }

    /// REORDER of a random phrase and another one that is not further behind it than the distortion limit lets any
    /// two be.
    fn look_across(
        &mut self,
        judge: &mut impl Judge,
        rng: &mut Generator,
        scratch: &mut Scratch,
        neighbourhood: &mut Neighbourhood,
    ) -> bool {
        let count = self.len();
        if count < 2 || self.far == 0 {
            return false;
        }
        let first = below(rng, count - 1);
        let reach = (count - 1 - first).min(self.far + 1);
        let last = first + 1 + below(rng, reach);
        self.exchange(judge, scratch, neighbourhood, (first, last))
    }

    /// Makes a member of the neighbourhood the current derivation.
    pub fn take(
        &mut self,
        judge: &mut impl Judge,
        scratch: &mut Scratch,
        neighbourhood: &Neighbourhood,
        member: usize,
    ) {
        if member == neighbourhood.current {
            return;
        }
        let mut sequence = std::mem::take(&mut scratch.sequence);
        neighbourhood.options(self, member, &mut sequence);
        self.replace(judge, scratch, neighbourhood.window, &sequence);
        scratch.sequence = sequence;
    }
}

/// Draws a member of a neighbourhood with probability proportional to exp(score / temperature), over the chance that the
/// member had to be there.
///
/// A neighbourhood S that is drawn member by member has, seen from y, the probability of all its members' chances but
/// y's own: P(S | y) = c(S) / p(y). So the draw by exp(score / T) / p makes exp(score(y) / T) P(S | y) P(y' | S)
/// symmetric in y and y': the chain stays reversible.
pub fn draw(
    neighbourhood: &Neighbourhood,
    temperature: f64,
    rng: &mut Generator,
    shares: &mut Vec<f64>,
) -> usize {
    let sharp = 1.0 / temperature;
    shares.clear();
    shares.extend(neighbourhood.scores.iter().map(|score| score * sharp));
    neighbourhood.lift(shares);
    let top = shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for share in shares.iter_mut() {
        *share = exp(*share - top);
    }
    let mut left = unit(rng) * shares.iter().sum::<f64>();
    for (member, share) in shares.iter().enumerate() {
        left -= share;
        if left < 0.0 {
            return member;
        }
    }
    // What rounding left over: the last one that has any share.
    shares.iter().rposition(|share| *share > 0.0).unwrap_or(neighbourhood.current)
}

/// e to the power of a number that is not positive, to about 1e-14 of itself; 0 below -700. Unlike the library's it can
/// be worked out for several numbers at once.
#[inline]
fn exp(x: f64) -> f64 {
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52: adding it rounds to an integer in the low bits
    let bounded = if x > -700.0 { x } else { -700.0 };
    let shifted = bounded * std::f64::consts::LOG2_E + ROUND;
    let power = shifted - ROUND;
    let r = bounded - power * LN2_HIGH - power * LN2_LOW;
    let mut sum = 1.0 / 39_916_800.0;
    for factor in [3_628_800.0, 362_880.0, 40_320.0, 5_040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0] {
        sum = sum * r + 1.0 / factor;
    }
    let bits = shifted.to_bits().wrapping_add(1023) << 52;
    if x > -700.0 { sum * f64::from_bits(bits) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_close() {
        for i in 0..70_000 {
            let x = -f64::from(i) / 100.0;
            let (have, want) = (exp(x), x.exp());
            assert!((have - want).abs() <= 1e-13 * want, "{x}: {have} {want}");
        }
        assert_eq!(exp(f64::NEG_INFINITY), 0.0);
        assert_eq!(exp(-701.0), 0.0);
        assert_eq!(exp(0.0), 1.0);
    }

    #[test]
    fn draws_follow_the_scores() {
        let scores = vec![0.0, -1.0, f64::NEG_INFINITY, 1.5];
        let mut neighbourhood = Neighbourhood::default();
        neighbourhood.scores.clone_from(&scores);
        let (mut rng, mut shares) = (dragoman_base::random::stream(3, 1), Vec::new());
        let mut counts = [0u32; 4];
        for _ in 0..200_000 {
            counts[draw(&neighbourhood, 0.5, &mut rng, &mut shares)] += 1;
        }
        let sum: f64 = scores.iter().map(|s| (s / 0.5).exp()).sum();
        for (count, score) in counts.iter().zip(&scores) {
            let want = 200_000.0 * (score / 0.5).exp() / sum;
            assert!((f64::from(*count) - want).abs() <= 4.0 * want.sqrt() + 1e-9, "{counts:?}");
        }
    }
}
