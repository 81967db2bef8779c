//! Text tables into a mapped table: Moses' `phrase-table.gz`, joined with `reordering-table.gz` by phrase pair, and grammars
//! with gaps of Moses and cdec.

use crate::code::{put_phrase, take_phrase, take_u32};
use crate::gap;
use crate::grammar::{Form, Line, fields, named_scores, score_names};
use crate::table::{Builder, MAX_LENGTH, Rule};
use dragoman_base::error::quote;
use dragoman_base::io::Lines;
use dragoman_base::scratch::Scratch;
use dragoman_base::sort::{Sorted, Sorter, Strings};
use dragoman_base::{Error, Names, Result, words};
use std::borrow::Borrow;
use std::path::PathBuf;

/// What to import, and where to.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// A table or grammar, packed or not.
    pub rules: String,
    /// What its lines look like.
    pub form: Form,
    /// Reordering tables: the name of the model (its columns are `<name>.previous.M` and so on), and the file.
    pub reordering: Vec<(String, String)>,
    /// Names of the scores; `s1`, `s2`, ... if none. cdec names them itself; some of these may be chosen.
    pub columns: Option<Vec<String>>,
    /// The table to write.
    pub out: PathBuf,
    /// Meta-data of the table, as JSON.
    pub meta: String,
    /// Bytes that sorting may use.
    pub memory: usize,
}

/// What an import saw.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Rules in the table.
    pub rules: u64,
    /// Different source phrases.
    pub phrases: u64,
    /// Rules that came twice; the first one was kept.
    pub repeated: u64,
    /// For each reordering table, rules that it does not have; they cost nothing there, as in Moses.
    pub missing: Vec<u64>,
    /// For each reordering table, entries that no rule has; they were dropped.
    pub unused: Vec<u64>,
    /// Score columns of the table.
    pub columns: Vec<String>,
}

/// Names of the six columns of a reordering model.
pub(crate) fn reordering_columns(model: &str) -> impl Iterator<Item = String> {
    ["previous.M", "previous.S", "previous.D", "next.M", "next.S", "next.D"]
        .into_iter()
        .map(move |column| format!("{model}.{column}"))
}

struct Importer {
    form: Form,
    /// Columns of a grammar of cdec.
    names: Vec<String>,
    sorter: Sorter<Strings>,
    source: Names,
    target: Names,
    record: Vec<u8>,
    words: Vec<u32>,
    /// Number of scores, once the first line has told.
    width: Option<usize>,
}

fn number(lines: (&str, usize), text: &str) -> Result<f32> {
    match text.parse::<f64>() {
        Ok(value) if value >= 0.0 && value.is_finite() => Ok(crate::log(value)),
        _ => Err(Error::format(lines.0, lines.1, "a probability, not below 0", text)),
    }
}

impl Importer {
    fn rules(&mut self, path: &str) -> Result<()> {
        let mut lines = Lines::open(path)?;
        let mut count = 0u32;
        while let Some(line) = lines.next()? {
            count = next(count)?;
            let at = (path, count as usize);
            if self.form != Form::Phrases {
                self.gapped(at, count, line)?;
                continue;
            }
            let mut fields = fields(line);
            let (Some(source), Some(target), Some(scores)) = (fields.next(), fields.next(), fields.next())
            else {
                return Err(Error::format(path, at.1, "source ||| target ||| scores", line));
            };
            self.record.clear();
            for (names, text) in [(&mut self.source, source), (&mut self.target, target)] {
                self.words.clear();
                self.words.extend(words(text).map(|word| names.intern(word)));
                put_phrase(&mut self.record, &self.words);
                check_length(at, text, self.words.len())?;
                // Links count the words of Moses, for which control characters do not separate.
                if self.words.len() != text.split([' ', '\t']).filter(|word| !word.is_empty()).count() {
                    return Err(Error::format(path, at.1, "words without control characters", text));
                }
            }
            self.record.push(0);
            self.record.extend(count.to_be_bytes());
            self.scores(at, scores)?;
            let shape = (words(source).count(), self.words.len());
            self.links(at, fields.next().unwrap_or(""), shape)?;
            self.sorter.push(&self.record)?;
        }
        if count == 0 {
            let (want, found) = ("at least one rule".to_owned(), "an empty file".to_owned());
            return Err(Error::Format { path: path.to_owned(), line: 1, want, found });
        }
        Ok(())
    }

