//! A clustering and its class bigram counts; what a move would gain, and the move itself.

use crate::counts::{BOUNDARY, Counts};
use crate::logs::Logs;
use std::sync::Arc;

/// A square matrix of counts with h of each, by rows.
#[derive(Debug, Clone)]
struct Square {
    cells: Vec<u32>,
    logs: Vec<f64>,
}

impl Square {
    fn new(width: usize) -> Self {
        Self { cells: vec![0; width * width], logs: vec![0.0; width * width] }
    }

    fn set(&mut self, at: usize, value: u32, log: f64) {
        self.cells[at] = value;
        self.logs[at] = log;
    }
}

/// A clustering: the class of every word, and the counts of equation (1).
#[derive(Debug, Clone)]
pub struct State<'a> {
    counts: &'a Counts,
    logs: Arc<Logs>,
    classes: Vec<u32>,
    /// Number of classes; the boundary is the class after the last.
    size: usize,
    /// N(c', c) at `c' * width + c`, and transposed, so that all classes of a word lie side by side in both.
    rows: Square,
    columns: Square,
    /// N(c).
    totals: Vec<u32>,
}

/// Working memory for one word at a time.
#[derive(Debug, Clone)]
pub struct Scratch {
    /// Occurrences after words of each class, the word itself apart.
    before: Vec<u32>,
    /// Occurrences before words of each class, the word itself apart.
    after: Vec<u32>,
    /// Classes with a count in `before` and in `after`.
    befores: Vec<u32>,
    afters: Vec<u32>,
    /// Occurrences after itself.
    own: u32,
    /// What the likelihood gains if the word, taken out of its class, is put into each class.
    pub gains: Vec<f64>,
}

impl Scratch {
    /// For so many classes.
    pub fn new(size: usize) -> Self {
        Self {
            before: vec![0; size + 1],
            after: vec![0; size + 1],
            befores: Vec::new(),
            afters: Vec::new(),
            own: 0,
            gains: vec![0.0; size],
        }
    }
}

impl<'a> State<'a> {
    /// The clustering that gives word w class `classes[w]`, which must be below `size`.
    pub fn new(counts: &'a Counts, size: usize, classes: Vec<u32>) -> Self {
        let width = size + 1;
        let logs = Arc::new(Logs::new(counts.tokens + u64::from(counts.sentences)));
        let mut cells = vec![0u32; width * width];
        let mut totals = vec![0; size];
        let class = |word: u32| if word == BOUNDARY { size } else { classes[word as usize] as usize };
        for word in 0..counts.len() as u32 {
            totals[class(word)] += counts.unigrams[word as usize];
            for (left, count) in counts.before.of(word) {
                cells[class(left) * width + class(word)] += count;
            }
            for (_, count) in counts.after.of(word).filter(|&(right, _)| right == BOUNDARY) {
                cells[class(word) * width + size] += count;
            }
        }
        let (mut rows, mut columns) = (Square::new(width), Square::new(width));
        for (at, &count) in cells.iter().enumerate() {
            rows.set(at, count, logs.h(count));
            columns.set(at % width * width + at / width, count, logs.h(count));
        }
        Self { counts, logs, classes, size, rows, columns, totals }
    }

    /// Number of classes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The class of every word.
    pub fn classes(&self) -> &[u32] {
        &self.classes
    }

    /// Tokens of each class.
    pub fn totals(&self) -> &[u32] {
        &self.totals
    }

    /// Log-likelihood of the text, equation (1).
    pub fn likelihood(&self) -> f64 {
        let cells: f64 = self.rows.logs.iter().sum();
        let totals: f64 = self.totals.iter().map(|&n| self.logs.h(n)).sum();
        let words: f64 = self.counts.unigrams.iter().map(|&n| self.logs.h(n)).sum();
        cells - 2.0 * totals - self.logs.h(self.counts.sentences) + words
    }

    /// Sums a word's neighbours by their classes.
    fn gather(&self, word: u32, scratch: &mut Scratch) {
        let Scratch { before, after, befores, afters, own, .. } = scratch;
        *own = 0;
        for (sums, seen, neighbours) in
            [(before, befores, &self.counts.before), (after, afters, &self.counts.after)]
        {
            for class in seen.drain(..) {
                sums[class as usize] = 0;
            }
            for (other, count) in neighbours.of(word) {
                if other == word {
                    *own = count;
                    continue;
                }
                let class = if other == BOUNDARY { self.size } else { self.classes[other as usize] as usize };
                if sums[class] == 0 {
                    seen.push(class as u32);
                }
                sums[class] += count;
            }
        }
    }

    /// N(left, right) once the gathered word is taken out of its class `from`.
    fn without(&self, scratch: &Scratch, from: usize, left: usize, right: usize) -> u32 {
        let mut count = self.rows.cells[left * (self.size + 1) + right];
        if right == from {
            count -= scratch.before[left];
        }
        if left == from {
            count -= scratch.after[right];
        }
        if left == from && right == from {
            count -= scratch.own;
        }
        count
    }

