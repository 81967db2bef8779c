//! An extraction whose rules are found, counted and scored by other processes; the table is that of [`super::extract`].
//!
//! Work goes out in four stages, each part of which can be done anywhere and in any order:
//!
//! 1. The occurrences of rules in a part of the text ([`find`]) come back as a sorted run.
//! 2. The occurrences of a range of source phrases, of all runs, are gathered to rules ([`gather`]), which wait here;
//!    what counts for their target phrases comes back sorted by these.
//! 3. What counts for a range of target phrases is added up ([`Scoring::join`]), and comes back sorted by rule.
//! 4. The rules of a range of source phrases are scored with it ([`Scoring::score`]), and come back as a part of the table.
//!
//! This process reads the text, keeps in files what came back, cuts it at keys, and puts the parts of the table one behind
//! the other.

use super::bitext::Chunk;
use super::finish::{Finisher, columns};
use super::gather::{Totals, gather as gather_rules, join_targets};
use super::lexical::Lexicon;
use super::passes::{Read, open, run};
use super::score::Estimator;
use super::significance::{Corpus, Test};
use super::{Options, Report, check, check_length, check_limits, finished, sentences};
use crate::code::phrase_length;
use crate::table::Builder;
use dragoman_base::frames::{self, damaged, open_all, seal};
use dragoman_base::scratch::{Kept, Scratch, Spool};
use dragoman_base::sort::{Exchange, Ranges, Sorted, Sorter, Strings};
use dragoman_base::{Error, Result};

/// Ranges for each worker: so many that nobody waits long for the slowest.
const RANGES: usize = 4;
/// Ranges that are in the memory of this process for each worker, on their way out and back.
const UNDER_WAY: u64 = 4;

/// What is out, or comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Text,
    Sources,
    Targets,
    Scores,
}

/// The process that reads and writes.
pub struct Extraction {
    options: Options,
    stage: Stage,
    read: Read<'static>,
    /// What was read last.
    last: Option<Chunk>,
    /// Runs of this stage that came back, and what goes out in it, after the text.
    runs: Exchange,
    ranges: Option<Ranges>,
    /// Parts that went out and have not come back.
    out: u64,
    totals: Totals,
    /// Rules that were not significant, and rules below the top.
    pruned: (u64, u64),
    /// By range of source phrases: rules before they are scored, and parts of the table that wait for those before them.
    rules: Kept,
    parts: Kept,
    /// The table, after the first stages, and how many parts it has.
    table: Option<Builder>,
    joined: usize,
}

impl Extraction {
    /// Opens the files.
    pub fn new(options: Options) -> Result<Self> {
        check(&options)?;
        if !options.filter.is_empty() {
            return Err(Error::Invalid("rules for a given input are found in one process".to_owned()));
        }
        let scratch = Scratch::beside(&options.out);
        let (read, totals) = (open(&options, None)?, Totals::new(options.models.len()));
        let runs = Exchange::new(&scratch, None, phrase_length)?;
        let (rules, parts) = (Kept::new(&scratch, 0)?, Kept::new(&scratch, 0)?);
        Ok(Self {
            options,
            stage: Stage::Text,
            read,
            last: None,
            runs,
            ranges: None,
            out: 0,
            totals,
            pruned: (0, 0),
            rules,
            parts,
            table: None,
            joined: 0,
        })
    }

    /// The next part of the work of this stage; none at its end.
    pub fn chunk(&mut self) -> Result<Option<Vec<u8>>> {
        let chunk = match &mut self.ranges {
            None => {
                self.last = self.read.next(self.last.as_ref())?;
                self.last.as_ref().map(Chunk::to_bytes)
            }
            Some(ranges) => ranges.next()?.map(|range| self.task(range)).transpose()?,
        };
        self.out += u64::from(chunk.is_some());
        Ok(chunk)
    }

    fn task(&self, (number, shares): (usize, Vec<Vec<u8>>)) -> Result<Vec<u8>> {
        let mut parts = vec![(number as u32).to_le_bytes().to_vec()];
        if self.stage == Stage::Scores {
            parts.push(self.rules.get(number)?);
        }
        parts.extend(shares);
        Ok(seal(&parts))
    }

    /// Takes what became of a part of this stage.
    pub fn add(&mut self, result: &[u8]) -> Result<()> {
        match self.stage {
            Stage::Text | Stage::Targets => {
                let [run] = open_all(result)?;
                self.runs.add(run)?;
            }
            Stage::Sources => {
                let [range, totals, rules, run] = open_all(result)?;
                self.rules.put(number(range)?, rules)?;
                self.totals.add(&Totals::of_bytes(totals)?)?;
                self.runs.add(run)?;
            }
            Stage::Scores => {
                let [range, pruned, part] = open_all(result)?;
                self.join(number(range)?, part)?;
                let (pruned, _) = pruned.as_chunks::<8>();
                let [insignificant, below_top] = pruned else { return Err(damaged()) };
                self.pruned.0 += u64::from_le_bytes(*insignificant);
                self.pruned.1 += u64::from_le_bytes(*below_top);
            }
        }
        self.out = self.out.checked_sub(1).ok_or_else(damaged)?;
        Ok(())
    }

