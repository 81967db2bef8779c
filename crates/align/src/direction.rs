//! What all samplers of one direction share.

use crate::bitext::Side;
use crate::cells::Cells;
use std::sync::Arc;

/// What all samplers of a direction share.
#[derive(Debug)]
pub struct Direction {
    /// The side that is conditioned on.
    pub given: Arc<Side>,
    /// The side that is generated.
    pub made: Arc<Side>,
    /// Places of the counts.
    pub cells: Cells,
    /// For each given token, the next position of the same type in its sentence, around in a ring.
    pub ring: Vec<u32>,
    /// Words of the longest given sentence.
    pub longest: usize,
}

impl Direction {
    /// Indexes a bitext.
    pub fn new(given: &Arc<Side>, made: &Arc<Side>) -> Self {
        Self::with(given, made, 2)
    }

    /// The same with a count for each pair of types that has `least` cells.
    pub fn with(given: &Arc<Side>, made: &Arc<Side>, least: u32) -> Self {
        let mut ring = vec![0; given.tokens.len()];
        let mut last = vec![u32::MAX; given.types];
        let mut longest = 0;
        for s in 0..given.len() {
            let (start, words) = (given.starts[s], given.sentence(s));
            longest = longest.max(words.len());
            // Backwards, so that each token finds the one after it; the last closes the ring with the first.
            for (i, &e) in words.iter().enumerate().rev() {
                ring[start + i] = last[e as usize];
                last[e as usize] = i as u32;
            }
            for (i, &e) in words.iter().enumerate() {
                if ring[start + i] == u32::MAX {
                    ring[start + i] = last[e as usize];
                }
            }
            for &e in words {
                last[e as usize] = u32::MAX;
            }
        }
        Self {
            given: given.clone(),
            made: made.clone(),
            cells: Cells::new(given, made, least),
            ring,
            longest,
        }
    }
}
