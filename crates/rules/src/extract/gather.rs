//! From occurrences to rules: three sorts in bounded memory.
//!
//! Occurrences sorted by (source, target, links) give each rule's count, best links and orientation counts, and the
//! totals of each source phrase; rules are numbered in this order and written to a spool. Rules sorted by (target,
//! number) give the totals of each target phrase, and these, sorted by number, are read beside the spool. All of it may be
//! done for ranges of source phrases and of target phrases apart ([`super::exchange`]).

use super::gaps::{UNIT, share};
use crate::code::{
    has_first, phrase_length, put_alike, put_number, put_phrase, take_number, take_phrase, take_u64,
};
use crate::gap;
use dragoman_base::scratch::Spool;
use dragoman_base::sort::{Sorted, Sorter, Strings};
use dragoman_base::{Error, Result, frames, hash};
use rustc_hash::FxHashSet;
use std::cmp::Reverse;

/// Counts of counts that are kept, as in Moses.
pub const COUNTS_OF_COUNTS: usize = 10;

/// The number of a rule: its range of source phrases in the high half, its place there in the low half. This one is that
/// of rules that were seen too few times to be kept.
const DROPPED: u64 = u64::MAX;

/// The orientation code of an occurrence whose orientations are not counted: no model has a fourth one.
pub const NOT_COUNTED: u32 = u32::MAX;

/// How occurrences are counted, and which rules are dropped.
#[derive(Debug, Clone, Copy)]
pub struct Counting {
    /// Reordering models.
    pub models: usize,
    /// Whether occurrences have the tags of their first and last target word.
    pub tags: bool,
    /// For rules with gaps, whether counts are shared out.
    pub gaps: Option<bool>,
    /// Occurrences that a rule with gaps must have.
    pub least: u32,
    /// Whether only some rules are counted, so that others will count for target sides.
    pub filtered: bool,
}

impl Counting {
    /// What one occurrence counts at most.
    pub fn unit(self) -> u64 {
        if self.gaps == Some(true) { UNIT } else { 1 }
    }
}

/// What is known about all rules together.
#[derive(Debug, Default, Clone)]
pub struct Totals {
    /// Occurrences.
    pub tokens: u64,
    /// Rules that are kept.
    pub rules: u32,
    /// Rules that were seen too few times.
    pub rare: u64,
    /// Source phrases.
    pub phrases: u64,
    /// Rules that were seen once, twice, ...; the first number is for none.
    pub counts: [u64; COUNTS_OF_COUNTS + 1],
    /// Orientation counts of all occurrences, six a model.
    pub orientations: Vec<u64>,
}

/// Writes the record of one occurrence behind its length (16 bits, least significant byte first). `links` have the source offset in the high half and the target offset in
/// the low half of each byte. `last` is for phrases the orientation code, two bits for each side of each model, and for
/// rules with gaps among how many the count is shared out. `tags` are those of the first and the last target word.
pub fn put_occurrence(
    bytes: &mut Vec<u8>,
    source: &[u32],
    target: &[u32],
    links: impl Iterator<Item = u8>,
    last: u32,
    tags: Option<[u32; 2]>,
) {
    let from = bytes.len();
    bytes.extend([0, 0]);
    put_phrase(bytes, source);
    put_phrase(bytes, target);
    // Their number comes first, so that occurrences with the same links are neighbours.
    let count = bytes.len();
    bytes.push(0);
    bytes.extend(links);
    bytes[count] = (bytes.len() - count - 1) as u8;
    put_number(bytes, last);
    tags.iter().flatten().for_each(|&tag| put_number(bytes, tag));
    let length = (bytes.len() - from - 2) as u16;
    bytes[from..from + 2].copy_from_slice(&length.to_le_bytes());
}

/// Adds all records of `bytes` to a sorter, each behind its length as [`put_occurrence`] and [`put_other`] write it.
pub fn push_all(sorter: &mut Sorter<Strings>, mut bytes: &[u8]) -> Result<()> {
    while let Some((length, rest)) = bytes.split_first_chunk::<2>() {
        let (record, rest) = rest.split_at(usize::from(u16::from_le_bytes(*length)));
        sorter.push(record)?;
        bytes = rest;
    }
    Ok(())
}

