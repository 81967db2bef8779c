//! Greedy search for shifts, with the limits and preferences of Tercom as sacreBLEU has them.

use super::distance::{Distances, Rotation, Step};

/// Most words that are shifted at once.
const MAX_SIZE: usize = 10;
/// Greatest distance between the places of a block in hypothesis and reference.
const MAX_DISTANCE: usize = 50;
/// After this many tried shifts the search ends, and the shift it was looking for is not made.
const MAX_CANDIDATES: usize = 1000;

/// The least number of shifts and edits found that turn `hypothesis` into `reference`.
pub(super) fn edits(hypothesis: &[u32], reference: &[u32]) -> u32 {
    if reference.is_empty() {
        return hypothesis.len() as u32;
    }
    let mut words = hypothesis.to_vec();
    let mut distances = Distances::new(words.len(), reference);
    let mut distance = distances.fill(&words);
    let mut shifts = 0;
    let mut tried = 0;
    while distance > 0 {
        let mut search = Search::new(&words, reference, &mut distances, distance);
        search.run(&mut tried);
        let Some(best) = search.best.filter(|_| tried < MAX_CANDIDATES) else { break };
        best.shift.apply(&mut words);
        shifts += 1;
        distance = distances.fill(&words);
    }
    shifts + distance
}

/// A shift that makes the distance smaller. Ordered by preference, the better one being greater.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Candidate {
    gain: u32,
    block: Block,
    target: usize,
    shift: Rotation,
}

impl Candidate {
    /// Most gained, then longest, then earliest, then earliest target.
    fn beats(&self, other: &Self) -> bool {
        use std::cmp::Reverse;
        let rank = |c: &Self| (c.gain, c.block.length, Reverse(c.block.start), Reverse(c.target));
        rank(self) > rank(other)
    }
}

/// Words of the hypothesis that the reference has as well, at another place or the same.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Block {
    start: usize,
    in_reference: usize,
    length: usize,
}

/// How the words of hypothesis and reference stand against each other on the best path.
struct Alignment {
    /// For each word of the reference, how many words of the hypothesis come up to and with it.
    upto: Vec<usize>,
    /// Errors among the first `i` words of the hypothesis.
    hyp_errors: Vec<u32>,
    /// Errors among the first `j` words of the reference.
    ref_errors: Vec<u32>,
}

impl Alignment {
    fn new(path: &[Step]) -> Self {
        let mut alignment = Self { upto: Vec::new(), hyp_errors: vec![0], ref_errors: vec![0] };
        let push = |sums: &mut Vec<u32>, error: bool| sums.push(sums[sums.len() - 1] + u32::from(error));
        for &step in path {
            if step != Step::Insert {
                push(&mut alignment.hyp_errors, step != Step::Keep);
            }
            if step != Step::Delete {
                push(&mut alignment.ref_errors, step != Step::Keep);
                alignment.upto.push(alignment.hyp_errors.len() - 1);
            }
        }
        alignment
    }

    /// Whether the block is wrong both where it is and where it should be, and its place is not within itself.
    fn worth_shifting(&self, block: Block) -> bool {
        let Block { start, in_reference, length } = block;
        let wrong = |sums: &[u32], at: usize| sums[at + length] > sums[at];
        // The word of the hypothesis at the block's place in the reference is number upto - 1.
        wrong(&self.hyp_errors, start)
            && wrong(&self.ref_errors, in_reference)
            && !(start + 1..start + length + 1).contains(&self.upto[in_reference])
    }
}

struct Search<'a, 'r> {
    words: &'a [u32],
    reference: &'r [u32],
    distances: &'a mut Distances<'r>,
    alignment: Alignment,
    distance: u32,
    best: Option<Candidate>,
}

impl<'a, 'r> Search<'a, 'r> {
    fn new(words: &'a [u32], reference: &'r [u32], distances: &'a mut Distances<'r>, distance: u32) -> Self {
        let alignment = Alignment::new(&distances.path(words));
        Self { words, reference, distances, alignment, distance, best: None }
    }

