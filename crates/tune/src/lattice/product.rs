//! The search for hope and fear: a lattice times the states of its references' n-grams.
//!
//! Linearised BLEU is a sum over words and matched n-grams, and which n-grams an arc completes depends on the words
//! before it only as far as a reference n-gram could go on. Which arcs meet which states depends on no weight, so the
//! product is made once; every search in it is then one pass over its steps, exact.

use super::plain::Plain;
use crate::mira::Wish;
use dragoman_metric::capability::{Gram, Matcher, Used};
use rustc_hash::FxHashMap;

/// A step of the product: an arc after a state.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// State that it starts from.
    pub tail: u32,
    /// The arc.
    pub arc: u32,
    /// Its number of words and the n-grams that it completes.
    pub mark: u32,
}

/// A lattice made ready for one sentence's references.
#[derive(Debug)]
pub struct Lattice {
    plain: Plain,
    steps: Vec<Step>,
    /// The steps that lead to a state are from here up to the next.
    starts: Vec<u32>,
    /// States from here on are complete translations.
    ends: u32,
    marks: Marks,
}

/// What steps add to a text.
#[derive(Debug, Default)]
struct Marks {
    /// Number of words, then unclipped matches of each order, a row each.
    rows: Vec<u32>,
    /// Numbers in a row.
    width: usize,
    /// The n-grams of each mark are from here up to the next.
    starts: Vec<u32>,
    grams: Vec<Gram>,
}

impl Marks {
    fn add(&mut self, words: u32, grams: &[Gram]) {
        let row = self.rows.len();
        self.rows.resize(row + self.width, 0);
        self.rows[row] = words;
        for gram in grams {
            self.rows[row + gram.order as usize] += 1;
        }
        self.grams.extend_from_slice(grams);
        self.starts.push(self.grams.len() as u32);
    }
}

/// Where phrases lead from states, and the marks that they make; each is worked out once.
struct Walker<'m> {
    matcher: &'m Matcher,
    phrases: Vec<Vec<u32>>,
    walks: FxHashMap<(u32, u32), (u32, u32)>,
    known: FxHashMap<(u32, Box<[Gram]>), u32>,
    marks: Marks,
    grams: Vec<Gram>,
}

impl<'m> Walker<'m> {
    fn new(matcher: &'m Matcher, plain: &Plain) -> Self {
        let phrases = plain.texts.iter().map(|text| matcher.words(text)).collect();
        let marks = Marks { width: matcher.order() + 1, starts: vec![0], ..Marks::default() };
        let (walks, known) = (FxHashMap::default(), FxHashMap::default());
        Self { matcher, phrases, walks, known, marks, grams: Vec::new() }
    }

    /// The state after a phrase, and the mark.
    fn walk(&mut self, phrase: u32, state: u32) -> (u32, u32) {
        let Self { matcher, phrases, walks, known, marks, grams } = self;
        *walks.entry((phrase, state)).or_insert_with(|| {
            let words = &phrases[phrase as usize];
            grams.clear();
            let to = matcher.walk(state, words, grams);
            let next = known.len() as u32;
            let mark = *known.entry((words.len() as u32, grams[..].into())).or_insert_with(|| {
                marks.add(words.len() as u32, grams);
                next
            });
            (to, mark)
        })
    }
}

/// What steps are worth in a search: a wish under some slopes.
#[derive(Debug, Default)]
pub(super) struct Prices {
    /// What model scores are multiplied by.
    pub model: f64,
    /// What the gain is multiplied by.
    pub gain: f64,
    /// What a word and a match of each order are worth.
    pub slopes: Vec<f64>,
    /// What each mark is worth with all its matches, and at most with some of them.
    pub worths: Vec<(f64, f64)>,
}

impl Prices {
    /// What so many words and matches of each order are worth. Rounding keeps the order of sums, so that what is worth
    /// more by each of its terms is worth more, or the same, in floating point, too.
    #[inline]
    pub fn of(&self, words: u32, matches: impl Iterator<Item = u32>) -> f64 {
        let mut sum = self.slopes[0] * f64::from(words);
        for (slope, count) in self.slopes[1..].iter().zip(matches) {
            sum += slope * f64::from(count);
        }
        self.gain * sum
    }
}

