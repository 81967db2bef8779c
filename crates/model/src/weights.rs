//! The weights of one run, by feature number, in blocks that weights which differ in few features share.
//!
//! Tuning tries many weights that differ little, and several of them are in use at once on different threads. So
//! weights are values that never change: [`Weights::changed`] copies the blocks that it touches and shares all others.
//! The features that a system has from the start, dense ones first, lie in one piece, since the search asks for them
//! all the time.

use dragoman_base::Blocks;
use std::sync::Arc;

/// Weights as the search multiplies with them.
#[derive(Debug, Clone)]
pub struct Weights {
    /// Of the features that the system had when it was opened.
    head: Arc<[f32]>,
    /// Of all others that there were when these weights were made.
    rest: Blocks<f32>,
    /// Tells these weights from all others of the same system: sums are remembered under it.
    epoch: u32,
    /// For each sparse set the number of features that weigh anything.
    counts: Vec<u32>,
}

impl Weights {
    /// From plain numbers, of which the first `head` are in one piece; `set` tells the sparse set of a feature, of `sets`
    /// that there are.
    pub(crate) fn new(
        values: &[f32],
        head: usize,
        epoch: u32,
        sets: usize,
        set: impl Fn(u32) -> Option<usize>,
    ) -> Self {
        let (first, rest) = values.split_at(head);
        let mut counts = vec![0; sets];
        for (id, _) in values.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            if let Some(set) = set(id as u32) {
                counts[set] += 1;
            }
        }
        Self { head: first.into(), rest: Blocks::new(rest), epoch, counts }
    }

    /// The same with other values for some features, `len` in all at least, under a number of their own. `set` tells
    /// the sparse set of a feature.
    pub(crate) fn changed(
        &self,
        changes: impl IntoIterator<Item = (u32, f32)>,
        len: usize,
        epoch: u32,
        set: impl Fn(u32) -> Option<usize>,
    ) -> Self {
        let mut made = Self { epoch, ..self.clone() };
        made.rest.grow(len.saturating_sub(self.head.len()));
        for (id, value) in changes {
            let before = made.replace(id as usize, value) != 0.0;
            if before != (value != 0.0)
                && let Some(set) = set(id)
            {
                made.counts[set] = if before { made.counts[set] - 1 } else { made.counts[set] + 1 };
            }
        }
        made
    }

    /// Puts a weight in memory that nobody else sees; gives the one before.
    fn replace(&mut self, id: usize, value: f32) -> f32 {
        let head = self.head.len();
        if id < head {
            return std::mem::replace(&mut Arc::make_mut(&mut self.head)[id], value);
        }
        self.rest.replace(id - head, value)
    }

    /// The weight of a feature; features past the end weigh nothing.
    #[inline]
    pub fn weight(&self, id: u32) -> f32 {
        match self.head.get(id as usize) {
            Some(weight) => *weight,
            None => self.rest.get(id as usize - self.head.len()),
        }
    }

    /// The weights of the features that the system had when it was opened: dense ones, then closed sets.
    #[inline]
    pub fn head(&self) -> &[f32] {
        &self.head
    }

    /// Number of features; those that were met later weigh nothing.
    pub fn len(&self) -> usize {
        self.head.len() + self.rest.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All weights, by number.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = f32> + '_ {
        (0..self.len() as u32).map(|id| self.weight(id))
    }

    /// A number that no other weights of the system have.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Whether any feature of a sparse set weighs anything.
    pub fn weighs(&self, set: usize) -> bool {
        self.counts.get(set).is_some_and(|&count| count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dragoman_base::blocks::BLOCK;
    use proptest::prelude::*;

    const HEAD: usize = 7;

    /// Dense features have no set, others one of two.
    fn set(id: u32) -> Option<usize> {
        (id >= 5).then_some(id as usize % 2)
    }

    proptest! {
        /// Chains of changes against plain vectors; all that came before stay what they were.
        #[test]
        fn changes_are_those_of_a_vector(
            steps in prop::collection::vec(
                (0usize..40, prop::collection::vec((0u32..3000, prop::sample::select(vec![0.0f32, 1.0, -2.5])), 0..30)),
                1..12,
            ),
        ) {
            let plain: Vec<f32> = (0..100).map(|id| [0.0, 0.5][usize::from(id % 3 == 1)]).collect();
            let mut all = vec![(Weights::new(&plain, HEAD, 0, 2, set), plain)];
            for (at, (from, changes)) in steps.iter().enumerate() {
                // Not always the last ones are changed.
                let (weights, plain) = &all[all.len() - 1 - from % all.len()];
                let mut plain = plain.clone();
                let len = changes.iter().map(|&(id, _)| id as usize + 1).max().unwrap_or(0);
                plain.resize(plain.len().max(len), 0.0);
                for &(id, value) in changes {
                    plain[id as usize] = value;
                }
                all.push((weights.changed(changes.iter().copied(), len, at as u32 + 1, set), plain));
            }
            for (at, (weights, plain)) in all.iter().enumerate() {
                prop_assert_eq!(weights.epoch() as usize, at);
                prop_assert_eq!(&weights.iter().collect::<Vec<_>>(), plain);
                prop_assert_eq!(weights.head(), &plain[..HEAD]);
                prop_assert_eq!((weights.weight(5000), weights.weight(plain.len() as u32)), (0.0, 0.0));
                for number in 0..2 {
                    let any = (0..plain.len() as u32).any(|id| set(id) == Some(number) && plain[id as usize] != 0.0);
                    prop_assert_eq!(weights.weighs(number), any);
                }
            }
        }
    }

    #[test]
    fn what_is_not_touched_is_shared() {
        let first = Weights::new(&vec![0.0; HEAD + 10 * BLOCK], HEAD, 0, 0, |_| None);
        let second = first.changed([((HEAD + 3 * BLOCK) as u32, 1.0)], 0, 1, |_| None);
        assert_eq!(first.rest.shared(&second.rest), 9);
        assert!(Arc::ptr_eq(&first.head, &second.head));
    }
}
