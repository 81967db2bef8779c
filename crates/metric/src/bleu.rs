//! BLEU (Papineni et al. 2002) with k references, and its sentence-level relatives.

use crate::ngrams::{NgramTree, Words};
use crate::tokenize::{Tokenizer, split};
use crate::{Metric, Reference};
use rustc_hash::FxHashMap;

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

impl Bleu {
    /// What one more word and one more match of each order are worth on top of a sum of statistics, to first order:
    /// differences of the score, the word's first.
    pub fn slopes(&self, row: &[f64]) -> Vec<f64> {
        let (order, score) = (self.order, self.score(row));
        let mut longer = row.to_vec();
        longer[HYP] += 1.0;
        longer[COUNTS + order..].iter_mut().for_each(|total| *total += 1.0);
        let mut slopes = vec![self.score(&longer) - score];
        slopes.extend((0..order).map(|n| {
            let mut better = row.to_vec();
            better[COUNTS + n] += 1.0;
            self.score(&better) - score
        }));
        slopes
    }

    pub(crate) fn prepare(&self, line: &str) -> String {
        self.tokenizer.prepare(line, self.lowercase)
    }

    fn brevity_penalty(&self, row: &[f64]) -> f64 {
        let (hyp, reference) = (row[HYP], row[REF] * self.length_scale + self.length_offset);
        if hyp >= reference {
            1.0
        } else if hyp > 0.0 {
            (1.0 - reference / hyp).exp()
        } else {
            0.0
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
        let (matches, totals) = row[COUNTS..].split_at(self.order);
        let all = if let Smoothing::AddAll(k) = self.smoothing { k } else { 0.0 };
        // No match at all is a score of zero under every smoothing but the one that adds to all counts.
        if all == 0.0 && matches.iter().all(|&m| m == 0.0) {
            return 0.0;
        }
        let mut log_sum = 0.0;
        let mut orders = self.order;
        let mut halvings = 1.0;
        for n in 0..self.order {
            let k = if let (Smoothing::AddK(k), 1..) = (self.smoothing, n) { k } else { all };
            let (m, total) = (matches[n] + k, totals[n] + k);
            if total == 0.0 {
                // sacreBLEU stops here; without effective order the missing orders then count as precision 0.
                if !self.effective_order {
                    return 0.0;
                }
                break;
            }
            if self.effective_order {
                orders = n + 1;
            }
            let precision = match self.smoothing {
                _ if m > 0.0 => m / total,
                Smoothing::Exp => {
                    halvings *= 2.0;
                    1.0 / (halvings * total)
                }
                Smoothing::Floor(value) => value / total,
                _ => 0.0,
            };
            if precision == 0.0 {
                return 0.0;
            }
            log_sum += precision.ln();
        }
        100.0 * self.brevity_penalty(row) * (log_sum / orders as f64).exp()
    }
}

/// The n-grams of a sentence's references.
struct Digest {
    bleu: Bleu,
    vocabulary: Words,
    tree: NgramTree,
    /// How often each n-gram may match: its largest count in any one reference.
    limits: Vec<u32>,
    lengths: Vec<usize>,
}

impl Digest {
    fn new(bleu: Bleu, references: &[&str]) -> Self {
        let mut digest = Self {
            vocabulary: Words::default(),
            tree: NgramTree::new(bleu.order),
            limits: Vec::new(),
            lengths: Vec::with_capacity(references.len()),
            bleu,
        };
        for reference in references {
            digest.add(reference);
        }
        digest
    }

    fn add(&mut self, reference: &str) {
        let line = self.bleu.prepare(reference);
        let ids: Vec<u32> = split(&line).map(|word| self.vocabulary.intern(word)).collect();
        self.lengths.push(ids.len());
        let mut counts: FxHashMap<u32, u32> = FxHashMap::default();
        self.tree.add(&ids, |node| *counts.entry(node).or_default() += 1);
        self.limits.resize(self.tree.len(), 0);
        for (node, count) in counts {
            let limit = &mut self.limits[node as usize];
            *limit = (*limit).max(count);
        }
    }

