//! Exact line searches over forests: those of a sentence, of all rounds, compete as one.
//!
//! Winners are told apart by their words, and what statistics a string has is worked out once by whoever knows the metric:
//! a search tells which strings it lacks, and is finished when they come.

use super::envelope::Envelope;
use super::hull::Hull;
use super::line::{Intervals, Judged, Part, Switch, sweep, switches};
use crate::forest::{Features, Kept};
use dragoman_base::{Error, Names, Result, Texts};
use dragoman_forest::{Kbest, Sum};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// Derivations of each sentence that tell how far apart the values of a feature are.
const SPREAD: usize = 100;

/// The forests of a text, with the statistics of strings met so far.
#[derive(Debug, Default)]
pub struct Forests {
    words: Names,
    /// The forests of each sentence with their rounds; words are numbered by `words`.
    sentences: Vec<Vec<(u32, Kept)>>,
    /// Where the edges of each sentence begin among all.
    offsets: Vec<usize>,
    /// The statistics of strings: a row each.
    known: Vec<FxHashMap<Box<[u32]>, u32>>,
    rows: Vec<f64>,
    width: usize,
}

/// The winners of a sentence along a line.
#[derive(Debug)]
struct Segments {
    sentence: usize,
    /// The words of each winner.
    strings: Vec<Box<[u32]>>,
    /// Corners, with the winners before and after.
    switches: Vec<(f64, u32, u32)>,
    /// The winners at γ = 0 and at γ → -∞.
    ends: (u32, u32),
}

/// A line whose winners are known, but not all of their statistics.
#[derive(Debug)]
pub struct Searched {
    sentences: Vec<Segments>,
    missing: Vec<(usize, Box<[u32]>)>,
}

impl Searched {
    /// The sentences of the strings that lack statistics.
    pub fn missing(&self) -> impl Iterator<Item = usize> {
        self.missing.iter().map(|(sentence, _)| *sentence)
    }
}

/// Buffers of one thread.
#[derive(Default)]
struct Room {
    hulls: Vec<Hull>,
    envelope: Envelope,
}

impl Forests {
    /// No forests yet, of so many sentences; a row of statistics has so many numbers.
    pub fn new(sentences: usize, width: usize) -> Self {
        let lists = (0..sentences).map(|_| Vec::new()).collect();
        let known = (0..sentences).map(|_| FxHashMap::default()).collect();
        Self { sentences: lists, known, width, offsets: vec![0; sentences + 1], ..Self::default() }
    }

    /// Adds forests of a round.
    pub fn add(&mut self, round: u32, sentences: &[usize], forests: Vec<Kept>) -> Result<()> {
        if let Some(bad) = sentences.iter().find(|&&s| s >= self.sentences.len()) {
            return Err(Error::Invalid(format!("there is no sentence {bad}")));
        }
        for (&s, mut kept) in sentences.iter().zip(forests) {
            let words: Vec<u32> = kept.forest.words.iter().map(|word| self.words.intern(word)).collect();
            for symbol in &mut kept.forest.symbols {
                if let Some(&word) = words.get(*symbol as usize) {
                    *symbol = word;
                }
            }
            kept.forest.words = Texts::new();
            self.sentences[s].push((round, kept));
        }
        self.count();
        Ok(())
    }

    /// Forgets the forests of rounds before this one.
    pub fn forget(&mut self, round: u32) {
        for forests in &mut self.sentences {
            forests.retain(|(from, _)| *from >= round);
        }
        self.count();
    }

    fn count(&mut self) {
        let mut sum = 0;
        self.offsets = vec![0];
        for forests in &self.sentences {
            sum += forests.iter().map(|(_, kept)| kept.forest.edges()).sum::<usize>();
            self.offsets.push(sum);
        }
    }

    /// The forests of a round by sentence, with their words.
    pub fn round(&self, round: u32) -> Vec<(usize, Kept)> {
        let mut found = Vec::new();
        for (s, forests) in self.sentences.iter().enumerate() {
            found.extend(
                forests.iter().filter(|(from, _)| *from == round).map(|(_, kept)| (s, self.whole(kept))),
            );
        }
        found
    }

    /// A forest with its own table of words.
    fn whole(&self, kept: &Kept) -> Kept {
        let (mut kept, mut words) = (kept.clone(), Names::new());
        for symbol in kept.forest.symbols.iter_mut().filter(|symbol| **symbol < dragoman_forest::TAIL) {
            *symbol = words.intern(self.words.name(*symbol));
        }
        kept.forest.words = words.iter().collect();
        kept
    }

