//! Several models as one: p(w | h) = sum of weight times p(w | h) of each model, computed as the words come.

use crate::model::{Model, State};
use crate::query::Scorer;
use crate::words::{SPECIAL, UNK};
use dragoman_base::{Error, Names, Result};
use std::sync::Arc;

/// The largest number of models in a mixture; it fixes the size of a state.
pub const MAX_MODELS: usize = 8;

/// The states of all models; unused ones are zero, so that equal futures have equal bytes.
pub type MixtureState = [State; MAX_MODELS];

/// A linear mixture of models over the union of their words.
#[derive(Debug)]
pub struct Mixture {
    models: Vec<Arc<Model>>,
    /// Natural logarithms of the weights.
    weights: Vec<f64>,
    names: Names,
    /// By word: its id in each model.
    ids: Vec<u32>,
}

impl Mixture {
    /// A mixture; the weights are positive and sum to 1 (to 1e-6).
    pub fn new(models: Vec<Arc<Model>>, weights: &[f64]) -> Result<Self> {
        let count = models.len();
        if !(1..=MAX_MODELS).contains(&count) || weights.len() != count {
            return Err(Error::Invalid(format!(
                "expected 1 to {MAX_MODELS} models and a weight for each, found {count} and {}",
                weights.len()
            )));
        }
        if weights.iter().any(|w| w.is_nan() || *w < 0.0) || (weights.iter().sum::<f64>() - 1.0).abs() > 1e-6
        {
            return Err(Error::Invalid(format!("expected weights that sum to 1, found {weights:?}")));
        }
        let mut names = Names::new();
        for special in SPECIAL {
            names.intern(special);
        }
        for model in &models {
            for id in 0..model.words() as u32 {
                names.intern(model.name(id));
            }
        }
        let ids =
            names.texts().iter().flat_map(|word| models.iter().map(move |model| model.word(word))).collect();
        Ok(Self { weights: weights.iter().map(|w| w.ln()).collect(), models, names, ids })
    }

    /// Number of words of the union; ids are below it.
    pub fn words(&self) -> usize {
        self.names.len()
    }

    /// The words of the union.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The states that know nothing of what came before.
    pub fn empty(&self) -> MixtureState {
        [State::default(); MAX_MODELS]
    }

    /// Natural log probability of `word` after `state`, and the state after it.
    pub fn score(&self, state: &MixtureState, word: u32) -> (f32, MixtureState) {
        let (log, next, _) = self.step(*state, word);
        (log, next)
    }
}

impl Scorer for Mixture {
    type State = MixtureState;

    fn start(&self) -> MixtureState {
        let mut states = self.empty();
        for (state, model) in states.iter_mut().zip(&self.models) {
            *state = model.start();
        }
        states
    }

    fn in_use(&self) -> &Self {
        for model in &self.models {
            model.in_use();
        }
        self
    }

    fn word(&self, text: &str) -> u32 {
        self.names.get(text).unwrap_or(UNK)
    }

    fn step(&self, mut state: MixtureState, word: u32) -> (f32, MixtureState, u8) {
        let count = self.models.len();
        let mut logs = [f64::NEG_INFINITY; MAX_MODELS];
        let mut longest = 0;
        for (i, model) in self.models.iter().enumerate() {
            let score = model.as_used().score_full(&state[i], self.ids[word as usize * count + i]);
            logs[i] = self.weights[i] + f64::from(score.log);
            state[i] = score.state;
            longest = longest.max(score.length);
        }
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = logs.iter().map(|log| (log - most).exp()).sum();
        ((most + sum.ln()) as f32, state, longest)
    }
}
