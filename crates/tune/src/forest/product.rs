//! The search for hope and fear: a forest times the states of its references' n-grams.
//!
//! Linearised BLEU is a sum over words and matched n-grams, and which n-grams an edge completes depends on the texts of
//! its tails only as far as a reference n-gram could go on, at both ends. Which edges meet which states depends on no
//! weight, so the product is made once; every search in it is then one pass over its steps, exact.

use super::kept::Kept;
use super::walker::{Marks, Walker};
use crate::mira::Wish;
use dragoman_metric::capability::{Gram, Matcher, Part, Used};

/// A step of the product: an edge over states of its tails.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// The state of its first tail; the start for an edge without tails.
    pub tail: u32,
    /// The edge.
    pub edge: u32,
    /// Its number of words and the n-grams that it completes.
    pub mark: u32,
}

/// A forest made ready for one sentence's references. State 0 is the start, which edges without tails begin from.
#[derive(Debug)]
pub struct Product {
    kept: Kept,
    steps: Vec<Step>,
    /// The steps that lead to a state are from here up to the next.
    starts: Vec<u32>,
    /// States from here on are complete translations.
    ends: u32,
    marks: Marks,
    /// The states of further tails: those of a step are from here up to the next. Empty for a lattice.
    other_starts: Vec<u32>,
    others: Vec<u32>,
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
    /// The largest value of what can be around each state, with unclipped matches.
    pub outside: Vec<f64>,
}

/// The steps to one node: the part that each leads to, its place among them, and the states of further tails.
#[derive(Default)]
struct Met {
    steps: Vec<(Part, Step, (u32, u32))>,
    others: Vec<u32>,
}

impl Product {
    /// Multiplies a forest.
    pub fn new(kept: Kept, matcher: &Matcher) -> Self {
        let mut walker = Walker::new(matcher, &kept.forest);
        let branching = !kept.forest.is_lattice();
        let mut made = Self {
            kept,
            steps: Vec::new(),
            starts: vec![0],
            ends: 0,
            marks: Marks::default(),
            other_starts: if branching { vec![0] } else { Vec::new() },
            others: Vec::new(),
        };
        if made.kept.forest.nodes == 0 {
            return Self { marks: walker.marks, ..made };
        }
        made.starts.push(0);
        // The states of each node, and where they begin among all states.
        let mut resting: Vec<(Vec<Part>, u32)> = Vec::new();
        let (mut met, mut edge) = (Met::default(), 0);
        for node in 0..made.kept.forest.nodes {
            met.steps.clear();
            met.others.clear();
            while made.kept.forest.heads.get(edge).is_some_and(|&head| head == node) {
                made.meet(edge, &resting, &mut walker, &mut met);
                edge += 1;
            }
            let first = made.starts.len() as u32 - 1;
            resting.push((made.settle(&mut met), first));
        }
        made.ends = resting.last().map_or(0, |last| last.1);
        made.marks = walker.marks;
        made.steps.shrink_to_fit();
        made
    }

    /// Takes an edge over all states of its tails.
    fn meet(&self, edge: usize, resting: &[(Vec<Part>, u32)], walker: &mut Walker<'_>, met: &mut Met) {
        let (forest, number) = (&self.kept.forest, edge as u32);
        let start = (vec![Part::default()], 0);
        if let Some(side) = walker.side(forest, edge) {
            let (parts, first) = forest.tails(edge).first().map_or(&start, |&tail| &resting[tail as usize]);
            for (offset, &part) in parts.iter().enumerate() {
                let (to, mark) = walker.walk(forest, edge, side, part);
                let step = Step { tail: first + offset as u32, edge: number, mark };
                met.steps.push((to, step, (0, 0)));
            }
            return;
        }
        let tails: Vec<&(Vec<Part>, u32)> =
            forest.tails(edge).iter().map(|&tail| &resting[tail as usize]).collect();
        if tails.iter().any(|(parts, _)| parts.is_empty()) {
            return;
        }
        let mut place = vec![0; tails.len()];
        loop {
            let parts: Vec<Part> = tails.iter().zip(&place).map(|((parts, _), &at)| parts[at]).collect();
            let (to, mark) = walker.join(forest, edge, &parts);
            let mut states = tails.iter().zip(&place).map(|((_, first), &at)| first + at as u32);
            let tail = states.next().unwrap_or(0);
            let from = met.others.len() as u32;
            met.others.extend(states);
            met.steps.push((to, Step { tail, edge: number, mark }, (from, met.others.len() as u32)));
            // The next combination, the first tail fastest.
            let Some(at) = (0..place.len()).find(|&at| place[at] + 1 < tails[at].0.len()) else { return };
            place[..at].fill(0);
            place[at] += 1;
        }
    }

