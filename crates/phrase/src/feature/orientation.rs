//! LO (Green et al. 2013): each rule with the way it lies towards the phrase before it and the one after it.
//!
//! Eight classes: monotone (M), swap (S), discontinuous (D) and not monotone (N), each towards the previous and the
//! next phrase. The test looks at the neighbouring phrase alone, not at blocks. Classes towards the next phrase are
//! known one step later and belong to the rule before; before the first phrase that is a rule called `^`.

use super::reordering::{Orientation, left_neighbour};
use super::{Context, OrderFeature, PreparedOrder, Step};
use dragoman_base::Result;
use dragoman_model::feature::sparse::filed::{Absorb, Filed, Layers, Listed};
use dragoman_model::feature::sparse::local::count_column;
use dragoman_model::feature::sparse::{Common, View, count_of, exact_word, push_rule, texts};
use dragoman_model::feature::{Builder, Part, get_u32, put_u32};
use dragoman_model::{Origin, Sink, Weights};
use dragoman_rules::RuleSource;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::sync::Arc;

/// The start of the sentence as a rule.
const START: &str = "^";
const SIDES: [&str; 2] = ["previous", "next"];
const CLASSES: [&str; 4] = ["M", "S", "D", "N"];
/// The class that S and D are of too.
const NOT_MONOTONE: usize = 3;

/// The system's numbers of a rule's names plus one, four classes towards the previous and four towards the next
/// phrase; 0 for those that it lacks.
type Eight = [[u32; 4]; 2];

/// What a rule weighs: towards the previous and the next phrase, for M, S (with N) and D (with N).
type Six = [[f32; 3]; 2];

/// The names of rules that any table has.
#[derive(Debug, Clone, Default)]
struct Known {
    start: Eight,
    /// By table and rule.
    rules: FxHashMap<(usize, u32), Eight>,
}

impl Absorb for Known {
    fn absorb(&mut self, other: &Self) {
        join(&mut self.start, &other.start);
        for (rule, eight) in &other.rules {
            join(self.rules.entry(*rule).or_default(), eight);
        }
    }
}

/// Takes in the numbers that only the other one has.
fn join(eight: &mut Eight, other: &Eight) {
    for (id, more) in eight.iter_mut().flatten().zip(other.iter().flatten()) {
        *id = (*id).max(*more);
    }
}

/// The names of the sentence's start.
fn start(known: &[Arc<Known>]) -> Eight {
    known.iter().fold(Eight::default(), |mut all, one| {
        join(&mut all, &one.start);
        all
    })
}

/// The names of a rule, if there are any.
fn names_of(known: &[Arc<Known>], rule: (usize, u32)) -> Option<Eight> {
    known.iter().filter_map(|one| one.rules.get(&rule)).fold(None, |all, one| {
        let mut all = all.unwrap_or_default();
        join(&mut all, one);
        Some(all)
    })
}

struct Rules {
    common: Common,
    tables: Vec<Arc<dyn RuleSource>>,
    counts: Vec<Option<usize>>,
    known: Filed<Known>,
}

impl Rules {
    /// The names of this set by rules, as far as weights know them.
    fn known(&self, weights: &Weights) -> Layers<Known> {
        self.known.up_to(&self.common, weights.len(), |known, id, text| {
            let Some((side, class, rule)) = taken_apart(text) else { return };
            if rule == START {
                known.start[side][class] = id + 1;
                return;
            }
            for (number, table) in self.tables.iter().enumerate() {
                for rule in found(&**table, rule) {
                    known.rules.entry((number, rule)).or_default()[side][class] = id + 1;
                }
            }
        })
    }

    /// The table of an option whose rule may fire; rules that no table has, or that are too rare, do not.
    fn table(&self, context: &Context<'_>, option: u32) -> Option<usize> {
        let opt = context.options.get(option);
        let Origin::Table(table) = opt.origin() else { return None };
        let enough = self.common.enough(count_of(&*self.tables[table], self.counts[table], opt.rule));
        enough.then_some(table)
    }

    /// The rule of an option as names have it; none if it fires nothing.
    fn rule(&self, context: &Context<'_>, option: u32) -> Option<String> {
        self.table(context, option)?;
        let (source, target) = texts(context.sentence, &context.options.rule(option));
        let mut text = String::new();
        push_rule(
            &mut text,
            &View { source: &source, target: &target, links: &[], count: f32::NAN, table: 0, scores: &[] },
        );
        Some(text)
    }
}

/// Side, class and rule of a name.
fn taken_apart(text: &str) -> Option<(usize, usize, &str)> {
    let (kind, rule) = text.split_once(':')?;
    let (class, side) = kind.split_once('.')?;
    Some((SIDES.iter().position(|s| *s == side)?, CLASSES.iter().position(|c| *c == class)?, rule))
}

