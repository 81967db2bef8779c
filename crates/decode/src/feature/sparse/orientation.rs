//! LO (Green et al. 2013): each rule with the way it lies towards the phrase before it and the one after it.
//!
//! Eight classes: monotone (M), swap (S), discontinuous (D) and not monotone (N), each towards the previous and the
//! next phrase. The test looks at the neighbouring phrase alone, not at blocks. Classes towards the next phrase are
//! known one step later and belong to the rule before; before the first phrase that is a rule called `^`.

use super::local::count_column;
use super::{Common, View, count_of, push_rule};
use crate::feature::reordering::{Orientation, left_neighbour};
use crate::feature::{Builder, Context, Part, Prepared, Sink, StateFeature, Step, get_u32, put_u32};
use crate::options::Origin;
use crate::weights::Weights;
use dragoman_base::Result;
use dragoman_rules::Table;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex};

/// The start of the sentence as a rule.
const START: &str = "^";
const SIDES: [&str; 2] = ["previous", "next"];
const CLASSES: [&str; 4] = ["M", "S", "D", "N"];

/// What a rule weighs: towards the previous and the next phrase, for M, S (with N) and D (with N).
type Six = [[f32; 3]; 2];
/// Weights by rule.
type Known = FxHashMap<Box<str>, Six>;

struct Rules {
    common: Common,
    tables: Vec<Arc<Table>>,
    counts: Vec<Option<usize>>,
    /// The last weights by rule, and their epoch.
    known: Mutex<(u32, Arc<Known>)>,
}

impl Rules {
    /// The weights of this set by rules instead of names.
    fn weights(&self, weights: &Weights) -> Arc<Known> {
        let mut known = self.known.lock().expect("no panic while locked");
        if known.0 != weights.epoch() {
            let names = self.common.names.read().expect("no panic while locked");
            let mut made = Known::default();
            for &id in weights.of_set(self.common.set) {
                let name = names.name(id);
                let class = |text: &str| -> Option<(usize, usize)> {
                    let (class, side) = text.split_once('.')?;
                    Some((SIDES.iter().position(|s| *s == side)?, CLASSES.iter().position(|c| *c == class)?))
                };
                let parts = name[self.common.prefix.len()..].split_once(':');
                let Some(((side, class), rule)) = parts.and_then(|(c, rule)| Some((class(c)?, rule))) else {
                    continue;
                };
                if !self.common.allows(name) {
                    continue;
                }
                let six = made.entry(rule.into()).or_default();
                match class {
                    3 => (1..3).for_each(|o| six[side][o] += weights[id as usize]),
                    o => six[side][o] += weights[id as usize],
                }
            }
            *known = (weights.epoch(), Arc::new(made));
        }
        Arc::clone(&known.1)
    }

    /// The table of an option whose rule may fire; rules that no table has, or that are too rare, do not.
    fn table(&self, context: &Context<'_>, option: u32) -> Option<usize> {
        let opt = context.options.get(option);
        let Origin::Table(table) = opt.origin() else { return None };
        let enough = self.common.enough(count_of(&self.tables[table], self.counts[table], opt.rule));
        enough.then_some(table)
    }

    /// The rule of an option as names have it; none if it fires nothing.
    fn rule(&self, context: &Context<'_>, option: u32) -> Option<String> {
        self.table(context, option)?;
        let opt = context.options.get(option);
        let words = context.options.target(option).iter();
        let target: Vec<&str> = words.map(|&word| context.sentence.target_text(word)).collect();
        let source = &context.sentence.input.words[opt.from as usize..opt.to as usize];
        let mut text = String::new();
        push_rule(&mut text, &View { source, target: &target, links: &[], count: f32::NAN });
        Some(text)
    }
}

impl StateFeature for Rules {
    fn state_bytes(&self) -> usize {
        8
    }

    fn prepare<'a>(&'a self, context: Context<'a>) -> Box<dyn Prepared + 'a> {
        let known = self.weights(context.weights);
        let start = known.get(START).copied().unwrap_or_default();
        let mut made = Ready { set: self, context, class: Vec::new(), sums: vec![start] };
        let mut classes: FxHashMap<Option<(usize, u32)>, u32> = FxHashMap::default();
        for option in 0..context.options.len() as u32 {
            let own = option + 1;
            let rule = self.table(&context, option).map(|table| (table, context.options.get(option).rule));
            let class = *classes.entry(rule).or_insert(own);
            let sums = if known.is_empty() {
                Six::default()
            } else if class < own {
                made.sums[class as usize]
            } else {
                self.rule(&context, option)
                    .and_then(|rule| known.get(rule.as_str()).copied())
                    .unwrap_or_default()
            };
            made.class.push(class);
            made.sums.push(sums);
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
}

impl Ready<'_> {
    fn list(&self, class: u32, side: usize, orientation: Orientation, out: &mut Sink<'_>) {
        let rule = match class {
            0 => Some(START.to_owned()),
            _ => self.set.rule(&self.context, class - 1),
        };
        let Some(rule) = rule else { return };
        let names = self.set.common.names.read().expect("no panic while locked");
        let also = (orientation != Orientation::M).then_some("N");
        for class in [CLASSES[orientation as usize]].into_iter().chain(also) {
            let name = format!("{}{class}.{}:{rule}", self.set.common.prefix, SIDES[side]);
            if self.set.common.allows(&name) {
                out.named(&names, &name, 1.0);
            }
        }
    }
}

impl Prepared for Ready<'_> {
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
pub fn orientations(part: &Part, to: &mut Builder) -> Result<()> {
    let common = Common::new(part, to, true)?;
    let tables = to.tables().to_vec();
    let counts = tables.iter().map(|table| count_column(table)).collect();
    to.add_state(Rules { common, tables, counts, known: Mutex::default() });
    Ok(())
}
