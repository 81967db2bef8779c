//! Hierarchical reordering (HRM, Galley & Manning 2008): orientation towards the top of a shift-reduce stack.
//!
//! Towards the previous phrase the stack is exact: spans are shifted and adjacent neighbours merged. Towards the next
//! phrase (the model trained right to left) the block is not known yet; as Moses and Phrasal do, a jump to the right
//! counts as monotone if it is adjacent or the word right after the last phrase is still open, so that a block may
//! still fill in between; a swap likewise on the other side. The last phrase has no next.

use super::reordering::{Columns, Orientation, Scores};
use super::{Context, Prepared, Rule, Sink, StateFeature, Step, get_u32, put_u32};
use crate::sentence::Sentence;
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// State: the stack, the class of the last phrase, its first source word.
pub struct Hierarchical(pub Columns);

impl StateFeature for Hierarchical {
    fn state_bytes(&self) -> usize {
        12
    }

    fn estimate(&self, _: &Sentence<'_>, rule: &Rule<'_>, weights: &[f32]) -> f32 {
        self.0.estimate(rule, weights)
    }

    fn prepare<'a>(&'a self, context: Context<'a>) -> Box<dyn Prepared + 'a> {
        Box::new(Ready { scores: self.0.prepare(context), stacks: RefCell::default() })
    }
}

struct Ready {
    scores: Scores,
    stacks: RefCell<Stacks>,
}

impl Prepared for Ready {
    fn extend(&self, step: &Step<'_>, previous: &[u8], next: &mut [u8], out: &mut Sink<'_>) {
        let (orientation, stack) =
            self.stacks.borrow_mut().shift(get_u32(previous, 0), step.from as u32, step.to as u32);
        self.scores.before(step.option, orientation, out);
        if !step.first() {
            let start = get_u32(previous, 8) as usize;
            self.scores.after(get_u32(previous, 4), seen_from_last(step, start), out);
        }
        if !step.complete {
            put_u32(next, 0, stack);
            put_u32(next, 4, self.scores.class(step.option));
            put_u32(next, 8, if step.before.gap() < step.from { step.from as u32 } else { 0 });
        }
    }
}

/// The orientation of this step's phrase as the last one, which started at `start`, sees it.
fn seen_from_last(step: &Step<'_>, start: usize) -> Orientation {
    if step.from >= step.last && (step.from == step.last || !step.before.has(step.last)) {
        Orientation::M
    } else if step.to <= start && (step.to == start || !step.before.has(start - 1)) {
        Orientation::S
    } else {
        Orientation::D
    }
}

/// Stacks of source blocks, interned: a stack is its top block and the stack below it, and equal stacks have equal
/// numbers. 0 is the empty stack.
#[derive(Default)]
struct Stacks {
    /// From, up to, the stack below; the number of an entry is its place plus one.
    entries: Vec<[u32; 3]>,
    numbers: FxHashMap<[u32; 3], u32>,
    shifts: FxHashMap<[u32; 3], (Orientation, u32)>,
}

impl Stacks {
    /// Shifts a span on a stack and merges while the two blocks on top are neighbours.
    fn shift(&mut self, stack: u32, from: u32, to: u32) -> (Orientation, u32) {
        if let Some(&known) = self.shifts.get(&[stack, from, to]) {
            return known;
        }
        let orientation = match self.top(stack) {
            None if from == 0 => Orientation::M,
            Some([_, end, _]) if end == from => Orientation::M,
            Some([start, _, _]) if start == to => Orientation::S,
            _ => Orientation::D,
        };
        let (mut block, mut below) = ([from, to], stack);
        while let Some([start, end, rest]) = self.top(below) {
            if end == block[0] {
                block[0] = start;
            } else if start == block[1] {
                block[1] = end;
            } else {
                break;
            }
            below = rest;
        }
        let made = (orientation, self.intern([block[0], block[1], below]));
        self.shifts.insert([stack, from, to], made);
        made
    }

    fn top(&self, stack: u32) -> Option<[u32; 3]> {
        (stack > 0).then(|| self.entries[stack as usize - 1])
    }

    fn intern(&mut self, entry: [u32; 3]) -> u32 {
        let entries = &mut self.entries;
        *self.numbers.entry(entry).or_insert_with(|| {
            entries.push(entry);
            entries.len() as u32
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orientations(spans: &[(u32, u32)]) -> (Vec<Orientation>, Vec<[u32; 2]>) {
        let (mut stacks, mut stack) = (Stacks::default(), 0);
        let mut seen = Vec::new();
        for &(from, to) in spans {
            let (orientation, next) = stacks.shift(stack, from, to);
            assert_eq!(stacks.shift(stack, from, to), (orientation, next));
            seen.push(orientation);
            stack = next;
        }
        let mut blocks = Vec::new();
        while let Some([from, to, rest]) = stacks.top(stack) {
            blocks.push([from, to]);
            stack = rest;
        }
        (seen, blocks)
    }

    #[test]
    fn blocks_merge_as_far_as_they_are_neighbours() {
        use Orientation::{D, M, S};
        // After 0-2, 4-6, 2-4 is a swap towards 4-6, and all becomes one block, which 6-7 follows.
        let (seen, blocks) = orientations(&[(0, 2), (4, 6), (2, 4), (6, 7)]);
        assert_eq!((seen, blocks), (vec![M, D, S, M], vec![[0, 7]]));
        // 1 3 0 2 has no neighbours on top of the stack until the end.
        let (seen, blocks) = orientations(&[(1, 2), (3, 4), (0, 1), (2, 3)]);
        assert_eq!((seen, blocks), (vec![D, D, D, D], vec![[2, 3], [0, 1], [3, 4], [1, 2]]));
    }
}