    fn all(&self) -> impl Iterator<Item = &Kept> {
        self.sentences.iter().flatten().map(|(_, kept)| kept)
    }

    /// Number of edges: one score and one slope each, by sentence, then by round.
    pub fn edges(&self) -> usize {
        self.offsets.last().copied().unwrap_or(0)
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        self.all().map(Kept::bytes).sum()
    }

    /// The largest feature number, plus one.
    pub fn features(&self) -> usize {
        let columns = self.all().flat_map(|kept| kept.features.columns.iter());
        columns.max().map_or(0, |&column| column as usize + 1)
    }

    /// Does something with the forests of each sentence and their edges' numbers, in parallel.
    fn each<T: Send>(&self, one: impl Fn(&mut Room, usize) -> T + Send + Sync) -> Vec<T> {
        (0..self.sentences.len()).into_par_iter().map_init(Room::default, one).collect()
    }

    /// The product of each edge's features with a vector.
    pub fn product(&self, vector: &[f64]) -> Vec<f64> {
        let parts = self.each(|_, s| {
            let mut part = Vec::with_capacity(self.offsets[s + 1] - self.offsets[s]);
            self.sentences[s].iter().for_each(|(_, kept)| kept.features.product(vector, &mut part));
            part
        });
        parts.concat()
    }

    /// The forests of a sentence, each with where its edges begin.
    fn forests(&self, s: usize) -> impl Iterator<Item = (&Kept, usize)> {
        self.sentences[s].iter().scan(self.offsets[s], |from, (_, kept)| {
            let first = *from;
            *from += kept.forest.edges();
            Some((kept, first))
        })
    }

    /// How far apart the values of each feature are among the best derivations of a sentence, on average over the
    /// sentences in which they differ. `scores` are the edges'.
    pub fn spreads(&self, scores: &[f64], width: usize) -> Vec<f64> {
        let parts = self.each(|_, s| {
            let mut rows = Vec::new();
            for (kept, first) in self.forests(s) {
                let own = &scores[first..first + kept.forest.edges()];
                for derivation in Kbest::new(&kept.forest, own, false).take(SPREAD) {
                    rows.push(Features::sum(
                        derivation.edges.iter().map(|&edge| (&kept.features, edge, 1.0)),
                    ));
                }
            }
            let mut ends: FxHashMap<u32, (f64, f64, usize)> = FxHashMap::default();
            for &(column, value) in rows.iter().flatten() {
                let (low, high, count) = ends.entry(column).or_insert((value, value, 0));
                (*low, *high, *count) = (low.min(value), high.max(value), *count + 1);
            }
            // Those that lack a feature have it with 0.
            let spread = |(column, (low, high, count)): (u32, (f64, f64, usize))| {
                let all = count == rows.len();
                (column, if all { high - low } else { high.max(0.0) - low.min(0.0) })
            };
            let mut spreads: Vec<(u32, f64)> = ends.into_iter().map(spread).collect();
            spreads.sort_unstable_by_key(|(column, _)| *column);
            spreads
        });
        let mut sums = vec![(0.0, 0); width];
        for (column, spread) in parts.into_iter().flatten().filter(|(_, spread)| *spread > 0.0) {
            if let Some((sum, count)) = sums.get_mut(column as usize) {
                (*sum, *count) = (*sum + spread, *count + 1);
            }
        }
        sums.into_iter().map(|(sum, count)| if count == 0 { 0.0 } else { sum / f64::from(count) }).collect()
    }

    /// Moves scores on by γ along one feature.
    pub fn advance(&self, feature: u32, scores: &mut [f64], gamma: f64) {
        let mut edge = 0;
        for features in self.all().map(|kept| &kept.features) {
            for own in 0..features.shapes.len() {
                let (columns, values) = features.row(own);
                for (_, &value) in columns.iter().zip(values).filter(|(column, _)| **column == feature) {
                    scores[edge] += gamma * f64::from(value);
                }
                edge += 1;
            }
        }
    }

