//! One sentence from input to hypotheses.

use crate::feature::{Context, MEMORY, Stacks};
use crate::nbest::Nbest;
use crate::options::{Choice, Collector, Options};
use crate::search::{Graph, Limits, Ready, Search};
use crate::system::System;
use dragoman_base::{Error, Names, Result};
use dragoman_model::feature::StateFeature;
use dragoman_model::found::{Hypothesis, Lister, Segment, Translation};
use dragoman_model::{Input, Origin, Weights};
use std::cell::RefCell;

/// What to do with a sentence.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How widely to search.
    pub limits: Limits,
    /// Which options to search among.
    pub choice: Choice,
    /// Hypotheses wanted.
    pub size: usize,
    /// Whether their texts must differ.
    pub distinct: bool,
    /// Whether to list features.
    pub features: bool,
    /// Whether to list them phrase by phrase, too.
    pub explain: bool,
}

/// Why a sentence may have no translation at all: nothing else leaves a word without an option.
const NO_WAY: &str = "no translation meets the constraints: given translations overlap each other or cross a zone, \
                      or the weights are beyond all numbers";

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
    let options: Options = Collector::new(system, &sentence, weights, target, settings.choice).collect()?;
    let stacks = RefCell::new(Stacks::default());
    let context =
        Context { sentence: &sentence, options: &options, weights, stacks: &stacks, memory: MEMORY };
    let ready = Ready::new(system, context, target);
    let mut graph = Search::new(&ready, settings.limits.clone()).run();
    ready.check()?;
    if graph.finals.is_empty() && target.is_none() {
        // Walls and zones may leave every hypothesis of the beam stuck; in order of the source nothing can be.
        let limits = Limits { distortion: Some(0), ..settings.limits.clone() };
        graph = Search::new(&ready, limits).run();
        ready.check()?;
        if graph.finals.is_empty() {
            return Err(Error::Invalid(NO_WAY.to_owned()));
        }
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
        let mut extractor = Extractor::new(ready, graph);
        let hypotheses = extractor.extract(settings);
        Translation { hypotheses, narrow: graph.narrow, nodes: graph.nodes.len(), own: extractor.lister.own }
    })
}

/// Reads hypotheses off a graph.
pub struct Extractor<'a> {
    ready: &'a Ready<'a>,
    graph: &'a Graph,
    lister: Lister,
}

impl<'a> Extractor<'a> {
    /// For one sentence.
    pub fn new(ready: &'a Ready<'a>, graph: &'a Graph) -> Self {
        Self { ready, graph, lister: Lister::default() }
    }

    /// Names that the system lacks, as far as they were met.
    pub fn own(&self) -> &Names {
        &self.lister.own
    }

    /// The best hypotheses, sorted by their scores.
    pub fn extract(&mut self, settings: &Settings) -> Vec<Hypothesis> {
        let lists = Nbest::new(self.graph, self.ready.options(), settings.distinct);
        let chosen: Vec<(f64, Vec<u32>)> = lists.take(settings.size).collect();
        let mut found = self.list(&chosen, settings);
        found.sort_by(|a, b| b.score.total_cmp(&a.score));
        found
    }

    /// Hypotheses from their scores and arcs, in order.
    pub fn list(&mut self, chosen: &[(f64, Vec<u32>)], settings: &Settings) -> Vec<Hypothesis> {
        if settings.features {
            let Self { ready, graph, lister } = self;
            let arcs = chosen.iter().flat_map(|(_, arcs)| arcs).copied();
            lister.rank(ready.system(), arcs, |arc, rows, own| explain(ready, graph, arc, rows, own));
        }
        chosen.iter().map(|(score, arcs)| self.hypothesis(*score, arcs, settings)).collect()
    }

    fn target(&self, arcs: &[u32]) -> Vec<u32> {
        let options = self.ready.options();
        arcs.iter().flat_map(|&arc| options.target(self.graph.arcs[arc as usize].option)).copied().collect()
    }

    fn hypothesis(&mut self, score: f64, arcs: &[u32], settings: &Settings) -> Hypothesis {
        let words: Vec<&str> =
            self.target(arcs).iter().map(|&id| self.ready.sentence().target_text(id)).collect();
        let text = words.join(" ");
        let (segments, links) = self.segments(arcs);
        let mut made = Hypothesis { text, score, features: Vec::new(), segments, links, steps: Vec::new() };
        if settings.features {
            made.features = self.lister.sum(arcs.iter().copied());
            let weight = |id: u32| f64::from(self.ready.weights().weight(id));
            let weighted: f64 = made.features.iter().map(|&(id, value)| weight(id) * value).sum();
            made.score = weighted + self.given(arcs);
        }
        if settings.explain {
            made.steps = arcs.iter().map(|&arc| self.arc_features(arc).to_vec()).collect();
        }
        made
    }

    /// The log probabilities of given translations: part of the score, but of no feature.
    fn given(&self, arcs: &[u32]) -> f64 {
        let forced = &self.ready.sentence().input.forced;
        let options = arcs.iter().map(|&arc| self.ready.options().get(self.graph.arcs[arc as usize].option));
        options
            .filter(|opt| opt.origin() == Origin::Given)
            .map(|opt| f64::from(forced[opt.rule as usize].log))
            .sum()
    }

    /// Phrases and word links.
    fn segments(&self, arcs: &[u32]) -> (Vec<Segment>, Vec<(u32, u32)>) {
        let options = self.ready.options();
        let (mut segments, mut links, mut at) = (Vec::new(), Vec::new(), 0);
        for &arc in arcs {
            let option = self.graph.arcs[arc as usize].option;
            let (opt, size) = (options.get(option), options.target(option).len());
            match opt.origin() {
                Origin::Table(table) => {
                    for &[source, target] in self.ready.system().tables()[table].rules.links(opt.rule) {
                        links.push((opt.from + u32::from(source), (at as u32) + u32::from(target)));
                    }
                }
                Origin::Unknown | Origin::Given | Origin::Glue => {
                    let all = (opt.from..opt.to).flat_map(|s| (0..size as u32).map(move |t| (s, t)));
                    links.extend(all.map(|(s, t)| (s, at as u32 + t)));
                }
            }
            let (from, to) = (opt.from as usize, opt.to as usize);
            segments.push(Segment { from, to, target: at, target_end: at + size, origin: opt.origin() });
            at += size;
        }
        links.sort_unstable();
        (segments, links)
    }

    /// What fires on an arc.
    pub fn arc_features(&mut self, arc: u32) -> &[(u32, f32)] {
        let Self { ready, graph, lister } = self;
        lister.part(arc, |rows, own| explain(ready, graph, arc, rows, own))
    }
}

fn explain(ready: &Ready<'_>, graph: &Graph, arc: u32, rows: &mut Vec<(u32, f32)>, own: &mut Names) {
    let from = graph.arcs[arc as usize].from;
    ready.explain(&graph.step(arc, ready.options()), graph.state(from), rows, own);
}
