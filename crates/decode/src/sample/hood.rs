//! Neighbourhoods: the derivations that differ from the current one in one place, each with what it scores more.

use super::chain::{Chain, step};
use super::cover::Cover;
use super::judge::{Judge, Learned};
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// Which derivations a neighbourhood has. Numbers of options are ranges (first, one past the last).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// One span, translated in one piece or in two that follow each other.
    Pieces { merged: (u32, u32), left: (u32, u32), right: (u32, u32) },
    /// One phrase with all its translations.
    Words { options: (u32, u32) },
    /// The current order, and the one with the first and the last phrase of the window exchanged.
    Swap,
}

/// The neighbourhood of the current derivation. Members are known by numbers.
#[derive(Debug, Clone)]
pub struct Hood {
    kind: Kind,
    /// Phrases that members differ in: first, one past the last.
    pub(super) window: (usize, usize),
    /// Which member is the current derivation.
    pub current: usize,
    /// For each member, its score less that of the current derivation; minus infinity where it is not allowed.
    pub scores: Vec<f64>,
}

impl Default for Hood {
    fn default() -> Self {
        Self { kind: Kind::Swap, window: (0, 0), current: 0, scores: Vec::new() }
    }
}

impl Hood {
    /// The options that a member has in the window, in order.
    pub(super) fn options(&self, chain: &Chain<'_>, member: usize, out: &mut Vec<u32>) {
        out.clear();
        match self.kind {
            Kind::Pieces { merged, left, right } => {
                let whole = (merged.1 - merged.0) as usize;
                if member < whole {
                    out.push(merged.0 + member as u32);
                } else {
                    let width = (right.1 - right.0) as usize;
                    out.push(left.0 + ((member - whole) / width) as u32);
                    out.push(right.0 + ((member - whole) % width) as u32);
                }
            }
            Kind::Words { options } => out.push(options.0 + member as u32),
            Kind::Swap => {
                let (first, last) = self.window;
                out.extend_from_slice(&chain.phrases[first..last]);
                if member == 1 {
                    out.swap(0, last - first - 1);
                }
            }
        }
    }

    /// Target words of the options in the window, whatever member it is: at most.
    pub(super) fn is_swap(&self) -> bool {
        self.kind == Kind::Swap
    }

    /// The ranges of options that members take one each of: whole, or left with right.
    pub(super) fn ranges(&self) -> [(u32, u32); 3] {
        match self.kind {
            Kind::Pieces { merged, left, right } => [merged, left, right],
            Kind::Words { options } => [options, (0, 0), (0, 0)],
            Kind::Swap => [(0, 0); 3],
        }
    }
}

/// Space that moves need, shared by all chains of a thread.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) cover: Cover,
    inner: Cover,
    pub(super) next: Vec<u8>,
    pub(super) old: Vec<u8>,
    states: [Vec<u8>; 3],
    tails: Tails,
    pub(super) sequence: Vec<u32>,
    rows: Vec<(u32, f32)>,
}

impl Scratch {
    /// Makes states as long as they are here.
    pub(super) fn fit(&mut self, stride: usize) {
        self.next.resize(stride, 0);
        self.old.resize(stride, 0);
        for state in &mut self.states {
            state.resize(stride, 0);
        }
    }
}

/// What follows a window scores more or less after each state: remembered for the members of one neighbourhood.
#[derive(Debug, Default)]
struct Tails {
    /// Round, place of the state, value.
    slots: Vec<(u32, u32, f64)>,
    states: Vec<u8>,
    round: u32,
}

const SLOTS: usize = 1 << 10;

impl Tails {
    fn clear(&mut self) {
        self.slots.resize(SLOTS, (0, 0, 0.0));
        self.states.clear();
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.slots.fill((0, 0, 0.0));
            self.round = 1;
        }
    }

    /// The value of a state, or the place where it belongs; none if there is no more room.
    fn find(&self, state: &[u8]) -> Result<f64, Option<usize>> {
        let mut hasher = FxHasher::default();
        hasher.write(state);
        let mut at = (hasher.finish() >> 20) as usize % SLOTS;
        for _ in 0..8 {
            let (round, place, value) = self.slots[at];
            if round != self.round {
                return Err(Some(at));
            }
            if self.states[place as usize..place as usize + state.len()] == *state {
                return Ok(value);
            }
            at = (at + 1) % SLOTS;
        }
        Err(None)
    }

    fn put(&mut self, at: usize, state: &[u8], value: f64) {
        self.slots[at] = (self.round, self.states.len() as u32, value);
        self.states.extend_from_slice(state);
    }
}

