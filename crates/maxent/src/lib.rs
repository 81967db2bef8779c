//! Maxent HRM (Cherry 2013, section 3.2): the orientation of a phrase pair from features of its words.
//!
//! A log-linear model (equation 3) over the features of table 1, for each direction one. An example is a phrase-pair
//! type, weighted by its count, and its target is its unsmoothed orientation distribution, so that training minimises
//!
//! ```text
//! |w|^2 / 2 + C sum_i c_i [ log sum_o exp(w.f(o, i)) - sum_o P(o | i) w.f(o, i) ]                 (equation 4)
//! ```
//!
//! [`counts`] reads orientation counts off a rule table, [`features`] numbers the features that are frequent enough,
//! [`objective`] is equation 4, and [`train`] writes a table with six columns more.

mod apply;
pub mod counts;
pub mod features;
mod heldout;
pub mod objective;

pub use apply::{Options, Report, Side, train};
pub use heldout::Heldout;

/// Orientations: monotone, swap, discontinuous.
pub const ORIENTATIONS: usize = 3;
/// Directions, in the order of the columns: towards the previous phrase, towards the next.
pub const SIDES: [&str; 2] = ["previous", "next"];
