//! Text in, sorted n-grams with their counts out.

use super::{Options, Report};
use crate::words::{BOS, EOS, SPECIAL};
use dragoman_base::io::Lines;
use dragoman_base::sort::{Numbers, Sorter};
use dragoman_base::words::{controls, words};
use dragoman_base::{Error, Names, Result};

/// Counts the n-grams of the highest order, each sentence begun with as many `<s>` as it takes.
///
/// A record is the n-gram's words from the last to the first, so that n-grams with the same ending stand together.
#[derive(Debug)]
pub struct Counter {
    /// All words seen; the special ones come first.
    pub names: Names,
    pub sorter: Sorter<Numbers>,
    order: usize,
    skip_symbols: bool,
    /// The current sentence from its last word to its start, in the last part of a buffer that fills from behind.
    sentence: Vec<u32>,
}

impl Counter {
    pub fn new(options: &Options, sorter: Sorter<Numbers>) -> Self {
        let mut names = Names::new();
        for special in SPECIAL {
            names.intern(special);
        }
        Self { names, sorter, order: options.order, skip_symbols: options.skip_symbols, sentence: Vec::new() }
    }

    /// Counts a file, line by line.
    pub fn file(&mut self, path: &str, report: &mut Report) -> Result<()> {
        let mut lines = Lines::open(path)?;
        while let Some(line) = lines.next()? {
            if let Err(word) = self.line(line, report)? {
                let (path, number) = (lines.path().to_owned(), lines.number());
                let want = "words other than <s>, </s> and <unk> (which may be skipped on request)";
                return Err(Error::format(&path, number, want, word));
            }
        }
        Ok(())
    }

    /// Counts one sentence; the inner error is the special word it must not have.
    pub fn line(&mut self, line: &str, report: &mut Report) -> Result<std::result::Result<(), &'static str>> {
        self.sentence.clear();
        self.sentence.resize(self.order - 1, BOS);
        report.controls += controls(line);
        for word in words(line) {
            let id = self.names.intern(word);
            if id as usize >= SPECIAL.len() {
                self.sentence.push(id);
            } else if self.skip_symbols {
                report.symbols += 1;
            } else {
                return Ok(Err(SPECIAL[id as usize]));
            }
        }
        report.sentences += 1;
        report.tokens += (self.sentence.len() + 1 - self.order) as u64;
        self.sentence.push(EOS);
        self.sentence.reverse();
        for at in 0..=self.sentence.len() - self.order {
            self.sorter.push(&self.sentence[at..at + self.order], &[1])?;
        }
        Ok(Ok(()))
    }
}
