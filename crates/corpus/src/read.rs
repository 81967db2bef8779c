//! Sentence pairs from files: two parallel files, or one with both sides (TSV, JSONL, TMX, XLIFF), compressed or not.

use crate::tmx::{self, Tmx};
use crate::xliff::{self, Xliff};
use dragoman_base::error::quote;
use dragoman_base::io::Lines;
use dragoman_base::{Error, Result, Texts};
use serde_json::Value;

/// A sentence pair as it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pair {
    /// The source side.
    pub source: String,
    /// The target side.
    pub target: String,
    /// Line of the file, or unit of a TMX or XLIFF file, from 1.
    pub at: usize,
    /// Whether both sides are there, and are text.
    pub state: State,
}

/// Whether a pair can be used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum State {
    /// Both sides are text.
    #[default]
    Good,
    /// A side is not UTF-8.
    Invalid,
    /// A side is missing.
    Missing,
}

/// Sentence pairs, one after the other.
pub trait Source: Send {
    /// Reads the next pair into `pair`; false at the end.
    fn next(&mut self, pair: &mut Pair) -> Result<bool>;
}

/// How a file with both sides is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// Columns apart by tabs; numbers of the source and target column, from 1.
    Tsv(usize, usize),
    /// A JSON object a line; names of the fields, dots lead into objects inside.
    Jsonl(String, String),
    /// Translation memory exchange; languages such as `de`, which includes `de-AT`.
    Tmx(String, String),
    /// Translation files; languages as for TMX.
    Xliff(String, String),
}

/// Where pairs come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Two parallel files.
    Files(String, String),
    /// One file with both sides.
    Bitext(String, Form),
}

impl Input {
    /// What places in this input are called in reports.
    pub fn name(&self) -> &str {
        match self {
            Self::Files(name, _) | Self::Bitext(name, _) => name,
        }
    }

    /// Opens the input. With `skip`, lines that are not UTF-8 are counted instead of being errors.
    pub fn open(&self, skip: bool) -> Result<Box<dyn Source>> {
        Ok(match self {
            Self::Files(source, target) => {
                Box::new(Files { source: Lines::open(source)?, target: Lines::open(target)?, skip })
            }
            Self::Bitext(path, Form::Tsv(source, target)) => {
                Box::new(Tsv { lines: Lines::open(path)?, columns: (*source, *target), skip })
            }
            Self::Bitext(path, Form::Jsonl(source, target)) => {
                Box::new(Jsonl { lines: Lines::open(path)?, fields: [source.clone(), target.clone()], skip })
            }
            Self::Bitext(path, Form::Tmx(source, target)) => Box::new(Tmx::open(path, source, target)?),
            Self::Bitext(path, Form::Xliff(source, target)) => Box::new(Xliff::open(path, source, target)?),
        })
    }
}

/// The languages of a file, by the codes that it uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Languages {
    /// The one that the file calls its source; empty if it does not say.
    pub source: String,
    /// How many texts there are in each, in the order in which they first occur.
    pub counts: Vec<(String, u64)>,
}

impl Languages {
    /// Counts a text.
    pub(crate) fn add(&mut self, language: &str) {
        match self.counts.iter_mut().find(|(code, _)| code == language) {
            Some((_, count)) => *count += 1,
            None => self.counts.push((language.to_owned(), 1)),
        }
    }

    /// Those of a TMX file, or of an XLIFF file.
    pub fn of(path: &str, xliff: bool) -> Result<Self> {
        if xliff { xliff::languages(path) } else { tmx::languages(path) }
    }
}

/// Up to `count` pairs that have both sides, from the beginnings of the inputs, as they were read.
pub fn sample(inputs: &[Input], count: usize, skip: bool) -> Result<(Texts, Texts)> {
    let (mut source, mut target, mut pair) = (Texts::new(), Texts::new(), Pair::default());
    for input in inputs {
        // So that each of several inputs is looked at.
        let last = source.len() + count.div_ceil(inputs.len());
        let mut pairs = input.open(skip)?;
        while source.len() < last && pairs.next(&mut pair)? {
            if pair.state == State::Good {
                source.push(&pair.source);
                target.push(&pair.target);
            }
        }
    }
    Ok((source, target))
}

/// A line into `text`: false if it is not UTF-8 and may be skipped, none at the end.
fn line(lines: &mut Lines, skip: bool, text: &mut String) -> Result<Option<bool>> {
    text.clear();
    match lines.next() {
        Ok(Some(line)) => {
            text.push_str(line);
            Ok(Some(true))
        }
        Ok(None) => Ok(None),
        Err(Error::Encoding { .. }) if skip => Ok(Some(false)),
        Err(error) => Err(error),
    }
}

struct Files {
    source: Lines,
    target: Lines,
    skip: bool,
}

impl Source for Files {
    fn next(&mut self, pair: &mut Pair) -> Result<bool> {
        let source = line(&mut self.source, self.skip, &mut pair.source)?;
        let target = line(&mut self.target, self.skip, &mut pair.target)?;
        match (source, target) {
            (None, None) => Ok(false),
            (Some(source), Some(target)) => {
                pair.at = self.source.number();
                pair.state = if source && target { State::Good } else { State::Invalid };
                Ok(true)
            }
            _ => Err(self.unequal()),
        }
    }
}

impl Files {
    /// Reads both files to their ends, so that the message can name both numbers of lines.
    fn unequal(&mut self) -> Error {
        let mut rest = String::new();
        for lines in [&mut self.source, &mut self.target] {
            while let Ok(Some(_)) = line(lines, true, &mut rest) {}
        }
        let (source, target) = (self.source.number(), self.target.number());
        Error::Format {
            path: self.target.path().to_owned(),
            line: source.min(target) + 1,
            want: format!("{source} lines as in {}", self.source.path()),
            found: target.to_string(),
        }
    }
}