    fn ref_length(&self, hyp: usize) -> f64 {
        match self.bleu.ref_length {
            RefLength::Closest => {
                self.lengths.iter().map(|&r| (r.abs_diff(hyp), r)).min().map_or(0.0, |(_, r)| r as f64)
            }
            RefLength::Shortest => self.lengths.iter().min().map_or(0.0, |&r| r as f64),
            RefLength::Average => {
                self.lengths.iter().sum::<usize>() as f64 / self.lengths.len().max(1) as f64
            }
        }
    }
}

impl Reference for Digest {
    fn statistics(&self, hypothesis: &str, row: &mut [f64]) {
        let order = self.bleu.order;
        let line = self.bleu.prepare(hypothesis);
        let mut length = 0;
        let mut used = vec![0u32; self.limits.len()];
        let words = split(&line).inspect(|_| length += 1).map(|word| self.vocabulary.get(word));
        self.tree.matches(words, |node, n| {
            let used = &mut used[node as usize];
            if *used < self.limits[node as usize] {
                *used += 1;
                row[COUNTS + n - 1] += 1.0;
            }
        });
        row[HYP] = length as f64;
        row[REF] = self.ref_length(length);
        for n in 0..order {
            row[COUNTS + order + n] = length.saturating_sub(n) as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn bleu() -> Bleu {
        Bleu {
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

    fn row(metric: &Bleu, hyp: &str, refs: &[&str]) -> Vec<f64> {
        let mut row = vec![0.0; metric.width()];
        metric.digest(refs).statistics(hyp, &mut row);
        row
    }

    /// The definition, word for word: counts of whole n-grams, clipped by the largest count in a reference.
    fn slow_row(order: usize, hyp: &[&str], refs: &[Vec<&str>]) -> Vec<f64> {
        let count = |words: &[&str], n: usize| {
            let mut counts: HashMap<String, f64> = HashMap::new();
            for gram in words.windows(n) {
                *counts.entry(gram.join(" ")).or_default() += 1.0;
            }
            counts
        };
        let closest =
            refs.iter().map(|r| (r.len().abs_diff(hyp.len()), r.len())).min().map_or(0, |(_, len)| len);
        let mut row = vec![hyp.len() as f64, closest as f64];
        for n in 1..=order {
            let clip = |gram: &str| {
                refs.iter().map(|r| count(r, n).get(gram).copied().unwrap_or(0.0)).fold(0.0, f64::max)
            };
            row.push(count(hyp, n).iter().map(|(gram, c)| c.min(clip(gram))).sum());
        }
        for n in 1..=order {
            row.push(hyp.windows(n).count() as f64);
        }
        row
    }

    proptest! {
        #[test]
        fn statistics_equal_the_definition(
            hyp in prop::collection::vec("[a-c]", 0..12),
            refs in prop::collection::vec(prop::collection::vec("[a-c]", 0..12), 1..4),
            order in 1usize..6,
        ) {
            let metric = Bleu { order, ..bleu() };
            let lines: Vec<String> = refs.iter().map(|r| r.join(" ")).collect();
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let hyp: Vec<&str> = hyp.iter().map(String::as_str).collect();
            let refs: Vec<Vec<&str>> = refs.iter().map(|r| r.iter().map(String::as_str).collect()).collect();
            prop_assert_eq!(row(&metric, &hyp.join(" "), &lines), slow_row(order, &hyp, &refs));
        }
    }

    #[test]
    fn reference_lengths() {
        let refs = ["a b c d e f", "a b", "a b c d"];
        let length = |ref_length, hyp| row(&Bleu { ref_length, ..bleu() }, hyp, &refs)[REF];
        assert_eq!(length(RefLength::Closest, "a b c"), 2.0, "of 2 and 4 the shorter");
        assert_eq!(length(RefLength::Closest, "a b c d e f g"), 6.0);
        assert_eq!(length(RefLength::Shortest, "a b c d e f g"), 2.0);
        assert_eq!(length(RefLength::Average, "a"), 4.0);
    }

    #[test]
    fn smoothings_by_hand() {
        // 4 words of 5; matches 3/4, 1/3, 0/2, 0/1.
        let stats = [4.0, 5.0, 3.0, 1.0, 0.0, 0.0, 4.0, 3.0, 2.0, 1.0];
        let brevity = (1.0f64 - 5.0 / 4.0).exp();
        let check = |smoothing, offset: f64, precisions: [f64; 4]| {
            let metric = Bleu { smoothing, length_offset: offset, ..bleu() };
            let bp = if offset == 0.0 { brevity } else { (1.0f64 - (5.0 + offset) / 4.0).exp() };
            let want = 100.0 * bp * precisions.iter().product::<f64>().powf(0.25);
            assert!((metric.score(&stats) - want).abs() < 1e-12, "{smoothing:?}");
        };
        check(Smoothing::None, 0.0, [0.0; 4]);
        check(Smoothing::Exp, 0.0, [0.75, 1.0 / 3.0, 1.0 / 4.0, 1.0 / 4.0]);
        check(Smoothing::Floor(0.1), 0.0, [0.75, 1.0 / 3.0, 0.05, 0.1]);
        check(Smoothing::AddK(1.0), 0.0, [0.75, 2.0 / 4.0, 1.0 / 3.0, 1.0 / 2.0]);
        check(Smoothing::AddK(1.0), 1.0, [0.75, 2.0 / 4.0, 1.0 / 3.0, 1.0 / 2.0]);
        check(Smoothing::AddAll(0.01), 0.0, [3.01 / 4.01, 1.01 / 3.01, 0.01 / 2.01, 0.01 / 1.01]);
        let scaled = Bleu { length_scale: 0.8, smoothing: Smoothing::Exp, ..bleu() };
        assert!(
            (scaled.score(&stats) * brevity - Bleu { length_scale: 1.0, ..scaled }.score(&stats)).abs()
                < 1e-12
        );
    }

    #[test]
    fn slopes_are_derivatives_of_large_sums() {
        for hyp in [9000.0, 12000.0] {
            let row =
                [hyp, 10_000.0, 6000.0, 3500.0, 2000.0, 1200.0, hyp, hyp - 500.0, hyp - 1e3, hyp - 1.5e3];
            let (metric, found) = (bleu(), bleu().slopes(&row));
            let score = metric.score(&row);
            let brevity = if hyp < 1e4 { 1e4 / (hyp * hyp) } else { 0.0 };
            let word = score * (brevity - row[6..].iter().map(|total| 0.25 / total).sum::<f64>());
            let matches = row[2..6].iter().map(|count| 0.25 * score / count);
            for (found, want) in found.iter().zip(std::iter::once(word).chain(matches)) {
                assert!((found - want).abs() < 1e-5, "{found} {want}");
            }
        }
    }

    #[test]
    fn short_and_empty_hypotheses() {
        let two = [2.0, 2.0, 2.0, 1.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0];
        assert_eq!(bleu().score(&two), 0.0);
        assert!((Bleu { effective_order: true, ..bleu() }.score(&two) - 100.0).abs() < 1e-12);
        let empty = row(&bleu(), "", &["a b"]);
        assert_eq!(empty, [0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        for smoothing in [Smoothing::Exp, Smoothing::AddK(1.0), Smoothing::AddAll(0.01)] {
            assert_eq!(Bleu { smoothing, ..bleu() }.score(&empty), 0.0);
        }
    }
}
