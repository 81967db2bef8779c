//! Word links in columns, and the Pharaoh format `0-0 1-2` that every alignment tool speaks.

use dragoman_base::io::{Lines, Output};
use dragoman_base::{Error, Result};
use std::io::Write;

/// The links of many sentence pairs: pair `s` has links `starts[s]..starts[s + 1]`, each from a source word to a
/// target word, both counted from 0. Links of a pair are in order of source, then target, without repetition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Links {
    /// First link of each pair, and the end of the last: one more than there are pairs.
    pub starts: Vec<i64>,
    /// Source position of each link.
    pub source: Vec<u32>,
    /// Target position of each link.
    pub target: Vec<u32>,
}

impl Default for Links {
    fn default() -> Self {
        Self { starts: vec![0], source: Vec::new(), target: Vec::new() }
    }
}

impl Links {
    /// No pairs yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of sentence pairs.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Source and target positions of pair `index`.
    pub fn pair(&self, index: usize) -> (&[u32], &[u32]) {
        let span = self.starts[index] as usize..self.starts[index + 1] as usize;
        (&self.source[span.clone()], &self.target[span])
    }

    /// Adds a pair; its links are sorted, and repeated ones dropped.
    pub fn push(&mut self, links: &mut Vec<(u32, u32)>) {
        links.sort_unstable();
        links.dedup();
        for &(i, j) in links.iter() {
            self.source.push(i);
            self.target.push(j);
        }
        self.starts.push(self.source.len() as i64);
    }

    /// Adds all pairs of `other` after ours.
    pub fn append(&mut self, other: &Self) {
        let shift = self.source.len() as i64;
        self.starts.extend(other.starts[1..].iter().map(|s| s + shift));
        self.source.extend_from_slice(&other.source);
        self.target.extend_from_slice(&other.target);
    }

    /// Checks arrays that came from elsewhere: starts rise from 0 to the number of links, and no pair repeats a
    /// link or has it out of order.
    pub fn check(&self) -> Result<()> {
        let count = self.source.len() as i64;
        let bounded = self.starts.first() == Some(&0) && self.starts.last() == Some(&count);
        if !bounded || self.target.len() != self.source.len() || self.starts.windows(2).any(|w| w[0] > w[1]) {
            return Err(Error::Invalid(
                "links need starts that rise from 0 to their number, and as many sources as targets"
                    .to_owned(),
            ));
        }
        for index in 0..self.len() {
            let (source, target) = self.pair(index);
            let ordered = (1..source.len()).all(|k| (source[k - 1], target[k - 1]) < (source[k], target[k]));
            if !ordered {
                return Err(Error::Invalid(format!(
                    "the links of pair {index} are not sorted, or repeat one"
                )));
            }
        }
        Ok(())
    }

    /// Reads a Pharaoh file: a line a pair, links `i-j` apart by blanks, any order, repetition allowed.
    ///
    /// With `lengths` (words of source and target of each pair) a link out of range is an error, and so is a
    /// file with more or fewer lines.
    pub fn read(path: &str, lengths: Option<&[(u32, u32)]>) -> Result<Self> {
        let mut lines = Lines::open(path)?;
        let (mut links, mut pair) = (Self::new(), Vec::new());
        while let Some(line) = lines.next()? {
            pair.clear();
            let parsed = parse(line, &mut pair);
            let number = links.len() + 1;
            if let Err(found) = parsed {
                return Err(Error::format(
                    path,
                    number,
                    "links `i-j` of whole numbers, counted from 0",
                    &found,
                ));
            }
            if let Some(lengths) = lengths {
                check_range(path, links.len(), lengths, &pair)?;
            }
            links.push(&mut pair);
        }
        if let Some(lengths) = lengths.filter(|l| l.len() != links.len()) {
            let want = format!("{} lines, one for each sentence pair", lengths.len());
            return Err(Error::format(path, links.len() + 1, want, &links.len().to_string()));
        }
        Ok(links)
    }

    /// Writes a Pharaoh file, which appears under its name when it is whole.
    pub fn write(&self, path: &str) -> Result<()> {
        let mut out = Output::create(path)?;
        let mut line = Vec::new();
        for index in 0..self.len() {
            line.clear();
            self.line(index, &mut line);
            line.push(b'\n');
            out.write(&line)?;
        }
        out.finish()
    }

