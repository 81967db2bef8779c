//! The shift-reduce stack of source blocks that hierarchical reordering looks at.

use super::reordering::Orientation;
use rustc_hash::FxHashMap;

/// Stacks of source blocks, interned: a stack is its top block and the stack below it, and equal stacks have equal
/// numbers. 0 is the empty stack.
#[derive(Debug, Default)]
pub struct Stacks {
    /// From, up to, the stack below; the number of an entry is its place plus one.
    entries: Vec<[u32; 3]>,
    numbers: FxHashMap<[u32; 3], u32>,
    shifts: FxHashMap<[u32; 3], (Orientation, u32)>,
    /// The last shift: features ask one after the other.
    last: Option<([u32; 3], (Orientation, u32))>,
}

impl Stacks {
    /// Shifts a span on a stack and merges while the two blocks on top are neighbours.
    pub fn shift(&mut self, stack: u32, from: u32, to: u32) -> (Orientation, u32) {
        let key = [stack, from, to];
        if let Some((last, known)) = self.last
            && last == key
        {
            return known;
        }
        let known = self.shifts.get(&key).copied();
        let made = known.unwrap_or_else(|| self.make(key));
        self.last = Some((key, made));
        made
    }

    fn make(&mut self, [stack, from, to]: [u32; 3]) -> (Orientation, u32) {
        let orientation = match self.top(stack) {
            None if from == 0 => Orientation::M,
            Some([_, end, _]) if end == from => Orientation::M,
            Some([start, _, _]) if start == to => Orientation::S,
            _ => Orientation::D,
        };
        let (mut block, mut below) = ([from, to], stack);
        while let Some([start, end, rest]) = self.top(below) {
            if end == block[0] {
                block[0] = start;
            } else if start == block[1] {
                block[1] = end;
            } else {
                break;
            }
            below = rest;
        }
        let made = (orientation, self.intern([block[0], block[1], below]));
        self.shifts.insert([stack, from, to], made);
        made
    }

    /// From, up to, and the stack below of the block on top.
    pub fn top(&self, stack: u32) -> Option<[u32; 3]> {
        (stack > 0).then(|| self.entries[stack as usize - 1])
    }

    fn intern(&mut self, entry: [u32; 3]) -> u32 {
        let entries = &mut self.entries;
        *self.numbers.entry(entry).or_insert_with(|| {
            entries.push(entry);
            entries.len() as u32
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orientations(spans: &[(u32, u32)]) -> (Vec<Orientation>, Vec<[u32; 2]>) {
        let (mut stacks, mut stack) = (Stacks::default(), 0);
        let mut seen = Vec::new();
        for &(from, to) in spans {
            let (orientation, next) = stacks.shift(stack, from, to);
            assert_eq!(stacks.shift(stack, from, to), (orientation, next));
            seen.push(orientation);
            stack = next;
        }
        let mut blocks = Vec::new();
        while let Some([from, to, rest]) = stacks.top(stack) {
            blocks.push([from, to]);
            stack = rest;
        }
        (seen, blocks)
    }

    #[test]
    fn blocks_merge_as_far_as_they_are_neighbours() {
        use Orientation::{D, M, S};
        // After 0-2, 4-6, 2-4 is a swap towards 4-6, and all becomes one block, which 6-7 follows.
        let (seen, blocks) = orientations(&[(0, 2), (4, 6), (2, 4), (6, 7)]);
        assert_eq!((seen, blocks), (vec![M, D, S, M], vec![[0, 7]]));
        // 1 3 0 2 has no neighbours on top of the stack until the end.
        let (seen, blocks) = orientations(&[(1, 2), (3, 4), (0, 1), (2, 3)]);
        assert_eq!((seen, blocks), (vec![D, D, D, D], vec![[2, 3], [0, 1], [3, 4], [1, 2]]));
    }
}
