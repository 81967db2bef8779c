//! Constrained decoding: only derivations of one given target survive.

use super::{Context, Prepared, StateFeature, get_u32, put_u32};
use crate::rule::{Applied, GAP, Rule};
use crate::sentence::Sentence;
use crate::sink::Sink;

/// The target that must come out. State: how many of its words have.
pub struct Reference {
    words: Vec<String>,
}

impl Reference {
    /// A target by its words.
    pub fn new(words: Vec<String>) -> Self {
        Self { words }
    }

    fn matches(&self, sentence: &Sentence<'_>, at: usize, target: &[u32]) -> bool {
        let Some(piece) = self.words.get(at..at + target.len()) else { return false };
        piece.iter().zip(target).all(|(want, &id)| want == sentence.target_text(id))
    }
}

impl StateFeature for Reference {
    fn state_bytes(&self) -> usize {
        4
    }

    fn estimate(&self, sentence: &Sentence<'_>, rule: &Rule<'_>, _: &[f32]) -> f32 {
        let somewhere = |run: &[u32]| (0..=self.words.len()).any(|at| self.matches(sentence, at, run));
        let fits = rule.target.split(|&symbol| symbol >= GAP).all(somewhere);
        if fits { 0.0 } else { f32::NEG_INFINITY }
    }

    fn prepare<'a>(&'a self, context: Context<'a>) -> Box<dyn Prepared + 'a> {
        Box::new(Ready { reference: self, sentence: context.sentence, rules: context.rules })
    }
}

struct Ready<'a> {
    reference: &'a Reference,
    sentence: &'a Sentence<'a>,
    rules: &'a dyn Applied,
}

impl Prepared for Ready<'_> {
    fn extend(&self, rule: u32, last: bool, previous: &[u8], next: &mut [u8], out: &mut Sink<'_>) {
        let at = get_u32(previous, 0) as usize;
        let target = self.rules.rule(rule).target;
        let after = at + target.len();
        let ends = after == self.reference.words.len();
        if !self.reference.matches(self.sentence, at, target) || (last && !ends) {
            out.forbid();
        }
        put_u32(next, 0, after as u32);
    }
}
