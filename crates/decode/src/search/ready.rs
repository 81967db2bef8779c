//! All features of a system, ready for one sentence.

use crate::feature::{Context, Prepared, Rule, Sink, StateFeature, Step};
use crate::options::Options;
use crate::sentence::Sentence;
use crate::system::System;
use crate::weights::Weights;
use dragoman_base::{Error, Names, Result};

/// The features of a system at work on one sentence.
pub struct Ready<'a> {
    system: &'a System,
    pub(crate) sentence: &'a Sentence<'a>,
    pub(crate) options: &'a Options,
    pub(crate) weights: &'a Weights,
    jumps: Vec<Box<dyn Prepared + 'a>>,
    /// Feature, where its state starts, and where it ends.
    steps: Vec<(Box<dyn Prepared + 'a>, usize, usize)>,
    /// Bytes of all states together.
    pub(crate) stride: usize,
}

impl<'a> Ready<'a> {
    /// Gets all features ready; `extra` belongs to this sentence alone.
    pub fn new(system: &'a System, context: Context<'a>, extra: Option<&'a dyn StateFeature>) -> Self {
        let Context { sentence, options, weights, .. } = context;
        let (mut jumps, mut steps, mut stride) = (Vec::new(), Vec::new(), 0);
        for feature in system.state_features.iter().map(AsRef::as_ref).chain(extra) {
            let ready = feature.prepare(context);
            if feature.jump_only() {
                jumps.push(ready);
            } else {
                steps.push((ready, stride, stride + feature.state_bytes()));
                stride += feature.state_bytes();
            }
        }
        Self { system, sentence, options, weights, jumps, steps, stride }
    }

    /// The sentence's options.
    pub fn options(&self) -> &'a Options {
        self.options
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
        let mut all = self.jumps.iter().chain(self.steps.iter().map(|(feature, _, _)| feature));
        all.find_map(|feature| feature.failure()).map_or(Ok(()), |what| Err(Error::Invalid(what)))
    }

    /// The state of the empty hypothesis.
    pub fn start(&self, state: &mut [u8]) {
        state.fill(0);
        for (feature, from, to) in &self.steps {
            feature.start(&mut state[*from..*to]);
        }
    }

    /// What the step adds, jump features aside; fills in the state after it.
    #[inline]
    pub(crate) fn step(&self, step: &Step<'_>, previous: &[u8], next: &mut [u8], out: &mut Sink<'_>) {
        next.fill(0);
        for (feature, from, to) in &self.steps {
            feature.extend(step, &previous[*from..*to], &mut next[*from..*to], out);
        }
    }

    /// What the features that only look at the jump say.
    pub(crate) fn jump(&self, step: &Step<'_>, out: &mut Sink<'_>) {
        for feature in &self.jumps {
            feature.extend(step, &[], &mut [], out);
        }
    }

    /// Every feature that fires in a step, rule features included.
    pub fn explain(&self, step: &Step<'_>, previous: &[u8], rows: &mut Vec<(u32, f32)>, own: &mut Names) {
        self.list_rule(step.option, rows, own);
        let mut out = Sink::collecting(self.weights, rows, own);
        let mut next = vec![0; self.stride];
        self.jump(step, &mut out);
        self.step(step, previous, &mut next, &mut out);
    }

    /// Every rule feature that fires on an option.
    pub(crate) fn list_rule(&self, option: u32, rows: &mut Vec<(u32, f32)>, own: &mut Names) {
        let mut out = Sink::collecting(self.weights, rows, own);
        let rule = Rule { opt: self.options.get(option), target: self.options.target(option) };
        for feature in &self.system.rule_features {
            feature.score(self.sentence, &rule, &mut out);
        }
        self.options.list_fired(option, &self.system.names, &mut out);
        self.system.locals.list(self.sentence, &rule, &mut out);
    }
}
