//! All features of a system, ready for one sentence.

use crate::feature::{Context, PreparedOrder, Step};
use crate::options::Options;
use crate::system::{Stateful, System};
use dragoman_base::{Error, Names, Result};
use dragoman_model::feature::{Prepared, StateFeature};
use dragoman_model::{Sentence, Sink, Weights, feature};

/// A state feature that is ready.
enum Asked<'a> {
    Words(Box<dyn Prepared + 'a>),
    Order(Box<dyn PreparedOrder + 'a>),
}

/// The features of a system at work on one sentence.
pub struct Ready<'a> {
    system: &'a System,
    pub(crate) sentence: &'a Sentence<'a>,
    pub(crate) options: &'a Options,
    pub(crate) weights: &'a Weights,
    jumps: Vec<Box<dyn PreparedOrder + 'a>>,
    /// Feature, where its state starts, and where it ends.
    steps: Vec<(Asked<'a>, usize, usize)>,
    /// Bytes of all states together.
    pub(crate) stride: usize,
}

impl<'a> Ready<'a> {
    /// Gets all features ready; `extra` belongs to this sentence alone.
    pub fn new(system: &'a System, context: Context<'a>, extra: Option<&'a dyn StateFeature>) -> Self {
        let Context { sentence, options, weights, memory, .. } = context;
        let words = feature::Context { sentence, rules: options, weights, memory };
        let (mut jumps, mut steps, mut stride) = (Vec::new(), Vec::new(), 0);
        for feature in system.states().chain(extra.map(Stateful::Words)) {
            let (asked, bytes) = match feature {
                Stateful::Words(feature) => (Asked::Words(feature.prepare(words)), feature.state_bytes()),
                Stateful::Order(feature) if feature.jump_only() => {
                    jumps.push(feature.prepare(context));
                    continue;
                }
                Stateful::Order(feature) => (Asked::Order(feature.prepare(context)), feature.state_bytes()),
            };
            steps.push((asked, stride, stride + bytes));
            stride += bytes;
        }
        Self { system, sentence, options, weights, jumps, steps, stride }
    }

    /// Bytes of all states together.
    #[inline]
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// The sentence's options.
    #[inline]
    pub fn options(&self) -> &'a Options {
        self.options
    }

    /// The sentence.
    #[inline]
    pub fn sentence(&self) -> &'a Sentence<'a> {
        self.sentence
    }

    /// The weights of all features.
    #[inline]
    pub fn weights(&self) -> &'a Weights {
        self.weights
    }

    /// The system.
    pub fn system(&self) -> &'a System {
        self.system
    }

    /// An error if a feature could not answer.
    pub fn check(&self) -> Result<()> {
        let jumps = self.jumps.iter().map(|feature| feature.failure());
        let steps = self.steps.iter().map(|(feature, _, _)| match feature {
            Asked::Words(feature) => feature.failure(),
            Asked::Order(feature) => feature.failure(),
        });
        jumps.chain(steps).flatten().next().map_or(Ok(()), |what| Err(Error::Invalid(what)))
    }

    /// The state of the empty hypothesis.
    pub fn start(&self, state: &mut [u8]) {
        state.fill(0);
        for (feature, from, to) in &self.steps {
            match feature {
                Asked::Words(feature) => feature.start(&mut state[*from..*to]),
                Asked::Order(feature) => feature.start(&mut state[*from..*to]),
            }
        }
    }

    /// What the step adds, jump features aside; fills in the state after it.
    #[inline]
    pub fn step(&self, step: &Step<'_>, previous: &[u8], next: &mut [u8], out: &mut Sink<'_>) {
        next.fill(0);
        for (feature, from, to) in &self.steps {
            let (before, after) = (&previous[*from..*to], &mut next[*from..*to]);
            match feature {
                Asked::Words(feature) => feature.extend(step.option, step.complete, before, after, out),
                Asked::Order(feature) => feature.extend(step, before, after, out),
            }
        }
    }

    /// What the features that only look at the jump say.
    #[inline]
    pub fn jump(&self, step: &Step<'_>, out: &mut Sink<'_>) {
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
    pub fn list_rule(&self, option: u32, rows: &mut Vec<(u32, f32)>, own: &mut Names) {
        let mut out = Sink::collecting(self.weights, rows, own);
        let rule = self.options.rule(option);
        self.system.list(self.sentence, &rule, self.options.said(option), &mut out);
    }
}
