//! Sparse HRM (Cherry 2013, table 2): what the phrase and the top of the shift-reduce stack look like, with the
//! orientation between them.
//!
//! For each representation of words (frequent words, classes): first and last word on both sides of the phrase and,
//! of the block on top of the stack, its first and last source word and its last target word, each with M, S or D;
//! and, if it is D, each source word between block and phrase, with the side of the block that the jump goes to. Each
//! representation has two symbols more than words or classes: `^` for the empty stack and `^other` for words that are
//! not in the list. 80 words and 50 and 20 classes make 3,588 names, all of which are filed when a system is opened.

use super::stack::Parser;
use super::{Context, OrderFeature, Orientation, PreparedOrder, Stacks, Step};
use dragoman_base::{Error, Result};
use dragoman_model::feature::sparse::Common;
use dragoman_model::feature::sparse::symbols::{BOUNDARY, Symbols};
use dragoman_model::feature::{Builder, Part, get_u32, put_u32};
use dragoman_model::{Sentence, Sink};
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// Positions that come with each orientation, and whether their words are the target's.
const POSITIONS: [(&str, bool); 7] = [
    ("source.first", false),
    ("source.last", false),
    ("target.first", true),
    ("target.last", true),
    ("top.source.first", false),
    ("top.source.last", false),
    ("top.target.last", true),
];
const SOURCE_FIRST: usize = 0;
const SOURCE_LAST: usize = 1;
const TARGET_FIRST: usize = 2;
const TARGET_LAST: usize = 3;
const TOP_SOURCE_FIRST: usize = 4;
const TOP_SOURCE_LAST: usize = 5;
const TOP_TARGET_LAST: usize = 6;
/// Where the two templates of words between come, after three for each position.
const BETWEEN: usize = 3 * POSITIONS.len();
const SIDES: [&str; 2] = ["left", "right"];
const TEMPLATES: usize = BETWEEN + SIDES.len();

/// The start of a template whose names were not asked for.
const ABSENT: u32 = u32::MAX;

/// Words as symbols, on both sides.
struct Representation {
    source: Symbols,
    target: Symbols,
    /// Where each template's names begin, counted from the set's first; [`ABSENT`] if it has none.
    starts: [u32; TEMPLATES],
}

struct SparseHrm {
    representations: Vec<Representation>,
    base: u32,
    common: Common,
    allowed: Vec<bool>,
    parser: Parser,
}

impl SparseHrm {
    /// The symbols of a word in all representations.
    fn symbols(&self, symbol: impl Fn(&Representation) -> u32) -> Vec<u32> {
        self.representations.iter().map(symbol).collect()
    }

    /// The places of a template's features for a word, given by its symbols.
    fn places<'a>(&'a self, template: usize, symbols: &'a [u32]) -> impl Iterator<Item = usize> + 'a {
        let pairs = self.representations.iter().zip(symbols);
        pairs
            .filter(move |(r, _)| r.starts[template] != ABSENT)
            .map(move |(r, &symbol)| (r.starts[template] + symbol) as usize)
    }

    /// The weighted sum of a position's features for each orientation.
    fn three(&self, weights: &[f32], position: usize, symbols: &[u32]) -> [f32; 3] {
        [0, 1, 2].map(|o| self.places(3 * position + o, symbols).map(|place| weights[place]).sum())
    }
}

impl OrderFeature for SparseHrm {
    fn state_bytes(&self) -> usize {
        8
    }

    fn prepare<'a>(&'a self, context: Context<'a>) -> Box<dyn PreparedOrder + 'a> {
        let weights = self.common.closed_weights(context.weights, &self.allowed, self.base);
        let words = &context.sentence.input.words;
        let source: Vec<Vec<u32>> = words.iter().map(|word| self.symbols(|r| r.source.get(word))).collect();
        let nothing = vec![BOUNDARY; self.representations.len()];
        let at = |position: usize| -> Vec<[f32; 3]> {
            let all = source.iter().chain(std::iter::once(&nothing));
            all.map(|symbols| self.three(&weights, position, symbols)).collect()
        };
        let between = |side: usize| {
            let sum = |symbols: &Vec<u32>| self.places(BETWEEN + side, symbols).map(|p| weights[p]).sum();
            source.iter().map(sum).collect()
        };
        let mut made = Ready {
            set: self,
            stacks: context.stacks,
            tops: [at(TOP_SOURCE_FIRST), at(TOP_SOURCE_LAST)],
            between: [between(0), between(1)],
            phrases: Vec::with_capacity(context.options.len()),
            classes: Vec::with_capacity(context.options.len()),
            lasts: vec![self.three(&weights, TOP_TARGET_LAST, &nothing)],
            last_symbols: vec![nothing.clone()],
            firsts: Vec::new(),
            source: Vec::new(),
        };
        let ends = [at(SOURCE_FIRST), at(SOURCE_LAST)];
        made.see_options(&context, &weights, &ends);
        made.source = source;
        Box::new(made)
    }
}

