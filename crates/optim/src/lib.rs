//! Optimisation, which knows numbers and bounds and nothing of translation: L-BFGS for whole functions, a learner for
//! gradients that come one after the other.

mod gradient;
pub mod lbfgs;
mod learner;
mod rule;
mod vectors;

pub use gradient::Gradient;
pub use learner::{Average, Learner, Memory};
pub use rule::{Rule, adagrad};
