//! The head of a language model: the marks are kind, order and bits; the numbers before the sections are the n-grams of
//! each order and the number of sections, behind them the length of the options; the text is the options. One hash is
//! of all behind the head ([`dragoman_base::container`] has the rest).

use super::{Automaton, compact, hash};
use dragoman_base::container::{Form, Hashing, Heading, Sections};
use dragoman_base::{Error, Result, Texts, vocabulary};

/// Language models. They are made in memory, where they are also used.
pub const FORM: Form = Form {
    magic: *b"DRAGOMLM",
    version: 1,
    a: "a language model",
    the: "the language model",
    marks: 3,
    hashing: Hashing::Whole,
};

/// How the tables are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// For speed.
    Hash,
    /// For space; probabilities are codes of this many bits.
    Compact(u8),
}

/// What the head says.
#[derive(Debug, Clone)]
pub struct Head {
    pub kind: Kind,
    pub counts: Vec<u64>,
    pub options: String,
    /// Where the sections are, and the hash of everything behind the head.
    pub sections: Sections,
}

/// Lays out a whole file.
pub fn assemble(
    automaton: &Automaton,
    words: &Texts,
    counts: &[u64],
    kind: Kind,
    options: &str,
) -> Result<Vec<u8>> {
    if words.bytes().len() >= u32::MAX as usize {
        return Err(Error::Invalid("a vocabulary of more than 4 GB does not fit into a table".to_owned()));
    }
    let mut sections = vocabulary::sections(words).to_vec();
    sections.push(automaton.starts.iter().flat_map(|s| s.to_le_bytes()).collect());
    let (code, bits) = match kind {
        Kind::Hash => {
            sections.extend(hash::sections(automaton));
            (1, 0)
        }
        Kind::Compact(bits) => {
            sections.extend(compact::sections(automaton, usize::from(bits)));
            (2, u32::from(bits))
        }
    };
    let before: Vec<u64> = counts.iter().copied().chain([sections.len() as u64]).collect();
    let (marks, after) = ([code, counts.len() as u32, bits], [options.len() as u64]);
    let heading = Heading { marks: &marks, before: &before, after: &after, text: options };
    Ok(FORM.assemble(&heading, sections))
}

/// Reads and checks the head.
pub fn parse(bytes: &[u8], path: &str) -> Result<Head> {
    FORM.read(bytes, path, |fields| {
        let [code, order, bits] = fields.marks();
        let kind = match code {
            1 => Kind::Hash,
            2 => Kind::Compact(u8::try_from(bits).ok()?),
            _ => return None,
        };
        let counts = (0..order).map(|_| fields.number().map(|count| count as u64));
        let counts = counts.collect::<Option<Vec<_>>>()?;
        let count = fields.number()?;
        let sections = fields.sections(count)?;
        let length = fields.number()?;
        Some(Head { kind, counts, options: fields.text(length)?.to_owned(), sections })
    })
}
