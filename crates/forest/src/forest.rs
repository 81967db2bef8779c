//! One hypergraph in columns.

use dragoman_base::Texts;
use dragoman_base::sparse::Rows;
use std::ops::Range;

/// From here on a target symbol is no word: `TAIL + k` stands for the words of tail k.
pub const TAIL: u32 = 1 << 31;

/// All derivations of a sentence that a search kept.
///
/// A derivation of a node is one of its edges with a derivation of each of the edge's tails; a derivation of the root,
/// the last node, is a translation. An edge without tails is complete by itself. Nodes are in topological order: each
/// tail is lower than its head. Edges are in order of their heads, so that one pass over them works bottom up. A forest
/// without nodes has no derivation.
///
/// In a lattice every edge has one tail at most, which comes first: the first phrase of a translation has none.
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    /// Number of nodes; the root is the last.
    pub nodes: u32,
    /// The node that each edge derives; rising.
    pub heads: Vec<u32>,
    /// The tails of edge e are `tails[tail_starts[e]..tail_starts[e + 1]]`.
    pub tail_starts: Vec<u32>,
    /// Nodes below the head. A node may be a tail twice.
    pub tails: Vec<u32>,
    /// The target side of edge e is `symbols[symbol_starts[e]..symbol_starts[e + 1]]`.
    pub symbol_starts: Vec<u32>,
    /// Numbers of words, or [`TAIL`] + k: each tail of an edge is on its target side once.
    pub symbols: Vec<u32>,
    /// The words.
    pub words: Texts,
    /// The features of each edge; those of a derivation add up. Empty where features were not asked for.
    pub rows: Rows,
    /// What each edge adds to the model score: w.h of its features.
    pub scores: Vec<f64>,
    /// Source words of each edge, from the first up to the one after the last; those of its tails are inside in a
    /// chart, and elsewhere in a lattice.
    pub spans: Vec<(u32, u32)>,
    /// The links of edge e are `links[link_starts[e]..link_starts[e + 1]]`.
    pub link_starts: Vec<u32>,
    /// Aligned words: a source word of the sentence, and a place on the edge's target side.
    pub links: Vec<(u32, u32)>,
    /// What each edge is to the decoder that made it, such as the number of its rule.
    pub tags: Vec<u32>,
    /// The label of each node, as a number in `words`; empty if nodes have none.
    pub labels: Vec<u32>,
}

impl Default for Forest {
    fn default() -> Self {
        Self {
            nodes: 0,
            heads: Vec::new(),
            tail_starts: vec![0],
            tails: Vec::new(),
            symbol_starts: vec![0],
            symbols: Vec::new(),
            words: Texts::new(),
            rows: Rows::default(),
            scores: Vec::new(),
            spans: Vec::new(),
            link_starts: vec![0],
            links: Vec::new(),
            tags: Vec::new(),
            labels: Vec::new(),
        }
    }
}

/// An edge to add, or one that is looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Edge<'a> {
    /// The node that it derives.
    pub head: u32,
    /// Nodes below it.
    pub tails: &'a [u32],
    /// Its target side: numbers of words, or [`TAIL`] + k.
    pub symbols: &'a [u32],
    /// What it adds to the model score.
    pub score: f64,
    /// Its source words.
    pub span: (u32, u32),
    /// Source word, place on the target side.
    pub links: &'a [(u32, u32)],
    /// What it is to the decoder.
    pub tag: u32,
}

impl Forest {
    /// Adds an edge with its features. Edges come in order of their heads, and the caller sets `nodes` and `words`;
    /// [`Forest::check`] has the rules, and [`Forest::arranged`] puts any order right.
    pub fn add(&mut self, edge: Edge<'_>, features: impl IntoIterator<Item = (u32, f64)>) {
        self.heads.push(edge.head);
        self.tails.extend_from_slice(edge.tails);
        self.tail_starts.push(self.tails.len() as u32);
        self.symbols.extend_from_slice(edge.symbols);
        self.symbol_starts.push(self.symbols.len() as u32);
        self.scores.push(edge.score);
        self.spans.push(edge.span);
        self.links.extend_from_slice(edge.links);
        self.link_starts.push(self.links.len() as u32);
        self.tags.push(edge.tag);
        for (column, value) in features {
            self.rows.push(column, value);
        }
        self.rows.end_row();
    }

    /// Number of edges.
    pub fn edges(&self) -> usize {
        self.heads.len()
    }

    /// The root, if there is a derivation.
    pub fn root(&self) -> Option<u32> {
        self.nodes.checked_sub(1)
    }

    /// An edge.
    pub fn edge(&self, edge: usize) -> Edge<'_> {
        Edge {
            head: self.heads[edge],
            tails: self.tails(edge),
            symbols: self.target(edge),
            score: self.scores[edge],
            span: self.spans[edge],
            links: self.links(edge),
            tag: self.tags[edge],
        }
    }

    /// The tails of an edge.
    pub fn tails(&self, edge: usize) -> &[u32] {
        &self.tails[self.tail_starts[edge] as usize..self.tail_starts[edge + 1] as usize]
    }

    /// The target side of an edge.
    pub fn target(&self, edge: usize) -> &[u32] {
        &self.symbols[self.symbol_starts[edge] as usize..self.symbol_starts[edge + 1] as usize]
    }

    /// The links of an edge.
    pub fn links(&self, edge: usize) -> &[(u32, u32)] {
        &self.links[self.link_starts[edge] as usize..self.link_starts[edge + 1] as usize]
    }

    /// The edges of each node: those of node n from `starts[n]` up to `starts[n + 1]`.
    pub fn starts(&self) -> Vec<u32> {
        let mut starts = vec![0; self.nodes as usize + 1];
        for &head in &self.heads {
            starts[head as usize + 1] += 1;
        }
        for node in 0..self.nodes as usize {
            starts[node + 1] += starts[node];
        }
        starts
    }

    /// Whether no edge has more than one tail.
    pub fn is_lattice(&self) -> bool {
        self.tail_starts.windows(2).all(|pair| pair[1] - pair[0] <= 1)
    }

    /// The label of a node; empty if it has none.
    pub fn label(&self, node: u32) -> &str {
        self.labels.get(node as usize).map_or("", |&label| self.words.get(label as usize))
    }
}

/// The edges of a node, by [`Forest::starts`].
pub fn span(starts: &[u32], node: u32) -> Range<usize> {
    starts[node as usize] as usize..starts[node as usize + 1] as usize
}
