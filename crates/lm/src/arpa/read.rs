//! Reading, with errors that name the line.

use crate::ngrams::{Grams, Ngrams};
use crate::words::SPECIAL;
use dragoman_base::io::Lines;
use dragoman_base::{Error, Result};

/// More orders than any model has: a guard against a header gone wrong.
const MAX_ORDER: usize = 64;

/// What may stand between the columns of a line.
const BLANK: [char; 3] = ['\t', ' ', '\r'];

struct Reader {
    lines: Lines,
    ngrams: Ngrams,
    counts: Vec<u64>,
}

/// Reads a whole ARPA file, packed or not.
pub fn read(path: &str) -> Result<Ngrams> {
    let lines = Lines::open(path)?;
    let ngrams = Ngrams { path: path.to_owned(), ..Ngrams::default() };
    let mut reader = Reader { lines, ngrams, counts: Vec::new() };
    let mut head = reader.header()?;
    for order in 1..=reader.counts.len() {
        let want = format!("\\{order}-grams:");
        if head != want {
            return Err(reader.fault(&want, &head));
        }
        head = reader.section(order)?;
    }
    if head != "\\end\\" {
        return Err(reader.fault("\\end\\", &head));
    }
    Ok(reader.ngrams)
}

impl Reader {
    fn fault(&self, want: &str, found: &str) -> Error {
        Error::format(self.lines.path(), self.lines.number().max(1), want, found)
    }

    fn ended(&self, want: &str) -> Error {
        let (path, line) = (self.lines.path().to_owned(), self.lines.number() + 1);
        Error::Format {
            path,
            line,
            want: want.to_owned(),
            found: "the end of the file: is it truncated?".to_owned(),
        }
    }

    /// Reads the counts; gives the first section's head.
    fn header(&mut self) -> Result<String> {
        loop {
            match self.lines.next()?.map(str::trim) {
                Some("\\data\\") => break,
                Some("") => {}
                Some(line) => {
                    let line = line.to_owned();
                    return Err(self.fault("an ARPA file, which begins with \\data\\", &line));
                }
                None => return Err(self.ended("an ARPA file, which begins with \\data\\")),
            }
        }
        loop {
            let Some(line) = self.lines.next()?.map(|l| l.trim().to_owned()) else {
                return Err(self.ended("`ngram 1=count` or \\1-grams:"));
            };
            if line.starts_with('\\') {
                return if self.counts.is_empty() {
                    Err(self.fault("`ngram 1=count`", &line))
                } else {
                    Ok(line)
                };
            }
            if !line.is_empty() {
                self.count(&line)?;
            }
        }
    }

    /// One line `ngram 2=80002`.
    fn count(&mut self, line: &str) -> Result<()> {
        let order = self.counts.len() + 1;
        let parts = line.strip_prefix("ngram ").and_then(|rest| rest.split_once('='));
        let parsed =
            parts.and_then(|(n, c)| Some((n.trim().parse::<usize>().ok()?, c.trim().parse::<u64>().ok()?)));
        match parsed {
            Some((n, count)) if n == order && order <= MAX_ORDER && count < u64::from(u32::MAX) => {
                self.counts.push(count);
                Ok(())
            }
            _ => Err(self.fault(&format!("`ngram {order}=` and a number"), line)),
        }
    }

    /// Reads the n-grams of one order; gives the next section's head.
    fn section(&mut self, order: usize) -> Result<String> {
        // A wrong count must not claim memory before the n-grams are seen.
        let mut grams = Grams { line: self.lines.number() + 1, ..Grams::default() };
        let highest = order == self.counts.len();
        loop {
            let Some(line) = self.lines.next()? else {
                return Err(self.ended("another n-gram or \\end\\"));
            };
            if line.trim_matches(BLANK).is_empty() {
                break;
            }
            let parsed = entry(line, order, highest, &mut self.ngrams, &mut grams);
            if let Err((want, found)) = parsed {
                return Err(self.fault(&want, &found));
            }
        }
        let (found, want) = (grams.probabilities.len() as u64, self.counts[order - 1]);
        if found != want {
            let want = format!("{want} {order}-grams, as the head of the file says");
            return Err(self.fault(&want, &format!("{found}")));
        }
        self.ngrams.orders.push(grams);
        loop {
            match self.lines.next()?.map(|l| l.trim().to_owned()) {
                Some(line) if line.is_empty() => {}
                Some(line) => return Ok(line),
                None => return Err(self.ended("\\end\\")),
            }
        }
    }
}

/// A number of log10 kind; none if it is not finite.
fn number(text: &str) -> Option<f32> {
    text.parse::<f32>().ok().filter(|value| value.is_finite())
}

/// What was expected and what was found.
type Fault = (String, String);

/// One line of a section: probability, words, and perhaps a back-off weight.
fn entry(
    line: &str,
    order: usize,
    highest: bool,
    all: &mut Ngrams,
    grams: &mut Grams,
) -> std::result::Result<(), Fault> {
    let mut fields = line.split(BLANK).filter(|field| !field.is_empty());
    let first = fields.next().unwrap_or("");
    let Some(probability) = number(first).filter(|&p| p <= 0.0) else {
        return Err(("a log10 probability, a number of at most 0".to_owned(), first.to_owned()));
    };
    for _ in 0..order {
        let Some(word) = fields.next() else {
            return Err((format!("{order} words after the probability"), line.to_owned()));
        };
        grams.words.push(word_id(word, order, all)?);
    }
    let backoff = if let Some(text) = fields.next() {
        let value = number(text).filter(|&b| !highest || b == 0.0);
        let want = ["a finite log10 back-off weight", "no back-off weight in the highest order"];
        value.ok_or_else(|| (want[usize::from(highest)].to_owned(), text.to_owned()))?
    } else {
        all.without_backoff += u64::from(!highest);
        0.0
    };
    if let Some(rest) = fields.next() {
        return Err(("the end of the line".to_owned(), rest.to_owned()));
    }
    grams.probabilities.push(probability);
    // Adding 0 makes a negative zero positive.
    grams.backoffs.push(backoff + 0.0);
    Ok(())
}

/// The id of a word: new ones come with the unigrams, the others must be known by then.
fn word_id(word: &str, order: usize, all: &mut Ngrams) -> std::result::Result<u32, Fault> {
    // Some tools write the unknown word in capitals.
    let word = if word == "<UNK>" { SPECIAL[0] } else { word };
    if order == 1 {
        return Ok(all.names.intern(word));
    }
    all.names.get(word).ok_or_else(|| ("a word that is among the 1-grams".to_owned(), word.to_owned()))
}
