//! Several models written as one: the union of their n-grams, with back-off weights that make it sum to 1.

use crate::mixture::Mixture;
use crate::model::Model;
use crate::ngrams::{Grams, Ngrams};
use crate::query::Scorer;
use crate::table::Kind;
use crate::words::{BOS, SPECIAL};
use dragoman_base::{Error, Result};
use rayon::prelude::*;
use std::sync::Arc;

/// The smallest mass that a back-off weight may have or divide by: rounding must not make it zero or negative.
const LEAST: f64 = 1e-7;

/// The n-grams of one order of the union (all that some model has, and all endings of longer ones), sorted.
fn union(models: &[Ngrams], mixture: &Mixture, order: usize, longer: &[u32]) -> Vec<u32> {
    let mut rows: Vec<Vec<u32>> = Vec::new();
    for ngrams in models.iter().filter(|ngrams| ngrams.order() >= order) {
        let ids: Vec<u32> = ngrams.names.texts().iter().map(|word| mixture.word(word)).collect();
        let grams = ngrams.orders[order - 1].words.chunks_exact(order);
        rows.extend(grams.map(|gram| gram.iter().map(|&w| ids[w as usize]).collect()));
    }
    rows.extend(longer.chunks_exact(order + 1).map(|gram| gram[1..].to_vec()));
    rows.extend(longer.chunks_exact(order + 1).map(|gram| gram[..order].to_vec()));
    if order == 1 {
        rows.extend((0..SPECIAL.len() as u32).map(|word| vec![word]));
    }
    rows.par_sort_unstable();
    rows.dedup();
    rows.concat()
}

/// log10 probability of each n-gram under the mixture.
fn probabilities(mixture: &Mixture, words: &[u32], order: usize) -> Vec<f32> {
    let score = |gram: &[u32]| {
        if gram == [BOS] {
            return 0.0;
        }
        let context = gram[..order - 1].iter().fold(mixture.empty(), |state, &w| mixture.score(&state, w).1);
        (mixture.score(&context, gram[order - 1]).0 * std::f32::consts::LOG10_E).min(0.0)
    };
    words.par_chunks_exact(order).map(score).collect()
}

/// Sets the back-off weights of the contexts of `longer`: (1 - sum p(w | h)) / (1 - sum p(w | h')), over the words w
/// that follow h in the union.
fn set_backoffs(lower: &mut [Grams], longer: &Grams) {
    let order = lower.len() + 1;
    let find = |lower: &[Grams], gram: &[u32]| {
        let words = lower[gram.len() - 1].words.as_slice();
        let (mut from, mut to) = (0, words.len() / gram.len());
        while from < to {
            let middle = usize::midpoint(from, to);
            let found = &words[middle * gram.len()..(middle + 1) * gram.len()];
            if found < gram { from = middle + 1 } else { to = middle }
        }
        from
    };
    let mut at = 0;
    let grams: Vec<&[u32]> = longer.words.chunks_exact(order).collect();
    while at < grams.len() {
        let context = &grams[at][..order - 1];
        let (mut above, mut below) = (0.0, 0.0);
        let first = at;
        while at < grams.len() && grams[at][..order - 1] == *context {
            above += 10f64.powf(f64::from(longer.probabilities[at]));
            let ending = find(lower, &grams[at][1..]);
            below += 10f64.powf(f64::from(lower[order - 2].probabilities[ending]));
            at += 1;
        }
        let weight = (1.0 - above).max(LEAST) / (1.0 - below).max(LEAST);
        let place = find(lower, &grams[first][..order - 1]);
        lower[order - 2].backoffs[place] = weight.log10() as f32;
    }
}

/// Merges models with the given weights.
pub fn merge(models: &[Ngrams], weights: &[f64]) -> Result<Ngrams> {
    let tables = models.iter().map(|ngrams| Ok(Arc::new(Model::from_ngrams(ngrams, Kind::Hash, "")?)));
    let mixture = Mixture::new(tables.collect::<Result<Vec<_>>>()?, weights)?;
    let order = models.iter().map(Ngrams::order).max().unwrap_or(0);
    if order == 0 {
        return Err(Error::Invalid("expected at least one model, found none".to_owned()));
    }
    let mut sets: Vec<Vec<u32>> = Vec::new();
    for n in (1..=order).rev() {
        let set = union(models, &mixture, n, sets.last().map_or(&[], Vec::as_slice));
        sets.push(set);
    }
    let mut merged =
        Ngrams { names: mixture.names().clone(), path: "merged model".to_owned(), ..Ngrams::default() };
    for (n, words) in (1..).zip(sets.into_iter().rev()) {
        let probabilities = probabilities(&mixture, &words, n);
        let backoffs = vec![0.0; probabilities.len()];
        let grams = Grams { words, probabilities, backoffs, line: 0 };
        if n > 1 {
            set_backoffs(&mut merged.orders, &grams);
        }
        merged.orders.push(grams);
    }
    Ok(merged)
}
