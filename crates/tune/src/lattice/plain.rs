//! A lattice as it comes: arcs with phrases and features.

use dragoman_base::{Error, Result, Texts};
use rustc_hash::FxHashMap;

/// The lattice of one sentence. Node 0 is the start and the last node the end; every path between them is a
/// translation. Without nodes there is none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plain {
    /// Number of nodes.
    pub nodes: u32,
    /// Where each arc leaves.
    pub tails: Vec<u32>,
    /// Where it arrives: a higher node. In order.
    pub heads: Vec<u32>,
    /// The phrase of each arc.
    pub phrases: Vec<u32>,
    /// All phrases, each once.
    pub texts: Texts,
    /// Which features each arc has: a list of `columns`.
    pub shapes: Vec<u32>,
    /// List i is from here up to the next.
    pub shape_starts: Vec<u32>,
    /// Feature numbers.
    pub columns: Vec<u32>,
    /// The values of an arc are from here on, as many as its list is long.
    pub value_starts: Vec<u32>,
    /// Values.
    pub values: Vec<f32>,
}

/// Takes up arcs and finds what they have in common.
#[derive(Default)]
pub struct Builder {
    made: Plain,
    phrases: FxHashMap<Box<str>, u32>,
    shapes: FxHashMap<Box<[u32]>, u32>,
}

impl Builder {
    /// A lattice with so many nodes and no arcs.
    pub fn new(nodes: u32) -> Self {
        let made = Plain { nodes, shape_starts: vec![0], ..Plain::default() };
        Self { made, ..Self::default() }
    }

    /// Adds an arc; arcs come in order of their heads.
    pub fn add(&mut self, (tail, head): (u32, u32), text: &str, columns: &[u32], values: &[f64]) {
        let made = &mut self.made;
        made.tails.push(tail);
        made.heads.push(head);
        let phrase = self.phrases.get(text).copied().unwrap_or_else(|| {
            made.texts.push(text);
            self.phrases.insert(text.into(), self.phrases.len() as u32);
            self.phrases.len() as u32 - 1
        });
        made.phrases.push(phrase);
        let shape = self.shapes.get(columns).copied().unwrap_or_else(|| {
            made.columns.extend_from_slice(columns);
            made.shape_starts.push(made.columns.len() as u32);
            self.shapes.insert(columns.into(), self.shapes.len() as u32);
            self.shapes.len() as u32 - 1
        });
        made.shapes.push(shape);
        made.value_starts.push(made.values.len() as u32);
        made.values.extend(values.iter().map(|&value| value as f32));
    }

    /// The lattice, if it is one.
    pub fn finish(self) -> Result<Plain> {
        self.made.check()?;
        Ok(self.made)
    }
}

impl Plain {
    /// Feature numbers and values of an arc.
    pub fn features(&self, arc: usize) -> (&[u32], &[f32]) {
        let shape = self.shapes[arc] as usize;
        let columns = &self.columns[self.shape_starts[shape] as usize..self.shape_starts[shape + 1] as usize];
        let start = self.value_starts[arc] as usize;
        (columns, &self.values[start..start + columns.len()])
    }

    /// Whether all numbers point where they should.
    pub fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::Invalid(format!("a lattice {what}")));
        let arcs = self.tails.len();
        if [self.heads.len(), self.phrases.len(), self.shapes.len(), self.value_starts.len()] != [arcs; 4] {
            return wrong("needs a head, a phrase and features for each arc");
        }
        if self.tails.iter().zip(&self.heads).any(|(tail, head)| tail >= head || *head >= self.nodes) {
            return wrong("has an arc that does not lead from a node to a higher one");
        }
        if !self.heads.is_sorted() {
            return wrong("has arcs that are not in order of their heads");
        }
        let lists = self.shape_starts.len();
        let ordered = lists > 0
            && self.shape_starts.is_sorted()
            && self.shape_starts[lists - 1] as usize <= self.columns.len();
        let known = self.phrases.iter().all(|&p| (p as usize) < self.texts.len())
            && self.shapes.iter().all(|&s| s as usize + 1 < lists);
        if !ordered || !known {
            return wrong("has an arc without a phrase or without a list of features");
        }
        let room = |arc: usize| {
            let shape = self.shapes[arc] as usize;
            let size = (self.shape_starts[shape + 1] - self.shape_starts[shape]) as usize;
            self.value_starts[arc] as usize + size <= self.values.len()
        };
        if !(0..arcs).all(room) || self.values.iter().any(|value| !value.is_finite()) {
            return wrong(
                "has an arc without values of its features, or with values that are no finite numbers",
            );
        }
        Ok(())
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        let words = self.tails.len() * 5 + self.shape_starts.len() + self.columns.len() + self.values.len();
        words * 4 + self.texts.bytes().len() + self.texts.len() * 8
    }
}
