//! A table into Moses' text tables, sorted by bytes as Moses' tools want them.

use crate::import::reordering_columns;
use crate::sort::{Sorted, Sorter};
use crate::table::Table;
use dragoman_base::io::Output;
use dragoman_base::scratch::Scratch;
use dragoman_base::{Error, Result};
use std::io::Write;
use std::path::Path;

/// What to export, and where to.
#[derive(Debug, Clone)]
pub struct ExportOptions {
    /// The phrase table to write; packed if its name says so.
    pub rules: Option<String>,
    /// Columns of the phrase table, by name.
    pub columns: Vec<String>,
    /// Whether counts of target, source and both are written: only right for unsmoothed probabilities.
    pub counts: bool,
    /// Reordering tables to write: the name of the model, and the file.
    pub reordering: Vec<(String, String)>,
    /// Bytes that sorting may use.
    pub memory: usize,
}

fn column(table: &Table, name: &str) -> Result<usize> {
    table.columns().iter().position(|column| column == name).ok_or_else(|| {
        let known = table.columns().join(", ");
        Error::Invalid(format!("{} has no column `{name}`; it has {known}", table.path()))
    })
}

/// A probability with six digits that count.
fn put_probability(line: &mut Vec<u8>, log: f32) {
    let value = f64::from(log).exp();
    let written = if value >= 1e-4 { write!(line, " {value:.7}") } else { write!(line, " {value:.5e}") };
    written.expect("memory can be written to");
    if value >= 1e-4 {
        while line.ends_with(b"0") {
            line.pop();
        }
        line.pop_if(|byte| *byte == b'.');
    }
}

fn put_phrase<'a>(line: &mut Vec<u8>, words: impl Iterator<Item = &'a str>) {
    for (i, word) in words.enumerate() {
        if i > 0 {
            line.push(b' ');
        }
        line.extend_from_slice(word.as_bytes());
    }
    line.extend_from_slice(b" |||");
}

/// Writes one line for each rule, sorted; `put` adds what follows the two phrases.
fn send(table: &Table, path: &str, memory: usize, put: impl Fn(u32, &mut Vec<u8>)) -> Result<()> {
    let mut sorter = Sorter::new(&Scratch::beside(Path::new(path)), memory);
    let mut line = Vec::new();
    table.walk(|source, rules| {
        for rule in rules {
            line.clear();
            put_phrase(&mut line, source.iter().map(|&word| table.source_text(word)));
            line.push(b' ');
            put_phrase(&mut line, table.target(rule).iter().map(|&word| table.target_text(word)));
            put(rule, &mut line);
            line.push(b'\n');
            sorter.push(&line)?;
        }
        Ok(())
    })?;
    let mut sorted: Sorted = sorter.finish()?;
    let mut out = Output::create(path)?;
    while let Some(line) = sorted.next()? {
        out.write(line)?;
    }
    out.finish()
}

fn put_links(line: &mut Vec<u8>, links: &[[u8; 2]]) {
    line.extend_from_slice(b" |||");
    for [i, j] in links {
        write!(line, " {i}-{j}").expect("memory can be written to");
    }
}

/// Writes Moses' tables. The table is checked against its hashes first.
pub fn export(table: &Table, options: &ExportOptions) -> Result<()> {
    table.verify()?;
    if let Some(path) = &options.rules {
        let names = options.columns.iter().map(|name| column(table, name));
        let columns = names.collect::<Result<Vec<usize>>>()?;
        let counted = if options.counts { vec!["p(f|e)", "p(e|f)", "log count"] } else { Vec::new() };
        let counted = counted.into_iter().map(|name| column(table, name)).collect::<Result<Vec<usize>>>()?;
        send(table, path, options.memory, |rule, line| {
            let scores = table.scores(rule);
            for &column in &columns {
                put_probability(line, scores[column]);
            }
            put_links(line, table.links(rule));
            line.extend_from_slice(b" |||");
            if let [backward, forward, count] = counted[..] {
                let count = f64::from(scores[count]).exp().round();
                let of = |column: usize| (count / f64::from(scores[column]).exp()).round();
                write!(line, " {} {} {count}", of(backward), of(forward)).expect("memory can be written to");
            }
            line.extend_from_slice(b" ||| |||");
        })?;
    }
    for (model, path) in &options.reordering {
        let names = reordering_columns(model).map(|name| column(table, &name));
        let columns = names.collect::<Result<Vec<usize>>>()?;
        send(table, path, options.memory, |rule, line| {
            let scores = table.scores(rule);
            for &column in &columns {
                put_probability(line, scores[column]);
            }
        })?;
    }
    Ok(())
}
