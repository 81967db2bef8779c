//! Which rules apply to which spans (CKY+, Chappelier & Rajman 1998): items are nodes of the rule trie with the spans of
//! the gaps so far, extended by a word or by a span that some rule covers, from left to right.
//!
//! Nothing here depends on scores: an item is extended by a span as soon as any rule covers that, so that all rules of
//! a sentence are known, and features can look at them, before the search begins.

use dragoman_model::{RuleTable, Sentence};
use dragoman_rules::{Node, gap};
use rustc_hash::FxHashMap;

/// No cell.
const NONE: u32 = u32::MAX;

/// Where the rules of a pattern come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// A source side of a table: the rules that have it.
    Table(u16, Node),
    /// A word that is passed through, by its position, and whether it has translations.
    Word(u32, bool),
    /// A translation that the sentence's writer gave, by its number.
    Given(u32),
}

/// A source side that applies somewhere in the sentence.
#[derive(Debug, Clone, Copy)]
pub struct Pattern {
    /// Its rules.
    pub source: Source,
    /// The span where it was first seen to apply.
    pub span: (u32, u32),
    /// The spans of its gaps there.
    pub gaps: [(u32, u32); gap::MOST],
    /// How many gaps it has.
    pub arity: u8,
}

/// A pattern that applies to a span, with the cells of its gaps in order of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completed {
    /// Its number in [`Parse::patterns`].
    pub pattern: u32,
    /// The cells of its gaps; `u32::MAX` where there is none.
    pub tails: [u32; gap::MOST],
}

/// An item: the beginning of a source side, matched.
#[derive(Debug, Clone, Copy)]
struct Item {
    table: u16,
    arity: u8,
    node: Node,
    tails: [u32; gap::MOST],
}

/// Items that start at one word, by where they end.
#[derive(Debug, Default)]
struct Items {
    all: Vec<Item>,
    /// Those that end at the start plus i are `all[ends[i]..ends[i + 1]]`.
    ends: Vec<u32>,
}

impl Items {
    fn ending(&self, offset: usize) -> &[Item] {
        match self.ends.get(offset..offset + 2) {
            Some(&[from, to]) => &self.all[from as usize..to as usize],
            _ => &[],
        }
    }

    /// What was pushed since is all that ends after `offset` words; nothing ends between the last time and this.
    fn close(&mut self, offset: usize) {
        let last = self.ends.last().copied().unwrap_or(0);
        self.ends.resize(offset + 1, last);
        self.ends.push(self.all.len() as u32);
    }
}

/// How far rules reach, and which words are passed through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// Source words that a rule of a table may span, its gaps included.
    pub span: usize,
    /// Passes every word through, besides its translations; else only words that no rule covers alone.
    pub pass_through: bool,
}

/// All that applies to a sentence. A cell is a span; those of table rules have [`Reach::span`] words at most.
#[derive(Debug, Default)]
pub struct Parse {
    /// Words of the longest span that has a cell.
    width: usize,
    /// All source sides, each once.
    pub patterns: Vec<Pattern>,
    completed: Vec<Completed>,
    /// What applies to a cell is `completed[starts..ends]`.
    cells: Vec<(u32, u32)>,
}

impl Parse {
    /// Finds all that applies to a sentence.
    pub fn new(tables: &[RuleTable], sentence: &Sentence<'_>, reach: Reach) -> Self {
        Parser::new(tables, sentence, reach).run()
    }

    /// Words of the longest span that has a cell.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.cells.len()
    }

    /// The number of a span's cell.
    #[inline]
    pub fn cell(&self, from: usize, to: usize) -> usize {
        from * self.width + to - from - 1
    }

    /// The span of a cell.
    #[inline]
    pub fn span(&self, cell: u32) -> (u32, u32) {
        let (from, more) = (cell / self.width as u32, cell % self.width as u32);
        (from, from + more + 1)
    }

    /// What applies to a span.
    #[inline]
    pub fn completed(&self, from: usize, to: usize) -> &[Completed] {
        let (start, end) = self.cells[self.cell(from, to)];
        &self.completed[start as usize..end as usize]
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        self.completed.len() * size_of::<Completed>()
            + self.patterns.len() * size_of::<Pattern>()
            + self.cells.len() * 8
    }
}

