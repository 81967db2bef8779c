//! Writing a table: rules arrive sorted by source phrase and go to temporary files, section by section.

use super::file::head;
use super::{MAX_LENGTH, NONE, Record, SECTIONS};
use dragoman_base::container::zeros;
use dragoman_base::frames::{damaged, open, seal};
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
    /// The first source phrase, and the last.
    first: Vec<u32>,
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
        Self::of(Scratch::beside(path), path.display().to_string(), columns, meta)
    }

    /// Starts a part of a table, for [`Builder::into_part`]: the rules of a range of source phrases.
    pub fn part(columns: &[String]) -> Result<Self> {
        Self::of(Scratch::new(None), String::new(), columns, "")
    }

    fn of(scratch: Scratch, path: String, columns: &[String], meta: &str) -> Result<Self> {
        let part = || Part::new(&scratch);
        Ok(Self {
            path,
            columns: columns.to_vec(),
            meta: meta.to_owned(),
            levels: Vec::new(),
            first: Vec::new(),
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
                self.levels.push(Level::new(&self.scratch)?);
            }
            let child = self.levels.get(depth + 1).map_or(0, |deeper| deeper.count);
            self.levels[depth].enter([word, child, self.rules, 0])?;
        }
        self.phrase.clear();
        self.phrase.extend_from_slice(source);
        if self.rules == 0 {
            self.first.extend_from_slice(source);
        }
        Ok(())
    }

    /// The rules as bytes, for [`Builder::append`].
    pub fn into_part(mut self) -> Result<Vec<u8>> {
        let sizes = [self.rules, self.targets, self.link_count];
        let mut parts = vec![le_bytes(&sizes), le_bytes(&self.first), le_bytes(&self.phrase)];
        for part in [self.offsets, self.words, self.links, self.scores] {
            parts.push(part.spool.into_bytes()?);
        }
        for mut level in self.levels.drain(..) {
            level.close()?;
            parts.push(level.spool.into_bytes()?);
        }
        Ok(seal(&parts))
    }

    /// Adds the rules of a part, whose source phrases come behind those that are here.
    pub fn append(&mut self, part: &[u8]) -> Result<()> {
        let parts = open(part)?;
        let ([sizes, first, last, offsets, words, links, scores], levels) =
            parts.split_first_chunk().ok_or_else(damaged)?;
        let [rules, targets, link_count] = numbers(sizes)[..] else { return Err(damaged()) };
        let (first, last) = (numbers(first), numbers(last));
        if rules == 0 {
            return Ok(());
        }
        assert!(first > self.phrase, "parts come in order of their source phrases");
        self.join(&first, levels)?;
        for offset in offsets.as_chunks::<8>().0 {
            let [word, link] = [0, 4].map(|at| number(&offset[at..]));
            let word = word.checked_add(self.targets).ok_or_else(|| too_big("target words"))?;
            let link = link.checked_add(self.link_count).ok_or_else(|| too_big("links"))?;
            self.offsets.write(&self::offsets(word, link))?;
        }
        self.words.write(words)?;
        self.links.write(links)?;
        self.scores.write(scores)?;
        self.rules =
            grow(self.rules, rules as usize).filter(|&n| n < NONE).ok_or_else(|| too_big("rules"))?;
        self.targets = grow(self.targets, targets as usize).ok_or_else(|| too_big("target words"))?;
        self.link_count = grow(self.link_count, link_count as usize).ok_or_else(|| too_big("links"))?;
        self.phrase = last;
        Ok(())
    }

    /// Adds the nodes of a part, depth by depth. Those of the words that its first phrase shares with the last one before
    /// are there already.
    fn join(&mut self, first: &[u32], levels: &[&[u8]]) -> Result<()> {
        let shared = first.iter().zip(&self.phrase).take_while(|(a, b)| a == b).count();
        while self.levels.len() < levels.len() {
            self.levels.push(Level::new(&self.scratch)?);
        }
        let before: Vec<u32> = self.levels.iter().map(|level| level.count).collect();
        for (depth, nodes) in levels.iter().enumerate() {
            let deeper = before.get(depth + 1).copied().unwrap_or(0) - u32::from(depth + 1 < shared);
            let level = &mut self.levels[depth];
            for node in nodes.as_chunks::<16>().0.iter().skip(usize::from(depth < shared)) {
                let [word, child, rule, count] = [0, 4, 8, 12].map(|at| number(&node[at..]));
                let child = child.checked_add(deeper).ok_or_else(|| too_big("source phrases"))?;
                let rule = rule.checked_add(self.rules).ok_or_else(|| too_big("rules"))?;
                level.enter([word, child, rule, count])?;
            }
        }
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
                    let child =
                        number(&node[4..]).checked_add(next).ok_or_else(|| too_big("source phrases"))?;
                    node[4..8].copy_from_slice(&child.to_le_bytes());
                    if depth == 0 {
                        first[number(node) as usize] = at;
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
    fn new(scratch: &Scratch) -> Result<Self> {
        Ok(Self { spool: Spool::new(scratch)?, count: 0, open: [NONE; 4] })
    }

    /// Adds a node.
    fn enter(&mut self, node: Record) -> Result<()> {
        self.close()?;
        self.open = node;
        self.count = self.count.checked_add(1).ok_or_else(|| too_big("source phrases"))?;
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        if self.count > 0 { self.spool.write(&bytes(&self.open)) } else { Ok(()) }
    }
}

fn grow(sum: u32, more: usize) -> Option<u32> {
    u32::try_from(more).ok().and_then(|more| sum.checked_add(more))
}

/// The number that these bytes begin with.
fn number(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

fn numbers(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
}

fn le_bytes(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Target = (Vec<u32>, Vec<[u8; 2]>, f32);

    fn push(builder: &mut Builder, source: &[u32], targets: &[Target]) {
        for (target, links, score) in targets {
            builder.push(Rule { source, target, links, scores: &[*score] }).unwrap();
        }
    }

    proptest! {
        #[test]
        fn parts_one_behind_the_other_are_the_table(
            rules in prop::collection::btree_map(
                prop::collection::vec(0..4u32, 1..5),
                prop::collection::vec((prop::collection::vec(0..4u32, 0..3), prop::collection::vec(any::<[u8; 2]>(), 0..3), 0.0f32..1.0), 1..3),
                0..40,
            ),
            cuts in prop::collection::vec(0..40usize, 0..6),
        ) {
            let rules: BTreeMap<Vec<u32>, Vec<Target>> = rules;
            let folder = tempfile::tempdir().unwrap();
            let columns = ["score".to_owned()];
            let create = |name: &str| Builder::create(&folder.path().join(name), &columns, "{}").unwrap();
            let (mut whole, mut joined) = (create("whole"), create("joined"));
            for (source, targets) in &rules {
                push(&mut whole, source, targets);
            }
            let rules: Vec<_> = rules.into_iter().collect();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(rules.len())).collect();
            cuts.extend([0, rules.len()]);
            cuts.sort_unstable();
            for range in cuts.windows(2) {
                let mut part = Builder::part(&columns).unwrap();
                for (source, targets) in &rules[range[0]..range[1]] {
                    push(&mut part, source, targets);
                }
                joined.append(&part.into_part().unwrap()).unwrap();
            }
            let words: Texts = ["a", "b", "c", "d"].into_iter().collect();
            whole.finish(&words, &words).unwrap();
            joined.finish(&words, &words).unwrap();
            let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
            prop_assert!(read("whole") == read("joined"));
        }
    }
}
