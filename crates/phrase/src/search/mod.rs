//! Multi-stack beam search: stack k holds hypotheses that cover k source words.
//!
//! Hypotheses with the same coverage, last position and states are one node of a graph whose arcs are options. Nodes
//! with the same coverage and last position form a group; a group and a span that may come next form an edge, and an
//! edge has a cell for each (node, option). The search of a stack fills in the cells of the edges that lead there:
//! all of them, or the most promising ones first (cube pruning).

mod cube;
mod graph;
mod ready;

pub use graph::{Arc, Graph, NONE, Node};
pub use ready::Ready;

use crate::coverage::EMPTY;
use crate::feature::Step;
use crate::future::Future;
use crate::options::{Opt, Span};
use dragoman_base::{End, Stop};
use dragoman_model::Sink;
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::time::Duration;

/// How widely to search.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Nodes that a stack keeps (histogram pruning).
    pub stack: usize,
    /// Cells that a stack takes, best first (cube pruning); 0 takes them all.
    pub pops: usize,
    /// Nodes whose estimated score is lower than the stack's best by more than this are dropped.
    pub threshold: f32,
    /// Source words that a jump may skip; none means no limit.
    pub distortion: Option<usize>,
    /// Time for one sentence; when it is over, the search goes on greedily.
    pub deadline: Option<Duration>,
    /// Who says that nobody wants the result any more: the search goes on greedily then.
    pub stop: Option<Stop>,
    /// Bytes for the search of one sentence; when they are used up, the search goes on greedily.
    pub memory: usize,
    /// Keeps arcs that lost, for n-best lists and lattices.
    pub keep: bool,
}

/// Nodes with the same coverage and last position, best first: `order[first..last]`.
#[derive(Debug, Clone, Copy)]
struct Group {
    coverage: u32,
    end: u32,
    first: u32,
    last: u32,
}

/// A group and the span that comes next.
#[derive(Debug, Clone, Copy)]
struct Edge {
    group: u32,
    from: u32,
    to: u32,
    /// Options `first..last`, best first.
    first: u32,
    last: u32,
    /// Coverage afterwards.
    coverage: u32,
    /// What features that only look at the jump say.
    jump: f32,
    /// Estimate of what is open afterwards.
    future: f32,
}

/// A search under way.
pub struct Search<'a> {
    ready: &'a Ready<'a>,
    limits: Limits,
    future: Future,
    /// Estimate of what is open, by coverage; computed when it is first needed.
    futures: Vec<f32>,
    graph: Graph,
    groups: Vec<Group>,
    order: Vec<u32>,
    /// Edges by the stack that they lead to.
    edges: Vec<Vec<Edge>>,
    /// Nodes of the stack that is being filled.
    stack: Vec<u32>,
    slots: HashTable<u32>,
    best: f32,
    /// Estimates below it are not worth keeping.
    cutoff: f32,
    /// A state under construction.
    scratch: Vec<u8>,
    /// Bytes that edges take.
    held: usize,
    end: End,
    /// Whether time or memory is used up.
    narrow: bool,
    cubes: cube::Cubes,
}

impl<'a> Search<'a> {
    /// A search of one sentence.
    pub fn new(ready: &'a Ready<'a>, limits: Limits) -> Self {
        let (length, options) = (ready.sentence.len(), ready.options);
        let width = limits.distortion.unwrap_or(length);
        let future = Future::new(length, width, options.longest(), |from, to| options.best(from, to));
        Self {
            end: End::new(limits.deadline, limits.stop.clone()),
            ready,
            limits,
            future,
            futures: Vec::new(),
            graph: Graph::new(length, ready.stride),
            groups: Vec::new(),
            order: Vec::new(),
            edges: vec![Vec::new(); length + 1],
            stack: Vec::new(),
            slots: HashTable::new(),
            best: f32::NEG_INFINITY,
            cutoff: f32::NEG_INFINITY,
            scratch: vec![0; ready.stride],
            held: 0,
            narrow: false,
            cubes: cube::Cubes::default(),
        }
    }