/// A target word as the features of first and last words see it.
struct Seen {
    first: [f32; 3],
    last: [f32; 3],
    symbols: Vec<u32>,
    class: u32,
}

struct Ready<'a> {
    set: &'a SparseHrm,
    stacks: &'a RefCell<Stacks>,
    /// By source position, and behind the last for the empty stack: first and last word of the block.
    tops: [Vec<[f32; 3]>; 2],
    /// By source position: a word jumped over to the left, to the right.
    between: [Vec<f32>; 2],
    /// For each option what its own words weigh.
    phrases: Vec<[f32; 3]>,
    /// For each option the class of its last target word; [`KEEP`] if it has none.
    classes: Vec<u32>,
    /// By class of target words: as the last one of the block. 0 is the empty stack.
    lasts: Vec<[f32; 3]>,
    last_symbols: Vec<Vec<u32>>,
    /// Symbols of each option's first target word; empty if it has none.
    firsts: Vec<Vec<u32>>,
    source: Vec<Vec<u32>>,
}

/// An option without target words leaves the last word as it is.
const KEEP: u32 = u32::MAX;

fn add(sum: &mut [f32; 3], more: &[f32; 3]) {
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum += more;
    }
}

impl Ready<'_> {
    /// Sums up the part of the phrase for each option, and finds the classes of last words.
    fn see_options(&mut self, context: &Context<'_>, weights: &[f32], ends: &[Vec<[f32; 3]>; 2]) {
        let mut classes: FxHashMap<Vec<u32>, u32> = FxHashMap::default();
        classes.insert(self.last_symbols[0].clone(), 0);
        let mut words: FxHashMap<u32, Seen> = FxHashMap::default();
        for option in 0..context.options.len() as u32 {
            let (opt, target) = (context.options.get(option), context.options.target(option));
            let mut sum = ends[0][opt.from as usize];
            add(&mut sum, &ends[1][opt.to as usize - 1]);
            let (mut class, mut symbols) = (KEEP, Vec::new());
            if let (Some(&first), Some(&last)) = (target.first(), target.last()) {
                for word in [first, last] {
                    words
                        .entry(word)
                        .or_insert_with(|| self.see(context.sentence, weights, word, &mut classes));
                }
                add(&mut sum, &words[&first].first);
                add(&mut sum, &words[&last].last);
                (class, symbols) = (words[&last].class, words[&first].symbols.clone());
            }
            self.phrases.push(sum);
            self.classes.push(class);
            self.firsts.push(symbols);
        }
    }

    fn see(
        &mut self,
        sentence: &Sentence<'_>,
        weights: &[f32],
        word: u32,
        classes: &mut FxHashMap<Vec<u32>, u32>,
    ) -> Seen {
        let set = self.set;
        let symbols = set.symbols(|r| r.target.target(sentence, word));
        let class = *classes.entry(symbols.clone()).or_insert_with(|| {
            self.lasts.push(set.three(weights, TOP_TARGET_LAST, &symbols));
            self.last_symbols.push(symbols.clone());
            self.lasts.len() as u32 - 1
        });
        let (first, last) =
            (set.three(weights, TARGET_FIRST, &symbols), set.three(weights, TARGET_LAST, &symbols));
        Seen { first, last, symbols, class }
    }

    fn list(&self, template: usize, symbols: &[u32], out: &mut Sink<'_>) {
        for place in self.set.places(template, symbols) {
            if self.set.allowed[place] {
                out.add(self.set.base + place as u32, 1.0);
            }
        }
    }

    /// Lists every name that fires.
    fn list_all(
        &self,
        step: &Step<'_>,
        last: u32,
        o: usize,
        top: Option<(usize, usize)>,
        out: &mut Sink<'_>,
    ) {
        self.list(3 * SOURCE_FIRST + o, &self.source[step.from], out);
        self.list(3 * SOURCE_LAST + o, &self.source[step.to - 1], out);
        let class = self.classes[step.option as usize];
        if class != KEEP {
            self.list(3 * TARGET_FIRST + o, &self.firsts[step.option as usize], out);
            self.list(3 * TARGET_LAST + o, &self.last_symbols[class as usize], out);
        }
        let word = |at: Option<usize>| at.map_or(&self.last_symbols[0], |at| &self.source[at]);
        self.list(3 * TOP_SOURCE_FIRST + o, word(top.map(|top| top.0)), out);
        self.list(3 * TOP_SOURCE_LAST + o, word(top.map(|top| top.1 - 1)), out);
        self.list(3 * TOP_TARGET_LAST + o, &self.last_symbols[last as usize], out);
        if o == Orientation::D as usize {
            let (side, words) = gap(step, top);
            words.for_each(|at| self.list(BETWEEN + side, &self.source[at], out));
        }
    }
}

/// The side that a jump goes to, and the words that it leaves between the block and the phrase.
fn gap(step: &Step<'_>, top: Option<(usize, usize)>) -> (usize, std::ops::Range<usize>) {
    let (start, end) = top.unwrap_or((0, 0));
    if step.from >= end { (1, end..step.from) } else { (0, step.to..start) }
}

