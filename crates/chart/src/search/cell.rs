//! One cell under construction.

use super::{Limits, Ready};
use crate::graph::{Edge, Graph, NONE};
use dragoman_base::End;
use dragoman_model::Sink;
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::ops::ControlFlow;

/// Rules of one source side with nodes for their gaps: a combination for each of (rule, first node, second node).
#[derive(Debug, Clone, Copy)]
pub struct Cube {
    /// Ranks of rules, `first..last`, best first.
    pub first: u32,
    pub last: u32,
    /// Nodes of each gap, best first, or [`ABSENT`].
    pub tails: [(u32, u32); 2],
    /// What is added to each combination: for where the rules are.
    pub base: f32,
}

/// Where there is no gap.
pub const ABSENT: (u32, u32) = (NONE, NONE);

/// A node that was found.
#[derive(Debug, Clone, Copy)]
struct Found {
    score: f32,
    edges: u32,
}

/// A cell under construction; its space is used again for the next.
#[derive(Debug)]
pub struct Cell {
    /// Cubes and the sums of their best combinations.
    cubes: Vec<(f32, Cube)>,
    found: Vec<Found>,
    states: Vec<u8>,
    edges: Vec<Edge>,
    slots: HashTable<u32>,
    order: Vec<u32>,
    scratch: Vec<u8>,
    stride: usize,
    best: f32,
    /// How far below the best sum the last one was that was taken, in the cell before.
    width: f32,
}

/// Every so many combinations the clock is looked at.
const OFTEN: usize = 1 << 12;

impl Cell {
    /// With states of so many bytes.
    pub fn new(stride: usize) -> Self {
        Self {
            cubes: Vec::new(),
            found: Vec::new(),
            states: Vec::new(),
            edges: Vec::new(),
            slots: HashTable::new(),
            order: Vec::new(),
            scratch: vec![0; stride],
            stride,
            best: f32::NEG_INFINITY,
            width: 1.0,
        }
    }

    /// Adds a cube, unless it has no combination.
    pub fn add(&mut self, ready: &Ready<'_>, graph: &Graph, cube: Cube) {
        let empty = |tail: (u32, u32)| tail != ABSENT && tail.0 == tail.1;
        if cube.first < cube.last && !empty(cube.tails[0]) && !empty(cube.tails[1]) {
            let best = cube.base
                + ready.ranked(cube.first).0
                + first(graph, cube.tails[0])
                + first(graph, cube.tails[1]);
            self.cubes.push((best, cube));
        }
    }

    /// Takes as many combinations as the limits allow, those with the best sums; false if time or memory ended it.
    pub fn fill(&mut self, ready: &Ready<'_>, graph: &Graph, limits: &Limits, end: Option<&End>) -> bool {
        self.best = f32::NEG_INFINITY;
        self.cubes.sort_by(|a, b| b.0.total_cmp(&a.0));
        let Some(&(top, _)) = self.cubes.first() else { return true };
        let floor = top - limits.threshold;
        let room = limits.memory.saturating_sub(graph.bytes()) / (size_of::<Edge>() + 2 * self.stride) + 1;
        let most = if limits.pops == 0 { room } else { limits.pops };
        let cubes = std::mem::take(&mut self.cubes);
        let (upper, lower) = divide(ready, graph, &cubes, (most, floor), &mut self.width);
        let mut left = most;
        for (from, up_to) in [(upper, f32::INFINITY), (lower, upper)] {
            let _ = each(ready, graph, &cubes, from, up_to, |rule, tails, base| {
                // Something is always taken, so that every sentence has a translation.
                let look = left.is_multiple_of(OFTEN) && !self.found.is_empty();
                if left == 0 || (look && end.is_some_and(End::come)) {
                    return ControlFlow::Break(());
                }
                left -= 1;
                self.take(ready, graph, rule, tails, base, limits.keep);
                ControlFlow::Continue(())
            });
        }
        self.cubes = cubes;
        (limits.pops > 0 || left > 0) && !end.is_some_and(End::come)
    }

