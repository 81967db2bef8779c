//! Neighbourhoods: the derivations that differ from the current one in one place, each with what it scores more.

use super::chain::{Chain, step};
use super::cover::Cover;
use super::judge::Judge;
use super::tails::Tails;
use dragoman_base::random::{Generator, unit};

/// Which derivations a neighbourhood has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// One span, translated in one piece or in two that follow each other.
    Pieces,
    /// The current order, and the one with the first and the last phrase of the window exchanged.
    Swap,
}

/// The neighbourhood of the current derivation. Members are known by numbers.
#[derive(Debug, Clone)]
pub struct Neighbourhood {
    kind: Kind,
    /// Phrases that members differ in: first, one past the last.
    pub(super) window: (usize, usize),
    /// Options that translate the window's span alone, and pairs that do together: each of the left ones with each of
    /// the right ones.
    pub(super) whole: Vec<u32>,
    pub(super) left: Vec<u32>,
    pub(super) right: Vec<u32>,
    /// Minus the logarithms of the chances that these had to be in the neighbourhood.
    lifts: [Vec<f64>; 3],
    /// Which member is the current derivation.
    pub current: usize,
    /// For each member, its score less that of the current derivation; minus infinity where it is not allowed.
    pub scores: Vec<f64>,
}

impl Default for Neighbourhood {
    fn default() -> Self {
        let (kind, window, current) = (Kind::Swap, (0, 0), 0);
        let (whole, left, right, scores) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { kind, window, whole, left, right, lifts: Default::default(), current, scores }
    }
}

impl Neighbourhood {
    /// The options that a member has in the window, in order.
    pub(super) fn options(&self, chain: &Chain<'_>, member: usize, out: &mut Vec<u32>) {
        out.clear();
        if self.kind == Kind::Swap {
            let (first, last) = self.window;
            out.extend_from_slice(&chain.phrases[first..last]);
            if member == 1 {
                out.swap(0, last - first - 1);
            }
        } else if member < self.whole.len() {
            out.push(self.whole[member]);
        } else {
            let pair = member - self.whole.len();
            out.push(self.left[pair / self.right.len()]);
            out.push(self.right[pair % self.right.len()]);
        }
    }

    /// Whether two phrases change places.
    pub(super) fn is_swap(&self) -> bool {
        self.kind == Kind::Swap
    }

    /// Appends for each member by how much its logarithm must be lifted since it was not certain to be here.
    pub(super) fn lift(&self, shares: &mut [f64]) {
        if self.kind == Kind::Swap {
            return;
        }
        let [whole, left, right] = &self.lifts;
        shares.iter_mut().zip(whole).for_each(|(share, lift)| *share += lift);
        if right.is_empty() {
            return;
        }
        for (row, one) in shares[whole.len()..].chunks_exact_mut(right.len()).zip(left) {
            row.iter_mut().zip(right).for_each(|(share, two)| *share += one + two);
        }
    }

    /// Takes some options of each range; all of them if `width` is 0. The current ones are always in, the first `width`
    /// too, and number i from 0 on with the chance width / (i + 1).
    fn choose(&mut self, ranges: [Range; 3], current: [u32; 3], width: usize, rng: &mut Generator) {
        let Self { whole, left, right, lifts, .. } = self;
        for (place, list) in [whole, left, right].into_iter().enumerate() {
            let (range, now, lifts) = (ranges[place].clone(), current[place], &mut lifts[place]);
            list.clear();
            lifts.clear();
            let first = range.start;
            for option in range {
                let chance = width as f64 / f64::from(option - first + 1);
                if width == 0 || chance >= 1.0 {
                    list.push(option);
                    lifts.push(0.0);
                } else if option == now || unit(rng) < chance {
                    list.push(option);
                    lifts.push(-chance.ln());
                }
            }
        }
    }

    /// Where an option is among those taken.
    fn place(list: &[u32], option: u32) -> usize {
        list.iter().position(|&other| other == option).unwrap_or(0)
    }
}

/// Numbers of options that follow each other.
type Range = std::ops::Range<u32>;

fn range(span: Option<(u32, u32)>) -> Range {
    span.map_or(0..0, |(first, last)| first..last)
}

/// Space that moves need, shared by all chains of a thread.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) cover: Cover,
    inner: Cover,
    pub(super) next: Vec<u8>,
    pub(super) old: Vec<u8>,
    pub(super) states: [Vec<u8>; 3],
    tails: Tails,
    pub(super) sequence: Vec<u32>,
    pub(super) rows: Vec<(u32, f32)>,
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

