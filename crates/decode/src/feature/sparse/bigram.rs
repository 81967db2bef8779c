//! Target bigrams (Eidelman 2012): consecutive target words, across phrases and at the sentence's ends too.

use super::local::Firing;
use super::pair::push_pair;
use super::{Common, LocalSet, View, pull_word, push_word};
use crate::feature::{Builder, Context, Part, Prepared, Sink, StateFeature, Step, get_u32, put_u32};
use crate::options::Origin;
use crate::sentence::Sentence;
use crate::weights::Weights;
use dragoman_base::{Names, Result};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex};

/// Inside a rule: `tb:a>b` for each two words.
struct Inside;

impl LocalSet for Inside {
    fn fire(&self, view: &View<'_>, out: &mut Firing<'_>) {
        for two in view.target.windows(2) {
            out.fire(|name| push_pair(name, two[0], two[1]));
        }
    }
}

/// The sentence's ends as words.
const END: u32 = u32::MAX;

/// Weights of pairs of words that the vocabulary knows.
type Pairs = FxHashMap<u64, f32>;

fn pair(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// Where phrases meet: the last word of one, the first of the next; `^` before the first word of the sentence, `$`
/// behind its last. State: the last word, plus one.
struct Junction {
    common: Arc<Common>,
    vocabulary: Names,
    /// The pairs of the last weights, and their epoch.
    pairs: Mutex<(u32, Arc<Pairs>)>,
}

impl Junction {
    /// The weights of this set by words instead of names.
    fn pairs(&self, weights: &Weights) -> Arc<Pairs> {
        let mut known = self.pairs.lock().expect("no panic while locked");
        if known.0 != weights.epoch() {
            let names = self.common.names.read().expect("no panic while locked");
            let one = |&id: &u32| {
                let name = names.name(id);
                let (left, right) = name[self.common.prefix.len()..].split_once('>')?;
                let key = pair(self.word(left, "^")?, self.word(right, "$")?);
                self.common.allows(name).then_some((key, weights[id as usize]))
            };
            *known =
                (weights.epoch(), Arc::new(weights.of_set(self.common.set).iter().filter_map(one).collect()));
        }
        Arc::clone(&known.1)
    }

    /// The word that a name means, if the vocabulary has it.
    fn word(&self, text: &str, end: &str) -> Option<u32> {
        if text == end { Some(END) } else { self.vocabulary.get(&pull_word(text)?) }
    }

    fn name(&self, sentence: &Sentence<'_>, left: u32, right: u32) -> String {
        let mut name = self.common.prefix.clone();
        push_end(&mut name, sentence, left, '^');
        name.push('>');
        push_end(&mut name, sentence, right, '$');
        name
    }
}

fn push_end(name: &mut String, sentence: &Sentence<'_>, word: u32, end: char) {
    match word {
        END => name.push(end),
        word => push_word(name, sentence.target_text(word)),
    }
}

impl StateFeature for Junction {
    fn state_bytes(&self) -> usize {
        4
    }

    fn prepare<'a>(&'a self, context: Context<'a>) -> Box<dyn Prepared + 'a> {
        let known = self.vocabulary.len() as u32;
        let options = 0..context.options.len() as u32;
        let ends = options.clone().map(|option| {
            let target = context.options.target(option);
            target.first().copied().zip(target.last().copied())
        });
        let ends = ends.collect();
        let mut made = Ready {
            set: self,
            sentence: context.sentence,
            weights: context.weights,
            known,
            ends,
            pairs: self.pairs(context.weights),
            inner: FxHashMap::default(),
        };
        for option in options {
            let target = context.options.target(option);
            if target.len() > 1 && !matches!(context.options.get(option).origin(), Origin::Table(_)) {
                made.inner.insert(option, target.to_vec());
            }
        }
        Box::new(made)
    }
}

struct Ready<'a> {
    set: &'a Junction,
    sentence: &'a Sentence<'a>,
    weights: &'a Weights,
    /// Size of the vocabulary: words from here on are the sentence's own.
    known: u32,
    /// First and last word of each option.
    ends: Vec<Option<(u32, u32)>>,
    pairs: Arc<Pairs>,
    /// Words of options that no table has: nobody else looks inside them.
    inner: FxHashMap<u32, Vec<u32>>,
}

impl Ready<'_> {
    #[inline]
    fn meet(&self, left: u32, right: u32, out: &mut Sink<'_>) {
        let own = |word: u32| word >= self.known && word != END;
        if out.collects() {
            let name = self.set.name(self.sentence, left, right);
            if self.set.common.allows(&name) {
                out.named(&self.set.common.names.read().expect("no panic while locked"), &name, 1.0);
            }
        } else if own(left) || own(right) {
            out.weighted(self.slow(left, right));
        } else if let Some(&weight) = self.pairs.get(&pair(left, right)) {
            out.weighted(weight);
        }
    }

    /// For words that the vocabulary lacks.
    fn slow(&self, left: u32, right: u32) -> f32 {
        if self.weights.of_set(self.set.common.set).is_empty() {
            return 0.0;
        }
        let name = self.set.name(self.sentence, left, right);
        let id = self.set.common.names.read().expect("no panic while locked").get(&name);
        let weight = id.and_then(|id| self.weights.get(id as usize)).copied().unwrap_or(0.0);
        if self.set.common.allows(&name) { weight } else { 0.0 }
    }
}

impl Prepared for Ready<'_> {
    #[inline]
    fn extend(&self, step: &Step<'_>, previous: &[u8], next: &mut [u8], out: &mut Sink<'_>) {
        let mut last = get_u32(previous, 0).wrapping_sub(1);
        if let Some((first, end)) = self.ends[step.option as usize] {
            self.meet(last, first, out);
            last = end;
        }
        if !self.inner.is_empty()
            && let Some(words) = self.inner.get(&step.option)
        {
            words.windows(2).for_each(|two| self.meet(two[0], two[1], out));
        }
        if step.complete {
            self.meet(last, END, out);
        } else {
            put_u32(next, 0, last.wrapping_add(1));
        }
    }
}

/// `tb`.
pub fn bigrams(part: &Part, to: &mut Builder) -> Result<()> {
    let common = Arc::new(Common::new(part, to, true)?);
    to.add_local_shared(Arc::clone(&common), Inside);
    let vocabulary = to.vocabulary().clone();
    to.add_state(Junction { common, vocabulary, pairs: Mutex::default() });
    Ok(())
}
