//! A table into text tables of Moses or a grammar of cdec, sorted by bytes as Moses' tools want them.

use crate::gap;
use crate::grammar::Form;
use crate::import::reordering_columns;
use crate::table::Table;
use dragoman_base::io::Output;
use dragoman_base::scratch::Scratch;
use dragoman_base::sort::{Sorter, Strings};
use dragoman_base::{Error, Result};
use std::io::Write;
use std::path::Path;

/// What to export, and where to.
#[derive(Debug, Clone)]
pub struct ExportOptions {
    /// The table or grammar to write; packed if its name says so.
    pub rules: Option<String>,
    /// What its lines look like.
    pub form: Form,
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

fn put(line: &mut Vec<u8>, text: &str) {
    line.extend_from_slice(text.as_bytes());
}

/// Both sides, with a field end behind each.
fn put_sides(line: &mut Vec<u8>, form: Form, table: &Table, source: &[u32], target: &[u32]) {
    let source = source.iter().map(|&word| table.source_text(word));
    let target = target.iter().map(|&word| table.target_text(word));
    let is_gap = |symbol: &str| symbol == gap::SOURCE || gap::of_target(symbol).is_some();
    let sides = match form {
        // The label of the whole stands first or last.
        Form::Cdec => format!("[X] ||| {} ||| {}", gap::shown(source), gap::shown(target)),
        Form::Moses | Form::Phrases => {
            let label = if form == Form::Moses { " [X]" } else { "" };
            let plain = |symbols: &mut dyn Iterator<Item = &str>| {
                let words: Vec<&str> =
                    symbols.map(|word| if is_gap(word) { "[X][X]" } else { word }).collect();
                words.join(" ")
            };
            let (source, target) = (plain(&mut { source }), plain(&mut { target }));
            format!("{source}{label} ||| {target}{label}")
        }
    };
    put(line, &sides);
    put(line, " |||");
}

/// Writes one line for each rule, sorted; `more` adds what follows the two phrases.
fn send(
    table: &Table,
    (path, form): (&str, Form),
    memory: usize,
    more: impl Fn(&[u32], u32, &mut Vec<u8>),
) -> Result<()> {
    let mut sorter = Sorter::new(Strings::default(), &Scratch::beside(Path::new(path)), memory);
    let mut line = Vec::new();
    table.walk(|source, rules| {
        for rule in rules {
            line.clear();
            put_sides(&mut line, form, table, source, table.target(rule));
            more(source, rule, &mut line);
            line.push(b'\n');
            sorter.push(&line)?;
        }
        Ok(())
    })?;
    let mut sorted = sorter.finish()?;
    let mut out = Output::create(path)?;
    while let Some(line) = sorted.next()? {
        out.write(line)?;
    }
    out.finish()
}

/// The links of a rule and the pairs of its gaps, in order.
fn with_gaps(table: &Table, source: &[u32], rule: u32) -> Vec<[u8; 2]> {
    let mut links = table.links(rule).to_vec();
    let gaps = (0..source.len()).filter(|&i| table.source_text(source[i]) == gap::SOURCE);
    let gaps: Vec<usize> = gaps.collect();
    if gaps.is_empty() {
        return links;
    }
    for (j, &symbol) in table.target(rule).iter().enumerate() {
        if let Some(&i) = gap::of_target(table.target_text(symbol)).and_then(|number| gaps.get(number)) {
            links.push([i as u8, j as u8]);
        }
    }
    links.sort_unstable();
    links
}

fn put_links(line: &mut Vec<u8>, links: &[[u8; 2]]) {
    line.extend_from_slice(b" |||");
    for [i, j] in links {
        write!(line, " {i}-{j}").expect("memory can be written to");
    }
}

/// A count, whole or with six digits.
fn put_count(line: &mut Vec<u8>, count: f64) {
    let whole = (count - count.round()).abs() < 1e-4 * count;
    let written = if whole { write!(line, " {}", count.round()) } else { write!(line, " {count:.6}") };
    written.expect("memory can be written to");
}

/// Writes a table in Moses' form.
fn moses(table: &Table, path: &str, options: &ExportOptions, columns: &[usize]) -> Result<()> {
    let counted = if options.counts { vec!["p(f|e)", "p(e|f)", "log count"] } else { Vec::new() };
    let counted = counted.into_iter().map(|name| column(table, name)).collect::<Result<Vec<usize>>>()?;
    let phrases = options.form == Form::Phrases;
    send(table, (path, options.form), options.memory, |source, rule, line| {
        let scores = table.scores(rule);
        for &column in columns {
            put_probability(line, scores[column]);
        }
        put_links(line, &with_gaps(table, source, rule));
        put(line, " |||");
        if let [backward, forward, count] = counted[..] {
            let count = f64::from(scores[count]).exp();
            let count = if phrases { count.round() } else { count };
            let of = |column: usize| count / f64::from(scores[column]).exp();
            for count in [of(backward), of(forward), count] {
                put_count(line, if phrases { count.round() } else { count });
            }
        }
        put(line, " ||| |||");
    })
}

/// Writes a grammar in cdec's form.
fn cdec(table: &Table, path: &str, options: &ExportOptions, columns: &[usize]) -> Result<()> {
    let names: Vec<String> =
        columns.iter().map(|&at| table.columns()[at].replace([' ', '\t'], "-")).collect();
    send(table, (path, Form::Cdec), options.memory, |_, rule, line| {
        let scores = table.scores(rule);
        for (name, &column) in names.iter().zip(columns) {
            write!(line, " {name}={}", scores[column]).expect("memory can be written to");
        }
        put_links(line, table.links(rule));
    })
}

/// Writes text tables. The table is checked against its hashes first.
pub fn export(table: &Table, options: &ExportOptions) -> Result<()> {
    table.verify()?;
    let gaps = table.source_word(gap::SOURCE).is_some();
    if gaps && (options.form == Form::Phrases || !options.reordering.is_empty()) {
        return Err(Error::Invalid(format!("{} has rules with gaps, and no phrases", table.path())));
    }
    if let Some(path) = &options.rules {
        let names = options.columns.iter().map(|name| column(table, name));
        let columns = names.collect::<Result<Vec<usize>>>()?;
        let write = if options.form == Form::Cdec { cdec } else { moses };
        write(table, path, options, &columns)?;
    }
    for (model, path) in &options.reordering {
        let names = reordering_columns(model).map(|name| column(table, &name));
        let columns = names.collect::<Result<Vec<usize>>>()?;
        send(table, (path, Form::Phrases), options.memory, |_, rule, line| {
            let scores = table.scores(rule);
            for &column in &columns {
                put_probability(line, scores[column]);
            }
        })?;
    }
    Ok(())
}
