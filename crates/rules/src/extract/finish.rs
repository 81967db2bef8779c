//! The last pass: rules in order, with the totals of both phrases, get their scores and go to the table.

use super::gaps::UNIT;
use super::gather::Totals;
use super::lexical::Lexicon;
use super::score::{Counts, Estimator, Scores, cdec, orientations};
use super::significance::Test;
use super::{Options, Report};
use crate::code::{take_bytes, take_number, take_phrase, take_u64};
use crate::import::reordering_columns;
use crate::log;
use crate::table::{Builder, Rule};
use dragoman_base::Result;
use dragoman_base::scratch::Scratch;
use dragoman_base::sort::{Sorted, Strings};
use rayon::prelude::*;
use std::io::Read;

/// Rules after which a batch is scored and written.
const BATCH: usize = 1 << 15;

/// p(e|f) and p(f|e), as logarithms.
type Rank = (f32, f32);

/// A source phrase and its totals.
struct Phrase {
    words: Vec<u32>,
    count: u64,
    rules: u64,
    /// Occurrences that rules with gaps came from, in units.
    shares: u64,
    orientations: Vec<u32>,
    /// Sentences that have it, if that matters.
    sentences: Vec<u32>,
}

/// A rule of the batch: its source phrase, and where its record is, behind it the totals of its target phrase.
struct Entry {
    phrase: usize,
    from: usize,
    to: usize,
}

/// What a record says.
#[derive(Default)]
struct Parsed {
    target: Vec<u32>,
    count: u64,
    seen: u64,
    links: [Vec<[u8; 2]>; 2],
    orientations: Vec<u32>,
    /// Of the first and the last target word; empty without tags.
    tags: Vec<u32>,
    /// Rules with the same target phrase, sentences with it, its occurrences.
    target_rules: u64,
    target_sentences: u32,
    target_count: u64,
    target_orientations: Vec<u32>,
}

fn take_links(bytes: &mut &[u8], links: &mut Vec<[u8; 2]>) {
    let count = usize::from(take_bytes(bytes, 1)[0]);
    links.clear();
    links.extend(take_bytes(bytes, count).iter().map(|link| [link >> 4, link & 15]));
}

impl Parsed {
    fn read(&mut self, mut bytes: &[u8], width: usize, tags: usize) {
        take_phrase(&mut bytes, &mut self.target);
        self.count = take_number(&mut bytes);
        self.seen = take_number(&mut bytes);
        self.links.iter_mut().for_each(|links| take_links(&mut bytes, links));
        let numbers = |bytes: &mut &[u8], into: &mut Vec<u32>, width: usize| {
            into.clear();
            into.extend((0..width).map(|_| take_number(bytes) as u32));
        };
        numbers(&mut bytes, &mut self.orientations, width);
        numbers(&mut bytes, &mut self.tags, tags);
        self.target_rules = take_number(&mut bytes);
        self.target_sentences = take_number(&mut bytes) as u32;
        self.target_count = take_number(&mut bytes);
        numbers(&mut bytes, &mut self.target_orientations, width);
    }

    /// The links that Moses takes for p(source|target).
    fn inverse(&self) -> &[[u8; 2]] {
        if self.links[1].is_empty() { &self.links[0] } else { &self.links[1] }
    }
}

/// Scores rules and hands them to the table.
pub struct Finisher<'a> {
    options: &'a Options,
    totals: &'a Totals,
    lexicon: &'a Lexicon,
    test: Option<&'a Test>,
    estimator: Estimator,
    /// What one occurrence counts.
    unit: f64,
    /// Orientation columns: six a model.
    width: usize,
    /// Columns of tags: two, if there are any.
    tags: usize,
    columns: Vec<String>,
}

#[derive(Default)]
struct Batch {
    phrases: Vec<Phrase>,
    entries: Vec<Entry>,
    bytes: Vec<u8>,
}