struct Parser<'a> {
    tables: &'a [RuleTable],
    sentence: &'a Sentence<'a>,
    reach: Reach,
    /// By table: the word at each position, and the gap.
    words: Vec<Vec<Option<u32>>>,
    gaps: Vec<Option<u32>>,
    /// By start: items that a word may extend.
    active: Vec<Items>,
    /// By start: items that end with a gap whose span is still to come.
    waiting: Vec<Items>,
    known: FxHashMap<Source, u32>,
    made: Parse,
}

impl<'a> Parser<'a> {
    fn new(tables: &'a [RuleTable], sentence: &'a Sentence<'a>, reach: Reach) -> Self {
        let length = sentence.len();
        let given = sentence.input.forced.iter().map(|f| f.to - f.from).max().unwrap_or(0);
        let width = reach.span.max(given).clamp(1, length.max(1));
        let read =
            |t: &RuleTable| sentence.input.words.iter().map(|word| t.rules.source_word(word)).collect();
        let made = Parse { width, cells: vec![(0, 0); length * width], ..Parse::default() };
        Self {
            tables,
            sentence,
            reach,
            words: tables.iter().map(read).collect(),
            gaps: tables.iter().map(|t| t.rules.gap()).collect(),
            active: (0..length).map(|_| Items::default()).collect(),
            waiting: (0..length).map(|_| Items::default()).collect(),
            known: FxHashMap::default(),
            made,
        }
    }

    fn run(mut self) -> Parse {
        for from in 0..self.sentence.len() {
            let root = |(number, table): (usize, &RuleTable)| Item {
                table: number as u16,
                arity: 0,
                node: table.rules.root(),
                tails: [NONE; gap::MOST],
            };
            self.active[from].all.extend(self.tables.iter().enumerate().map(root));
            self.active[from].close(0);
            self.waiting[from].close(0);
        }
        for to in 1..=self.sentence.len() {
            for from in (to.saturating_sub(self.made.width)..to).rev() {
                self.fill(from, to);
            }
        }
        self.made
    }

    /// All that applies to a span: items of its beginnings, extended by a word or a span at its end.
    fn fill(&mut self, from: usize, to: usize) {
        let start = self.made.completed.len() as u32;
        if to - from <= self.reach.span {
            self.extend_by_word(from, to);
            for middle in from + 1..to {
                self.extend_by_gap(from, middle, to);
            }
        }
        self.add_given(from, to);
        let alone = to - from == 1 && self.open_to_words(from) && self.sentence.spans(from, to);
        let known = self.made.completed.len() as u32 > start;
        if alone && (self.reach.pass_through || !known) {
            self.complete(from, to, Source::Word(from as u32, known), 0, [NONE; gap::MOST]);
        }
        let end = self.made.completed.len() as u32;
        let cell = self.made.cell(from, to);
        self.made.cells[cell] = (start, end);
        if to - from < self.reach.span {
            if end > start {
                self.begin_with_gap(from, cell as u32);
            }
            self.active[from].close(to - from);
            self.waiting[from].close(to - from);
        }
    }

    fn extend_by_word(&mut self, from: usize, to: usize) {
        if !self.open_to_words(to - 1) {
            return;
        }
        for number in 0..self.active[from].ending(to - 1 - from).len() {
            let item = self.active[from].ending(to - 1 - from)[number];
            let rules = &self.tables[usize::from(item.table)].rules;
            let word = self.words[usize::from(item.table)][to - 1];
            if let Some(node) = word.and_then(|word| rules.child(item.node, word)) {
                self.arrive(from, to, Item { node, ..item });
            }
        }
    }