    /// Puts a part behind those before it, or keeps it until they are there.
    fn join(&mut self, range: usize, part: &[u8]) -> Result<()> {
        let table = self.table.as_mut().ok_or_else(damaged)?;
        if range != self.joined {
            return self.parts.put(range, part);
        }
        table.append(part)?;
        self.joined += 1;
        while self.parts.has(self.joined) {
            table.append(&self.parts.get(self.joined)?)?;
            self.joined += 1;
        }
        Ok(())
    }

    /// Goes on to the next stage with so many workers; all parts have come back.
    pub fn advance(&mut self, workers: usize) -> Result<()> {
        let least = RANGES * workers;
        // Ranges that are under way take half of the memory, unless one key alone is larger.
        let room = (self.options.memory as u64 / 2 / (UNDER_WAY * workers as u64)).max(1);
        self.cut(|runs| runs.bytes().div_ceil(room).max(least as u64) as usize)
    }

    fn cut(&mut self, count: impl FnOnce(&Exchange) -> usize) -> Result<()> {
        self.check_back()?;
        let scratch = Scratch::beside(&self.options.out);
        let (next, key): (Stage, fn(&[u8]) -> usize) = match self.stage {
            Stage::Text => (Stage::Sources, phrase_length),
            Stage::Sources => (Stage::Targets, |_| 4),
            Stage::Targets | Stage::Scores => (Stage::Scores, |_| 0),
        };
        let runs = std::mem::replace(&mut self.runs, Exchange::new(&scratch, None, key)?);
        let ranges = if next == Stage::Scores {
            // The ranges of source phrases again: they are the first half of a rule's number.
            runs.cut((1..self.rules.count() as u32).map(|range| range.to_be_bytes().to_vec()).collect())?
        } else {
            let count = count(&runs);
            runs.ranges(count)?
        };
        match next {
            Stage::Sources => self.rules = Kept::new(&scratch, ranges.count())?,
            Stage::Scores => {
                let options = &self.options;
                self.parts = Kept::new(&scratch, ranges.count())?;
                self.table = Some(Builder::create(&options.out, &columns(options), &options.meta)?);
            }
            Stage::Text | Stage::Targets => (),
        }
        (self.stage, self.ranges) = (next, Some(ranges));
        Ok(())
    }

    fn check_back(&self) -> Result<()> {
        if self.out == 0 {
            return Ok(());
        }
        Err(Error::Invalid(format!("{} parts of the work did not come back", self.out)))
    }

    /// What workers must know for the last two stages, for [`Scoring::new`].
    pub fn knowledge(&mut self) -> Result<Vec<u8>> {
        self.read.write_lexicon(&self.options)?;
        Estimator::new(self.options.smoothing, &self.totals)?; // what it lacks is an error here
        let mut parts = vec![self.totals.to_bytes(), std::mem::take(&mut self.read.lexicon).to_bytes()];
        if let Some((source, target)) = self.read.corpora.take() {
            parts.extend([source.to_bytes(), target.to_bytes()]);
        }
        Ok(seal(&parts))
    }

    /// Writes the table.
    pub fn finish(self) -> Result<Report> {
        self.check_back()?;
        let (options, reader) = (&self.options, &self.read.reader);
        let (insignificant, below_top) = self.pruned;
        let mut report = Report { insignificant, below_top, ..reader.report.clone() };
        report.take(&self.totals);
        let table = self.table.filter(|_| self.joined == self.rules.count()).ok_or_else(damaged)?;
        finished(options, reader, table, report)
    }
}

fn number(bytes: &[u8]) -> Result<usize> {
    Ok(u32::from_le_bytes(bytes.try_into().map_err(|_| damaged())?) as usize)
}

/// The records of sorted runs in order; these lie in a temporary file, as when they outgrow the memory.
fn merged(runs: &[&[u8]], options: &Options) -> Result<Sorted<Strings>> {
    let mut sorter = Sorter::new(Strings::default(), &Scratch::new(None), options.memory / 2);
    runs.iter().try_for_each(|run| sorter.add(run))?;
    sorter.finish()
}

/// A sorter whose records become one run.
fn for_run() -> Sorter<Strings> {
    Sorter::new(Strings::default(), &Scratch::new(None), usize::MAX)
}