    /// Scores a combination and files it.
    #[inline]
    fn take(&mut self, ready: &Ready<'_>, graph: &Graph, rule: u32, tails: [u32; 2], base: f32, keep: bool) {
        let mut sum = base + ready.rules.score(rule);
        let mut states: [&[u8]; 2] = [&[]; 2];
        for (state, &tail) in states.iter_mut().zip(&tails).filter(|(_, tail)| **tail != NONE) {
            sum += graph.nodes[tail as usize].score;
            *state = graph.state(tail);
        }
        let mut out = Sink::scoring(ready.weights);
        self.scratch.fill(0);
        ready.join(rule, states, &mut self.scratch, &mut out);
        self.insert(Edge { rule, tails, score: sum + out.score(), next: NONE }, keep);
    }

    /// Files a combination whose state is in `scratch`.
    fn insert(&mut self, edge: Edge, keep: bool) {
        // What a feature forbids has no number.
        if edge.score.is_nan() || edge.score == f32::NEG_INFINITY {
            return;
        }
        self.best = self.best.max(edge.score);
        let Self { found, slots, scratch, states, edges, stride, .. } = self;
        let at = |number: u32| &states[number as usize * *stride..(number as usize + 1) * *stride];
        let known = slots.find(hash(scratch), |&number| at(number) == &scratch[..]).copied();
        let Some(number) = known else {
            slots.insert_unique(hash(scratch), found.len() as u32, |&number| hash(at(number)));
            found.push(Found { score: edge.score, edges: edges.len() as u32 });
            states.extend_from_slice(scratch);
            edges.push(edge);
            return;
        };
        let node = &mut found[number as usize];
        let better = edge.score > node.score;
        if !keep {
            if better {
                edges[node.edges as usize] = edge;
                node.score = edge.score;
            }
            return;
        }
        let new = edges.len() as u32;
        if better {
            edges.push(Edge { next: node.edges, ..edge });
            *node = Found { score: edge.score, edges: new };
        } else {
            let next = std::mem::replace(&mut edges[node.edges as usize].next, new);
            edges.push(Edge { next, ..edge });
        }
    }

    /// Moves the best nodes to the graph; gives their numbers. The cell is empty then.
    pub fn close(&mut self, graph: &mut Graph, limits: &Limits, span: (u32, u32)) -> (u32, u32) {
        let Self { found, order, states, edges, stride, best, .. } = self;
        let least = *best - limits.threshold;
        order.clear();
        order.extend((0..found.len() as u32).filter(|&number| found[number as usize].score >= least));
        let score = |number: u32| found[number as usize].score;
        order.sort_unstable_by(|&a, &b| score(b).total_cmp(&score(a)).then(a.cmp(&b)));
        if limits.nodes > 0 {
            order.truncate(limits.nodes);
        }
        let first = graph.nodes.len() as u32;
        for &number in &*order {
            let place = number as usize * *stride;
            let Found { score, edges: mut at } = found[number as usize];
            let node = graph.add_node(score, span, &states[place..place + *stride]);
            graph.nodes[node as usize].edges = graph.edges.len() as u32;
            while at != NONE {
                let edge = edges[at as usize];
                at = edge.next;
                let next = if at == NONE { NONE } else { graph.edges.len() as u32 + 1 };
                graph.edges.push(Edge { next, ..edge });
            }
        }
        self.cubes.clear();
        self.found.clear();
        self.states.clear();
        self.edges.clear();
        self.slots.clear();
        (first, graph.nodes.len() as u32)
    }
}

/// The score of the best node.
fn first(graph: &Graph, tail: (u32, u32)) -> f32 {
    if tail == ABSENT { 0.0 } else { graph.nodes[tail.0 as usize].score }
}

/// The score of a node, or of no gap.
#[inline]
fn score(graph: &Graph, node: u32) -> f32 {
    if node == NONE { 0.0 } else { graph.nodes[node as usize].score }
}

/// How many nodes there are to choose from; 1 where there is no gap.
#[inline]
fn size(tail: (u32, u32)) -> u32 {
    if tail == ABSENT { 1 } else { tail.1 - tail.0 }
}