/// What a search in the product needs: arrays that the next one uses again.
#[derive(Debug, Default)]
pub(super) struct Room {
    value: Vec<f64>,
    back: Vec<u32>,
    /// The largest value of what can follow each state, with unclipped matches.
    pub outside: Vec<f64>,
}

impl Lattice {
    /// Multiplies a lattice that [`Plain::check`] accepts.
    pub fn new(plain: Plain, matcher: &Matcher) -> Self {
        let mut walker = Walker::new(matcher, &plain);
        let mut made = Self { plain, steps: Vec::new(), starts: vec![0], ends: 0, marks: Marks::default() };
        if made.plain.nodes == 0 {
            return Self { marks: walker.marks, ..made };
        }
        // States of each node: the matcher's, and where they begin among all states.
        let mut resting: Vec<(Vec<u32>, u32)> = vec![(vec![0], 0)];
        made.starts.push(0);
        let mut found: Vec<(u32, Step)> = Vec::new();
        let mut arc = 0;
        for node in 1..made.plain.nodes {
            found.clear();
            while made.plain.heads.get(arc).is_some_and(|&head| head == node) {
                let (states, first) = &resting[made.plain.tails[arc] as usize];
                for (offset, &state) in states.iter().enumerate() {
                    let (to, mark) = walker.walk(made.plain.phrases[arc], state);
                    found.push((to, Step { tail: first + offset as u32, arc: arc as u32, mark }));
                }
                arc += 1;
            }
            let first = made.starts.len() as u32 - 1;
            resting.push((made.settle(&mut found), first));
        }
        made.ends = resting.last().map_or(0, |last| last.1);
        made.marks = walker.marks;
        made.steps.shrink_to_fit();
        made
    }

    /// Files the steps to a node by the states that they lead to, which it gives.
    fn settle(&mut self, found: &mut [(u32, Step)]) -> Vec<u32> {
        found.sort_by_key(|(state, _)| *state); // stable: arcs stay in order
        let mut states: Vec<u32> = Vec::new();
        for &mut (state, step) in found {
            if states.last() != Some(&state) {
                states.push(state);
                self.starts.push(self.steps.len() as u32);
            }
            self.steps.push(step);
            *self.starts.last_mut().expect("one state at least") = self.steps.len() as u32;
        }
        states
    }

    /// Number of arcs.
    pub fn arcs(&self) -> usize {
        self.plain.tails.len()
    }

    /// Number of steps that a search looks at.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// The lattice as it came.
    pub fn plain(&self) -> &Plain {
        &self.plain
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        self.plain.bytes()
            + self.steps.len() * size_of::<Step>()
            + (self.starts.len() + self.marks.rows.len() + self.marks.starts.len()) * size_of::<u32>()
            + self.marks.grams.len() * size_of::<Gram>()
    }

    /// The model score of every arc; features past the end of the weights weigh nothing.
    pub fn scores(&self, weights: &[f64], scores: &mut Vec<f64>) {
        // Arcs share their lists of features, so that weights are gathered once for each list.
        let gathered: Vec<f64> = self
            .plain
            .columns
            .iter()
            .map(|&column| weights.get(column as usize).copied().unwrap_or(0.0))
            .collect();
        scores.clear();
        scores.extend((0..self.arcs()).map(|arc| {
            let shape = self.plain.shapes[arc] as usize;
            let (from, to) = (self.plain.shape_starts[shape], self.plain.shape_starts[shape + 1]);
            let start = self.plain.value_starts[arc] as usize;
            let weights = &gathered[from as usize..to as usize];
            let values = &self.plain.values[start..start + weights.len()];
            weights.iter().zip(values).map(|(weight, value)| weight * f64::from(*value)).sum::<f64>()
        }));
    }

