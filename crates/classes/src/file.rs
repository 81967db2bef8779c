//! Class files as mkcls writes them: a line `word TAB class` for each word, in byte order of the words. Numbers 0
//! and 1 are the boundary of sentences and unknown words, so that words have classes from 2.

use dragoman_base::io::{Lines, Output};
use dragoman_base::{Error, Names, Result, Texts, words};
use std::io::Write;

/// The class of words that the clustering has not seen.
pub const UNKNOWN: u32 = 1;
/// The class that comes first in files.
pub const FIRST: u32 = 2;

/// Words and their classes, as numbered in files.
#[derive(Debug, Clone)]
pub struct Classes {
    words: Names,
    classes: Vec<u32>,
}

impl Classes {
    /// Pairs up words and classes; a word that comes twice is an error, named by its position.
    pub fn new(words: &Texts, classes: Vec<u32>) -> std::result::Result<Self, usize> {
        let mut names = Names::new();
        for (index, word) in words.iter().enumerate() {
            if names.intern(word) as usize != index {
                return Err(index);
            }
        }
        Ok(Self { words: names, classes })
    }

    /// The words.
    pub fn words(&self) -> &Texts {
        self.words.texts()
    }

    /// The class of each word.
    pub fn classes(&self) -> &[u32] {
        &self.classes
    }

    /// The class of a word; none if it has none.
    pub fn get(&self, word: &str) -> Option<u32> {
        self.words.get(word).map(|id| self.classes[id as usize])
    }

    /// Reads a file, whatever its order.
    pub fn read(path: &str) -> Result<Self> {
        let mut lines = Lines::open(path)?;
        let (mut words, mut classes) = (Names::new(), Vec::new());
        while let Some(line) = lines.next()? {
            let number = classes.len() + 1;
            let want = || "a word, a tab and the number of its class";
            let parsed = line.rsplit_once('\t').filter(|(word, _)| !word.is_empty());
            let digits = |text: &&str| text.bytes().all(|b| b.is_ascii_digit());
            let Some((word, class)) = parsed
                .and_then(|(word, class)| Some((word, Some(class).filter(digits)?.parse::<u32>().ok()?)))
            else {
                return Err(Error::format(path, number, want(), line));
            };
            if words.intern(word) as usize != classes.len() {
                return Err(Error::format(path, number, "every word once", word));
            }
            classes.push(class);
        }
        Ok(Self { words, classes })
    }

    /// Writes a file, sorted, which appears when it is whole.
    pub fn write(&self, path: &str) -> Result<()> {
        let mut order: Vec<u32> = (0..self.words.len() as u32).collect();
        order.sort_unstable_by_key(|&id| self.words.name(id));
        let mut out = Output::create(path)?;
        let mut line = Vec::new();
        for id in order {
            line.clear();
            writeln!(line, "{}\t{}", self.words.name(id), self.classes[id as usize])
                .expect("memory can be written to");
            out.write(&line)?;
        }
        out.finish()
    }

    /// A text with every word replaced by its class.
    pub fn apply(&self, texts: &Texts) -> Texts {
        let mut mapped = Texts::new();
        let mut line = String::new();
        for text in texts.iter() {
            line.clear();
            for word in words(text) {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(&self.get(word).unwrap_or(UNKNOWN).to_string());
            }
            mapped.push(&line);
        }
        mapped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(dir: &tempfile::TempDir, name: &str) -> String {
        dir.path().join(name).to_str().unwrap().to_owned()
    }

    #[test]
    fn writes_what_mkcls_writes_and_reads_it_again() {
        let dir = tempfile::tempdir().unwrap();
        let file = path(&dir, "c.gz");
        let words: Texts = ["é", "zu", "Zu", "a"].into_iter().collect();
        let classes = Classes::new(&words, vec![2, 3, 4, 2]).unwrap();
        classes.write(&file).unwrap();
        let lines = dragoman_base::io::read_lines(&file).unwrap();
        assert_eq!(lines.iter().collect::<Vec<_>>(), ["Zu\t4", "a\t2", "zu\t3", "é\t2"]);
        let again = Classes::read(&file).unwrap();
        assert_eq!((again.get("é"), again.get("zu"), again.get("x")), (Some(2), Some(3), None));
        let mapped = again.apply(&["zu  a x\té", ""].into_iter().collect());
        assert_eq!(mapped.iter().collect::<Vec<_>>(), ["3 2 1 2", ""]);
    }

    #[test]
    fn says_where_a_file_is_wrong() {
        let dir = tempfile::tempdir().unwrap();
        for (text, message) in [
            ("a\t2\nb 3\n", ":2: expected a word, a tab and the number of its class, found `b 3`"),
            ("a\t-2\n", ":1: expected a word, a tab"),
            ("\t2\n", ":1: expected a word, a tab"),
            ("a\t\n", ":1: expected a word, a tab"),
            ("a\t2\nb\t2\na\t3\n", ":3: expected every word once, found `a`"),
        ] {
            let file = path(&dir, "bad");
            std::fs::write(&file, text).unwrap();
            let found = Classes::read(&file).unwrap_err().to_string();
            assert!(found.contains(message), "{found}");
        }
        assert_eq!(Classes::new(&["a", "b", "a"].into_iter().collect(), vec![2, 2, 2]).unwrap_err(), 2);
    }
}
