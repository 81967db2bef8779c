//! A translation system: tables and features, shared by all threads, without weights.

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
}

impl System {
    /// Opens tables and builds features from their descriptions.
    pub fn open(tables: &[String], parts: &[Part]) -> Result<Self> {
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
        let Builder { vocabulary, names, rules: rule_features, states: state_features, .. } = builder;
        let (dense, names) = (names.len(), Arc::new(RwLock::new(names)));
        Ok(Self { tables, vocabulary, names, dense, rule_features, state_features })
    }

    /// The names of all features; the dense ones come first.
    pub fn names(&self) -> &Arc<RwLock<Names>> {
        &self.names
    }

    /// Number of dense features: those that every derivation has.
    pub fn dense(&self) -> usize {
        self.dense
    }

    /// The target words of all tables.
    pub fn vocabulary(&self) -> &Names {
        &self.vocabulary
    }
}