    /// Searches; the graph's finals are empty if there is no derivation.
    pub fn run(mut self) -> Graph {
        let mut start = vec![0; self.ready.stride];
        self.ready.start(&mut start);
        let future = self.future_of(EMPTY);
        self.graph.add_node(Node::start(future), &start);
        self.stack.push(0);
        for covered in 0..=self.ready.sentence.len() {
            if covered > 0 {
                self.fill(covered);
            }
            self.close();
        }
        let length = self.ready.sentence.len();
        let Graph { nodes, coverages, .. } = &self.graph;
        let complete = |&node: &u32| coverages.get(nodes[node as usize].coverage).count() == length;
        self.graph.finals = self.stack.iter().copied().filter(complete).collect();
        self.graph.narrow = self.narrow;
        self.graph
    }

    fn fill(&mut self, covered: usize) {
        self.stack.clear();
        self.slots.clear();
        self.best = f32::NEG_INFINITY;
        self.cutoff = f32::NEG_INFINITY;
        self.narrow |= self.used_up();
        let edges = std::mem::take(&mut self.edges[covered]);
        self.held -= edges.len() * size_of::<Edge>();
        if self.limits.pops > 0 || self.narrow {
            self.pop_cells(&edges);
        } else {
            self.take_all(&edges);
        }
    }

    /// Whether time or memory is.
    fn used_up(&self) -> bool {
        self.end.come() || self.bytes() > self.limits.memory
    }

    fn bytes(&self) -> usize {
        self.graph.bytes() + self.held + self.order.len() * 4 + self.groups.len() * size_of::<Group>()
    }

    /// Extends every node of every edge by every option; once time or memory is used up, those of one edge more.
    fn take_all(&mut self, edges: &[Edge]) {
        for edge in edges {
            if !self.stack.is_empty() && self.used_up() {
                self.narrow = true;
                return;
            }
            let group = self.groups[edge.group as usize];
            for place in group.first..group.last {
                let node = self.order[place as usize];
                for option in edge.first..edge.last {
                    let score = self.extend(edge, &group, node, option);
                    self.insert(edge, node, option, score);
                }
            }
        }
    }

    /// The score of a node extended by an option; its state is in `scratch` then.
    #[inline]
    fn extend(&mut self, edge: &Edge, group: &Group, node: u32, option: u32) -> f32 {
        let opt: &Opt = self.ready.options.get(option);
        let before = self.graph.coverages.get(group.coverage);
        let size = (edge.to - edge.from) as usize;
        let step = Step {
            option,
            from: edge.from as usize,
            to: edge.to as usize,
            last: group.end as usize,
            before,
            complete: before.count() + size == self.ready.sentence.len(),
        };
        let mut out = Sink::scoring(self.ready.weights);
        self.ready.step(&step, self.graph.state(node), &mut self.scratch, &mut out);
        self.graph.nodes[node as usize].score + edge.jump + opt.score + out.score()
    }

    /// Puts the hypothesis whose state is in `scratch` on the stack, or joins it with its equal there.
    fn insert(&mut self, edge: &Edge, from: u32, option: u32, score: f32) {
        let total = score + edge.future;
        // Not `<`: what a feature forbids has no number.
        if !(total >= self.cutoff && total > f32::NEG_INFINITY) {
            return;
        }
        let key = hash(edge.coverage, edge.to, &self.scratch);
        let Self { graph, slots, scratch, .. } = self;
        let equal = |&node: &u32| {
            let known = &graph.nodes[node as usize];
            known.coverage == edge.coverage && known.end == edge.to && graph.state(node) == &scratch[..]
        };
        let Some(&known) = slots.find(key, equal) else {
            let node = Node { score, total, coverage: edge.coverage, end: edge.to, arcs: NONE };
            let number = graph.add_node(node, scratch);
            graph.add_arc(number, Arc { from, option, score, next: NONE });
            slots.insert_unique(key, number, |&other| {
                let node = &graph.nodes[other as usize];
                hash(node.coverage, node.end, graph.state(other))
            });
            self.stack.push(number);
            self.tighten(total);
            return;
        };
        let arc = Arc { from, option, score, next: NONE };
        if self.limits.keep {
            self.graph.add_arc(known, arc);
        } else if score > self.graph.nodes[known as usize].score {
            self.graph.replace_arc(known, arc);
        }
        let node = &mut self.graph.nodes[known as usize];
        if score > node.score {
            (node.score, node.total) = (score, total);
            self.best = self.best.max(total);
        }
    }

