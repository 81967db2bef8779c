//! The table of feature kinds, and what a feature needs to be built.

use super::own::BatchFeature;
use super::sparse::local::Valued;
use super::sparse::{self, Common, LocalSet, Set, ValuedSet};
use super::{PlaceFeature, RuleFeature, StateFeature, language, penalty, scores};
use dragoman_base::{Error, Names, Result};
use dragoman_rules::RuleSource;
use std::sync::{Arc, RwLock};

/// One part of a system as its description names it: a kind, the name of its features, and options.
#[derive(Debug, Clone)]
pub struct Part {
    /// A name in [`KINDS`] or [`SETS`], or of the decoder's own [`Kinds`].
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
pub type Build = fn(&Part, &mut Builder) -> Result<()>;

/// All kinds of dense features that serve every decoder.
pub const KINDS: &[(&str, Build)] = &[
    ("scores", scores::scores),
    ("lm", language::language),
    ("word-penalty", penalty::words),
    ("source-word-penalty", penalty::source_words),
    ("phrase-penalty", penalty::phrases),
    ("unknown-penalty", penalty::unknown),
    ("pass-through", penalty::passed),
    ("glue", penalty::glue),
    ("arity", penalty::arity),
    ("glossary", penalty::glossary),
];

/// All kinds of sparse sets that serve every decoder.
pub const SETS: &[(&str, Build)] = &[
    ("pt", sparse::pair::rules),
    ("al", sparse::align::clusters),
    ("wp", sparse::pair::pairs),
    ("ins", sparse::pair::insertions),
    ("tb", sparse::bigram::bigrams),
    ("bin", sparse::bins::bins),
    ("boosted", sparse::boosted::boosted),
    ("attributes", sparse::boosted::attributes),
    ("shape", sparse::shape::shapes),
    ("path", sparse::shape::path),
];

/// Makes a feature that only one decoder has.
pub type Make<F> = fn(&Part, &mut Builder) -> Result<Box<F>>;

/// The kinds of features that only one decoder has.
pub struct Kinds<F: ?Sized + 'static> {
    /// Dense ones.
    pub dense: &'static [(&'static str, Make<F>)],
    /// Sparse sets.
    pub sparse: &'static [(&'static str, Make<F>)],
}

impl<F: ?Sized> Kinds<F> {
    /// Whether a kind is a sparse set, of this decoder or of all.
    pub fn is_sparse(&self, kind: &str) -> bool {
        SETS.iter().any(|(known, _)| *known == kind) || self.sparse.iter().any(|(known, _)| *known == kind)
    }

    /// Adds a part by its kind; gives the feature if it is the decoder's own.
    pub fn add(&self, part: &Part, to: &mut Builder) -> Result<Option<Box<F>>> {
        let named = |kind: &str| *kind == part.kind;
        if let Some((_, build)) = KINDS.iter().chain(SETS).find(|(kind, _)| named(kind)) {
            return build(part, to).map(|()| None);
        }
        if let Some((_, make)) = self.dense.iter().chain(self.sparse).find(|(kind, _)| named(kind)) {
            return make(part, to).map(Some);
        }
        let all = |ours: &[(&'static str, Build)], own: &[(&'static str, Make<F>)]| -> Vec<&'static str> {
            ours.iter().map(|(kind, _)| *kind).chain(own.iter().map(|(kind, _)| *kind)).collect()
        };
        let known = [all(KINDS, self.dense), all(SETS, self.sparse)].concat().join(", ");
        Err(Error::Invalid(format!("unknown feature kind `{}`; known: {known}", part.kind)))
    }
}

/// A system under construction.
pub struct Builder {
    tables: Vec<Arc<dyn RuleSource>>,
    pub(crate) vocabulary: Names,
    pub(crate) names: Arc<RwLock<Names>>,
    pub(crate) rules: Vec<Box<dyn RuleFeature>>,
    pub(crate) places: Vec<Box<dyn PlaceFeature>>,
    pub(crate) states: Vec<Box<dyn StateFeature>>,
    pub(crate) batches: Vec<Box<dyn BatchFeature>>,
    pub(crate) sets: Vec<Set>,
    pub(crate) locals: Vec<(Arc<Common>, Box<dyn LocalSet>)>,
    pub(crate) valued: Vec<Valued>,
}

impl Builder {
    /// Starts with tables and the target words of all of them.
    pub fn new(tables: Vec<Arc<dyn RuleSource>>, vocabulary: Names) -> Self {
        Self {
            tables,
            vocabulary,
            names: Arc::default(),
            rules: Vec::new(),
            places: Vec::new(),
            states: Vec::new(),
            batches: Vec::new(),
            sets: Vec::new(),
            locals: Vec::new(),
            valued: Vec::new(),
        }
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
    pub fn tables(&self) -> &[Arc<dyn RuleSource>] {
        &self.tables
    }

    /// Whether every table has counts.
    pub fn has_counts(&self) -> bool {
        self.tables.iter().all(|table| sparse::local::count_column(&**table).is_some())
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
    pub fn table(&self, number: usize) -> Result<Arc<dyn RuleSource>> {
        let count = self.tables.len();
        let table = self.tables.get(number).cloned();
        table.ok_or_else(|| Error::Invalid(format!("there is no rule table {number}, only {count}")))
    }

    /// The target words of all tables.
    pub fn vocabulary(&self) -> &Names {
        &self.vocabulary
    }

    /// Adds a rule feature.
    pub fn add_rule(&mut self, feature: impl RuleFeature + 'static) {
        self.rules.push(Box::new(feature));
    }

    /// Adds a feature of where a rule is.
    pub fn add_place(&mut self, feature: impl PlaceFeature + 'static) {
        self.places.push(Box::new(feature));
    }

    /// Adds a rule feature that sees all rules that apply to a sentence at once.
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

    /// Adds a set of values that looks at rules alone, and whose names were filed from `base` on.
    pub fn add_valued(&mut self, common: Common, base: u32, set: impl ValuedSet + 'static) {
        self.valued.push(Valued { common, base, set: Box::new(set) });
    }

    /// Adds a state feature.
    pub fn add_state(&mut self, feature: impl StateFeature + 'static) {
        self.states.push(Box::new(feature));
    }
}
