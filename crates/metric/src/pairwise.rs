//! Candidates judged by each other: the scores of each text against each other one as its only reference, and the
//! choice with the least expected loss (minimum Bayes risk, Kumar & Byrne 2004).

use crate::ngrams::{NgramTree, Words};
use crate::{Metric, Reference};
use dragoman_base::Texts;
use rayon::prelude::*;

/// A metric of n-grams that two texts have in common: each text is cut into symbols once, not once for each pair.
pub trait Counted: Send + Sync {
    /// Longest n-gram of each kind of symbols.
    fn orders(&self) -> Vec<usize>;

    /// The symbols of a text, a sequence for each kind.
    fn symbols(&self, text: &str, words: &mut Numbers) -> Vec<Vec<u32>>;

    /// The statistics of a pair: lengths in symbols by kind, and n-grams in common, by kind and order.
    fn row(&self, text: &[usize], reference: &[usize], common: &[u32], row: &mut [f64]);
}

/// Numbers for the words of some texts.
#[derive(Default)]
pub struct Numbers(Words);

impl Numbers {
    /// The number of a word.
    pub fn of(&mut self, word: &str) -> u32 {
        self.0.intern(word)
    }
}

/// The score of each text (row) against each (column) as its only reference, row by row.
pub fn matrix(metric: &dyn Metric, texts: &[&str]) -> Vec<f64> {
    if !metric.parts().is_empty() {
        let mut sum = vec![0.0; texts.len() * texts.len()];
        for (factor, part) in metric.parts() {
            let scores = matrix(part.as_ref(), texts);
            sum.iter_mut().zip(scores).for_each(|(sum, score)| *sum += factor * score);
        }
        return sum;
    }
    match metric.counted() {
        Some(counted) => by_counts(metric, counted, texts),
        None => one_by_one(metric, texts),
    }
}

fn one_by_one(metric: &dyn Metric, texts: &[&str]) -> Vec<f64> {
    let n = texts.len();
    let mut scores = vec![0.0; n * n];
    let mut row = vec![0.0; metric.width()];
    for (column, reference) in texts.iter().enumerate() {
        let digest: Box<dyn Reference> = metric.digest(&[reference]);
        for (at, text) in texts.iter().enumerate() {
            row.fill(0.0);
            digest.statistics(text, &mut row);
            scores[at * n + column] = metric.score(&row);
        }
    }
    scores
}

/// An n-gram of a text: its node, where its order is counted, and how often it occurs.
type Occurring = (u32, u32, u32);

/// The n-grams of each text, and its lengths.
struct Bags {
    grams: Vec<Vec<Occurring>>,
    lengths: Vec<Vec<usize>>,
    /// Number of different n-grams.
    nodes: usize,
    /// Number of kinds and orders.
    slots: usize,
}

impl Bags {
    fn new(counted: &dyn Counted, texts: &[&str]) -> Self {
        let (orders, mut words) = (counted.orders(), Numbers::default());
        let symbols: Vec<Vec<Vec<u32>>> =
            texts.iter().map(|text| counted.symbols(text, &mut words)).collect();
        let mut bags = Self {
            grams: vec![Vec::new(); texts.len()],
            lengths: symbols.iter().map(|of| of.iter().map(Vec::len).collect()).collect(),
            nodes: 0,
            slots: 0,
        };
        for (kind, &order) in orders.iter().enumerate() {
            let mut tree = NgramTree::new(order);
            for (text, of) in symbols.iter().enumerate() {
                let mut met = Vec::new();
                tree.add(&of[kind], |node| met.push(node));
                met.sort_unstable();
                for same in met.chunk_by(|a, b| a == b) {
                    let slot = bags.slots + tree.depth(same[0]) - 1;
                    bags.grams[text].push((bags.nodes as u32 + same[0], slot as u32, same.len() as u32));
                }
            }
            bags.nodes += tree.len();
            bags.slots += order;
        }
        bags
    }
}

