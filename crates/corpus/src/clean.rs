//! The stream: pairs are read in batches and normalised, perhaps tokenised by someone else, then judged and written.
//! Work on single pairs is shared out among the cores; order and result do not depend on how many there are.

use crate::filter::{Judged, Limits, Reason, Report, judge};
use crate::normalise::{Form, key, normalise};
use crate::read::{Input, Pair, Source, State};
use dragoman_base::io::{Lines, Output};
use dragoman_base::{Error, Result, Texts};
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// What a run does.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The Unicode normal form.
    pub form: Form,
    /// What is kept.
    pub limits: Limits,
    /// Whether pairs that were there before are dropped.
    pub distinct: bool,
    /// Whether lines that are not UTF-8 are counted instead of being errors.
    pub skip: bool,
}

/// A cleaning run.
pub struct Cleaner {
    options: Options,
    inputs: Vec<Input>,
    /// The input that is being read, and its pairs; none before it is opened.
    current: usize,
    source: Option<Box<dyn Source>>,
    excluded: FxHashSet<u128>,
    seen: FxHashSet<u128>,
    outputs: [Output; 2],
    /// Places of the pairs of each batch that was handed out and not yet taken back.
    pending: VecDeque<Vec<(usize, usize)>>,
    report: Report,
}

/// A pair on its way from the reader.
struct Normal {
    sides: [String; 2],
    reason: Option<Reason>,
    invisible: bool,
}

impl Cleaner {
    /// Starts a run: reads the test sets, opens the outputs.
    pub fn new(inputs: Vec<Input>, exclude: &[String], outputs: [&str; 2], options: Options) -> Result<Self> {
        options.limits.check()?;
        let mut excluded = FxHashSet::default();
        for path in exclude {
            let mut lines = Lines::open(path)?;
            while let Some(line) = lines.next()? {
                if !line.trim().is_empty() {
                    excluded.insert(key(line));
                }
            }
        }
        Ok(Self {
            options,
            inputs,
            current: 0,
            source: None,
            excluded,
            seen: FxHashSet::default(),
            outputs: [Output::create(outputs[0])?, Output::create(outputs[1])?],
            pending: VecDeque::new(),
            report: Report::default(),
        })
    }

    /// The next pairs that are worth tokenising, at most `count`, normalised; none at the end. Batches go to
    /// [`Cleaner::write`] in the order in which they were read; several may be under way.
    pub fn read(&mut self, count: usize) -> Result<Option<(Texts, Texts)>> {
        let pairs = self.batch(count)?;
        if pairs.is_empty() {
            return Ok(None);
        }
        let (form, excluded) = (self.options.form, &self.excluded);
        let normal: Vec<Normal> =
            pairs.par_iter().with_min_len(256).map(|(_, pair)| normal(pair, form, excluded)).collect();
        let (mut source, mut target, mut places) = (Texts::new(), Texts::new(), Vec::new());
        for ((input, pair), normal) in pairs.iter().zip(normal) {
            self.report.read += 1;
            self.report.invisible += u64::from(normal.invisible);
            let place = (*input, pair.at);
            if let Some(reason) = normal.reason {
                self.report.drop_pair(reason, place);
            } else {
                source.push(&normal.sides[0]);
                target.push(&normal.sides[1]);
                places.push(place);
            }
        }
        self.pending.push_back(places);
        Ok(Some((source, target)))
    }

    /// Reads raw pairs from the inputs, one after the other.
    fn batch(&mut self, count: usize) -> Result<Vec<(usize, Pair)>> {
        let mut pairs = Vec::new();
        while pairs.len() < count && self.current < self.inputs.len() {
            let source = match &mut self.source {
                Some(source) => source,
                none => none.insert(self.inputs[self.current].open(self.options.skip)?),
            };
            let mut pair = Pair::default();
            if source.next(&mut pair)? {
                pairs.push((self.current, pair));
            } else {
                self.source = None;
                self.current += 1;
            }
        }
        Ok(pairs)
    }

    /// Judges the pairs of the first batch that was read and not written, which may have been tokenised, and writes the
    /// good ones.
    pub fn write(&mut self, source: &Texts, target: &Texts) -> Result<()> {
        let Some(places) = self.pending.pop_front() else {
            return Err(Error::Invalid("all batches that were read have been written".to_owned()));
        };
        if source.len() != places.len() || target.len() != places.len() {
            return Err(Error::Invalid(format!(
                "expected {} lines from the tokeniser as were given to it, found {} and {}",
                places.len(),
                source.len(),
                target.len()
            )));
        }
        let limits = &self.options.limits;
        let judged: Vec<Judged> = (0..source.len())
            .into_par_iter()
            .with_min_len(256)
            .map(|index| judge(source.get(index), target.get(index), limits))
            .collect();
        for (judged, place) in judged.into_iter().zip(places) {
            let again = judged.reason.is_none() && self.options.distinct && !self.seen.insert(judged.hash);
            if let Some(reason) = judged.reason.or(again.then_some(Reason::Duplicate)) {
                self.report.drop_pair(reason, place);
                continue;
            }
            self.report.kept += 1;
            self.report.escaped += u64::from(judged.escaped);
            for (out, side) in self.outputs.iter_mut().zip(&judged.sides) {
                out.write(side.as_bytes())?;
                out.write(b"\n")?;
            }
        }
        Ok(())
    }

    /// Completes the outputs, which appear under their names now if there is a pair in them, and gives the report.
    pub fn finish(self) -> Result<Report> {
        if !self.pending.is_empty() {
            return Err(Error::Invalid("some pairs that were read have not been written".to_owned()));
        }
        if self.report.kept > 0 {
            for output in self.outputs {
                output.finish()?;
            }
        }
        Ok(self.report)
    }
}

fn normal(pair: &Pair, form: Form, excluded: &FxHashSet<u128>) -> Normal {
    let mut sides = [String::new(), String::new()];
    let mut invisible = false;
    for (text, side) in [&pair.source, &pair.target].into_iter().zip(&mut sides) {
        invisible |= normalise(text, form, side);
    }
    let overlaps = || !excluded.is_empty() && sides.iter().any(|side| excluded.contains(&key(side)));
    let reason = match pair.state {
        State::Invalid => Some(Reason::Invalid),
        State::Missing => Some(Reason::Missing),
        State::Good if sides.iter().any(String::is_empty) => Some(Reason::Empty),
        State::Good => overlaps().then_some(Reason::Overlap),
    };
    Normal { sides, reason, invisible }
}
