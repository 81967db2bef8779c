//! A translation system: tables and features, shared by all threads, without weights.

use crate::feature::own::BatchFeature;
use crate::feature::{Builder, Part, RuleFeature, StateFeature};
use dragoman_base::{Names, Result};
use dragoman_rules::Table;
use std::path::Path;
use std::sync::{Arc, RwLock};

/// A rule table and how its target words are numbered in the system.
pub struct RuleTable {
    /// The table.
    pub rules: Arc<Table>,
    /// System id of each target word of the table.
    target: Vec<u32>,
}

impl RuleTable {
    /// The system's id of a target word of the table.
    #[inline]
    pub fn target(&self, word: u32) -> u32 {
        self.target[word as usize]
    }
}

/// Tables and features.
pub struct System {
    pub(crate) tables: Vec<RuleTable>,
    pub(crate) vocabulary: Names,
    /// Shared, since sparse features name themselves as they are met.
    pub(crate) names: Arc<RwLock<Names>>,
    dense: usize,
    pub(crate) rule_features: Vec<Box<dyn RuleFeature>>,
    pub(crate) state_features: Vec<Box<dyn StateFeature>>,
    pub(crate) batch_features: Vec<Box<dyn BatchFeature>>,
}

impl System {
    /// Opens tables and builds features from their descriptions.
    pub fn open(tables: &[String], parts: &[Part]) -> Result<Self> {
        Self::open_with(tables, parts, |_| Ok(()))
    }

    /// The same with features that no description names, which `more` adds.
    pub fn open_with(
        tables: &[String],
        parts: &[Part],
        more: impl FnOnce(&mut Builder) -> Result<()>,
    ) -> Result<Self> {
        let opened: Vec<Arc<Table>> =
            tables.iter().map(|path| Table::open(Path::new(path)).map(Arc::new)).collect::<Result<_>>()?;
        let mut vocabulary = Names::new();
        let tables = opened
            .iter()
            .map(|rules| {
                let words = 0..rules.target_words() as u32;
                let target = words.map(|word| vocabulary.intern(rules.target_text(word))).collect();
                RuleTable { rules: Arc::clone(rules), target }
            })
            .collect();
        let mut builder = Builder::new(opened, vocabulary);
        for part in parts {
            builder.add(part)?;
        }
        more(&mut builder)?;
        let Builder { vocabulary, names, rules: rule_features, states: state_features, batches, .. } =
            builder;
        let (dense, names) = (names.len(), Arc::new(RwLock::new(names)));
        Ok(Self { tables, vocabulary, names, dense, rule_features, state_features, batch_features: batches })
    }

    /// The names of all features; the dense ones come first.
    pub fn names(&self) -> &Arc<RwLock<Names>> {
        &self.names
    }

    /// Number of dense features: those that every derivation has.
    pub fn dense(&self) -> usize {
        self.dense
    }

    /// The rule tables.
    pub fn tables(&self) -> impl ExactSizeIterator<Item = &Table> {
        self.tables.iter().map(|table| &*table.rules)
    }

    /// The target words of all tables.
    pub fn vocabulary(&self) -> &Names {
        &self.vocabulary
    }
}
