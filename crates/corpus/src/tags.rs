//! Part-of-speech tags of words: the most frequent tag of each word of a tagged text.
//!
//! Tagged text comes as factors (`the|DT house|NN`), or as a file of tags beside a file of words.

use dragoman_base::io::{Lines, Output};
use dragoman_base::{Error, Names, Result, Texts, words};
use std::collections::HashMap;

/// How often each word has each tag.
#[derive(Debug, Default)]
pub struct TagCounts {
    words: Names,
    tags: Names,
    counts: HashMap<(u32, u32), u64>,
    tokens: u64,
}

impl TagCounts {
    /// Number of different words.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there is no word yet.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Number of words, each occurrence counted.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// All tags, in order of first appearance.
    pub fn tags(&self) -> &Names {
        &self.tags
    }

    fn add(&mut self, word: &str, tag: &str) {
        let key = (self.words.intern(word), self.tags.intern(tag));
        *self.counts.entry(key).or_default() += 1;
        self.tokens += 1;
    }

    /// Counts a text of factors; the tag is the factor `factor` of each word, from 1 (0 is the word itself).
    pub fn add_factored(&mut self, path: &str, factor: usize) -> Result<()> {
        let mut lines = Lines::open(path)?;
        let mut number = 0;
        while let Some(line) = lines.next()? {
            number += 1;
            for token in words(line) {
                let mut factors = token.split('|');
                let word = factors.next().filter(|word| !word.is_empty());
                let tag = factors.nth(factor.saturating_sub(1)).filter(|tag| !tag.is_empty());
                let (Some(word), Some(tag)) = (word, tag) else {
                    let want = format!("`word{}|tag`", "|factor".repeat(factor.saturating_sub(1)));
                    return Err(Error::format(path, number, want, token));
                };
                self.add(word, tag);
            }
        }
        Ok(())
    }

    /// Counts a text and its tags: as many lines, and in each as many tags as words.
    pub fn add_files(&mut self, text: &str, tags: &str) -> Result<()> {
        let (mut left, mut right) = (Lines::open(text)?, Lines::open(tags)?);
        loop {
            let (line, tagged) = (left.next()?.map(str::to_owned), right.next()?);
            match (line, tagged) {
                (None, None) => return Ok(()),
                (Some(line), Some(tagged)) => {
                    let at = left.number();
                    let fault = |want, found: String| Error::format(tags, at, want, &found);
                    self.add_line(&line, tagged, |want, found| {
                        fault(format!("{want} tags, one for each word of {text}:{at}"), found.to_string())
                    })?;
                }
                (Some(_), None) => {
                    let want = format!("a line of tags for {text}:{}", left.number());
                    return Err(Error::format(tags, left.number(), want, "the end of the file"));
                }
                (None, Some(tagged)) => {
                    let want = format!("no more lines than {text} has ({})", left.number());
                    return Err(Error::format(tags, left.number() + 1, want, tagged));
                }
            }
        }
    }

    /// Counts lines and their tags, as a tagger gives them.
    pub fn add_lines(&mut self, text: &Texts, tags: &Texts) -> Result<()> {
        let (lines, tagged) = (text.len(), tags.len());
        if lines != tagged {
            return Err(Error::Invalid(format!("expected tags for {lines} lines, found {tagged}")));
        }
        for (at, (line, tagged)) in text.iter().zip(tags.iter()).enumerate() {
            self.add_line(line, tagged, |want, found| {
                Error::Invalid(format!(
                    "line {}: expected {want} tags, one for each word, found {found}",
                    at + 1
                ))
            })?;
        }
        Ok(())
    }

    fn add_line(&mut self, line: &str, tags: &str, fault: impl Fn(usize, usize) -> Error) -> Result<()> {
        let (want, found) = (words(line).count(), words(tags).count());
        if want != found {
            return Err(fault(want, found));
        }
        for (word, tag) in words(line).zip(words(tags)) {
            self.add(word, tag);
        }
        Ok(())
    }

    /// The most frequent tag of each word (the first in order of the alphabet, of equals), in order of first appearance.
    pub fn best(&self) -> Vec<(&str, &str)> {
        let mut best: Vec<Option<(u64, &str)>> = vec![None; self.words.len()];
        for (&(word, tag), &count) in &self.counts {
            let (tag, place) = (self.tags.name(tag), &mut best[word as usize]);
            if place.is_none_or(|(most, now)| count > most || (count == most && tag < now)) {
                *place = Some((count, tag));
            }
        }
        let tags = best.iter().map(|place| place.map_or("", |(_, tag)| tag));
        self.words.iter().zip(tags).collect()
    }

    /// Writes `word TAB tag` lines: the file that `pb:tags=` wants.
    pub fn write(&self, path: &str) -> Result<()> {
        let mut out = Output::create(path)?;
        for (word, tag) in self.best() {
            out.write(format!("{word}\t{tag}\n").as_bytes())?;
        }
        out.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(dir: &tempfile::TempDir, name: &str, text: &str) -> String {
        let path = dir.path().join(name).to_str().unwrap().to_owned();
        std::fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn the_most_frequent_tag_wins() {
        let dir = tempfile::tempdir().unwrap();
        let mut counts = TagCounts::default();
        counts.add_factored(&file(&dir, "a", "run|VB a|DT run|NN\n\nrun|NN b|Z b|Y\n"), 1).unwrap();
        assert_eq!(counts.best(), [("run", "NN"), ("a", "DT"), ("b", "Y")]);
        assert_eq!((counts.len(), counts.tokens(), counts.tags().len()), (3, 6, 5));
        let (text, tags) = (file(&dir, "t", "run run\n\n"), file(&dir, "g", "VB\tVB\n\n"));
        counts.add_files(&text, &tags).unwrap();
        assert_eq!(counts.best()[0], ("run", "VB"));
        let mut third = TagCounts::default();
        third.add_factored(&file(&dir, "c", "ran|run|VBD\n"), 2).unwrap();
        assert_eq!(third.best(), [("ran", "VBD")]);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let mut counts = TagCounts::default();
        let bad = file(&dir, "bad", "a|X\nb|Y c\n");
        let error = counts.add_factored(&bad, 1).unwrap_err().to_string();
        assert_eq!(error, format!("{bad}:2: expected `word|tag`, found `c`"));
        let text = file(&dir, "t", "a b\nc\n");
        for (name, tags, want) in [
            ("short", "X Y\n", "short:2: expected a line of tags for "),
            ("long", "X Y\nZ\nW\n", "long:3: expected no more lines than "),
            ("wide", "X Y Z\nZ\n", "wide:1: expected 2 tags, one for each word of "),
            ("narrow", "X Y\n\n", "narrow:2: expected 1 tags, one for each word of "),
        ] {
            let error = counts.add_files(&text, &file(&dir, name, tags)).unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
        }
        let lines: Texts = ["a b"].into_iter().collect();
        assert!(counts.add_lines(&lines, &Texts::new()).is_err());
        assert!(counts.add_lines(&lines, &["X"].into_iter().collect()).is_err());
    }
}