/// Columns with the numbers of the tags that the first and the last target word of a rule have most often.
pub const TAG_COLUMNS: [&str; 2] = ["tag.first", "tag.last"];

/// The columns of the table.
pub fn columns(options: &Options) -> Vec<String> {
    let names = options.models.iter().map(|model| model.name());
    let mut columns: Vec<String> = options.scores.columns().iter().map(|&name| name.to_owned()).collect();
    columns.extend(names.clone().flat_map(reordering_columns));
    if options.orientation_counts {
        columns.extend(names.flat_map(reordering_columns).map(|column| format!("{column}.count")));
    }
    columns.extend(options.tags.iter().flat_map(|_| TAG_COLUMNS).map(str::to_owned));
    columns
}

impl<'a> Finisher<'a> {
    pub fn new(
        options: &'a Options,
        totals: &'a Totals,
        lexicon: &'a Lexicon,
        test: Option<&'a Test>,
    ) -> Result<Self> {
        let estimator = Estimator::new(options.smoothing, totals)?;
        let width = 6 * options.models.len();
        let unit = options.counting().unit() as f64;
        let tags = if options.tags.is_some() { TAG_COLUMNS.len() } else { 0 };
        Ok(Self { options, totals, lexicon, test, estimator, unit, width, tags, columns: columns(options) })
    }

    /// Reads rules beside the totals of their targets, and adds them to a table.
    pub fn run(
        &self,
        (mut rules, scratch): (impl Read, Scratch),
        mut by_rule: Sorted<Strings>,
        builder: &mut Builder,
        report: &mut Report,
    ) -> Result<()> {
        let mut batch = Batch::default();
        let mut record = Vec::new();
        while let Some(mut totals) = by_rule.next()? {
            read_record(&mut rules, &scratch, &mut record)?;
            let (first, mut rest) = (record[0] == 1, &record[1..]);
            if first {
                if batch.entries.len() >= BATCH {
                    self.flush(&mut batch, builder, report)?;
                }
                batch.phrases.push(self.phrase(&mut rest));
            }
            take_u64(&mut totals);
            let from = batch.bytes.len();
            batch.bytes.extend_from_slice(rest);
            batch.bytes.extend_from_slice(totals);
            batch.entries.push(Entry { phrase: batch.phrases.len() - 1, from, to: batch.bytes.len() });
        }
        self.flush(&mut batch, builder, report)
    }

    fn phrase(&self, rest: &mut &[u8]) -> Phrase {
        let mut words = Vec::new();
        take_phrase(rest, &mut words);
        let (count, rules, shares) = (take_number(rest), take_number(rest), take_number(rest));
        let orientations = (0..self.width).map(|_| take_number(rest) as u32).collect();
        Phrase { words, count, rules, shares, orientations, sentences: Vec::new() }
    }

    /// Scores the rules of the batch in parallel; writes those that stay, in order.
    fn flush(&self, batch: &mut Batch, builder: &mut Builder, report: &mut Report) -> Result<()> {
        if let Some(test) = self.test {
            batch.phrases.par_iter_mut().for_each(|p| p.sentences = test.source.sentences(&p.words));
        }
        let (width, Batch { phrases, entries, bytes }) = (self.columns.len(), &*batch);
        let mut scores = vec![0f32; entries.len() * width];
        let work = scores.par_chunks_exact_mut(width).zip(entries.par_iter());
        let judged: Vec<(bool, Rank)> = work
            .map_init(Parsed::default, |parsed, (row, entry)| {
                parsed.read(&bytes[entry.from..entry.to], self.width, self.tags);
                let rank = self.score(&phrases[entry.phrase], parsed, row);
                (self.passes(&phrases[entry.phrase], parsed), rank)
            })
            .collect();
        let mut parsed = Parsed::default();
        let mut from = 0;
        for group in entries.chunk_by(|a, b| a.phrase == b.phrase) {
            let mut kept: Vec<usize> = (from..from + group.len()).filter(|&i| judged[i].0).collect();
            report.insignificant += (group.len() - kept.len()) as u64;
            report.below_top += self.cut(&mut kept, |i| judged[i].1) as u64;
            from += group.len();
            for i in kept {
                parsed.read(&bytes[entries[i].from..entries[i].to], self.width, self.tags);
                builder.push(Rule {
                    source: &phrases[entries[i].phrase].words,
                    target: &parsed.target,
                    links: &parsed.links[0],
                    scores: &scores[i * width..(i + 1) * width],
                })?;
            }
        }
        *batch = Batch::default();
        Ok(())
    }

