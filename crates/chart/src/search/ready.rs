//! All features of a system, ready for one sentence.

use crate::graph::{Edge, Graph, NONE};
use crate::rules::Rules;
use dragoman_base::{Error, Names, Result};
use dragoman_model::feature::{Context, Joined, StateFeature};
use dragoman_model::{Applied, Rule, Sentence, Sink, System, Weights, top};

/// A state feature, where its state starts, and where it ends.
type Placed<'a> = (Box<dyn Joined + 'a>, usize, usize);

/// The features of a system at work on one sentence.
pub struct Ready<'a> {
    pub(crate) system: &'a System,
    pub(crate) sentence: &'a Sentence<'a>,
    pub(crate) rules: &'a Rules,
    pub(crate) weights: &'a Weights,
    features: Vec<Placed<'a>>,
    /// Estimates and rules, best first for each pattern; those of the start symbol behind.
    ranked: Vec<(f32, u32)>,
    /// Bytes of all states together.
    pub(crate) stride: usize,
}

impl<'a> Ready<'a> {
    /// Gets all features ready; `extra` belongs to this sentence alone.
    pub fn new(
        system: &'a System,
        sentence: &'a Sentence<'a>,
        rules: &'a Rules,
        weights: &'a Weights,
        extra: Option<&'a dyn StateFeature>,
    ) -> Result<Self> {
        let context = Context { sentence, rules, weights, memory: MEMORY };
        let (mut features, mut stride) = (Vec::new(), 0);
        for feature in system.state_features().iter().map(AsRef::as_ref).chain(extra) {
            let Some((joined, bytes)) = feature.joined(context) else {
                return Err(Error::Invalid(NO_JOIN.to_owned()));
            };
            features.push((joined, stride, stride + bytes));
            stride += bytes;
        }
        let mut made = Self { system, sentence, rules, weights, features, ranked: Vec::new(), stride };
        made.ranked = (0..rules.len() as u32).map(|rule| (made.estimate(rule), rule)).collect();
        for (first, last) in rules.patterns() {
            let better = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
            made.ranked[first as usize..last as usize].sort_unstable_by(better);
        }
        Ok(made)
    }

    /// The score of a rule, and guesses of what state features will add.
    fn estimate(&self, rule: u32) -> f32 {
        let mut out = Sink::scoring(self.weights);
        self.features.iter().for_each(|(feature, _, _)| feature.guess(rule, &mut out));
        self.rules.score(rule) + out.score()
    }

    /// The rules of a pattern as `first..last` for [`Ready::ranked`].
    #[inline]
    pub(crate) fn of(&self, pattern: u32) -> (u32, u32) {
        self.rules.of(pattern)
    }

    /// A rule by its rank, in the order of the estimates of each pattern's rules.
    #[inline]
    pub(crate) fn ranked(&self, rank: u32) -> (f32, u32) {
        self.ranked[rank as usize]
    }

    /// The sentence's rules.
    pub fn rules(&self) -> &'a Rules {
        self.rules
    }

    /// The sentence.
    pub fn sentence(&self) -> &'a Sentence<'a> {
        self.sentence
    }

    /// The weights of all features.
    pub fn weights(&self) -> &'a Weights {
        self.weights
    }

    /// The system.
    pub fn system(&self) -> &'a System {
        self.system
    }

    /// An error if a feature could not answer.
    pub fn check(&self) -> Result<()> {
        let failed = self.features.iter().find_map(|(feature, _, _)| feature.failure());
        failed.map_or(Ok(()), |what| Err(Error::Invalid(what)))
    }

    /// The state of the sentence's start.
    pub(crate) fn start(&self, state: &mut [u8]) {
        for (feature, from, to) in &self.features {
            feature.start(&mut state[*from..*to]);
        }
    }

    /// What a rule with nodes in its gaps adds; fills in the state of both together.
    #[inline]
    pub(crate) fn join(&self, rule: u32, tails: [&[u8]; 2], next: &mut [u8], out: &mut Sink<'_>) {
        for (feature, from, to) in &self.features {
            let own = tails.map(|tail| tail.get(*from..*to).unwrap_or_default());
            feature.join(rule, own, &mut next[*from..*to], out);
        }
    }

    /// What the sentence's end adds.
    pub(crate) fn finish(&self, state: &[u8], out: &mut Sink<'_>) {
        for (feature, from, to) in &self.features {
            feature.finish(&state[*from..*to], out);
        }
    }

    /// Every feature that fires on an edge.
    pub fn explain(&self, graph: &Graph, edge: u32, rows: &mut Vec<(u32, f32)>, own: &mut Names) {
        let Edge { rule, tails, .. } = graph.edges[edge as usize];
        let mut out = Sink::collecting(self.weights, rows, own);
        self.system.list(self.sentence, &self.rules.rule(rule), self.rules.said(rule), &mut out);
        let whole = self.rules.rule(rule);
        if !whole.gaps.is_empty() && self.system.has_places() {
            let spans = tails.map(|tail| if tail == NONE { (0, 0) } else { graph.spans[tail as usize] });
            let (from, to) = graph.span_of(edge);
            self.system.place(
                self.sentence,
                &Rule { from, to, gaps: &spans[..whole.gaps.len()], ..whole },
                &mut out,
            );
        }
        let state = |tail: u32| if tail == NONE { &[][..] } else { graph.state(tail) };
        if rule == self.rules.top(top::END) {
            self.finish(state(tails[0]), &mut out);
        } else {
            let mut next = vec![0; self.stride];
            self.join(rule, tails.map(state), &mut next, &mut out);
        }
    }
}

/// Entries of a feature's memory for each source word, about.
const MEMORY: usize = 1 << 12;
/// Why a system cannot be used here.
const NO_JOIN: &str =
    "a state feature of this system needs the order of phrases, which a hierarchical system has not";
