//! One learner for all online learning: weights, what its rule remembers of each, and their averages.
//!
//! Features are numbers that may come in any order. Everything grows as they are met, and a step costs what its
//! gradient touches, however many features there are: weights that shrink without a gradient are brought up to date
//! when they are asked for. Only what says "all" looks at all.

use crate::rule::{Rule, shrink};
use rustc_hash::FxHashMap;

/// Which weights an average is taken of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Average {
    /// None is wanted.
    None,
    /// Those after every step.
    Steps,
    /// Those at the start and after every step that moved: a passive-aggressive step of no size is none.
    Updates,
}

/// What a learner knows, as arrays that can be kept: features beyond the end of one have zeros. What is not needed is
/// empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Memory {
    /// The weights.
    pub weights: Vec<f64>,
    /// Σ g² of each feature, if the rule remembers it.
    pub squares: Vec<f64>,
    /// [`Average::Steps`]: the sum of the weights after every step. [`Average::Updates`]: Σ k·δ(k) over the
    /// updates δ(1), δ(2), ...; the mean of n updates and the start is `w − sums / (n + 1)`.
    pub sums: Vec<f64>,
    /// In how many sentences each feature was seen.
    pub counts: Vec<u32>,
    /// Number of steps (or updates) in `sums`.
    pub time: u64,
}

/// Weights that learn from gradients.
#[derive(Debug, Clone)]
pub struct Learner {
    rule: Rule,
    average: Average,
    min_count: u32,
    memory: Memory,
    /// Features that were met have smaller numbers; arrays may have room for more.
    width: usize,
    /// Lowest and highest values of those features that have any.
    bounds: FxHashMap<u32, (f64, f64)>,
    /// Steps since the learner was made.
    steps: u64,
    /// The last step after which all weights were brought up to date.
    refreshed: u64,
    /// The step after which each weight was last brought up to date.
    last: Vec<u64>,
    watch: Option<Watch>,
}

/// Which weights have changed since they were last told.
#[derive(Debug, Clone, Default)]
struct Watch {
    flags: Vec<u8>,
    changed: Vec<u32>,
    /// Those that shrink: with a sum of squares, and not yet where L1 pulls them to.
    alive: Vec<u32>,
}

const CHANGED: u8 = 1;
const ALIVE: u8 = 2;

impl Watch {
    fn mark(&mut self, id: u32, flag: u8) {
        let flags = at(&mut self.flags, id);
        if *flags & flag == 0 {
            *flags |= flag;
            if flag == ALIVE { &mut self.alive } else { &mut self.changed }.push(id);
        }
    }
}

/// The place of a feature. What is new is zero; pages of it that nobody looks at take no memory.
#[inline]
fn at<T: Copy + Default>(array: &mut Vec<T>, id: u32) -> &mut T {
    if array.len() <= id as usize {
        widen(array, id as usize + 1);
    }
    &mut array[id as usize]
}

#[cold]
fn widen<T: Copy + Default>(array: &mut Vec<T>, width: usize) {
    let mut wide = vec![T::default(); width.max(2 * array.len())];
    wide[..array.len()].copy_from_slice(array);
    *array = wide;
}

impl Learner {
    /// Goes on from `memory`.
    pub fn new(rule: Rule, average: Average, memory: Memory) -> Self {
        let Memory { weights, squares, sums, counts, .. } = &memory;
        let width = weights.len().max(squares.len()).max(sums.len()).max(counts.len());
        let (bounds, last) = (FxHashMap::default(), Vec::new());
        Self { rule, average, min_count: 0, memory, width, bounds, steps: 0, refreshed: 0, last, watch: None }
    }

    /// How weights follow a gradient.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// Features that were seen in fewer sentences have no gradient.
    #[must_use]
    pub fn with_min_count(mut self, count: u32) -> Self {
        self.min_count = count;
        self
    }

    /// From now on remembers what changes; see [`Self::changes`]. Looks at all features once.
    pub fn watch(&mut self) {
        let mut watch = Watch::default();
        if self.rule.shrinks() {
            let touched = self.memory.squares.iter().enumerate().filter(|e| *e.1 > 0.0);
            touched.for_each(|(j, _)| watch.mark(j as u32, ALIVE));
        }
        self.watch = Some(watch);
    }

