//! Weights on disk, with as many names as one likes: plain text (`name value`), TOML as people write it, and a form
//! that is mapped. What a file holds is told from its content.

pub mod file;
pub mod text;
pub mod toml;

use dragoman_base::container::Bytes;
use dragoman_base::io::{Lines, open};
use dragoman_base::{Error, Names, Result};
use std::io::{Cursor, Read};

/// Bytes of a file whose lines are guessed; beyond, tables grow as they must.
const MOST: usize = 1 << 31;

/// Names and a number for each.
#[derive(Debug, Default)]
pub struct Weights {
    /// The names; there may be more of them than values.
    pub names: Names,
    /// The value of each name, by its id.
    pub values: Vec<f64>,
}

impl Weights {
    /// Adds a weight; says so if the name has one already.
    fn add(&mut self, name: &str, value: f64) -> bool {
        let new = self.names.intern_as(name, component(name).is_some()) as usize == self.values.len();
        if new {
            self.values.push(value);
        }
        new
    }

    /// All names with their values.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = (&str, f64)> {
        self.values.iter().enumerate().map(|(id, &value)| (self.names.name(id as u32), value))
    }
}

/// Weights as they are read or written: in columns that somebody else may own.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The names; there may be more of them than values.
    pub names: &'a Names,
    /// The value of each name, by its id.
    pub values: &'a [f64],
}

impl<'a> View<'a> {
    /// All names with their values.
    fn rows(self) -> impl ExactSizeIterator<Item = (&'a str, f64)> {
        self.values.iter().enumerate().map(move |(id, &value)| (self.names.name(id as u32), value))
    }

    /// The value of a name.
    fn get(self, name: &str) -> Option<f64> {
        self.names.get(name).and_then(|id| self.values.get(id as usize)).copied()
    }
}

/// The base and the number of `base[number]`: a component of a dense group.
pub fn component(name: &str) -> Option<(&str, usize)> {
    let (base, number) = name.strip_suffix(']')?.rsplit_once('[')?;
    let plain = !number.is_empty() && number.len() < 10 && number.bytes().all(|b| b.is_ascii_digit());
    let canonical = plain && (number == "0" || !number.starts_with('0'));
    (canonical && !base.is_empty()).then(|| number.parse().ok().map(|number| (base, number)))?
}

/// What a file holds.
#[derive(Debug)]
pub enum Found {
    /// Weights, and what the file says about them, as JSON.
    Weights(Box<Weights>, Option<String>),
    /// TOML or JSON that a full parser should read.
    Other,
}

/// Reads a file (packed or not, `-` for standard input), whatever its form. TOML beyond what [`toml`] knows and JSON are
/// left to others; `toml` says that it must be TOML, whatever it looks like.
pub fn load(path: &str, toml: bool) -> Result<Found> {
    if let Some(bytes) = file::map(path)? {
        return file::read(bytes, path).map(|(weights, info)| Found::Weights(Box::new(weights), Some(info)));
    }
    let mut reader = open(path)?;
    let mut start = vec![0; 1 << 12];
    let mut seen = 0;
    while seen < start.len() {
        match reader.read(&mut start[seen..]) {
            Ok(0) => break,
            Ok(count) => seen += count,
            // Told again, with the line, when the lines are read.
            Err(_) => {
                return text::read(Lines::open(path)?, 0)
                    .map(|weights| Found::Weights(Box::new(weights), None));
            }
        }
    }
    start.truncate(seen);
    if file::is_weights(&start) {
        reader.read_to_end(&mut start).map_err(|source| Error::Io { path: path.to_owned(), source })?;
        return file::read(Bytes::Owned(start), path)
            .map(|(weights, info)| Found::Weights(Box::new(weights), Some(info)));
    }
    let form = if toml { Form::Toml } else { form(&start) };
    let count = lines_of(path, &start);
    let lines = Lines::new(path, Box::new(Cursor::new(start).chain(reader)));
    Ok(match form {
        Form::Json => Found::Other,
        Form::Toml => {
            toml::read(lines, count)?.map_or(Found::Other, |weights| Found::Weights(Box::new(weights), None))
        }
        Form::Text => Found::Weights(Box::new(text::read(lines, count)?), None),
    })
}

/// How many lines a plain file has, told from its beginning: enough for tables that need not grow often.
fn lines_of(path: &str, start: &[u8]) -> usize {
    let size = std::fs::metadata(path).map_or(0, |file| file.len() as usize).min(MOST);
    let ends = start.split(|&b| b == b'\n').count() - 1;
    if start.is_empty() { 0 } else { size.max(start.len()) / start.len() * ends }
}

/// How text is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Toml,
    Json,
}

/// The form of text, from its first line that says anything: `[weights]` is TOML, `{` is JSON.
fn form(start: &[u8]) -> Form {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let lines = start.split(|&b| b == b'\n').map(<[u8]>::trim_ascii);
    let Some(line) = lines.into_iter().find(|line| !line.is_empty() && line[0] != b'#') else {
        return Form::Text;
    };
    let header = line.split(|&b| b == b'#').next().unwrap_or_default().trim_ascii();
    if line.starts_with(b"{") {
        Form::Json
    } else if header.starts_with(b"[") && header.ends_with(b"]") {
        Form::Toml
    } else {
        Form::Text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_of_groups() {
        assert_eq!(component("TM[3]"), Some(("TM", 3)));
        assert_eq!(component("a[0][12]"), Some(("a[0]", 12)));
        for name in ["TM", "TM[]", "TM[01]", "TM[-1]", "[0]", "TM[1", "TM[1] ", "TM[1234567890]"] {
            assert_eq!(component(name), None, "{name}");
        }
    }

    #[test]
    fn forms_are_told_by_their_first_line() {
        for (text, want) in [
            ("", Form::Text),
            ("# [weights]\nLM 1\n", Form::Text),
            ("[weights]\n", Form::Toml),
            ("\u{feff}\n  [weights] # so\r\nLM = 1", Form::Toml),
            ("\n{\"weights\": {}}", Form::Json),
            ("[x] 1\n", Form::Text),
        ] {
            assert_eq!(form(text.as_bytes()), want, "{text}");
        }
    }
}
