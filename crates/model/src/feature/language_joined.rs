//! The language model in a chart: states are the edges of what a rule yields.

use super::{Context, Joined};
use crate::rule::GAP;
use crate::sink::Sink;
use dragoman_lm::Model;
use dragoman_lm::edges::{Extended, Fringe, Fringes};
use std::cell::RefCell;

/// Consecutive words of a rule, or a gap.
#[derive(Clone, Copy)]
struct Piece {
    /// The gap, or [`WORDS`].
    gap: u32,
    /// The edges of the words.
    fringe: Fringe,
}

const WORDS: u32 = u32::MAX;

/// The language model, ready for one sentence.
pub struct InChart<'a> {
    feature: u32,
    pieces: Vec<Piece>,
    /// By rule: where its pieces start, and the log probability of its words on their own.
    rules: Vec<(u32, f32)>,
    fringes: RefCell<Fringes<'a>>,
}

/// Pairs of fragments that are remembered, at most.
const MOST: usize = 1 << 16;

fn read(state: &[u8]) -> Fringe {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&state[..8]);
    Fringe::from_bytes(bytes)
}

impl<'a> InChart<'a> {
    /// Bytes of a state.
    pub const BYTES: usize = 8;

    /// Scores what can be scored of each rule; `id` is the model's number of a word.
    pub fn new(
        model: &'a Model,
        extended: &'a Extended,
        feature: u32,
        context: Context<'a>,
        id: impl Fn(u32) -> u32,
    ) -> Self {
        let memory = (context.sentence.len().max(1) * context.memory).min(MOST);
        let mut fringes = Fringes::new(model, extended, memory);
        let count = context.rules.len() as u32;
        let mut pieces: Vec<Piece> = Vec::with_capacity(3 * count as usize);
        let mut rules = Vec::with_capacity(count as usize + 1);
        for number in 0..count {
            let (start, mut alone) = (pieces.len(), 0.0);
            for &symbol in context.rules.rule(number).target {
                if symbol >= GAP {
                    pieces.push(Piece { gap: symbol - GAP, fringe: fringes.empty() });
                    continue;
                }
                if pieces[start..].last().is_none_or(|piece| piece.gap != WORDS) {
                    pieces.push(Piece { gap: WORDS, fringe: fringes.empty() });
                }
                let last = pieces.len() - 1;
                let (log, fringe) = fringes.push(pieces[last].fringe, id(symbol));
                alone += log;
                pieces[last].fringe = fringe;
            }
            rules.push((start as u32, alone));
        }
        rules.push((pieces.len() as u32, 0.0));
        Self { feature, pieces, rules, fringes: RefCell::new(fringes) }
    }
}

impl Joined for InChart<'_> {
    fn start(&self, state: &mut [u8]) {
        state.copy_from_slice(&self.fringes.borrow().start().to_bytes());
    }

    #[inline]
    fn join(&self, rule: u32, tails: [&[u8]; 2], next: &mut [u8], out: &mut Sink<'_>) {
        let (start, mut sum) = self.rules[rule as usize];
        let (end, _) = self.rules[rule as usize + 1];
        let mut fringes = self.fringes.borrow_mut();
        let mut whole = fringes.empty();
        for piece in &self.pieces[start as usize..end as usize] {
            let fringe = if piece.gap == WORDS { piece.fringe } else { read(tails[piece.gap as usize]) };
            let (more, joined) = fringes.join(whole, fringe);
            sum += more;
            whole = joined;
        }
        next.copy_from_slice(&whole.to_bytes());
        out.add(self.feature, sum);
    }

    fn guess(&self, rule: u32, out: &mut Sink<'_>) {
        out.add(self.feature, self.rules[rule as usize].1);
    }

    fn finish(&self, state: &[u8], out: &mut Sink<'_>) {
        out.add(self.feature, self.fringes.borrow().finish(read(state)));
    }
}
