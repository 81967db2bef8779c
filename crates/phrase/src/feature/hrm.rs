//! Hierarchical reordering (HRM, Galley & Manning 2008): orientation towards the top of a shift-reduce stack.
//!
//! Towards the previous phrase the stack is exact: spans are shifted and adjacent neighbours merged. Towards the next
//! phrase (the model trained right to left) the block is not known yet; as Moses and Phrasal do, a jump to the right
//! counts as monotone if it is adjacent or the word right after the last phrase is still open, so that a block may
//! still fill in between; a swap likewise on the other side. The last phrase has no next.

use super::reordering::{Columns, Orientation, Scores};
use super::stack::{Parser, Stacks};
use super::{Context, OrderFeature, PreparedOrder, Step};
use dragoman_model::feature::{get_u32, put_u32};
use dragoman_model::{Rule, Sentence, Sink};
use std::cell::RefCell;

/// State: the stack, the class of the last phrase, its first source word.
pub struct Hrm(pub Columns, pub Parser);

impl OrderFeature for Hrm {
    fn state_bytes(&self) -> usize {
        12
    }

    fn estimate(&self, _: &Sentence<'_>, rule: &Rule<'_>, weights: &[f32]) -> f32 {
        self.0.estimate(rule, weights)
    }

    fn prepare<'a>(&'a self, context: Context<'a>) -> Box<dyn PreparedOrder + 'a> {
        Box::new(Ready { scores: self.0.prepare(context), stacks: context.stacks, parser: self.1 })
    }
}

struct Ready<'a> {
    scores: Scores,
    stacks: &'a RefCell<Stacks>,
    parser: Parser,
}

impl PreparedOrder for Ready<'_> {
    fn extend(&self, step: &Step<'_>, previous: &[u8], next: &mut [u8], out: &mut Sink<'_>) {
        let (orientation, stack) = self.stacks.borrow_mut().shift(
            get_u32(previous, 0),
            step.from as u32,
            step.to as u32,
            self.parser,
        );
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
