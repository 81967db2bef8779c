//! Tuning kernels. They see arrays of features, statistics and weights, never a decoder; text only in lattices.

pub mod lattice;
pub mod lists;
pub mod mert;
pub mod mira;
mod mira_gain;
mod mira_rough;
pub mod online;
pub mod pairs;
mod renumber;
pub mod risk;
mod screen;
