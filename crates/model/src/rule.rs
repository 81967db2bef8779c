//! A rule applied to a sentence, as features see it.

/// Target symbols from here on are gaps: `GAP + k` is what the k-th gap of the source side (counted from 0, left to
/// right) yields.
pub const GAP: u32 = u32::MAX - 15;

/// Where a rule comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A rule table, by its number.
    Table(usize),
    /// A word that is passed through, since no table knows it, or besides its translations (number [`KNOWN`]).
    Unknown,
    /// A translation that the sentence's writer gave.
    Given,
    /// The start symbol of a chart, by a number of [`top`].
    Glue,
}

/// The number of a word that is passed through though a table knows it.
pub const KNOWN: u32 = 1;

/// Numbers of [`Origin::Glue`].
pub mod top {
    /// S -> X, with the sentence's start before it.
    pub const FIRST: u32 = 0;
    /// S -> S X.
    pub const NEXT: u32 = 1;
    /// The whole sentence, with its end behind it.
    pub const END: u32 = 2;
}

/// A rule applied to a sentence.
#[derive(Debug, Clone, Copy)]
pub struct Rule<'a> {
    /// Where it comes from.
    pub origin: Origin,
    /// Its number in its table, or that of a given translation.
    pub number: u32,
    /// First source word.
    pub from: u32,
    /// The source word after the last, gaps included.
    pub to: u32,
    /// The source spans (from, up to) of its gaps, in order of the source; empty for phrases.
    pub gaps: &'a [(u32, u32)],
    /// Target words by their ids in the system's vocabulary or, past its end, the sentence's own; or `GAP + k`.
    pub target: &'a [u32],
}

/// A symbol of one side of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symbol<W = u32> {
    /// A word: by its position in the sentence, unless it is given as a text.
    Word(W),
    /// A gap: counted from 0 in order of the source, on both sides.
    Gap(u32),
}

impl<W: Copy> Symbol<W> {
    /// The word, if it is one.
    #[inline]
    pub fn word(&self) -> Option<W> {
        match self {
            Self::Word(word) => Some(*word),
            Self::Gap(_) => None,
        }
    }
}

impl Rule<'_> {
    /// Its source symbols, in order.
    pub fn source(&self) -> impl Iterator<Item = Symbol> + '_ {
        let (mut at, mut gap) = (self.from, 0);
        std::iter::from_fn(move || {
            if let Some(&(from, to)) = self.gaps.get(gap)
                && from == at
            {
                (at, gap) = (to, gap + 1);
                return Some(Symbol::Gap(gap as u32 - 1));
            }
            let word = (at < self.to).then_some(Symbol::Word(at));
            at += 1;
            word
        })
    }

    /// Its target words, gaps left out.
    pub fn words(&self) -> impl Iterator<Item = u32> + '_ {
        self.target.iter().copied().filter(|&symbol| symbol < GAP)
    }
}

/// The rules that apply to a sentence, by number: what a decoder chooses from.
pub trait Applied {
    /// How many there are.
    fn len(&self) -> usize;

    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One of them.
    fn rule(&self, number: u32) -> Rule<'_>;
}

#[cfg(test)]
mod tests {
    use super::Symbol::{Gap, Word};
    use super::*;

    #[test]
    fn source_symbols_are_words_and_gaps() {
        let (origin, target) = (Origin::Table(0), [3, GAP + 1, GAP, 4]);
        let rule = |from, to, gaps| Rule { origin, number: 0, from, to, gaps, target: &target };
        let symbols = |rule: Rule<'_>| rule.source().collect::<Vec<_>>();
        assert_eq!(symbols(rule(2, 4, &[])), [Word(2), Word(3)]);
        assert_eq!(symbols(rule(2, 9, &[(3, 5), (6, 9)])), [Word(2), Gap(0), Word(5), Gap(1)]);
        assert_eq!(symbols(rule(0, 4, &[(0, 1), (2, 4)])), [Gap(0), Word(1), Gap(1)]);
        assert_eq!(symbols(rule(0, 4, &[(0, 2), (2, 4)])), [Gap(0), Gap(1)]);
        assert_eq!(rule(0, 4, &[]).words().collect::<Vec<_>>(), [3, 4]);
    }
}
