//! Constrained decoding: only derivations of one given target survive.

use super::{Context, Joined, Prepared, StateFeature, get_u32, put_u32};
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

    fn joined<'a>(&'a self, context: Context<'a>) -> Option<(Box<dyn Joined + 'a>, usize)> {
        let ready = Ready { reference: self, sentence: context.sentence, rules: context.rules };
        Some((Box::new(ready), 8))
    }
}

impl Reference {
    /// The first place of some words of the target, given as places of their parts.
    fn find(&self, words: &[usize]) -> Option<usize> {
        let same = |at: usize| words.iter().zip(at..).all(|(&a, b)| self.words[a] == self.words[b]);
        (0..(self.words.len() + 1).checked_sub(words.len())?).find(|&at| same(at))
    }
}

/// A state is where the words first are in the target, and how many.
impl Joined for Ready<'_> {
    fn start(&self, _: &mut [u8]) {}

    fn join(&self, rule: u32, tails: [&[u8]; 2], next: &mut [u8], out: &mut Sink<'_>) {
        let (mut words, known) = (Vec::new(), &self.reference.words);
        for &symbol in self.rules.rule(rule).target {
            if let Some(gap) = symbol.checked_sub(GAP) {
                let tail = tails[gap as usize];
                let from = get_u32(tail, 0) as usize;
                words.extend(from..from + get_u32(tail, 4) as usize);
            } else {
                let text = self.sentence.target_text(symbol);
                words.extend(known.iter().position(|word| word == text));
            }
        }
        let whole = self.rules.rule(rule).words().all(|word| {
            let text = self.sentence.target_text(word);
            known.iter().any(|word| word == text)
        });
        match self.reference.find(&words).filter(|_| whole) {
            Some(at) => {
                put_u32(next, 0, if words.is_empty() { 0 } else { at as u32 });
                put_u32(next, 4, words.len() as u32);
            }
            None => out.forbid(),
        }
    }

    fn finish(&self, state: &[u8], out: &mut Sink<'_>) {
        if get_u32(state, 4) as usize != self.reference.words.len() {
            out.forbid();
        }
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
