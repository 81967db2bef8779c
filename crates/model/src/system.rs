//! A translation system: tables and features, shared by all threads, without weights.

use crate::feature::own::{BatchFeature, Fired, Said};
use crate::feature::sparse::{Locals, Set};
use crate::feature::{Builder, Kinds, Part, PlaceFeature, RuleFeature, StateFeature};
use crate::rule::{Applied, GAP, Rule};
use crate::sentence::{Input, Sentence};
use crate::sink::Sink;
use crate::weights::Weights;
use dragoman_base::{Error, Names, Result};
use dragoman_rules::{RuleSource, Table, gap};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, RwLock, RwLockReadGuard};

/// What names of features of whole texts begin with.
const TEXT: &str = "text:";

/// A rule table and how its target words are numbered in the system.
pub struct RuleTable {
    /// The table.
    pub rules: Arc<dyn RuleSource>,
    /// System id of each target word of the table; gaps are from [`GAP`] on.
    target: Vec<u32>,
}

impl RuleTable {
    /// Its target words are added to the vocabulary.
    fn new(rules: Arc<dyn RuleSource>, vocabulary: &mut Names) -> Self {
        let number = |word: u32| {
            let text = rules.target_text(word);
            gap::of_target(text).map_or_else(|| vocabulary.intern(text), |gap| GAP + gap as u32)
        };
        let target = (0..rules.target_words() as u32).map(number).collect();
        Self { rules, target }
    }

    /// Whether rules have gaps: then the table is one of a hierarchical system.
    pub fn has_gaps(&self) -> bool {
        self.rules.gap().is_some()
    }

    /// The system's id of a target word of the table; none for a number that the table has no word for.
    #[inline]
    pub fn target(&self, word: u32) -> Option<u32> {
        self.target.get(word as usize).copied()
    }
}

/// A state feature of a system.
pub enum State<F: ?Sized> {
    /// One that serves every decoder, by its number.
    Shared(usize),
    /// One that only the decoder at work has.
    Own(Box<F>),
}

/// Tables and features.
pub struct System {
    tables: Vec<RuleTable>,
    vocabulary: Names,
    /// Shared, since sparse features name themselves as they are met.
    names: Arc<RwLock<Names>>,
    dense: usize,
    /// Number of features when it was opened: dense ones and those of closed sets.
    opened: usize,
    rule_features: Vec<Box<dyn RuleFeature>>,
    place_features: Vec<Box<dyn PlaceFeature>>,
    state_features: Vec<Box<dyn StateFeature>>,
    batch_features: Vec<Box<dyn BatchFeature>>,
    /// Sparse sets that look at rules alone.
    locals: Locals,
    sets: Vec<Set>,
    /// The set of each name that was looked at: one more than its number, 0 for none.
    kinds: RwLock<Vec<u16>>,
    /// How many weights there have been.
    epochs: AtomicU32,
}

impl System {
    /// Opens tables and builds features from their descriptions. `kinds` are those of one decoder; `more` adds features
    /// that no description names, after the dense ones and before the sparse, and gives those that are the decoder's own.
    /// Gives the system, and all state features in their order.
    pub fn open<F: ?Sized>(
        tables: &[String],
        parts: &[Part],
        kinds: &Kinds<F>,
        more: impl FnOnce(&mut Builder) -> Result<Vec<Box<F>>>,
    ) -> Result<(Self, Vec<State<F>>)> {
        let open = |path: &String| -> Result<Arc<dyn RuleSource>> {
            Table::open(Path::new(path)).map(|table| Arc::new(table) as Arc<dyn RuleSource>)
        };
        Self::of(tables.iter().map(open).collect::<Result<_>>()?, parts, kinds, more)
    }

