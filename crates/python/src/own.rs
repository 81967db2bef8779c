//! Features that users bring in Python: rule features are called once a sentence, state features are compiled.

use crate::text::Text;
use dragoman_base::{Error, Result};
use dragoman_model::feature::Builder;
use dragoman_model::feature::own::{BatchFeature, Fired};
use dragoman_model::{Applied, Origin, Sentence};
use dragoman_phrase::feature::OrderFeature;
use dragoman_phrase::feature::compiled::{Compiled, Function};
use dragoman_rules::RuleSource;
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use std::sync::Arc;

/// Name, dense features, and what to call.
pub type RuleParts = (String, Vec<String>, Py<PyAny>);
/// Name, dense features, address, bytes of state, whether to check, and what keeps the function alive.
pub type StateParts = (String, Vec<String>, usize, usize, bool, Py<PyAny>);

/// Values of the dense features, option by option; options, names and values of sparse ones.
type Said<'py> = (
    PyReadonlyArray1<'py, f64>,
    Option<(PyReadonlyArray1<'py, i64>, Text<Vec<String>>, PyReadonlyArray1<'py, f64>)>,
);

/// A rule feature that is a Python object.
struct Rules {
    name: String,
    features: Vec<u32>,
    call: Py<PyAny>,
    tables: Vec<Arc<dyn RuleSource>>,
    /// All columns of all tables, each name once.
    columns: Vec<String>,
}

/// Adds features to a system; gives those that are compiled.
pub fn add(
    rules: Vec<RuleParts>,
    states: Vec<StateParts>,
    tables: usize,
    to: &mut Builder,
) -> Result<Vec<Box<dyn OrderFeature>>> {
    let tables: Vec<Arc<dyn RuleSource>> =
        (0..tables).map(|number| to.table(number)).collect::<Result<_>>()?;
    let mut columns: Vec<String> = Vec::new();
    for column in tables.iter().flat_map(|table| table.columns()) {
        if !columns.contains(column) {
            columns.push(column.clone());
        }
    }
    for (name, names, call) in rules {
        let features = names.iter().map(|name| to.dense(name)).collect::<Result<_>>()?;
        to.set(&name, true)?;
        let (tables, columns) = (tables.clone(), columns.clone());
        to.add_batch(Rules { name, features, call, tables, columns });
    }
    let mut compiled: Vec<Box<dyn OrderFeature>> = Vec::new();
    for (name, names, address, bytes, check, keep) in states {
        if address == 0 {
            return Err(Error::Invalid(format!("the feature `{name}` has no address")));
        }
        // SAFETY: the address is that of a function which was compiled with this signature and which `keep` keeps.
        let function = unsafe { std::mem::transmute::<usize, Function>(address) };
        let made =
            Compiled { name, function, keep: Box::new(keep), bytes, features: Vec::new(), names, check };
        compiled.push(Box::new(made.named(to)?));
    }
    Ok(compiled)
}

impl Rules {
    /// Scores of the tables, a row an option; 0 where its table has no such column.
    fn scores(&self, rules: &dyn Applied) -> Vec<f32> {
        let width = self.columns.len();
        let mut scores = vec![0.0; rules.len() * width];
        let place = |column: &String| self.columns.iter().position(|name| name == column);
        let places: Vec<Vec<Option<usize>>> =
            self.tables.iter().map(|table| table.columns().iter().map(place).collect()).collect();
        for (option, row) in scores.chunks_exact_mut(width.max(1)).enumerate() {
            let rule = rules.rule(option as u32);
            if let Origin::Table(table) = rule.origin {
                let values = self.tables[table].scores(rule.number).iter();
                places[table].iter().zip(values).for_each(|(at, value)| {
                    if let Some(at) = at {
                        row[*at] = *value;
                    }
                });
            }
        }
        scores
    }

    fn ask<'py>(&self, py: Python<'py>, sentence: &Sentence<'_>, rules: &dyn Applied) -> PyResult<Said<'py>> {
        let (mut spans, mut origins, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        let (mut starts, mut targets) = (vec![0i64], Vec::new());
        let (mut gap_starts, mut gaps) = (vec![0i64], Vec::new());
        for number in 0..rules.len() as u32 {
            let rule = rules.rule(number);
            spans.extend([i64::from(rule.from), i64::from(rule.to)]);
            let (origin, number) = match rule.origin {
                Origin::Table(table) => (table as i64, i64::from(rule.number)),
                Origin::Unknown => (-1, -1),
                Origin::Given => (-2, -1),
                Origin::Glue => (-3, -1),
            };
            origins.push(origin);
            numbers.push(number);
            targets.extend_from_slice(rule.target);
            starts.push(targets.len() as i64);
            gaps.extend(rule.gaps.iter().flat_map(|&(from, to)| [i64::from(from), i64::from(to)]));
            gap_starts.push(gaps.len() as i64 / 2);
        }
        let own: Vec<&str> = sentence.own_words().collect();
        let said = self.call.bind(py).call1((
            sentence.input.words.clone(),
            own,
            spans.into_pyarray(py),
            origins.into_pyarray(py),
            numbers.into_pyarray(py),
            starts.into_pyarray(py),
            targets.into_pyarray(py),
            self.columns.clone(),
            self.scores(rules).into_pyarray(py),
            gap_starts.into_pyarray(py),
            gaps.into_pyarray(py),
        ))?;
        said.extract::<Said<'py>>()
    }

    fn take(&self, said: &Said<'_>, out: &mut Fired<'_>) -> PyResult<()> {
        let width = self.features.len().max(1);
        for (option, row) in said.0.as_slice()?.chunks_exact(width).enumerate() {
            for (&feature, &value) in self.features.iter().zip(row).filter(|(_, value)| **value != 0.0) {
                out.add(option as u32, feature, value as f32);
            }
        }
        if let Some((options, sparse, values)) = &said.1 {
            let rows = options.as_slice()?.iter().zip(&**sparse).zip(values.as_slice()?);
            out.named(rows.map(|((&option, name), &value)| (option as u32, name.as_str(), value as f32)));
        }
        Ok(())
    }
}

impl BatchFeature for Rules {
    fn score(&self, sentence: &Sentence<'_>, rules: &dyn Applied, out: &mut Fired<'_>) -> Result<()> {
        Python::attach(|py| {
            let said = self.ask(py, sentence, rules).and_then(|said| self.take(&said, out));
            said.map_err(|error| {
                let message = error.value(py).to_string();
                let own = message.contains(&self.name);
                Error::Invalid(if own { message } else { format!("the feature `{}`: {message}", self.name) })
            })
        })
    }
}
