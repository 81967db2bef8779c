//! Derivations that are best under the metric itself, as far as a search can tell.
//!
//! A pass over a forest maximises BLEU to first order, with n-grams that count as often as they come. So the search goes
//! on from what it finds: it takes the slopes around that derivation, lets a beam of partial ones carry the n-grams that
//! are used up, judges complete ones by their true gains, and stops when there is no more to be had.

use super::beam::{Aim, Beam};
use super::product::{Prices, Product, Room};
use crate::mira::{Wish, Worth};
use dragoman_metric::capability::{Linear, Matcher};

/// Times that slopes are taken anew; on real lattices two or three are enough.
const ROUNDS: usize = 8;
/// How much worse to first order a path may be, in matches of all orders: the true gain may still like it better.
const SLACK: f64 = 2.0;
/// What a wish without a model score gives it in the search, so that of equal gains the model's favourite is found.
const TINY: f64 = 1e-6;

/// A derivation with its model score and its true statistics: clipped, with the right reference length.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Its edges, bottom up.
    pub edges: Vec<u32>,
    /// Its model score.
    pub model: f64,
    /// Its statistics.
    pub row: Vec<f64>,
}

/// A forest with all that a search in it needs.
pub(super) struct Seeker<'a> {
    product: &'a Product,
    /// The n-grams of the references.
    matcher: &'a Matcher,
    /// The metric's linear form.
    linear: &'a dyn Linear,
    /// Model scores of the edges.
    scores: Vec<f64>,
    prices: Prices,
    room: Room,
    beam: Beam,
    /// What a path has used up.
    used: Vec<u64>,
}

impl<'a> Seeker<'a> {
    /// Searches under some weights.
    pub fn new(product: &'a Product, matcher: &'a Matcher, linear: &'a dyn Linear, weights: &[f64]) -> Self {
        let mut scores = Vec::new();
        product.scores(weights, &mut scores);
        let (prices, room) = (Prices::default(), Room::default());
        Self { product, matcher, linear, scores, prices, room, beam: Beam::default(), used: Vec::new() }
    }

    /// The path of some steps.
    fn found(&mut self, steps: &[u32]) -> Found {
        let mut row = vec![0.0; self.matcher.width()];
        self.used.clear();
        self.used.resize(self.matcher.used(), 0);
        let words = self.product.text_of(steps, &mut self.used);
        self.matcher.statistics(words, &self.used, &mut row);
        let edges = self.product.path(steps);
        let model = edges.iter().map(|&edge| self.scores[edge as usize]).sum();
        Found { edges, model, row }
    }

    /// The path that is best for a wish to first order, with n-grams that count as often as they come.
    pub fn best(&mut self, wish: Wish, slopes: &[f64]) -> Option<Found> {
        self.product.price(wish, slopes, &mut self.prices);
        let (_, steps) = self.product.best(&self.prices, &self.scores, &mut self.room)?;
        Some(self.found(&steps))
    }

    /// The best path for a wish that is found from another one; of equals the one with the largest model score.
    pub fn seek(&mut self, wish: Wish, worth: &Worth<'_>, from: &Found) -> Found {
        let mut best = from.clone();
        for _ in 0..ROUNDS {
            let Some(next) = self.better(wish, worth, &best) else { break };
            best = next;
        }
        best
    }

    /// What a word and a match of each order are worth next to a row.
    fn slopes(&self, worth: &Worth<'_>, row: &[f64]) -> Vec<f64> {
        let sum: Vec<f64> = worth.base.iter().zip(row).map(|(base, x)| base + x).collect();
        self.linear.slopes(&sum).into_iter().map(|slope| slope * worth.factor()).collect()
    }

