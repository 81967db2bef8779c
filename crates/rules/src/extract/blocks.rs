//! Phrase pairs of one sentence pair, and the orientation of each: what is consistent with the links.
//!
//! A block is a target span and a source span such that no link leaves it and at least one is inside. For every
//! target span there is at most one tight block (its source span begins and ends with an aligned word); all others
//! grow from tight ones over unaligned source words. Tight blocks are found in O(n^2) steps for a pair of n words:
//! the links of each further target word and of each further source column are looked at once per start.

use super::bitext::Sentence;

/// Corners of blocks: of any size in the low four bits, within the length limit in the high four.
const TOP_LEFT: u8 = 1;
const TOP_RIGHT: u8 = 2;
const BOTTOM_LEFT: u8 = 4;
const BOTTOM_RIGHT: u8 = 8;
const WITHIN: u8 = 4;

/// Monotone, swap or discontinuous.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orientation {
    /// The neighbour is right beside the phrase, in order.
    Monotone = 0,
    /// The neighbour is right beside the phrase, on the other side.
    Swap = 1,
    /// Anything else.
    Discontinuous = 2,
}

/// What an orientation is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Model {
    /// The link of the neighbouring target word (Moses' `wbe`).
    Word,
    /// A neighbouring phrase pair within the length limit (Moses' `phrase`).
    Phrase,
    /// A neighbouring block of any size (Galley and Manning 2008; Moses' `hier`).
    Hierarchical,
}

impl Model {
    /// The name of the model, also in columns: `wbe`, `phrase` or `hier`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Word => "wbe",
            Self::Phrase => "phrase",
            Self::Hierarchical => "hier",
        }
    }

    /// The model of a name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Word, Self::Phrase, Self::Hierarchical].into_iter().find(|model| model.name() == name)
    }
}

/// A phrase pair by its first and last words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    pub source: (usize, usize),
    pub target: (usize, usize),
}

/// What is to be extracted.
#[derive(Debug, Clone)]
pub struct Shape {
    /// Words of the longest phrase on either side.
    pub length: usize,
    /// Orientations to tell.
    pub models: Vec<Model>,
    /// Whether the next block is judged as Moses does it, by a block that *ends* in the next target word.
    pub moses: bool,
}

/// Working memory for one sentence pair after the other.
#[derive(Debug, Default)]
pub struct Blocks {
    words: (usize, usize),
    /// For each source word, its first and last target word; none if `first > last`.
    columns: Vec<(usize, usize)>,
    /// For each target word, its first and last source word.
    rows: Vec<(usize, usize)>,
    /// For each source word and the end, the first of its links.
    pub starts: Vec<usize>,
    /// Unaligned source words right before and right after each source word.
    free: Vec<(usize, usize)>,
    /// A bit for each target and source word that are linked.
    linked: Vec<bool>,
    /// For each target and source word, which corners of blocks are there.
    corners: Vec<u8>,
    tight: Vec<Span>,
}

const EMPTY: (usize, usize) = (usize::MAX, 0);

fn widen(range: &mut (usize, usize), at: usize) {
    *range = (range.0.min(at), range.1.max(at));
}

impl Blocks {
    /// Takes in the links of a sentence pair and finds its blocks.
    pub fn load(&mut self, sentence: Sentence<'_>, shape: &Shape) {
        let (sources, targets) = (sentence.source.len(), sentence.target.len());
        self.words = (sources, targets);
        refill(&mut self.columns, sources, EMPTY);
        refill(&mut self.rows, targets, EMPTY);
        refill(&mut self.linked, sources * targets, false);
        refill(&mut self.corners, sources * targets, 0);
        refill(&mut self.starts, sources + 1, 0);
        for &[i, j] in sentence.links {
            let (i, j) = (usize::from(i), usize::from(j));
            widen(&mut self.columns[i], j);
            widen(&mut self.rows[j], i);
            self.linked[j * sources + i] = true;
            self.starts[i + 1] += 1;
        }
        (0..sources).for_each(|i| self.starts[i + 1] += self.starts[i]);
        refill(&mut self.free, sources, (0, 0));
        let is_free = |columns: &[(usize, usize)], i: usize| columns[i].0 > columns[i].1;
        for i in 1..sources {
            self.free[i].0 = if is_free(&self.columns, i - 1) { self.free[i - 1].0 + 1 } else { 0 };
        }
        for i in (1..sources).rev() {
            self.free[i - 1].1 = if is_free(&self.columns, i) { self.free[i].1 + 1 } else { 0 };
        }
        self.find(shape);
    }

