//! What clustering needs to know of a text: its words, how often each occurs, and which follow each other.

use dragoman_base::io::Lines;
use dragoman_base::{Error, Names, Result, Texts, words};
use rustc_hash::FxHashMap;

/// The boundary of a sentence in lists of neighbours.
pub const BOUNDARY: u32 = u32::MAX;

/// Neighbours of every word in flat arrays: those of word w are `starts[w]..starts[w + 1]`, in order of their ids.
#[derive(Debug, Clone, Default)]
pub struct Neighbours {
    starts: Vec<usize>,
    words: Vec<u32>,
    counts: Vec<u32>,
}

impl Neighbours {
    /// The neighbours of a word ([`BOUNDARY`] may be one), and how often each stands there.
    pub fn of(&self, word: u32) -> impl Iterator<Item = (u32, u32)> {
        let span = self.starts[word as usize]..self.starts[word as usize + 1];
        self.words[span.clone()].iter().copied().zip(self.counts[span].iter().copied())
    }

    /// Number of different neighbours of a word.
    pub fn len(&self, word: u32) -> usize {
        self.starts[word as usize + 1] - self.starts[word as usize]
    }

    /// The neighbours of chosen words under new numbers; those without one ([`BOUNDARY`]) fall together.
    fn select(&self, words: &[u32], rank: &[u32]) -> Self {
        let mut entries = Vec::new();
        for (new, &old) in words.iter().enumerate() {
            let mut boundary = 0;
            for (other, count) in self.of(old) {
                match if other == BOUNDARY { BOUNDARY } else { rank[other as usize] } {
                    BOUNDARY => boundary += count,
                    other => entries.push((new as u32, other, count)),
                }
            }
            if boundary > 0 {
                entries.push((new as u32, BOUNDARY, boundary));
            }
        }
        Self::new(words.len(), entries)
    }

    /// From entries (word, neighbour, count), which are sorted here.
    fn new(size: usize, mut entries: Vec<(u32, u32, u32)>) -> Self {
        entries.sort_unstable();
        let mut starts = vec![0; size + 1];
        for &(word, _, _) in &entries {
            starts[word as usize + 1] += 1;
        }
        for at in 0..size {
            starts[at + 1] += starts[at];
        }
        let (words, counts) = entries.into_iter().map(|(_, word, count)| (word, count)).unzip();
        Self { starts, words, counts }
    }
}

/// Unigrams and bigrams of a text. Words are numbered in byte order.
#[derive(Debug, Clone)]
pub struct Counts {
    /// The words, sorted.
    pub words: Texts,
    /// Occurrences of each word.
    pub unigrams: Vec<u32>,
    /// What stands before each word.
    pub before: Neighbours,
    /// What stands after each word.
    pub after: Neighbours,
    /// Sentences that have a word; empty lines count for nothing but themselves, see [`Counts::empty`].
    pub sentences: u32,
    /// Lines without words.
    pub empty: u32,
    /// Words of the text, repeated ones as often as they occur.
    pub tokens: u64,
}

/// Counts that grow line by line.
#[derive(Debug, Default)]
pub struct Counter {
    factor: Option<usize>,
    names: Names,
    unigrams: Vec<u32>,
    bigrams: FxHashMap<(u32, u32), u32>,
    sentences: u32,
    empty: u32,
    tokens: u64,
}

impl Counter {
    /// Nothing counted yet. With `factor`, a token `a|b|c` stands for its factor of that number, from 0.
    pub fn new(factor: Option<usize>) -> Self {
        Self { factor, ..Self::default() }
    }

