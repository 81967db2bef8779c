//! Tuning kernels. They see arrays of features, statistics and weights, never a decoder; text only in forests.

pub mod forest;
pub mod lists;
pub mod mert;
pub mod mira;
pub mod online;
pub mod pairs;
mod renumber;
pub mod risk;
mod screen;