    /// Raises the cutoff by what the beam allows now.
    fn tighten(&mut self, total: f32) {
        if total > self.best {
            self.best = total;
            self.cutoff = self.cutoff.max(total - self.limits.threshold);
        }
        // Each time the stack doubles, the last of those that it will keep is a bound for all that follow.
        let keep = self.limits.stack;
        if self.stack.len() > keep && self.stack.len().is_multiple_of(keep) {
            let mut totals: Vec<f32> =
                self.stack.iter().map(|&node| self.graph.nodes[node as usize].total).collect();
            let (_, last, _) = totals.select_nth_unstable_by(keep - 1, |a, b| b.total_cmp(a));
            self.cutoff = self.cutoff.max(*last);
        }
    }

    /// Prunes the stack, groups its nodes and finds what may come next.
    fn close(&mut self) {
        let nodes = &self.graph.nodes;
        let keep = if self.narrow { 1 } else { self.limits.stack };
        self.stack.sort_by(|&a, &b| nodes[b as usize].total.total_cmp(&nodes[a as usize].total));
        let worst = self.best - self.limits.threshold;
        let good = self.stack.iter().take_while(|&&node| nodes[node as usize].total >= worst).count();
        self.stack.truncate(good.min(keep).max(1));
        let mut grouped = self.stack.clone();
        grouped.sort_by_key(|&node| (nodes[node as usize].coverage, nodes[node as usize].end));
        let (known, base, mut first) = (self.groups.len(), self.order.len(), 0);
        while first < grouped.len() {
            let Node { coverage, end, .. } = nodes[grouped[first] as usize];
            let same =
                |&&node: &&u32| nodes[node as usize].coverage == coverage && nodes[node as usize].end == end;
            let last = first + grouped[first..].iter().take_while(same).count();
            self.groups.push(Group {
                coverage,
                end,
                first: (base + first) as u32,
                last: (base + last) as u32,
            });
            first = last;
        }
        self.order.extend(grouped);
        for number in known..self.groups.len() {
            self.lead_on(number);
        }
    }

    /// Adds the edges of a group: every span that is open, allowed and within the distortion limit.
    ///
    /// A jump may not be longer than the limit, and a phrase that leaves the first gap open may not end so far away
    /// that the jump back would be. So the first gap can always be reached, and no hypothesis gets stuck.
    fn lead_on(&mut self, number: usize) {
        let Group { coverage, end, .. } = self.groups[number];
        let (options, sentence) = (self.ready.options, self.ready.sentence);
        let gap = self.graph.coverages.get(coverage).gap();
        let far = self.limits.distortion.unwrap_or(usize::MAX);
        let past_last = (end as usize).saturating_add(far).saturating_add(1).min(sentence.len());
        for from in gap.max((end as usize).saturating_sub(far))..past_last {
            if self.graph.coverages.get(coverage).has(from) {
                continue;
            }
            for span in options.starting(from) {
                let covered = self.graph.coverages.get(coverage);
                let to = span.to as usize;
                if (from + 1..to).any(|i| covered.has(i)) || (from != gap && to - gap > far) {
                    break;
                }
                if !sentence.constrained() || covered.allows(sentence.input, from, to) {
                    self.add_edge(number, span);
                }
            }
        }
    }

    fn add_edge(&mut self, number: usize, &Span { from, to, first, last }: &Span) {
        let Group { coverage, end, .. } = self.groups[number];
        let (start, stop) = (from as usize, to as usize);
        let before = self.graph.coverages.get(coverage);
        let count = before.count() + stop - start;
        let complete = count == self.ready.sentence.len();
        let step = Step { option: NONE, from: start, to: stop, last: end as usize, before, complete };
        let mut out = Sink::scoring(self.ready.weights);
        self.ready.jump(&step, &mut out);
        let after = self.graph.coverages.with(coverage, start, stop);
        let future = self.future_of(after);
        let group = number as u32;
        self.held += size_of::<Edge>();
        self.edges[count].push(Edge {
            group,
            from,
            to,
            first,
            last,
            coverage: after,
            jump: out.score(),
            future,
        });
    }

    fn future_of(&mut self, coverage: u32) -> f32 {
        let at = coverage as usize;
        if at >= self.futures.len() {
            self.futures.resize(at + 1, f32::NAN);
        }
        if self.futures[at].is_nan() {
            self.futures[at] = self.future.of(&self.graph.coverages.get(coverage));
        }
        self.futures[at]
    }
}

fn hash(coverage: u32, end: u32, state: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u64(u64::from(coverage) << 32 | u64::from(end));
    hasher.write(state);
    hasher.finish()
}
