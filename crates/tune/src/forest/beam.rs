//! Partial derivations with the n-grams that they have used up: a search to first order in which no n-gram of the
//! references counts more often than they have it.

use super::product::{Prices, Product, Step};
use dragoman_metric::capability::{Matcher, Used};
use std::cmp::Ordering;

/// Partial derivations that are kept in each state.
const KEEP: usize = 16;
/// Pairs of those of two tails that are tried have places (from 1) whose product is at most this.
const PAIRS: usize = 2 * KEEP;
/// In place of an edge: the derivations of two tails, side by side.
const PAIR: u32 = u32::MAX;

/// A partial derivation.
#[derive(Debug, Clone, Copy)]
struct Partial {
    value: f64,
    /// Its model score.
    model: f64,
    /// The partial derivation before it: of the first tail.
    back: u32,
    /// Of a pair, the second one.
    also: u32,
    edge: u32,
    /// Number of words.
    words: u32,
    /// While it is at hand: which row of `marks` has the n-grams that it has used up.
    row: u32,
}

/// The best partial derivations so far of what is at hand.
#[derive(Debug, Default)]
struct Ways {
    width: usize,
    /// The best first.
    best: Vec<Partial>,
    /// What they have used up.
    marks: Vec<u64>,
}

impl Ways {
    fn start(&mut self, width: usize) {
        self.width = width;
        self.best.clear();
        self.marks.clear();
        self.marks.resize(width * KEEP, 0);
    }

    /// Whether there are as many ways as are kept, and none of them has a smaller value; of equals the first stays.
    fn full_above(&self, value: f64) -> bool {
        self.best.len() == KEEP && self.best[KEEP - 1].value.total_cmp(&value) != Ordering::Less
    }

    /// Files a way that used up what is in `now`. Of ways with equal words and n-grams, for which the same can follow,
    /// the best stays.
    fn insert(&mut self, mut way: Partial, now: &Used) {
        let Self { width, best, marks } = self;
        let alike = |other: &Partial| {
            let own = &marks[other.row as usize * *width..][..*width];
            other.words == way.words && own.iter().zip(now).all(|(a, b)| a == b)
        };
        way.row = match best.iter().position(alike) {
            Some(at) if best[at].value.total_cmp(&way.value) != Ordering::Less => return,
            Some(at) => best.remove(at).row,
            None if best.len() == KEEP => best.pop().map_or(0, |last| last.row),
            None => best.len() as u32,
        };
        copy(now, &mut marks[way.row as usize * *width..][..*width]);
        let at = best.iter().rposition(|other| other.value.total_cmp(&way.value) != Ordering::Less);
        best.insert(at.map_or(0, |at| at + 1), way);
    }
}

/// The partial derivations of all states so far. Its arrays are used again by the next search.
#[derive(Debug, Default)]
pub(super) struct Beam {
    partials: Vec<Partial>,
    /// Which n-grams each has used up, and how many numbers that takes.
    used: Vec<u64>,
    width: usize,
    /// The partial derivations of each state, the best first.
    spans: Vec<(u32, u32)>,
    /// The best ways to the state at hand, and the best pairs of the step at hand.
    ways: Ways,
    pairs: Ways,
    /// What the way at hand has used up, and its matches of each order.
    now: Vec<u64>,
    matches: Vec<u32>,
}

/// What is searched for: derivations of a forest that are worth at least `floor`.
#[derive(Clone, Copy)]
pub(super) struct Aim<'a> {
    /// The forest.
    pub product: &'a Product,
    /// The n-grams of the references.
    pub matcher: &'a Matcher,
    /// Model scores of its edges.
    pub scores: &'a [f64],
    /// What steps are worth.
    pub prices: &'a Prices,
    /// What can be around each state, at most; a derivation that cannot reach the floor with it is left.
    pub outside: &'a [f64],
    /// The floor.
    pub floor: f64,
}

/// Copies one or two numbers, mostly: a call would cost more.
fn copy(from: &Used, to: &mut Used) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
}

