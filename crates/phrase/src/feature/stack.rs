//! The shift-reduce stack of source blocks that hierarchical reordering looks at.

use super::reordering::Orientation;
use dragoman_base::{Error, Result};
use rustc_hash::FxHashMap;

/// When blocks become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Parser {
    /// The two on top are neighbours.
    #[default]
    Plain,
    /// Any number of those on top are, together, a contiguous block (Cherry, Moore & Quirk 2012): so 2 4 1 3 is one.
    Unrestricted,
}

impl Parser {
    /// By name, as models have it.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "plain" => Ok(Self::Plain),
            "unrestricted" => Ok(Self::Unrestricted),
            other => Err(Error::Invalid(format!("parser must be plain or unrestricted, found `{other}`"))),
        }
    }
}

/// A stack, a span that is shifted on it, and how.
type Shift = ([u32; 3], Parser);

/// Stacks of source blocks, interned: a stack is its top block and the stack below it, and equal stacks have equal
/// numbers. 0 is the empty stack.
#[derive(Debug, Default)]
pub struct Stacks {
    /// From, up to, the stack below; the number of an entry is its place plus one.
    entries: Vec<[u32; 3]>,
    numbers: FxHashMap<[u32; 3], u32>,
    shifts: [FxHashMap<[u32; 3], (Orientation, u32)>; 2],
    /// The last shift: features ask one after the other.
    last: Option<(Shift, (Orientation, u32))>,
}

impl Stacks {
    /// Shifts a span on a stack and merges while the blocks on top can be one.
    pub fn shift(&mut self, stack: u32, from: u32, to: u32, parser: Parser) -> (Orientation, u32) {
        let key = ([stack, from, to], parser);
        if let Some((last, known)) = self.last
            && last == key
        {
            return known;
        }
        let known = self.shifts[parser as usize].get(&key.0).copied();
        let made = known.unwrap_or_else(|| self.make(key));
        self.last = Some((key, made));
        made
    }

    fn make(&mut self, ([stack, from, to], parser): Shift) -> (Orientation, u32) {
        let orientation = match self.top(stack) {
            None if from == 0 => Orientation::M,
            Some([_, end, _]) if end == from => Orientation::M,
            Some([start, _, _]) if start == to => Orientation::S,
            _ => Orientation::D,
        };
        let (mut block, mut below) = ([from, to], stack);
        while let Some((merged, rest)) = self.merge(block, below, parser) {
            (block, below) = (merged, rest);
        }
        let made = (orientation, self.intern([block[0], block[1], below]));
        self.shifts[parser as usize].insert([stack, from, to], made);
        made
    }

    /// The block and the fewest of those below it that are contiguous together, and the stack under them.
    fn merge(&self, [from, to]: [u32; 2], below: u32, parser: Parser) -> Option<([u32; 2], u32)> {
        let (mut low, mut high, mut words, mut at) = (from, to, to - from, below);
        while let Some([start, end, rest]) = self.top(at) {
            (low, high, words) = (low.min(start), high.max(end), words + (end - start));
            if high - low == words {
                return Some(([low, high], rest));
            }
            if parser == Parser::Plain {
                return None;
            }
            at = rest;
        }
        None
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
        parsed(spans, Parser::Plain)
    }

    fn parsed(spans: &[(u32, u32)], parser: Parser) -> (Vec<Orientation>, Vec<[u32; 2]>) {
        let (mut stacks, mut stack) = (Stacks::default(), 0);
        let mut seen = Vec::new();
        for &(from, to) in spans {
            let (orientation, next) = stacks.shift(stack, from, to, parser);
            assert_eq!(stacks.shift(stack, from, to, parser), (orientation, next));
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

    #[test]
    fn an_unrestricted_parser_makes_one_block_of_any_that_are_contiguous() {
        use Orientation::{D, M};
        // 1 3 0 2 (2 4 1 3 in the paper's count) is one block at its end, which 4-5 follows.
        let (seen, blocks) = parsed(&[(1, 2), (3, 4), (0, 1), (2, 3), (4, 5)], Parser::Unrestricted);
        assert_eq!((seen, blocks), (vec![D, D, D, D, M], vec![[0, 5]]));
        assert_eq!(orientations(&[(1, 2), (3, 4), (0, 1), (2, 3), (4, 5)]).0[4], D);
    }

    /// Slowly: after each span, any number of blocks on top whose words are all the words between their ends.
    fn slow(spans: &[(u32, u32)]) -> Vec<Vec<[u32; 2]>> {
        let (mut stack, mut after): (Vec<Vec<u32>>, _) = (Vec::new(), Vec::new());
        for &(from, to) in spans {
            stack.push((from..to).collect());
            while let Some(count) = (2..=stack.len()).find(|&k| {
                let mut words: Vec<u32> = stack[stack.len() - k..].concat();
                words.sort_unstable();
                words.windows(2).all(|pair| pair[0] + 1 == pair[1])
            }) {
                let mut words = stack.split_off(stack.len() - count).concat();
                words.sort_unstable();
                stack.push(words);
            }
            after.push(stack.iter().rev().map(|b| [b[0], b[b.len() - 1] + 1]).collect());
        }
        after
    }

    #[test]
    fn all_orders_of_six_phrases_parse_as_they_do_slowly() {
        fn orders(rest: &mut Vec<u32>, so_far: &mut Vec<u32>, visit: &mut dyn FnMut(&[u32])) {
            if rest.is_empty() {
                visit(so_far);
            }
            for at in 0..rest.len() {
                let word = rest.remove(at);
                so_far.push(word);
                orders(rest, so_far, visit);
                so_far.pop();
                rest.insert(at, word);
            }
        }
        let mut seen = 0;
        orders(&mut (0..6).collect(), &mut Vec::new(), &mut |order| {
            let spans: Vec<(u32, u32)> = order.iter().map(|&word| (word, word + 1)).collect();
            let want = slow(&spans);
            for end in 1..=spans.len() {
                assert_eq!(parsed(&spans[..end], Parser::Unrestricted).1, want[end - 1], "{order:?}");
            }
            seen += 1;
        });
        assert_eq!(seen, 720);
    }
}
