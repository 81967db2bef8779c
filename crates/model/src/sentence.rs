//! A source sentence with what its writer demands of the translation.

use dragoman_base::{Error, Names, Result};

/// Words of a given translation, at most.
const LONGEST: usize = u16::MAX as usize;

/// A translation that the writer gives for a span.
#[derive(Debug, Clone, PartialEq)]
pub struct Forced {
    /// First source word.
    pub from: usize,
    /// The word after the last.
    pub to: usize,
    /// Target words; may be empty.
    pub target: Vec<String>,
    /// A log probability, added to the score.
    pub log: f32,
    /// Whether it rules out the tables' own translations of words of its span.
    pub exclusive: bool,
    /// Whether it is a term of a glossary, which a feature counts.
    pub term: bool,
}

/// A sentence as it is given.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Input {
    /// Source words.
    pub words: Vec<String>,
    /// Given translations.
    pub forced: Vec<Forced>,
    /// Everything before such a position is translated before anything after it.
    pub walls: Vec<usize>,
    /// Spans (from, up to) that are translated in one go.
    pub zones: Vec<(usize, usize)>,
}

impl Input {
    /// The words of a line, without further demands.
    pub fn plain(line: &str) -> Self {
        Self { words: dragoman_base::words(line).map(str::to_owned).collect(), ..Self::default() }
    }

    /// Checks that all spans lie within the sentence.
    pub fn check(&self) -> Result<()> {
        let length = self.words.len();
        let spans = self.forced.iter().map(|f| (f.from, f.to)).chain(self.zones.iter().copied());
        for (from, to) in spans {
            if from >= to || to > length {
                return Err(Error::Invalid(format!(
                    "span {from}-{to} does not lie in a sentence of {length} words"
                )));
            }
        }
        if let Some(given) = self.forced.iter().find(|f| f.target.len() > LONGEST) {
            let found = given.target.len();
            return Err(Error::Invalid(format!(
                "expected at most {LONGEST} words in a given translation, found {found}"
            )));
        }
        if self.walls.iter().any(|&wall| wall > length) {
            return Err(Error::Invalid(format!("a wall stands outside a sentence of {length} words")));
        }
        Ok(())
    }
}

/// A sentence in the hands of the search.
#[derive(Debug)]
pub struct Sentence<'a> {
    /// What was given.
    pub input: &'a Input,
    vocabulary: &'a Names,
    /// Target words that the vocabulary lacks: source words that are passed through, words of given translations.
    own: Names,
}

impl<'a> Sentence<'a> {
    /// Makes ready: knows all words that may pass through.
    pub fn new(input: &'a Input, vocabulary: &'a Names) -> Self {
        let mut made = Self { input, vocabulary, own: Names::new() };
        for word in input.words.iter().chain(input.forced.iter().flat_map(|f| &f.target)) {
            if vocabulary.get(word).is_none() {
                made.own.intern(word);
            }
        }
        made
    }

    /// Number of source words.
    #[inline]
    pub fn len(&self) -> usize {
        self.input.words.len()
    }

    /// Whether there is no word.
    pub fn is_empty(&self) -> bool {
        self.input.words.is_empty()
    }

    /// The id of a target word that the vocabulary or the sentence knows.
    pub fn target_id(&self, word: &str) -> Option<u32> {
        let own = || self.own.get(word).map(|id| id + self.vocabulary.len() as u32);
        self.vocabulary.get(word).or_else(own)
    }

    /// The text of a target word.
    pub fn target_text(&self, id: u32) -> &str {
        let base = self.vocabulary.len() as u32;
        if id < base { self.vocabulary.name(id) } else { self.own.name(id - base) }
    }

    /// The words whose ids follow those of the vocabulary.
    pub fn own_words(&self) -> impl ExactSizeIterator<Item = &str> {
        self.own.texts().iter()
    }

    /// Whether a span may be an option at all: it crosses no wall and no border of a zone.
    pub fn spans(&self, from: usize, to: usize) -> bool {
        let Input { walls, zones, .. } = self.input;
        walls.iter().all(|&wall| wall <= from || wall >= to)
            && zones.iter().all(|&(start, end)| {
                let (apart, inside) = (to <= start || from >= end, from >= start && to <= end);
                apart || inside || (from <= start && to >= end)
            })
    }

    /// Whether there is any wall or zone.
    #[inline]
    pub fn constrained(&self) -> bool {
        !self.input.walls.is_empty() || !self.input.zones.is_empty()
    }
}
