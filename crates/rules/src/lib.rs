//! Translation rules: phrase pairs with scores, internal alignments and reordering models, in a table that is mapped
//! and not read.
//!
//! [`extract::extract`] makes a [`Table`] from a word-aligned bitext, [`import`] from Moses' text tables. Scores are natural logarithms.

mod code;
mod export;
pub mod extract;
pub mod gap;
mod grammar;
mod import;
mod source;
pub mod table;

pub use export::{ExportOptions, export};
pub use grammar::Form;
pub use import::{ImportOptions, ImportReport, import, score_count};
pub use source::RuleSource;
pub use table::{Builder, Node, Table};

/// The lowest score: what the logarithm of 0 becomes. Moses has the same floor.
pub const LOWEST: f32 = -100.0;

/// Natural logarithm of a probability, not below [`LOWEST`].
pub(crate) fn log(value: f64) -> f32 {
    (value.ln() as f32).max(LOWEST)
}
