//! Partial paths with the n-grams that they have used up: a search to first order in which no n-gram of the references
//! counts more often than they have it.

use super::product::Lattice;
use super::seek::Seeker;
use crate::mira::Wish;

/// Partial paths that are kept in each state.
const KEEP: usize = 16;

/// A partial path.
#[derive(Clone, Copy)]
struct Partial {
    value: f64,
    /// The partial path before it.
    back: u32,
    arc: u32,
    /// Number of words.
    length: u32,
}

/// The partial paths of all states so far.
pub(super) struct Beam<'a> {
    seeker: Seeker<'a>,
    wish: Wish,
    slopes: &'a [f64],
    /// What can follow each state, at most; a path that cannot reach the floor with it is left.
    outside: Vec<f64>,
    floor: f64,
    partials: Vec<Partial>,
    /// Which n-grams each has used up, and how many numbers that takes.
    used: Vec<u64>,
    width: usize,
    /// The partial paths of each state.
    spans: Vec<(u32, u32)>,
    /// The ways to the state at hand, and what they have used up.
    ways: Vec<Partial>,
    marks: Vec<u64>,
    matches: Vec<u32>,
}

impl<'a> Beam<'a> {
    /// A search for a wish under some slopes among paths that are worth at least `floor`.
    pub fn new(seeker: Seeker<'a>, wish: Wish, slopes: &'a [f64], floor: f64) -> Self {
        let width = seeker.matcher.used();
        Self {
            seeker,
            wish,
            slopes,
            outside: seeker.lattice.outside(wish, seeker.scores, slopes),
            floor,
            partials: vec![Partial { value: 0.0, back: u32::MAX, arc: 0, length: 0 }],
            used: vec![0; width],
            width,
            spans: vec![(0, 1)],
            ways: Vec::new(),
            marks: Vec::new(),
            matches: vec![0; slopes.len() - 1],
        }
    }

    /// The arcs of the complete paths.
    pub fn run(mut self) -> Vec<Vec<u32>> {
        let lattice: &Lattice = self.seeker.lattice;
        for state in 1..lattice.states() {
            self.ways.clear();
            self.marks.clear();
            for (tail, arc) in lattice.into_state(state) {
                self.extend(state, tail, arc);
            }
            self.keep();
        }
        let ends = self.spans[lattice.ends()..].iter().flat_map(|&(from, to)| from..to);
        ends.map(|end| self.trace(end)).collect()
    }

    /// Takes the partial paths of a state along an arc.
    fn extend(&mut self, state: usize, tail: u32, arc: u32) {
        let Self { seeker, wish, slopes, width, ways, marks, matches, .. } = self;
        let words = seeker.lattice.words(arc);
        let model = wish.model * seeker.scores[arc as usize];
        for back in self.spans[tail as usize].0..self.spans[tail as usize].1 {
            let before = self.partials[back as usize];
            let at = marks.len();
            marks.extend_from_slice(&self.used[back as usize * *width..][..*width]);
            matches.fill(0);
            seeker.matcher.walk_clipped(seeker.lattice.resting(tail), words, &mut marks[at..], matches);
            let mut gain = slopes[0] * words.len() as f64;
            for (slope, &count) in slopes[1..].iter().zip(&*matches) {
                gain += slope * f64::from(count);
            }
            let value = before.value + model + wish.gain * gain;
            if value + self.outside[state] < self.floor {
                marks.truncate(at);
            } else {
                ways.push(Partial { value, back, arc, length: before.length + words.len() as u32 });
            }
        }
    }

    /// Keeps the best ways to a state; of those with equal words and n-grams, for which the same can follow, the best.
    fn keep(&mut self) {
        let Self { partials, used, width, ways, marks, .. } = self;
        let mut order: Vec<usize> = (0..ways.len()).collect();
        order.sort_by(|&a, &b| ways[b].value.total_cmp(&ways[a].value)); // stable: the first of equals
        let first = partials.len();
        for at in order {
            let own = &marks[at * *width..][..*width];
            let same =
                |k: usize| partials[k].length == ways[at].length && used[k * *width..][..*width] == *own;
            if !(first..partials.len()).any(same) {
                partials.push(ways[at]);
                used.extend_from_slice(own);
                if partials.len() - first == KEEP {
                    break;
                }
            }
        }
        self.spans.push((first as u32, self.partials.len() as u32));
    }

    /// The arcs of a path from its end.
    fn trace(&self, mut end: u32) -> Vec<u32> {
        let mut arcs = Vec::new();
        while self.partials[end as usize].back != u32::MAX {
            arcs.push(self.partials[end as usize].arc);
            end = self.partials[end as usize].back;
        }
        arcs.reverse();
        arcs
    }
}