impl Chain<'_> {
    /// All ways to translate the span from `from` up to `to`, whose phrases are the window, in one piece or cut at
    /// `cut`.
    pub(super) fn pieces(
        &mut self,
        judge: &mut impl Judge,
        scratch: &mut Scratch,
        hood: &mut Hood,
        (first, last): (usize, usize),
        (from, cut, to): (usize, usize, usize),
    ) {
        let merged = self.span(from, to).unwrap_or((0, 0));
        let (left, right) = (self.span(from, cut).unwrap_or((0, 0)), self.span(cut, to).unwrap_or((0, 0)));
        hood.kind = Kind::Pieces { merged, left, right };
        hood.window = (first, last);
        hood.current = if last == first + 1 {
            (self.phrases[first] - merged.0) as usize
        } else {
            let (l, r) = (self.phrases[first] - left.0, self.phrases[first + 1] - right.0);
            ((merged.1 - merged.0) + l * (right.1 - right.0) + r) as usize
        };
        let old = self.begin(judge, scratch, hood);
        let before = self.last(first);
        self.singles(judge, scratch, hood, merged, old);
        self.load(first, &mut scratch.cover);
        if left.0 == left.1 || right.0 == right.1 {
            return;
        }
        let Scratch { cover, inner, states: [one, two, next], tails, .. } = scratch;
        inner.clone_from(cover);
        inner.add(from, cut);
        let fits = self.fits(from, cut, before, cover) && self.fits(cut, to, cut, inner);
        if !fits {
            let pairs = (left.1 - left.0) * (right.1 - right.0);
            hood.scores.resize(hood.scores.len() + pairs as usize, f64::NEG_INFINITY);
            return;
        }
        let length = self.ready.sentence.len();
        for l in left.0..left.1 {
            let seen = step(self.ready, l, before, cover.view(length));
            let rule = judge.option(self.ready, &mut self.known, l);
            let score = rule + judge.step(self.ready, &seen, self.state(first), one) - old;
            for r in right.0..right.1 {
                let seen = step(self.ready, r, cut, inner.view(length));
                let rule = judge.option(self.ready, &mut self.known, r);
                let more = rule + judge.step(self.ready, &seen, one, two);
                let tail = self.tail(judge, tails, (last, to), two, next);
                hood.scores.push(score + more + tail);
            }
        }
    }

    /// All translations of the span of phrase `at`.
    pub(super) fn words(&mut self, judge: &mut impl Judge, scratch: &mut Scratch, hood: &mut Hood, at: usize) {
        let opt = self.ready.options.get(self.phrases[at]);
        let options = self.span(opt.from as usize, opt.to as usize).unwrap_or((0, 0));
        hood.kind = Kind::Words { options };
        hood.window = (at, at + 1);
        hood.current = (self.phrases[at] - options.0) as usize;
        let old = self.begin(judge, scratch, hood);
        self.singles(judge, scratch, hood, options, old);
    }

    /// Clears what the last neighbourhood left; the score of the window as it is.
    fn begin(&mut self, judge: &mut impl Judge, scratch: &mut Scratch, hood: &mut Hood) -> f64 {
        scratch.fit(self.ready.stride);
        scratch.tails.clear();
        hood.scores.clear();
        (hood.window.0..hood.window.1).map(|at| self.score(judge, at, &mut scratch.next)).sum()
    }

    /// The members that have one option in the window.
    fn singles(
        &mut self,
        judge: &mut impl Judge,
        scratch: &mut Scratch,
        hood: &mut Hood,
        (from, to): (u32, u32),
        old: f64,
    ) {
        let (first, last) = hood.window;
        let before = self.last(first);
        let Scratch { cover, states: [one, _, next], tails, .. } = scratch;
        self.load(first, cover);
        for option in from..to {
            let seen = step(self.ready, option, before, cover.view(self.ready.sentence.len()));
            if !self.fits(seen.from, seen.to, before, cover) {
                hood.scores.push(f64::NEG_INFINITY);
                continue;
            }
            let end = seen.to;
            let rule = judge.option(self.ready, &mut self.known, option);
            let score = rule + judge.step(self.ready, &seen, self.state(first), one);
            let tail = self.tail(judge, tails, (last, end), one, next);
            hood.scores.push(score + tail - old);
        }
    }

    /// What the phrases from `at` on score more or less after another state, if the phrase before ends at `last`.
    #[inline]
    fn tail(
        &mut self,
        judge: &mut impl Judge,
        tails: &mut Tails,
        (at, last): (usize, usize),
        state: &mut [u8],
        next: &mut Vec<u8>,
    ) -> f64 {
        if at == self.len() || (*state == *self.state(at) && last == self.last(at)) {
            return 0.0;
        }
        let free = match tails.find(state) {
            Ok(value) => return value,
            Err(free) => free,
        };
        if let Some(free) = free {
            tails.put(free, state, 0.0);
            let value = self.follow(judge, (at, last), state, next);
            tails.slots[free].2 = value;
            return value;
        }
        self.follow(judge, (at, last), state, next)
    }

    /// The same, worked out; `state` is used up.
    fn follow(
        &mut self,
        judge: &mut impl Judge,
        (mut at, mut last): (usize, usize),
        state: &mut [u8],
        next: &mut [u8],
    ) -> f64 {
        let mut more = 0.0;
        while at < self.len() && !(*state == *self.state(at) && last == self.last(at)) {
            let old = self.score(judge, at, next);
            let rule = judge.option(self.ready, &mut self.known, self.phrases[at]);
            more += rule + judge.step(self.ready, &self.step(at, last), state, next) - old;
            state.copy_from_slice(next);
            last = self.ready.options.get(self.phrases[at]).to as usize;
            at += 1;
        }
        more
    }

    /// The phrases `first` and `last` (this one included) in each other's place; false if that is not allowed.
    pub(super) fn exchange(
        &mut self,
        judge: &mut impl Judge,
        scratch: &mut Scratch,
        hood: &mut Hood,
        (first, last): (usize, usize),
    ) -> bool {
        hood.kind = Kind::Swap;
        hood.window = (first, last + 1);
        hood.current = 0;
        let mut sequence = std::mem::take(&mut scratch.sequence);
        hood.options(self, 1, &mut sequence);
        let allowed = self.allowed(scratch, hood.window, &sequence);
        if allowed {
            let old = self.begin(judge, scratch, hood);
            let more = self.run(judge, scratch, hood.window, &sequence);
            hood.scores.extend([0.0, more - old]);
        }
        scratch.sequence = sequence;
        allowed
    }

    /// Whether options may stand in a window, one after the other.
    fn allowed(&self, scratch: &mut Scratch, (first, last): (usize, usize), sequence: &[u32]) -> bool {
        let (cover, mut before) = (&mut scratch.cover, self.last(first));
        self.load(first, cover);
        let rest = self.phrases.get(last);
        for &option in sequence.iter().chain(rest) {
            let opt = self.ready.options.get(option);
            let (from, to) = (opt.from as usize, opt.to as usize);
            if !self.fits(from, to, before, cover) {
                return false;
            }
            cover.add(from, to);
            before = to;
        }
        true
    }

    /// The score of options in a window and of what changes behind it.
    fn run(
        &mut self,
        judge: &mut impl Judge,
        scratch: &mut Scratch,
        (first, last): (usize, usize),
        sequence: &[u32],
    ) -> f64 {
        let Scratch { cover, states: [one, next, _], .. } = scratch;
        let (mut sum, mut before) = (0.0, self.last(first));
        self.load(first, cover);
        one.copy_from_slice(self.state(first));
        for &option in sequence {
            let seen = step(self.ready, option, before, cover.view(self.ready.sentence.len()));
            let (from, to) = (seen.from, seen.to);
            let rule = judge.option(self.ready, &mut self.known, option);
            sum += rule + judge.step(self.ready, &seen, one, next);
            std::mem::swap(one, next);
            cover.add(from, to);
            before = to;
        }
        sum + self.follow(judge, (last, before), one, next)
    }

    /// Lists by how much the features of a member differ from those of the current derivation, times `sign`.
    pub(super) fn difference(
        &mut self,
        judge: &mut Learned,
        scratch: &mut Scratch,
        hood: &Hood,
        (member, sign): (usize, f64),
        out: &mut impl FnMut(u32, f64),
    ) {
        if member == hood.current {
            return;
        }
        let (first, last) = hood.window;
        let mut sequence = std::mem::take(&mut scratch.sequence);
        hood.options(self, member, &mut sequence);
        let mut rows = std::mem::take(&mut scratch.rows);
        rows.clear();
        let Scratch { cover, states: [one, next, _], .. } = scratch;
        let mut before = self.last(first);
        self.load(first, cover);
        one.copy_from_slice(self.state(first));
        for &option in &sequence {
            let seen = step(self.ready, option, before, cover.view(self.ready.sentence.len()));
            let (from, to) = (seen.from, seen.to);
            judge.list(self.ready, &mut self.known, (&seen, one), next, &mut rows);
            std::mem::swap(one, next);
            cover.add(from, to);
            before = to;
        }
        let mut at = last;
        while at < self.len() && !(**one == *self.state(at) && before == self.last(at)) {
            let mut known = std::mem::take(&mut self.known);
            judge.list(self.ready, &mut known, (&self.step(at, before), one), next, &mut rows);
            self.known = known;
            std::mem::swap(one, next);
            before = self.ready.options.get(self.phrases[at]).to as usize;
            at += 1;
        }
        rows.drain(..).for_each(|(id, value)| out(id, sign * f64::from(value)));
        for old in first..at {
            let mut known = std::mem::take(&mut self.known);
            judge.list(self.ready, &mut known, (&self.step(old, self.last(old)), self.state(old)), next, &mut rows);
            self.known = known;
        }
        rows.drain(..).for_each(|(id, value)| out(id, -sign * f64::from(value)));
        (scratch.sequence, scratch.rows) = (sequence, rows);
    }
}
