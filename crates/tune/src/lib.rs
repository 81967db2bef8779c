//! Tuning kernels. They see arrays of features, statistics and weights, never text and never a decoder.

pub mod mert;