/// A rule while its occurrences pass.
#[derive(Debug, Default, Clone)]
struct Rule {
    /// Code of the target phrase.
    target: Vec<u8>,
    /// In units.
    count: u64,
    /// Occurrences.
    seen: u32,
    /// Sum of shares; for rules with gaps.
    shares: u64,
    orientations: Vec<u32>,
    /// Tags of the first and the last target word, and how often.
    tags: Vec<([u32; 2], u32)>,
    /// The links whose occurrences pass, and their count so far.
    links: (Vec<u8>, u64),
    /// The most frequent links, as Moses chooses them for p(target|source) and for p(source|target).
    best: [(Vec<u8>, u64); 2],
}

/// Links as Moses compares them: for each word of one side the words that it is linked to.
pub fn by_side(links: &[u8], side: usize) -> Vec<u8> {
    let (own, other) = if side == 0 { (0, 4) } else { (4, 0) };
    let mut pairs: Vec<(u8, u8)> = links.iter().map(|l| (l >> own & 15, l >> other & 15)).collect();
    pairs.sort_unstable();
    let mut sets = Vec::new();
    let mut at = 0;
    for (word, linked) in pairs {
        sets.extend((at..word).map(|_| 0));
        at = word;
        sets.push(linked + 1);
    }
    sets
}

impl Rule {
    /// The links that passed are complete: they may be the best ones. Of equally frequent ones Moses takes the
    /// greatest.
    fn settle(&mut self) {
        let (links, count) = &self.links;
        for (side, best) in self.best.iter_mut().enumerate() {
            let better =
                *count > best.1 || (*count == best.1 && by_side(links, side) > by_side(&best.0, side));
            if *count > 0 && better {
                best.0.clone_from(links);
                best.1 = *count;
            }
        }
        self.links.1 = 0;
    }

    fn add(&mut self, rest: &[u8], counting: Counting) {
        let gaps = counting.gaps;
        let (links, mut rest) = rest[1..].split_at(usize::from(rest[0]));
        let last = take_number(&mut rest) as u32;
        if counting.tags {
            let tags = [0, 1].map(|_| take_number(&mut rest) as u32);
            match self.tags.iter_mut().find(|(known, _)| *known == tags) {
                Some((_, count)) => *count += 1,
                None => self.tags.push((tags, 1)),
            }
        }
        let shares = if gaps.is_some() { share(last) } else { 0 };
        let count = if gaps == Some(true) { shares } else { 1 };
        if self.links.1 > 0 && self.links.0 != links {
            self.settle();
        }
        if self.links.1 == 0 {
            self.links.0.clear();
            self.links.0.extend_from_slice(links);
        }
        self.links.1 += count;
        self.count += count;
        self.seen += 1;
        self.shares += shares;
        for (side, counts) in self.orientations.chunks_exact_mut(3).enumerate() {
            if let Some(count) = counts.get_mut((last >> (2 * side) & 3) as usize) {
                *count += 1;
            }
        }
    }

    /// The most frequent tags of the first and last target word; of equals those that the text has first.
    fn best_tags(&self) -> Option<[u32; 2]> {
        self.tags.iter().min_by_key(|(tags, count)| (Reverse(*count), *tags)).map(|(tags, _)| *tags)
    }
}

/// Puts the rules of one source phrase after the other.
struct Gatherer {
    spool: Spool,
    by_target: Sorter<Strings>,
    totals: Totals,
    counting: Counting,
    /// The range of source phrases.
    range: u32,
    width: usize,
    /// Code of the source phrase that passes.
    source: Vec<u8>,
    rules: Vec<Rule>,
    used: usize,
    record: Vec<u8>,
    targets: Targets,
}

/// Hashes of target sides, whichever gap stands where.
pub type Targets = FxHashSet<u64>;

/// Appends the key of a target side: which gap stands where does not matter for how often it was seen, as in Moses.
pub fn put_target(record: &mut Vec<u8>, target: &[u8], gaps: bool) {
    put_alike(record, target, if gaps { gap::MOST as u32 } else { 0 });
}

/// Appends a record for the target side alone, of occurrences that are no rules of the table, behind its length.
pub fn put_other(bytes: &mut Vec<u8>, key: &[u8], count: u64) {
    let from = bytes.len();
    bytes.extend([0, 0]);
    bytes.extend_from_slice(key);
    bytes.extend(DROPPED.to_be_bytes());
    put_number(bytes, count);
    let length = (bytes.len() - from - 2) as u16;
    bytes[from..from + 2].copy_from_slice(&length.to_le_bytes());
}

