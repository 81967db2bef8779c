//! Writing a table: rules arrive sorted by source phrase and go to temporary files, section by section.

use super::file::head;
use super::{MAX_LENGTH, NONE, Record, SECTIONS};
use dragoman_base::container::zeros;
use dragoman_base::hash::Hasher;
use dragoman_base::io::Output;
use dragoman_base::scratch::{Scratch, Spool};
use dragoman_base::{Error, Result, Texts, vocabulary};
use std::path::Path;

/// One rule on its way into a table.
#[derive(Debug, Clone, Copy)]
pub struct Rule<'a> {
    /// Source words by id.
    pub source: &'a [u32],
    /// Target words by id.
    pub target: &'a [u32],
    /// Internal links: source offset, target offset.
    pub links: &'a [[u8; 2]],
    /// A natural logarithm for each column.
    pub scores: &'a [f32],
}

/// A section in a temporary file, with its hash.
struct Part {
    spool: Spool,
    hasher: Hasher,
}

impl Part {
    fn new(scratch: &Scratch) -> Result<Self> {
        Ok(Self { spool: Spool::new(scratch)?, hasher: Hasher::default() })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.hasher.update(bytes);
        self.spool.write(bytes)
    }
}

/// Nodes of one depth, in order; a node's first child is a number within the next depth until the end.
struct Level {
    spool: Spool,
    count: u32,
    /// The node that may still get rules or children.
    open: Record,
}

/// Writes a table in constant memory: rules in order of their source phrases, words as they are numbered.
pub struct Builder {
    scratch: Scratch,
    path: String,
    columns: Vec<String>,
    meta: String,
    levels: Vec<Level>,
    phrase: Vec<u32>,
    rules: u32,
    targets: u32,
    link_count: u32,
    offsets: Part,
    words: Part,
    links: Part,
    scores: Part,
}

fn too_big(what: &str) -> Error {
    Error::Invalid(format!("a rule table has less than 2^32 {what}; prune, or extract shorter phrases"))
}

impl Builder {
    /// Starts the table at `path`, which appears when it is whole; temporary files are in the same folder.
    pub fn create(path: &Path, columns: &[String], meta: &str) -> Result<Self> {
        if let Some(bad) = columns.iter().find(|name| name.is_empty() || name.contains(['\n', '\r'])) {
            return Err(Error::Invalid(format!("expected column names of one line, found {bad:?}")));
        }
        let scratch = Scratch::beside(path);
        let part = || Part::new(&scratch);
        Ok(Self {
            path: path.display().to_string(),
            columns: columns.to_vec(),
            meta: meta.to_owned(),
            levels: Vec::new(),
            phrase: Vec::new(),
            rules: 0,
            targets: 0,
            link_count: 0,
            offsets: part()?,
            words: part()?,
            links: part()?,
            scores: part()?,
            scratch: scratch.clone(),
        })
    }

    /// Number of rules so far.
    pub fn len(&self) -> usize {
        self.rules as usize
    }

    /// Whether there are no rules yet.
    pub fn is_empty(&self) -> bool {
        self.rules == 0
    }

    /// Adds a rule. Its source phrase is that of the rule before, or a later one.
    pub fn push(&mut self, rule: Rule<'_>) -> Result<()> {
        let (source, target) = (rule.source, rule.target);
        if !(1..=MAX_LENGTH).contains(&source.len()) || target.len() > MAX_LENGTH {
            let (s, t) = (source.len(), target.len());
            return Err(Error::Invalid(format!(
                "expected phrases of at most {MAX_LENGTH} words, and a source of at least one, found {s} and {t}"
            )));
        }
        assert_eq!(rule.scores.len(), self.columns.len(), "a score for each column");
        if source != self.phrase.as_slice() || self.rules == 0 {
            self.enter(source)?;
        }
        self.levels[source.len() - 1].open[3] += 1;
        self.offsets.write(&offsets(self.targets, self.link_count))?;
        rule.target.iter().try_for_each(|word| self.words.write(&word.to_le_bytes()))?;
        self.links.write(rule.links.as_flattened())?;
        rule.scores.iter().try_for_each(|score| self.scores.write(&score.to_le_bytes()))?;
        let grow = |sum: u32, more: usize| u32::try_from(more).ok().and_then(|more| sum.checked_add(more));
        self.rules = grow(self.rules, 1).filter(|&n| n < NONE).ok_or_else(|| too_big("rules"))?;
        self.targets = grow(self.targets, target.len()).ok_or_else(|| too_big("target words"))?;
        self.link_count = grow(self.link_count, rule.links.len()).ok_or_else(|| too_big("links"))?;
        Ok(())
    }

