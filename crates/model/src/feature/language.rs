//! The language model.

use super::chunks::Chunks;
use super::language_joined::InChart;
use super::{Builder, Context, Joined, Part, Prepared, StateFeature, get_u32};
use crate::rule::{GAP, Origin, Rule};
use crate::sentence::Sentence;
use crate::sink::Sink;
use dragoman_base::{Error, Result};
use dragoman_lm::edges::Extended;
use dragoman_lm::{EOS, Model, State};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

struct Language {
    model: Arc<Model>,
    feature: u32,
    /// The model's id for each word of the system's vocabulary.
    ids: Vec<u32>,
    /// What a chart needs besides; made when it is first asked for.
    extended: OnceLock<Extended>,
    /// By table and rule, the bits of what [`Language::alone`] says, 0 until it is first asked: the rules of frequent
    /// phrases are many, and they come again with every sentence.
    known: Vec<Chunks<AtomicU32>>,
}

impl Language {
    fn id(&self, sentence: &Sentence<'_>, word: u32) -> u32 {
        let known = self.ids.get(word as usize).copied();
        known.unwrap_or_else(|| self.model.word(sentence.target_text(word)))
    }

    /// Log probability of words when nothing is known of what stands before them, nor in gaps between them.
    fn alone(&self, sentence: &Sentence<'_>, words: &[u32]) -> f32 {
        let model = self.model.as_used();
        let mut state = model.empty();
        let mut sum = 0.0;
        for &word in words {
            if word >= GAP {
                state = model.empty();
                continue;
            }
            let (log, next) = model.score(&state, self.id(sentence, word));
            sum += log;
            state = next;
        }
        sum
    }
}

impl StateFeature for Language {
    fn state_bytes(&self) -> usize {
        4
    }

    fn estimate(&self, sentence: &Sentence<'_>, rule: &Rule<'_>, weights: &[f32]) -> f32 {
        let Origin::Table(table) = rule.origin else {
            return self.alone(sentence, rule.target) * weights[self.feature as usize];
        };
        let cell = self.known[table].at(rule.number, 0);
        let mut bits = cell.load(Ordering::Relaxed);
        if bits == 0 {
            bits = self.alone(sentence, rule.target).to_bits();
            cell.store(bits, Ordering::Relaxed);
        }
        f32::from_bits(bits) * weights[self.feature as usize]
    }

    fn prepare<'a>(&'a self, context: Context<'a>) -> Box<dyn Prepared + 'a> {
        let count = context.rules.len();
        let mut words = Vec::with_capacity(2 * count);
        let mut starts = Vec::with_capacity(count + 1);
        starts.push(0);
        let model = self.model.in_use();
        for rule in 0..count as u32 {
            let mut state = model.empty();
            let from = words.len();
            for &word in context.rules.rule(rule).target {
                let id = self.id(context.sentence, word);
                let (log, next) = model.score(&state, id);
                words.push(Word { id, alone: next, log, rest: 0.0 });
                state = next;
            }
            let mut rest = 0.0;
            for word in words[from..].iter_mut().rev() {
                word.rest = rest;
                rest += word.log;
            }
            starts.push(words.len() as u32);
        }
        let memo = RefCell::new(Memo::new((context.sentence.len() * context.memory).min(MOST)));
        Box::new(Ready { model, feature: self.feature, words, starts, memo })
    }

    fn joined<'a>(&'a self, context: Context<'a>) -> Option<(Box<dyn Joined + 'a>, usize)> {
        let extended = self.extended.get_or_init(|| Extended::new(&self.model));
        let id = |word: u32| self.id(context.sentence, word);
        let ready = InChart::new(self.model.in_use(), extended, self.feature, context, id);
        Some((Box::new(ready), InChart::BYTES))
    }
}

/// A target word of an option, with what the model says when nothing stands before the option.
#[derive(Clone, Copy)]
struct Word {
    id: u32,
    /// State after the word.
    alone: State,
    log: f32,
    /// Log probability of the option's words after this one.
    rest: f32,
}

/// What an option scored after a state.
#[derive(Clone, Copy, Default)]
struct Known {
    /// State and option, plus one: 0 is nobody's.
    key: u64,
    sum: f32,
    after: State,
}

/// Scores of options after states, which come again under other coverages. A pair that falls on the place of another
/// takes it.
struct Memo(Vec<Known>);

/// Entries of the memo, at most.
const MOST: usize = 1 << 16;
/// The sentence's end, as an option that no sentence has.
const END: u32 = u32::MAX - 1;