    /// Sets prices for a wish, where `slopes` is what a word and a match of each order are worth.
    pub(super) fn price(&self, wish: Wish, slopes: &[f64], prices: &mut Prices) {
        let Prices { worths, .. } = prices;
        let mut worths = std::mem::take(worths);
        worths.clear();
        (prices.model, prices.gain) = (wish.model, wish.gain);
        prices.slopes.clear();
        prices.slopes.extend_from_slice(slopes);
        if wish.gain == 0.0 {
            worths.resize(self.marks.starts.len() - 1, (0.0, 0.0));
        } else {
            worths.extend(self.marks.rows.chunks_exact(self.marks.width).map(|row| {
                let (words, matches) = (row[0], row[1..].iter().copied());
                let full = prices.of(words, matches.clone());
                // A match that costs something is best left out.
                let kept = matches.zip(&slopes[1..]);
                let kept = kept.map(|(count, slope)| if wish.gain * slope > 0.0 { count } else { 0 });
                (full, prices.of(words, kept))
            }));
        }
        prices.worths = worths;
    }

    /// The steps of the path that is best, and its value; the first of equals. `scores` are the arcs' model scores. None
    /// if there is no path.
    pub(super) fn best(&self, prices: &Prices, scores: &[f64], room: &mut Room) -> Option<(f64, Vec<u32>)> {
        let (states, Room { value, back, .. }) = (self.states(), room);
        value.clear();
        value.resize(states, f64::NEG_INFINITY);
        back.clear();
        back.resize(states, u32::MAX);
        *value.first_mut()? = 0.0;
        for state in 1..states {
            let span = self.starts[state] as usize..self.starts[state + 1] as usize;
            let (mut top, mut from) = (f64::NEG_INFINITY, u32::MAX);
            for (at, step) in span.clone().zip(&self.steps[span]) {
                let reached = value[step.tail as usize]
                    + prices.model * scores[step.arc as usize]
                    + prices.worths[step.mark as usize].0;
                if reached > top {
                    (top, from) = (reached, at as u32);
                }
            }
            (value[state], back[state]) = (top, from);
        }
        let first = self.ends as usize;
        let mut end = first;
        for state in first..states {
            if value[state] > value[end] {
                end = state;
            }
        }
        let top = *value.get(end).filter(|top| top.is_finite())?;
        let mut path = Vec::new();
        while back[end] != u32::MAX {
            path.push(back[end]);
            end = self.steps[back[end] as usize].tail as usize;
        }
        path.reverse();
        Some((top, path))
    }

    /// Works out the largest value of what can follow each state, with unclipped matches.
    pub(super) fn outside(&self, prices: &Prices, scores: &[f64], room: &mut Room) {
        let (states, value) = (self.states(), &mut room.outside);
        value.clear();
        value.resize(states, f64::NEG_INFINITY);
        value[self.ends as usize..].fill(0.0);
        for state in (1..states).rev() {
            let after = value[state];
            for step in self.steps_to(state) {
                let reached =
                    after + prices.model * scores[step.arc as usize] + prices.worths[step.mark as usize].0;
                value[step.tail as usize] = value[step.tail as usize].max(reached);
            }
        }
    }

    /// Number of states; the first is the start.
    pub fn states(&self) -> usize {
        self.starts.len() - 1
    }

    /// The first state of complete translations; all from there on are.
    pub fn ends(&self) -> usize {
        self.ends as usize
    }

    /// The steps to a state.
    pub(super) fn steps_to(&self, state: usize) -> &[Step] {
        &self.steps[self.starts[state] as usize..self.starts[state + 1] as usize]
    }

    /// The number of words of a mark.
    pub(super) fn words(&self, mark: u32) -> u32 {
        self.marks.rows[mark as usize * self.marks.width]
    }

    /// The n-grams of a mark.
    pub(super) fn grams(&self, mark: u32) -> &[Gram] {
        let span = self.marks.starts[mark as usize] as usize..self.marks.starts[mark as usize + 1] as usize;
        &self.marks.grams[span]
    }

    /// The arcs of some steps.
    pub(super) fn path(&self, steps: &[u32]) -> Vec<u32> {
        steps.iter().map(|&step| self.steps[step as usize].arc).collect()
    }

