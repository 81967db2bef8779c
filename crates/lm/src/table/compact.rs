//! The small form: edges sorted by node and word, packed to the bit, probabilities as codes.
//!
//! Codes stand for the means of bins with equally many values, an own code book for each order; the
//! probabilities of single words are kept as they are.

use super::build::Edge;
use super::hash::pairs;
use super::{Automaton, ROOT, word};
use rayon::prelude::*;
use std::ops::Range;

/// Bits that hold numbers up to `largest`.
fn bits_for(largest: usize) -> usize {
    (usize::BITS - largest.leading_zeros()).max(1) as usize
}

/// Numbers of fixed widths, one after the other, bit by bit.
struct Packer {
    bytes: Vec<u8>,
    held: u64,
    count: usize,
}

impl Packer {
    fn push(&mut self, value: u32, bits: usize) {
        self.held |= u64::from(value) << self.count;
        self.count += bits;
        while self.count >= 8 {
            self.bytes.push(self.held as u8);
            self.held >>= 8;
            self.count -= 8;
        }
    }

    /// The bytes, with room to read eight from every start.
    fn finish(mut self) -> Vec<u8> {
        self.bytes.push(self.held as u8);
        self.bytes.extend([0; 8]);
        self.bytes
    }
}

/// The number of `bits` bits (at most 32) that begins at bit `at`.
#[inline]
fn unpack(bytes: &[u8], at: usize, bits: usize) -> u32 {
    let from = at / 8;
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[from..from + 8]);
    ((u64::from_le_bytes(word) >> (at % 8)) & ((1 << bits) - 1)) as u32
}

/// Rounds of Lloyd's algorithm: more change the error by less than a percent.
const ROUNDS: usize = 30;

/// Centres of at most `2^bits` bins, in rising order and filled up with the last. `exact` is always among them.
///
/// One-dimensional k-means (Lloyd 1982) from centres of which half follow the values and half span their range, so
/// that rare values, which are the extreme ones, are not far from all centres.
fn code_book(values: &[f32], bits: usize, exact: Option<f32>) -> Vec<f32> {
    let mut sorted: Vec<f32> = values.iter().copied().filter(|v| Some(*v) != exact).collect();
    sorted.par_sort_unstable_by(f32::total_cmp);
    let size = (1 << bits) - usize::from(exact.is_some());
    let mut centres = first_centres(&sorted, size);
    let mut sums = vec![0.0f64; sorted.len() + 1];
    for (i, &value) in sorted.iter().enumerate() {
        sums[i + 1] = sums[i] + f64::from(value);
    }
    for _ in 0..ROUNDS {
        centres = improve(&sorted, &sums, &centres);
    }
    centres.extend(exact);
    centres.sort_unstable_by(f32::total_cmp);
    centres.resize(1 << bits, centres.last().copied().unwrap_or(0.0));
    centres
}

/// Up to `size` different values to start from: all, if there are few.
fn first_centres(sorted: &[f32], size: usize) -> Vec<f32> {
    let mut different = sorted.to_vec();
    different.dedup();
    if different.len() <= size {
        return different;
    }
    let (low, high) = (sorted[0], sorted[sorted.len() - 1]);
    let half = size / 2;
    let mut centres: Vec<f32> =
        (0..half).map(|i| low + (high - low) * i as f32 / (half - 1).max(1) as f32).collect();
    centres.extend((0..size - half).map(|i| sorted[(i * 2 + 1) * sorted.len() / (2 * (size - half))]));
    centres.sort_unstable_by(f32::total_cmp);
    centres.dedup();
    centres
}

/// The means of the values nearest to each centre; centres without any vanish. `sums` are those of the values before.
fn improve(sorted: &[f32], sums: &[f64], centres: &[f32]) -> Vec<f32> {
    let mut means = Vec::with_capacity(centres.len());
    let mut from = 0;
    for (i, &centre) in centres.iter().enumerate() {
        let to = match centres.get(i + 1) {
            Some(&next) => from + sorted[from..].partition_point(|&v| v < f32::midpoint(centre, next)),
            None => sorted.len(),
        };
        if to > from {
            means.push(((sums[to] - sums[from]) / (to - from) as f64) as f32);
        }
        from = to;
    }
    means
}

