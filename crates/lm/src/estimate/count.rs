//! Text in, sorted n-grams with their counts out.

use super::{Options, Report};
use crate::words::{BOS, EOS, SPECIAL};
use dragoman_base::io::Lines;
use dragoman_base::sort::{Numbers, Sorter};
use dragoman_base::words::{controls, words};
use dragoman_base::{Error, Names, Result, Scratch};

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
                return Err(not_allowed(&lines, word));
            }
        }
        Ok(())
    }

    /// Counts one sentence; the inner error is the special word it must not have.
    pub fn line(&mut self, line: &str, report: &mut Report) -> Result<std::result::Result<(), &'static str>> {
        if let Err(word) = self.read(line, report) {
            return Ok(Err(word));
        }
        push(&mut self.sorter, self.order, &self.sentence)?;
        Ok(Ok(()))
    }

    /// Makes a line the current sentence.
    fn read(&mut self, line: &str, report: &mut Report) -> std::result::Result<(), &'static str> {
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
                return Err(SPECIAL[id as usize]);
            }
        }
        report.sentences += 1;
        report.tokens += (self.sentence.len() + 1 - self.order) as u64;
        self.sentence.push(EOS);
        self.sentence.reverse();
        Ok(())
    }

    /// Appends sentences to `chunk` until it is full, for [`run`]; false at the end of the file.
    pub fn gather(&mut self, lines: &mut Lines, chunk: &mut Vec<u8>, report: &mut Report) -> Result<bool> {
        while chunk.len() < FULL {
            let Some(line) = lines.next()? else { return Ok(false) };
            if let Err(word) = self.read(line, report) {
                return Err(not_allowed(lines, word));
            }
            // What stands before every sentence need not travel.
            let own = &self.sentence[..self.sentence.len() + 1 - self.order];
            chunk.extend((own.len() as u32).to_le_bytes());
            for word in own {
                chunk.extend(word.to_le_bytes());
            }
        }
        Ok(true)
    }
}

/// Bytes after which a part of the text is full.
const FULL: usize = 1 << 20;

fn not_allowed(lines: &Lines, word: &str) -> Error {
    let want = "words other than <s>, </s> and <unk> (which may be skipped on request)";
    Error::format(lines.path(), lines.number(), want, word)
}

/// Counts the n-grams of a sentence, which is given from its last word to its start.
fn push(sorter: &mut Sorter<Numbers>, order: usize, sentence: &[u32]) -> Result<()> {
    sentence.windows(order).try_for_each(|gram| sorter.push(gram, &[1]))
}

/// The n-grams of a part of the text and their counts as a sorted run, for [`Sorter::add`].
pub fn run(order: usize, chunk: &[u8]) -> Result<Vec<u8>> {
    let wrong = || Error::Invalid("a part of the text was damaged on its way".to_owned());
    let (numbers, rest) = chunk.as_chunks::<4>();
    let numbers: Vec<u32> = numbers.iter().map(|number| u32::from_le_bytes(*number)).collect();
    let mut sorter = Sorter::new(Numbers::counted(order + 1), &Scratch::new(None), usize::MAX);
    let (mut left, mut sentence) = (numbers.as_slice(), Vec::new());
    while let Some((&length, after)) = left.split_first() {
        let (own, after) = after.split_at_checked(length as usize).ok_or_else(wrong)?;
        sentence.clear();
        sentence.extend_from_slice(own);
        sentence.resize(own.len() + order - 1, BOS);
        push(&mut sorter, order, &sentence)?;
        left = after;
    }
    if rest.is_empty() { sorter.run() } else { Err(wrong()) }
}
