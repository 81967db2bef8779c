//! The definition: statistics of a text, and the score of a sum of them.

use super::{Bleu, COUNTS, HYP, REF, Smoothing};
use crate::Reference;
use crate::ngrams::{Limits, NgramTree, Words};
use crate::pairwise::{Counted, Numbers};
use crate::tokenize::split;

impl Bleu {
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

    /// The score of a sum of statistics.
    pub(super) fn exact(&self, row: &[f64]) -> f64 {
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
pub(super) struct Digest {
    bleu: Bleu,
    vocabulary: Words,
    tree: NgramTree,
    /// How often each n-gram may match: its largest count in any one reference.
    limits: Limits,
    lengths: Vec<i64>,
}

impl Digest {
    pub(super) fn new(bleu: Bleu, references: &[&str]) -> Self {
        let mut digest = Self {
            vocabulary: Words::default(),
            tree: NgramTree::new(bleu.order),
            limits: Limits::default(),
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
        self.lengths.push(ids.len() as i64);
        self.limits.add(&mut self.tree, &ids);
    }
}

impl Reference for Digest {
    fn statistics(&self, hypothesis: &str, row: &mut [f64]) {
        let order = self.bleu.order;
        let line = self.bleu.prepare(hypothesis);
        let mut length = 0usize;
        let mut used = vec![0u32; self.limits.0.len()];
        let words = split(&line).inspect(|_| length += 1).map(|word| self.vocabulary.get(word));
        self.tree.matches(words, |node, n| {
            let used = &mut used[node as usize];
            if *used < self.limits.0[node as usize] {
                *used += 1;
                row[COUNTS + n - 1] += 1.0;
            }
        });
        row[HYP] = length as f64;
        row[REF] = self.bleu.ref_length.of(&self.lengths, length as i64);
        for n in 0..order {
            row[COUNTS + order + n] = length.saturating_sub(n) as f64;
        }
    }
}

impl Counted for Bleu {
    fn orders(&self) -> Vec<usize> {
        vec![self.order]
    }

    fn symbols(&self, text: &str, words: &mut Numbers) -> Vec<Vec<u32>> {
        vec![split(&self.prepare(text)).map(|word| words.of(word)).collect()]
    }

    fn row(&self, text: &[usize], reference: &[usize], common: &[u32], row: &mut [f64]) {
        let length = text[0];
        row[HYP] = length as f64;
        row[REF] = self.ref_length.of(&[reference[0] as i64], length as i64);
        for (n, &matched) in common.iter().enumerate() {
            row[COUNTS + n] = f64::from(matched);
            row[COUNTS + self.order + n] = length.saturating_sub(n) as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::RefLength;
    use super::*;
    use crate::Metric;
    use proptest::prelude::*;
    use std::collections::HashMap;

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
            let metric = Bleu { order, ..Bleu::default() };
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
        let length = |ref_length, hyp| row(&Bleu { ref_length, ..Bleu::default() }, hyp, &refs)[REF];
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
            let metric = Bleu { smoothing, length_offset: offset, ..Bleu::default() };
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
        let scaled = Bleu { length_scale: 0.8, smoothing: Smoothing::Exp, ..Bleu::default() };
        assert!(
            (scaled.score(&stats) * brevity - Bleu { length_scale: 1.0, ..scaled }.score(&stats)).abs()
                < 1e-12
        );
    }

    #[test]
    fn short_and_empty_hypotheses() {
        let two = [2.0, 2.0, 2.0, 1.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0];
        assert_eq!(Bleu::default().score(&two), 0.0);
        assert!((Bleu { effective_order: true, ..Bleu::default() }.score(&two) - 100.0).abs() < 1e-12);
        let empty = row(&Bleu::default(), "", &["a b"]);
        assert_eq!(empty, [0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        for smoothing in [Smoothing::Exp, Smoothing::AddK(1.0), Smoothing::AddAll(0.01)] {
            assert_eq!(Bleu { smoothing, ..Bleu::default() }.score(&empty), 0.0);
        }
    }
}