/// The code of the nearest centre.
fn code(book: &[f32], value: f32) -> u32 {
    let above = book.partition_point(|&centre| centre < value).min(book.len() - 1);
    let below = above.saturating_sub(1);
    let nearer = if (value - book[below]).abs() < (book[above] - value).abs() { below } else { above };
    nearer as u32
}

/// Widths of the fields, in bits.
#[derive(Debug, Clone, Copy)]
struct Widths {
    code: usize,
    word: usize,
    node: usize,
    edge: usize,
}

impl Widths {
    fn new(code: usize, words: usize, nodes: usize, edges: usize) -> Self {
        Self { code, word: bits_for(words), node: bits_for(nodes), edge: bits_for(edges) }
    }

    fn per_edge(&self) -> usize {
        self.word + self.code + self.node
    }

    fn per_node(&self) -> usize {
        self.code + self.node + self.edge
    }
}

/// The order of the n-grams that begin with the words of `node`.
fn order_after(starts: &[u32], node: u32) -> usize {
    starts.iter().skip(1).take_while(|&&start| start <= node).count() + 1
}

/// The sections: unigrams, code books, nodes, edges.
pub fn sections(automaton: &Automaton, bits: usize) -> [Vec<u8>; 4] {
    let mut edges: Vec<Edge> = automaton.edges.iter().flatten().copied().collect();
    edges.par_sort_unstable_by_key(|edge| (edge.node, edge.word));
    let widths = Widths::new(bits, automaton.unigrams.len(), automaton.nodes.len(), edges.len());
    let starts = &automaton.starts;
    let mut books: Vec<Vec<f32>> = Vec::new();
    for level in &automaton.edges {
        books.push(code_book(&level.iter().map(|edge| edge.probability).collect::<Vec<_>>(), bits, None));
    }
    for range in starts[1..].windows(2) {
        let level = &automaton.nodes[range[0] as usize..range[1] as usize];
        books.push(code_book(&level.iter().map(|&(b, _)| b).collect::<Vec<_>>(), bits, Some(0.0)));
    }
    let orders = automaton.edges.len();
    let mut packed = Packer { bytes: Vec::new(), held: 0, count: 0 };
    for edge in &edges {
        let order = order_after(starts, edge.node);
        packed.push(edge.word, widths.word);
        packed.push(code(&books[order - 2], edge.probability), widths.code);
        packed.push(edge.next, widths.node);
    }
    let packed_edges = packed.finish();
    let mut packed = Packer { bytes: Vec::new(), held: 0, count: 0 };
    let mut first = 0;
    for (node, &(backoff, suffix)) in automaton.nodes.iter().enumerate() {
        first += edges[first..].iter().take_while(|edge| (edge.node as usize) < node).count();
        let length = order_after(starts, node as u32) - 1;
        packed.push(if length == 0 { 0 } else { code(&books[orders + length - 1], backoff) }, widths.code);
        packed.push(suffix, widths.node);
        packed.push(first as u32, widths.edge);
    }
    // One more node, which only says where the edges of the last one end.
    packed.push(0, widths.code);
    packed.push(0, widths.node);
    packed.push(edges.len() as u32, widths.edge);
    let books = books.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    [pairs(&automaton.unigrams), books, packed.finish(), packed_edges]
}

/// A mapped table.
#[derive(Debug, Clone, Copy)]
pub struct Compact<'a> {
    unigrams: &'a [u8],
    books: &'a [u8],
    nodes: &'a [u8],
    edges: &'a [u8],
    starts: &'a [u8],
    widths: Widths,
    /// Numbers of nodes and edges: what lies beyond them is read by nobody.
    counts: (usize, usize),
}

