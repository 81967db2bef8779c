//! Word alignment.

pub mod bitext;
pub mod cells;
pub mod links;
pub mod sampler;
pub mod score;
pub mod symmetrise;
pub mod train;

pub use bitext::{Bitext, Report, Spelling};
pub use links::Links;
pub use score::{Gold, Score, score};
pub use symmetrise::{Method, symmetrise};