    /// A rule with gaps.
    fn gapped(&mut self, at: (&str, usize), count: u32, line: &str) -> Result<()> {
        let rule = Line::read(self.form, at, line)?;
        self.record.clear();
        for (names, symbols) in [(&mut self.source, &rule.source), (&mut self.target, &rule.target)] {
            self.words.clear();
            self.words.extend(symbols.iter().map(|symbol| names.intern(symbol)));
            put_phrase(&mut self.record, &self.words);
            check_length(at, line, self.words.len())?;
        }
        self.record.push(0);
        self.record.extend(count.to_be_bytes());
        if self.form == Form::Cdec {
            let found = named_scores(at, rule.scores)?;
            for name in &self.names {
                let score = found.iter().find(|(known, _)| known == name).map_or(0.0, |(_, score)| *score);
                self.record.extend(score.to_bits().to_be_bytes());
            }
            self.width = Some(self.names.len());
        } else {
            self.scores(at, rule.scores)?;
        }
        self.record.extend(rule.links.as_flattened());
        self.sorter.push(&self.record)
    }

    fn scores(&mut self, at: (&str, usize), text: &str) -> Result<()> {
        let mut count = 0;
        for score in words(text) {
            self.record.extend(number(at, score)?.to_bits().to_be_bytes());
            count += 1;
        }
        let want = *self.width.get_or_insert(count);
        if want != count {
            return Err(Error::format(at.0, at.1, format!("{want} scores, as before"), text));
        }
        Ok(())
    }

    fn links(&mut self, at: (&str, usize), text: &str, shape: (usize, usize)) -> Result<()> {
        for link in words(text) {
            let ends = link
                .split_once('-')
                .and_then(|(i, j)| Some((i.parse::<usize>().ok()?, j.parse::<usize>().ok()?)));
            let (i, j) = ends.ok_or_else(|| Error::format(at.0, at.1, "links i-j", link))?;
            if i >= shape.0 || j >= shape.1 {
                let want = format!("links within {} and {} words", shape.0, shape.1);
                return Err(Error::format(at.0, at.1, want, link));
            }
            self.record.extend([i as u8, j as u8]);
        }
        Ok(())
    }

    /// Adds the entries of reordering table `model`; gives how many have a word that no rule has.
    fn reordering(&mut self, path: &str, model: u8) -> Result<u64> {
        let mut lines = Lines::open(path)?;
        let (mut count, mut unknown) = (0u32, 0);
        while let Some(line) = lines.next()? {
            count = next(count)?;
            let at = (path, count as usize);
            let mut fields = fields(line);
            let (Some(source), Some(target), Some(scores)) = (fields.next(), fields.next(), fields.next())
            else {
                return Err(Error::format(path, at.1, "source ||| target ||| six numbers", line));
            };
            self.record.clear();
            let mut known = true;
            for (names, text) in [(&self.source, source), (&self.target, target)] {
                self.words.clear();
                self.words.extend(words(text).map_while(|word| names.get(word)));
                known &= self.words.len() == words(text).count();
                put_phrase(&mut self.record, &self.words);
            }
            self.record.push(model + 1);
            self.record.extend(count.to_be_bytes());
            let before = self.record.len();
            for score in words(scores) {
                self.record.extend(number(at, score)?.to_bits().to_be_bytes());
            }
            if self.record.len() != before + 24 {
                return Err(Error::format(path, at.1, "six numbers (msd-bidirectional)", scores));
            }
            if known {
                self.sorter.push(&self.record)?;
            } else {
                unknown += 1;
            }
        }
        Ok(unknown)
    }
}

fn next(count: u32) -> Result<u32> {
    count.checked_add(1).ok_or_else(|| Error::Invalid("a table of more than 2^32 lines".to_owned()))
}

fn check_length(at: (&str, usize), text: &str, length: usize) -> Result<()> {
    if (1..=MAX_LENGTH).contains(&length) {
        return Ok(());
    }
    let want = format!("a phrase of 1 to {MAX_LENGTH} words on both sides");
    Err(Error::Format {
        path: at.0.to_owned(),
        line: at.1,
        want,
        found: format!("{length} in {}", quote(text)),
    })
}

/// Takes sorted records and puts together those of one phrase pair.
struct Joiner {
    builder: Builder,
    width: usize,
    report: ImportReport,
    source: Vec<u32>,
    target: Vec<u32>,
    scores: Vec<f32>,
    links: Vec<[u8; 2]>,
    /// Which reordering tables had the pair; none before its rule has come.
    seen: Option<Vec<bool>>,
    last: Vec<u32>,
}

impl Joiner {
    fn flush(&mut self) -> Result<()> {
        let Some(seen) = self.seen.take() else { return Ok(()) };
        for (missing, seen) in self.report.missing.iter_mut().zip(seen) {
            *missing += u64::from(!seen);
        }
        if self.last != self.source {
            self.report.phrases += 1;
            self.last.clone_from(&self.source);
        }
        self.report.rules += 1;
        let (source, target, links) = (&self.source, &self.target, &self.links);
        self.builder.push(Rule { source, target, links, scores: &self.scores })
    }

