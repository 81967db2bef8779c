//! BLEU (Papineni et al. 2002) with k references, and its sentence-level relatives.
//!
//! Its forms stand side by side: [`exact`] is the definition, and the others are what it can do inside a kernel.

mod approximate;
mod exact;
pub mod incremental;
pub mod linear;

use crate::capability::{Approximate, Incremental, Linear};
use crate::pairwise::Counted;
use crate::tokenize::Tokenizer;
use crate::{Metric, Reference};
use exact::Digest;

/// Which reference length a hypothesis is held against when there are several references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefLength {
    /// The one closest to the hypothesis's length; of two equally close, the shorter.
    Closest,
    /// The shortest.
    Shortest,
    /// The mean.
    Average,
}

impl RefLength {
    /// The length that a hypothesis of `hyp` words is held against; 0 if there is no reference.
    #[inline]
    fn of(self, lengths: &[i64], hyp: i64) -> f64 {
        match self {
            Self::Closest => {
                let mut best = (i64::MAX, 0);
                for &length in lengths {
                    best = best.min(((length - hyp).abs(), length));
                }
                best.1 as f64
            }
            Self::Shortest => lengths.iter().min().map_or(0.0, |&length| length as f64),
            Self::Average => lengths.iter().sum::<i64>() as f64 / lengths.len().max(1) as f64,
        }
    }
}

/// What happens to n-gram orders with few or no matches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Smoothing {
    /// Nothing: a missing order makes the score zero.
    None,
    /// A count of zero becomes this (Chen & Cherry 2014, method 1).
    Floor(f64),
    /// Added to matches and totals of orders 2 and up (method 2; 1 gives BLEU+1 of Lin & Och 2004).
    AddK(f64),
    /// Successive halves for orders without a match (method 3, NIST's script).
    Exp,
    /// Added to matches and totals of every order, unigrams too (0.01 in Haddow et al. 2011).
    AddAll(f64),
}

/// BLEU and its options.
#[derive(Debug, Clone)]
pub struct Bleu {
    /// Longest n-gram that counts (4 in BLEU-4).
    pub order: usize,
    /// How lines become tokens.
    pub tokenizer: Tokenizer,
    /// Compare lower-cased text.
    pub lowercase: bool,
    /// Which reference length counts.
    pub ref_length: RefLength,
    /// How zero counts are treated.
    pub smoothing: Smoothing,
    /// Average only over orders that the hypothesis is long enough to have.
    pub effective_order: bool,
    /// Reference lengths are multiplied by this (Galley et al. 2013).
    pub length_scale: f64,
    /// Added to the reference length of the sum: 1 smooths the brevity penalty as well (Nakov et al. 2012).
    pub length_offset: f64,
}

// A row is: hypothesis length, reference length, matches of order 1..=N, totals of order 1..=N.
const HYP: usize = 0;
const REF: usize = 1;
const COUNTS: usize = 2;

impl Default for Bleu {
    /// BLEU-4 as it was published, on words between blanks.
    fn default() -> Self {
        Self {
            order: 4,
            tokenizer: Tokenizer::None,
            lowercase: false,
            ref_length: RefLength::Closest,
            smoothing: Smoothing::None,
            effective_order: false,
            length_scale: 1.0,
            length_offset: 0.0,
        }
    }
}

impl Bleu {
    fn prepare(&self, line: &str) -> String {
        self.tokenizer.prepare(line, self.lowercase)
    }

    /// What is added to the counts of unigrams, and to those of all other orders.
    fn added(&self) -> (f64, f64) {
        match self.smoothing {
            Smoothing::AddK(k) => (0.0, k),
            Smoothing::AddAll(k) => (k, k),
            _ => (0.0, 0.0),
        }
    }
}

impl Metric for Bleu {
    fn width(&self) -> usize {
        COUNTS + 2 * self.order
    }

    fn digest(&self, references: &[&str]) -> Box<dyn Reference> {
        Box::new(Digest::new(self.clone(), references))
    }

    fn score(&self, row: &[f64]) -> f64 {
        self.exact(row)
    }

    fn counted(&self) -> Option<&dyn Counted> {
        Some(self)
    }

    fn approximate(&self) -> Option<&dyn Approximate> {
        (self.order == 4).then_some(self)
    }

    fn linear(&self) -> Option<&dyn Linear> {
        // A path's words must be the metric's.
        (self.tokenizer == Tokenizer::None).then_some(self)
    }

    fn incremental(&self) -> Option<Incremental> {
        Incremental::new(self)
    }
}
