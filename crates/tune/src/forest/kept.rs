//! A forest as tuning keeps it: its shape and words, and features that share their lists of names.

use dragoman_base::{Error, Result};
use dragoman_forest::Forest;
use rustc_hash::FxHashMap;

/// A forest whose features lie apart. Its own columns of features, scores, links and tags are empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Kept {
    /// Edges, tails and words.
    pub forest: Forest,
    /// What edges have for features.
    pub features: Features,
}

/// The features of edges. Most edges of a sentence have the same features with other values, so that lists of numbers are
/// kept once each, and values in single precision, as decoders make them.
#[derive(Debug, Clone, PartialEq)]
pub struct Features {
    /// Which features each edge has: a list of `columns`.
    pub shapes: Vec<u32>,
    /// List i is from here up to the next.
    pub shape_starts: Vec<u32>,
    /// Feature numbers.
    pub columns: Vec<u32>,
    /// The values of an edge are from here on, as many as its list is long.
    pub value_starts: Vec<u32>,
    /// Values.
    pub values: Vec<f32>,
}

impl Default for Features {
    fn default() -> Self {
        let (shapes, columns, value_starts, values) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { shapes, shape_starts: vec![0], columns, value_starts, values }
    }
}

impl Features {
    /// The features of all edges of a forest.
    pub fn of(forest: &Forest) -> Self {
        let (mut made, mut known) = (Self::default(), FxHashMap::<&[u32], u32>::default());
        for edge in 0..forest.edges() {
            let (columns, values) = forest.rows.row(edge);
            let next = known.len() as u32;
            let shape = *known.entry(columns).or_insert_with(|| {
                made.columns.extend_from_slice(columns);
                made.shape_starts.push(made.columns.len() as u32);
                next
            });
            made.shapes.push(shape);
            made.value_starts.push(made.values.len() as u32);
            made.values.extend(values.iter().map(|&value| value as f32));
        }
        made
    }

    /// Feature numbers and values of an edge.
    pub fn row(&self, edge: usize) -> (&[u32], &[f32]) {
        let shape = self.shapes[edge] as usize;
        let columns = &self.columns[self.shape_starts[shape] as usize..self.shape_starts[shape + 1] as usize];
        let start = self.value_starts[edge] as usize;
        (columns, &self.values[start..start + columns.len()])
    }

    /// The product of every edge's features with a vector; features past its end count nothing.
    pub fn product(&self, vector: &[f64], out: &mut Vec<f64>) {
        // Edges share their lists of features, so that weights are gathered once for each list.
        let gathered: Vec<f64> =
            self.columns.iter().map(|&column| vector.get(column as usize).copied().unwrap_or(0.0)).collect();
        out.extend(self.shapes.iter().zip(&self.value_starts).map(|(&shape, &start)| {
            let (from, to) = (self.shape_starts[shape as usize], self.shape_starts[shape as usize + 1]);
            let weights = &gathered[from as usize..to as usize];
            let values = &self.values[start as usize..start as usize + weights.len()];
            weights.iter().zip(values).map(|(weight, value)| weight * f64::from(*value)).sum::<f64>()
        }));
    }

    /// The sum of the features of some edges, times a factor each, in order of their numbers.
    pub fn sum<'a>(edges: impl IntoIterator<Item = (&'a Self, u32, f64)>) -> Vec<(u32, f64)> {
        let mut list: Vec<(u32, f64)> = Vec::new();
        for (features, edge, factor) in edges {
            let (columns, values) = features.row(edge as usize);
            list.extend(columns.iter().zip(values).map(|(&column, &v)| (column, factor * f64::from(v))));
        }
        list.sort_by_key(|(column, _)| *column); // stable, so that equal derivations sum alike
        list.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        list.retain(|(_, value)| *value != 0.0);
        list
    }

    /// Whether all numbers point where they should.
    pub fn check(&self, edges: usize) -> Result<()> {
        let wrong = |what: &str| Err(Error::Invalid(format!("a forest {what}")));
        let lists = self.shape_starts.len();
        let ordered = lists > 0
            && self.shape_starts[0] == 0
            && self.shape_starts.is_sorted()
            && self.shape_starts[lists - 1] as usize <= self.columns.len();
        let even = self.shapes.len() == edges && self.value_starts.len() == edges;
        if !ordered || !even || self.shapes.iter().any(|&shape| shape as usize + 1 >= lists) {
            return wrong("has an edge without a list of features");
        }
        let room = |edge: usize| {
            let shape = self.shapes[edge] as usize;
            let size = (self.shape_starts[shape + 1] - self.shape_starts[shape]) as usize;
            self.value_starts[edge] as usize + size <= self.values.len()
        };
        if !(0..edges).all(room) || self.values.iter().any(|value| !value.is_finite()) {
            return wrong(
                "has an edge without values of its features, or with values that are no finite numbers",
            );
        }
        Ok(())
    }

    /// Bytes in use.
    fn bytes(&self) -> usize {
        let words = self.shapes.len() * 2 + self.shape_starts.len() + self.columns.len() + self.values.len();
        words * size_of::<u32>()
    }
}

impl Kept {
    /// Takes a forest apart, if it is one.
    pub fn new(forest: &Forest) -> Result<Self> {
        Self::of(forest, Features::of(forest))
    }

    /// A forest with features that lie apart already, if it is one.
    pub fn of(forest: &Forest, features: Features) -> Result<Self> {
        forest.check()?;
        features.check(forest.edges())?; // a value may be finite and too large for single precision
        let shape = Forest {
            nodes: forest.nodes,
            heads: forest.heads.clone(),
            tail_starts: forest.tail_starts.clone(),
            tails: forest.tails.clone(),
            symbol_starts: forest.symbol_starts.clone(),
            symbols: forest.symbols.clone(),
            words: forest.words.clone(),
            ..Forest::default()
        };
        Ok(Self { forest: shape, features })
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        let Forest { heads, tail_starts, tails, symbol_starts, symbols, words, .. } = &self.forest;
        let numbers = heads.len() + tail_starts.len() + tails.len() + symbol_starts.len() + symbols.len();
        numbers * size_of::<u32>() + words.bytes().len() + words.len() * 8 + self.features.bytes()
    }
}
