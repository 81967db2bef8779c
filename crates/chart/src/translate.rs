//! One sentence from input to hypotheses.

use crate::forest::{applied, forest};
use crate::graph::Graph;
use crate::parse::{Parse, Reach};
use crate::rules::{Choice, Rules};
use crate::search::{Limits, Ready, Search};
use crate::system::System;
use dragoman_base::{Error, Names, Result};
use dragoman_forest::{Derivation, Forest, Kbest, TAIL};
use dragoman_model::feature::StateFeature;
use dragoman_model::found::{Explained, Hypothesis, Lister, Segment, Translation};
use dragoman_model::{Applied, GAP, Input, Origin, Rule, Symbol, Weights};
use dragoman_rules::gap;

/// What to do with a sentence.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How widely to search.
    pub limits: Limits,
    /// Which rules to search among.
    pub choice: Choice,
    /// How far they reach.
    pub reach: Reach,
    /// Hypotheses wanted.
    pub size: usize,
    /// Whether their texts must differ.
    pub distinct: bool,
    /// Whether to list features.
    pub features: bool,
}

/// Why a sentence may have no translation at all: nothing else leaves a word without a rule.
const NO_WAY: &str = "no translation meets the constraints: given translations overlap each other or cross a wall or a \
                      zone, or the weights are beyond all numbers";

/// Translates a sentence and hands its graph to `see`; `target` is a feature that only this sentence has.
pub fn search<T>(
    system: &System,
    input: &Input,
    weights: &Weights,
    settings: &Settings,
    target: Option<&dyn StateFeature>,
    see: impl FnOnce(&Ready<'_>, &Graph) -> T,
) -> Result<T> {
    input.check()?;
    let sentence = system.sentence(input);
    let mut parse = Parse::new(system.tables(), &sentence, settings.reach);
    let rules = Rules::new(system, &sentence, weights, &mut parse, settings.choice, target)?;
    let ready = Ready::new(system, &sentence, &rules, weights, target)?;
    let graph = Search::new(&ready, &parse, settings.limits.clone()).run();
    ready.check()?;
    if graph.root.is_none() && target.is_none() {
        return Err(Error::Invalid(NO_WAY.to_owned()));
    }
    let seen = see(&ready, &graph);
    ready.check()?;
    Ok(seen)
}

/// Translates a sentence.
pub fn translate(
    system: &System,
    input: &Input,
    weights: &Weights,
    settings: &Settings,
    target: Option<&dyn StateFeature>,
) -> Result<Translation> {
    search(system, input, weights, settings, target, |ready, graph| {
        let mut extractor = Extractor::new(ready, graph, settings.size == 1);
        let hypotheses = extractor.extract(settings);
        Translation { hypotheses, narrow: graph.narrow, nodes: graph.nodes.len(), own: extractor.lister.own }
    })
}

/// The best derivation of a sentence, rule by rule: its score, its text, the rules as they nest, and names that the
/// system lacks.
pub fn explain(
    system: &System,
    input: &Input,
    weights: &Weights,
    settings: &Settings,
) -> Result<(f64, String, Vec<Explained>, Names)> {
    let plan = Settings { size: 1, features: true, ..settings.clone() };
    let found = search(system, input, weights, &plan, None, |ready, graph| {
        let mut extractor = Extractor::new(ready, graph, true);
        let best = extractor.forest.kbest(1, false).into_iter().next()?;
        let steps = extractor.steps(&best);
        let whole = extractor.extract(&plan).into_iter().next()?;
        Some((whole.score, whole.text, steps, extractor.lister.own))
    })?;
    found.ok_or_else(|| Error::Invalid(NO_WAY.to_owned()))
}

/// The forest of a sentence, `density` edges for each source word or all (0), and names that the system lacks. An edge's tag
/// is 0 for words that no table knows, given translations and the start symbol, else the number of its rule plus 1.
pub fn forest_of(
    system: &System,
    input: &Input,
    weights: &Weights,
    settings: &Settings,
    density: f64,
) -> Result<(Forest, Names)> {
    let mut plan = settings.clone();
    plan.limits.keep = true;
    search(system, input, weights, &plan, None, |ready, graph| {
        let mut own = Names::new();
        let mut made = forest(ready, graph, settings.features, false, &mut own);
        if density > 0.0 {
            made = made.pruned(density, input.words.len());
        }
        for tag in &mut made.tags {
            let rule = ready.rules().rule(graph.edges[*tag as usize].rule);
            *tag = if matches!(rule.origin, Origin::Table(_)) { rule.number + 1 } else { 0 };
        }
        (made, own)
    })
}

/// Reads hypotheses off a graph.
struct Extractor<'a> {
    ready: &'a Ready<'a>,
    graph: &'a Graph,
    forest: Forest,
    lister: Lister,
}

