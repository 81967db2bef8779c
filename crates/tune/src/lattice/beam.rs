//! Partial paths with the n-grams that they have used up: a search to first order in which no n-gram of the references
//! counts more often than they have it.

use super::product::{Lattice, Prices, Step};
use dragoman_metric::capability::Used;
use std::cmp::Ordering;
use std::ops::Range;

/// Partial paths that are kept in each state.
const KEEP: usize = 16;

/// A partial path.
#[derive(Debug, Clone, Copy)]
struct Partial {
    value: f64,
    /// Its model score.
    model: f64,
    /// The partial path before it.
    back: u32,
    arc: u32,
    /// Number of words.
    words: u32,
    /// While its state is at hand: which row of `marks` has the n-grams that it has used up.
    row: u32,
}

/// The partial paths of all states so far. Its arrays are used again by the next search.
#[derive(Debug, Default)]
pub(super) struct Beam {
    partials: Vec<Partial>,
    /// Which n-grams each has used up, and how many numbers that takes.
    used: Vec<u64>,
    width: usize,
    /// The partial paths of each state, the best first.
    spans: Vec<(u32, u32)>,
    /// The best ways to the state at hand so far, the best first, and what they have used up.
    ways: Vec<Partial>,
    marks: Vec<u64>,
    /// What the way at hand has used up, and its matches of each order.
    now: Vec<u64>,
    matches: Vec<u32>,
}

/// What is searched for: paths of a lattice that are worth at least `floor`.
#[derive(Clone, Copy)]
pub(super) struct Aim<'a> {
    /// The lattice.
    pub lattice: &'a Lattice,
    /// Model scores of its arcs.
    pub scores: &'a [f64],
    /// What steps are worth.
    pub prices: &'a Prices,
    /// What can follow each state, at most; a path that cannot reach the floor with it is left.
    pub outside: &'a [f64],
    /// The floor.
    pub floor: f64,
}

/// Copies one or two numbers, mostly: a call would cost more.
fn copy(from: &Used, to: &mut Used) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
}

impl Beam {
    /// Searches; gives the numbers of the complete paths. `width` is what [`Used`] takes.
    pub fn run(&mut self, aim: Aim<'_>, width: usize) -> Range<usize> {
        self.start(width, aim.prices.slopes.len() - 1);
        for state in 1..aim.lattice.states() {
            for &step in aim.lattice.steps_to(state) {
                self.extend(aim, step, aim.outside[state]);
            }
            self.settle();
        }
        let ends = self.spans.get(aim.lattice.ends()).map_or(self.partials.len(), |span| span.0 as usize);
        ends..self.partials.len()
    }

    /// Forgets the last search and starts with the path without arcs.
    fn start(&mut self, width: usize, order: usize) {
        self.partials.clear();
        self.partials.push(Partial { value: 0.0, model: 0.0, back: u32::MAX, arc: 0, words: 0, row: 0 });
        self.spans.clear();
        self.spans.push((0, 1));
        self.width = width;
        self.used.clear();
        self.used.resize(width, 0);
        self.now.clear();
        self.now.resize(width, 0);
        self.marks.clear();
        self.marks.resize(width * KEEP, 0);
        self.matches.clear();
        self.matches.resize(order, 0);
    }

    /// Takes the partial paths of a step's state along it.
    fn extend(&mut self, aim: Aim<'_>, step: Step, outside: f64) {
        let (from, to) = self.spans[step.tail as usize];
        let score = aim.scores[step.arc as usize];
        let model = aim.prices.model * score;
        let (full, most) = aim.prices.worths[step.mark as usize];
        for back in from..to {
            let before = self.partials[back as usize];
            // Clipping makes nothing better than this, and those that follow are no better before the step.
            let bound = before.value + model + most;
            if bound + outside < aim.floor || self.full_above(bound) {
                return;
            }
            let clipped = self.clipped(aim, step, back);
            let value = before.value + model + clipped.unwrap_or(full);
            if !(value + outside < aim.floor || self.full_above(value)) {
                let words = before.words + aim.lattice.words(step.mark);
                let way = Partial { value, model: before.model + score, back, arc: step.arc, words, row: 0 };
                self.insert(way);
            }
        }
    }

    /// Works out what a partial path has used up after a step. Gives what the step is worth if n-grams were clipped.
    fn clipped(&mut self, aim: Aim<'_>, step: Step, back: u32) -> Option<f64> {
        let Self { used, width, now, matches, .. } = self;
        copy(&used[back as usize * *width..][..*width], now);
        let grams = aim.lattice.grams(step.mark);
        let first = grams.iter().position(|gram| !gram.take(now))?;
        matches.fill(0);
        grams[..first].iter().for_each(|gram| matches[gram.order as usize - 1] += 1);
        for gram in &grams[first + 1..] {
            matches[gram.order as usize - 1] += u32::from(gram.take(now));
        }
        Some(aim.prices.of(aim.lattice.words(step.mark), matches.iter().copied()))
    }

    /// Whether there are as many ways as are kept, and none of them has a smaller value; of equals the first stays.
    fn full_above(&self, value: f64) -> bool {
        self.ways.len() == KEEP && self.ways[KEEP - 1].value.total_cmp(&value) != Ordering::Less
    }

