//! The rule table: a trie over source phrases, and the rules of each, in a file that is mapped and not read.
//!
//! Nodes are in level order, so that the children of a node are neighbours, sorted by word. The rules of a source
//! phrase have consecutive numbers. Opening looks at the head only; a file that was damaged behind it gives wrong or
//! empty answers, never a crash, and [`Table::verify`] finds the damage.

mod build;
mod file;

pub use build::{Builder, Rule};

use dragoman_base::container::{Bytes, Plain, view};
use dragoman_base::vocabulary::Vocabulary;
use dragoman_base::{Error, Result, hash};
use file::{FORM, Head};
use std::ops::Range;
use std::path::Path;

/// The longest phrase on either side, in words: offsets of internal links are bytes.
pub const MAX_LENGTH: usize = 255;

/// No node.
const NONE: u32 = u32::MAX;

/// The sections in the order of the file.
#[derive(Debug, Clone, Copy)]
enum Section {
    SourceText,
    SourceStarts,
    SourceSlots,
    TargetText,
    TargetStarts,
    TargetSlots,
    /// For each source word the node of the phrase of this one word.
    First,
    /// [`Record`] of each node, and one that ends the last.
    Nodes,
    /// For each rule, and for the end, where its target words and its links begin.
    Rules,
    Targets,
    Links,
    Scores,
}

const SECTIONS: usize = Section::Scores as usize + 1;
/// The sections of the source words, and those of the target words.
const SOURCE: [Section; 3] = [Section::SourceText, Section::SourceStarts, Section::SourceSlots];
const TARGET: [Section; 3] = [Section::TargetText, Section::TargetStarts, Section::TargetSlots];

/// A node in the file: its word, its first child, its first rule, how many rules it has.
type Record = [u32; 4];

/// A source phrase in the trie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Node(u32);

impl Node {
    /// A node of a source of rules, which numbers its own.
    pub(crate) fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number of a node.
    pub(crate) fn number(self) -> usize {
        self.0 as usize
    }
}

/// An open rule table. Threads and processes share the mapped pages.
#[derive(Debug)]
pub struct Table {
    map: Bytes,
    head: Head,
    path: String,
    width: usize,
    /// Where the sections are, at hand for every look-up.
    places: [(usize, usize); SECTIONS],
}

impl Table {
    /// Maps the table at `path` and checks its head and that its sections fit together.
    pub fn open(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let map = Bytes::map(&name)?;
        let head = file::parse(&map, &name)?;
        let mut places = [(0, 0); SECTIONS];
        for (place, range) in places.iter_mut().zip(&head.sections.places) {
            *place = (range.start, range.end);
        }
        let table = Self { width: head.columns.len(), map, head, path: name, places };
        if table.fits() { Ok(table) } else { Err(table.damaged("its sections do not fit together")) }
    }

    fn damaged(&self, what: &str) -> Error {
        FORM.damaged(&self.path, &format!("damaged: {what}"))
    }

    /// Whether the lengths of the sections agree.
    fn fits(&self) -> bool {
        let sized = |section: Section, unit: usize, count: usize| {
            count.checked_mul(unit).is_some_and(|size| self.bytes(section).len() == size)
        };
        let words = |section: Section| (self.bytes(section).len() / 4).saturating_sub(1);
        self.head.sections.places.len() == SECTIONS
            && sized(Section::First, 4, words(Section::SourceStarts))
            && sized(Section::Nodes, 16, self.bytes(Section::Nodes).len() / 16)
            && self.bytes(Section::Nodes).len() >= 32
            && sized(Section::Rules, 8, self.head.rules.saturating_add(1))
            && sized(Section::Scores, 4, self.head.rules.saturating_mul(self.width))
            && self.head.rules < NONE as usize
            && self.head.longest <= MAX_LENGTH
            && self.words(SOURCE).is_some()
            && self.words(TARGET).is_some()
    }

    fn bytes(&self, section: Section) -> &[u8] {
        let (from, to) = self.places[section as usize];
        &self.map[from..to]
    }

    fn slice<T: Plain>(&self, section: Section) -> &[T] {
        view(self.bytes(section))
    }

