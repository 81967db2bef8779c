//! The search graph: a hypergraph whose nodes are translations of spans that cannot be told apart from outside.

/// No node, no edge.
pub const NONE: u32 = u32::MAX;

/// Derivations of a span that look the same to whatever is around them.
#[derive(Debug, Clone, Copy)]
pub struct Node {
    /// Model score of the best of them, as far as it is known inside the span.
    pub score: f32,
    /// The rules that they end with: a list of edges, of which the first has the node's score.
    pub edges: u32,
}

/// A rule with nodes in its gaps.
#[derive(Debug, Clone, Copy)]
pub struct Edge {
    /// The rule, by its number among those of the sentence.
    pub rule: u32,
    /// Nodes of the gaps, in order of the source; [`NONE`] where there is none.
    pub tails: [u32; 2],
    /// Score of the best derivation that ends with it.
    pub score: f32,
    /// The next edge of the same node.
    pub next: u32,
}

/// All that a search kept. Tails have lower numbers than heads; node 0 is the sentence's start, before any word.
#[derive(Debug, Default)]
pub struct Graph {
    /// Nodes, cell by cell, and best first in each.
    pub nodes: Vec<Node>,
    /// The span of each node; that of the sentence's start is empty.
    pub spans: Vec<(u32, u32)>,
    /// Edges of all nodes.
    pub edges: Vec<Edge>,
    pub(crate) states: Vec<u8>,
    pub(crate) stride: usize,
    /// The whole sentence with its end, if there is a derivation.
    pub root: Option<u32>,
    /// Whether time or memory was used up, so that the search went on greedily.
    pub narrow: bool,
}

impl Graph {
    /// The state bytes of a node.
    #[inline]
    pub fn state(&self, node: u32) -> &[u8] {
        &self.states[node as usize * self.stride..(node as usize + 1) * self.stride]
    }

    /// The edges of a node.
    pub fn ways(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let mut at = self.nodes[node as usize].edges;
        std::iter::from_fn(move || {
            let edge = (at != NONE).then_some(at)?;
            at = self.edges[edge as usize].next;
            Some(edge)
        })
    }

    /// What an edge adds to the scores of its tails.
    pub fn gain(&self, edge: u32) -> f64 {
        let Edge { tails, score, .. } = self.edges[edge as usize];
        let below = |tail: u32| if tail == NONE { 0.0 } else { f64::from(self.nodes[tail as usize].score) };
        f64::from(score) - below(tails[0]) - below(tails[1])
    }

    /// The source span of an edge's head. Edges of a node are neighbours, and nodes are in order.
    pub fn span_of(&self, edge: u32) -> (u32, u32) {
        let after = self.nodes.partition_point(|node| node.edges == NONE || node.edges <= edge);
        self.spans[after - 1]
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        self.nodes.len() * (size_of::<Node>() + 8) + self.edges.len() * size_of::<Edge>() + self.states.len()
    }

    /// Adds a node whose edges follow.
    pub(crate) fn add_node(&mut self, score: f32, span: (u32, u32), state: &[u8]) -> u32 {
        self.nodes.push(Node { score, edges: NONE });
        self.spans.push(span);
        self.states.extend_from_slice(state);
        self.nodes.len() as u32 - 1
    }
}
