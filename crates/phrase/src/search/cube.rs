//! Cube pruning (Huang & Chiang 2007): the cells of all edges into a stack, the most promising first.
//!
//! A cell is first known by a guess: the node's score, the jump, the option's estimate and the future, and how far
//! the guess was off for the cell before it. When it comes to the front it is scored in full and goes back to its
//! place; when it comes to the front again it is taken. So hardly more cells are scored than taken.

use super::{Edge, Search};
use std::collections::BinaryHeap;

#[derive(Debug, Clone, Copy)]
struct Cell {
    edge: u32,
    /// Which node of the edge's group.
    node: u32,
    /// Which option of the edge's span.
    option: u32,
    /// Where the full score and the state lie, once they are known.
    scored: u32,
}

const GUESSED: u32 = u32::MAX;

/// Space that the stacks of a sentence share.
#[derive(Debug, Default)]
pub struct Cubes {
    /// Totals, in an order that integers can have, above the complement of the cell's number: of equal cells, the
    /// first.
    heap: BinaryHeap<u64>,
    cells: Vec<Cell>,
    scores: Vec<f32>,
    states: Vec<u8>,
    /// Sum and number of differences between full scores and guesses.
    errors: (f64, f64),
}

impl Cubes {
    fn clear(&mut self) {
        self.heap.clear();
        self.cells.clear();
        self.scores.clear();
        self.states.clear();
    }

    fn push(&mut self, total: f32, cell: Cell) {
        self.heap.push(key(total, self.cells.len()));
        self.cells.push(cell);
    }
}

/// A number that orders like (total, first come first).
fn key(total: f32, number: usize) -> u64 {
    let bits = total.to_bits();
    let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    u64::from(ordered) << 32 | u64::from(!(number as u32))
}

impl Search<'_> {
    /// Takes the best cells of the edges, at most as many as the limits allow.
    pub(super) fn pop_cells(&mut self, edges: &[Edge]) {
        let mut cubes = std::mem::take(&mut self.cubes);
        cubes.clear();
        let (sum, count) = cubes.errors;
        let usual = if count > 0.0 { (sum / count) as f32 } else { 0.0 };
        for (number, edge) in edges.iter().enumerate() {
            self.push_cell(&mut cubes, edge, number as u32, (0, 0), usual);
        }
        let mut left = if self.narrow { 1 } else { self.limits.pops };
        while left > 0
            && let Some(front) = cubes.heap.pop()
        {
            let number = !(front as u32) as usize;
            let cell = cubes.cells[number];
            if self.take_cell(&mut cubes, &edges[cell.edge as usize], number, cell) {
                left -= 1;
            }
        }
        self.cubes = cubes;
    }

    /// Takes a cell that is scored, else scores it and takes it if it is still at the front. Says whether it did.
    fn take_cell(&mut self, cubes: &mut Cubes, edge: &Edge, number: usize, cell: Cell) -> bool {
        let (group, stride) = (self.groups[edge.group as usize], self.ready.stride);
        let node = self.order[(group.first + cell.node) as usize];
        let option = edge.first + cell.option;
        if cell.scored != GUESSED {
            let at = cell.scored as usize;
            self.scratch.copy_from_slice(&cubes.states[at * stride..(at + 1) * stride]);
            self.insert(edge, node, option, cubes.scores[at]);
            return true;
        }
        let score = self.extend(edge, &group, node, option);
        let error = score - self.guess(edge, node, option);
        if error > f32::NEG_INFINITY {
            cubes.errors = (cubes.errors.0 + f64::from(error), cubes.errors.1 + 1.0);
        }
        let off = if error > f32::NEG_INFINITY { error } else { 0.0 };
        self.push_cell(cubes, edge, cell.edge, (cell.node, cell.option + 1), off);
        if cell.option == 0 {
            self.push_cell(cubes, edge, cell.edge, (cell.node + 1, 0), off);
        }
        let place = key(score + edge.future, number);
        if cubes.heap.peek().is_none_or(|&next| place >= next) {
            self.insert(edge, node, option, score);
            return true;
        }
        if score > f32::NEG_INFINITY {
            cubes.cells[number].scored = cubes.scores.len() as u32;
            cubes.scores.push(score);
            cubes.states.extend_from_slice(&self.scratch);
            cubes.heap.push(place);
        }
        false
    }

    /// The score of a node with an option, before the features that look at both.
    fn guess(&self, edge: &Edge, node: u32, option: u32) -> f32 {
        self.graph.nodes[node as usize].score + edge.jump + self.ready.options.get(option).estimate
    }

    /// Puts a cell in its place by a guess, which is `off` by about as much as for its neighbour.
    fn push_cell(&self, cubes: &mut Cubes, edge: &Edge, number: u32, (node, option): (u32, u32), off: f32) {
        let group = &self.groups[edge.group as usize];
        if node < group.last - group.first && option < edge.last - edge.first {
            let from = self.order[(group.first + node) as usize];
            let total = self.guess(edge, from, edge.first + option) + edge.future + off;
            cubes.push(total, Cell { edge: number, node, option, scored: GUESSED });
        }
    }
}
