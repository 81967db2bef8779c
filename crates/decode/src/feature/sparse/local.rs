//! Sets that look at nothing but a rule: their weighted sum is worked out once for each rule and weights.

use super::{COUNT, Common, View, count_of};
use crate::feature::{Rule, Sink};
use crate::options::Origin;
use crate::sentence::Sentence;
use crate::weights::Weights;
use dragoman_base::Names;
use dragoman_rules::Table;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, RwLock};

/// Names what fires on a rule; the same name may fire more than once.
pub trait LocalSet: Send + Sync {
    /// Calls [`Firing::fire`] for each name.
    fn fire(&self, view: &View<'_>, out: &mut Firing<'_>);
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

const CHUNK: usize = 1 << 12;

/// Weights whose sums are kept side by side: online tuning decodes with the last ones and the ones before at once.
const WAYS: usize = 2;

/// For each rule of a table the last sums, above each the epoch of its weights. Space comes with use.
struct Sums(Vec<OnceLock<Box<[AtomicU64]>>>);

impl Sums {
    fn new(rules: usize) -> Self {
        Self((0..rules.div_ceil(CHUNK)).map(|_| OnceLock::new()).collect())
    }

    fn at(&self, rule: u32, epoch: u32) -> &AtomicU64 {
        let made = || (0..CHUNK * WAYS).map(|_| AtomicU64::new(0)).collect();
        let chunk = self.0[rule as usize / CHUNK].get_or_init(made);
        &chunk[rule as usize % CHUNK * WAYS + epoch as usize % WAYS]
    }
}

/// All sets of a system that look at rules alone.
pub struct Locals {
    sets: Vec<(Arc<Common>, Box<dyn LocalSet>)>,
    names: Arc<RwLock<Names>>,
    tables: Vec<Arc<Table>>,
    /// Where each table has its counts.
    counts: Vec<Option<usize>>,
    sums: Vec<Sums>,
}

impl Locals {
    /// For the tables of a system.
    pub fn new(
        sets: Vec<(Arc<Common>, Box<dyn LocalSet>)>,
        names: Arc<RwLock<Names>>,
        tables: Vec<Arc<Table>>,
    ) -> Self {
        let counts = tables.iter().map(|table| count_column(table)).collect();
        let sums = tables.iter().map(|table| Sums::new(table.len())).collect();
        Self { sets, names, tables, counts, sums }
    }

    /// The weighted sum of all that fires on an option.
    pub fn sum(&self, sentence: &Sentence<'_>, rule: &Rule<'_>, weights: &Weights) -> f32 {
        let Origin::Table(table) = rule.opt.origin() else { return 0.0 };
        if self.sets.iter().all(|(common, _)| weights.of_set(common.set).is_empty()) {
            return 0.0;
        }
        let place = self.sums[table].at(rule.opt.rule, weights.epoch());
        let known = place.load(Ordering::Relaxed);
        if (known >> 32) as u32 == weights.epoch() {
            return f32::from_bits(known as u32);
        }
        let mut sum = 0.0;
        let names = self.names.read().expect("no panic while locked");
        self.each(sentence, rule, |set| !weights.of_set(set).is_empty(), &mut |name| {
            let id = names.get(name);
            sum += id.and_then(|id| weights.get(id as usize)).copied().unwrap_or(0.0);
        });
        place.store(u64::from(weights.epoch()) << 32 | u64::from(sum.to_bits()), Ordering::Relaxed);
        sum
    }

    /// Lists all that fires on an option.
    pub fn list(&self, sentence: &Sentence<'_>, rule: &Rule<'_>, out: &mut Sink<'_>) {
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
        let Origin::Table(table) = rule.opt.origin() else { return };
        let target: Vec<&str> = rule.target.iter().map(|&word| sentence.target_text(word)).collect();
        let view = View {
            source: &sentence.input.words[rule.opt.from as usize..rule.opt.to as usize],
            target: &target,
            links: self.tables[table].links(rule.opt.rule),
            count: count_of(&self.tables[table], self.counts[table], rule.opt.rule),
        };
        let mut text = String::with_capacity(64);
        for (common, set) in &self.sets {
            if wanted(common.set) && common.enough(view.count) {
                set.fire(&view, &mut Firing { text: &mut text, common, take });
            }
        }
    }
}

/// Where a table has its counts.
pub fn count_column(table: &Table) -> Option<usize> {
    table.columns().iter().position(|column| column == COUNT)
}