    fn passes(&self, phrase: &Phrase, rule: &Parsed) -> bool {
        self.test.is_none_or(|test| {
            test.passes(&phrase.sentences, rule.target_sentences, &phrase.words, &rule.target)
        })
    }

    /// Keeps the rules with the best p(e|f), of equal ones those with the best p(f|e), then the first.
    fn cut(&self, kept: &mut Vec<usize>, rank: impl Fn(usize) -> Rank) -> usize {
        let Some(top) = self.options.top.filter(|&top| top < kept.len()) else { return 0 };
        kept.sort_by(|&a, &b| {
            let (a, b) = (rank(a), rank(b));
            b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1))
        });
        let cut = kept.len() - top;
        kept.truncate(top);
        kept.sort_unstable();
        cut
    }

    /// Fills the row of a rule; gives what it is ranked by.
    fn score(&self, phrase: &Phrase, rule: &Parsed, row: &mut [f32]) -> Rank {
        let (source, target) = (&phrase.words, &rule.target);
        let counts = Counts {
            rule: rule.count as f64 / self.unit,
            source: phrase.count as f64 / self.unit,
            target: rule.target_count as f64 / self.unit,
            source_rules: phrase.rules as f64,
            target_rules: rule.target_rules as f64,
        };
        let (forward, backward) = self.estimator.probabilities(&counts);
        let rank = (log(forward), log(backward));
        if self.options.scores == Scores::Cdec {
            let samples = phrase.shares as f64 / UNIT as f64;
            let costs = self.lexicon.best_costs(source, target);
            row.copy_from_slice(&cdec(rule.seen as f64, samples, costs));
            return rank;
        }
        row[0] = rank.1;
        row[1] = log(self.lexicon.weigh_source(source, target, rule.inverse()));
        row[2] = rank.0;
        row[3] = log(self.lexicon.weigh_target(source, target, &rule.links[0]));
        row[4] = counts.rule.ln() as f32;
        row[5] = if rule.seen == 1 { 1.0 } else { 0.0 };
        let (_, row) = row.split_at_mut(self.options.scores.columns().len());
        let (row, tags) = row.split_at_mut(row.len() - self.tags);
        tags.iter_mut().zip(&rule.tags).for_each(|(value, &tag)| *value = tag as f32);
        let (probabilities, seen) = row.split_at_mut(self.width);
        for (side, row) in probabilities.chunks_exact_mut(3).enumerate() {
            let three = |counts: &[u32]| [0, 1, 2].map(|i| f64::from(counts[3 * side + i]));
            let all = [0, 1, 2].map(|i| self.totals.orientations[3 * side + i] as f64);
            let (own, s, t) = (&rule.orientations, &phrase.orientations, &rule.target_orientations);
            let found = orientations(self.options.reordering, three(own), three(s), three(t), all);
            row.iter_mut().zip(found).for_each(|(value, p)| *value = log(p));
        }
        seen.iter_mut().zip(&rule.orientations).for_each(|(value, &count)| *value = count as f32);
        rank
    }
}

/// The next record of the spool.
fn read_record(file: &mut impl Read, scratch: &Scratch, record: &mut Vec<u8>) -> Result<()> {
    let mut length = [0; 4];
    file.read_exact(&mut length).map_err(|e| scratch.error(e))?;
    record.resize(u32::from_le_bytes(length) as usize, 0);
    file.read_exact(record).map_err(|e| scratch.error(e))
}