    /// A path that is better for a wish than the best one so far: of those that are good under the slopes around it,
    /// the best with unclipped matches and those of a beam that clips them, the best by its true gain.
    fn better(&mut self, wish: Wish, worth: &Worth<'_>, now: &Found) -> Option<Found> {
        let slopes = &self.slopes(worth, &now.row)[..];
        let eager = Wish { model: wish.model.max(TINY), ..wish };
        let first = self.best(eager, slopes)?;
        let linear =
            |found: &Found| eager.model * found.model + eager.gain * self.linear.value(slopes, &found.row);
        let slack = SLACK * slopes[1..].iter().map(|slope| slope.abs()).sum::<f64>();
        let floor = linear(now).max(linear(&first)) - slack;
        self.product.outside(&self.prices, &self.scores, &mut self.room);
        let Self { product, matcher, scores, prices, room, beam, .. } = self;
        let ends = beam.run(Aim { product, matcher, scores, prices, outside: &room.outside, floor });

        let value = |model: f64, row: &[f64]| (wish.value(model, worth.gain(row)), model);
        let (mut top, mut best) = (value(now.model, &now.row), None);
        let reached = value(first.model, &first.row);
        if reached > top {
            (top, best) = (reached, Some(first));
        }
        let (mut row, mut winner) = (vec![0.0; now.row.len()], None);
        for end in ends {
            let (model, words, used) = beam.path(end);
            matcher.statistics(words, used, &mut row);
            let reached = value(model, &row);
            if reached > top {
                (top, winner) = (reached, Some((end, model, row.clone())));
            }
        }
        winner.map(|(end, model, row)| Found { edges: beam.edges(end), model, row }).or(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forest::kept::Kept;
    use crate::forest::tests::{all, forest, lattice, line};
    use crate::mira::Scorer;
    use dragoman_base::random::{Generator, below, stream};
    use dragoman_forest::Forest;
    use dragoman_metric::Metric;
    use dragoman_metric::bleu::{Bleu, Smoothing};

    /// Against all derivations: nearly always the very best, and nearly never worse than the best to first order (of equals
    /// to first order the search takes the model's favourite).
    fn sought(draw: impl Fn(&mut Generator) -> Forest, seed: u64, percent: usize) {
        let wishes = [(0.0, 1.0), (1.0, 1.0), (1.0, -1.0), (0.0, -1.0)];
        let wishes = wishes.map(|(model, gain)| Wish { model, gain });
        let (mut optimal, mut first_order, mut worse, mut tries) = (0, 0, 0, 0);
        for number in 0..150 {
            let rng = &mut stream(seed, number);
            let made = draw(rng);
            let lines = [line(rng), line(rng)];
            let lines: Vec<&str> = lines.iter().map(String::as_str).take(1 + below(rng, 2)).collect();
            let bleu = Bleu { smoothing: Smoothing::AddK(1.0), ..Bleu::default() };
            let (matcher, references) = (bleu.matcher(&lines), bleu.digest(&lines));
            let all = all(&made, made.nodes - 1);
            if all.is_empty() || all.len() > 4000 {
                continue;
            }
            let product = Product::new(Kept::new(&made).unwrap(), &matcher);
            let mut seeker = Seeker::new(&product, &matcher, &bleu, &[1.0]);
            let corpus = [90.0, 95.0, 50.0, 30.0, 15.0, 8.0, 90.0, 80.0, 70.0, 60.0];
            for (base, unit) in [([0.0; 10], 5.0), (corpus, 100.0)] {
                let scorer = Scorer { metric: &bleu, sign: 1.0, scale: 100.0 };
                let worth = Worth { scorer, base: &base, unit };
                let best = seeker.best(Wish::MODEL, &[]).unwrap();
                for wish in wishes {
                    let value = |found: &Found| wish.value(found.model, worth.gain(&found.row));
                    let by_text = |edges: &Vec<u32>| {
                        let mut row = vec![0.0; 10];
                        references.statistics(&product.text(edges), &mut row);
                        let model = edges.iter().map(|&edge| seeker.scores[edge as usize]).sum();
                        Found { edges: edges.clone(), model, row }
                    };
                    let most = all.iter().map(|edges| value(&by_text(edges))).fold(f64::MIN, f64::max);
                    let slopes = seeker.slopes(&worth, &best.row);
                    let sought = seeker.seek(wish, &worth, &best);
                    let once = value(&seeker.best(wish, &slopes).unwrap());
                    let found = value(&sought);
                    assert!(found <= most + 1e-9);
                    worse += usize::from(found < once - 1e-9);
                    tries += 1;
                    optimal += usize::from(found >= most - 1e-9);
                    first_order += usize::from(once >= most - 1e-9);
                }
            }
        }
        let told = format!("{optimal} of {tries}; to first order {first_order}; {worse} worse");
        assert!(tries > 600 && optimal * 100 >= percent * tries && worse * 200 < tries, "{told}");
    }

    #[test]
    fn the_best_paths_of_lattices_are_found() {
        sought(lattice, 3, 97);
    }

    #[test]
    fn the_best_derivations_of_forests_are_found() {
        sought(forest, 4, 96);
    }
}
