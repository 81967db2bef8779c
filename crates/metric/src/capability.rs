//! What a metric can do inside a kernel, beyond scoring a row. A kernel asks for a capability and never for a name; a
//! metric that lacks it takes the general path, or is refused with [`refusal`].

use crate::Metric;
pub use crate::bleu::incremental::Incremental;
pub use crate::bleu::linear::{Gram, Matcher, Part, Used};

/// Candidates whose counts lie side by side in [`Approximate::counts`].
pub const LANES: usize = 16;

/// Scores of many rows at once that are close to the true ones and cost much less. Kernels sift with them and let true
/// scores decide among the few that are left, so that no result depends on them.
pub trait Approximate: Send + Sync {
    /// Writes `factor` times the score of each row. Returns by how much one may be off, relative to the largest.
    fn rows(&self, rows: &[f64], factor: f64, out: &mut Vec<f64>) -> f64;

    /// The same for rows on top of a sum `base`, given by statistic: `columns[k]` has statistic k of each row. Returns by
    /// how much any of them may be off. None, and nothing of worth in `out`, if these numbers are not fit for it.
    fn columns(&self, columns: &[&[f64]], base: &[f64], factor: f64, out: &mut Vec<f64>) -> Option<f64>;

    /// The same in single precision, of counts: for each [`LANES`] rows an array for each statistic.
    fn counts(&self, counts: &[u16], base: &[f64], factor: f64, out: &mut Vec<f32>) -> Option<f64>;
}

/// A first-order form: so much for a word and so much for each matched n-gram. A search over paths can add it up.
pub trait Linear: Send + Sync {
    /// Longest n-gram that counts.
    fn order(&self) -> usize;

    /// What one more word and one more match of each order are worth on top of a sum of statistics: differences of the
    /// score, the word's first.
    fn slopes(&self, row: &[f64]) -> Vec<f64>;

    /// The words and matches of a row by their slopes.
    fn value(&self, slopes: &[f64], row: &[f64]) -> f64;

    /// Which n-grams of some references a growing text completes.
    fn matcher(&self, references: &[&str]) -> Matcher;
}

/// What a capability is called, which metrics have it in words, and whether a metric does.
type Known = (&'static str, &'static str, fn(&dyn Metric) -> bool);

const ALL: [Known; 3] = [
    ("approximate", "BLEU up to 4-grams", |metric| metric.approximate().is_some()),
    ("linear", "bleu:tokenize=none", |metric| metric.linear().is_some()),
    ("incremental", "bleu:tokenize=none up to 4-grams, without effective_order and smooth=floor", |metric| {
        metric.incremental().is_some()
    }),
];

/// The names of a metric's capabilities.
pub fn names(metric: &dyn Metric) -> Vec<&'static str> {
    ALL.iter().filter(|(_, _, has)| has(metric)).map(|(name, ..)| *name).collect()
}

/// Why a metric that lacks a capability cannot be used.
pub fn refusal(what: &str, name: &str) -> String {
    let holders =
        ALL.iter().find(|(known, ..)| *known == name).map_or("no metric", |(_, holders, _)| holders);
    format!("{what} needs a metric with the capability `{name}`, such as {holders}")
}