    /// The same for rules that are no mapped tables.
    pub fn of<F: ?Sized>(
        sources: Vec<Arc<dyn RuleSource>>,
        parts: &[Part],
        kinds: &Kinds<F>,
        more: impl FnOnce(&mut Builder) -> Result<Vec<Box<F>>>,
    ) -> Result<(Self, Vec<State<F>>)> {
        let mut vocabulary = Names::new();
        let tables = sources.iter().map(|rules| RuleTable::new(Arc::clone(rules), &mut vocabulary)).collect();
        let mut builder = Builder::new(sources.clone(), vocabulary);
        let (sparse, dense): (Vec<&Part>, Vec<&Part>) =
            parts.iter().partition(|part| kinds.is_sparse(&part.kind));
        let mut states = Vec::new();
        for part in dense {
            let own = kinds.add(part, &mut builder)?;
            put(&mut states, &builder, own);
        }
        let own = more(&mut builder)?;
        put(&mut states, &builder, own);
        let dense = builder.names.read().expect("no panic while locked").len();
        for part in sparse {
            let own = kinds.add(part, &mut builder)?;
            put(&mut states, &builder, own);
        }
        let known = builder.names.read().expect("no panic while locked").len();
        let Builder {
            vocabulary, names, rules, places, states: shared, batches, sets, locals, valued, ..
        } = builder;
        let made = Self {
            tables,
            vocabulary,
            dense,
            opened: known,
            rule_features: rules,
            place_features: places,
            state_features: shared,
            batch_features: batches,
            locals: Locals::new(locals, valued, Arc::clone(&names), sources),
            names,
            sets,
            kinds: RwLock::default(),
            epochs: AtomicU32::new(1),
        };
        Ok((made, states))
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
    #[inline]
    pub fn tables(&self) -> &[RuleTable] {
        &self.tables
    }

    /// A sentence with the words of this system.
    pub fn sentence<'a>(&'a self, input: &'a Input) -> Sentence<'a> {
        Sentence::new(input, &self.vocabulary)
    }

    /// The state features that serve every decoder, by the numbers of [`State::Shared`].
    #[inline]
    pub fn state_features(&self) -> &[Box<dyn StateFeature>] {
        &self.state_features
    }

    /// The weighted sum of all that fires on a rule.
    #[inline]
    pub fn weigh(&self, sentence: &Sentence<'_>, rule: &Rule<'_>, weights: &Weights) -> f32 {
        let mut out = Sink::scoring(weights);
        for feature in &self.rule_features {
            feature.score(sentence, rule, &mut out);
        }
        if rule.gaps.is_empty() {
            self.place(sentence, rule, &mut out);
        }
        out.score() + self.locals.sum(sentence, rule, weights)
    }

    /// What features say of where a rule with gaps is; without gaps it is part of [`System::weigh`] and [`System::list`].
    pub fn place(&self, sentence: &Sentence<'_>, rule: &Rule<'_>, out: &mut Sink<'_>) {
        for feature in &self.place_features {
            feature.score(sentence, rule, out);
        }
    }

    /// Whether any feature looks at where a rule is.
    #[inline]
    pub fn has_places(&self) -> bool {
        !self.place_features.is_empty()
    }

    /// Lists all that fires on a rule; `said` is what features said of it, as number so and so, that saw all rules.
    pub fn list(
        &self,
        sentence: &Sentence<'_>,
        rule: &Rule<'_>,
        (said, number): (&Said, u32),
        out: &mut Sink<'_>,
    ) {
        for feature in &self.rule_features {
            feature.score(sentence, rule, out);
        }
        if rule.gaps.is_empty() {
            self.place(sentence, rule, out);
        }
        said.list(number, &self.names, out);
        self.locals.list(sentence, rule, out);
    }

    /// Whether any feature must see all rules that apply to a sentence at once.
    pub fn asks_for_all(&self) -> bool {
        !self.batch_features.is_empty()
    }

    /// What these features say.
    pub fn ask(&self, sentence: &Sentence<'_>, rules: &dyn Applied) -> Result<Said> {
        let mut said = Fired::new(&self.names);
        for feature in &self.batch_features {
            feature.score(sentence, rules, &mut said)?;
        }
        Ok(said.sorted(rules.len()))
    }

    /// The target words of all tables.
    pub fn vocabulary(&self) -> &Names {
        &self.vocabulary
    }

    /// The sparse sets.
    pub fn sets(&self) -> &[Set] {
        &self.sets
    }

    /// The sparse set that a name belongs to.
    fn set_of(&self, name: &str) -> Option<usize> {
        let (prefix, _) = name.split_once(':')?;
        self.sets.iter().position(|set| set.prefix == prefix)
    }

    /// Whether names of this kind come as they are met: those of open sets, and those of features of whole texts, which
    /// only a sampler asks for.
    fn comes_later(&self, name: &str) -> bool {
        name.starts_with(TEXT) || self.set_of(name).is_some_and(|set| self.sets[set].open)
    }

    /// The first of some names that no feature of this system can have.
    pub fn unknown<'n>(&self, names: &'n Names) -> Option<&'n str> {
        let own = self.names.read().expect("no panic while locked");
        // The cheaper question first: most of many names belong to open sets.
        let known = |name: &str| self.comes_later(name) || own.get(name).is_some();
        names.iter().find(|name| !known(name))
    }

    /// Gets weights ready; `given` are their names, the system's own unless told. Names of open sets are filed.
    pub fn weights(&self, given: Option<&Names>, values: &[f64]) -> Result<Weights> {
        let weigh: Vec<u32> = (0..values.len() as u32).filter(|&at| values[at as usize] != 0.0).collect();
        let numbers = given.map(|names| self.numbers(names, &weigh)).transpose()?;
        let own = self.names.read().expect("no panic while locked");
        let mut ready = vec![0.0; own.len()];
        for (&id, &at) in numbers.as_ref().unwrap_or(&weigh).iter().zip(&weigh) {
            if ready.len() <= id as usize {
                ready.resize(id as usize + 1, 0.0);
            }
            ready[id as usize] = values[at as usize] as f32;
        }
        let (kinds, epoch) = (self.kinds(&own, ready.len()), self.epochs.fetch_add(1, Ordering::Relaxed));
        let set = |id: u32| usize::from(kinds[id as usize]).checked_sub(1);
        Ok(Weights::new(&ready, self.opened, epoch, self.sets.len(), set))
    }

    /// The same weights with other values for some features, by their numbers. Costs what is changed.
    pub fn changed(&self, weights: &Weights, changes: Vec<(u32, f32)>) -> Result<Weights> {
        let own = self.names.read().expect("no panic while locked");
        if let Some((id, _)) = changes.iter().find(|(id, _)| *id as usize >= own.len()) {
            return Err(Error::Invalid(format!("there is no feature {id}, only {}", own.len())));
        }
        let last = changes.iter().map(|(id, _)| *id as usize + 1).max().unwrap_or(0);
        let (kinds, epoch) = (self.kinds(&own, last), self.epochs.fetch_add(1, Ordering::Relaxed));
        let set = |id: u32| usize::from(kinds[id as usize]).checked_sub(1);
        Ok(weights.changed(changes, own.len(), epoch, set))
    }

    /// The sets of at least the first `count` names: a name is taken apart once, not for each of the weights that
    /// tuning tries.
    fn kinds(&self, own: &Names, count: usize) -> RwLockReadGuard<'_, Vec<u16>> {
        let known = self.kinds.read().expect("no panic while locked");
        if known.len() >= count {
            return known;
        }
        drop(known);
        let mut kinds = self.kinds.write().expect("no panic while locked");
        for next in kinds.len()..count {
            let set = if next < self.dense { None } else { self.set_of(own.name(next as u32)) };
            kinds.push(set.map_or(0, |set| set as u16 + 1));
        }
        drop(kinds);
        self.kinds.read().expect("no panic while locked")
    }

    /// The numbers of some names of another table, which are filed if their sets are open.
    pub fn numbers(&self, names: &Names, ids: &[u32]) -> Result<Vec<u32>> {
        let own = self.names.read().expect("no panic while locked");
        // Mostly all of them are there, and whoever searches meanwhile need not wait.
        if let Some(known) = ids.iter().map(|&id| own.get(names.name(id))).collect() {
            return Ok(known);
        }
        drop(own);
        let mut own = self.names.write().expect("no panic while locked");
        // The first of many weights makes the table grow at once.
        let more = ids.len().saturating_sub(own.len());
        own.reserve(more);
        ids.iter().map(|&id| self.number(&mut own, names.name(id))).collect()
    }

    /// The number of a name, which is filed if its set is open.
    fn number(&self, own: &mut Names, name: &str) -> Result<u32> {
        let known = if self.comes_later(name) { Some(own.intern(name)) } else { own.get(name) };
        known.ok_or_else(|| Error::Invalid(format!("the model has no feature `{name}`")))
    }

    /// Files a list's own names: the system's number for each of its numbers.
    pub fn file(&self, own: &Names) -> Vec<u32> {
        if own.is_empty() {
            return Vec::new();
        }
        let mut names = self.names.write().expect("no panic while locked");
        own.texts().iter().map(|name| names.intern(name)).collect()
    }
}

/// Notes state features that were added since, those of all decoders first.
fn put<F: ?Sized>(states: &mut Vec<State<F>>, builder: &Builder, own: impl IntoIterator<Item = Box<F>>) {
    let known = states.iter().filter(|state| matches!(state, State::Shared(_))).count();
    states.extend((known..builder.states.len()).map(State::Shared));
    states.extend(own.into_iter().map(State::Own));
}
