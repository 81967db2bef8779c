//! The search for hope and fear: a lattice times the states of its references' n-grams.
//!
//! Linearised BLEU is a sum over words and matched n-grams, and which n-grams an arc completes depends on the words
//! before it only as far as a reference n-gram could go on. Which arcs meet which states depends on no weight, so the
//! product is made once; every search in it is then one pass over its steps, exact.

use super::plain::Plain;
use crate::mira::Wish;
use dragoman_metric::capability::Matcher;
use std::collections::HashMap;

/// A step of the product: an arc after a state.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// State that it starts from.
    tail: u32,
    /// The arc.
    arc: u32,
    /// Its words and matches: a row of `marks`.
    mark: u32,
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
    /// Number of words, then unclipped matches of each order, a row each.
    marks: Vec<u32>,
    /// Numbers in a row.
    width: usize,
    /// The matcher's state in each state, and the words of each phrase as it has them.
    resting: Vec<u32>,
    words: Vec<Vec<u32>>,
}

/// Where phrases lead from states, and the marks that they make; each is worked out once.
struct Walker<'m> {
    matcher: &'m Matcher,
    phrases: Vec<Vec<u32>>,
    walks: HashMap<(u32, u32), (u32, u32)>,
    known: HashMap<Vec<u32>, u32>,
    marks: Vec<u32>,
}

impl<'m> Walker<'m> {
    fn new(matcher: &'m Matcher, plain: &Plain) -> Self {
        let phrases = plain.texts.iter().map(|text| matcher.words(text)).collect();
        Self { matcher, phrases, walks: HashMap::new(), known: HashMap::new(), marks: Vec::new() }
    }

    /// The state after a phrase, and the mark.
    fn walk(&mut self, phrase: u32, state: u32) -> (u32, u32) {
        let Self { matcher, phrases, walks, known, marks } = self;
        *walks.entry((phrase, state)).or_insert_with(|| {
            let words = &phrases[phrase as usize];
            let mut row = vec![0; matcher.order() + 1];
            row[0] = words.len() as u32;
            let to = matcher.walk(state, words, &mut row[1..]);
            let next = known.len() as u32;
            let mark = *known.entry(row).or_insert_with_key(|row| {
                marks.extend_from_slice(row);
                next
            });
            (to, mark)
        })
    }
}

impl Lattice {
    /// Multiplies a lattice that [`Plain::check`] accepts.
    pub fn new(plain: Plain, matcher: &Matcher) -> Self {
        let mut walker = Walker::new(matcher, &plain);
        let (width, starts) = (matcher.order() + 1, vec![0]);
        let mut made = Self {
            plain,
            steps: Vec::new(),
            starts,
            ends: 0,
            marks: Vec::new(),
            width,
            resting: Vec::new(),
            words: Vec::new(),
        };
        if made.plain.nodes == 0 {
            return made;
        }
        // States of each node: the matcher's, and where they begin among all states.
        let mut resting: Vec<(Vec<u32>, u32)> = vec![(vec![0], 0)];
        made.starts.push(0);
        made.resting.push(0);
        let mut arc = 0;
        for node in 1..made.plain.nodes {
            let mut found: Vec<(u32, Step)> = Vec::new();
            while made.plain.heads.get(arc).is_some_and(|&head| head == node) {
                let (states, first) = &resting[made.plain.tails[arc] as usize];
                for (offset, &state) in states.iter().enumerate() {
                    let (to, mark) = walker.walk(made.plain.phrases[arc], state);
                    found.push((to, Step { tail: first + offset as u32, arc: arc as u32, mark }));
                }
                arc += 1;
            }
            let first = made.starts.len() as u32 - 1;
            resting.push((made.settle(found), first));
        }
        made.ends = resting.last().map_or(0, |last| last.1);
        (made.marks, made.words) = (walker.marks, walker.phrases);
        made.steps.shrink_to_fit();
        made
    }

