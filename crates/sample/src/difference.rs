//! The features in which two neighbours differ.

use super::chain::{Chain, step};
use super::judge::Learned;
use super::neighbourhood::{Neighbourhood, Scratch};

impl Chain<'_> {
    /// Lists by how much the features of a member differ from those of the current derivation.
    pub(super) fn difference(
        &mut self,
        judge: &mut Learned,
        scratch: &mut Scratch,
        neighbourhood: &Neighbourhood,
        member: usize,
        out: &mut impl FnMut(u32, f64),
    ) {
        if member == neighbourhood.current {
            return;
        }
        let (first, last) = neighbourhood.window;
        let mut sequence = std::mem::take(&mut scratch.sequence);
        neighbourhood.options(self, member, &mut sequence);
        let mut rows = std::mem::take(&mut scratch.rows);
        rows.clear();
        let Scratch { cover, states: [one, next, _], .. } = scratch;
        let mut before = self.last(first);
        self.load(first, cover);
        one.copy_from_slice(self.state(first));
        for &option in &sequence {
            let seen = step(self.ready, option, before, cover.view(self.ready.sentence().len()));
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
            before = self.ready.options().get(self.phrases[at]).to as usize;
            at += 1;
        }
        rows.drain(..).for_each(|(id, value)| out(id, f64::from(value)));
        for old in first..at {
            let mut known = std::mem::take(&mut self.known);
            judge.list(
                self.ready,
                &mut known,
                (&self.step(old, self.last(old)), self.state(old)),
                next,
                &mut rows,
            );
            self.known = known;
        }
        rows.drain(..).for_each(|(id, value)| out(id, -f64::from(value)));
        (scratch.sequence, scratch.rows) = (sequence, rows);
    }
}
