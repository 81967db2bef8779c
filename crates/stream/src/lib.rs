//! Who does work and when: pools of threads that live on, and streams of jobs with results in order.

mod ordered;
pub mod pools;
mod turns;

pub use ordered::{Lost, Stream};
pub use turns::in_turn;