impl<'a> Extractor<'a> {
    fn new(ready: &'a Ready<'a>, graph: &'a Graph, best: bool) -> Self {
        let forest = forest(ready, graph, false, best, &mut Names::new());
        Self { ready, graph, forest, lister: Lister::default() }
    }

    /// The best hypotheses, sorted by their scores.
    fn extract(&mut self, settings: &Settings) -> Vec<Hypothesis> {
        let chosen: Vec<Derivation> =
            Kbest::new(&self.forest, &self.forest.scores, settings.distinct).take(settings.size).collect();
        if settings.features {
            let Self { ready, graph, lister, forest } = self;
            let parts = chosen.iter().flat_map(|one| &one.edges).map(|&edge| forest.tags[edge as usize]);
            lister.rank(ready.system(), parts, |edge, rows, own| ready.explain(graph, edge, rows, own));
        }
        let mut found: Vec<Hypothesis> = chosen.iter().map(|one| self.hypothesis(one, settings)).collect();
        found.sort_by(|a, b| b.score.total_cmp(&a.score));
        found
    }

    fn hypothesis(&self, one: &Derivation, settings: &Settings) -> Hypothesis {
        let (text, links) = (self.forest.text_of(&one.edges), self.forest.links_of(&one.edges));
        let segments = self.segments(&one.edges);
        let mut made =
            Hypothesis { text, score: one.score, features: Vec::new(), segments, links, steps: Vec::new() };
        if settings.features {
            let parts = one.edges.iter().map(|&edge| self.forest.tags[edge as usize]);
            made.features = self.lister.sum(parts);
            let weight = |id: u32| f64::from(self.ready.weights().weight(id));
            let weighted: f64 = made.features.iter().map(|&(id, value)| weight(id) * value).sum();
            made.score = weighted + self.given(&one.edges);
        }
        made
    }

