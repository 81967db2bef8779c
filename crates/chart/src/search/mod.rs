//! Cube pruning (Chiang 2007; Huang & Chiang 2007) in each cell of the chart, and along the sentence for the start symbol.
//!
//! A cell takes the rules that apply to its span with nodes in their gaps, as many as it may, by the sum of their
//! parts' scores: only these are scored with the words that meet. What is taken does not depend on an order, so that no queue
//! is needed: the sum that divides what is taken from the rest is found first.

mod cell;
mod ready;

pub use ready::Ready;

use crate::graph::{Edge, Graph, NONE};
use crate::parse::{Completed, Parse};
use cell::{ABSENT, Cell, Cube};
use dragoman_base::{End, Stop};
use dragoman_model::{Applied, Rule, Sink, top};
use std::time::Duration;

/// How widely to search.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Nodes that a cell keeps; 0 keeps all.
    pub nodes: usize,
    /// Combinations that a cell takes, best first; 0 takes them all.
    pub pops: usize,
    /// What is worse than the cell's best by more than this is dropped.
    pub threshold: f32,
    /// Time for one sentence; when it is over, the search goes on greedily.
    pub deadline: Option<Duration>,
    /// Who says that nobody wants the result any more: the search goes on greedily then.
    pub stop: Option<Stop>,
    /// Bytes for the search of one sentence; when they are used up, the search goes on greedily.
    pub memory: usize,
    /// Keeps edges that lost, for lists and forests.
    pub keep: bool,
}

/// Combinations that a cell takes, and nodes that it keeps, once time or memory is used up.
const GREEDY: (usize, usize) = (8, 2);

/// A search under way.
pub struct Search<'a> {
    ready: &'a Ready<'a>,
    parse: &'a Parse,
    limits: Limits,
    graph: Graph,
    /// By cell of the parse: its nodes, best first.
    cells: Vec<(u32, u32)>,
    /// By end: the nodes of the start symbol from the sentence's start up to there.
    starts: Vec<(u32, u32)>,
    end: End,
    cell: Cell,
}

impl<'a> Search<'a> {
    /// A search of one sentence.
    pub fn new(ready: &'a Ready<'a>, parse: &'a Parse, mut limits: Limits) -> Self {
        Self {
            end: End::new(limits.deadline, limits.stop.take()),
            ready,
            parse,
            limits,
            graph: Graph { stride: ready.stride, ..Graph::default() },
            cells: vec![(0, 0); parse.cells()],
            starts: vec![(0, 0); ready.sentence.len() + 1],
            cell: Cell::new(ready.stride),
        }
    }

    /// Searches; the graph has no root if there is no derivation.
    pub fn run(mut self) -> Graph {
        let mut start = vec![0; self.ready.stride];
        self.ready.start(&mut start);
        self.graph.add_node(0.0, (0, 0), &start);
        self.starts[0] = (0, 1);
        for to in 1..self.starts.len() {
            let first = to.saturating_sub(self.parse.width());
            for from in (first..to).rev() {
                self.fill(from, to);
            }
            self.glue(first, to);
        }
        self.end();
        self.graph
    }

    /// The nodes of the start symbol from the sentence's start up to a word: one up to some word before, and a span.
    fn glue(&mut self, first: usize, to: usize) {
        let rules = self.ready.rules;
        for from in first..to {
            let rule = rules.top(if from == 0 { top::FIRST } else { top::NEXT });
            let tails = [self.starts[from], self.cells[self.parse.cell(from, to)]];
            self.cell.add(self.ready, &self.graph, Cube { first: rule, last: rule + 1, tails, base: 0.0 });
        }
        self.starts[to] = self.close((0, to as u32));
    }

    /// The whole sentence and its end: one node for all.
    fn end(&mut self) {
        let (first, last) = self.starts[self.starts.len() - 1];
        let rule = self.ready.rules.top(top::END);
        let mut ways: Vec<Edge> = (first..last)
            .map(|tail| {
                let mut out = Sink::scoring(self.ready.weights);
                self.ready.finish(self.graph.state(tail), &mut out);
                let score =
                    self.graph.nodes[tail as usize].score + self.ready.rules.score(rule) + out.score();
                Edge { rule, tails: [tail, NONE], score, next: NONE }
            })
            .filter(|edge| edge.score > f32::NEG_INFINITY)
            .collect();
        ways.sort_by(|a, b| b.score.total_cmp(&a.score));
        let Some(best) = ways.first() else { return };
        let span = (0, self.ready.sentence.len() as u32);
        let root = self.graph.add_node(best.score, span, &vec![0; self.ready.stride]);
        self.graph.nodes[root as usize].edges = self.graph.edges.len() as u32;
        for (left, edge) in (0..ways.len()).rev().zip(ways) {
            let next = if left == 0 { NONE } else { self.graph.edges.len() as u32 + 1 };
            self.graph.edges.push(Edge { next, ..edge });
        }
        self.graph.root = Some(root);
    }

    /// Whether time or memory is used up.
    fn used_up(&self) -> bool {
        self.end.come() || self.graph.bytes() > self.limits.memory
    }

    /// The nodes of a span.
    fn fill(&mut self, from: usize, to: usize) {
        for done in self.parse.completed(from, to) {
            let (first, last) = self.ready.of(done.pattern);
            let tails = done.tails.map(|cell| if cell == NONE { ABSENT } else { self.cells[cell as usize] });
            let base = if self.ready.system.has_places() { self.base((from, to), done) } else { 0.0 };
            self.cell.add(self.ready, &self.graph, Cube { first, last, tails, base });
        }
        self.cells[self.parse.cell(from, to)] = self.close((from as u32, to as u32));
    }

    /// What features say of where the rules of a pattern are.
    fn base(&self, (from, to): (usize, usize), done: &Completed) -> f32 {
        let (first, last) = self.ready.of(done.pattern);
        let gaps = done.tails.map(|cell| if cell == NONE { (0, 0) } else { self.parse.span(cell) });
        let arity = done.tails.iter().filter(|&&cell| cell != NONE).count();
        if first == last || arity == 0 {
            return 0.0; // of words alone, rules say it themselves
        }
        let mut out = Sink::scoring(self.ready.weights);
        let rule =
            Rule { from: from as u32, to: to as u32, gaps: &gaps[..arity], ..self.ready.rules.rule(first) };
        self.ready.system.place(self.ready.sentence, &rule, &mut out);
        out.score()
    }

    /// Takes what is best in a cell; gives its nodes.
    fn close(&mut self, span: (u32, u32)) -> (u32, u32) {
        self.graph.narrow |= self.used_up();
        let mut limits = self.limits.clone();
        if self.graph.narrow {
            (limits.pops, limits.nodes) = GREEDY;
        }
        // Once it is greedy, what little a cell takes is taken, however late.
        let end = (!self.graph.narrow).then_some(&self.end);
        self.graph.narrow |= !self.cell.fill(self.ready, &self.graph, &limits, end);
        self.cell.close(&mut self.graph, &limits, span)
    }
}