    /// Keeps a weight between two values, and moves it there; equal ones fix it.
    pub fn bound(&mut self, id: u32, lower: f64, upper: f64) {
        let w = self.value(id);
        let to = w.max(lower).min(upper);
        self.bounds.insert(id, (lower, upper));
        self.put(id, to);
        // An average counts the weight as it was until now.
        if self.average == Average::Updates && to != w {
            *at(&mut self.memory.sums, id) += (self.memory.time + 1) as f64 * (to - w);
        }
        if self.lazy() {
            *at(&mut self.last, id) = self.steps;
        }
    }

    /// Counts sentences in which a feature was seen.
    pub fn count(&mut self, id: u32, sentences: u32) {
        if self.min_count > 1 {
            let count = at(&mut self.memory.counts, id);
            *count = count.saturating_add(sentences);
            self.width = self.width.max(id as usize + 1);
        }
    }

    /// One step along the gradient of a loss, in which each feature is named once.
    pub fn step(&mut self, gradient: &[(u32, f64)], loss: f64) {
        let size =
            self.rule.size(loss, || gradient.iter().filter(|e| self.free(e.0)).map(|e| e.1 * e.1).sum());
        if size == 0.0 && self.average == Average::Updates {
            return;
        }
        self.steps += 1;
        self.memory.time += 1;
        for &(id, g) in gradient {
            if g != 0.0 && self.free(id) {
                self.update(id, g, size);
            }
        }
    }

