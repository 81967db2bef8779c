//! State features in a chart, where a rule surrounds what its gaps yield and nothing is known of what comes before.
//!
//! A feature that only looks at neighbouring target words is a [`Meeting`], and [`Ends`] makes the rest of that.

use super::{get_u32, put_u32};
use crate::rule::{Applied, GAP, Rule};
use crate::sink::Sink;

/// A state feature of a chart, ready for one sentence, in the hands of one thread. A state is what matters of some
/// consecutive target words, whatever comes before and behind.
pub trait Joined {
    /// Fills in the state of the sentence's start, before any word; it arrives as zeros.
    fn start(&self, state: &mut [u8]);

    /// Says what fires when the gaps of a rule, by its number among those that apply, are filled, besides what fired in
    /// them; fills in the state of all together, which arrives as zeros. `tails` are the states of the gaps, in order
    /// of the source, and empty where there is none.
    fn join(&self, rule: u32, tails: [&[u8]; 2], next: &mut [u8], out: &mut Sink<'_>);

    /// Says what fires at the sentence's end.
    fn finish(&self, state: &[u8], out: &mut Sink<'_>);

    /// A guess of what [`Joined::join`] will add for a rule, whatever is in its gaps: for ranking only.
    fn guess(&self, _rule: u32, _out: &mut Sink<'_>) {}

    /// Why it could not answer, if it could not: the sentence's results are void then.
    fn failure(&self) -> Option<String> {
        None
    }
}

/// A feature that looks at two neighbouring target words; [`EDGE`] stands for the sentence's start and end.
pub trait Meeting {
    /// Says what fires where two words meet.
    fn meet(&self, left: u32, right: u32, out: &mut Sink<'_>);
}

/// The first and the last word of what rules yield: all that a [`Meeting`] needs.
pub struct Ends<'a, M> {
    meeting: M,
    rules: &'a dyn Applied,
    skips: fn(&Rule<'_>) -> bool,
}

/// No word: what a fragment without words has at its edges. Words are counted from 1.
const NOTHING: u32 = 0;
/// The sentence's start and end as words.
pub const EDGE: u32 = u32::MAX;

/// The word at an edge.
fn word(end: u32) -> u32 {
    if end == EDGE { EDGE } else { end - 1 }
}

impl<'a, M: Meeting> Ends<'a, M> {
    /// Bytes of a state.
    pub const BYTES: usize = 8;

    /// For the rules of a sentence; `skips` says of a rule whether its own neighbouring words are somebody else's.
    pub fn new(meeting: M, rules: &'a dyn Applied, skips: fn(&Rule<'_>) -> bool) -> Self {
        Self { meeting, rules, skips }
    }
}

impl<M: Meeting> Joined for Ends<'_, M> {
    fn start(&self, state: &mut [u8]) {
        put_u32(state, 0, EDGE);
        put_u32(state, 4, EDGE);
    }

    fn join(&self, rule: u32, tails: [&[u8]; 2], next: &mut [u8], out: &mut Sink<'_>) {
        let rule = self.rules.rule(rule);
        let skips = (self.skips)(&rule);
        let (mut first, mut last, mut after_word) = (NOTHING, NOTHING, false);
        for &symbol in rule.target {
            let (left, right) = match symbol.checked_sub(GAP) {
                None => (symbol + 1, symbol + 1),
                Some(gap) => (get_u32(tails[gap as usize], 0), get_u32(tails[gap as usize], 4)),
            };
            // Words on both sides of a gap that yields none are neighbours that nobody else knows of.
            let own = symbol < GAP && after_word;
            after_word = symbol < GAP;
            if left == NOTHING {
                continue;
            }
            if last != NOTHING && !(own && skips) {
                self.meeting.meet(word(last), word(left), out);
            }
            first = if first == NOTHING { left } else { first };
            last = right;
        }
        put_u32(next, 0, first);
        put_u32(next, 4, last);
    }

    fn finish(&self, state: &[u8], out: &mut Sink<'_>) {
        self.meeting.meet(word(get_u32(state, 4)), EDGE, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Origin;
    use crate::weights::Weights;
    use std::cell::RefCell;

    /// One rule, with such a target side.
    struct One(Vec<u32>, Origin);

    impl Applied for One {
        fn len(&self) -> usize {
            1
        }

        fn rule(&self, _: u32) -> Rule<'_> {
            Rule { origin: self.1, number: 0, from: 0, to: 1, gaps: &[], target: &self.0 }
        }
    }

    struct Seen<'a>(&'a RefCell<Vec<(u32, u32)>>);

    impl Meeting for Seen<'_> {
        fn meet(&self, left: u32, right: u32, _: &mut Sink<'_>) {
            self.0.borrow_mut().push((left, right));
        }
    }

    fn state(first: u32, last: u32) -> Vec<u8> {
        [first.to_le_bytes(), last.to_le_bytes()].concat()
    }

    #[test]
    fn neighbours_meet_across_gaps_and_over_empty_ones() {
        let weights = Weights::new(&[], 0, 0, 0, |_| None);
        let (full, empty) = (state(71, 81), state(0, 0));
        let table = Origin::Table(0);
        for (target, origin, tails, pairs, ends) in [
            (vec![5, 6], table, [&full, &full], vec![], (6, 7)),
            (vec![5, 6], Origin::Given, [&full, &full], vec![(5, 6)], (6, 7)),
            (vec![5, GAP, 6], table, [&full, &empty], vec![(5, 70), (80, 6)], (6, 7)),
            (vec![5, GAP, 6], table, [&empty, &empty], vec![(5, 6)], (6, 7)),
            (vec![GAP + 1, GAP], table, [&full, &full], vec![(80, 70)], (71, 81)),
            (vec![GAP, 5, GAP + 1], table, [&empty, &full], vec![(5, 70)], (6, 81)),
            (vec![GAP], table, [&empty, &full], vec![], (0, 0)),
        ] {
            let (seen, rules) = (RefCell::default(), One(target, origin));
            let joined = Ends::new(Seen(&seen), &rules, |rule| matches!(rule.origin, Origin::Table(_)));
            let mut next = vec![0; 8];
            joined.join(0, [tails[0], tails[1]], &mut next, &mut Sink::scoring(&weights));
            assert_eq!((seen.take(), next), (pairs, state(ends.0, ends.1)));
            joined.start(&mut [0; 8]);
        }
        let (seen, rules) = (RefCell::default(), One(vec![GAP, GAP + 1], Origin::Glue));
        let joined = Ends::new(Seen(&seen), &rules, |_| false);
        let (mut start, mut next) = (vec![0; 8], vec![0; 8]);
        joined.start(&mut start);
        joined.join(0, [&start, &full], &mut next, &mut Sink::scoring(&weights));
        joined.finish(&next, &mut Sink::scoring(&weights));
        assert_eq!(seen.take(), [(EDGE, 70), (80, EDGE)]);
    }
}
