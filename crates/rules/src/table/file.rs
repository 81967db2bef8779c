//! The file around a table: a head that says what it is, and sections on 64-byte bounds.
//!
//! magic (8 bytes), version, number of sections (32 bits each), length of the file, length of the head, hash of the
//! head with this field zero, longest source phrase, number of rules, length of the column names, length of the
//! meta-data (64 bits each); start, length and hash of each section; the column names, apart by line ends; the
//! meta-data. Least significant byte first.

use dragoman_base::hash::{block, mix};
use dragoman_base::{Error, Result};
use rayon::prelude::*;
use std::ops::Range;

const MAGIC: &[u8; 8] = b"DRAGOMRT";
const VERSION: u32 = 1;
/// Sections begin at multiples of this.
pub const ALIGN: usize = 64;
const FIXED: usize = 72;
/// Bytes that one task hashes.
const BLOCK: usize = 1 << 18;

/// A hash of bytes that arrive in pieces: finds damage; no protection against intent.
#[derive(Debug, Default)]
pub struct Hasher {
    sum: u64,
    pending: Vec<u8>,
}

impl Hasher {
    /// Takes more bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let count = bytes.len().min(BLOCK - self.pending.len());
            self.pending.extend_from_slice(&bytes[..count]);
            bytes = &bytes[count..];
            if self.pending.len() == BLOCK {
                self.flush();
            }
        }
    }

    fn flush(&mut self) {
        self.sum = mix(self.sum ^ block(&self.pending));
        self.pending.clear();
    }

    /// The hash of all bytes.
    pub fn finish(mut self) -> u64 {
        if !self.pending.is_empty() {
            self.flush();
        }
        self.sum
    }
}

/// The hash that [`Hasher`] gives, on all cores.
pub fn content_hash(bytes: &[u8]) -> u64 {
    let blocks: Vec<u64> = bytes.par_chunks(BLOCK).map(block).collect();
    blocks.into_iter().fold(0, |sum, value| mix(sum ^ value))
}

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
    pub sections: Vec<(Range<usize>, u64)>,
}

/// The bytes of a head; the sections, given by length and hash, follow it on their bounds.
pub fn head(longest: usize, rules: usize, columns: &str, meta: &str, sections: &[(u64, u64)]) -> Vec<u8> {
    let used = FIXED + sections.len() * 24 + columns.len() + meta.len();
    let length = used.next_multiple_of(ALIGN);
    let mut bytes = Vec::with_capacity(length);
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((sections.len() as u32).to_le_bytes());
    let mut places = Vec::new();
    let mut at = length as u64;
    for &(size, hash) in sections {
        places.extend([at, size, hash]);
        at = (at + size).next_multiple_of(ALIGN as u64);
    }
    let sizes = [longest, rules, columns.len(), meta.len()].map(|v| v as u64);
    for value in [at, length as u64, 0].into_iter().chain(sizes).chain(places) {
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend(columns.as_bytes());
    bytes.extend(meta.as_bytes());
    bytes.resize(length, 0);
    let hash = block(&bytes);
    bytes[32..40].copy_from_slice(&hash.to_le_bytes());
    bytes
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(8)?)?.try_into().ok()?;
    usize::try_from(u64::from_le_bytes(bytes)).ok()
}

/// The fields of a head whose hash is right, in a file of `length` bytes.
fn fields(head: &[u8], length: usize) -> Option<Head> {
    let count = u32::from_le_bytes(head.get(12..16)?.try_into().ok()?) as usize;
    let [longest, rules, columns, meta] = [40, 48, 56, 64].map(|at| number(head, at));
    let mut sections = Vec::new();
    for i in 0..count {
        let at = FIXED + i * 24;
        let (from, size) = (number(head, at)?, number(head, at + 8)?);
        let end = from.checked_add(size).filter(|&end| end <= length && from.is_multiple_of(ALIGN))?;
        let hash = u64::from_le_bytes(head.get(at + 16..at + 24)?.try_into().ok()?);
        sections.push((from..end, hash));
    }
    let from = FIXED + count * 24;
    let middle = from.checked_add(columns?)?;
    let columns = std::str::from_utf8(head.get(from..middle)?).ok()?;
    let columns = columns.lines().map(str::to_owned).collect();
    let meta = std::str::from_utf8(head.get(middle..middle.checked_add(meta?)?)?).ok()?.to_owned();
    Some(Head { longest: longest?, rules: rules?, columns, meta, sections })
}

/// An error about a file that is not as we wrote it.
pub fn damaged(path: &str, what: impl Into<String>) -> Error {
    Error::Damaged { path: path.to_owned(), line: 1, what: what.into() }
}

/// Reads and checks the head.
pub fn parse(bytes: &[u8], path: &str) -> Result<Head> {
    if bytes.len() < FIXED || !bytes.starts_with(MAGIC) {
        return Err(damaged(path, "not a rule table of dragoman, or cut off in its first bytes"));
    }
    let version = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
    if version != VERSION {
        let what = format!("a rule table of form {version}, where this program knows form {VERSION} only");
        return Err(damaged(path, what));
    }
    let (length, head) = (number(bytes, 16).unwrap_or(0), number(bytes, 24).unwrap_or(0));
    if bytes.len() < head || head < FIXED {
        return Err(damaged(path, "the rule table is truncated: it ends in its head"));
    }
    let mut copy = bytes[..head].to_vec();
    copy[32..40].fill(0);
    if bytes[32..40] != block(&copy).to_le_bytes() {
        return Err(damaged(path, "the head of the rule table is corrupt: its hash does not fit"));
    }
    if bytes.len() != length {
        let what = format!("the rule table is truncated or extended: {} bytes, not {length}", bytes.len());
        return Err(damaged(path, what));
    }
    fields(&copy, length).ok_or_else(|| damaged(path, "the head of the rule table makes no sense"))
}