thread_local! {
    /// The space of this thread's last memo, at most [`MOST`] entries: a search that gives it back to the system and asks
    /// again for the next sentence spends a part of its time in page faults.
    static SPARE: RefCell<Vec<Known>> = const { RefCell::new(Vec::new()) };
}

impl Drop for Memo {
    fn drop(&mut self) {
        let entries = std::mem::take(&mut self.0);
        // A thread that ends has no use for it.
        let _ = SPARE.try_with(|spare| {
            if spare.borrow().capacity() < entries.capacity() {
                spare.replace(entries);
            }
        });
    }
}

impl Memo {
    /// With room for about `size` pairs.
    fn new(size: usize) -> Self {
        let mut entries = SPARE.try_with(RefCell::take).unwrap_or_default();
        entries.clear();
        entries.resize(size.next_power_of_two(), Known::default());
        Self(entries)
    }

    /// The score of an option after a state, and the state after it; computed if it is not known.
    #[inline]
    fn get(&mut self, before: u32, option: u32, score: impl FnOnce() -> (f32, State)) -> (f32, State) {
        let key = (u64::from(before) << 32 | u64::from(option)) + 1;
        // The options of a span have consecutive numbers and are asked for after the same state: side by side, they
        // share cache lines.
        let row = (u64::from(before).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32;
        let place = row.wrapping_add(option) as usize & (self.0.len() - 1);
        let entry = &mut self.0[place];
        if entry.key != key {
            let (sum, after) = score();
            *entry = Known { key, sum, after };
        }
        (entry.sum, entry.after)
    }
}

struct Ready<'a> {
    model: &'a Model,
    feature: u32,
    words: Vec<Word>,
    starts: Vec<u32>,
    memo: RefCell<Memo>,
}

impl Ready<'_> {
    /// Log probability of an option's words after a state, and the state after them.
    fn score(&self, mut state: State, option: usize) -> (f32, State) {
        let words = &self.words[self.starts[option] as usize..self.starts[option + 1] as usize];
        let mut sum = 0.0;
        for word in words {
            let (log, after) = self.model.score(&state, word.id);
            sum += log;
            state = after;
            // From here on nothing before the option matters any more.
            if after == word.alone {
                return (sum + word.rest, words[words.len() - 1].alone);
            }
        }
        (sum, state)
    }
}

impl Prepared for Ready<'_> {
    fn start(&self, state: &mut [u8]) {
        state.copy_from_slice(&self.model.start().to_bytes());
    }

    #[inline]
    fn extend(&self, rule: u32, last: bool, previous: &[u8], next: &mut [u8], out: &mut Sink<'_>) {
        let before = get_u32(previous, 0);
        let score = || self.score(State::from_bytes(before.to_le_bytes()), rule as usize);
        let (mut sum, state) = self.memo.borrow_mut().get(before, rule, score);
        if last {
            let end = || self.model.score(&state, EOS);
            let after = u32::from_le_bytes(state.to_bytes());
            sum += self.memo.borrow_mut().get(after, END, end).0;
        } else {
            next.copy_from_slice(&state.to_bytes());
        }
        out.add(self.feature, sum);
    }
}

/// `lm`, with `path`.
pub fn language(part: &Part, to: &mut Builder) -> Result<()> {
    let Some(path) = part.get("path") else {
        return Err(Error::Invalid(format!("language model {}: expected a path", part.name)));
    };
    let model = Arc::new(Model::open(path)?);
    let feature = to.dense(&part.name)?;
    let ids = to.vocabulary().texts().iter().map(|word| model.word(word)).collect();
    let known = to.tables().iter().map(|_| Chunks::new(1)).collect();
    to.add_state(Language { model, feature, ids, extended: OnceLock::new(), known });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memo_tells_pairs_apart_however_small_it_is() {
        for size in [1, 2, 64] {
            let mut memo = Memo::new(size);
            let truth = |before: u32, option: u32| {
                ((before * 100 + option) as f32, State::from_bytes((before + option).to_le_bytes()))
            };
            for (before, option) in (0..9).flat_map(|before| (0..9).map(move |option| (before, option))) {
                assert_eq!(memo.get(before, option, || truth(before, option)), truth(before, option));
                assert_eq!(
                    memo.get(before, option, || unreachable!("it was just asked")),
                    truth(before, option)
                );
                assert_eq!(memo.get(option, before, || truth(option, before)), truth(option, before));
            }
        }
    }
}