    fn words(&self, sections: [Section; 3]) -> Option<Vocabulary<'_>> {
        Vocabulary::new(sections.map(|section| self.bytes(section)))
    }

    fn source(&self) -> Vocabulary<'_> {
        self.words(SOURCE).unwrap_or_default()
    }

    fn target_vocabulary(&self) -> Vocabulary<'_> {
        self.words(TARGET).unwrap_or_default()
    }

    /// Names of the score columns.
    pub fn columns(&self) -> &[String] {
        &self.head.columns
    }

    /// Options, signature and version as JSON.
    pub fn meta(&self) -> &str {
        &self.head.meta
    }

    /// The file, as it was named when it was opened.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Size of the file in bytes.
    pub fn file_size(&self) -> usize {
        self.map.len()
    }

    /// A hash of all contents, of the hashes that the head has.
    pub fn signature(&self) -> u64 {
        self.head.sections.hashes.iter().fold(self.head.rules as u64, |sum, part| hash::mix(sum ^ part))
    }

    /// The id of a source word.
    pub fn source_word(&self, word: &str) -> Option<u32> {
        self.source().id(word)
    }

    /// The source word behind `id`.
    pub fn source_text(&self, id: u32) -> &str {
        self.source().name(id)
    }

    /// Number of source words.
    pub fn source_words(&self) -> usize {
        self.source().len()
    }

    /// The id of a target word.
    pub fn target_word(&self, word: &str) -> Option<u32> {
        self.target_vocabulary().id(word)
    }

    /// The target word behind `id`.
    pub fn target_text(&self, id: u32) -> &str {
        self.target_vocabulary().name(id)
    }

    /// Number of target words.
    pub fn target_words(&self) -> usize {
        self.target_vocabulary().len()
    }

    /// The node of the empty phrase.
    #[allow(clippy::unused_self)] // a node means nothing without its table
    pub fn root(&self) -> Node {
        Node(0)
    }

    /// The node of the phrase of `node` and one more word, if any rule begins so.
    pub fn child(&self, node: Node, word: u32) -> Option<Node> {
        let nodes = self.slice::<Record>(Section::Nodes);
        if node.0 == 0 {
            let first = *self.slice::<u32>(Section::First).get(word as usize)?;
            return (first != NONE).then_some(Node(first));
        }
        let children = self.children(node);
        let found = nodes.get(children.clone())?.binary_search_by_key(&word, |record| record[0]).ok()?;
        Some(Node((children.start + found) as u32))
    }

    /// The nodes that continue `node` by one word; always behind it.
    fn children(&self, node: Node) -> Range<usize> {
        let nodes = self.slice::<Record>(Section::Nodes);
        let at = node.0 as usize;
        let bounds = nodes.get(at).zip(nodes.get(at + 1)).map_or((0, 0), |(this, next)| (this[1], next[1]));
        let (from, to) = (bounds.0 as usize, (bounds.1 as usize).min(nodes.len() - 1));
        if from > at { from..to.max(from) } else { 0..0 }
    }

    /// Whether any source phrase goes on after that of `node`.
    pub fn goes_on(&self, node: Node) -> bool {
        node.0 == 0 || !self.children(node).is_empty()
    }

    /// The rules of the source phrase of `node`, by number.
    pub fn rules(&self, node: Node) -> Range<u32> {
        let record = self.slice::<Record>(Section::Nodes).get(node.0 as usize);
        let [_, _, from, count] = record.copied().unwrap_or_default();
        let (from, to) = (from, from.saturating_add(count));
        if to as usize <= self.head.rules { from..to } else { 0..0 }
    }

    fn part<T: Plain>(&self, section: Section, rule: u32, which: usize) -> &[T] {
        let rules = self.slice::<[u32; 2]>(Section::Rules);
        let (this, next) = (rules[rule as usize], rules[rule as usize + 1]);
        self.slice(section).get(this[which] as usize..next[which] as usize).unwrap_or_default()
    }

    /// The target words of a rule; panics for a number that [`Table::rules`] never gives.
    pub fn target(&self, rule: u32) -> &[u32] {
        self.part(Section::Targets, rule, 0)
    }

    /// The internal links of a rule: source offset, target offset.
    pub fn links(&self, rule: u32) -> &[[u8; 2]] {
        self.part(Section::Links, rule, 1)
    }

    /// The scores of a rule, one for each of [`Table::columns`].
    pub fn scores(&self, rule: u32) -> &[f32] {
        let from = rule as usize * self.width;
        &self.slice(Section::Scores)[from..from + self.width]
    }

    /// Number of words of the longest source phrase.
    pub fn longest_source(&self) -> usize {
        self.head.longest
    }

    /// Number of rules.
    pub fn len(&self) -> usize {
        self.head.rules
    }

    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of source phrases that have rules; looks at every node.
    pub fn phrases(&self) -> usize {
        self.slice::<Record>(Section::Nodes).iter().filter(|record| record[3] > 0).count()
    }

    /// The node of a source phrase, if it has rules or is the beginning of one that has.
    pub fn find(&self, words: &[u32]) -> Option<Node> {
        words.iter().try_fold(self.root(), |node, &word| self.child(node, word))
    }

    /// Calls `take` with every source phrase that has rules, in order of word ids.
    pub fn walk(&self, mut take: impl FnMut(&[u32], Range<u32>) -> Result<()>) -> Result<()> {
        let nodes = self.slice::<Record>(Section::Nodes);
        let mut phrase = Vec::new();
        let mut open = vec![self.children(self.root())];
        while let Some(left) = open.last_mut() {
            let Some(at) = left.next() else {
                open.pop();
                phrase.pop();
                continue;
            };
            phrase.push(nodes[at][0]);
            let node = Node(at as u32);
            if !self.rules(node).is_empty() {
                take(&phrase, self.rules(node))?;
            }
            let deeper = open.len() < self.head.longest;
            open.push(if deeper { self.children(node) } else { 0..0 });
        }
        Ok(())
    }

    /// Reads all of the file and checks it against its hashes, on all cores; gives an error if it is damaged.
    pub fn verify(&self) -> Result<()> {
        FORM.verify(&self.map, &self.head.sections, &self.path)?;
        let rising = |part: usize| self.slice::<[u32; 2]>(Section::Rules).is_sorted_by_key(|rule| rule[part]);
        if !self.source().is_whole() || !self.target_vocabulary().is_whole() || !rising(0) || !rising(1) {
            return Err(self.damaged("its contents make no sense"));
        }
        Ok(())
    }
}