/// Stage 1: the occurrences of rules in a part of the text.
pub fn find(options: &Options, chunk: &[u8]) -> Result<Vec<u8>> {
    check_length(options.length)?;
    options.gaps.as_ref().map_or(Ok(()), check_limits)?;
    Ok(seal(&[run(options, &Chunk::of_bytes(chunk)?)?]))
}

/// Stage 2: the rules of a range of source phrases.
pub fn gather(options: &Options, task: &[u8]) -> Result<Vec<u8>> {
    let parts = frames::open(task)?;
    let (range, runs) = parts.split_first().ok_or_else(damaged)?;
    let spool = Spool::new(&Scratch::new(None))?;
    let sorted = merged(runs, options)?;
    let (totals, rules, by_target, _) =
        gather_rules(sorted, options.counting(), number(range)? as u32, spool, for_run())?;
    Ok(seal(&[range.to_vec(), totals.to_bytes(), rules.into_bytes()?, by_target.run()?]))
}

/// A worker that knows what it takes to score.
pub struct Scoring {
    options: Options,
    totals: Totals,
    lexicon: Lexicon,
    test: Option<Test>,
}

impl Scoring {
    /// With what [`Extraction::knowledge`] told.
    pub fn new(options: Options, knowledge: &[u8]) -> Result<Self> {
        let parts = frames::open(knowledge)?;
        let (&[totals, lexicon], corpora) = parts.split_first_chunk().ok_or_else(damaged)?;
        let corpora = match corpora {
            [source, target] => Some((Corpus::of_bytes(source)?, Corpus::of_bytes(target)?)),
            _ => None,
        };
        let test = Test::of(&options, corpora);
        Ok(Self { totals: Totals::of_bytes(totals)?, lexicon: Lexicon::of_bytes(lexicon)?, test, options })
    }

    /// Stage 3: what is known of a range of target phrases, by rule.
    pub fn join(&self, task: &[u8]) -> Result<Vec<u8>> {
        let parts = frames::open(task)?;
        let (_, runs) = parts.split_first().ok_or_else(damaged)?;
        let sorted = merged(runs, &self.options)?;
        let seen = |phrase: &[u32]| sentences(self.test.as_ref(), phrase);
        Ok(seal(&[join_targets(sorted, self.options.models.len(), for_run(), seen)?.run()?]))
    }