    /// Searches a line: scores and slopes of all edges.
    pub fn search(&self, scores: &[f64], slopes: &[f64]) -> Searched {
        let found = self.each(|room, s| self.segments(room, s, scores, slopes));
        let sentences: Vec<Segments> = found.into_iter().flatten().collect();
        let mut missing: Vec<(usize, Box<[u32]>)> = Vec::new();
        for segments in &sentences {
            let known = &self.known[segments.sentence];
            let first = missing.len();
            for string in segments.strings.iter().filter(|string| !known.contains_key(*string)) {
                if !missing[first..].iter().any(|(_, other)| other == string) {
                    missing.push((segments.sentence, string.clone()));
                }
            }
        }
        Searched { sentences, missing }
    }

    /// The winners of a sentence; none if it has no derivation.
    fn segments(&self, room: &mut Room, s: usize, scores: &[f64], slopes: &[f64]) -> Option<Segments> {
        let Room { hulls, envelope } = room;
        hulls.resize_with(self.sentences[s].len().max(hulls.len()), Hull::default);
        let (mut all_slopes, mut all_scores, mut backs) = (Vec::new(), Vec::new(), Vec::new());
        for (at, (kept, first)) in self.forests(s).enumerate() {
            let span = first..first + kept.forest.edges();
            let (own_slopes, own_scores) = hulls[at].run(&kept.forest, &scores[span.clone()], &slopes[span]);
            all_slopes.extend_from_slice(own_slopes);
            all_scores.extend_from_slice(own_scores);
            backs.extend((0..own_slopes.len()).map(|line| (at, line)));
        }
        if backs.is_empty() {
            return None;
        }
        let (winners, top) = envelope.find(&all_slopes, &all_scores);
        let mut place: FxHashMap<u32, u32> = FxHashMap::default();
        let mut strings = Vec::new();
        let mut string = |line: u32| {
            *place.entry(line).or_insert_with(|| {
                let (at, own) = backs[line as usize];
                let forest = &self.sentences[s][at].1.forest;
                strings.push(forest.words_of(&hulls[at].derivation(forest, own)).into_boxed_slice());
                strings.len() as u32 - 1
            })
        };
        let mut turns = Vec::new();
        let leftmost = switches(winners, &all_slopes, &all_scores, |at, from, to| turns.push((at, from, to)));
        let turns = turns.into_iter().map(|(at, from, to)| (at, string(from), string(to))).collect();
        let ends = (string(top), string(leftmost));
        Some(Segments { sentence: s, strings, switches: turns, ends })
    }

    /// The strings that lack statistics.
    pub fn texts(&self, searched: &Searched) -> Texts {
        let text =
            |words: &[u32]| words.iter().map(|&word| self.words.name(word)).collect::<Vec<_>>().join(" ");
        searched.missing.iter().map(|(_, words)| text(words)).collect()
    }

    /// The intervals of a line, given the statistics of the strings that lacked them, a row each.
    pub fn finish(&mut self, searched: Searched, rows: &[f64]) -> Result<Intervals> {
        let Searched { sentences, missing } = searched;
        if rows.len() != missing.len() * self.width {
            return Err(Error::Invalid(format!("expected {} rows of statistics", missing.len())));
        }
        for ((s, words), row) in missing.into_iter().zip(rows.chunks_exact(self.width.max(1))) {
            let next = (self.rows.len() / self.width) as u32;
            if *self.known[s].entry(words).or_insert(next) == next {
                self.rows.extend_from_slice(row);
            }
        }
        let pool = Judged { starts: &[0], statistics: &self.rows, width: self.width };
        let mut part = Part::default();
        for Segments { sentence, strings, switches, ends } in sentences {
            let row = |string: u32| self.known[sentence].get(&strings[string as usize]).copied();
            let lost = || Error::Invalid("a string of the line has no statistics".into());
            part.ends.push((row(ends.0).ok_or_else(lost)?, row(ends.1).ok_or_else(lost)?));
            for (at, from, to) in switches {
                let (from, to) = (row(from).ok_or_else(lost)?, row(to).ok_or_else(lost)?);
                // Strings with the same statistics are the same to a metric.
                if pool.row(from) != pool.row(to) {
                    part.switches.push(Switch { at, from, to });
                }
            }
        }
        Ok(sweep(vec![part], pool, None))
    }

