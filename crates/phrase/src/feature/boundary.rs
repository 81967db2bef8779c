//! Phrase boundaries (Haddow et al. 2011): the tags or classes of the two target words where phrases meet.

use super::{Context, OrderFeature, PreparedOrder, Step};
use dragoman_base::{Error, Result};
use dragoman_model::Sink;
use dragoman_model::feature::sparse::Common;
use dragoman_model::feature::sparse::symbols::{BOUNDARY, Symbols};
use dragoman_model::feature::{Builder, Part, get_u32, put_u32};

/// Tags at most: all pairs are filed.
const MOST: usize = 1000;

/// `pb:a>b` where a phrase whose last word is an `a` meets one whose first word is a `b`; `^` before the first phrase
/// and `$` behind the last. State: the last word's symbol.
struct Boundary {
    symbols: Symbols,
    base: u32,
    common: Common,
    allowed: Vec<bool>,
}

impl Boundary {
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
        let symbol = |&word: &u32| self.symbols.target(context.sentence, word);
        let ends = (0..context.options.len() as u32).map(|option| {
            let target = context.options.target(option);
            target.first().map(symbol).zip(target.last().map(symbol))
        });
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

/// `pb`, with `classes` (a class file of the target) and their number `size`, or `tags` (words and their tags).
pub fn boundary(part: &Part, to: &mut Builder) -> Result<Box<dyn OrderFeature>> {
    let symbols = match part.get("tags") {
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
    Ok(Box::new(Boundary { symbols, base, common, allowed }))
}
