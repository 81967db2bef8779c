//! Words as few symbols: the most frequent words, word classes, tags.

use super::push_word;
use crate::sentence::Sentence;
use dragoman_base::io::Lines;
use dragoman_base::{Error, Names, Result};

/// The symbol for what lies outside the sentence.
pub const BOUNDARY: u32 = 0;
/// The symbol of words that the list or map does not have.
pub const OTHER: u32 = 1;

/// A map from words to symbols.
#[derive(Debug, Clone)]
pub struct Symbols {
    words: Names,
    /// Symbol of each of the words.
    by_word: Vec<u32>,
    /// Name of each symbol, as features have it.
    names: Vec<String>,
    /// Symbols of the words of the system's target vocabulary, if it was asked for.
    known: Vec<u32>,
}

impl Symbols {
    fn new() -> Self {
        let names = vec!["^".to_owned(), "^other".to_owned()];
        Self { words: Names::new(), by_word: Vec::new(), names, known: Vec::new() }
    }

    /// The first `size` words of a list are symbols of their own.
    pub fn of_words(path: &str, size: usize) -> Result<Self> {
        let mut made = Self::new();
        for word in frequent(path, size)? {
            if made.words.intern(&word) as usize == made.by_word.len() {
                made.by_word.push(made.names.len() as u32);
                let mut name = String::new();
                push_word(&mut name, &word);
                made.names.push(name);
            }
        }
        Ok(made)
    }

    /// Classes that are numbered from 2 on, `size` of them, as class files have them.
    pub fn of_classes(path: &str, size: usize) -> Result<Self> {
        let mut made = Self::new();
        made.names.extend((2..size + 2).map(|class| class.to_string()));
        read(path, "a word, a tab and a class", |word, class| {
            let number = class.parse::<u32>().ok().filter(|&n| n >= 2 && (n as usize) < size + 2);
            let number = number.ok_or_else(|| format!("a class from 2 to {}", size + 1))?;
            made.add(word, number);
            Ok(())
        })?;
        Ok(made)
    }

    /// Tags of any name.
    pub fn of_tags(path: &str) -> Result<Self> {
        let mut made = Self::new();
        let mut rows: Vec<(String, String)> = Vec::new();
        read(path, "a word, a tab and a tag", |word, tag| {
            rows.push((word.to_owned(), tag.to_owned()));
            Ok(())
        })?;
        let mut tags: Vec<&str> = rows.iter().map(|(_, tag)| tag.as_str()).collect();
        tags.sort_unstable();
        tags.dedup();
        for tag in &tags {
            let mut name = String::new();
            push_word(&mut name, tag);
            made.names.push(name);
        }
        for (word, tag) in &rows {
            let place = tags.binary_search(&tag.as_str()).unwrap_or(0) as u32;
            made.add(word, place + 2);
        }
        Ok(made)
    }

    /// Symbols without words: tags by their numbers, whose names are the lines of a file.
    pub fn of_names(path: &str) -> Result<Self> {
        let mut made = Self::new();
        let mut lines = Lines::open(path)?;
        while let Some(line) = lines.next()? {
            let mut name = String::new();
            push_word(&mut name, line);
            made.names.push(name);
        }
        Ok(made)
    }

    /// The symbol of a tag by its number, as rule tables have it.
    pub fn numbered(&self, number: f32) -> u32 {
        let symbol = number as u32 + OTHER + 1;
        if (symbol as usize) < self.size() { symbol } else { OTHER }
    }

    /// The first mention of a word counts.
    fn add(&mut self, word: &str, symbol: u32) {
        if self.words.intern(word) as usize == self.by_word.len() {
            self.by_word.push(symbol);
        }
    }

    /// Works out the symbols of a whole vocabulary.
    #[must_use]
    pub fn know(mut self, vocabulary: &Names) -> Self {
        self.known = vocabulary.texts().iter().map(|word| self.get(word)).collect();
        self
    }

    /// Number of symbols, the two extra ones included.
    pub fn size(&self) -> usize {
        self.names.len()
    }

    /// The name of a symbol.
    pub fn name(&self, symbol: u32) -> &str {
        &self.names[symbol as usize]
    }

    /// The symbol of a word.
    pub fn get(&self, word: &str) -> u32 {
        self.words.get(word).map_or(OTHER, |id| self.by_word[id as usize])
    }

    /// The symbol of a target word.
    pub fn target(&self, sentence: &Sentence<'_>, word: u32) -> u32 {
        let known = self.known.get(word as usize).copied();
        known.unwrap_or_else(|| self.get(sentence.target_text(word)))
    }
}

/// The first words of a list that has one a line, most frequent first, perhaps with a tab and a count behind it.
pub fn frequent(path: &str, size: usize) -> Result<Vec<String>> {
    let mut lines = Lines::open(path)?;
    let mut words = Vec::new();
    while words.len() < size
        && let Some(line) = lines.next()?
    {
        let word = line.split('\t').next().unwrap_or_default();
        if word.is_empty() {
            return Err(Error::format(path, words.len() + 1, "a word", line));
        }
        words.push(word.to_owned());
    }
    Ok(words)
}

/// Reads lines `word TAB value`; `take` says what is wrong with a value.
fn read(
    path: &str,
    want: &str,
    mut take: impl FnMut(&str, &str) -> std::result::Result<(), String>,
) -> Result<()> {
    let mut lines = Lines::open(path)?;
    let mut number = 0;
    while let Some(line) = lines.next()? {
        number += 1;
        let Some((word, value)) = line.rsplit_once('\t').filter(|(w, v)| !w.is_empty() && !v.is_empty())
        else {
            return Err(Error::format(path, number, want, line));
        };
        take(word, value).map_err(|want| Error::format(path, number, want, value))?;
    }
    Ok(())
}