impl Chain<'_> {
    /// All ways to translate the span from `from` up to `to`, whose phrases are the window, in one piece or cut at
    /// `cut`; or some of them.
    pub(super) fn pieces(
        &mut self,
        judge: &mut impl Judge,
        scratch: &mut Scratch,
        neighbourhood: &mut Neighbourhood,
        ((first, last), (from, cut, to)): ((usize, usize), (usize, usize, usize)),
        (width, rng): (usize, &mut Generator),
    ) {
        neighbourhood.kind = Kind::Pieces;
        neighbourhood.window = (first, last);
        let merged = last == first + 1;
        let ranges = [range(self.span(from, to)), range(self.span(from, cut)), range(self.span(cut, to))];
        let (one, two) = (self.phrases[first], self.phrases[last - 1]);
        let current = if merged { [one, u32::MAX, u32::MAX] } else { [u32::MAX, one, two] };
        neighbourhood.choose(ranges, current, width, rng);
        neighbourhood.current = if merged {
            Neighbourhood::place(&neighbourhood.whole, one)
        } else {
            let row = Neighbourhood::place(&neighbourhood.left, one) * neighbourhood.right.len();
            neighbourhood.whole.len() + row + Neighbourhood::place(&neighbourhood.right, two)
        };
        let old = self.begin(judge, scratch, neighbourhood);
        self.singles(judge, scratch, neighbourhood, old);
        if !neighbourhood.left.is_empty() && !neighbourhood.right.is_empty() {
            self.pairs(judge, scratch, neighbourhood, (from, cut, to), old);
        }
    }

    /// The members that have two options in the window.
    fn pairs(
        &mut self,
        judge: &mut impl Judge,
        scratch: &mut Scratch,
        neighbourhood: &mut Neighbourhood,
        (from, cut, to): (usize, usize, usize),
        old: f64,
    ) {
        let (first, last) = neighbourhood.window;
        let before = self.last(first);
        let Scratch { cover, inner, states: [one, two, next], tails, .. } = scratch;
        self.load(first, cover);
        inner.bits.clear();
        inner.bits.extend_from_slice(&cover.bits);
        (inner.gap, inner.count) = (cover.gap, cover.count);
        inner.add(from, cut);
        if !(self.fits(from, cut, before, cover) && self.fits(cut, to, cut, inner)) {
            let all = neighbourhood.whole.len() + neighbourhood.left.len() * neighbourhood.right.len();
            neighbourhood.scores.resize(all, f64::NEG_INFINITY);
            return;
        }
        let length = self.ready.sentence().len();
        for &left in &neighbourhood.left {
            let seen = step(self.ready, left, before, cover.view(length));
            let rule = judge.option(self.ready, &mut self.known, left);
            let score = rule + judge.step(self.ready, &seen, self.state(first), one) - old;
            for &right in &neighbourhood.right {
                let seen = step(self.ready, right, cut, inner.view(length));
                let rule = judge.option(self.ready, &mut self.known, right);
                let more = rule + judge.step(self.ready, &seen, one, two);
                let tail = self.tail(judge, tails, (last, to), two, next);
                neighbourhood.scores.push(score + more + tail);
            }
        }
    }

    /// All translations of the span of phrase `at`, or some of them.
    pub(super) fn words(
        &mut self,
        judge: &mut impl Judge,
        scratch: &mut Scratch,
        neighbourhood: &mut Neighbourhood,
        at: usize,
        (width, rng): (usize, &mut Generator),
    ) {
        let now = self.phrases[at];
        let opt = self.ready.options().get(now);
        let options = range(self.span(opt.from as usize, opt.to as usize));
        neighbourhood.kind = Kind::Pieces;
        neighbourhood.window = (at, at + 1);
        neighbourhood.choose([options, 0..0, 0..0], [now, u32::MAX, u32::MAX], width, rng);
        neighbourhood.current = Neighbourhood::place(&neighbourhood.whole, now);
        let old = self.begin(judge, scratch, neighbourhood);
        self.singles(judge, scratch, neighbourhood, old);
    }

    /// Clears what the last neighbourhood left; the score of the window as it is.
    fn begin(
        &mut self,
        judge: &mut impl Judge,
        scratch: &mut Scratch,
        neighbourhood: &mut Neighbourhood,
    ) -> f64 {
        scratch.fit(self.ready.stride());
        scratch.tails.clear();
        neighbourhood.scores.clear();
        (neighbourhood.window.0..neighbourhood.window.1)
            .map(|at| self.score(judge, at, &mut scratch.next))
            .sum()
    }

    /// The members that have one option in the window.
    fn singles(
        &mut self,
        judge: &mut impl Judge,
        scratch: &mut Scratch,
        neighbourhood: &mut Neighbourhood,
        old: f64,
    ) {
        let (first, last) = neighbourhood.window;
        let before = self.last(first);
        let Scratch { cover, states: [one, _, next], tails, .. } = scratch;
        self.load(first, cover);
        for &option in &neighbourhood.whole {
            let seen = step(self.ready, option, before, cover.view(self.ready.sentence().len()));
            if !self.fits(seen.from, seen.to, before, cover) {
                neighbourhood.scores.push(f64::NEG_INFINITY);
                continue;
            }
            let end = seen.to;
            let rule = judge.option(self.ready, &mut self.known, option);
            let score = rule + judge.step(self.ready, &seen, self.state(first), one);
            let tail = self.tail(judge, tails, (last, end), one, next);
            neighbourhood.scores.push(score + tail - old);
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
        next: &mut [u8],
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
            tails.set(free, value);
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
            last = self.ready.options().get(self.phrases[at]).to as usize;
            at += 1;
        }
        more
    }

    /// The phrases `first` and `last` (this one included) in each other's place; false if that is not allowed.
    pub(super) fn exchange(
        &mut self,
        judge: &mut impl Judge,
        scratch: &mut Scratch,
        neighbourhood: &mut Neighbourhood,
        (first, last): (usize, usize),
    ) -> bool {
        neighbourhood.kind = Kind::Swap;
        neighbourhood.window = (first, last + 1);
        neighbourhood.current = 0;
        let mut sequence = std::mem::take(&mut scratch.sequence);
        neighbourhood.options(self, 1, &mut sequence);
        let allowed = self.allowed(scratch, neighbourhood.window, &sequence);
        if allowed {
            let old = self.begin(judge, scratch, neighbourhood);
            let more = self.run(judge, scratch, neighbourhood.window, &sequence);
            neighbourhood.scores.extend([0.0, more - old]);
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
            let opt = self.ready.options().get(option);
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
            let seen = step(self.ready, option, before, cover.view(self.ready.sentence().len()));
            let (from, to) = (seen.from, seen.to);
            let rule = judge.option(self.ready, &mut self.known, option);
            sum += rule + judge.step(self.ready, &seen, one, next);
            std::mem::swap(one, next);
            cover.add(from, to);
            before = to;
        }
        sum + self.follow(judge, (last, before), one, next)
    }
}
