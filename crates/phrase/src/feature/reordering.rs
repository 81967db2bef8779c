//! Lexicalised reordering (RM): how a phrase is oriented towards the phrase before it, and that one towards it.

use super::hrm::Hrm;
use super::stack::Parser;
use super::{Context, OrderFeature, PreparedOrder, Step};
use dragoman_base::{Error, Result};
use dragoman_model::feature::{Builder, Part, get_u32, put_u32};
use dragoman_model::{Origin, Rule, Sentence, Sink};
use dragoman_rules::RuleSource;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// How the next phrase lies: it follows (monotone), precedes (swap), or neither (discontinuous).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orientation {
    /// It follows.
    M,
    /// It precedes.
    S,
    /// Neither.
    D,
}

/// Which columns of which tables score orientations, and the six features that they become.
#[derive(Clone)]
pub struct Columns {
    /// Number of a table, its rules, and its columns: M, S, D towards the previous phrase, then towards the next.
    tables: Vec<(usize, Arc<dyn RuleSource>, [usize; 6])>,
    features: [u32; 6],
}

impl Columns {
    fn new(part: &Part, to: &mut Builder) -> Result<Self> {
        let model = part.get("model").unwrap_or("hier");
        let mut tables = Vec::new();
        for number in part.get("table").unwrap_or("0").split(',') {
            let Ok(number) = number.trim().parse::<usize>() else {
                return Err(Error::Invalid(format!(
                    "reordering: expected the number of a table, found `{number}`"
                )));
            };
            let rules = to.table(number)?;
            let places = places(&*rules, model)?;
            tables.push((number, rules, places));
        }
        let mut features = [0; 6];
        for (i, feature) in features.iter_mut().enumerate() {
            *feature = to.dense(&format!("{}[{i}]", part.name))?;
        }
        Ok(Self { tables, features })
    }

    /// The six scores of a rule; those of other origin have none.
    fn six(&self, rule: &Rule<'_>) -> Option<[f32; 6]> {
        let Origin::Table(number) = rule.origin else { return None };
        let (_, rules, places) = self.tables.iter().find(|(table, ..)| *table == number)?;
        let row = rules.scores(rule.number);
        Some(places.map(|column| row[column]))
    }

    /// The best that a rule can score: its likeliest orientations on both sides.
    pub fn estimate(&self, rule: &Rule<'_>, weights: &[f32]) -> f32 {
        let Some(six) = self.six(rule) else { return 0.0 };
        let weighted = |i: usize| six[i] * weights[self.features[i] as usize];
        let best = |i: usize| weighted(i).max(weighted(i + 1)).max(weighted(i + 2));
        best(0) + best(3)
    }

    /// The six scores of each option; options of other origin have none and score nothing.
    pub fn prepare(&self, context: Context<'_>) -> Scores {
        let mut made = Scores { features: self.features, previous: vec![], class: vec![], next: vec![] };
        let mut classes: FxHashMap<[u32; 3], u32> = FxHashMap::default();
        for option in 0..context.options.len() as u32 {
            let six = self.six(&context.options.rule(option)).unwrap_or_default();
            let weigh = |i: usize| Weighted {
                value: six[i],
                weighted: six[i] * context.weights.head()[self.features[i] as usize],
            };
            made.previous.push([weigh(0), weigh(1), weigh(2)]);
            let bits = [six[3].to_bits(), six[4].to_bits(), six[5].to_bits()];
            let class = *classes.entry(bits).or_insert_with(|| {
                made.next.push([weigh(3), weigh(4), weigh(5)]);
                made.next.len() as u32 - 1
            });
            made.class.push(class);
        }
        made
    }
}

