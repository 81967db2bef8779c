//! The part of a search graph that leads to a complete translation, as a forest: every edge has one tail at most.

use crate::prune::kept;
use crate::search::{Graph, Ready};
use crate::system::System;
use crate::translate::Extractor;
use dragoman_base::Names;
use dragoman_forest::{Edge, Forest, TAIL};
use dragoman_model::{OWN, Origin};
use rustc_hash::FxHashMap;

/// A forest whose features may have names that the system lacks.
#[derive(Debug, Clone, Default)]
pub struct Lattice {
    /// Its nodes are those of the graph without the start; all final ones are the root. An edge's tag is 0 for words
    /// that no table knows and for given translations, else the number of its rule plus 1.
    pub forest: Forest,
    /// Names of features that the system did not have: numbers from [`OWN`] on.
    pub own: Names,
}

impl Lattice {
    /// Cuts out what leads to the end: all of it, or `most` arcs on the best paths.
    pub fn new(ready: &Ready<'_>, graph: &Graph, features: bool, most: Option<usize>) -> Self {
        let mut extractor = Extractor::new(ready, graph);
        let mut words = FxHashMap::default();
        let mut forest = Forest::default();
        let kept = kept(graph, most);
        let number = numbers(graph, &kept);
        let mut arcs: Vec<(u32, u32)> = Vec::new();
        for node in (0..graph.nodes.len() as u32).filter(|&node| number[node as usize] != NONE) {
            let first = arcs.len();
            arcs.extend(
                graph.ways(node).filter(|&arc| kept[arc as usize]).map(|arc| (number[node as usize], arc)),
            );
            arcs[first..].sort_unstable();
        }
        arcs.sort_by_key(|(head, _)| *head); // stable: the ways to the end come last, final node after final node
        for (head, arc) in arcs {
            add(&mut forest, (&mut extractor, &mut words), ready, graph, (arc, head, &number), features);
        }
        forest.nodes = graph.finals.first().map_or(0, |&end| number[end as usize].wrapping_add(1));
        if graph.finals.contains(&0) {
            // A sentence without words has the empty translation.
            forest.nodes = 1;
            forest.add(Edge::default(), []);
        }
        Self { forest, own: extractor.own().clone() }
    }

    /// The forest with features as the system numbers them, which gets the names that it lacks.
    pub fn filed(mut self, system: &System) -> Forest {
        let own = system.file(&self.own);
        for column in self.forest.rows.columns.iter_mut().filter(|column| **column >= OWN) {
            *column = own[(*column - OWN) as usize];
        }
        self.forest
    }
}

/// A node that is not in the forest.
const NONE: u32 = u32::MAX;

/// The number of each node in the forest. The start has none, and all final nodes have the last.
fn numbers(graph: &Graph, kept: &[bool]) -> Vec<u32> {
    let mut number = vec![NONE; graph.nodes.len()];
    let mut ends = vec![false; graph.nodes.len()];
    graph.finals.iter().for_each(|&end| ends[end as usize] = true);
    let mut next = 0;
    for (node, number) in number.iter_mut().enumerate().skip(1) {
        if !ends[node] && graph.ways(node as u32).any(|arc| kept[arc as usize]) {
            *number = next;
            next += 1;
        }
    }
    for &end in &graph.finals {
        number[end as usize] = next;
    }
    number
}

/// Adds an arc as an edge.
fn add(
    forest: &mut Forest,
    (extractor, words): (&mut Extractor<'_>, &mut FxHashMap<u32, u32>),
    ready: &Ready<'_>,
    graph: &Graph,
    (arc, head, number): (u32, u32, &[u32]),
    features: bool,
) {
    let option = graph.arcs[arc as usize].option;
    let (opt, sentence) = (ready.options().get(option), ready.sentence());
    let from = graph.arcs[arc as usize].from;
    let tail = [number[from as usize]];
    let tails = if from == 0 { &[][..] } else { &tail };
    let mut symbols: Vec<u32> = tails.iter().map(|_| TAIL).collect();
    for &word in ready.options().target(option) {
        symbols.push(*words.entry(word).or_insert_with(|| {
            forest.words.push(sentence.target_text(word));
            forest.words.len() as u32 - 1
        }));
    }
    let first = tails.len() as u32;
    let links: Vec<(u32, u32)> = match opt.origin() {
        Origin::Table(table) => {
            let links = ready.system().tables()[table].rules.links(opt.rule);
            links.iter().map(|&[s, t]| (opt.from + u32::from(s), first + u32::from(t))).collect()
        }
        Origin::Unknown | Origin::Given | Origin::Glue => {
            let places = first..symbols.len() as u32;
            (opt.from..opt.to).flat_map(|s| places.clone().map(move |t| (s, t))).collect()
        }
    };
    let tag = if matches!(opt.origin(), Origin::Table(_)) { opt.rule + 1 } else { 0 };
    let (score, span) = (graph.gain(arc), (opt.from, opt.to));
    let edge = Edge { head, tails, symbols: &symbols, score, span, links: &links, tag };
    let fired = if features { extractor.arc_features(arc) } else { &[] };
    forest.add(edge, fired.iter().map(|&(id, value)| (id, f64::from(value))));
}
