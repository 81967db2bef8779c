//! Sparse features: sets of names that are as many as the data have words, rules or pairs of them.
//!
//! A set owns a prefix: all its names begin with it and a colon. A name that no weight knows and no list has shown
//! yet is not in the system's table: the search looks names up and never adds any, so that numbers do not depend on
//! the timing of threads. Lists carry such names with them and file them when they are handed over, in order.
//!
//! What depends on a rule alone is summed once for each rule and weights ([`local`]); in the beam it is one addition.
//! Tuning changes the weights after every few sentences: names are turned into numbers once and not for each of the
//! weights ([`ledger`], [`filed`]).

pub mod align;
pub mod attributes;
pub mod bigram;
pub mod bins;
pub mod boosted;
pub mod filed;
pub mod ledger;
pub mod local;
pub mod pair;
pub mod shape;
pub mod symbols;
#[cfg(test)]
mod tests;
pub mod trees;

pub use local::{LocalSet, Locals, ValuedSet};

use super::{Builder, Part};
use crate::rule::{GAP, Rule, Symbol};
use crate::sentence::Sentence;
use crate::weights::Weights;
use dragoman_base::io::Lines;
use dragoman_base::{Error, Names, Result};
use dragoman_rules::RuleSource;
use std::sync::{Arc, RwLock};

/// The column of a rule table that counts are read from.
pub const COUNT: &str = "log count";

/// A set as the system knows it.
#[derive(Debug, Clone)]
pub struct Set {
    /// What its names begin with, before the colon.
    pub prefix: String,
    /// Whether names come with the data; else all of them were filed when the system was opened.
    pub open: bool,
}

/// A rule of a table, as sets that only look at rules see it.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// Source words and gaps.
    pub source: &'a [Symbol<&'a str>],
    /// Target words and gaps.
    pub target: &'a [Symbol<&'a str>],
    /// Internal links, by places in source and target, gaps counted; between words alone, see [`View::pair`].
    pub links: &'a [[u8; 2]],
    /// How often the rule was seen; not a number if the table does not say.
    pub count: f32,
    /// The number of its table.
    pub table: usize,
    /// Its scores there.
    pub scores: &'a [f32],
}

impl<'a> View<'a> {
    /// The source words, with their places.
    pub fn source_words(&self) -> impl Iterator<Item = (usize, &'a str)> {
        self.source.iter().enumerate().filter_map(|(at, symbol)| Some((at, symbol.word()?)))
    }

    /// The target words, with their places.
    pub fn target_words(&self) -> impl Iterator<Item = (usize, &'a str)> {
        self.target.iter().enumerate().filter_map(|(at, symbol)| Some((at, symbol.word()?)))
    }

    /// The words that a link joins; none if there is no such word.
    pub fn pair(&self, &[source, target]: &[u8; 2]) -> Option<(&'a str, &'a str)> {
        self.source.get(usize::from(source))?.word().zip(self.target.get(usize::from(target))?.word())
    }

    /// Whether a target place has no link.
    pub fn unlinked(&self, at: usize) -> bool {
        self.links.iter().all(|&[_, target]| usize::from(target) != at)
    }
}

/// Both sides of an applied rule as texts.
pub fn texts<'a>(
    sentence: &'a Sentence<'_>,
    rule: &Rule<'_>,
) -> (Vec<Symbol<&'a str>>, Vec<Symbol<&'a str>>) {
    let source = rule.source().map(|symbol| match symbol {
        Symbol::Word(at) => Symbol::Word(sentence.input.words[at as usize].as_str()),
        Symbol::Gap(gap) => Symbol::Gap(gap),
    });
    let target = rule.target.iter().map(|&symbol| match symbol.checked_sub(GAP) {
        Some(gap) => Symbol::Gap(gap),
        None => Symbol::Word(sentence.target_text(symbol)),
    });
    (source.collect(), target.collect())
}

/// What all sets share: where names are filed, and which of them may fire.
pub struct Common {
    /// The set's number among the system's sets.
    pub set: usize,
    /// What names begin with, colon included.
    pub prefix: String,
    /// All names of the system.
    pub names: Arc<RwLock<Names>>,
    /// Rules seen less often fire nothing.
    min_count: f32,
    /// If there is a list of names, only these fire.
    only: Option<Names>,
}

impl Common {
    /// Registers a set; `min_count` and `only` are options that every set has.
    pub fn new(part: &Part, to: &mut Builder, open: bool) -> Result<Self> {
        let set = to.set(&part.name, open)?;
        let min_count = part.number("min_count", 0.0)?;
        if min_count > 0.0 {
            to.with_counts(&part.kind)?;
        }
        let only = part.get("only").map(read_names).transpose()?;
        let prefix = format!("{}:", part.name);
        if let Some(alien) =
            only.iter().flat_map(|only| only.texts().iter()).find(|n| !n.starts_with(&prefix))
        {
            let file = part.get("only").unwrap_or_default();
            return Err(Error::Invalid(format!("{file}: `{alien}` is no name of the set `{}`", part.name)));
        }
        Ok(Self { set, prefix, names: Arc::clone(&to.names), min_count, only })
    }