/// The rules of a table that [`push_rule`] writes as `text`.
fn found(table: &dyn RuleSource, text: &str) -> Vec<u32> {
    fn words(text: &str, id: impl Fn(&str) -> Option<u32>) -> Option<Vec<u32>> {
        let words = text.split('_').filter(|_| !text.is_empty());
        words.map(|word| exact_word(word).and_then(|word| id(&word))).collect()
    }
    let rules = || {
        let (source, target) = text.split_once('>')?;
        let source = words(source, |word| table.source_word(word))?;
        let target = words(target, |word| table.target_word(word))?;
        let rules = table.rules(table.find(&source)?);
        Some(rules.filter(|&rule| table.target(rule) == target).collect())
    };
    rules().unwrap_or_default()
}

/// The sums of a rule's weights.
fn six(eight: &Eight, weights: &Weights) -> Six {
    let weight = |id: u32| id.checked_sub(1).map_or(0.0, |id| weights.weight(id));
    eight.map(|four| {
        let [m, s, d, n] = four.map(weight);
        [m, s + n, d + n]
    })
}

impl OrderFeature for Rules {
    fn state_bytes(&self) -> usize {
        8
    }

    fn prepare<'a>(&'a self, context: Context<'a>) -> Box<dyn PreparedOrder + 'a> {
        let known = self.known(context.weights);
        let start = start(&known);
        let names = vec![Eight::default(), start];
        let sums = vec![six(&start, context.weights)];
        let (class, named, listed) = (Vec::new(), vec![1], RefCell::default());
        let mut made = Ready { set: self, context, class, sums, named, names, listed };
        let mut classes: FxHashMap<Option<(usize, u32)>, u32> = FxHashMap::default();
        for option in 0..context.options.len() as u32 {
            let own = option + 1;
            let rule = self.table(&context, option).map(|table| (table, context.options.get(option).rule));
            let class = *classes.entry(rule).or_insert(own);
            let eight = rule.filter(|_| class == own).and_then(|rule| names_of(&known, rule));
            let sums = if class < own {
                made.sums[class as usize]
            } else {
                eight.map_or_else(Six::default, |eight| six(&eight, context.weights))
            };
            made.class.push(class);
            made.sums.push(sums);
            made.named.push(eight.map_or(0, |_| made.names.len() as u32));
            made.names.extend(eight);
        }
        Box::new(made)
    }
}

struct Ready<'a> {
    set: &'a Rules,
    context: Context<'a>,
    /// For each option, one plus the first option of the same rule; those that fire nothing are of one class.
    class: Vec<u32>,
    /// By class; 0 is the start.
    sums: Vec<Six>,
    /// By class, where its names are; 0 if there are none.
    named: Vec<u32>,
    names: Vec<Eight>,
    /// Names that are not among these, as far as they were met: class, side, which of [`CLASSES`].
    listed: RefCell<FxHashMap<(u32, usize, usize), Listed>>,
}

impl Ready<'_> {
    fn list(&self, class: u32, side: usize, orientation: Orientation, out: &mut Sink<'_>) {
        let names = &self.names[self.named[class as usize] as usize][side];
        let also = (orientation != Orientation::M).then_some(NOT_MONOTONE);
        for which in [orientation as usize].into_iter().chain(also) {
            match names[which].checked_sub(1) {
                Some(id) => out.add(id, 1.0),
                None => self
                    .listed
                    .borrow_mut()
                    .entry((class, side, which))
                    .or_insert_with(|| self.other(class, side, which))
                    .fire(out),
            }
        }
    }

    /// A name that is not among those that weights know.
    fn other(&self, class: u32, side: usize, which: usize) -> Listed {
        let rule = match class {
            0 => Some(START.to_owned()),
            _ => self.set.rule(&self.context, class - 1),
        };
        let name =
            rule.map(|rule| format!("{}{}.{}:{rule}", self.set.common.prefix, CLASSES[which], SIDES[side]));
        name.map_or(Listed::Nothing, |name| Listed::new(&self.set.common, &name))
    }
}

impl PreparedOrder for Ready<'_> {
    #[inline]
    fn extend(&self, step: &Step<'_>, previous: &[u8], next: &mut [u8], out: &mut Sink<'_>) {
        let orientation = if step.from == step.last {
            Orientation::M
        } else if step.to as u32 == get_u32(previous, 4) {
            Orientation::S
        } else {
            Orientation::D
        };
        let (before, class) = (get_u32(previous, 0), self.class[step.option as usize]);
        if out.collects() {
            self.list(class, 0, orientation, out);
            self.list(before, 1, orientation, out);
        } else {
            let o = orientation as usize;
            out.weighted(self.sums[class as usize][0][o] + self.sums[before as usize][1][o]);
        }
        if !step.complete {
            put_u32(next, 0, class);
            put_u32(next, 4, left_neighbour(step));
        }
    }
}

/// `lo`.
pub fn orientations(part: &Part, to: &mut Builder) -> Result<Box<dyn OrderFeature>> {
    let common = Common::new(part, to, true)?;
    let tables = to.tables().to_vec();
    let counts = tables.iter().map(|table| count_column(&**table)).collect();
    Ok(Box::new(Rules { common, tables, counts, known: Filed::default() }))
}