    /// Stage 4: the part of the table with a range of source phrases.
    pub fn score(&self, task: &[u8]) -> Result<Vec<u8>> {
        let parts = frames::open(task)?;
        let (&[range, rules], runs) = parts.split_first_chunk().ok_or_else(damaged)?;
        let (mut builder, mut report) = (Builder::part(&columns(&self.options))?, Report::default());
        Finisher::new(&self.options, &self.totals, &self.lexicon, self.test.as_ref())?.run(
            (rules, Scratch::new(None)),
            merged(runs, &self.options)?,
            &mut builder,
            &mut report,
        )?;
        let pruned = [report.insignificant, report.below_top].map(u64::to_le_bytes).concat();
        Ok(seal(&[range, &pruned, &builder.into_part()?]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Limits, Model, ReorderingSmoothing, Scores, Smoothing, Threshold, extract};
    use super::*;
    use proptest::prelude::*;
    use std::path::Path;

    fn options(folder: &Path, out: &str) -> Options {
        let file = |name: &str| folder.join(name).display().to_string();
        Options {
            source: file("source"),
            target: file("target"),
            links: file("links"),
            out: folder.join(out),
            meta: "{}".to_owned(),
            length: 3,
            gaps: None,
            least: 1,
            scores: Scores::Moses,
            filter: Vec::new(),
            longest: 100,
            tags: None,
            models: vec![Model::Word, Model::Hierarchical],
            share: 1.0,
            moses_next: false,
            smoothing: Smoothing::None,
            reordering: ReorderingSmoothing::Recursive(10.0),
            orientation_counts: true,
            top: Some(3),
            significance: Some(Threshold::AlphaMinus),
            lexical: None,
            memory: 1 << 20,
        }
    }

    /// Rules with gaps, many of which are seen too few times.
    fn gapped(options: Options) -> Options {
        let limits = Limits { span: 4, symbols: 4, gap: (1, 1), gaps: 2, tight: false, fractional: true };
        Options {
            gaps: Some(limits),
            models: Vec::new(),
            orientation_counts: false,
            length: 4,
            least: 2,
            ..options
        }
    }

    /// Does a stage in so many ranges, the last part first.
    fn stage(
        extraction: &mut Extraction,
        ranges: Option<usize>,
        work: impl Fn(&[u8]) -> Result<Vec<u8>>,
    ) -> Result<()> {
        if let Some(count) = ranges {
            extraction.cut(|_| count)?;
        }
        let mut parts = Vec::new();
        while let Some(part) = extraction.chunk()? {
            parts.push(part);
        }
        parts.iter().rev().try_for_each(|part| extraction.add(&work(part)?))
    }

    fn exchanged(options: &Options, counts: (usize, usize)) -> Result<Report> {
        let mut extraction = Extraction::new(options.clone())?;
        stage(&mut extraction, None, |part| find(options, part))?;
        stage(&mut extraction, Some(counts.0), |part| gather(options, part))?;
        let scoring = Scoring::new(options.clone(), &extraction.knowledge()?)?;
        stage(&mut extraction, Some(counts.1), |part| scoring.join(part))?;
        stage(&mut extraction, Some(0), |part| scoring.score(part))?;
        extraction.finish()
    }

    /// Words of both sides, and links, some of which are outside.
    type Pair = (Vec<u8>, Vec<u8>, Vec<(u8, u8)>);

    fn write(folder: &Path, pairs: &[Pair]) {
        let text = |words: &[u8]| words.iter().map(|word| format!("w{word}")).collect::<Vec<_>>().join(" ");
        let links = |(source, target, links): &Pair| {
            let inside =
                |&&(i, j): &&(u8, u8)| usize::from(i) < source.len() && usize::from(j) < target.len();
            let links = links.iter().filter(inside).map(|(i, j)| format!("{i}-{j}"));
            links.collect::<Vec<_>>().join(" ")
        };
        let file = |name: &str, lines: Vec<String>| {
            std::fs::write(folder.join(name), lines.join("\n") + "\n").unwrap();
        };
        file("source", pairs.iter().map(|pair| text(&pair.0)).collect());
        file("target", pairs.iter().map(|pair| text(&pair.1)).collect());
        file("links", pairs.iter().map(links).collect());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn ranges_give_the_table_of_one_process(
            pairs in prop::collection::vec((
                prop::collection::vec(0..6u8, 1..6), prop::collection::vec(0..6u8, 1..6), prop::collection::vec((0..6u8, 0..6u8), 0..6),
            ), 0..30),
            counts in (1..9usize, 1..9usize), gaps in any::<bool>(),
        ) {
            let folder = tempfile::tempdir().unwrap();
            write(folder.path(), &pairs);
            let of = |out: &str| {
                let options = options(folder.path(), out);
                if gaps { gapped(options) } else { options }
            };
            let reports = (extract(&of("one")).unwrap(), exchanged(&of("many"), counts).unwrap());
            prop_assert_eq!(reports.0, reports.1);
            let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
            prop_assert!(read("one") == read("many"));
        }
    }

    /// A text with one word that makes up most of it, so that one key would fill many ranges.
    fn text() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let pair = |i: u32| {
            let word = if i.is_multiple_of(4) { (i / 4 % 200) as u8 } else { 0 };
            (vec![word, 0, word], vec![word, word, 0], vec![(0, 1), (1, 2), (2, 0)])
        };
        write(folder.path(), &(0..8000).map(pair).collect::<Vec<_>>());
        folder
    }

    #[test]
    fn a_key_that_is_most_of_the_text_and_ranges_that_hold_nothing() {
        let folder = text();
        let report = extract(&options(folder.path(), "one")).unwrap();
        for counts in [(1, 1), (2, 50), (50, 3), (1000, 1000)] {
            let options = options(folder.path(), "many");
            assert_eq!(exchanged(&options, counts).unwrap(), report);
            let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
            assert!(read("one") == read("many"), "{counts:?}");
        }
    }

    #[test]
    fn parts_that_are_damaged_lost_or_come_twice_are_errors() {
        let folder = text();
        let options = options(folder.path(), "many");
        let mut extraction = Extraction::new(options.clone()).unwrap();
        stage(&mut extraction, None, |part| find(&options, part)).unwrap();
        extraction.cut(|_| 3).unwrap();
        let part = extraction.chunk().unwrap().unwrap();
        let told = |result: Result<()>| result.unwrap_err().to_string();
        assert_eq!(told(extraction.advance(1)), "1 parts of the work did not come back");
        for at in [0, 20, part.len() / 2, part.len() - 1] {
            let mut wrong = part.clone();
            wrong[at] ^= 4;
            let error = gather(&options, &wrong).unwrap_err().to_string();
            assert_eq!(error, "a part of the work was damaged on its way");
        }
        let rules = gather(&options, &part).unwrap();
        assert!(told(extraction.add(&rules[..rules.len() - 1])).contains("damaged"));
        extraction.add(&rules).unwrap();
        extraction.chunk().unwrap().unwrap();
        assert_eq!(told(extraction.add(&rules)), "part 0 of the work came twice");
    }
}
