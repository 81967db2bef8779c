//! What translates, whatever the search: sentences and what their writers demand, rules, features, weights, systems.
//!
//! Nothing here knows how a search goes about its work: no coverage, no stacks, no chart. A feature that looks at one
//! rule, or at the target words alone, is written here once and serves every decoder; those that look at the order in
//! which the source is covered are with the decoder that has such an order.

pub mod feature;
pub mod found;
pub mod markup;
mod rule;
mod sentence;
mod sink;
mod system;
mod weights;

pub use rule::{Applied, GAP, KNOWN, Origin, Rule, Symbol, top};
pub use sentence::{Forced, Input, Sentence};
pub use sink::{OWN, Sink};
pub use system::{RuleTable, State, System};
pub use weights::Weights;
