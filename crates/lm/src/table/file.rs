//! The file around the tables: a head that says what it is, and sections on 64-byte bounds.
//!
//! magic (8 bytes), version, kind, order, bits (32 bits each), length of the file, length of the head, hash of all
//! behind the head, hash of the head with this field zero (64 bits each), n-grams of each order, number of sections,
//! start and length of each, length of the options and the options as text. Least significant byte first.

use super::{Automaton, compact, hash};
use dragoman_base::hash::{block, contents as content_hash};
use dragoman_base::{Error, Result, Texts, vocabulary};
use std::ops::Range;

const MAGIC: &[u8; 8] = b"DRAGOMLM";
const VERSION: u32 = 1;
const ALIGN: usize = 64;
const FIXED: usize = 56;

/// How the tables are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// For speed.
    Hash,
    /// For space; probabilities are codes of this many bits.
    Compact(u8),
}

/// Mapped or built in memory.
#[derive(Debug)]
pub enum Bytes {
    /// A file that the system reads as it is needed.
    Mapped(memmap2::Mmap),
    /// Made by this process.
    Owned(Vec<u8>),
}

impl std::ops::Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// What the head says.
#[derive(Debug, Clone)]
pub struct Head {
    pub kind: Kind,
    pub counts: Vec<u64>,
    pub options: String,
    /// Hash of everything behind the head.
    pub hash: u64,
    pub sections: Vec<Range<usize>>,
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
    match kind {
        Kind::Hash => sections.extend(hash::sections(automaton)),
        Kind::Compact(bits) => sections.extend(compact::sections(automaton, usize::from(bits))),
    }
    let used = FIXED + counts.len() * 8 + 8 + sections.len() * 16 + 8 + options.len();
    let head = used.next_multiple_of(ALIGN);
    let mut file = vec![0; head];
    let mut places: Vec<u64> = counts.to_vec();
    places.push(sections.len() as u64);
    for section in sections {
        places.extend([file.len() as u64, section.len() as u64]);
        file.extend(section);
        file.resize(file.len().next_multiple_of(ALIGN), 0);
    }
    places.push(options.len() as u64);
    let (code, bits) = match kind {
        Kind::Hash => (1u32, 0),
        Kind::Compact(bits) => (2, u32::from(bits)),
    };
    file[..8].copy_from_slice(MAGIC);
    for (i, value) in [VERSION, code, counts.len() as u32, bits].into_iter().enumerate() {
        file[8 + i * 4..12 + i * 4].copy_from_slice(&value.to_le_bytes());
    }
    let hash = content_hash(&file[head..]);
    for (i, value) in [file.len() as u64, head as u64, hash, 0].into_iter().chain(places).enumerate() {
        file[24 + i * 8..32 + i * 8].copy_from_slice(&value.to_le_bytes());
    }
    file[used - options.len()..used].copy_from_slice(options.as_bytes());
    let hash = block(&file[..head]);
    file[48..56].copy_from_slice(&hash.to_le_bytes());
    Ok(file)
}

/// Whether a file begins as our tables do.
pub fn is_table(start: &[u8]) -> bool {
    start.starts_with(MAGIC)
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..at + 8)?.try_into().ok()?;
    usize::try_from(u64::from_le_bytes(bytes)).ok()
}

/// The head of a file that is known to be ours, whose head is whole.
fn fields(bytes: &[u8], head: usize) -> Option<Head> {
    let (code, order, bits) = (super::word(bytes, 3), super::word(bytes, 4), super::word(bytes, 5));
    let kind = match code {
        1 => Kind::Hash,
        2 => Kind::Compact(u8::try_from(bits).ok()?),
        _ => return None,
    };
    let mut at = FIXED;
    let mut next = || {
        at += 8;
        number(&bytes[..head], at - 8)
    };
    let counts = (0..order).map(|_| next().map(|c| c as u64)).collect::<Option<Vec<_>>>()?;
    let count = next()?;
    let mut sections = Vec::new();
    for _ in 0..count {
        let (from, length) = (next()?, next()?);
        sections.push(from..from.checked_add(length).filter(|&end| end <= bytes.len())?);
    }
    let length = next()?;
    let options = std::str::from_utf8(bytes[..head].get(at..at.checked_add(length)?)?).ok()?.to_owned();
    Some(Head { kind, counts, options, hash: number(bytes, 40)? as u64, sections })
}

/// Reads and checks the head; with `contents`, checks all the rest too.
pub fn parse(bytes: &[u8], path: &str, contents: bool) -> Result<Head> {
    let damaged = |what: &str| Error::Damaged { path: path.to_owned(), line: 1, what: what.to_owned() };
    if bytes.len() < FIXED || !is_table(bytes) {
        return Err(damaged("not a language model of dragoman, or cut off in its first bytes"));
    }
    let version = super::word(bytes, 2);
    if version != VERSION {
        let what =
            format!("a language model of form {version}, where this program knows form {VERSION} only");
        return Err(damaged(&what));
    }
    let (length, head) = (number(bytes, 24).unwrap_or(0), number(bytes, 32).unwrap_or(0));
    if bytes.len() < head || head < FIXED {
        return Err(damaged("the language model is truncated: it ends in its head"));
    }
    let mut copy = bytes[..head].to_vec();
    copy[48..56].fill(0);
    if number(bytes, 48).map(|h| h as u64) != Some(block(&copy)) {
        return Err(damaged("the head of the language model is corrupt: its hash does not fit"));
    }
    if bytes.len() != length {
        let what =
            format!("the language model is truncated or extended: {} bytes, not {length}", bytes.len());
        return Err(damaged(&what));
    }
    let found =
        fields(bytes, head).ok_or_else(|| damaged("the head of the language model makes no sense"))?;
    if contents && content_hash(&bytes[head..]) != found.hash {
        return Err(damaged("the language model is corrupt: the hash of its contents does not fit"));
    }
    Ok(found)
}
