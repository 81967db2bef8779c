//! The part of a search graph that leads to a whole translation, as a forest.

use crate::graph::{Edge, Graph, NONE};
use crate::search::Ready;
use dragoman_base::Names;
use dragoman_forest::{Edge as ForestEdge, Forest, TAIL};
use dragoman_model::{Applied, GAP, Origin, Rule, Symbol};
use rustc_hash::FxHashMap;

/// All derivations of a graph: an edge's tag is its number in the graph. `features` lists what fires, with names that the
/// system lacks in `own`. Of the ways to end, `best` takes only the best.
pub fn forest(ready: &Ready<'_>, graph: &Graph, features: bool, best: bool, own: &mut Names) -> Forest {
    let mut made = Forest::default();
    let Some(root) = graph.root else { return made };
    let used = used(graph, root, best);
    let mut numbers = vec![NONE; graph.nodes.len()];
    let mut words = Words::default();
    let (mut symbols, mut rows) = (Vec::new(), Vec::new());
    for node in (1..graph.nodes.len() as u32).filter(|&node| used[node as usize]) {
        numbers[node as usize] = made.nodes;
        made.nodes += 1;
        for number in graph.ways(node).take(if best { 1 } else { usize::MAX }) {
            let Edge { rule, tails, .. } = graph.edges[number as usize];
            // Node 0, the sentence's start, is no derivation of anything.
            let kept: Vec<u32> = tails.into_iter().filter(|&tail| tail != NONE && tail != 0).collect();
            let place = |gap: u32| kept.iter().position(|&tail| tail == tails[gap as usize]);
            let rule = ready.rules().rule(rule);
            symbols.clear();
            for &symbol in rule.target {
                match symbol.checked_sub(GAP) {
                    None => symbols.push(words.number(ready, &mut made, symbol)),
                    Some(1) if kept.len() == 2 => symbols.push(TAIL + 1),
                    Some(gap) => symbols.extend(place(gap).map(|place| TAIL + place as u32)),
                }
            }
            rows.clear();
            if features {
                ready.explain(graph, number, &mut rows, own);
            }
            let below: Vec<u32> = kept.iter().map(|&tail| numbers[tail as usize]).collect();
            let edge = ForestEdge {
                head: numbers[node as usize],
                tails: &below,
                symbols: &symbols,
                score: graph.gain(number),
                span: graph.spans[node as usize],
                links: &links(ready, graph, node, number),
                tag: number,
            };
            made.add(edge, rows.iter().map(|&(feature, value)| (feature, f64::from(value))));
        }
    }
    made
}

/// Target words of a forest, each once.
#[derive(Default)]
struct Words(FxHashMap<u32, u32>);

impl Words {
    fn number(&mut self, ready: &Ready<'_>, forest: &mut Forest, word: u32) -> u32 {
        *self.0.entry(word).or_insert_with(|| {
            forest.words.push(ready.sentence().target_text(word));
            forest.words.len() as u32 - 1
        })
    }
}

/// Which nodes are part of a whole translation.
fn used(graph: &Graph, root: u32, best: bool) -> Vec<bool> {
    let mut used = vec![false; graph.nodes.len()];
    used[root as usize] = true;
    for node in (0..=root).rev().filter(|&node| node > 0) {
        if used[node as usize] {
            for edge in graph.ways(node).take(if best { 1 } else { usize::MAX }) {
                for tail in graph.edges[edge as usize].tails.into_iter().filter(|&tail| tail != NONE) {
                    used[tail as usize] = true;
                }
            }
        }
    }
    used
}

/// An edge's rule where it is applied, with the spans of its gaps.
pub fn applied<'a>(
    ready: &'a Ready<'_>,
    graph: &Graph,
    (from, to): (u32, u32),
    edge: u32,
    gaps: &'a mut Vec<(u32, u32)>,
) -> Rule<'a> {
    let Edge { rule, tails, .. } = graph.edges[edge as usize];
    gaps.clear();
    gaps.extend(tails.iter().filter(|&&tail| tail != NONE).map(|&tail| graph.spans[tail as usize]));
    Rule { from, to, gaps, ..ready.rules().rule(rule) }
}

/// Aligned words of an edge: source word, place on the target side.
fn links(ready: &Ready<'_>, graph: &Graph, node: u32, edge: u32) -> Vec<(u32, u32)> {
    let mut gaps = Vec::new();
    let rule = applied(ready, graph, graph.spans[node as usize], edge, &mut gaps);
    match rule.origin {
        Origin::Table(table) => {
            let source: Vec<Symbol> = rule.source().collect();
            let known = ready.system().tables()[table].rules.links(rule.number).iter();
            known.filter_map(|&[s, t]| Some((source.get(usize::from(s))?.word()?, u32::from(t)))).collect()
        }
        Origin::Unknown | Origin::Given => {
            let size = rule.target.len() as u32;
            (rule.from..rule.to).flat_map(|s| (0..size).map(move |t| (s, t))).collect()
        }
        Origin::Glue => Vec::new(),
    }
}
