//! The weights of one run, by feature number, and which of them are the sparse sets'.

use std::ops::Deref;

/// Weights as the search multiplies with them. Derefs to the plain numbers; features past their end weigh nothing.
#[derive(Debug, Clone, Default)]
pub struct Weights {
    values: Vec<f32>,
    /// Tells these weights from all others of the same system: sums are remembered under it.
    epoch: u32,
    /// For each sparse set the features that weigh anything.
    sets: Vec<Vec<u32>>,
}

impl Weights {
    pub(crate) fn new(values: Vec<f32>, epoch: u32, sets: Vec<Vec<u32>>) -> Self {
        Self { values, epoch, sets }
    }

    /// A number that no other weights of the system have.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The features of a sparse set that weigh anything.
    pub fn of_set(&self, set: usize) -> &[u32] {
        self.sets.get(set).map_or(&[], Vec::as_slice)
    }
}

impl Deref for Weights {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.values
    }
}