impl Beam {
    /// Searches; gives the numbers of the complete derivations.
    pub fn run(&mut self, aim: Aim<'_>) -> Vec<usize> {
        self.start(aim.matcher.used(), aim.prices.slopes.len() - 1);
        let branching = aim.product.branching();
        for state in 1..aim.product.states() {
            let (first, steps) = aim.product.steps_to(state);
            for (at, &step) in (first..).zip(steps) {
                let span = self.spans[step.tail as usize];
                let others = if branching { aim.product.others(at) } else { &[] };
                if others.is_empty() {
                    self.extend(aim, step, span, aim.outside[state]);
                    continue;
                }
                let joined = others.iter().fold(span, |span, &tail| self.join(aim, span, tail));
                self.extend(aim, step, joined, aim.outside[state]);
            }
            let first = self.partials.len() as u32;
            Self::settle(&mut self.ways, &mut self.partials, &mut self.used);
            self.spans.push((first, self.partials.len() as u32));
        }
        let ends = self.spans.get(aim.product.ends()..).unwrap_or_default();
        ends.iter().flat_map(|&(from, to)| from as usize..to as usize).collect()
    }

    /// Forgets the last search and starts with the derivation without edges.
    fn start(&mut self, width: usize, order: usize) {
        self.partials.clear();
        let (back, also) = (u32::MAX, u32::MAX);
        self.partials.push(Partial { value: 0.0, model: 0.0, back, also, edge: 0, words: 0, row: 0 });
        self.spans.clear();
        self.spans.push((0, 1));
        self.width = width;
        self.used.clear();
        self.used.resize(width, 0);
        self.now.clear();
        self.now.resize(width, 0);
        self.ways.start(width);
        self.pairs.start(width);
        self.matches.clear();
        self.matches.resize(order, 0);
    }

    /// Takes some partial derivations along a step.
    fn extend(&mut self, aim: Aim<'_>, step: Step, (from, to): (u32, u32), outside: f64) {
        let score = aim.scores[step.edge as usize];
        let model = aim.prices.model * score;
        let (full, most) = aim.prices.worths[step.mark as usize];
        for back in from..to {
            let before = self.partials[back as usize];
            // Clipping makes nothing better than this, and those that follow are no better before the step.
            let bound = before.value + model + most;
            if bound + outside < aim.floor || self.ways.full_above(bound) {
                return;
            }
            let clipped = self.clipped(aim, step, back);
            let value = before.value + model + clipped.unwrap_or(full);
            if !(value + outside < aim.floor || self.ways.full_above(value)) {
                let words = before.words + aim.product.words(step.mark);
                let (model, also) = (before.model + score, u32::MAX);
                let way = Partial { value, model, back, also, edge: step.edge, words, row: 0 };
                self.ways.insert(way, &self.now);
            }
        }
    }

    /// Works out what a partial derivation has used up after a step. Gives what the step is worth if n-grams were clipped.
    fn clipped(&mut self, aim: Aim<'_>, step: Step, back: u32) -> Option<f64> {
        let Self { used, width, now, matches, .. } = self;
        copy(&used[back as usize * *width..][..*width], now);
        let grams = aim.product.grams(step.mark);
        let first = grams.iter().position(|gram| !gram.take(now))?;
        matches.fill(0);
        grams[..first].iter().for_each(|gram| matches[gram.order as usize - 1] += 1);
        for gram in &grams[first + 1..] {
            matches[gram.order as usize - 1] += u32::from(gram.take(now));
        }
        Some(aim.prices.of(aim.product.words(step.mark), matches.iter().copied()))
    }

    /// The best pairs of some partial derivations with those of another state: side by side they clip each other.
    fn join(&mut self, aim: Aim<'_>, (from, to): (u32, u32), tail: u32) -> (u32, u32) {
        let (next, end) = self.spans[tail as usize];
        for (i, back) in (from..to).enumerate() {
            for also in (next..end).take(PAIRS / (i + 1)) {
                let Self { used, width, now, matches, partials, .. } = self;
                let (a, b) = (partials[back as usize], partials[also as usize]);
                copy(&used[back as usize * *width..][..*width], now);
                matches.fill(0);
                aim.matcher.merge(now, &used[also as usize * *width..][..*width], matches);
                let lost = aim.prices.of(0, matches.iter().copied());
                let (value, model) = (a.value + b.value - lost, a.model + b.model);
                if !self.pairs.full_above(value) {
                    let words = a.words + b.words;
                    let way = Partial { value, model, back, also, edge: PAIR, words, row: 0 };
                    self.pairs.insert(way, &self.now);
                }
            }
        }
        let first = self.partials.len() as u32;
        Self::settle(&mut self.pairs, &mut self.partials, &mut self.used);
        (first, self.partials.len() as u32)
    }

    /// Files the best ways as partial derivations.
    fn settle(ways: &mut Ways, partials: &mut Vec<Partial>, used: &mut Vec<u64>) {
        for way in ways.best.drain(..) {
            used.extend(&ways.marks[way.row as usize * ways.width..][..ways.width]);
            partials.push(way);
        }
    }