    /// Counts a line; an `Err` is the token that lacks the factor.
    pub fn line<'a>(&mut self, line: &'a str) -> std::result::Result<(), &'a str> {
        let mut last = BOUNDARY;
        for token in words(line) {
            let word = match self.factor {
                None => token,
                Some(n) => token.split('|').nth(n).filter(|f| !f.is_empty()).ok_or(token)?,
            };
            let id = self.names.intern(word);
            if id as usize == self.unigrams.len() {
                self.unigrams.push(0);
            }
            self.unigrams[id as usize] += 1;
            self.tokens += 1;
            *self.bigrams.entry((last, id)).or_default() += 1;
            last = id;
        }
        if last == BOUNDARY {
            self.empty += 1;
        } else {
            self.sentences += 1;
            *self.bigrams.entry((last, BOUNDARY)).or_default() += 1;
        }
        Ok(())
    }

    /// Renumbers the words in byte order and sorts the bigrams.
    pub fn finish(self) -> Result<Counts> {
        // Every count and every sum of counts is at most the number of tokens and sentences.
        if self.tokens + u64::from(self.sentences) >= u64::from(u32::MAX) / 2 {
            return Err(Error::Invalid("expected at most 2,147,483,647 words for clustering".to_owned()));
        }
        let mut order: Vec<u32> = (0..self.names.len() as u32).collect();
        order.sort_unstable_by_key(|&id| self.names.name(id));
        let mut rank = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            rank[old as usize] = new as u32;
        }
        let renamed = |id: u32| if id == BOUNDARY { BOUNDARY } else { rank[id as usize] };
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for (&(left, right), &count) in &self.bigrams {
            let (left, right) = (renamed(left), renamed(right));
            if right != BOUNDARY {
                before.push((right, left, count));
            }
            if left != BOUNDARY {
                after.push((left, right, count));
            }
        }
        Ok(Counts {
            words: order.iter().map(|&id| self.names.name(id)).collect(),
            unigrams: order.iter().map(|&id| self.unigrams[id as usize]).collect(),
            before: Neighbours::new(order.len(), before),
            after: Neighbours::new(order.len(), after),
            sentences: self.sentences,
            empty: self.empty,
            tokens: self.tokens,
        })
    }
}

fn lacking(factor: Option<usize>) -> String {
    format!("tokens with a factor number {} (from 0; factors are apart by `|`)", factor.unwrap_or(0))
}

impl Counts {
    /// Counts a file, line by line.
    pub fn of_file(path: &str, factor: Option<usize>) -> Result<Self> {
        let mut counter = Counter::new(factor);
        let mut lines = Lines::open(path)?;
        let mut number = 0;
        while let Some(line) = lines.next()? {
            number += 1;
            counter.line(line).map_err(|token| Error::format(path, number, lacking(factor), token))?;
        }
        counter.finish()
    }

    /// Counts lines in memory.
    pub fn of_texts(texts: &Texts, factor: Option<usize>) -> Result<Self> {
        let mut counter = Counter::new(factor);
        for (index, line) in texts.iter().enumerate() {
            counter.line(line).map_err(|token| Error::format("text", index + 1, lacking(factor), token))?;
        }
        counter.finish()
    }

    /// Number of different words.
    pub fn len(&self) -> usize {
        self.unigrams.len()
    }

    /// Whether there is no word at all.
    pub fn is_empty(&self) -> bool {
        self.unigrams.is_empty()
    }

    /// All words, the most frequent first, equals in byte order.
    pub fn by_frequency(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        order.sort_by_key(|&word| std::cmp::Reverse(self.unigrams[word as usize]));
        order
    }

    /// The counts of the most frequent words alone: all others become boundaries.
    pub fn core(&self, size: usize) -> Core {
        let mut words = self.by_frequency();
        words.truncate(size);
        words.sort_unstable();
        let mut rank = vec![BOUNDARY; self.len()];
        for (new, &old) in words.iter().enumerate() {
            rank[old as usize] = new as u32;
        }
        let counts = Self {
            words: words.iter().map(|&id| self.words.get(id as usize)).collect(),
            unigrams: words.iter().map(|&id| self.unigrams[id as usize]).collect(),
            before: self.before.select(&words, &rank),
            after: self.after.select(&words, &rank),
            ..*self
        };
        Core { counts, words }
    }
}

/// The most frequent words of a text.
#[derive(Debug, Clone)]
pub struct Core {
    /// Their counts.
    pub counts: Counts,
    /// Their numbers in the whole text, rising.
    pub words: Vec<u32>,
}
