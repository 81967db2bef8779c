//! Values that belong to the rules of a table, shared by all threads. Space comes with use.

use std::sync::OnceLock;

/// Rules whose values come into being together.
const CHUNK: usize = 1 << 12;

/// So many values for each rule of a table.
pub struct Chunks<T> {
    chunks: Vec<OnceLock<Box<[T]>>>,
    each: usize,
}

impl<T: Default> Chunks<T> {
    /// Room for `each` values of each of so many rules.
    pub fn new(rules: usize, each: usize) -> Self {
        Self { chunks: (0..rules.div_ceil(CHUNK)).map(|_| OnceLock::new()).collect(), each }
    }

    /// A value of a rule.
    #[inline]
    pub fn at(&self, rule: u32, way: usize) -> &T {
        let made = || (0..CHUNK * self.each).map(|_| T::default()).collect();
        &self.chunks[rule as usize / CHUNK].get_or_init(made)[rule as usize % CHUNK * self.each + way]
    }

    /// The same, if there is space yet.
    pub fn get(&self, rule: u32, way: usize) -> Option<&T> {
        Some(&self.chunks[rule as usize / CHUNK].get()?[rule as usize % CHUNK * self.each + way])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn every_value_has_its_place() {
        let rules = CHUNK as u32 * 2 + 3;
        let values = Chunks::<AtomicU32>::new(rules as usize, 2);
        let all = || (0..rules).flat_map(|rule| [(rule, 0), (rule, 1)]).zip(1..);
        assert!(values.get(0, 0).is_none());
        for ((rule, way), number) in all() {
            assert_eq!(values.at(rule, way).swap(number, Ordering::Relaxed), 0);
        }
        for ((rule, way), number) in all() {
            assert_eq!(values.get(rule, way).unwrap().load(Ordering::Relaxed), number);
        }
    }
}