    /// Tries all shifts, or as many as `tried` leaves.
    fn run(&mut self, tried: &mut usize) {
        for start in 0..self.words.len() {
            let near = start.saturating_sub(MAX_DISTANCE)..self.reference.len().min(start + MAX_DISTANCE + 1);
            for in_reference in near {
                let same = self.words[start..].iter().zip(&self.reference[in_reference..]);
                let longest = same.take(MAX_SIZE).take_while(|(h, r)| h == r).count();
                for length in 1..=longest {
                    let block = Block { start, in_reference, length };
                    if self.alignment.worth_shifting(block) {
                        *tried += self.try_targets(block);
                        if *tried >= MAX_CANDIDATES {
                            return;
                        }
                    }
                }
            }
        }
    }

    /// Tries the block at each of its places and returns their number: before the word that stands against the
    /// block's first word in the reference, and after those that stand against its words.
    fn try_targets(&mut self, block: Block) -> usize {
        let mut count = 0;
        let mut last = None;
        for offset in 0..=block.length {
            let target = (block.in_reference + offset).checked_sub(1).map_or(0, |r| self.alignment.upto[r]);
            if last != Some(target) {
                last = Some(target);
                count += 1;
                self.consider(block, target);
            }
        }
        count
    }

    fn consider(&mut self, block: Block, target: usize) {
        let shift = rotation(block, target, self.words.len());
        // A shift that gains nothing is never made, nor one that gains less than the best so far.
        let Some(limit) = self.distance.checked_sub(self.best.map_or(1, |best| best.gain)) else { return };
        let Some(distance) = self.distances.shifted(self.words, shift, limit) else { return };
        let candidate = Candidate { gain: self.distance - distance, block, target, shift };
        if self.best.is_none_or(|best| candidate.beats(&best)) {
            self.best = Some(candidate);
        }
    }
}

/// The shift of a block to before word `target`; a target inside the block is taken to mean as many words on.
fn rotation(block: Block, target: usize, words: usize) -> Rotation {
    let Block { start, length, .. } = block;
    let end = start + length;
    if target < start {
        Rotation { from: target, split: start, to: end }
    } else if target > end {
        Rotation { from: start, split: end, to: target }
    } else {
        Rotation { from: start, split: end, to: (target + length).min(words) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words() -> impl Strategy<Value = Vec<u32>> {
        prop::collection::vec(0u32..5, 0..25)
    }

    proptest! {
        #[test]
        fn between_what_no_order_forgives_and_what_edits_alone_cost(hyp in words(), reference in words()) {
            let found = edits(&hyp, &reference);
            let mut missing = reference.clone();
            let extra = hyp.iter().filter(|&w| match missing.iter().position(|m| m == w) {
                Some(at) => { missing.swap_remove(at); false }
                None => true,
            }).count();
            prop_assert!(found >= extra.max(missing.len()) as u32);
            prop_assert!(found <= Distances::new(hyp.len(), &reference).fill(&hyp));
            prop_assert_eq!(found == 0, hyp == reference);
        }

        #[test]
        fn one_shift_undoes_one_shift(length in 2usize..40, cuts in prop::array::uniform3(any::<prop::sample::Index>())) {
            let reference: Vec<u32> = (0..length as u32).collect();
            let mut at = cuts.map(|cut| cut.index(length + 1));
            at.sort_unstable();
            let [from, split, to] = at;
            prop_assume!(from < split && split < to && (split - from).min(to - split) <= MAX_SIZE);
            let mut hyp = reference.clone();
            Rotation { from, split, to }.apply(&mut hyp);
            prop_assert_eq!(edits(&hyp, &reference), 1);
        }
    }

    #[test]
    fn preferences_between_shifts() {
        let shift = Rotation { from: 0, split: 1, to: 2 };
        let candidate = |gain, length, start, target| {
            let block = Block { start, in_reference: 0, length };
            Candidate { gain, block, target, shift }
        };
        let ranked = [
            candidate(2, 1, 9, 9),
            candidate(1, 2, 9, 9),
            candidate(1, 1, 0, 9),
            candidate(1, 1, 1, 0),
            candidate(1, 1, 1, 1),
        ];
        for pair in ranked.windows(2) {
            assert!(pair[0].beats(&pair[1]) && !pair[1].beats(&pair[0]) && !pair[0].beats(&pair[0]));
        }
    }
}