struct Tsv {
    lines: Lines,
    columns: (usize, usize),
    skip: bool,
}

impl Source for Tsv {
    fn next(&mut self, pair: &mut Pair) -> Result<bool> {
        let mut text = String::new();
        let Some(good) = line(&mut self.lines, self.skip, &mut text)? else { return Ok(false) };
        pair.at = self.lines.number();
        pair.state = if good { State::Good } else { State::Invalid };
        if good {
            for (column, side) in [(self.columns.0, &mut pair.source), (self.columns.1, &mut pair.target)] {
                let cell = text.split('\t').nth(column.wrapping_sub(1)).ok_or_else(|| {
                    Error::format(
                        self.lines.path(),
                        pair.at,
                        format!("at least {column} columns apart by tabs"),
                        &text,
                    )
                })?;
                side.clear();
                side.push_str(cell);
            }
        }
        Ok(true)
    }
}

struct Jsonl {
    lines: Lines,
    fields: [String; 2],
    skip: bool,
}

impl Source for Jsonl {
    fn next(&mut self, pair: &mut Pair) -> Result<bool> {
        let mut text = String::new();
        let Some(good) = line(&mut self.lines, self.skip, &mut text)? else { return Ok(false) };
        pair.at = self.lines.number();
        pair.state = if good { State::Good } else { State::Invalid };
        if good {
            let wrong = |want: &str, found: String| Error::Format {
                path: self.lines.path().to_owned(),
                line: pair.at,
                want: want.to_owned(),
                found,
            };
            let value: Value = serde_json::from_str(&text)
                .map_err(|e| wrong("a JSON object", format!("{} ({e})", quote(&text))))?;
            for (name, side) in self.fields.iter().zip([&mut pair.source, &mut pair.target]) {
                let found = field(&value, name)
                    .ok_or_else(|| wrong(&format!("a string in the field {name}"), quote(&text)))?;
                side.clear();
                side.push_str(found);
            }
        }
        Ok(true)
    }
}

/// The string under a name, or under a path of names apart by dots.
fn field<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    if let Some(found) = value.get(name) {
        return found.as_str();
    }
    let (first, rest) = name.split_once('.')?;
    field(value.get(first)?, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn all(input: &Input, skip: bool) -> Result<Vec<Pair>> {
        let mut source = input.open(skip)?;
        let (mut pairs, mut pair) = (Vec::new(), Pair::default());
        while source.next(&mut pair)? {
            pairs.push(pair.clone());
        }
        Ok(pairs)
    }

    fn write(dir: &tempfile::TempDir, name: &str, text: &[u8]) -> String {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn short(pairs: &[Pair]) -> Vec<(&str, &str, usize)> {
        pairs.iter().map(|p| (p.source.as_str(), p.target.as_str(), p.at)).collect()
    }

    #[test]
    fn parallel_files() {
        let dir = tempfile::tempdir().unwrap();
        let [a, b] = [write(&dir, "a", b"eins\nzw\xffei\n\n"), write(&dir, "b", b"one\ntwo\nthree\n")];
        let input = Input::Files(a.clone(), b.clone());
        assert!(all(&input, false).unwrap_err().to_string().contains("a:2: expected UTF-8"));
        let pairs = all(&input, true).unwrap();
        assert_eq!((pairs.len(), pairs[1].state, pairs[2].target.as_str()), (3, State::Invalid, "three"));
        let c = write(&dir, "c", b"one\ntwo\nthree\nfour\nfive");
        let message = all(&Input::Files(a.clone(), c.clone()), true).unwrap_err().to_string();
        assert!(message.contains("c:4: expected 3 lines as in") && message.ends_with("found 5"), "{message}");
        let message = all(&Input::Files(c, a), true).unwrap_err().to_string();
        assert!(message.contains("a:4: expected 5 lines as in") && message.ends_with("found 3"), "{message}");
    }

    #[test]
    fn tables() {
        let dir = tempfile::tempdir().unwrap();
        let path = write(&dir, "t.tsv", b"0.9\teins\tone\n1\tzwei\ttwo\tmore\n");
        let pairs = all(&Input::Bitext(path.clone(), Form::Tsv(2, 3)), false).unwrap();
        assert_eq!(short(&pairs), [("eins", "one", 1), ("zwei", "two", 2)]);
        let message = all(&Input::Bitext(path, Form::Tsv(1, 4)), false).unwrap_err().to_string();
        assert!(message.contains("t.tsv:1: expected at least 4 columns"), "{message}");
    }

    #[test]
    fn json() {
        let dir = tempfile::tempdir().unwrap();
        let text = "{\"translation\": {\"de\": \"ein \\u00e9\", \"en\": \"one\"}, \"a.b\": \"x\"}\n[1\n{\"a.b\": 2}\n";
        let path = write(&dir, "t.jsonl", text.as_bytes());
        let form = |a: &str, b: &str| Input::Bitext(path.clone(), Form::Jsonl(a.to_owned(), b.to_owned()));
        let mut source = form("translation.de", "a.b").open(false).unwrap();
        let mut pair = Pair::default();
        assert!(source.next(&mut pair).unwrap());
        assert_eq!((pair.source.as_str(), pair.target.as_str()), ("ein é", "x"));
        let message = source.next(&mut pair).unwrap_err().to_string();
        assert!(message.contains("t.jsonl:2: expected a JSON object, found `[1`"), "{message}");
        let message = source.next(&mut pair).unwrap_err().to_string();
        assert!(message.contains("t.jsonl:3: expected a string in the field translation.de"), "{message}");
    }
}
