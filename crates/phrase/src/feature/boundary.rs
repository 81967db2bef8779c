//! Phrase boundaries (Haddow et al. 2011): the tags or classes of the two target words where phrases meet.

use super::{Context, OrderFeature, PreparedOrder, Step};
use dragoman_base::{Error, Result};
use dragoman_model::feature::sparse::Common;
use dragoman_model::feature::sparse::symbols::{BOUNDARY, OTHER, Symbols};
use dragoman_model::feature::{Builder, Part, get_u32, put_u32};
use dragoman_model::{Origin, Rule, Sentence, Sink};
use dragoman_rules::RuleSource;
use dragoman_rules::extract::TAG_COLUMNS;
use std::sync::Arc;

/// Tags at most: all pairs are filed.
const MOST: usize = 1000;

/// `pb:a>b` where a phrase whose last word is an `a` meets one whose first word is a `b`; `^` before the first phrase
/// and `$` behind the last. State: the last word's symbol.
struct Boundary {
    symbols: Symbols,
    base: u32,
    common: Common,
    allowed: Vec<bool>,
    /// The table whose rules carry tags, and where these are in its rows; none if words have symbols of their own.
    carried: Option<(usize, Arc<dyn RuleSource>, [usize; 2])>,
}

impl Boundary {
    /// The symbols of a rule's first and last word; none if it has no word.
    fn ends(&self, sentence: &Sentence<'_>, rule: &Rule<'_>) -> Option<(u32, u32)> {
        let (first, last) = rule.target.first().zip(rule.target.last())?;
        let Some((table, rules, columns)) = &self.carried else {
            return Some((self.symbols.target(sentence, *first), self.symbols.target(sentence, *last)));
        };
        if rule.origin != Origin::Table(*table) {
            return Some((OTHER, OTHER));
        }
        let row = rules.scores(rule.number);
        Some((self.symbols.numbered(row[columns[0]]), self.symbols.numbered(row[columns[1]])))
    }

    /// The place of a pair among the names.
    fn place(&self, left: u32, right: u32) -> usize {
        left as usize * self.symbols.size() + right as usize
    }
}

impl OrderFeature for Boundary {
    fn state_bytes(&self) -> usize {
        4
    }

    fn prepare<'a>(&'a self, context: Context<'a>) -> Box<dyn PreparedOrder + 'a> {
        let weights = self.common.closed_weights(context.weights, &self.allowed, self.base);
        let options = 0..context.options.len() as u32;
        let ends = options.map(|option| self.ends(context.sentence, &context.options.rule(option)));
        Box::new(Ready { set: self, weights, ends: ends.collect() })
    }
}

struct Ready<'a> {
    set: &'a Boundary,
    weights: Vec<f32>,
    /// Symbols of the first and last word of each option; none if it has no word.
    ends: Vec<Option<(u32, u32)>>,
}

impl Ready<'_> {
    #[inline]
    fn meet(&self, left: u32, right: u32, out: &mut Sink<'_>) {
        let place = self.set.place(left, right);
        if !out.collects() {
            out.weighted(self.weights[place]);
        } else if self.set.allowed[place] {
            out.add(self.set.base + place as u32, 1.0);
        }
    }
}

impl PreparedOrder for Ready<'_> {
    #[inline]
    fn extend(&self, step: &Step<'_>, previous: &[u8], next: &mut [u8], out: &mut Sink<'_>) {
        let mut last = get_u32(previous, 0);
        if let Some((first, end)) = self.ends[step.option as usize] {
            self.meet(last, first, out);
            last = end;
        }
        if step.complete {
            self.meet(last, BOUNDARY, out);
        } else {
            put_u32(next, 0, last);
        }
    }
}

/// The columns of a table whose rules carry tags.
fn carried(part: &Part, to: &Builder) -> Result<Option<(usize, Arc<dyn RuleSource>, [usize; 2])>> {
    let Some(number) = part.get("table") else { return Ok(None) };
    let number =
        number.parse().map_err(|_| Error::Invalid(format!("pb: no number of a table: `{number}`")))?;
    let rules = to.table(number)?;
    let mut columns = [0; 2];
    for (place, name) in columns.iter_mut().zip(TAG_COLUMNS) {
        let found = rules.columns().iter().position(|column| column == name);
        *place = found.ok_or_else(|| {
            Error::Invalid("pb: the rules of this model carry no tags; train it with a tagger".to_owned())
        })?;
    }
    Ok(Some((number, rules, columns)))
}

/// `pb`, with `classes` (a class file of the target) and their number `size`, or `tags` (words and their tags), or
/// `tags` (names) and the `table` whose rules carry their numbers.
pub fn boundary(part: &Part, to: &mut Builder) -> Result<Box<dyn OrderFeature>> {
    let carried = carried(part, to)?;
    let symbols = match part.get("tags") {
        Some(path) if carried.is_some() => Symbols::of_names(path)?,
        Some(path) => Symbols::of_tags(path)?,
        None => Symbols::of_classes(part.need("classes")?, part.number("size", 0.0)? as usize)?,
    };
    let size = symbols.size();
    if size > MOST {
        return Err(Error::Invalid(format!("pb: expected at most {MOST} tags, found {size}")));
    }
    let symbols = symbols.know(to.vocabulary());
    let common = Common::new(part, to, false)?;
    let pairs = (0..size as u32).flat_map(|a| (0..size as u32).map(move |b| (a, b)));
    let right = |b: u32| if b == BOUNDARY { "$" } else { symbols.name(b) };
    let base = common.file(pairs.map(|(a, b)| format!("{}>{}", symbols.name(a), right(b))));
    let allowed = common.allowed(base, size * size);
    Ok(Box::new(Boundary { symbols, base, common, allowed, carried }))
}
