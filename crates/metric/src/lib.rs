//! Translation metrics as additive statistics.
//!
//! A metric turns a hypothesis into a short row of numbers (its statistics). Rows of different sentences are
//! added up, and only the sum is turned into a score. Line search, significance tests and background BLEU
//! all rest on that one fact, so this is the contract: [`Metric::digest`] prepares the references of one
//! sentence once, [`Reference::statistics`] gives the row of one hypothesis, [`Metric::score`] reads a sum.

pub mod bleu;
pub mod capability;
pub mod chrf;
pub mod combined;
mod ngrams;
pub mod pairwise;
pub mod resample;
pub mod ter;
pub mod tokenize;
pub mod wer;

use capability::{Approximate, Incremental, Linear};
use dragoman_base::Texts;
use pairwise::Counted;
use rayon::prelude::*;
use std::sync::Arc;

/// A corpus metric with additive statistics.
pub trait Metric: Send + Sync {
    /// Number of statistics in a row.
    fn width(&self) -> usize;

    /// Prepares the references of one sentence; there is at least one.
    fn digest(&self, references: &[&str]) -> Box<dyn Reference>;

    /// The score of a row or of a sum of rows.
    fn score(&self, row: &[f64]) -> f64;

    /// Itself as a metric of common n-grams, if it is one.
    fn counted(&self) -> Option<&dyn Counted> {
        None
    }

    /// The metrics that it is a sum of, with their factors; none, if it is not a sum.
    fn parts(&self) -> &[(f64, Arc<dyn Metric>)] {
        &[]
    }

    /// Approximate scores in bulk, if it has them.
    fn approximate(&self) -> Option<&dyn Approximate> {
        None
    }

    /// A first-order form for searches over paths, if it has one.
    fn linear(&self) -> Option<&dyn Linear> {
        None
    }

    /// A form that is kept up to date as a text changes, if it has one.
    fn incremental(&self) -> Option<Incremental> {
        None
    }
}

/// The prepared references of one sentence.
pub trait Reference: Send + Sync {
    /// Writes the statistics of `hypothesis` to `row`, which holds zeros and has the metric's width.
    fn statistics(&self, hypothesis: &str, row: &mut [f64]);
}

/// Digests the references of many sentences on all cores: `references[r]` holds the `r`-th reference of each.
pub fn digest_all(metric: &dyn Metric, references: &[Vec<&str>]) -> Vec<Box<dyn Reference>> {
    references.par_iter().with_min_len(16).map(|refs| metric.digest(refs)).collect()
}

/// The statistics of every hypothesis on all cores, one row each; hypothesis `i` belongs to sentence `sentence[i]`.
pub fn statistics(
    references: &[Box<dyn Reference>],
    texts: &Texts,
    sentence: &[i64],
    width: usize,
) -> Vec<f64> {
    let mut rows = vec![0.0; texts.len() * width];
    rows.par_chunks_mut(width)
        .zip(sentence)
        .enumerate()
        .with_min_len(16)
        .for_each(|(i, (row, &s))| references[s as usize].statistics(texts.get(i), row));
    rows
}

/// The score of each row of `rows`, on all cores.
pub fn scores(metric: &dyn Metric, rows: &[f64]) -> Vec<f64> {
    rows.par_chunks(metric.width()).with_min_len(256).map(|row| metric.score(row)).collect()
}
