//! How large the gains of a neighbourhood's members can be, so that most need not be worked out.
//!
//! A member's n-grams that touch the window and match have only words that some reference has: with k such words in the
//! window there are at most k + n - 1 of order n.

use super::neighbourhood::Neighbourhood;

/// Bounds of one neighbourhood, by the number of words that a reference has.
#[derive(Debug, Default)]
pub struct Bounds {
    /// For each member the number of known words, [`EMPTY`] without any word, or [`FREE`] without a bound.
    keys: Vec<u8>,
    /// By number of known words; not a number until it is asked for.
    known: Vec<f64>,
    /// Fewest and most words of the whole translation.
    lengths: (i64, i64),
}

const EMPTY: u8 = 254;
const FREE: u8 = 255;

impl Bounds {
    /// Gets ready for a neighbourhood; `counts` has the words and known words of each option, `outside` is the number
    /// of words outside the window.
    pub fn fill(&mut self, neighbourhood: &Neighbourhood, counts: &[(u8, u8)], outside: usize) {
        let Self { keys, known, lengths } = self;
        known.clear();
        known.resize(256, f64::NAN);
        keys.clear();
        if neighbourhood.is_swap() {
            keys.resize(neighbourhood.scores.len(), FREE);
            return;
        }
        let key = |words: u8, known: u8| if words == 0 { EMPTY } else { known };
        let (mut least, mut most) = (u8::MAX, 0);
        for &option in &neighbourhood.whole {
            let (words, known) = counts[option as usize];
            (least, most) = (least.min(words), most.max(words));
            keys.push(key(words, known));
        }
        for &option in &neighbourhood.left {
            let (words, known) = counts[option as usize];
            for &option in &neighbourhood.right {
                let (more, also) = counts[option as usize];
                (least, most) = (least.min(words + more), most.max(words + more));
                keys.push(key(words + more, known + also));
            }
        }
        // Counts stop at 120 words: beyond, nothing is ruled out.
        if most >= 120 {
            keys.fill(FREE);
        }
        *lengths = ((outside + usize::from(least)) as i64, (outside + usize::from(most)) as i64);
    }

    /// The largest gain that a member can have; `score` works it out for so many known words, for words at all or
    /// none, and for translations of so many words.
    #[inline]
    pub fn of(&mut self, member: usize, score: impl FnOnce(usize, bool, (i64, i64)) -> f64) -> f64 {
        let key = self.keys[member];
        if key == FREE {
            return f64::INFINITY;
        }
        let known = &mut self.known[usize::from(key)];
        if known.is_nan() {
            *known = if key == EMPTY {
                score(0, true, self.lengths)
            } else {
                score(usize::from(key), false, self.lengths)
            };
        }
        *known
    }
}
