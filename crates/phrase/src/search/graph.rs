//! The recombined search graph.

use crate::coverage::{Coverages, EMPTY};
use crate::feature::Step;

/// No arc, no option.
pub const NONE: u32 = u32::MAX;

/// Hypotheses that cannot be told apart from here on.
#[derive(Debug, Clone, Copy)]
pub struct Node {
    /// Model score of the best way here.
    pub score: f32,
    /// With the estimate of what is open.
    pub total: f32,
    /// Which words are covered.
    pub coverage: u32,
    /// The source position after the last phrase.
    pub end: u32,
    /// The ways here: a list of arcs, of which one has the node's score.
    pub arcs: u32,
}

impl Node {
    /// The empty hypothesis.
    pub fn start(total: f32) -> Self {
        Self { score: 0.0, total, coverage: EMPTY, end: 0, arcs: NONE }
    }
}

/// A way to a node: from another node by an option.
#[derive(Debug, Clone, Copy)]
pub struct Arc {
    /// Node that it starts from.
    pub from: u32,
    /// The option that it adds.
    pub option: u32,
    /// Model score of the best hypothesis that ends with it.
    pub score: f32,
    /// The next arc that leads to the same node.
    pub next: u32,
}

/// All that the search found. Node 0 is the empty hypothesis; arcs lead from lower to higher nodes.
#[derive(Debug)]
pub struct Graph {
    /// Nodes, in the order in which they were found.
    pub nodes: Vec<Node>,
    /// Arcs, as lists by the node that they lead to.
    pub arcs: Vec<Arc>,
    pub(crate) states: Vec<u8>,
    pub(crate) stride: usize,
    /// The coverages that nodes name.
    pub coverages: Coverages,
    /// Nodes that cover the whole sentence, best first.
    pub finals: Vec<u32>,
    /// Whether time or memory was used up, so that the search went on greedily.
    pub narrow: bool,
}

impl Graph {
    /// Nothing found yet, in a sentence of `length` words, with `stride` bytes of state for each node.
    pub fn new(length: usize, stride: usize) -> Self {
        Self {
            nodes: Vec::new(),
            arcs: Vec::new(),
            states: Vec::new(),
            stride,
            coverages: Coverages::new(length),
            finals: Vec::new(),
            narrow: false,
        }
    }

    /// The state bytes of a node.
    #[inline]
    pub fn state(&self, node: u32) -> &[u8] {
        &self.states[node as usize * self.stride..(node as usize + 1) * self.stride]
    }

    /// The arcs that lead to a node.
    pub fn ways(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let mut at = self.nodes[node as usize].arcs;
        std::iter::from_fn(move || {
            let arc = (at != NONE).then_some(at)?;
            at = self.arcs[arc as usize].next;
            Some(arc)
        })
    }

    /// What an arc adds to the score of the node that it starts from.
    pub fn gain(&self, arc: u32) -> f64 {
        let Arc { from, score, .. } = self.arcs[arc as usize];
        f64::from(score) - f64::from(self.nodes[from as usize].score)
    }

    /// The step that an arc stands for.
    pub fn step(&self, arc: u32, options: &crate::Options) -> Step<'_> {
        let Arc { from, option, .. } = self.arcs[arc as usize];
        let (node, opt) = (&self.nodes[from as usize], options.get(option));
        let before = self.coverages.get(node.coverage);
        let (start, end) = (opt.from as usize, opt.to as usize);
        let complete = before.count() + end - start == self.coverages.words();
        Step { option, from: start, to: end, last: node.end as usize, before, complete }
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        self.nodes.len() * size_of::<Node>()
            + self.arcs.len() * size_of::<Arc>()
            + self.states.len()
            + self.coverages.bytes()
    }

    /// Adds a node with its state; its number.
    pub fn add_node(&mut self, node: Node, state: &[u8]) -> u32 {
        self.nodes.push(node);
        self.states.extend_from_slice(state);
        self.nodes.len() as u32 - 1
    }

    /// Adds an arc to a node.
    pub fn add_arc(&mut self, node: u32, arc: Arc) {
        let next = std::mem::replace(&mut self.nodes[node as usize].arcs, self.arcs.len() as u32);
        self.arcs.push(Arc { next, ..arc });
    }

    pub(crate) fn replace_arc(&mut self, node: u32, arc: Arc) {
        let at = self.nodes[node as usize].arcs;
        self.arcs[at as usize] = Arc { next: NONE, ..arc };
    }
}
