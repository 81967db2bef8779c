//! The table of feature kinds, and what a feature needs to be built.

use super::own::BatchFeature;
use super::{RuleFeature, StateFeature, distortion, language, penalty, reordering, scores};
use dragoman_base::{Error, Names, Result};
use dragoman_rules::Table;
use std::sync::Arc;

/// One part of a system as its description names it: a kind, the name of its features, and options.
#[derive(Debug, Clone)]
pub struct Part {
    /// A name in [`KINDS`].
    pub kind: String,
    /// What its features are called.
    pub name: String,
    /// Everything else.
    pub options: Vec<(String, String)>,
}

impl Part {
    /// An option, if it is given.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.options.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    /// An option that is a number.
    pub fn number(&self, key: &str, unless: f32) -> Result<f32> {
        let Some(text) = self.get(key) else { return Ok(unless) };
        text.parse().map_err(|_| {
            let Self { kind, name, .. } = self;
            Error::Invalid(format!("{kind} {name}: {key} must be a number, found `{text}`"))
        })
    }

    /// An option that is a list, after commas.
    pub fn list(&self, key: &str) -> Vec<String> {
        let text = self.get(key).unwrap_or_default();
        text.split(',').filter(|item| !item.is_empty()).map(str::to_owned).collect()
    }
}

/// Adds a part to a system.
type Build = fn(&Part, &mut Builder) -> Result<()>;

/// All kinds of features.
pub const KINDS: &[(&str, Build)] = &[
    ("scores", scores::scores),
    ("lm", language::language),
    ("distortion", distortion::distortion),
    ("reordering", reordering::reordering),
    ("word-penalty", penalty::words),
    ("phrase-penalty", penalty::phrases),
    ("unknown-penalty", penalty::unknown),
];

/// A system under construction.
pub struct Builder {
    tables: Vec<Arc<Table>>,
    pub(crate) vocabulary: Names,
    pub(crate) names: Names,
    pub(crate) rules: Vec<Box<dyn RuleFeature>>,
    pub(crate) states: Vec<Box<dyn StateFeature>>,
    pub(crate) batches: Vec<Box<dyn BatchFeature>>,
}

impl Builder {
    /// Starts with tables and the target words of all of them.
    pub fn new(tables: Vec<Arc<Table>>, vocabulary: Names) -> Self {
        Self {
            tables,
            vocabulary,
            names: Names::new(),
            rules: Vec::new(),
            states: Vec::new(),
            batches: Vec::new(),
        }
    }

    /// Adds a part by its kind.
    pub fn add(&mut self, part: &Part) -> Result<()> {
        let Some((_, build)) = KINDS.iter().find(|(kind, _)| *kind == part.kind) else {
            let known: Vec<&str> = KINDS.iter().map(|(kind, _)| *kind).collect();
            return Err(Error::Invalid(format!(
                "unknown feature kind `{}`; known: {}",
                part.kind,
                known.join(", ")
            )));
        };
        build(part, self)
    }

    /// Names a dense feature; no two may share a name.
    pub fn dense(&mut self, name: &str) -> Result<u32> {
        if self.names.get(name).is_some() {
            return Err(Error::Invalid(format!("two features are called `{name}`")));
        }
        Ok(self.names.intern_as(name, true))
    }

    /// A rule table by its number.
    pub fn table(&self, number: usize) -> Result<Arc<Table>> {
        let count = self.tables.len();
        let table = self.tables.get(number).cloned();
        table.ok_or_else(|| Error::Invalid(format!("there is no rule table {number}, only {count}")))
    }

    /// Number of rules of each table.
    pub fn rule_counts(&self) -> impl Iterator<Item = usize> + '_ {
        self.tables.iter().map(|table| table.len())
    }

    /// The target words of all tables.
    pub fn vocabulary(&self) -> &Names {
        &self.vocabulary
    }

    /// Adds a rule feature.
    pub fn add_rule(&mut self, feature: impl RuleFeature + 'static) {
        self.rules.push(Box::new(feature));
    }

    /// Adds a rule feature that sees all options of a sentence at once.
    pub fn add_batch(&mut self, feature: impl BatchFeature + 'static) {
        self.batches.push(Box::new(feature));
    }

    /// Adds a state feature.
    pub fn add_state(&mut self, feature: impl StateFeature + 'static) {
        self.states.push(Box::new(feature));
    }
}