    /// The text of the best derivation of each sentence, of all its forests the first with the largest score; none where
    /// there is no derivation.
    pub fn best(&self, scores: &[f64]) -> Vec<Option<String>> {
        self.each(|_, s| {
            let mut top: Option<(f64, &Kept, Vec<u32>)> = None;
            for (kept, first) in self.forests(s) {
                let own = &scores[first..first + kept.forest.edges()];
                let found = kept.forest.inside(own, Sum::Max).last().copied().unwrap_or(f64::NEG_INFINITY);
                if found.is_finite() && top.as_ref().is_none_or(|(score, ..)| found > *score) {
                    let best = kept.forest.best(own)?;
                    top = Some((best.score, kept, best.edges));
                }
            }
            let (_, kept, edges) = top?;
            let words = kept.forest.words_of(&edges);
            Some(words.iter().map(|&word| self.words.name(word)).collect::<Vec<_>>().join(" "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forest::tests::{all, forest, lattice, line as drawn};
    use crate::mert::line;
    use dragoman_base::random::{below, stream};
    use dragoman_metric::Metric;
    use dragoman_metric::bleu::Bleu;

    /// A line search over forests of two rounds gives the corners and the statistics of one over the lists of all their
    /// derivations.
    #[test]
    fn a_line_is_that_of_exhaustive_lists() {
        let bleu = Bleu::default();
        let mut corners = 0;
        for number in 0..60 {
            let rng = &mut stream(41, number);
            let (count, mut forests) = (4, Forests::new(4, bleu.width()));
            let references: Vec<String> = (0..count).map(|_| drawn(rng)).collect();
            let (mut starts, mut scores, mut slopes, mut statistics) =
                (vec![0i64], Vec::new(), Vec::new(), Vec::new());
            let mut made = Vec::new();
            for _ in 0..count {
                let two = [lattice(rng), if number % 2 == 0 { lattice(rng) } else { forest(rng) }];
                made.push(two);
            }
            // Two features: the score that the forests have, and one that is drawn here.
            for two in &mut made {
                for forest in two {
                    let mut rows = dragoman_base::Rows::default();
                    for edge in 0..forest.edges() {
                        rows.push(0, forest.rows.values[edge]);
                        rows.push(1, below(rng, 9) as f64 - 4.0);
                        rows.end_row();
                    }
                    forest.rows = rows;
                }
            }
            let (weights, direction) = ([1.0, 0.5], [below(rng, 5) as f64 / 4.0 - 0.5, 1.0]);
            for (s, two) in made.iter().enumerate() {
                let digest = bleu.digest(&[&references[s]]);
                for forest in two {
                    for edges in all(forest, forest.nodes - 1) {
                        let features = forest.features_of(&edges);
                        let dot = |v: &[f64]| features.iter().map(|&(c, x)| v[c as usize] * x).sum::<f64>();
                        scores.push(dot(&weights));
                        slopes.push(dot(&direction));
                        let mut row = vec![0.0; bleu.width()];
                        digest.statistics(&forest.text_of(&edges), &mut row);
                        statistics.extend(row);
                    }
                }
                starts.push(scores.len() as i64);
            }
            for round in 0..2 {
                let kept = made.iter().map(|two| Kept::new(&two[round]).unwrap()).collect();
                forests.add(round as u32, &[0, 1, 2, 3], kept).unwrap();
            }
            let pool = Judged { starts: &starts, statistics: &statistics, width: bleu.width() };
            let want = line::search(&scores, &slopes, pool);
            let judge = |forests: &Forests, searched: &Searched| {
                let (texts, mut rows) = (forests.texts(searched), Vec::new());
                for (s, text) in searched.missing().zip(texts.iter()) {
                    let mut row = vec![0.0; bleu.width()];
                    bleu.digest(&[&references[s]]).statistics(text, &mut row);
                    rows.extend(row);
                }
                rows
            };
            let (own_scores, own_slopes) = (forests.product(&weights), forests.product(&direction));
            let searched = forests.search(&own_scores, &own_slopes);
            let rows = judge(&forests, &searched);
            assert!(!rows.is_empty());
            let found = forests.finish(searched, &rows).unwrap();
            corners += found.corners.len();
            assert_eq!(found, want, "{number}");
            // Nothing is asked for twice, and moving along the line is moving the scores.
            let again = forests.search(&own_scores, &own_slopes);
            assert_eq!(again.missing().count(), 0);
            assert_eq!(forests.finish(again, &[]).unwrap(), want);
            let mut moved = own_scores.clone();
            forests.advance(1, &mut moved, 2.0);
            assert_eq!(moved, forests.product(&[1.0, 2.5]));
            assert_eq!(forests.round(1).len(), 4);
            let bytes = forests.bytes();
            forests.forget(1);
            assert!(forests.edges() < own_scores.len() && forests.bytes() < bytes);
        }
        assert!(corners > 200, "{corners}");
    }
}