impl Gatherer {
    fn rule(&mut self, target: &[u8]) -> &mut Rule {
        if self.used == self.rules.len() {
            self.rules.push(Rule::default());
        }
        self.used += 1;
        let rule = &mut self.rules[self.used - 1];
        rule.target.clear();
        rule.target.extend_from_slice(target);
        (rule.count, rule.seen, rule.shares) = (0, 0, 0);
        rule.orientations.clear();
        rule.orientations.resize(self.width, 0);
        rule.tags.clear();
        rule.links.1 = 0;
        rule.best.iter_mut().for_each(|best| best.1 = 0);
        rule
    }

    /// The source phrase is complete: its rules get their numbers.
    fn flush(&mut self) -> Result<()> {
        let rules = &mut self.rules[..self.used];
        if rules.is_empty() {
            return Ok(());
        }
        rules.iter_mut().for_each(Rule::settle);
        let (gaps, unit) = (self.counting.gaps.is_some(), self.counting.unit());
        // Phrases are always kept: there is no other rule for their words.
        let least = if gaps && has_first(&self.source) { self.counting.least } else { 0 };
        let rules = &self.rules[..self.used];
        let sum = |of: fn(&Rule) -> u64| rules.iter().map(of).sum::<u64>();
        self.totals.phrases += 1;
        self.totals.tokens += sum(|rule| u64::from(rule.seen));
        let mut first = true;
        for rule in rules {
            let kept = rule.seen >= least;
            if kept {
                self.record.clear();
                self.record.push(u8::from(first));
                if first {
                    self.record.extend_from_slice(&self.source);
                    put_number(&mut self.record, sum(|rule| rule.count));
                    put_number(&mut self.record, rules.len() as u64);
                    put_number(&mut self.record, sum(|rule| rule.shares));
                    for column in 0..self.width {
                        let all: u32 = rules.iter().map(|rule| rule.orientations[column]).sum();
                        put_number(&mut self.record, all);
                    }
                }
                rule.put(&mut self.record);
                self.spool.write(&(self.record.len() as u32).to_le_bytes())?;
                self.spool.write(&self.record)?;
                first = false;
            }
            self.record.clear();
            put_target(&mut self.record, &rule.target, gaps);
            if self.counting.filtered {
                self.targets.insert(hash::text(&self.record));
            }
            let number = u64::from(self.range) << 32 | u64::from(self.totals.rules);
            self.record.extend(if kept { number } else { DROPPED }.to_be_bytes());
            put_number(&mut self.record, rule.count);
            rule.orientations.iter().for_each(|&n| put_number(&mut self.record, n));
            self.by_target.push(&self.record)?;
            self.totals.count(rule, kept, unit)?;
        }
        self.used = 0;
        Ok(())
    }
}

impl Totals {
    /// Nothing was seen, with so many reordering models.
    pub fn new(models: usize) -> Self {
        Self { orientations: vec![0; 6 * models], ..Self::default() }
    }

    /// All rules, those that were dropped included.
    pub fn all(&self) -> u64 {
        u64::from(self.rules) + self.rare
    }

    fn more_rules(&mut self, more: u32) -> Result<()> {
        let full = || Error::Invalid("more than 2^32 rules; extract shorter ones".to_owned());
        self.rules = self.rules.checked_add(more).filter(|&n| n < u32::MAX).ok_or_else(full)?;
        Ok(())
    }

    /// Adds those of other source phrases.
    pub fn add(&mut self, other: &Self) -> Result<()> {
        self.more_rules(other.rules)?;
        self.tokens += other.tokens;
        self.rare += other.rare;
        self.phrases += other.phrases;
        self.counts.iter_mut().zip(other.counts).for_each(|(sum, n)| *sum += n);
        self.orientations.iter_mut().zip(&other.orientations).for_each(|(sum, &n)| *sum += n);
        Ok(())
    }

    /// As bytes, for another process.
    pub fn to_bytes(&self) -> Vec<u8> {
        let numbers = [self.tokens, u64::from(self.rules), self.rare, self.phrases];
        let numbers = numbers.iter().chain(&self.counts).chain(&self.orientations);
        numbers.flat_map(|number| number.to_le_bytes()).collect()
    }