    /// Files the steps to a node by the states that they lead to, which it gives.
    fn settle(&mut self, met: &mut Met) -> Vec<Part> {
        met.steps.sort_by_key(|(part, ..)| *part); // stable: edges stay in order
        let mut states: Vec<Part> = Vec::new();
        for &(part, step, (from, to)) in &met.steps {
            if states.last() != Some(&part) {
                states.push(part);
                self.starts.push(self.steps.len() as u32);
            }
            self.steps.push(step);
            if self.branching() {
                self.others.extend_from_slice(&met.others[from as usize..to as usize]);
                self.other_starts.push(self.others.len() as u32);
            }
            *self.starts.last_mut().expect("one state at least") = self.steps.len() as u32;
        }
        states
    }

    /// Whether some edge has more than one tail.
    pub(super) fn branching(&self) -> bool {
        !self.other_starts.is_empty()
    }

    /// The states of a step's tails after the first.
    pub(super) fn others(&self, step: usize) -> &[u32] {
        if !self.branching() {
            return &[];
        }
        &self.others[self.other_starts[step] as usize..self.other_starts[step + 1] as usize]
    }

    /// Number of edges.
    pub fn edges(&self) -> usize {
        self.kept.forest.edges()
    }

    /// Number of steps that a search looks at.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// The forest as it is kept.
    pub fn kept(&self) -> &Kept {
        &self.kept
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        let numbers = self.starts.len() + self.other_starts.len() + self.others.len();
        self.kept.bytes()
            + self.steps.len() * size_of::<Step>()
            + numbers * size_of::<u32>()
            + self.marks.bytes()
    }