    /// Whether a rule is seen often enough; rules without a count are not, if a count is asked for.
    pub fn enough(&self, count: f32) -> bool {
        self.min_count <= 0.0 || count >= self.min_count
    }

    /// Whether a name may fire.
    pub fn allows(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.get(name).is_some())
    }

    /// Files the whole inventory of a closed set, all at once; numbers are consecutive from the one returned.
    pub fn file(&self, inventory: impl Iterator<Item = String>) -> u32 {
        let mut names = self.names.write().expect("no panic while locked");
        let base = names.len() as u32;
        for name in inventory {
            names.intern(&format!("{}{name}", self.prefix));
        }
        base
    }

    /// The weights of a closed set, from its first name on; those that may not fire weigh nothing.
    pub fn closed_weights(&self, weights: &Weights, allowed: &[bool], base: u32) -> Vec<f32> {
        let own = &weights.head()[base as usize..base as usize + allowed.len()];
        own.iter().zip(allowed).map(|(&weight, &fires)| if fires { weight } else { 0.0 }).collect()
    }

    /// Which of `count` names from `base` on may fire.
    pub fn allowed(&self, base: u32, count: usize) -> Vec<bool> {
        let names = self.names.read().expect("no panic while locked");
        (base..base + count as u32).map(|id| self.allows(names.name(id))).collect()
    }
}

/// A list of names, one a line.
fn read_names(path: &str) -> Result<Names> {
    let mut lines = Lines::open(path)?;
    let mut names = Names::new();
    while let Some(line) = lines.next()? {
        if !line.is_empty() {
            names.intern(line);
        }
    }
    Ok(names)
}

/// The count of a rule, if its table has counts.
pub fn count_of(table: &dyn RuleSource, column: Option<usize>, rule: u32) -> f32 {
    column.map_or(f32::NAN, |column| table.scores(rule)[column].exp().round())
}

/// Appends a word as names hold it: what separates words in names, and what lists of candidates could misread, is
/// written as `%` and two hexadecimal digits for each byte.
pub fn push_word(name: &mut String, word: &str) {
    let special = |c: char| {
        matches!(c, '%' | '=' | '_' | '>' | '|' | '[' | ']' | ':' | ';' | '^' | '$') || c.is_whitespace()
    };
    if !word.contains(|c: char| special(c) || c.is_control()) {
        name.push_str(word);
        return;
    }
    for c in word.chars() {
        if special(c) || c.is_control() {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                for digit in [byte >> 4, byte & 15] {
                    name.push(char::from_digit(u32::from(digit), 16).unwrap_or('0').to_ascii_uppercase());
                }
                let at = name.len() - 2;
                name.insert(at, '%');
            }
        } else {
            name.push(c);
        }
    }
}

/// The word behind [`push_word`]; none if it could not have come from there.
pub fn pull_word(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

/// The word that [`push_word`] writes in just this way.
pub fn exact_word(text: &str) -> Option<String> {
    let word = pull_word(text)?;
    let mut again = String::with_capacity(text.len());
    push_word(&mut again, &word);
    (again == text).then_some(word)
}

/// Appends words with `_` between them.
pub fn push_words<'a>(name: &mut String, words: impl IntoIterator<Item = &'a str>) {
    for (i, word) in words.into_iter().enumerate() {
        if i > 0 {
            name.push('_');
        }
        push_word(name, word);
    }
}

/// Appends words and gaps with `_` between them. Gaps are `^1` and `^2`; a word that looks so is written otherwise.
fn push_side(name: &mut String, symbols: &[Symbol<&str>]) {
    for (i, symbol) in symbols.iter().enumerate() {
        if i > 0 {
            name.push('_');
        }
        match symbol {
            Symbol::Word(word) => push_word(name, word),
            Symbol::Gap(gap) => {
                name.push('^');
                name.push_str(&(gap + 1).to_string());
            }
        }
    }
}

/// Appends a rule: source symbols, `>`, target symbols.
pub fn push_rule(name: &mut String, view: &View<'_>) {
    push_side(name, view.source);
    name.push('>');
    push_side(name, view.target);
}

#[cfg(test)]
mod words {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_come_back(word in "\\PC{0,6}|[%=_>|\\[\\]:; \\t\u{a0}a]{0,6}") {
            let mut name = String::new();
            push_word(&mut name, &word);
            let bad = |c: char| "=_>|[]:;".contains(c) || c.is_whitespace();
            prop_assert!(!name.contains(bad), "{}", name);
            prop_assert_eq!(pull_word(&name), Some(word));
        }
    }

    #[test]
    fn special_characters() {
        let mut name = String::new();
        push_words(&mut name, ["a=b", "50%", "x_y", "é"]);
        assert_eq!(name, "a%3Db_50%25_x%5Fy_é");
        assert_eq!(pull_word("%2"), None);
        assert_eq!(pull_word("%FF"), None);
        assert_eq!(exact_word("50%25"), Some("50%".to_owned()));
        assert_eq!((exact_word("%41"), exact_word("a=b")), (None, None));
    }
}