    /// Finds all tight blocks and marks the corners of all blocks; keeps the tight ones within the limit.
    fn find(&mut self, shape: &Shape) {
        self.tight.clear();
        let (_, targets) = self.words;
        let reach = if shape.models.contains(&Model::Hierarchical) { targets } else { shape.length };
        for first in 0..targets {
            // Source words that the target span reaches, and target words that these reach.
            let (mut source, mut target) = (EMPTY, EMPTY);
            for last in first..targets.min(first + reach) {
                let row = self.rows[last];
                if row.0 <= row.1 {
                    let before = source;
                    widen(&mut source, row.0);
                    widen(&mut source, row.1);
                    let fresh = if before == EMPTY {
                        self.columns[source.0..=source.1].iter().chain(&[])
                    } else {
                        self.columns[source.0..before.0].iter().chain(&self.columns[before.1 + 1..=source.1])
                    };
                    target = fresh.fold(target, |t, c| (t.0.min(c.0), t.1.max(c.1)));
                }
                if source == EMPTY || target.1 > last {
                    continue;
                }
                if target.0 < first {
                    break;
                }
                self.mark(Span { source, target: (first, last) }, shape.length);
            }
        }
    }

    /// Marks the corners of all blocks that grow from a tight one.
    fn mark(&mut self, tight: Span, length: usize) {
        let ((low, high), (top, bottom)) = (tight.source, tight.target);
        let short = bottom - top < length;
        let width = self.words.0;
        for (row, left, right) in [(top, TOP_LEFT, TOP_RIGHT), (bottom, BOTTOM_LEFT, BOTTOM_RIGHT)] {
            for column in low - self.free[low].0..=low {
                let within = if short && high - column < length { left << WITHIN } else { 0 };
                self.corners[row * width + column] |= left | within;
            }
            for column in high..=high + self.free[high].1 {
                let within = if short && column - low < length { right << WITHIN } else { 0 };
                self.corners[row * width + column] |= right | within;
            }
        }
        if short && high - low < length {
            self.tight.push(tight);
        }
    }

    /// The phrase pairs within the limit whose source begins and ends with aligned words.
    pub fn tight(&self) -> &[Span] {
        &self.tight
    }

    /// Calls `take` with every phrase pair within the limit.
    pub fn phrases(&self, length: usize, mut take: impl FnMut(Span)) {
        for &tight in &self.tight {
            let (low, high) = tight.source;
            for first in (low - self.free[low].0..=low).rev() {
                for last in high..=high + self.free[high].1 {
                    if last - first < length {
                        take(Span { source: (first, last), target: tight.target });
                    }
                }
            }
        }
    }

    fn in_grid(&self, row: Option<usize>, column: Option<usize>) -> Option<usize> {
        let (row, column) = row.zip(column).filter(|&(r, c)| r < self.words.1 && c < self.words.0)?;
        Some(row * self.words.0 + column)
    }

    fn has(&self, place: Option<usize>, corner: u8) -> bool {
        place.is_some_and(|place| self.corners[place] & corner != 0)
    }

    /// Orientations towards the block before and the block after in the target.
    pub fn orient(&self, span: Span, model: Model, moses: bool) -> [Orientation; 2] {
        let Span { source: (low, high), target: (top, bottom) } = span;
        let linked = |place: Option<usize>| place.is_some_and(|place| self.linked[place]);
        let (above, below) = (top.checked_sub(1), Some(bottom + 1));
        let (left, right) = (low.checked_sub(1), Some(high + 1));
        let at_start = (low, top) == (0, 0);
        let at_end = (high + 1, bottom + 1) == self.words;
        // A block that ends in the word before, or begins in the word after. Moses wants it to end there, too.
        let next = if moses { (BOTTOM_LEFT, BOTTOM_RIGHT) } else { (TOP_LEFT, TOP_RIGHT) };
        let sides = [
            (at_start, self.in_grid(above, left), self.in_grid(above, right), (BOTTOM_RIGHT, BOTTOM_LEFT)),
            (at_end, self.in_grid(below, right), self.in_grid(below, left), next),
        ];
        sides.map(|(edge, straight, crossed, corners)| {
            let (monotone, swap) = (edge || linked(straight), linked(crossed));
            let shift = match model {
                Model::Word => 8,
                Model::Phrase => WITHIN,
                Model::Hierarchical => 0,
            };
            let corner = |corner: u8| corner.checked_shl(u32::from(shift)).unwrap_or(0);
            if (monotone && !swap) || self.has(straight, corner(corners.0)) {
                Orientation::Monotone
            } else if (swap && !monotone) || self.has(crossed, corner(corners.1)) {
                Orientation::Swap
            } else {
                Orientation::Discontinuous
            }
        })
    }
}

fn refill<T: Clone>(values: &mut Vec<T>, count: usize, value: T) {
    values.clear();
    values.resize(count, value);
}