    /// What the likelihood gains if the gathered word, taken out of class `from`, is put into class `to`.
    fn gain(&self, scratch: &Scratch, word: u32, from: usize, to: usize) -> f64 {
        let more = |count: u32, add: u32| self.logs.h(count + add) - self.logs.h(count);
        let mut gain = 0.0;
        for &left in scratch.befores.iter().filter(|&&c| c as usize != to) {
            let left = left as usize;
            gain += more(self.without(scratch, from, left, to), scratch.before[left]);
        }
        for &right in scratch.afters.iter().filter(|&&c| c as usize != to) {
            let right = right as usize;
            gain += more(self.without(scratch, from, to, right), scratch.after[right]);
        }
        let inside = scratch.before[to] + scratch.after[to] + scratch.own;
        let unigram = self.counts.unigrams[word as usize];
        let total = self.totals[to] - if from == to { unigram } else { 0 };
        gain + more(self.without(scratch, from, to, to), inside) - 2.0 * more(total, unigram)
    }

    /// Fills `scratch.gains` for a word: the difference of two of them is what the move between the two classes
    /// gains. This is where the time goes; the inner loops run over neighbouring cells.
    pub fn evaluate(&self, word: u32, scratch: &mut Scratch) {
        self.gather(word, scratch);
        let from = self.classes[word as usize] as usize;
        let mut gains = std::mem::take(&mut scratch.gains);
        self.common(word, &mut gains);
        self.add_rows(&self.rows, &scratch.befores, &scratch.before, from, &scratch.after, &mut gains);
        self.add_rows(&self.columns, &scratch.afters, &scratch.after, from, &scratch.before, &mut gains);
        self.mend_diagonal(scratch, &mut gains);
        gains[from] = self.gain(scratch, word, from, from);
        scratch.gains = gains;
    }

    /// The part of the gains that comes from the classes' totals.
    fn common(&self, word: u32, gains: &mut [f64]) {
        let unigram = self.counts.unigrams[word as usize];
        for (gain, &total) in gains.iter_mut().zip(&self.totals) {
            *gain = -2.0 * (self.logs.h(total + unigram) - self.logs.h(total));
        }
    }

    /// Adds what the neighbours on one side give; `from` is the word's class, and `others` are its neighbours on
    /// the other side, which are missing from that class's row once the word is taken out.
    fn add_rows(
        &self,
        square: &Square,
        seen: &[u32],
        sums: &[u32],
        from: usize,
        others: &[u32],
        gains: &mut [f64],
    ) {
        let width = self.size + 1;
        for &class in seen {
            let (class, add) = (class as usize, sums[class as usize]);
            let cells = &square.cells[class * width..class * width + self.size];
            let logs = &square.logs[class * width..class * width + self.size];
            if class == from {
                for ((gain, &cell), &other) in gains.iter_mut().zip(cells).zip(others) {
                    let rest = cell.saturating_sub(other); // below only at `from` itself, which is mended later
                    *gain += self.logs.h(rest + add) - self.logs.h(rest);
                }
            } else {
                for ((gain, &cell), &log) in gains.iter_mut().zip(cells).zip(logs) {
                    *gain += self.logs.h(cell + add) - log;
                }
            }
        }
    }

    /// Neighbours of the class that is tried share its diagonal cell, whose h grows by all of them at once.
    fn mend_diagonal(&self, scratch: &Scratch, gains: &mut [f64]) {
        for (class, gain) in gains.iter_mut().enumerate() {
            let (before, after) = (scratch.before[class], scratch.after[class]);
            if scratch.own > 0 || (before > 0 && after > 0) {
                let cell = self.rows.cells[class * (self.size + 1) + class];
                let h = |add: u32| self.logs.h(cell + add);
                *gain += h(before + after + scratch.own) + h(0) - h(before) - h(after);
            }
        }
    }

    /// What moving a word would gain, exactly, as things stand.
    pub fn delta(&self, word: u32, to: u32, scratch: &mut Scratch) -> f64 {
        self.gather(word, scratch);
        let from = self.classes[word as usize] as usize;
        self.gain(scratch, word, from, to as usize) - self.gain(scratch, word, from, from)
    }

    /// Moves a word that [`State::delta`] was last asked about.
    pub fn shift(&mut self, word: u32, to: u32, scratch: &Scratch) {
        let from = self.classes[word as usize] as usize;
        let unigram = self.counts.unigrams[word as usize];
        for (class, back) in [(from, true), (to as usize, false)] {
            for &left in &scratch.befores {
                self.change(left as usize, class, scratch.before[left as usize], back);
            }
            for &right in &scratch.afters {
                self.change(class, right as usize, scratch.after[right as usize], back);
            }
            self.change(class, class, scratch.own, back);
        }
        self.totals[from] -= unigram;
        self.totals[to as usize] += unigram;
        self.classes[word as usize] = to;
    }

    fn change(&mut self, left: usize, right: usize, by: u32, back: bool) {
        let width = self.size + 1;
        let old = self.rows.cells[left * width + right];
        let new = if back { old - by } else { old + by };
        let log = self.logs.h(new);
        self.rows.set(left * width + right, new, log);
        self.columns.set(right * width + left, new, log);
    }
}