impl PreparedOrder for Ready<'_> {
    #[inline]
    fn extend(&self, step: &Step<'_>, previous: &[u8], next: &mut [u8], out: &mut Sink<'_>) {
        let (stack, last) = (get_u32(previous, 0), get_u32(previous, 4));
        let mut stacks = self.stacks.borrow_mut();
        let top = stacks.top(stack).map(|[from, to, _]| (from as usize, to as usize));
        let (orientation, after) = stacks.shift(stack, step.from as u32, step.to as u32, self.set.parser);
        let o = orientation as usize;
        if out.collects() {
            self.list_all(step, last, o, top, out);
        } else {
            let nowhere = self.source.len();
            let (first, end) = top.map_or((nowhere, nowhere), |(from, to)| (from, to - 1));
            let mut sum = self.phrases[step.option as usize][o]
                + self.tops[0][first][o]
                + self.tops[1][end][o]
                + self.lasts[last as usize][o];
            if orientation == Orientation::D {
                let (side, words) = gap(step, top);
                sum += self.between[side][words].iter().sum::<f32>();
            }
            out.weighted(sum);
        }
        if !step.complete {
            let class = self.classes[step.option as usize];
            put_u32(next, 0, after);
            put_u32(next, 4, if class == KEEP { last } else { class });
        }
    }
}

/// `sparse-hrm`, with `representations` (`w80` for 80 words, `c50` for 50 classes) and for each of them the files
/// `source.w80` and `target.w80`; `groups` of names may be chosen; the `parser` of the stack is plain or unrestricted.
pub fn sparse_hrm(part: &Part, to: &mut Builder) -> Result<Box<dyn OrderFeature>> {
    let groups = groups(part)?;
    let mut representations = Vec::new();
    let mut inventory = Vec::new();
    for name in part.list("representations") {
        let files = [part.need(&format!("source.{name}"))?, part.need(&format!("target.{name}"))?];
        let size = name.get(1..).and_then(|size| size.parse::<usize>().ok()).filter(|&size| size > 0);
        let read: fn(&str, usize) -> Result<Symbols> = match (name.as_bytes()[0], size) {
            (b'w', Some(_)) => Symbols::of_words,
            (b'c', Some(_)) => Symbols::of_classes,
            _ => {
                return Err(Error::Invalid(format!(
                    "sparse-hrm: expected a representation like w80 or c50, found `{name}`"
                )));
            }
        };
        let size = size.unwrap_or(0);
        let (source, target) = (read(files[0], size)?, read(files[1], size)?.know(to.vocabulary()));
        let mut starts = [0; TEMPLATES];
        for (template, start) in starts.iter_mut().enumerate() {
            let title = title(template);
            if !groups.iter().any(|one| one == group(&title)) {
                *start = ABSENT;
                continue;
            }
            *start = inventory.len() as u32;
            let symbols = if POSITIONS.get(template / 3).is_some_and(|p| p.1) { &target } else { &source };
            inventory
                .extend((0..symbols.size() as u32).map(|s| format!("{title}:{name}:{}", symbols.name(s))));
        }
        representations.push(Representation { source, target, starts });
    }
    if representations.is_empty() {
        return Err(Error::Invalid("sparse-hrm: expected words or classes, found neither".to_owned()));
    }
    let parser = Parser::named(part.get("parser").unwrap_or("plain"))?;
    let common = Common::new(part, to, false)?;
    let count = inventory.len();
    let base = common.file(inventory.into_iter());
    let allowed = common.allowed(base, count);
    Ok(Box::new(SparseHrm { representations, base, common, allowed, parser }))
}

/// Where names look (Cherry 2013, table 8): at the phrase, at the block on top of the stack, at what lies between.
const GROUPS: [&str; 3] = ["phrase", "stack", "between"];

/// The group of a template.
fn group(title: &str) -> &'static str {
    match title.split('.').next() {
        Some("top") => "stack",
        Some("between") => "between",
        _ => "phrase",
    }
}

/// The groups that were asked for: all, unless some are named.
fn groups(part: &Part) -> Result<Vec<String>> {
    let named = part.list("groups");
    match named.iter().find(|name| !GROUPS.contains(&name.as_str())) {
        Some(other) => {
            Err(Error::Invalid(format!("sparse-hrm: groups are {}, found `{other}`", GROUPS.join(", "))))
        }
        None if named.is_empty() => Ok(GROUPS.map(str::to_owned).to_vec()),
        None => Ok(named),
    }
}

/// A template as names begin: `source.first.M` or `between.left`.
fn title(template: usize) -> String {
    match POSITIONS.get(template / 3) {
        Some((position, _)) if template < BETWEEN => format!("{position}.{}", ["M", "S", "D"][template % 3]),
        _ => format!("between.{}", SIDES[template - BETWEEN]),
    }
}