    /// Files the steps to a node by the states that they lead to, which it gives.
    fn settle(&mut self, mut found: Vec<(u32, Step)>) -> Vec<u32> {
        found.sort_by_key(|(state, _)| *state); // stable: arcs stay in order
        let mut states: Vec<u32> = Vec::new();
        for (state, step) in found {
            if states.last() != Some(&state) {
                states.push(state);
                self.resting.push(state);
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
            + (self.starts.len() + self.marks.len() + self.resting.len()) * size_of::<u32>()
            + self
                .words
                .iter()
                .map(|words| size_of::<Vec<u32>>() + words.len() * size_of::<u32>())
                .sum::<usize>()
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

    /// What each mark is worth for a wish.
    fn worths(&self, wish: Wish, slopes: &[f64]) -> Vec<f64> {
        let worth = |row: &[u32]| {
            let sum: f64 = row.iter().zip(slopes).map(|(&count, slope)| f64::from(count) * slope).sum();
            if wish.gain == 0.0 { 0.0 } else { wish.gain * sum }
        };
        self.marks.chunks_exact(self.width).map(worth).collect()
    }

    /// The arcs of the path that is best for a wish, and its value; the first of equals. `scores` are the arcs' model
    /// scores and `slopes` what a word and a match of each order are worth. None if there is no path.
    pub fn best(&self, wish: Wish, scores: &[f64], slopes: &[f64]) -> Option<(f64, Vec<u32>)> {
        let worths = self.worths(wish, slopes);
        let states = self.states();
        let mut value = vec![f64::NEG_INFINITY; states];
        let mut back = vec![u32::MAX; states];
        *value.first_mut()? = 0.0;
        for state in 1..states {
            let span = self.starts[state] as usize..self.starts[state + 1] as usize;
            for (at, step) in span.clone().zip(&self.steps[span]) {
                let reached = value[step.tail as usize]
                    + wish.model * scores[step.arc as usize]
                    + worths[step.mark as usize];
                if reached > value[state] {
                    (value[state], back[state]) = (reached, at as u32);
                }
            }
        }
        let first = self.ends as usize;
        let mut end = first;
        for state in first..states {
            if value[state] > value[end] {
                end = state;
            }
        }
        let top = *value.get(end).filter(|top| top.is_finite())?;
        let mut arcs = Vec::new();
        while back[end] != u32::MAX {
            let step = self.steps[back[end] as usize];
            arcs.push(step.arc);
            end = step.tail as usize;
        }
        arcs.reverse();
        Some((top, arcs))
    }

    /// The largest value of what can follow each state, with unclipped matches.
    pub fn outside(&self, wish: Wish, scores: &[f64], slopes: &[f64]) -> Vec<f64> {
        let worths = self.worths(wish, slopes);
        let states = self.states();
        let mut value = vec![f64::NEG_INFINITY; states];
        value[self.ends as usize..].fill(0.0);
        for state in (1..states).rev() {
            let span = self.starts[state] as usize..self.starts[state + 1] as usize;
            for step in &self.steps[span] {
                let reached =
                    value[state] + wish.model * scores[step.arc as usize] + worths[step.mark as usize];
                value[step.tail as usize] = value[step.tail as usize].max(reached);
            }
        }
        value
    }

    /// Number of states; the first is the start.
    pub fn states(&self) -> usize {
        self.starts.len() - 1
    }

    /// The first state of complete translations; all from there on are.
    pub fn ends(&self) -> usize {
        self.ends as usize
    }

    /// The steps to a state: where each starts, and its arc.
    pub fn into_state(&self, state: usize) -> impl Iterator<Item = (u32, u32)> {
        let span = self.starts[state] as usize..self.starts[state + 1] as usize;
        self.steps[span].iter().map(|step| (step.tail, step.arc))
    }

    /// The matcher's state in a state.
    pub fn resting(&self, state: u32) -> u32 {
        self.resting[state as usize]
    }

    /// The words of an arc, as the matcher takes them.
    pub fn words(&self, arc: u32) -> &[u32] {
        &self.words[self.plain.phrases[arc as usize] as usize]
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
            let found = lattice.best(wish, &scores, &slopes);
            // Quarters: all sums are exact.
            prop_assert_eq!(found.as_ref().map(|(top, _)| *top), most);
            if let Some((top, path)) = found {
                prop_assert_eq!(value(&lattice, &path, &refs, &slopes, wish), top);
                prop_assert!(all.contains(&path));
            }
        }
    }
}
