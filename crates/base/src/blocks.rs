//! A vector that never changes: a changed one copies the blocks that it touches and shares all others.
//!
//! Tuning tries many weights that differ little, and several of them are in use at once on different threads.

use std::sync::Arc;

/// Numbers of a block: what a change copies, against what it has to share one by one.
pub const BLOCK: usize = 512;

type Block<T> = [T; BLOCK];

/// The vector; what lies past its end is zero.
#[derive(Debug, Clone)]
pub struct Blocks<T> {
    blocks: Vec<Arc<Block<T>>>,
    len: usize,
}

impl<T: Copy + Default + PartialEq> Blocks<T> {
    /// From plain numbers. Blocks of zeros are one and the same.
    pub fn new(values: &[T]) -> Self {
        let nothing = Arc::new([T::default(); BLOCK]);
        let block = |values: &[T]| {
            if values.iter().all(|value| *value == T::default()) {
                return Arc::clone(&nothing);
            }
            let mut block = [T::default(); BLOCK];
            block[..values.len()].copy_from_slice(values);
            Arc::new(block)
        };
        Self { blocks: values.chunks(BLOCK).map(block).collect(), len: values.len() }
    }

    /// Makes room for more zeros, which all share a block.
    pub fn grow(&mut self, len: usize) {
        let blocks = len.div_ceil(BLOCK);
        if self.blocks.len() < blocks {
            self.blocks.resize(blocks, Arc::new([T::default(); BLOCK]));
        }
        self.len = self.len.max(len);
    }

    /// Puts a number in memory that nobody else sees; gives the one before. It must be inside.
    pub fn replace(&mut self, at: usize, value: T) -> T {
        std::mem::replace(&mut Arc::make_mut(&mut self.blocks[at / BLOCK])[at % BLOCK], value)
    }

    /// A number.
    #[inline]
    pub fn get(&self, at: usize) -> T {
        self.blocks.get(at / BLOCK).map_or(T::default(), |block| block[at % BLOCK])
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All of them.
    pub fn to_vec(&self) -> Vec<T> {
        let mut all = Vec::with_capacity(self.blocks.len() * BLOCK);
        self.blocks.iter().for_each(|block| all.extend_from_slice(&block[..]));
        all.truncate(self.len);
        all
    }

    /// Blocks that two vectors share, at the same place.
    pub fn shared(&self, other: &Self) -> usize {
        self.blocks.iter().zip(&other.blocks).filter(|(a, b)| Arc::ptr_eq(a, b)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_one_stays_and_shares() {
        let plain: Vec<f64> = (0..10 * BLOCK + 3).map(|i| f64::from(i as u32)).collect();
        let first = Blocks::new(&plain);
        let mut second = first.clone();
        second.grow(11 * BLOCK + 1);
        assert_eq!(second.replace(3 * BLOCK, -1.0), (3 * BLOCK) as f64);
        second.replace(11 * BLOCK, 7.0);
        assert_eq!(first.to_vec(), plain);
        assert_eq!(
            (second.get(3 * BLOCK), second.get(11 * BLOCK), second.get(11 * BLOCK - 1)),
            (-1.0, 7.0, 0.0)
        );
        assert_eq!(
            (first.len(), second.len(), second.to_vec().len()),
            (plain.len(), 11 * BLOCK + 1, 11 * BLOCK + 1)
        );
        assert_eq!(first.shared(&second), 10);
        assert_eq!((first.get(99 * BLOCK), Blocks::<f64>::new(&[]).is_empty()), (0.0, true));
    }
}