    /// A rule, behind its line number.
    fn rule(&mut self, mut rest: &[u8]) {
        if self.seen.is_some() {
            self.report.repeated += 1;
            return;
        }
        self.seen = Some(vec![false; self.report.missing.len()]);
        self.scores.clear();
        self.scores.extend((0..self.width).map(|_| f32::from_bits(take_u32(&mut rest))));
        self.scores.resize(self.width + 6 * self.report.missing.len(), 0.0);
        self.links.clear();
        self.links.extend_from_slice(rest.as_chunks::<2>().0);
    }

    /// An entry of a reordering table, behind its line number.
    fn entry(&mut self, model: usize, mut rest: &[u8]) {
        match &mut self.seen {
            Some(seen) if !seen[model] => {
                seen[model] = true;
                let from = self.width + 6 * model;
                self.scores[from..from + 6].fill_with(|| f32::from_bits(take_u32(&mut rest)));
            }
            _ => self.report.unused[model] += 1,
        }
    }

    fn join(&mut self, mut sorted: Sorted<Strings>) -> Result<()> {
        let mut key = Vec::new();
        while let Some(record) = sorted.next()? {
            let first = crate::code::phrase_length(record);
            let both = first + crate::code::phrase_length(&record[first..]);
            if key != record[..both] {
                self.flush()?;
                key.clear();
                key.extend_from_slice(&record[..both]);
                let mut rest = record;
                take_phrase(&mut rest, &mut self.source);
                take_phrase(&mut rest, &mut self.target);
            }
            let (kind, rest) = (record[both], &record[both + 5..]);
            if kind == 0 { self.rule(rest) } else { self.entry(usize::from(kind) - 1, rest) }
        }
        self.flush()
    }
}

/// How many scores the first line of a phrase table has; none in an empty one.
pub fn score_count(path: &str) -> Result<usize> {
    let mut lines = Lines::open(path)?;
    let first = lines.next()?.unwrap_or("");
    Ok(fields(first).nth(2).map_or(0, |scores| words(scores).count()))
}

fn columns(options: &ImportOptions, width: usize) -> Result<Vec<String>> {
    let mut columns = match &options.columns {
        Some(names) if names.len() == width => names.clone(),
        Some(names) => {
            let (path, count) = (&options.rules, names.len());
            return Err(Error::Invalid(format!(
                "{path} has {width} scores a line, and {count} names were given"
            )));
        }
        None => (1..=width).map(|i| format!("s{i}")).collect(),
    };
    columns.extend(options.reordering.iter().flat_map(|(model, _)| reordering_columns(model)));
    Ok(columns)
}

/// The scores of a grammar of cdec that are wanted.
fn chosen_scores(options: &ImportOptions) -> Result<Vec<String>> {
    let all = score_names(&options.rules)?;
    let wanted = options.columns.as_ref().unwrap_or(&all);
    match wanted.iter().find(|name| !all.contains(name)) {
        None => Ok(wanted.clone()),
        Some(name) => {
            let (path, known) = (&options.rules, all.join(", "));
            Err(Error::Invalid(format!("{path} has no score `{name}`; it has {known}")))
        }
    }
}

/// Reads text tables and writes a mapped one.
pub fn import(options: impl Borrow<ImportOptions>) -> Result<ImportReport> {
    let options = options.borrow();
    if options.reordering.len() > 100 {
        return Err(Error::Invalid("expected at most 100 reordering tables".to_owned()));
    }
    let form = options.form;
    if form != Form::Phrases && !options.reordering.is_empty() {
        return Err(Error::Invalid("rules with gaps have no reordering tables".to_owned()));
    }
    let sorter = Sorter::new(Strings::default(), &Scratch::beside(&options.out), options.memory);
    let (source, target) = if form == Form::Phrases { <_>::default() } else { gap::vocabularies() };
    let names = if form == Form::Cdec { chosen_scores(options)? } else { Vec::new() };
    let (record, words) = (Vec::new(), Vec::new());
    let mut importer = Importer { form, names, sorter, source, target, record, words, width: None };
    importer.rules(&options.rules)?;
    let mut report = ImportReport::default();
    for (model, (_, path)) in options.reordering.iter().enumerate() {
        report.unused.push(importer.reordering(path, model as u8)?);
        report.missing.push(0);
    }
    let width = importer.width.unwrap_or(options.columns.as_ref().map_or(0, Vec::len));
    report.columns = if form == Form::Cdec { importer.names.clone() } else { columns(options, width)? };
    let builder = Builder::create(&options.out, &report.columns, &options.meta)?;
    let mut joiner = Joiner {
        builder,
        width,
        report,
        source: Vec::new(),
        target: Vec::new(),
        scores: Vec::new(),
        links: Vec::new(),
        seen: None,
        last: Vec::new(),
    };
    joiner.join(importer.sorter.finish()?)?;
    joiner.builder.finish(importer.source.texts(), importer.target.texts())?;
    Ok(joiner.report)
}