    /// The links of one pair in Pharaoh format.
    pub fn line(&self, index: usize, line: &mut Vec<u8>) {
        let (source, target) = self.pair(index);
        for (k, (i, j)) in source.iter().zip(target).enumerate() {
            let gap = if k == 0 { "" } else { " " };
            write!(line, "{gap}{i}-{j}").expect("memory can be written to");
        }
    }
}

/// The links of a line; an `Err` is the word that is none.
fn parse(line: &str, pair: &mut Vec<(u32, u32)>) -> std::result::Result<(), String> {
    for word in line.split_ascii_whitespace() {
        let link = word.split_once('-').and_then(|(i, j)| Some((position(i)?, position(j)?)));
        pair.push(link.ok_or_else(|| word.to_owned())?);
    }
    Ok(())
}

/// A whole number without sign.
pub(crate) fn position(text: &str) -> Option<u32> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn check_range(path: &str, index: usize, lengths: &[(u32, u32)], pair: &[(u32, u32)]) -> Result<()> {
    let Some(&(source, target)) = lengths.get(index) else {
        let want = format!("{} lines, one for each sentence pair", lengths.len());
        return Err(Error::format(path, index + 1, want, "one more"));
    };
    match pair.iter().find(|&&(i, j)| i >= source || j >= target) {
        None => Ok(()),
        Some((i, j)) => Err(Error::format(
            path,
            index + 1,
            format!("links between {source} source and {target} target words, counted from 0"),
            &format!("{i}-{j}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, String) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("links").to_str().unwrap().to_owned();
        std::fs::write(&path, text).unwrap();
        (dir, path)
    }

    #[test]
    fn reads_sorts_and_writes() {
        let (_dir, path) = file("1-0 0-0 1-0\n\n  2-11\t0-3\n");
        let links = Links::read(&path, Some(&[(2, 1), (0, 4), (3, 12)])).unwrap();
        assert_eq!((&links.starts[..], links.pair(0)), (&[0, 2, 2, 4][..], (&[0, 1][..], &[0, 0][..])));
        links.check().unwrap();
        links.write(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "0-0 1-0\n\n0-3 2-11\n");
        let mut twice = links.clone();
        twice.append(&links);
        assert_eq!((twice.len(), twice.pair(5)), (6, links.pair(2)));
    }

    #[test]
    fn says_where_a_link_is_wrong() {
        for (text, lengths, message) in [
            ("0-0\n0-x\n", None, ":2: expected links `i-j` of whole numbers, counted from 0, found `0-x`"),
            ("0-+1\n", None, ":1: expected links `i-j` of whole numbers, counted from 0, found `0-+1`"),
            ("0--1\n", None, "found `0--1`"),
            ("99999999999-1\n", None, "found `99999999999-1`"),
            ("0-0\n2-0\n", Some(&[(1, 1), (2, 1)][..]), ":2: expected links between 2 source and 1 target"),
            ("0-1\n", Some(&[(1, 1)][..]), ":1: expected links between 1 source and 1 target"),
            (
                "0-0\n",
                Some(&[(1, 1), (2, 1)][..]),
                ":2: expected 2 lines, one for each sentence pair, found `1`",
            ),
            ("0-0\n0-0\n", Some(&[(1, 1)][..]), ":2: expected 1 lines"),
        ] {
            let (_dir, path) = file(text);
            let found = Links::read(&path, lengths).unwrap_err().to_string();
            assert!(found.contains(message), "{found}");
        }
    }

    #[test]
    fn checks_arrays_from_elsewhere() {
        let good = Links { starts: vec![0, 2], source: vec![0, 1], target: vec![1, 0] };
        good.check().unwrap();
        for bad in [
            Links { starts: vec![0, 3], ..good.clone() },
            Links { starts: vec![0, 2, 1, 2], ..good.clone() },
            Links { starts: vec![], ..good.clone() },
            Links { target: vec![0], ..good.clone() },
            Links { source: vec![1, 1], target: vec![0, 0], ..good.clone() },
            Links { source: vec![1, 0], ..good.clone() },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }
}