fn by_counts(metric: &dyn Metric, counted: &dyn Counted, texts: &[&str]) -> Vec<f64> {
    let n = texts.len();
    let bags = Bags::new(counted, texts);
    let mut limits = vec![0u32; bags.nodes];
    let mut common = vec![0u32; bags.slots];
    let mut row = vec![0.0; metric.width()];
    let mut scores = vec![0.0; n * n];
    for a in 0..n {
        bags.grams[a].iter().for_each(|&(node, _, count)| limits[node as usize] = count);
        for b in a..n {
            common.fill(0);
            for &(node, slot, count) in &bags.grams[b] {
                common[slot as usize] += count.min(limits[node as usize]);
            }
            // What two texts have in common is the same from both sides.
            for (text, reference) in [(a, b), (b, a)] {
                row.fill(0.0);
                counted.row(&bags.lengths[text], &bags.lengths[reference], &common, &mut row);
                scores[text * n + reference] = metric.score(&row);
            }
        }
        bags.grams[a].iter().for_each(|&(node, ..)| limits[node as usize] = 0);
    }
    scores
}

/// For each scale and each sentence the candidate with the best expected score, or −1 where there is none; the first of
/// equals. Candidate i is believed with probability proportional to exp(scale · total), and `sign` is −1 where lower
/// scores are better. Sentences are done on all cores; each needs a table of its candidates by its candidates.
pub fn choices(
    metric: &dyn Metric,
    texts: &Texts,
    starts: &[i64],
    totals: &[f64],
    scales: &[f64],
    sign: f64,
) -> Vec<i64> {
    let sentences = starts.len().saturating_sub(1);
    let chosen: Vec<Vec<i64>> = (0..sentences)
        .into_par_iter()
        .map(|s| {
            let span = starts[s] as usize..starts[s + 1] as usize;
            if span.is_empty() {
                return vec![-1; scales.len()];
            }
            let own: Vec<&str> = span.clone().map(|at| texts.get(at)).collect();
            let scores = matrix(metric, &own);
            let best =
                |&scale: &f64| starts[s] + best_expected(&scores, &totals[span.clone()], scale, sign) as i64;
            scales.iter().map(best).collect()
        })
        .collect();
    (0..scales.len()).flat_map(|k| chosen.iter().map(move |of| of[k])).collect()
}

fn best_expected(scores: &[f64], totals: &[f64], scale: f64, sign: f64) -> usize {
    let n = totals.len();
    let top = totals.iter().map(|total| scale * total).fold(f64::NEG_INFINITY, f64::max);
    let belief: Vec<f64> = totals.iter().map(|total| (scale * total - top).exp()).collect();
    let mut best = (f64::NEG_INFINITY, 0);
    for at in 0..n {
        let row = &scores[at * n..][..n];
        let expected: f64 = sign * row.iter().zip(&belief).map(|(score, p)| score * p).sum::<f64>();
        if expected > best.0 {
            best = (expected, at);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bleu::Bleu;
    use crate::chrf::Chrf;
    use crate::combined::Combined;
    use crate::wer::Wer;
    use proptest::prelude::*;
    use std::sync::Arc;

    proptest! {
        #[test]
        fn counts_give_what_each_pair_gives(
            texts in prop::collection::vec("[ab]{0,3}( [ab.,]{1,3}){0,7}", 1..7),
            word_order in 0usize..3, order in 1usize..5, lowercase: bool,
        ) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let chrf = Chrf { word_order, lowercase, ..Chrf::default() };
            let bleu = Bleu { order, lowercase, ..Bleu::default() };
            prop_assert_eq!(matrix(&chrf, &texts), one_by_one(&chrf, &texts));
            prop_assert_eq!(matrix(&bleu, &texts), one_by_one(&bleu, &texts));
            let wer = Wer { tokenizer: crate::tokenize::Tokenizer::None, lowercase };
            let sum = Combined { parts: vec![(0.5, Arc::new(bleu)), (0.25, Arc::new(chrf)), (-1.0, Arc::new(wer))] };
            for (fast, slow) in matrix(&sum, &texts).iter().zip(one_by_one(&sum, &texts)) {
                prop_assert!((fast - slow).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn the_expected_score_decides() {
        let mut texts = Texts::new();
        for text in ["a b c d", "a b c d e", "x y z", "a b c e"] {
            texts.push(text);
        }
        let wer = Wer { tokenizer: crate::tokenize::Tokenizer::None, lowercase: false };
        let totals = [0.0, 0.0, 3.0, 0.0];
        // Equal belief favours what the others are near to; a strong one the candidate that it is in.
        let found = choices(&wer, &texts, &[0, 4, 4], &totals, &[0.0, 5.0], -1.0);
        assert_eq!(found, [0, -1, 2, -1]);
    }
}