    /// The model score of a derivation, its number of words and what it has used up.
    pub fn path(&self, end: usize) -> (f64, usize, &Used) {
        let Partial { model, words, .. } = self.partials[end];
        (model, words as usize, &self.used[end * self.width..][..self.width])
    }

    /// The edges of a derivation, bottom up.
    pub fn edges(&self, end: usize) -> Vec<u32> {
        let (mut edges, mut open) = (Vec::new(), vec![end as u32]);
        while let Some(at) = open.pop() {
            let Partial { back, also, edge, .. } = self.partials[at as usize];
            if back == u32::MAX {
                continue;
            }
            if edge != PAIR {
                edges.push(edge);
            }
            open.push(back);
            if also != u32::MAX {
                open.push(also);
            }
        }
        edges.reverse();
        edges
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forest::kept::Kept;
    use crate::forest::product::Room;
    use crate::forest::tests::{all, forest, lattice, line};
    use crate::mira::Wish;
    use dragoman_base::random::{below, stream};
    use dragoman_metric::Metric;
    use dragoman_metric::bleu::Bleu;
    use dragoman_metric::capability::Linear;

    /// How often each n-gram of a reference is in a text, up to the number of times in the reference.
    fn counted(reference: &str, text: &str, order: usize) -> Vec<usize> {
        let (reference, text): (Vec<&str>, Vec<&str>) =
            (reference.split(' ').collect(), text.split(' ').collect());
        let mut grams: Vec<&[&str]> = (1..=order).flat_map(|n| reference.windows(n)).collect();
        grams.sort_unstable();
        grams.dedup();
        let count = |words: &[&str], gram: &[&str]| words.windows(gram.len()).filter(|w| *w == gram).count();
        grams.iter().map(|gram| count(&text, gram).min(count(&reference, gram))).collect()
    }

    /// A partial path by its definition: value, edges, number of words, and what it has used up.
    type Slow = (f64, Vec<u32>, f64, Vec<usize>);

    /// The complete paths of a beam over a lattice that extends all partial paths, judges each by its text, sorts them and
    /// keeps the best.
    fn slow(aim: Aim<'_>, bleu: &Bleu, reference: &str) -> Vec<Vec<u32>> {
        let digest = bleu.digest(&[reference]);
        let judged = |edges: Vec<u32>| -> Slow {
            let (text, mut row) = (aim.product.text(&edges), vec![0.0; bleu.width()]);
            digest.statistics(&text, &mut row);
            let model: f64 = edges.iter().map(|&edge| aim.scores[edge as usize]).sum();
            let value = aim.prices.model * model + aim.prices.gain * bleu.value(&aim.prices.slopes, &row);
            // A sum that starts with 0 is never -0, which sorts before it.
            (value + 0.0, edges, row[0], counted(reference, &text, bleu.order))
        };
        let mut kept: Vec<Vec<Slow>> = vec![vec![judged(Vec::new())]];
        for state in 1..aim.product.states() {
            let mut ways: Vec<Slow> = Vec::new();
            for step in aim.product.steps_to(state).1 {
                let longer =
                    kept[step.tail as usize].iter().map(|before| [&before.1[..], &[step.edge]].concat());
                ways.extend(longer.map(judged).filter(|way| way.0 + aim.outside[state] >= aim.floor));
            }
            ways.sort_by(|a, b| b.0.total_cmp(&a.0)); // stable: the first of equals
            let mut best: Vec<Slow> = Vec::new();
            for way in ways {
                if best.len() < KEEP && !best.iter().any(|other| (other.2, &other.3) == (way.2, &way.3)) {
                    best.push(way);
                }
            }
            kept.push(best);
        }
        kept[aim.product.ends()..].iter().flatten().map(|path| path.1.clone()).collect()
    }

    /// Model score and statistics of what a beam found are those of the text.
    fn checked(beam: &Beam, aim: Aim<'_>, end: usize, bleu: &Bleu, reference: &str) {
        let (mut row, mut want) = (vec![0.0; bleu.width()], vec![0.0; bleu.width()]);
        let (model, words, used) = beam.path(end);
        aim.matcher.statistics(words, used, &mut row);
        let edges = beam.edges(end);
        bleu.digest(&[reference]).statistics(&aim.product.text(&edges), &mut want);
        let sum: f64 = edges.iter().map(|&edge| aim.scores[edge as usize]).sum();
        assert_eq!((model, row), (sum, want));
    }

    #[test]
    fn the_beam_keeps_what_one_without_shortcuts_keeps() {
        let (mut beam, mut room, mut prices) = (Beam::default(), Room::default(), Prices::default());
        let mut full = 0;
        for number in 0..200 {
            let rng = &mut stream(5, number);
            let (plain, reference) = (lattice(rng), line(rng));
            let bleu = Bleu { order: 1 + below(rng, 4), ..Bleu::default() };
            let matcher = bleu.matcher(&[&reference]);
            let product = Product::new(Kept::new(&plain).unwrap(), &matcher);
            let mut scores = Vec::new();
            product.scores(&[1.0], &mut scores);
            for gain in [1.0, -1.0] {
                // Eighths: all sums are exact. Most slopes are positive.
                let mut slopes: Vec<f64> =
                    (0..=bleu.order).map(|_| below(rng, 12) as f64 / 8.0 - 0.25).collect();
                slopes[0] -= 1.0;
                product.price(Wish { model: below(rng, 2) as f64, gain }, &slopes, &mut prices);
                let (top, _) = product.best(&prices, &scores, &mut room).unwrap();
                product.outside(&prices, &scores, &mut room);
                let (prices, outside) = (&prices, &room.outside[..]);
                for floor in [f64::NEG_INFINITY, top - 6.0, top - 1.5] {
                    let (product, matcher) = (&product, &matcher);
                    let aim = Aim { product, matcher, scores: &scores, prices, outside, floor };
                    let ends = beam.run(aim);
                    let found: Vec<Vec<u32>> = ends.iter().map(|&end| beam.edges(end)).collect();
                    assert_eq!(found, slow(aim, &bleu, &reference), "{number} {gain} {floor}");
                    full += usize::from(found.len() >= KEEP);
                    for &end in &ends {
                        checked(&beam, aim, end, &bleu, &reference);
                    }
                }
            }
        }
        assert!(full > 200, "{full} beams had more paths than they keep");
    }

    /// In forests with several tails: what is found is a derivation with the statistics of its text, and where few enough
    /// are left out the best of all is among them.
    #[test]
    fn pairs_of_tails_clip_each_other() {
        let (mut beam, mut room, mut prices) = (Beam::default(), Room::default(), Prices::default());
        let (mut tries, mut best, mut clipped) = (0, 0, 0);
        for number in 0..300 {
            let rng = &mut stream(6, number);
            let (made, reference) = (forest(rng), line(rng));
            let derivations = all(&made, made.nodes - 1);
            let bleu = Bleu { order: 1 + below(rng, 4), ..Bleu::default() };
            let matcher = bleu.matcher(&[&reference]);
            let product = Product::new(Kept::new(&made).unwrap(), &matcher);
            if !product.branching() || derivations.is_empty() || derivations.len() > 3000 {
                continue;
            }
            let mut scores = Vec::new();
            product.scores(&[1.0], &mut scores);
            let slopes: Vec<f64> = (0..=bleu.order).map(|n| if n == 0 { -0.5 } else { 1.0 }).collect();
            product.price(Wish { model: 1.0, gain: 1.0 }, &slopes, &mut prices);
            let (top, _) = product.best(&prices, &scores, &mut room).unwrap();
            product.outside(&prices, &scores, &mut room);
            let floor = f64::NEG_INFINITY;
            let (prices, outside) = (&prices, &room.outside[..]);
            let aim = Aim { product: &product, matcher: &matcher, scores: &scores, prices, outside, floor };
            let ends = beam.run(aim);
            let digest = bleu.digest(&[&reference]);
            let value = |edges: &Vec<u32>| {
                let mut row = vec![0.0; bleu.width()];
                digest.statistics(&product.text(edges), &mut row);
                let model: f64 = edges.iter().map(|&edge| scores[edge as usize]).sum();
                model + bleu.value(&slopes, &row)
            };
            let most = derivations.iter().map(&value).fold(f64::MIN, f64::max);
            let mut found = f64::MIN;
            for &end in &ends {
                checked(&beam, aim, end, &bleu, &reference);
                let edges = beam.edges(end);
                assert!(derivations.contains(&edges));
                assert_eq!(beam.partials[end].value, value(&edges));
                found = found.max(value(&edges));
            }
            (tries, best) = (tries + 1, best + usize::from(found == most));
            clipped += usize::from(most < top);
        }
        assert!(clipped > 20 && best * 100 >= 98 * tries, "{best} of {tries}, {clipped} clipped");
    }
}
