//! Scores of rules from counts: relative frequencies with or without smoothing, and reordering probabilities.

use super::gather::{COUNTS_OF_COUNTS, Totals};
use dragoman_base::{Error, Result};

/// How phrase translation probabilities are smoothed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Smoothing {
    /// Relative frequencies.
    None,
    /// Modified Kneser-Ney (Foster, Kuhn and Johnson 2006), as Moses' `--KneserNey`.
    KneserNey,
    /// Good-Turing discounts of small counts, as Moses' `--GoodTuring`.
    GoodTuring,
}

/// How orientation probabilities are smoothed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ReorderingSmoothing {
    /// Recursive maximum a posteriori estimates with this weight of each prior (Cherry 2013, equation 2).
    Recursive(f64),
    /// This constant is added to each count, as in Moses.
    Constant(f64),
}

/// Which scores a rule with gaps has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scores {
    /// Those of phrases: Moses' four, the log count, whether the rule was seen once.
    #[default]
    Moses,
    /// cdec's seven.
    Cdec,
}

impl Scores {
    /// Names of the columns.
    pub fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Moses => &["p(f|e)", "lex(f|e)", "p(e|f)", "lex(e|f)", "log count", "unique"],
            Self::Cdec => &[
                "EgivenFCoherent",
                "SampleCountF",
                "CountEF",
                "MaxLexFgivenE",
                "MaxLexEgivenF",
                "IsSingletonF",
                "IsSingletonFE",
            ],
        }
    }
}

/// cdec's seven scores, decimal logarithms: of a rule that was seen `seen` times in `samples` occurrences of its source
/// side, with the lexical costs of the source and of the target.
pub fn cdec(seen: f64, samples: f64, costs: (f64, f64)) -> [f32; 7] {
    let is = |once: bool| f64::from(u8::from(once));
    let scores = [
        -(seen / samples).log10(),
        (1.0 + samples).log10(),
        (1.0 + seen).log10(),
        costs.0,
        costs.1,
        is((samples - 1.0).abs() < 1e-6),
        is(seen == 1.0),
    ];
    scores.map(|score| score as f32)
}

/// Counts of one rule and of its two phrases.
#[derive(Debug, Clone, Copy)]
pub struct Counts {
    /// Occurrences of the rule, its source phrase, its target phrase.
    pub rule: f64,
    pub source: f64,
    pub target: f64,
    /// Rules with the same source phrase, and with the same target phrase.
    pub source_rules: f64,
    pub target_rules: f64,
}

/// Turns counts to probabilities.
#[derive(Debug, Clone)]
pub enum Estimator {
    Plain,
    /// Discounts of counts 1, 2, and 3 or more, and the number of rules.
    KneserNey([f64; 3], f64),
    /// Factor for each small count.
    GoodTuring(Vec<f64>),
}

impl Estimator {
    /// Discounts from the counts of counts.
    pub fn new(smoothing: Smoothing, totals: &Totals) -> Result<Self> {
        let n = totals.counts.map(|count| count as f64);
        match smoothing {
            Smoothing::None => Ok(Self::Plain),
            Smoothing::KneserNey => {
                if n[1..=3].contains(&0.0) {
                    return Err(Error::Invalid(
                        "Kneser-Ney smoothing needs rules that were seen once, twice and three times; there are too \
                         few rules for it"
                            .to_owned(),
                    ));
                }
                let y = n[1] / (n[1] + 2.0 * n[2]);
                let discount = |k: usize| k as f64 - (k + 1) as f64 * y * n[k + 1] / n[k];
                // Not more than nine tenths of the last unit, as Moses limits them.
                let limited = [1, 2, 3].map(|k| discount(k).min(k as f64 - 0.1));
                Ok(Self::KneserNey(limited, totals.all() as f64))
            }
            Smoothing::GoodTuring => {
                let mut factors = vec![0.01];
                for k in 1..COUNTS_OF_COUNTS {
                    let factor = (k + 1) as f64 / k as f64 * (n[k + 1] + 0.1) / (n[k] + 0.1);
                    factors.push(factor.min(1.0).max(factors[k - 1]));
                }
                Ok(Self::GoodTuring(factors))
            }
        }
    }

    /// Probability of the target given the source, and of the source given the target.
    pub fn probabilities(&self, counts: &Counts) -> (f64, f64) {
        let Counts { rule, source, target, source_rules, target_rules } = *counts;
        match self {
            Self::Plain => (rule / source, rule / target),
            Self::KneserNey(discounts, rules) => {
                let discount = discounts[(rule as usize).clamp(1, 3) - 1];
                let discount = if discount > rule { rule - 0.01 } else { discount };
                // Both directions share out discount x (rules of the one) x (rules of the other) / (all rules).
                let shared = discount * source_rules * target_rules / rules;
                ((rule - discount + shared) / source, (rule - discount + shared) / target)
            }
            Self::GoodTuring(factors) => {
                // Counts of rules with gaps may be fractions; Moses rounds them up.
                let count = rule.ceil() as usize;
                let adjusted = if count + 1 < factors.len() { rule * factors[count] } else { rule };
                (adjusted / source, adjusted / target)
            }
        }
    }
}

/// Orientation probabilities of one side of one model, from the counts of the rule, its source phrase, its target
/// phrase and of all rules.
pub fn orientations(
    smoothing: ReorderingSmoothing,
    rule: [f64; 3],
    source: [f64; 3],
    target: [f64; 3],
    all: [f64; 3],
) -> [f64; 3] {
    match smoothing {
        ReorderingSmoothing::Constant(constant) => smooth(rule, [constant; 3]),
        ReorderingSmoothing::Recursive(alpha) => {
            let scaled = |p: [f64; 3]| p.map(|p| alpha * p);
            let global = scaled(smooth(all, scaled([1.0 / 3.0; 3])));
            let (s, t) = (scaled(smooth(source, global)), scaled(smooth(target, global)));
            smooth(rule, [s[0] + t[0], s[1] + t[1], s[2] + t[2]])
        }
    }
}

/// Counts and pseudo-counts, divided by their sum.
fn smooth(counts: [f64; 3], more: [f64; 3]) -> [f64; 3] {
    let sums = [counts[0] + more[0], counts[1] + more[1], counts[2] + more[2]];
    let total: f64 = sums.iter().sum();
    sums.map(|sum| sum / total)
}