/// The columns of a reordering model in a table.
fn places(rules: &dyn RuleSource, model: &str) -> Result<[usize; 6]> {
    let known = rules.columns().to_vec();
    let mut places = [0; 6];
    let names =
        ["previous", "next"].iter().flat_map(|side| ["M", "S", "D"].map(|o| format!("{model}.{side}.{o}")));
    for (place, name) in places.iter_mut().zip(names) {
        let Some(column) = known.iter().position(|column| *column == name) else {
            let known = known.join(", ");
            return Err(Error::Invalid(format!("the rule table has no column `{name}`; it has {known}")));
        };
        *place = column;
    }
    Ok(places)
}

#[derive(Clone, Copy)]
struct Weighted {
    value: f32,
    weighted: f32,
}

/// Orientation scores of a sentence's options.
pub struct Scores {
    features: [u32; 6],
    previous: Vec<[Weighted; 3]>,
    /// Options with the same scores towards what comes next are of one class: their hypotheses may recombine.
    class: Vec<u32>,
    next: Vec<[Weighted; 3]>,
}

impl Scores {
    /// The class of an option, to be remembered until the next phrase is known.
    pub fn class(&self, option: u32) -> u32 {
        self.class[option as usize]
    }

    /// Scores an option towards the phrase before it.
    #[inline]
    pub fn before(&self, option: u32, orientation: Orientation, out: &mut Sink<'_>) {
        let o = orientation as usize;
        add(out, self.features[o], self.previous[option as usize][o]);
    }

    /// Scores the phrase before, by its class, towards the one that is now known to follow.
    #[inline]
    pub fn after(&self, class: u32, orientation: Orientation, out: &mut Sink<'_>) {
        let o = orientation as usize;
        add(out, self.features[3 + o], self.next[class as usize][o]);
    }
}

#[inline]
fn add(out: &mut Sink<'_>, feature: u32, score: Weighted) {
    if out.collects() {
        out.add(feature, score.value);
    } else {
        out.weighted(score.weighted);
    }
}

/// Orientation towards the neighbouring phrase. State: class of the last phrase, its first source word.
struct Local(Columns);

impl OrderFeature for Local {
    fn state_bytes(&self) -> usize {
        8
    }

    fn estimate(&self, _: &Sentence<'_>, rule: &Rule<'_>, weights: &[f32]) -> f32 {
        self.0.estimate(rule, weights)
    }

    fn prepare<'a>(&'a self, context: Context<'a>) -> Box<dyn PreparedOrder + 'a> {
        Box::new(LocalReady(self.0.prepare(context)))
    }
}

struct LocalReady(Scores);

impl PreparedOrder for LocalReady {
    #[inline]
    fn extend(&self, step: &Step<'_>, previous: &[u8], next: &mut [u8], out: &mut Sink<'_>) {
        let orientation = if step.from == step.last {
            Orientation::M
        } else if step.to as u32 == get_u32(previous, 4) {
            Orientation::S
        } else {
            Orientation::D
        };
        self.0.before(step.option, orientation, out);
        if !step.first() {
            self.0.after(get_u32(previous, 0), orientation, out);
        }
        if !step.complete {
            put_u32(next, 0, self.0.class(step.option));
            put_u32(next, 4, left_neighbour(step));
        }
    }
}

/// Where the phrase starts, if something can still come right before it, else 0.
#[inline]
pub fn left_neighbour(step: &Step<'_>) -> u32 {
    if step.from > 0 && !step.before.has(step.from - 1) { step.from as u32 } else { 0 }
}

/// `reordering`, with `table` (its number, or several after commas), `model` (prefix of the columns) and `top`: phrase, for the phrase before,
/// or stack, for the top of the shift-reduce stack (HRM), whose `parser` is plain or unrestricted.
pub fn reordering(part: &Part, to: &mut Builder) -> Result<Box<dyn OrderFeature>> {
    let columns = Columns::new(part, to)?;
    match part.get("top").unwrap_or("stack") {
        "phrase" => Ok(Box::new(Local(columns))),
        "stack" => Ok(Box::new(Hrm(columns, Parser::named(part.get("parser").unwrap_or("plain"))?))),
        other => Err(Error::Invalid(format!("reordering: top must be phrase or stack, found `{other}`"))),
    }
}
