//! Sets that look at nothing but a rule: their weighted sum is worked out once for each rule and weights.

use super::ledger::Ledger;
use super::{COUNT, Common, View, count_of, texts};
use crate::feature::chunks::Chunks;
use crate::rule::{Origin, Rule};
use crate::sentence::Sentence;
use crate::sink::Sink;
use crate::weights::Weights;
use dragoman_base::Names;
use dragoman_rules::RuleSource;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

/// Names what fires on a rule; the same name may fire more than once.
pub trait LocalSet: Send + Sync {
    /// Calls [`Firing::fire`] for each name.
    fn fire(&self, view: &View<'_>, out: &mut Firing<'_>);
}

/// Says values on a rule, each by the number of its name among the set's, all of which were filed at the start.
pub trait ValuedSet: Send + Sync {
    /// Calls `take` with each number and its value.
    fn each(&self, view: &View<'_>, take: &mut dyn FnMut(u32, f32));
}

/// A set of values, and the number of its first name.
pub struct Valued {
    pub(crate) common: Common,
    pub(crate) base: u32,
    pub(crate) set: Box<dyn ValuedSet>,
}

/// Takes names, built in place.
pub struct Firing<'a> {
    text: &'a mut String,
    common: &'a Common,
    take: &'a mut dyn FnMut(&str),
}

impl Firing<'_> {
    /// A feature fires: `build` appends its name to the set's prefix.
    pub fn fire(&mut self, build: impl FnOnce(&mut String)) {
        self.text.clear();
        self.text.push_str(&self.common.prefix);
        build(self.text);
        if self.common.allows(self.text) {
            (self.take)(self.text);
        }
    }
}

/// Weights whose sums are kept side by side: online tuning decodes with the last ones and the ones before at once.
const WAYS: usize = 2;

/// All sets of a system that look at rules alone.
pub struct Locals {
    sets: Vec<(Arc<Common>, Box<dyn LocalSet>)>,
    valued: Vec<Valued>,
    names: Arc<RwLock<Names>>,
    tables: Vec<Arc<dyn RuleSource>>,
    /// Where each table has its counts.
    counts: Vec<Option<usize>>,
    /// The last sums of each rule, above each the epoch of its weights.
    sums: Vec<Chunks<AtomicU64>>,
    ledger: Ledger,
    /// Where the ledger has the names that fire on a rule; 0 if it does not.
    places: Vec<Chunks<AtomicU32>>,
}

impl Locals {
    /// For the tables of a system.
    pub fn new(
        sets: Vec<(Arc<Common>, Box<dyn LocalSet>)>,
        valued: Vec<Valued>,
        names: Arc<RwLock<Names>>,
        tables: Vec<Arc<dyn RuleSource>>,
    ) -> Self {
        let counts = tables.iter().map(|table| count_column(&**table)).collect();
        let sums = tables.iter().map(|_| Chunks::new(WAYS)).collect();
        let places = tables.iter().map(|_| Chunks::new(1)).collect();
        let ledger = Ledger::new(Arc::clone(&names));
        Self { sets, valued, names, tables, counts, sums, ledger, places }
    }

    /// The weighted sum of all that fires on an option.
    pub fn sum(&self, sentence: &Sentence<'_>, rule: &Rule<'_>, weights: &Weights) -> f32 {
        let Origin::Table(table) = rule.origin else { return 0.0 };
        let mut all =
            self.sets.iter().map(|(common, _)| &**common).chain(self.valued.iter().map(|v| &v.common));
        if all.all(|common| !weights.weighs(common.set)) {
            return 0.0;
        }
        let place = self.sums[table].at(rule.number, weights.epoch() as usize % WAYS);
        let known = place.load(Ordering::Relaxed);
        if (known >> 32) as u32 == weights.epoch() {
            return f32::from_bits(known as u32);
        }
        // Weights that stay as they are never ask again: names are kept only where others have been here before.
        let entered = known > 0 && self.enter(table, sentence, rule);
        let named =
            if entered { self.quick(table, rule, weights) } else { self.slow(sentence, rule, weights) };
        let sum = named + self.values(sentence, rule, weights);
        place.store(u64::from(weights.epoch()) << 32 | u64::from(sum.to_bits()), Ordering::Relaxed);
        sum
    }

