//! Who does work and when: pools of threads that live on, and streams of jobs with results in order.

mod ordered;
pub mod pools;

pub use ordered::{Lost, Stream};
