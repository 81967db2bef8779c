//! Paths that are best under the metric itself, as far as a search can tell.
//!
//! A pass over a lattice maximises BLEU to first order, with n-grams that count as often as they come. So the search goes
//! on from what it finds: it takes the slopes around that path, lets a beam of partial paths carry the n-grams that are
//! used up, judges complete paths by their true gains, and stops when there is no more to be had.

use super::beam::{Aim, Beam};
use super::product::{Lattice, Prices, Room};
use crate::mira::{Wish, Worth};
use dragoman_metric::capability::{Linear, Matcher};

/// Times that slopes are taken anew; on real lattices two or three are enough.
const ROUNDS: usize = 8;
/// How much worse to first order a path may be, in matches of all orders: the true gain may still like it better.
const SLACK: f64 = 2.0;
/// What a wish without a model score gives it in the search, so that of equal gains the model's favourite is found.
const TINY: f64 = 1e-6;

/// A path with its model score and its true statistics: clipped, with the right reference length.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Its arcs.
    pub arcs: Vec<u32>,
    /// Its model score.
    pub model: f64,
    /// Its statistics.
    pub row: Vec<f64>,
}

/// A lattice with all that a search in it needs.
pub(super) struct Seeker<'a> {
    lattice: &'a Lattice,
    /// The n-grams of the references.
    matcher: &'a Matcher,
    /// The metric's linear form.
    linear: &'a dyn Linear,
    /// Model scores of the arcs.
    scores: Vec<f64>,
    prices: Prices,
    room: Room,
    beam: Beam,
    /// What a path has used up.
    used: Vec<u64>,
}

impl<'a> Seeker<'a> {
    /// Searches under some weights.
    pub fn new(lattice: &'a Lattice, matcher: &'a Matcher, linear: &'a dyn Linear, weights: &[f64]) -> Self {
        let mut scores = Vec::new();
        lattice.scores(weights, &mut scores);
        let (prices, room) = (Prices::default(), Room::default());
        Self { lattice, matcher, linear, scores, prices, room, beam: Beam::default(), used: Vec::new() }
    }

    /// The path of some steps.
    fn found(&mut self, steps: &[u32]) -> Found {
        let mut row = vec![0.0; self.matcher.width()];
        self.used.clear();
        self.used.resize(self.matcher.used(), 0);
        let words = self.lattice.text_of(steps, &mut self.used);
        self.matcher.statistics(words, &self.used, &mut row);
        let arcs = self.lattice.path(steps);
        let model = arcs.iter().map(|&arc| self.scores[arc as usize]).sum();
        Found { arcs, model, row }
    }