    /// The sum from names.
    fn slow(&self, sentence: &Sentence<'_>, rule: &Rule<'_>, weights: &Weights) -> f32 {
        let mut sum = 0.0;
        let names = self.names.read().expect("no panic while locked");
        self.each(sentence, rule, |set| weights.weighs(set), &mut |name| {
            sum += names.get(name).map_or(0.0, |id| weights.weight(id));
        });
        sum
    }

    /// The same sum, in the same order, from the ledger.
    fn quick(&self, table: usize, rule: &Rule<'_>, weights: &Weights) -> f32 {
        self.ledger.catch_up(weights.len());
        let mut sum = 0.0;
        for id in self.ledger.list(self.place(table, rule)) {
            sum += id.map_or(0.0, |id| weights.weight(id));
        }
        sum
    }

    /// The sum of the sets of values.
    fn values(&self, sentence: &Sentence<'_>, rule: &Rule<'_>, weights: &Weights) -> f32 {
        let mut sum = 0.0;
        self.each_value(sentence, rule, |set| weights.weighs(set), &mut |id, value| {
            sum += weights.weight(id) * value;
        });
        sum
    }

    /// Where the ledger has the names of a rule; 0 if it does not.
    fn place(&self, table: usize, rule: &Rule<'_>) -> u32 {
        self.places[table].get(rule.number, 0).map_or(0, |place| place.load(Ordering::Acquire))
    }

    /// Enters the names that fire on a rule in the ledger; false if that is full.
    fn enter(&self, table: usize, sentence: &Sentence<'_>, rule: &Rule<'_>) -> bool {
        let place = self.places[table].at(rule.number, 0);
        if place.load(Ordering::Acquire) > 0 {
            return true;
        }
        let (mut names, mut order) = (Names::new(), Vec::new());
        self.each(sentence, rule, |_| true, &mut |name| order.push(names.intern(name)));
        self.ledger.enter(place, &names, &order)
    }

    /// Lists all that fires on an option.
    pub fn list(&self, sentence: &Sentence<'_>, rule: &Rule<'_>, out: &mut Sink<'_>) {
        let Origin::Table(table) = rule.origin else { return };
        self.each_value(sentence, rule, |_| true, &mut |id, value| out.add(id, value));
        let place = self.place(table, rule);
        if place > 0 && self.ledger.list(place).all(|id| id.is_some()) {
            self.ledger.list(place).flatten().for_each(|id| out.add(id, 1.0));
            return;
        }
        let names = self.names.read().expect("no panic while locked");
        self.each(sentence, rule, |_| true, &mut |name| out.named(&names, name, 1.0));
    }

    fn each(
        &self,
        sentence: &Sentence<'_>,
        rule: &Rule<'_>,
        wanted: impl Fn(usize) -> bool,
        take: &mut dyn FnMut(&str),
    ) {
        self.view(sentence, rule, |view| {
            let mut text = String::with_capacity(64);
            for (common, set) in &self.sets {
                if wanted(common.set) && common.enough(view.count) {
                    set.fire(view, &mut Firing { text: &mut text, common, take });
                }
            }
        });
    }

    fn each_value(
        &self,
        sentence: &Sentence<'_>,
        rule: &Rule<'_>,
        wanted: impl Fn(usize) -> bool,
        take: &mut dyn FnMut(u32, f32),
    ) {
        if !self.valued.iter().any(|one| wanted(one.common.set)) {
            return;
        }
        self.view(sentence, rule, |view| {
            for one in self.valued.iter().filter(|one| wanted(one.common.set)) {
                one.set.each(view, &mut |number, value| take(one.base + number, value));
            }
        });
    }

    /// Shows a rule of a table as sets see it.
    fn view(&self, sentence: &Sentence<'_>, rule: &Rule<'_>, see: impl FnOnce(&View<'_>)) {
        let Origin::Table(table) = rule.origin else { return };
        let (source, target) = texts(sentence, rule);
        let rules = &*self.tables[table];
        see(&View {
            source: &source,
            target: &target,
            links: rules.links(rule.number),
            count: count_of(rules, self.counts[table], rule.number),
            table,
            scores: rules.scores(rule.number),
        });
    }
}

/// Where a table has its counts.
pub fn count_column(table: &dyn RuleSource) -> Option<usize> {
    table.columns().iter().position(|column| column == COUNT)
}