    /// The totals of these bytes.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self> {
        let numbers: Vec<u64> =
            bytes.as_chunks::<8>().0.iter().map(|number| u64::from_le_bytes(*number)).collect();
        let (&[tokens, rules, rare, phrases], rest) =
            numbers.split_first_chunk::<4>().ok_or_else(frames::damaged)?;
        let (&counts, orientations) = rest.split_first_chunk().ok_or_else(frames::damaged)?;
        Ok(Self { tokens, rules: rules as u32, rare, phrases, counts, orientations: orientations.to_vec() })
    }

    fn count(&mut self, rule: &Rule, kept: bool, unit: u64) -> Result<()> {
        if kept {
            self.more_rules(1)?;
        } else {
            self.rare += 1;
        }
        if let Some(count) = self.counts.get_mut(rule.count.div_ceil(unit) as usize) {
            *count += 1;
        }
        self.orientations.iter_mut().zip(&rule.orientations).for_each(|(sum, &n)| *sum += u64::from(n));
        Ok(())
    }
}

impl Rule {
    /// Appends what the last pass has to know.
    fn put(&self, record: &mut Vec<u8>) {
        record.extend_from_slice(&self.target);
        put_number(record, self.count);
        put_number(record, self.seen);
        let best = &self.best;
        put_links(record, &best[0].0);
        put_links(record, if best[0].0 == best[1].0 { &[] } else { &best[1].0 });
        self.orientations.iter().for_each(|&n| put_number(record, n));
        self.best_tags().iter().flatten().for_each(|&tag| put_number(record, tag));
    }
}

fn put_links(bytes: &mut Vec<u8>, links: &[u8]) {
    bytes.push(links.len() as u8);
    bytes.extend_from_slice(links);
}

/// Gathers sorted occurrences of a range of source phrases to rules: a spool of rules, the rules by target phrase and, if
/// there will be more, which targets there are.
pub fn gather(
    mut sorted: Sorted<Strings>,
    counting: Counting,
    range: u32,
    spool: Spool,
    by_target: Sorter<Strings>,
) -> Result<(Totals, Spool, Sorter<Strings>, Targets)> {
    let (width, totals) = (6 * counting.models, Totals::new(counting.models));
    let (source, rules, record) = (Vec::new(), Vec::new(), Vec::new());
    let targets = Targets::default();
    let mut gatherer = Gatherer {
        spool,
        by_target,
        totals,
        counting,
        range,
        width,
        source,
        rules,
        used: 0,
        record,
        targets,
    };
    while let Some(record) = sorted.next()? {
        let first = phrase_length(record);
        let both = first + phrase_length(&record[first..]);
        if gatherer.source != record[..first] {
            gatherer.flush()?;
            gatherer.source.clear();
            gatherer.source.extend_from_slice(&record[..first]);
        }
        let target = &record[first..both];
        let same = gatherer.used > 0 && gatherer.rules[gatherer.used - 1].target == target;
        let rule = if same { &mut gatherer.rules[gatherer.used - 1] } else { gatherer.rule(target) };
        rule.add(&record[both..], counting);
    }
    gatherer.flush()?;
    drop(sorted);
    Ok((gatherer.totals, gatherer.spool, gatherer.by_target, gatherer.targets))
}

/// Gives each rule the totals of its target phrase, for sorting by rule: count, number of rules, orientation counts, and
/// what `extra` knows about the phrase.
pub fn join_targets(
    mut by_target: Sorted<Strings>,
    models: usize,
    mut by_rule: Sorter<Strings>,
    extra: impl Fn(&[u32]) -> u32,
) -> Result<Sorter<Strings>> {
    let mut target = Vec::new();
    let (mut rules, mut sums) = (Vec::new(), vec![0; 6 * models + 1]);
    let (mut words, mut record) = (Vec::new(), Vec::new());
    let mut flush = |target: &[u8], rules: &mut Vec<u64>, sums: &mut Vec<u64>| -> Result<()> {
        if rules.is_empty() {
            return Ok(());
        }
        take_phrase(&mut &*target, &mut words);
        let extra = extra(&words);
        for rule in rules.iter().filter(|&&rule| rule != DROPPED) {
            record.clear();
            record.extend(rule.to_be_bytes());
            put_number(&mut record, rules.len() as u64);
            put_number(&mut record, extra);
            for &sum in sums.iter() {
                put_number(&mut record, sum);
            }
            by_rule.push(&record)?;
        }
        rules.clear();
        sums.fill(0);
        Ok(())
    };
    while let Some(mut rest) = by_target.next()? {
        let length = phrase_length(rest);
        if target != rest[..length] {
            flush(&target, &mut rules, &mut sums)?;
            target.clear();
            target.extend_from_slice(&rest[..length]);
        }
        rest = &rest[length..];
        rules.push(take_u64(&mut rest));
        for sum in &mut sums {
            *sum += take_number(&mut rest);
        }
    }
    flush(&target, &mut rules, &mut sums)?;
    Ok(by_rule)
}
