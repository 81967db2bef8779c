//! Word classes: every word gets one of k classes so that the bigram class model
//! `p(w | w') = p(c(w) | c(w')) p(w | c(w))` gives the text the highest likelihood (Brown et al. 1992; Kneser & Ney
//! 1993; Och 1999, whose mkcls does the same).
//!
//! A sentence begins and ends with a boundary of its own class. With N(c', c) the number of places where a word of
//! class c follows one of class c', N(c) the words of class c, N(w) those of type w, and h(x) = x log x, the
//! log-likelihood is
//!
//! ```text
//! L = sum h(N(c', c)) - 2 sum h(N(c)) - h(sentences) + sum h(N(w))                                (1)
//! ```
//!
//! since every word has a follower. Moving a word changes two rows and two columns of N, which is what makes the
//! exchange algorithm fast.

pub mod counts;
pub mod file;
mod logs;
pub mod search;
pub mod state;

pub use counts::Counts;
pub use file::Classes;
pub use search::{Found, Options, cluster};
pub use state::State;