    fn extend_by_gap(&mut self, from: usize, middle: usize, to: usize) {
        let cell = self.made.cell(middle, to);
        let (start, end) = self.made.cells[cell];
        if start == end {
            return;
        }
        for number in 0..self.waiting[from].ending(middle - from).len() {
            let mut item = self.waiting[from].ending(middle - from)[number];
            item.tails[usize::from(item.arity)] = cell as u32;
            item.arity += 1;
            self.arrive(from, to, item);
        }
    }

    /// Items whose source side begins with a gap over a cell.
    fn begin_with_gap(&mut self, from: usize, cell: u32) {
        for (number, table) in self.tables.iter().enumerate() {
            let node = self.gaps[number].and_then(|gap| table.rules.child(table.rules.root(), gap));
            if let Some(node) = node {
                let mut tails = [NONE; gap::MOST];
                tails[0] = cell;
                self.keep(from, Item { table: number as u16, arity: 1, node, tails });
            }
        }
    }

    fn arrive(&mut self, from: usize, to: usize, item: Item) {
        let Item { table, node, arity, tails } = item;
        if !self.tables[usize::from(table)].rules.rules(node).is_empty() && self.allows(from, to, &item) {
            self.complete(from, to, Source::Table(table, node), arity, tails);
        }
        self.keep(from, item);
    }

    /// Keeps an item for longer spans, if any source side goes on.
    fn keep(&mut self, from: usize, item: Item) {
        let rules = &self.tables[usize::from(item.table)].rules;
        if !rules.goes_on(item.node) {
            return;
        }
        self.active[from].all.push(item);
        if usize::from(item.arity) < gap::MOST
            && let Some(node) = self.gaps[usize::from(item.table)].and_then(|gap| rules.child(item.node, gap))
        {
            self.waiting[from].all.push(Item { node, ..item });
        }
    }

    fn add_given(&mut self, from: usize, to: usize) {
        let given = &self.sentence.input.forced;
        for number in (0..given.len()).filter(|&i| (given[i].from, given[i].to) == (from, to)) {
            self.complete(from, to, Source::Given(number as u32), 0, [NONE; gap::MOST]);
        }
    }

    /// Whether a rule may have the word at a position: no given translation rules there.
    fn open_to_words(&self, at: usize) -> bool {
        let input = self.sentence.input;
        input.forced.iter().all(|f| !f.exclusive || at < f.from || at >= f.to)
    }

    /// Whether a rule may span so much: walls and borders of zones are not crossed, given spans are not cut, and a zone
    /// that it spans lies in one of its gaps or in a rule without any, so that its translation is in one piece.
    fn allows(&self, from: usize, to: usize, item: &Item) -> bool {
        let input = self.sentence.input;
        let apart = |start: usize, end: usize| to <= start || from >= end;
        let whole = |start: usize, end: usize| from <= start && to >= end;
        self.sentence.spans(from, to)
            && input.forced.iter().all(|f| !f.exclusive || apart(f.from, f.to) || whole(f.from, f.to))
            && input.zones.iter().all(|&(start, end)| {
                let inside = |&cell: &u32| {
                    let (a, b) = self.made.span(cell);
                    a as usize <= start && b as usize >= end
                };
                let within = from >= start && to <= end;
                apart(start, end)
                    || within
                    || item.arity == 0
                    || item.tails[..usize::from(item.arity)].iter().any(inside)
            })
    }

    fn complete(&mut self, from: usize, to: usize, source: Source, arity: u8, tails: [u32; gap::MOST]) {
        let Self { made, known, .. } = self;
        let pattern = *known.entry(source).or_insert_with(|| {
            let span = (from as u32, to as u32);
            let mut gaps = [(0, 0); gap::MOST];
            for (gap, &cell) in gaps.iter_mut().zip(&tails[..usize::from(arity)]) {
                *gap = (cell / made.width as u32, cell / made.width as u32 + cell % made.width as u32 + 1);
            }
            made.patterns.push(Pattern { source, span, gaps, arity });
            made.patterns.len() as u32 - 1
        });
        made.completed.push(Completed { pattern, tails });
    }
}