    /// The rule of an edge of the forest.
    fn rule(&self, edge: u32) -> Rule<'_> {
        let tag = self.forest.tags[edge as usize];
        self.ready.rules().rule(self.graph.edges[tag as usize].rule)
    }

    /// The log probabilities of given translations: part of the score, but of no feature.
    fn given(&self, edges: &[u32]) -> f64 {
        let forced = &self.ready.sentence().input.forced;
        let rules = edges.iter().map(|&edge| self.rule(edge)).filter(|rule| rule.origin == Origin::Given);
        rules.map(|rule| f64::from(forced[rule.number as usize].log)).sum()
    }

    /// Rules from the top, without those of the start symbol; what they yield is in one piece on both sides.
    fn segments(&self, edges: &[u32]) -> Vec<Segment> {
        let mut made: Vec<Segment> = Vec::new();
        for (&edge, (target, target_end)) in edges.iter().zip(targets(&self.forest, edges)) {
            let ((from, to), origin) = (self.forest.spans[edge as usize], self.rule(edge).origin);
            if origin != Origin::Glue {
                made.push(Segment { from: from as usize, to: to as usize, target, target_end, origin });
            }
        }
        // The start symbol's spans nest from the right: in order of the source they read better.
        made.sort_by_key(|s| (s.from, std::cmp::Reverse(s.to)));
        made
    }

    /// Rules in the order in which people read a tree: each span of the start symbol with what is below it, from left to
    /// right, and the sentence's end.
    fn steps(&mut self, one: &Derivation) -> Vec<Explained> {
        let below = below(&self.forest, &one.edges);
        // The rules of the start symbol: the sentence's end, then from right to left, and the last has no more below.
        let (mut spine, mut at) = (Vec::new(), Some(one.edges.len() - 1));
        while let Some(place) = at.filter(|&place| self.rule(one.edges[place]).origin == Origin::Glue) {
            spine.push(place);
            at = below[place].first().copied();
        }
        let mut made = Vec::new();
        for &place in spine[1..].iter().rev() {
            made.push(self.step(one.edges[place], 0));
            let mut open = vec![(below[place][below[place].len() - 1], 1)];
            while let Some((place, depth)) = open.pop() {
                made.push(self.step(one.edges[place], depth));
                open.extend(below[place].iter().rev().map(|&tail| (tail, depth + 1)));
            }
        }
        made.push(self.step(one.edges[spine[0]], 0));
        made
    }

    fn step(&mut self, edge: u32, depth: usize) -> Explained {
        let Self { ready, graph, forest, lister } = self;
        let (from, to) = forest.spans[edge as usize];
        let tag = forest.tags[edge as usize];
        let mut gaps = Vec::new();
        let rule = applied(ready, graph, (from, to), tag, &mut gaps);
        let (source, target) = texts(ready, &rule);
        let origin = rule.origin;
        let features = lister.part(tag, |rows, own| ready.explain(graph, tag, rows, own)).to_vec();
        Explained { from: from as usize, to: to as usize, source, target, origin, features, depth }
    }
}

/// Both sides of a rule as people read them.
fn texts(ready: &Ready<'_>, rule: &Rule<'_>) -> (String, String) {
    if rule.origin == Origin::Glue {
        let side = ["[X]", "[S] [X]", "[S] </s>"][rule.number as usize];
        return (side.to_owned(), side.to_owned());
    }
    let gap = |number: u32| gap::SHOWN[number as usize];
    let sentence = ready.sentence();
    let target = |&symbol: &u32| match symbol.checked_sub(GAP) {
        Some(number) => gap(number),
        None => sentence.target_text(symbol),
    };
    let target = rule.target.iter().map(target).collect::<Vec<_>>().join(" ");
    let source = rule.source().map(|symbol| match symbol {
        Symbol::Word(at) => sentence.input.words[at as usize].as_str(),
        Symbol::Gap(number) => gap(number),
    });
    (source.collect::<Vec<_>>().join(" "), target)
}

/// Places of the tails of each edge of a derivation, which come before it.
fn below(forest: &Forest, edges: &[u32]) -> Vec<Vec<usize>> {
    let mut open: Vec<usize> = Vec::new();
    let mut below = Vec::with_capacity(edges.len());
    for (at, &edge) in edges.iter().enumerate() {
        below.push(open.split_off(open.len() - forest.tails(edge as usize).len()));
        open.push(at);
    }
    below
}

/// Where the target words of each edge of a derivation are. A loop, since derivations may be hundreds of edges deep.
fn targets(forest: &Forest, edges: &[u32]) -> Vec<(usize, usize)> {
    let below = below(forest, edges);
    let mut spans = vec![(0, 0); edges.len()];
    let (mut words, mut open) = (0, vec![(edges.len() - 1, 0)]);
    while let Some((place, symbol)) = open.pop() {
        if symbol == 0 {
            spans[place].0 = words;
        }
        match forest.target(edges[place] as usize).get(symbol) {
            None => spans[place].1 = words,
            Some(&next) => {
                open.push((place, symbol + 1));
                if next < TAIL {
                    words += 1;
                } else {
                    open.push((below[place][(next - TAIL) as usize], 0));
                }
            }
        }
    }
    spans
}