    /// The path that is best for a wish to first order, with n-grams that count as often as they come.
    pub fn best(&mut self, wish: Wish, slopes: &[f64]) -> Option<Found> {
        self.lattice.price(wish, slopes, &mut self.prices);
        let (_, steps) = self.lattice.best(&self.prices, &self.scores, &mut self.room)?;
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
        self.lattice.outside(&self.prices, &self.scores, &mut self.room);
        let Self { lattice, matcher, scores, prices, room, beam, .. } = self;
        let aim = Aim { lattice, scores, prices, outside: &room.outside, floor };
        let ends = beam.run(aim, matcher.used());

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
        winner.map(|(end, model, row)| Found { arcs: beam.arcs(end), model, row }).or(best)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::lattice::plain::{Builder, Plain};
    use crate::mira::Scorer;
    use dragoman_base::random::{Generator, below, stream};
    use dragoman_metric::Metric;
    use dragoman_metric::bleu::{Bleu, Smoothing};

    /// A lattice with up to 3,000 paths or so, over few words, so that n-grams come more often than they count.
    pub(in crate::lattice) fn random(rng: &mut Generator) -> Plain {
        let nodes = 4 + below(rng, 4) as u32;
        let mut builder = Builder::new(nodes);
        for head in 1..nodes {
            for tail in head.saturating_sub(2)..head {
                for _ in 0..=below(rng, 3) {
                    let words: Vec<&str> =
                        (0..=below(rng, 2)).map(|_| ["a", "b", "c", "d"][below(rng, 4)]).collect();
                    let score = below(rng, 17) as f64 / 8.0 - 1.0;
                    builder.add((tail, head), &words.join(" "), &[0], &[score]);
                }
            }
        }
        builder.finish().unwrap()
    }

    /// A reference for it.
    pub(in crate::lattice) fn line(rng: &mut Generator) -> String {
        let words: Vec<&str> = (0..3 + below(rng, 6)).map(|_| ["a", "b", "c", "e"][below(rng, 4)]).collect();
        words.join(" ")
    }

    fn paths(plain: &Plain, node: u32) -> Vec<Vec<u32>> {
        let arcs = (0..plain.heads.len()).filter(|&arc| plain.heads[arc] == node);
        let before =
            arcs.flat_map(|arc| paths(plain, plain.tails[arc]).into_iter().map(move |path| (path, arc)));
        let all = before.map(|(mut path, arc)| {
            path.push(arc as u32);
            path
        });
        if node == 0 { vec![Vec::new()] } else { all.collect() }
    }

    /// Against all paths: never worse than the best to first order, and nearly always the very best.
    #[test]
    fn the_best_paths_are_found() {
        let wishes = [(0.0, 1.0), (1.0, 1.0), (1.0, -1.0), (0.0, -1.0)];
        let wishes = wishes.map(|(model, gain)| Wish { model, gain });
        let (mut optimal, mut first_order, mut tries) = (0, 0, 0);
        for number in 0..150 {
            let rng = &mut stream(3, number);
            let plain = random(rng);
            let lines = [line(rng), line(rng)];
            let lines: Vec<&str> = lines.iter().map(String::as_str).take(1 + below(rng, 2)).collect();
            let bleu = Bleu { smoothing: Smoothing::AddK(1.0), ..Bleu::default() };
            let (matcher, references) = (bleu.matcher(&lines), bleu.digest(&lines));
            let lattice = Lattice::new(plain, &matcher);
            let all = paths(lattice.plain(), lattice.plain().nodes - 1);
            let mut seeker = Seeker::new(&lattice, &matcher, &bleu, &[1.0]);
            let corpus = [90.0, 95.0, 50.0, 30.0, 15.0, 8.0, 90.0, 80.0, 70.0, 60.0];
            for (base, unit) in [([0.0; 10], 5.0), (corpus, 100.0)] {
                let scorer = Scorer { metric: &bleu, sign: 1.0, scale: 100.0 };
                let worth = Worth { scorer, base: &base, unit };
                let best = seeker.best(Wish::MODEL, &[]).unwrap();
                for wish in wishes {
                    let value = |found: &Found| wish.value(found.model, worth.gain(&found.row));
                    let by_text = |arcs: &Vec<u32>| {
                        let mut row = vec![0.0; 10];
                        references.statistics(&lattice.text(arcs), &mut row);
                        let model = arcs.iter().map(|&arc| seeker.scores[arc as usize]).sum();
                        Found { arcs: arcs.clone(), model, row }
                    };
                    let most = all.iter().map(|arcs| value(&by_text(arcs))).fold(f64::MIN, f64::max);
                    let slopes = seeker.slopes(&worth, &best.row);
                    let sought = seeker.seek(wish, &worth, &best);
                    let once = value(&seeker.best(wish, &slopes).unwrap());
                    let found = value(&sought);
                    assert!(found >= once - 1e-9 && found <= most + 1e-9);
                    tries += 1;
                    optimal += usize::from(found >= most - 1e-9);
                    first_order += usize::from(once >= most - 1e-9);
                }
            }
        }
        assert!(optimal * 100 >= 97 * tries, "{optimal} of {tries}; to first order {first_order}");
    }
}