    /// The number of words of some steps; `used` then has the n-grams that they use up.
    pub(super) fn text_of(&self, steps: &[u32], used: &mut Used) -> usize {
        let mut words = 0;
        for &step in steps {
            let mark = self.steps[step as usize].mark;
            words += self.words(mark) as usize;
            for gram in self.grams(mark) {
                gram.take(used);
            }
        }
        words
    }

    /// The words of a path.
    pub fn text(&self, arcs: &[u32]) -> String {
        let phrases = arcs.iter().map(|&arc| self.plain.texts.get(self.plain.phrases[arc as usize] as usize));
        phrases.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattice::plain::Builder;
    use dragoman_metric::bleu::Bleu;
    use dragoman_metric::capability::Linear;
    use proptest::prelude::*;

    /// All ways from the start to a node.
    fn paths(plain: &Plain, node: u32) -> Vec<Vec<u32>> {
        if node == 0 {
            return vec![Vec::new()];
        }
        let mut all = Vec::new();
        for arc in (0..plain.heads.len()).filter(|&arc| plain.heads[arc] == node) {
            for mut path in paths(plain, plain.tails[arc]) {
                path.push(arc as u32);
                all.push(path);
            }
        }
        all
    }

    /// The value of a path by its definition, from its words and all windows of the references.
    fn value(lattice: &Lattice, arcs: &[u32], refs: &[Vec<String>], slopes: &[f64], wish: Wish) -> f64 {
        let model: f64 = arcs.iter().map(|&arc| f64::from(lattice.plain.values[arc as usize])).sum();
        let text = lattice.text(arcs);
        let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
        let mut gain = slopes[0] * words.len() as f64;
        for (n, slope) in slopes.iter().enumerate().skip(1) {
            let found = |gram: &&[&str]| refs.iter().any(|r| r.windows(n).any(|w| w == *gram));
            gain += slope * words.windows(n).filter(found).count() as f64;
        }
        wish.model * model + wish.gain * gain
    }

    proptest! {
        #[test]
        fn the_best_path_is_that_of_all_paths(
            nodes in 0u32..6,
            arcs in prop::collection::vec((0u32..5, 1u32..6, prop::collection::vec("[a-c]", 0..4), -4i8..5), 0..14),
            refs in prop::collection::vec(prop::collection::vec("[a-c]", 0..8), 1..3),
            order in 1usize..5,
            slopes in prop::collection::vec(-8i8..9, 5),
            model in 0u8..2,
            gain in -1i8..2,
        ) {
            let mut arcs: Vec<_> = arcs.into_iter().filter(|a| a.0 < a.1 && a.1 < nodes).collect();
            arcs.sort_by_key(|arc| arc.1);
            let mut builder = Builder::new(nodes);
            for (tail, head, words, score) in &arcs {
                builder.add((*tail, *head), &words.join(" "), &[7], &[f64::from(*score)]);
            }
            let lines: Vec<String> = refs.iter().map(|r| r.join(" ")).collect();
            let matcher = Bleu { order, ..Bleu::default() }.matcher(&lines.iter().map(String::as_str).collect::<Vec<_>>());
            let lattice = Lattice::new(builder.finish().unwrap(), &matcher);
            let slopes: Vec<f64> = slopes[..=order].iter().map(|slope| f64::from(*slope) / 4.0).collect();
            let wish = Wish { model: f64::from(model), gain: f64::from(gain) };
            let mut scores = Vec::new();
            lattice.scores(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], &mut scores);
            let all = if nodes == 0 { Vec::new() } else { paths(&lattice.plain, nodes - 1) };
            let most = all.iter().map(|path| value(&lattice, path, &refs, &slopes, wish)).reduce(f64::max);
            let mut prices = Prices::default();
            lattice.price(wish, &slopes, &mut prices);
            let found = lattice.best(&prices, &scores, &mut Room::default());
            let found = found.map(|(top, steps)| (top, lattice.path(&steps)));
            // Quarters: all sums are exact.
            prop_assert_eq!(found.as_ref().map(|(top, _)| *top), most);
            if let Some((top, path)) = found {
                prop_assert_eq!(value(&lattice, &path, &refs, &slopes, wish), top);
                prop_assert!(all.contains(&path));
            }
        }
    }
}
