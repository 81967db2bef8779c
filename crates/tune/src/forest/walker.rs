//! What edges add to a text in the states of their tails.

use dragoman_base::Texts;
use dragoman_forest::{Forest, TAIL};
use dragoman_metric::capability::{Gram, Matcher, Part};
use rustc_hash::FxHashMap;

/// What steps add to a text.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// Number of words, then unclipped matches of each order, a row each.
    pub rows: Vec<u32>,
    /// Numbers in a row.
    pub width: usize,
    /// The n-grams of each mark are from here up to the next.
    pub starts: Vec<u32>,
    /// N-grams.
    pub grams: Vec<Gram>,
}

impl Marks {
    fn add(&mut self, words: u32, grams: &[Gram]) {
        let row = self.rows.len();
        self.rows.resize(row + self.width, 0);
        self.rows[row] = words;
        for gram in grams {
            self.rows[row + gram.order as usize] += 1;
        }
        self.grams.extend_from_slice(grams);
        self.starts.push(self.grams.len() as u32);
    }

    /// The number of words of a mark.
    pub fn words(&self, mark: u32) -> u32 {
        self.rows[mark as usize * self.width]
    }

    /// The n-grams of a mark.
    pub fn grams(&self, mark: u32) -> &[Gram] {
        &self.grams[self.starts[mark as usize] as usize..self.starts[mark as usize + 1] as usize]
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        (self.rows.len() + self.starts.len()) * size_of::<u32>() + self.grams.len() * size_of::<Gram>()
    }
}

/// Where target sides lead from the states of their tails, and the marks that they make.
pub(super) struct Walker<'m> {
    matcher: &'m Matcher,
    /// The words of a forest, as the matcher has them.
    words: Vec<Vec<u32>>,
    /// Which nodes nothing comes before in a translation: only their right end matters.
    pub first: Vec<bool>,
    /// For sides that are one tail at most, in front, and then words: a number for each such run of words, and where it
    /// leads from each state.
    sides: FxHashMap<Box<[u32]>, u32>,
    walks: FxHashMap<(u32, u32), (u32, u32)>,
    known: FxHashMap<(u32, Box<[Gram]>), u32>,
    pub marks: Marks,
    grams: Vec<Gram>,
}

/// Which nodes nothing comes before: the root, and first symbols of edges to such nodes, if they are nothing else.
fn first(forest: &Forest) -> Vec<bool> {
    let mut first = vec![true; forest.nodes as usize];
    for edge in (0..forest.edges()).rev() {
        let head = first[forest.heads[edge] as usize];
        for (place, &symbol) in forest.target(edge).iter().enumerate() {
            if symbol >= TAIL && !(head && place == 0) {
                first[forest.tails(edge)[(symbol - TAIL) as usize] as usize] = false;
            }
        }
    }
    first
}

impl<'m> Walker<'m> {
    pub fn new(matcher: &'m Matcher, forest: &Forest) -> Self {
        let known = |words: &Texts| words.iter().map(|word| matcher.words(word)).collect();
        Self {
            matcher,
            words: known(&forest.words),
            first: first(forest),
            sides: FxHashMap::default(),
            walks: FxHashMap::default(),
            known: FxHashMap::default(),
            marks: Marks { width: matcher.order() + 1, starts: vec![0], ..Marks::default() },
            grams: Vec::new(),
        }
    }

    /// The number of a target side that is one tail at most, in front, and then words; for an edge to a node that nothing
    /// comes before, as all edges of a lattice are.
    pub fn side(&mut self, forest: &Forest, edge: usize) -> Option<u32> {
        let (([], words) | ([_], [TAIL, words @ ..])) = (forest.tails(edge), forest.target(edge)) else {
            return None;
        };
        if !self.first[forest.heads[edge] as usize] {
            return None;
        }
        if let Some(&known) = self.sides.get(words) {
            return Some(known);
        }
        self.sides.insert(words.into(), self.sides.len() as u32);
        Some(self.sides.len() as u32 - 1)
    }

    /// Where such a side leads from a state, and the mark; worked out once.
    pub fn walk(&mut self, forest: &Forest, edge: usize, side: u32, tail: Part) -> (Part, u32) {
        if let Some(&(right, mark)) = self.walks.get(&(side, tail.right)) {
            return (Part { right, ..Matcher::part(false) }, mark);
        }
        let (to, mark) = self.join(forest, edge, &[tail]);
        self.walks.insert((side, tail.right), (to.right, mark));
        (to, mark)
    }

    /// What is known of an edge's text with such tails, and the mark.
    pub fn join(&mut self, forest: &Forest, edge: usize, tails: &[Part]) -> (Part, u32) {
        let Self { matcher, words, first, known, marks, grams, .. } = self;
        let inner = !first[forest.heads[edge] as usize];
        let (mut part, mut count) = (Matcher::part(inner), 0);
        grams.clear();
        for &symbol in forest.target(edge) {
            if symbol < TAIL {
                let own = &words[symbol as usize];
                matcher.extend(&mut part, own, grams);
                count += own.len() as u32;
            } else {
                matcher.append(&mut part, tails[(symbol - TAIL) as usize], grams);
            }
        }
        let next = known.len() as u32;
        let mark = *known.entry((count, grams[..].into())).or_insert_with(|| {
            marks.add(count, grams);
            next
        });
        (part, mark)
    }
}
