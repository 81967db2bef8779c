//! The head of a table: the mark is the number of sections; the numbers are the longest source phrase, the number of
//! rules, the length of the column names and that of the meta-data; the text is the column names, apart by line ends, and
//! the meta-data. Each section has a hash ([`dragoman_base::container`] has the rest).

use dragoman_base::Result;
use dragoman_base::container::{Form, Hashing, Heading, Sections};

/// Rule tables. Their sections come in pieces, from temporary files.
pub const FORM: Form = Form {
    magic: *b"DRAGOMRT",
    version: 1,
    a: "a rule table",
    the: "the rule table",
    marks: 1,
    hashing: Hashing::Each,
};

/// What the head says.
#[derive(Debug, Clone)]
pub struct Head {
    /// Words of the longest source phrase.
    pub longest: usize,
    /// Number of rules.
    pub rules: usize,
    /// Names of the score columns.
    pub columns: Vec<String>,
    /// Meta-data as JSON.
    pub meta: String,
    /// Where the sections are, and their hashes.
    pub sections: Sections,
}

/// The bytes of a head; the sections, given by length and hash, follow it on their bounds.
pub fn head(longest: usize, rules: usize, columns: &str, meta: &str, sections: &[(u64, u64)]) -> Vec<u8> {
    let (lengths, hashes): (Vec<u64>, Vec<u64>) = sections.iter().copied().unzip();
    let numbers = [longest, rules, columns.len(), meta.len()].map(|number| number as u64);
    let (marks, text) = ([sections.len() as u32], [columns, meta].concat());
    let heading = Heading { marks: &marks, before: &numbers, after: &[], text: &text };
    FORM.head(&heading, &lengths, &hashes)
}

/// Reads and checks the head.
pub fn parse(bytes: &[u8], path: &str) -> Result<Head> {
    FORM.read(bytes, path, |fields| {
        let [count] = fields.marks();
        let (longest, rules) = (fields.number()?, fields.number()?);
        let (columns, meta) = (fields.number()?, fields.number()?);
        let sections = fields.sections(count as usize)?;
        let columns = fields.text(columns)?.lines().map(str::to_owned).collect();
        Some(Head { longest, rules, columns, meta: fields.text(meta)?.to_owned(), sections })
    })
}
