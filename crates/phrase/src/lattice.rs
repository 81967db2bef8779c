//! The part of a search graph that leads to a complete translation, on its own.

use crate::prune::kept;
use crate::search::{Graph, Ready};
use crate::translate::Extractor;
use dragoman_base::Names;

/// An arc of a lattice.
#[derive(Debug, Clone, PartialEq)]
pub struct Phrase {
    /// Node that it leaves.
    pub from: u32,
    /// Node that it reaches; higher than `from`.
    pub to: u32,
    /// Target words between blanks.
    pub text: String,
    /// Source span.
    pub span: (u32, u32),
    /// What it adds to the model score.
    pub score: f64,
    /// Features that fire.
    pub features: Vec<(u32, f32)>,
}

/// Nodes 0 (the start) up to `nodes`; arcs in order of the node that they reach.
#[derive(Debug, Clone, Default)]
pub struct Lattice {
    /// Number of nodes.
    pub nodes: usize,
    /// Nodes where a translation is complete.
    pub finals: Vec<u32>,
    /// Arcs.
    pub arcs: Vec<Phrase>,
    /// Names of features that the system did not have: numbers from [`dragoman_model::OWN`] on.
    pub own: Names,
}

impl Lattice {
    /// Cuts out what leads to the end: all of it, or `most` arcs on the best paths.
    pub fn new(ready: &Ready<'_>, graph: &Graph, features: bool, most: Option<usize>) -> Self {
        let mut extractor = Extractor::new(ready, graph);
        let kept = kept(graph, most);
        let mut made = Self::default();
        let mut number = vec![u32::MAX; graph.nodes.len()];
        for node in 0..graph.nodes.len() {
            let mut ways: Vec<u32> = graph.ways(node as u32).filter(|&arc| kept[arc as usize]).collect();
            if node > 0 && ways.is_empty() {
                continue;
            }
            number[node] = made.nodes as u32;
            made.nodes += 1;
            ways.sort_unstable();
            for arc in ways {
                let from = number[graph.arcs[arc as usize].from as usize];
                made.arcs.push(phrase(&mut extractor, ready, graph, arc, (from, number[node]), features));
            }
        }
        made.own = extractor.own().clone();
        made.finals =
            graph.finals.iter().map(|&end| number[end as usize]).filter(|&end| end != u32::MAX).collect();
        made
    }
}

fn phrase(
    extractor: &mut Extractor<'_>,
    ready: &Ready<'_>,
    graph: &Graph,
    arc: u32,
    (from, to): (u32, u32),
    features: bool,
) -> Phrase {
    let option = graph.arcs[arc as usize].option;
    let (opt, sentence) = (ready.options().get(option), ready.sentence());
    let words: Vec<&str> =
        ready.options().target(option).iter().map(|&word| sentence.target_text(word)).collect();
    Phrase {
        from,
        to,
        text: words.join(" "),
        span: (opt.from, opt.to),
        score: graph.gain(arc),
        features: if features { extractor.arc_features(arc).to_vec() } else { Vec::new() },
    }
}