    /// Opens the nodes of a new source phrase.
    fn enter(&mut self, source: &[u32]) -> Result<()> {
        assert!(source > self.phrase.as_slice(), "rules come in order of their source phrases");
        let shared = source.iter().zip(&self.phrase).take_while(|(a, b)| a == b).count();
        for (depth, &word) in source.iter().enumerate().skip(shared) {
            if depth == self.levels.len() {
                let spool = Spool::new(&self.scratch)?;
                self.levels.push(Level { spool, count: 0, open: [NONE; 4] });
            }
            let child = self.levels.get(depth + 1).map_or(0, |deeper| deeper.count);
            let level = &mut self.levels[depth];
            level.close()?;
            level.open = [word, child, self.rules, 0];
            level.count = level.count.checked_add(1).ok_or_else(|| too_big("source phrases"))?;
        }
        self.phrase.clear();
        self.phrase.extend_from_slice(source);
        Ok(())
    }

    /// Joins the levels to one section; also gives the node of each word that begins a phrase.
    fn nodes(&mut self, words: usize) -> Result<(Part, Vec<u8>)> {
        let mut nodes = Part::new(&self.scratch)?;
        let mut first = vec![NONE; words];
        let record = |part: &mut Part, record: Record| part.write(&bytes(&record));
        record(&mut nodes, [NONE, 1, 0, 0])?;
        let mut next = 1u32;
        for (depth, mut level) in std::mem::take(&mut self.levels).into_iter().enumerate() {
            level.close()?;
            let start = next;
            next = next.checked_add(level.count).ok_or_else(|| too_big("source phrases"))?;
            let mut at = start;
            level.spool.drain(|piece| {
                for node in piece.as_chunks_mut::<16>().0 {
                    let child = u32::from_le_bytes([node[4], node[5], node[6], node[7]]);
                    let child = child.checked_add(next).ok_or_else(|| too_big("source phrases"))?;
                    node[4..8].copy_from_slice(&child.to_le_bytes());
                    let word = u32::from_le_bytes([node[0], node[1], node[2], node[3]]);
                    if depth == 0 {
                        first[word as usize] = at;
                    }
                    at += 1;
                }
                nodes.write(piece)
            })?;
        }
        record(&mut nodes, [NONE, next, self.rules, 0])?;
        Ok((nodes, first.iter().flat_map(|v| v.to_le_bytes()).collect()))
    }

    /// Completes the file. All word ids of the rules are below the lengths of these columns.
    pub fn finish(mut self, source: &Texts, target: &Texts) -> Result<()> {
        if source.bytes().len().max(target.bytes().len()) >= u32::MAX as usize {
            return Err(too_big("bytes of words"));
        }
        let longest = self.levels.len();
        self.offsets.write(&offsets(self.targets, self.link_count))?;
        let (nodes, first) = self.nodes(source.len())?;
        let mut parts = Vec::new();
        let [s, t] = [source, target].map(vocabulary::sections);
        for section in s.into_iter().chain(t).chain([first]) {
            let mut part = Part::new(&self.scratch)?;
            part.write(&section)?;
            parts.push(part);
        }
        parts.extend([nodes, self.offsets, self.words, self.links, self.scores]);
        assert_eq!(parts.len(), SECTIONS);
        let columns = self.columns.join("\n");
        save(&self.path, parts, |sizes| head(longest, self.rules as usize, &columns, &self.meta, sizes))
    }
}

impl Level {
    fn close(&mut self) -> Result<()> {
        if self.count > 0 { self.spool.write(&bytes(&self.open)) } else { Ok(()) }
    }
}

fn offsets(words: u32, links: u32) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&words.to_le_bytes());
    bytes[4..].copy_from_slice(&links.to_le_bytes());
    bytes
}

fn bytes(record: &Record) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (place, value) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(record) {
        *place = value.to_le_bytes();
    }
    bytes
}

fn save(path: &str, parts: Vec<Part>, head: impl FnOnce(&[(u64, u64)]) -> Vec<u8>) -> Result<()> {
    let (spools, sizes): (Vec<Spool>, Vec<(u64, u64)>) = parts
        .into_iter()
        .map(|part| {
            let size = (part.spool.len(), part.hasher.finish());
            (part.spool, size)
        })
        .unzip();
    let mut out = Output::create(path)?;
    out.write(&head(&sizes))?;
    for spool in spools {
        let length = spool.len() as usize;
        spool.drain(|piece| out.write(piece))?;
        out.write(zeros(length))?;
    }
    out.finish()
}