    /// Whether a gradient names a feature twice.
    pub fn repeats(&self, gradient: &[(u32, f64)]) -> bool {
        let mut ids: Vec<u32> = gradient.iter().map(|e| e.0).collect();
        ids.sort_unstable();
        ids.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// Number of steps (or updates) in the average.
    pub fn time(&self) -> u64 {
        self.memory.time
    }

    /// Whether a feature may move.
    fn free(&self, id: u32) -> bool {
        let open = self.bounds.is_empty() || self.bounds.get(&id).is_none_or(|(lower, upper)| lower < upper);
        open && (self.min_count <= 1
            || self.memory.counts.get(id as usize).is_some_and(|&count| count >= self.min_count))
    }

    fn clip(&self, id: u32, w: f64) -> f64 {
        if self.bounds.is_empty() {
            return w;
        }
        self.bounds.get(&id).map_or(w, |(lower, upper)| w.max(*lower).min(*upper))
    }

    fn update(&mut self, id: u32, g: f64, size: f64) {
        self.catch_up(id, self.steps - 1);
        let w = *at(&mut self.memory.weights, id);
        let mut none = 0.0;
        let square = if self.rule.squares() { at(&mut self.memory.squares, id) } else { &mut none };
        let moved = self.rule.moved(w, g, size, square);
        let to = self.clip(id, moved);
        match self.average {
            Average::None => {}
            Average::Steps => *at(&mut self.memory.sums, id) += to,
            Average::Updates => *at(&mut self.memory.sums, id) += self.memory.time as f64 * (to - w),
        }
        if self.lazy() {
            *at(&mut self.last, id) = self.steps;
        }
        self.put(id, to);
        if let Some(watch) = self.watch.as_mut().filter(|_| self.rule.shrinks()) {
            watch.mark(id, ALIVE);
        }
    }

    fn put(&mut self, id: u32, w: f64) {
        let place = at(&mut self.memory.weights, id);
        if let Some(watch) = self.watch.as_mut().filter(|_| *place != w) {
            watch.mark(id, CHANGED);
        }
        *place = w;
        self.width = self.width.max(id as usize + 1);
    }

    /// Whether weights or sums change in steps without them.
    #[inline]
    fn lazy(&self) -> bool {
        self.average == Average::Steps || self.rule.shrinks()
    }

    /// Features from here on have no weight yet.
    #[inline]
    fn known(&self) -> usize {
        self.width.min(self.memory.weights.len())
    }

    /// Shrinks a weight for the steps since it was last touched, up to step `time`. Its rate did not change in
    /// between, so k shrinks are one of k times the amount; what they add to the sums are arithmetic series.
    #[inline]
    fn catch_up(&mut self, id: u32, time: u64) {
        let known = self.last.get(id as usize).copied().unwrap_or(0);
        if time > known && self.lazy() && (id as usize) < self.known() {
            self.catch_up_from(id, known, time);
        }
    }

    fn catch_up_from(&mut self, id: u32, known: u64, time: u64) {
        let square = self.memory.squares.get(id as usize).copied().unwrap_or(0.0);
        let amount = self.rule.idle(square);
        if amount == 0.0 && self.average != Average::Steps {
            return;
        }
        *at(&mut self.last, id) = time;
        let (idle, before) = ((time - known) as f64, self.memory.weights[id as usize]);
        let goal = self.clip(id, 0.0);
        self.put(id, shrink(before, goal, idle * amount));
        if self.average == Average::None {
            return;
        }
        let distance = (before - goal).abs();
        let whole = if amount > 0.0 { (distance / amount).floor().min(idle) } else { idle };
        let sum = at(&mut self.memory.sums, id);
        if self.average == Average::Steps {
            let covered = whole * distance - amount * whole * (whole + 1.0) / 2.0;
            *sum += idle * goal + covered.copysign(before - goal);
        } else if amount > 0.0 {
            // Whole shrinks, each later than the one before, and what is left for the last.
            let first = (self.memory.time - (self.steps - known)) as f64;
            let rest = if whole < idle { (distance - whole * amount) * (first + whole + 1.0) } else { 0.0 };
            let shrunk = amount * (whole * first + whole * (whole + 1.0) / 2.0) + rest;
            *sum -= shrunk.copysign(before - goal);
        }
    }

    /// The weight of a feature, up to date.
    #[inline]
    pub fn value(&mut self, id: u32) -> f64 {
        self.catch_up(id, self.steps);
        self.memory.weights.get(id as usize).copied().unwrap_or(0.0)
    }

    /// The weights as they are; up to date are those that [`Self::value`] was asked for since the last step.
    #[inline]
    pub fn weights(&self) -> &[f64] {
        &self.memory.weights
    }

    /// Gives features below `width` a place in the weights.
    pub fn widen(&mut self, width: usize) {
        if self.memory.weights.len() < width {
            self.memory.weights.resize(width, 0.0);
        }
        self.width = self.width.max(width);
    }

    /// Brings all weights up to date.
    pub fn refresh(&mut self) {
        if self.lazy() && self.refreshed < self.steps {
            for j in 0..self.known() {
                self.catch_up(j as u32, self.steps);
            }
            self.refreshed = self.steps;
        }
    }

    /// All that the learner knows, up to date, in arrays of the same length.
    pub fn memory(&mut self) -> &Memory {
        self.refresh();
        let Memory { weights, squares, sums, counts, .. } = &mut self.memory;
        weights.resize(self.width, 0.0);
        squares.resize(if self.rule.squares() { self.width } else { 0 }, 0.0);
        sums.resize(if self.average == Average::None { 0 } else { self.width }, 0.0);
        counts.resize(if self.min_count > 1 { self.width } else { 0 }, 0);
        &self.memory
    }

    /// The average of all weights since the last [`Self::restart`], or the weights if there is none.
    pub fn mean(&mut self) -> Vec<f64> {
        let average = self.average;
        let Memory { weights, sums, time, .. } = self.memory();
        let sum = |j: usize| sums.get(j).copied().unwrap_or(0.0);
        match average {
            Average::Steps if *time > 0 => (0..weights.len()).map(|j| sum(j) / *time as f64).collect(),
            Average::Updates => {
                weights.iter().enumerate().map(|(j, w)| w - sum(j) / (time + 1) as f64).collect()
            }
            _ => weights.clone(),
        }
    }

    /// Forgets the average and starts another.
    pub fn restart(&mut self) {
        self.refresh();
        self.memory.sums.clear();
        self.memory.time = 0;
    }

    /// The features whose weights have changed since the last call, or since [`Self::watch`], with their weights of
    /// now. Costs as much as these and, with L1, as the weights that still shrink.
    /// None if nobody watches.
    pub fn changes(&mut self) -> Option<Vec<(u32, f64)>> {
        let mut alive = std::mem::take(&mut self.watch.as_mut()?.alive);
        alive.retain(|&id| {
            let stays = self.value(id) != self.clip(id, 0.0);
            if let Some(watch) = self.watch.as_mut().filter(|_| !stays) {
                *at(&mut watch.flags, id) &= !ALIVE;
            }
            stays
        });
        let watch = self.watch.as_mut()?;
        watch.alive = alive;
        let changed = std::mem::take(&mut watch.changed);
        for &id in &changed {
            *at(&mut watch.flags, id) &= !CHANGED;
        }
        Some(changed.into_iter().map(|id| (id, self.memory.weights[id as usize])).collect())
    }
}

#[cfg(test)]
mod tests;