    /// Files a way that used up what is in `now`. Of ways with equal words and n-grams, for which the same can follow,
    /// the best stays.
    fn insert(&mut self, mut way: Partial) {
        let Self { width, ways, marks, now, .. } = self;
        let alike = |other: &Partial| {
            let own = &marks[other.row as usize * *width..][..*width];
            other.words == way.words && own.iter().zip(&*now).all(|(a, b)| a == b)
        };
        way.row = match ways.iter().position(alike) {
            Some(at) if ways[at].value.total_cmp(&way.value) != Ordering::Less => return,
            Some(at) => ways.remove(at).row,
            None if ways.len() == KEEP => ways.pop().map_or(0, |last| last.row),
            None => ways.len() as u32,
        };
        copy(now, &mut marks[way.row as usize * *width..][..*width]);
        let at = ways.iter().rposition(|other| other.value.total_cmp(&way.value) != Ordering::Less);
        ways.insert(at.map_or(0, |at| at + 1), way);
    }

    /// Files the best ways to the state at hand as its partial paths.
    fn settle(&mut self) {
        let first = self.partials.len() as u32;
        for way in self.ways.drain(..) {
            self.used.extend(&self.marks[way.row as usize * self.width..][..self.width]);
            self.partials.push(way);
        }
        self.spans.push((first, self.partials.len() as u32));
    }

    /// The model score of a path, its number of words and what it has used up.
    pub fn path(&self, end: usize) -> (f64, usize, &Used) {
        let Partial { model, words, .. } = self.partials[end];
        (model, words as usize, &self.used[end * self.width..][..self.width])
    }

    /// The arcs of a path.
    pub fn arcs(&self, mut end: usize) -> Vec<u32> {
        let mut arcs = Vec::new();
        while self.partials[end].back != u32::MAX {
            arcs.push(self.partials[end].arc);
            end = self.partials[end].back as usize;
        }
        arcs.reverse();
        arcs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattice::product::Room;
    use crate::lattice::seek::tests::{line, random};
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

    /// A partial path by its definition: value, arcs, number of words, and what it has used up.
    type Slow = (f64, Vec<u32>, f64, Vec<usize>);

    /// The complete paths of a beam that extends all partial paths, judges each by its text, sorts them and keeps the
    /// best.
    fn slow(aim: Aim<'_>, bleu: &Bleu, reference: &str) -> Vec<Vec<u32>> {
        let digest = bleu.digest(&[reference]);
        let judged = |arcs: Vec<u32>| -> Slow {
            let (text, mut row) = (aim.lattice.text(&arcs), vec![0.0; bleu.width()]);
            digest.statistics(&text, &mut row);
            let model: f64 = arcs.iter().map(|&arc| aim.scores[arc as usize]).sum();
            let value = aim.prices.model * model + aim.prices.gain * bleu.value(&aim.prices.slopes, &row);
            // A sum that starts with 0 is never -0, which sorts before it.
            (value + 0.0, arcs, row[0], counted(reference, &text, bleu.order))
        };
        let mut kept: Vec<Vec<Slow>> = vec![vec![judged(Vec::new())]];
        for state in 1..aim.lattice.states() {
            let mut ways: Vec<Slow> = Vec::new();
            for step in aim.lattice.steps_to(state) {
                let longer =
                    kept[step.tail as usize].iter().map(|before| [&before.1[..], &[step.arc]].concat());
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
        kept[aim.lattice.ends()..].iter().flatten().map(|path| path.1.clone()).collect()
    }

    #[test]
    fn the_beam_keeps_what_one_without_shortcuts_keeps() {
        let (mut beam, mut room, mut prices) = (Beam::default(), Room::default(), Prices::default());
        let mut full = 0;
        for number in 0..200 {
            let rng = &mut stream(5, number);
            let (plain, reference) = (random(rng), line(rng));
            let bleu = Bleu { order: 1 + below(rng, 4), ..Bleu::default() };
            let matcher = bleu.matcher(&[&reference]);
            let lattice = Lattice::new(plain, &matcher);
            let mut scores = Vec::new();
            lattice.scores(&[1.0], &mut scores);
            for gain in [1.0, -1.0] {
                // Eighths: all sums are exact. Most slopes are positive.
                let mut slopes: Vec<f64> =
                    (0..=bleu.order).map(|_| below(rng, 12) as f64 / 8.0 - 0.25).collect();
                slopes[0] -= 1.0;
                lattice.price(Wish { model: below(rng, 2) as f64, gain }, &slopes, &mut prices);
                let (top, _) = lattice.best(&prices, &scores, &mut room).unwrap();
                lattice.outside(&prices, &scores, &mut room);
                let (prices, outside) = (&prices, &room.outside[..]);
                for floor in [f64::NEG_INFINITY, top - 6.0, top - 1.5] {
                    let aim = Aim { lattice: &lattice, scores: &scores, prices, outside, floor };
                    let ends = beam.run(aim, matcher.used());
                    let found: Vec<Vec<u32>> = ends.clone().map(|end| beam.arcs(end)).collect();
                    assert_eq!(found, slow(aim, &bleu, &reference), "{number} {gain} {floor}");
                    full += usize::from(found.len() >= KEEP);
                    for end in ends {
                        let (mut row, mut want) = (vec![0.0; bleu.width()], vec![0.0; bleu.width()]);
                        let (model, words, used) = beam.path(end);
                        matcher.statistics(words, used, &mut row);
                        bleu.digest(&[&reference]).statistics(&lattice.text(&beam.arcs(end)), &mut want);
                        let sum: f64 = beam.arcs(end).iter().map(|&arc| scores[arc as usize]).sum();
                        assert_eq!((model, row), (sum, want));
                    }
                }
            }
        }
        assert!(full > 200, "{full} beams had more paths than they keep");
    }
}