#[inline]
fn node(tail: (u32, u32), rank: u32) -> u32 {
    if tail == ABSENT { NONE } else { tail.0 + rank }
}

/// Two sums: at most `most` combinations reach the upper one, and at least so many the lower one, or all that reach
/// `floor`. `width` is a first guess of how far below the best the sums are, and what was found in the end.
fn divide(
    ready: &Ready<'_>,
    graph: &Graph,
    cubes: &[(f32, Cube)],
    (most, floor): (usize, f32),
    width: &mut f32,
) -> (f32, f32) {
    let top = cubes[0].0;
    let reach = |sum: f32| count(ready, graph, cubes, sum, most);
    let (mut upper, mut lower, mut taken) = (top, f32::NEG_INFINITY, 0);
    // First outwards, until enough are inside; then inwards, until nearly enough are.
    while taken < most - most / 8 {
        let outwards = lower == f32::NEG_INFINITY;
        let sum = if outwards { (top - *width).max(floor) } else { f32::midpoint(upper, lower) };
        if !outwards && (sum <= lower || sum >= upper) {
            break;
        }
        let found = reach(sum);
        if found >= most {
            lower = sum;
        } else {
            (upper, taken) = (sum, found);
            if outwards && (sum <= floor || *width > FAR) {
                return (floor, floor);
            }
        }
        *width *= if outwards && found < most { 1.5 } else { 1.0 };
    }
    *width = (top - upper).max(NEAR);
    (upper, if lower == f32::NEG_INFINITY { upper } else { lower })
}

/// Sums that are lower than the best by more than this are all the same.
const FAR: f32 = 1e6;
/// The least first guess.
const NEAR: f32 = 0.1;

/// How many combinations reach a sum, counted up to about `most`.
fn count(ready: &Ready<'_>, graph: &Graph, cubes: &[(f32, Cube)], least: f32, most: usize) -> usize {
    let mut count = 0;
    for (best, cube) in cubes {
        if *best < least || count >= most {
            break;
        }
        let [one, other] = cube.tails;
        let (top, other_top) = (first(graph, one), first(graph, other));
        for rank in cube.first..cube.last {
            let estimate = cube.base + ready.ranked(rank).0;
            if estimate + top + other_top < least || count >= most {
                break;
            }
            // The better the first node, the more second ones will do.
            let sum = estimate + top;
            let scores = if other == ABSENT { &[] } else { &graph.nodes[other.0 as usize..other.1 as usize] };
            let mut will_do = scores.partition_point(|node| sum + node.score >= least).max(1) as u32;
            for at in 0..size(one) {
                let sum = estimate + score(graph, node(one, at));
                while will_do > 0 && sum + score(graph, node(other, will_do - 1)) < least {
                    will_do -= 1;
                }
                if will_do == 0 {
                    break;
                }
                count += will_do as usize;
            }
        }
    }
    count
}

/// Calls `take` with the combinations whose sums are at least `least` and below `up_to`.
#[inline]
fn each(
    ready: &Ready<'_>,
    graph: &Graph,
    cubes: &[(f32, Cube)],
    least: f32,
    up_to: f32,
    mut take: impl FnMut(u32, [u32; 2], f32) -> ControlFlow<()>,
) -> ControlFlow<()> {
    for (best, cube) in cubes {
        if *best < least {
            break;
        }
        let [one, other] = cube.tails;
        for rank in cube.first..cube.last {
            let (estimate, rule) = ready.ranked(rank);
            let estimate = cube.base + estimate;
            if estimate + first(graph, one) + first(graph, other) < least {
                break;
            }
            for at in 0..size(one) {
                let sum = estimate + score(graph, node(one, at));
                if sum + first(graph, other) < least {
                    break;
                }
                for place in 0..size(other) {
                    let sum = sum + score(graph, node(other, place));
                    if sum < least {
                        break;
                    }
                    if sum < up_to {
                        take(rule, [node(one, at), node(other, place)], cube.base)?;
                    }
                }
            }
        }
    }
    ControlFlow::Continue(())
}

fn hash(state: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(state);
    hasher.finish()
}
