//! Extraction for a given input: only rules whose source side some line of it can match, words in order and something in
//! every gap.

use super::Options;
use dragoman_base::io::Lines;
use dragoman_base::{Names, Result, words};
use rustc_hash::FxHashMap;

/// A word that the input does not have.
pub const ABSENT: u32 = u32::MAX;
/// A gap in a pattern.
pub const GAP: u32 = u32::MAX - 1;

/// Where every short phrase of the input is.
#[derive(Debug, Default)]
pub struct Filter {
    names: Names,
    /// For each phrase, line and first word of its occurrences, in order.
    places: FxHashMap<Box<[u32]>, Vec<(u32, u32)>>,
    /// Words of each line.
    lengths: Vec<u32>,
}

/// The input's id of each word of a bitext, as far as that has been read.
#[derive(Debug, Default)]
pub struct Asked(Vec<u32>);

impl Asked {
    /// Appends the ids that words of the bitext have in the input.
    pub fn put(&mut self, filter: &Filter, bitext: &Names, words: &[u32], out: &mut Vec<u32>) {
        for id in self.0.len()..bitext.len() {
            self.0.push(filter.names.get(bitext.name(id as u32)).unwrap_or(ABSENT));
        }
        out.extend(words.iter().map(|&word| self.0[word as usize]));
    }
}

impl Filter {
    /// The filter that options ask for.
    pub fn for_rules(options: &Options) -> Result<Option<Self>> {
        let Some(limits) = options.gaps.as_ref().filter(|_| !options.filter.is_empty()) else {
            return Ok(None);
        };
        Self::read(&options.filter, limits.symbols).map(Some)
    }

    /// Reads the input; phrases of up to `longest` words will be asked about.
    pub fn read(paths: &[String], longest: usize) -> Result<Self> {
        let mut filter = Self::default();
        for path in paths {
            let mut lines = Lines::open(path)?;
            while let Some(line) = lines.next()? {
                let ids: Vec<u32> = words(line).map(|word| filter.names.intern(word)).collect();
                filter.add(&ids, longest);
            }
        }
        Ok(filter)
    }

    /// A filter of one line, whose words have ids already.
    pub fn of_line(line: &[u32], longest: usize) -> Self {
        let mut filter = Self::default();
        filter.add(line, longest);
        filter
    }

    fn add(&mut self, line: &[u32], longest: usize) {
        let number = self.lengths.len() as u32;
        self.lengths.push(line.len() as u32);
        for length in 1..=longest {
            for (at, phrase) in line.windows(length).enumerate() {
                let place = (number, at as u32);
                match self.places.get_mut(phrase) {
                    Some(places) => places.push(place),
                    None => drop(self.places.insert(phrase.into(), vec![place])),
                }
            }
        }
    }

    /// Whether some line has the words of a pattern in order, with at least one word in each gap.
    pub fn matches(&self, pattern: &[u32]) -> bool {
        let mut chunks = pattern.split(|&symbol| symbol == GAP).filter(|chunk| !chunk.is_empty());
        let Some(first) = chunks.next() else { return true };
        let Some(starts) = self.places.get(first) else { return false };
        let places = |chunk: &[u32]| Some((self.places.get(chunk)?.as_slice(), chunk.len() as u32));
        let rest: Option<Vec<_>> = chunks.map(places).collect();
        let Some(rest) = rest else { return false };
        // Gaps in front and at the end.
        let (before, after) = (u32::from(pattern[0] == GAP), u32::from(pattern.last() == Some(&GAP)));
        let length = first.len() as u32;
        starts.chunk_by(|a, b| a.0 == b.0).any(|places| {
            let line = places[0].0;
            // The earliest place of each chunk leaves most room for the next.
            let Some(start) = places.iter().find(|place| place.1 >= before) else { return false };
            let mut end = start.1 + length;
            for (places, length) in &rest {
                let at = places.partition_point(|place| *place < (line, end + 1));
                match places.get(at) {
                    Some(place) if place.0 == line => end = place.1 + length,
                    _ => return false,
                }
            }
            end + after <= self.lengths[line as usize]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every way to put a pattern on a line.
    fn fits(pattern: &[u32], line: &[u32]) -> bool {
        match pattern.split_first() {
            None => line.is_empty(),
            Some((&GAP, rest)) => (1..=line.len()).any(|count| fits(rest, &line[count..])),
            Some((&word, rest)) => line.first() == Some(&word) && fits(rest, &line[1..]),
        }
    }

    proptest! {
        #[test]
        fn patterns_match_as_they_do_by_trying_all(
            lines in prop::collection::vec(prop::collection::vec(0..3u32, 0..7), 0..4),
            pattern in prop::collection::vec(prop_oneof![0..3u32, Just(GAP), Just(ABSENT)], 1..6),
        ) {
            prop_assume!(!pattern.windows(2).any(|pair| pair == [GAP, GAP]) && pattern != [GAP]);
            let mut filter = Filter::default();
            for line in &lines {
                filter.add(line, 5);
            }
            let spans = |line: &[u32]| {
                (0..line.len()).any(|from| (from..line.len()).any(|to| fits(&pattern, &line[from..=to])))
            };
            prop_assert_eq!(filter.matches(&pattern), lines.iter().any(|line| spans(line)));
        }
    }
}
