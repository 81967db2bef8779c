//! Target bigrams (Eidelman 2012): consecutive target words, across phrases and at the sentence's ends too.

use super::filed::{Absorb, Filed, Layers, Listed};
use super::local::Firing;
use super::pair::push_pair;
use super::{Common, LocalSet, View, exact_word, push_word};
use crate::feature::joined::{EDGE, Ends, Joined, Meeting};
use crate::feature::{Builder, Context, Part, Prepared, StateFeature, get_u32, put_u32};
use crate::rule::{Origin, Rule, Symbol};
use crate::sentence::Sentence;
use crate::sink::Sink;
use crate::weights::Weights;
use dragoman_base::{Names, Result};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::sync::Arc;

/// Inside a rule: `tb:a>b` for each two words.
struct Inside;

impl LocalSet for Inside {
    fn fire(&self, view: &View<'_>, out: &mut Firing<'_>) {
        for two in view.target.windows(2) {
            if let (Symbol::Word(left), Symbol::Word(right)) = (two[0], two[1]) {
                out.fire(|name| push_pair(name, left, right));
            }
        }
    }
}

/// The sentence's ends as words.
const END: u32 = EDGE;

/// Names of pairs of words that the vocabulary knows.
type Pairs = FxHashMap<u64, u32>;

impl Absorb for Pairs {
    fn absorb(&mut self, other: &Self) {
        self.extend(other);
    }
}

fn pair(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// Where phrases meet: the last word of one, the first of the next; `^` before the first word of the sentence, `$`
/// behind its last. State: the last word, plus one.
struct Junction {
    common: Arc<Common>,
    vocabulary: Names,
    pairs: Filed<Pairs>,
}

impl Junction {
    /// The names of this set by words, as far as weights know them.
    fn pairs(&self, weights: &Weights) -> Layers<Pairs> {
        self.pairs.up_to(&self.common, weights.len(), |pairs, id, text| {
            let words = text.split_once('>');
            let words = words.and_then(|(left, right)| self.word(left, "^").zip(self.word(right, "$")));
            pairs.extend(words.map(|(left, right)| (pair(left, right), id)));
        })
    }

    /// The word that a name means, if the vocabulary has it.
    fn word(&self, text: &str, end: &str) -> Option<u32> {
        if text == end { Some(END) } else { self.vocabulary.get(&exact_word(text)?) }
    }

    fn ready<'a>(&'a self, context: Context<'a>) -> Ready<'a> {
        Ready {
            set: self,
            sentence: context.sentence,
            weights: context.weights,
            known: self.vocabulary.len() as u32,
            ends: Vec::new(),
            pairs: self.pairs(context.weights),
            inner: FxHashMap::default(),
            listed: RefCell::default(),
        }
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
        let rules = (0..context.rules.len() as u32).map(|number| context.rules.rule(number));
        let mut made = self.ready(context);
        let ends = rules.clone().map(|rule| rule.target.first().copied().zip(rule.target.last().copied()));
        made.ends = ends.collect();
        for (number, rule) in (0..).zip(rules) {
            if rule.target.len() > 1 && !has_names(&rule) {
                made.inner.insert(number, rule.target.to_vec());
            }
        }
        Box::new(made)
    }

    fn joined<'a>(&'a self, context: Context<'a>) -> Option<(Box<dyn Joined + 'a>, usize)> {
        let ready = Ends::new(self.ready(context), context.rules, has_names);
        Some((Box::new(ready), Ends::<Ready<'_>>::BYTES))
    }
}

/// Whether pairs inside a rule are [`Inside`]'s.
fn has_names(rule: &Rule<'_>) -> bool {
    matches!(rule.origin, Origin::Table(_))
}

struct Ready<'a> {
    set: &'a Junction,
    sentence: &'a Sentence<'a>,
    weights: &'a Weights,
    /// Size of the vocabulary: words from here on are the sentence's own.
    known: u32,
    /// First and last word of each rule.
    ends: Vec<Option<(u32, u32)>>,
    pairs: Layers<Pairs>,
    /// Words of rules that no table has: nobody else looks inside them.
    inner: FxHashMap<u32, Vec<u32>>,
    /// Names that are not among the pairs, as far as they were met.
    listed: RefCell<FxHashMap<u64, Listed>>,
}

impl Ready<'_> {
    #[inline]
    fn meet(&self, left: u32, right: u32, out: &mut Sink<'_>) {
        let own = |word: u32| word >= self.known && word != END;
        let both = pair(left, right);
        let filed = self.pairs.iter().find_map(|pairs| pairs.get(&both).copied());
        if out.collects() {
            match filed {
                Some(id) => out.add(id, 1.0),
                None => self.other(left, right, |listed| listed.fire(out)),
            }
        } else if let Some(id) = filed {
            let weight = self.weights.weight(id);
            if weight != 0.0 {
                out.weighted(weight);
            }
        } else if own(left) || own(right) {
            out.weighted(self.slow(left, right));
        }
    }

    /// For words that the vocabulary lacks.
    fn slow(&self, left: u32, right: u32) -> f32 {
        if !self.weights.weighs(self.set.common.set) {
            return 0.0;
        }
        self.other(left, right, |listed| listed.weight(self.weights))
    }

    /// A name that is not among the pairs: built once for each sentence.
    fn other<T>(&self, left: u32, right: u32, see: impl FnOnce(&Listed) -> T) -> T {
        let mut listed = self.listed.borrow_mut();
        see(listed
            .entry(pair(left, right))
            .or_insert_with(|| Listed::new(&self.set.common, &self.set.name(self.sentence, left, right))))
    }
}

impl Meeting for Ready<'_> {
    fn meet(&self, left: u32, right: u32, out: &mut Sink<'_>) {
        Ready::meet(self, left, right, out);
    }
}

impl Prepared for Ready<'_> {
    #[inline]
    fn extend(&self, rule: u32, last: bool, previous: &[u8], next: &mut [u8], out: &mut Sink<'_>) {
        let mut word = get_u32(previous, 0).wrapping_sub(1);
        if let Some((first, end)) = self.ends[rule as usize] {
            self.meet(word, first, out);
            word = end;
        }
        if !self.inner.is_empty()
            && let Some(words) = self.inner.get(&rule)
        {
            words.windows(2).for_each(|two| self.meet(two[0], two[1], out));
        }
        if last {
            self.meet(word, END, out);
        } else {
            put_u32(next, 0, word.wrapping_add(1));
        }
    }
}

/// `tb`.
pub fn bigrams(part: &Part, to: &mut Builder) -> Result<()> {
    let common = Arc::new(Common::new(part, to, true)?);
    to.add_local_shared(Arc::clone(&common), Inside);
    let vocabulary = to.vocabulary().clone();
    to.add_state(Junction { common, vocabulary, pairs: Filed::default() });
    Ok(())
}