impl<'a> Compact<'a> {
    /// A view of the sections; none if they do not fit together. `starts` are those of the automaton.
    pub fn new(
        sections: [&'a [u8]; 4],
        starts: &'a [u8],
        bits: usize,
        words: usize,
        edges: usize,
    ) -> Option<Self> {
        let [unigrams, books, nodes, packed] = sections;
        let order = (starts.len() / 4).checked_sub(1).filter(|&order| order > 0)?;
        let count = word(starts, order) as usize;
        if !(1..=16).contains(&bits) || edges > packed.len().saturating_mul(8) {
            return None;
        }
        let widths = Widths::new(bits, words, count, edges);
        let fits = unigrams.len() == words * 8
            && books.len() == ((order - 1) * 2 * 4) << bits
            && nodes.len() == (count + 1) * widths.per_node() / 8 + 9
            && packed.len() == edges * widths.per_edge() / 8 + 9;
        fits.then_some(Self { unigrams, books, nodes, edges: packed, starts, widths, counts: (count, edges) })
    }

    fn order_after(&self, node: u32) -> usize {
        let mut order = 1;
        while order < self.starts.len() / 4 && word(self.starts, order) <= node {
            order += 1;
        }
        order
    }

    fn value(&self, book: usize, code: u32) -> f32 {
        f32::from_bits(word(self.books, (book << self.widths.code) + code as usize))
    }

    /// The bit at which the edge for `word` begins, among those of a node.
    fn search(&self, edges: Range<usize>, word: u32) -> Option<usize> {
        let (mut from, mut to) = (edges.start, edges.end);
        let per = self.widths.per_edge();
        while from < to {
            let middle = usize::midpoint(from, to);
            let found = unpack(self.edges, middle * per, self.widths.word);
            match found.cmp(&word) {
                std::cmp::Ordering::Less => from = middle + 1,
                std::cmp::Ordering::Greater => to = middle,
                std::cmp::Ordering::Equal => return Some(middle * per),
            }
        }
        None
    }

    /// Places that edges have.
    pub fn places(&self) -> usize {
        self.counts.1
    }

    /// Where the edges of a node begin, and end; a damaged table has none where it says what cannot be.
    fn edges_of(&self, node: u32) -> Range<usize> {
        if node as usize >= self.counts.0 {
            return 0..0;
        }
        let Widths { code, node: node_bits, edge, .. } = self.widths;
        let at = node as usize * self.widths.per_node() + code + node_bits;
        let to = unpack(self.nodes, at + self.widths.per_node(), edge) as usize;
        unpack(self.nodes, at, edge) as usize..to.min(self.counts.1)
    }

    /// Word and next node of the edge at a place.
    fn target(&self, place: usize) -> (u32, u32) {
        let Widths { code, word, node, .. } = self.widths;
        let at = place * self.widths.per_edge();
        (unpack(self.edges, at, word), unpack(self.edges, at + word + code, node))
    }

    /// Word and next node of every edge of a node.
    pub fn each(&self, node: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.edges_of(node).map(|place| self.target(place))
    }

    /// Back-off weight and suffix of a node. Suffixes have smaller numbers: those of a damaged table that have not, and
    /// nodes that it lacks, lead to the empty context.
    pub fn fall(&self, node: u32) -> (f32, u32) {
        if node == ROOT || node as usize >= self.counts.0 {
            return (0.0, ROOT);
        }
        let at = node as usize * self.widths.per_node();
        let (orders, order) = (self.starts.len() / 4 - 2, self.order_after(node));
        let suffix = unpack(self.nodes, at + self.widths.code, self.widths.node);
        let backoff = self.value(orders + order - 2, unpack(self.nodes, at, self.widths.code));
        (backoff, if suffix < node { suffix } else { ROOT })
    }

    /// The place of an edge.
    pub fn edge(&self, node: u32, word: u32) -> Option<usize> {
        self.search(self.edges_of(node), word).map(|at| at / self.widths.per_edge())
    }

    /// Natural log probability of `word` after `node`, the next node, and the node the probability belongs to.
    pub fn step(&self, mut node: u32, word: u32) -> (f32, u32, u32) {
        let Widths { code, word: word_bits, node: node_bits, .. } = self.widths;
        let mut sum = 0.0;
        while node != ROOT {
            if let Some(at) = self.search(self.edges_of(node), word) {
                let code = unpack(self.edges, at + word_bits, code);
                let probability = self.value(self.order_after(node) - 2, code);
                return (
                    sum + probability,
                    unpack(self.edges, at + word_bits + self.widths.code, node_bits),
                    node,
                );
            }
            let (backoff, suffix) = self.fall(node);
            sum += backoff;
            node = suffix;
        }
        let at = word as usize * 2;
        (sum + f32::from_bits(super::word(self.unigrams, at)), super::word(self.unigrams, at + 1), ROOT)
    }
}