    /// The model score of every edge; features past the end of the weights weigh nothing.
    pub fn scores(&self, weights: &[f64], scores: &mut Vec<f64>) {
        scores.clear();
        self.kept.features.product(weights, scores);
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

    /// The steps of the derivation that is best, bottom up, and its value; the first of equals. `scores` are the edges'
    /// model scores. None if there is no derivation.
    pub(super) fn best(&self, prices: &Prices, scores: &[f64], room: &mut Room) -> Option<(f64, Vec<u32>)> {
        if self.branching() {
            self.inside::<true>(prices, scores, room);
        } else {
            self.inside::<false>(prices, scores, room);
        }
        let Room { value, back, .. } = room;
        let first = self.ends as usize;
        let mut end = first;
        for state in first..self.states() {
            if value[state] > value[end] {
                end = state;
            }
        }
        let top = *value.get(end).filter(|top| top.is_finite())?;
        let (mut path, mut open) = (Vec::new(), vec![end as u32]);
        while let Some(state) = open.pop() {
            let step = back[state as usize];
            if step != u32::MAX {
                path.push(step);
                open.push(self.steps[step as usize].tail);
                open.extend_from_slice(self.others(step as usize));
            }
        }
        path.reverse();
        Some((top, path))
    }

    /// The value of the best derivation of each state, and its last step.
    fn inside<const BRANCHING: bool>(&self, prices: &Prices, scores: &[f64], room: &mut Room) {
        let (states, Room { value, back, .. }) = (self.states(), room);
        value.clear();
        value.resize(states, f64::NEG_INFINITY);
        back.clear();
        back.resize(states, u32::MAX);
        let Some(start) = value.first_mut() else { return };
        *start = 0.0;
        for state in 1..states {
            let span = self.starts[state] as usize..self.starts[state + 1] as usize;
            let (mut top, mut from) = (f64::NEG_INFINITY, u32::MAX);
            for (at, step) in span.clone().zip(&self.steps[span]) {
                let mut reached = value[step.tail as usize]
                    + prices.model * scores[step.edge as usize]
                    + prices.worths[step.mark as usize].0;
                if BRANCHING {
                    reached += self.others(at).iter().map(|&tail| value[tail as usize]).sum::<f64>();
                }
                if reached > top {
                    (top, from) = (reached, at as u32);
                }
            }
            (value[state], back[state]) = (top, from);
        }
    }

    /// Works out the largest value of what can be around each state, with unclipped matches; after [`Product::best`] with
    /// the same prices.
    pub(super) fn outside(&self, prices: &Prices, scores: &[f64], room: &mut Room) {
        if self.branching() {
            self.around::<true>(prices, scores, room);
        } else {
            self.around::<false>(prices, scores, room);
        }
    }

    fn around<const BRANCHING: bool>(&self, prices: &Prices, scores: &[f64], room: &mut Room) {
        let (states, Room { value: inside, outside: value, .. }) = (self.states(), room);
        value.clear();
        value.resize(states, f64::NEG_INFINITY);
        value[self.ends as usize..].fill(0.0);
        for state in (1..states).rev() {
            let after = value[state];
            for at in self.starts[state] as usize..self.starts[state + 1] as usize {
                let step = self.steps[at];
                let reached =
                    after + prices.model * scores[step.edge as usize] + prices.worths[step.mark as usize].0;
                let others = if BRANCHING { self.others(at) } else { &[] };
                if others.is_empty() {
                    value[step.tail as usize] = value[step.tail as usize].max(reached);
                    continue;
                }
                let tails = std::iter::once(step.tail).chain(others.iter().copied());
                let sum: f64 = tails.clone().map(|tail| inside[tail as usize]).sum();
                for tail in tails {
                    let around = reached + sum - inside[tail as usize];
                    value[tail as usize] = value[tail as usize].max(around);
                }
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

    /// The steps to a state: the number of the first, and all.
    pub(super) fn steps_to(&self, state: usize) -> (usize, &[Step]) {
        let span = self.starts[state] as usize..self.starts[state + 1] as usize;
        (span.start, &self.steps[span])
    }

    /// The number of words of a mark.
    pub(super) fn words(&self, mark: u32) -> u32 {
        self.marks.words(mark)
    }

    /// The n-grams of a mark.
    pub(super) fn grams(&self, mark: u32) -> &[Gram] {
        self.marks.grams(mark)
    }

    /// The edges of some steps.
    pub(super) fn path(&self, steps: &[u32]) -> Vec<u32> {
        steps.iter().map(|&step| self.steps[step as usize].edge).collect()
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

    /// The words of a derivation.
    pub fn text(&self, edges: &[u32]) -> String {
        self.kept.forest.text_of(edges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forest::tests::{all, forest, lattice, line};
    use dragoman_base::random::{below, stream};
    use dragoman_metric::bleu::Bleu;
    use dragoman_metric::capability::Linear;

    /// The value of a derivation by its definition, from its words and all windows of the references.
    fn value(product: &Product, edges: &[u32], refs: &[Vec<&str>], slopes: &[f64], wish: Wish) -> f64 {
        let model: f64 =
            edges.iter().map(|&edge| f64::from(product.kept.features.values[edge as usize])).sum();
        let text = product.text(edges);
        let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
        let mut gain = slopes[0] * words.len() as f64;
        for (n, slope) in slopes.iter().enumerate().skip(1) {
            let found = |gram: &&[&str]| refs.iter().any(|r| r.windows(n).any(|w| w == *gram));
            gain += slope * words.windows(n).filter(found).count() as f64;
        }
        wish.model * model + wish.gain * gain
    }

    /// Of lattices and of forests with several tails, the best derivation to first order is that of all derivations.
    #[test]
    fn the_best_derivation_is_that_of_all_of_them() {
        let (mut branching, mut none) = (0, 0);
        for number in 0..600 {
            let rng = &mut stream(21, number);
            let made = if number % 3 == 0 { lattice(rng) } else { forest(rng) };
            let edges = all(&made, made.nodes - 1);
            if edges.len() > 4000 {
                continue;
            }
            let lines: Vec<String> = (0..=below(rng, 2)).map(|_| line(rng)).collect();
            let refs: Vec<Vec<&str>> = lines.iter().map(|l| l.split(' ').collect()).collect();
            let bleu = Bleu { order: 1 + below(rng, 4), ..Bleu::default() };
            let matcher = bleu.matcher(&lines.iter().map(String::as_str).collect::<Vec<_>>());
            let product = Product::new(Kept::new(&made).unwrap(), &matcher);
            branching += usize::from(product.branching());
            // Eighths: all sums are exact.
            let slopes: Vec<f64> = (0..=bleu.order).map(|_| below(rng, 17) as f64 / 4.0 - 2.0).collect();
            let wish = Wish { model: below(rng, 2) as f64, gain: below(rng, 3) as f64 - 1.0 };
            let mut scores = Vec::new();
            product.scores(&[1.0], &mut scores);
            let most =
                edges.iter().map(|edges| value(&product, edges, &refs, &slopes, wish)).reduce(f64::max);
            let (mut prices, mut room) = (Prices::default(), Room::default());
            product.price(wish, &slopes, &mut prices);
            let found = product.best(&prices, &scores, &mut room);
            let found = found.map(|(top, steps)| (top, product.path(&steps)));
            assert_eq!(found.as_ref().map(|(top, _)| *top), most, "{number}");
            none += usize::from(found.is_none());
            if let Some((top, path)) = found {
                assert_eq!(value(&product, &path, &refs, &slopes, wish), top);
                assert!(edges.contains(&path));
                product.outside(&prices, &scores, &mut room);
                let through = room.value.iter().zip(&room.outside).map(|(inside, around)| inside + around);
                assert_eq!(through.fold(f64::NEG_INFINITY, f64::max), top);
            }
        }
        assert!(branching > 200 && none > 0, "{branching} {none}");
    }
}
