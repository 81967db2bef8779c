//! The table of feature kinds, and what a feature needs to be built.

use super::own::BatchFeature;
use super::sparse::{self, Common, LocalSet, Set};
use super::{RuleFeature, StateFeature, distortion, language, penalty, reordering, scores};
use dragoman_base::{Error, Names, Result};
use dragoman_rules::Table;
use std::sync::{Arc, RwLock};

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

    /// An option that must be there.
    pub fn need(&self, key: &str) -> Result<&str> {
        let Self { kind, name, .. } = self;
        self.get(key).ok_or_else(|| Error::Invalid(format!("{kind} {name}: expected the option {key}")))
    }

    /// An option that is true or false; false unless told.
    pub fn flag(&self, key: &str) -> Result<bool> {
        match self.get(key).map(str::to_ascii_lowercase).as_deref() {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => {
                let Self { kind, name, .. } = self;
                Err(Error::Invalid(format!("{kind} {name}: {key} must be true or false, found `{other}`")))
            }
        }
    }

    /// An option that is a list, after commas.
    pub fn list(&self, key: &str) -> Vec<String> {
        let text = self.get(key).unwrap_or_default();
        text.split(',').filter(|item| !item.is_empty()).map(str::to_owned).collect()
    }
}

/// Adds a part to a system.
type Build = fn(&Part, &mut Builder) -> Result<()>;

/// All kinds of dense features.
pub const KINDS: &[(&str, Build)] = &[
    ("scores", scores::scores),
    ("lm", language::language),
    ("distortion", distortion::distortion),
    ("reordering", reordering::reordering),
    ("word-penalty", penalty::words),
    ("phrase-penalty", penalty::phrases),
    ("unknown-penalty", penalty::unknown),
    ("glossary", penalty::glossary),
];

/// All kinds of sparse sets.
pub const SETS: &[(&str, Build)] = &[
    ("pt", sparse::pair::rules),
    ("al", sparse::align::clusters),
    ("lo", sparse::orientation::orientations),
    ("wp", sparse::pair::pairs),
    ("ins", sparse::pair::insertions),
    ("tb", sparse::bigram::bigrams),
    ("pb", sparse::boundary::boundary),
    ("bin", sparse::bins::bins),
    ("sparse-hrm", sparse::hrm::hierarchical),
];

/// A system under construction.
pub struct Builder {
    tables: Vec<Arc<Table>>,
    pub(crate) vocabulary: Names,
    pub(crate) names: Arc<RwLock<Names>>,
    pub(crate) rules: Vec<Box<dyn RuleFeature>>,
    pub(crate) states: Vec<Box<dyn StateFeature>>,
    pub(crate) batches: Vec<Box<dyn BatchFeature>>,
    pub(crate) sets: Vec<Set>,
    pub(crate) locals: Vec<(Arc<Common>, Box<dyn LocalSet>)>,
}

impl Builder {
    /// Starts with tables and the target words of all of them.
    pub fn new(tables: Vec<Arc<Table>>, vocabulary: Names) -> Self {
        Self {
            tables,
            vocabulary,
            names: Arc::default(),
            rules: Vec::new(),
            states: Vec::new(),
            batches: Vec::new(),
            sets: Vec::new(),
            locals: Vec::new(),
        }
    }

    /// Adds a part by its kind. Dense parts go first.
    pub fn add(&mut self, part: &Part) -> Result<()> {
        let mut kinds = KINDS.iter().chain(SETS);
        let Some((_, build)) = kinds.find(|(kind, _)| *kind == part.kind) else {
            let known: Vec<&str> = KINDS.iter().chain(SETS).map(|(kind, _)| *kind).collect();
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
        let mut names = self.names.write().expect("no panic while locked");
        if names.get(name).is_some() {
            return Err(Error::Invalid(format!("two features are called `{name}`")));
        }
        Ok(names.intern_as(name, true))
    }

    /// Registers a sparse set by the prefix of its names; its number.
    pub fn set(&mut self, prefix: &str, open: bool) -> Result<usize> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        if prefix.is_empty() || !prefix.chars().all(plain) {
            return Err(Error::Invalid(format!(
                "expected a set's name of letters, digits, `-`, `.` and `_`, found `{prefix}`"
            )));
        }
        if self.sets.iter().any(|set| set.prefix == prefix) {
            return Err(Error::Invalid(format!("two feature sets are called `{prefix}`")));
        }
        self.sets.push(Set { prefix: prefix.to_owned(), open });
        Ok(self.sets.len() - 1)
    }

    /// All rule tables.
    pub fn tables(&self) -> &[Arc<Table>] {
        &self.tables
    }

    /// Whether every table has counts.
    pub fn has_counts(&self) -> bool {
        self.tables.iter().all(|table| sparse::local::count_column(table).is_some())
    }

    /// An error unless every table has counts.
    pub fn with_counts(&self, kind: &str) -> Result<()> {
        if self.has_counts() {
            return Ok(());
        }
        let column = sparse::COUNT;
        Err(Error::Invalid(format!("{kind}: min_count needs a rule table with a column `{column}`")))
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

    /// Adds a sparse set that looks at rules alone.
    pub fn add_local(&mut self, common: Common, set: impl LocalSet + 'static) {
        self.add_local_shared(Arc::new(common), set);
    }

    /// The same for a set that has another part, too.
    pub fn add_local_shared(&mut self, common: Arc<Common>, set: impl LocalSet + 'static) {
        self.locals.push((common, Box::new(set)));
    }

    /// Adds a state feature.
    pub fn add_state(&mut self, feature: impl StateFeature + 'static) {
        self.states.push(Box::new(feature));
    }
}
