//! Rules with gaps on demand: for one line of input, from a bitext that is indexed by a suffix array (Lopez 2007).
//!
//! The words of a source side, in one to three chunks, are looked up in the bitext; of their occurrences a sample is taken,
//! evenly spread, and rules come from these alone, by the same extraction that makes tables. An occurrence may be left out, so
//! that text that was trained on can be tuned on.

use super::bitext::{Reader, Sentence};
use super::filter::{Filter, GAP};
use super::gaps::{Cutter, Found, Limits, UNIT, Written, share};
use super::gather::by_side;
use super::lexical::Lexicon;
use super::score::{Scores, cdec};
use super::significance::Corpus;
use super::{Options, check};
use crate::gap;
use crate::source::RuleSource;
use crate::table::Node;
use dragoman_base::{Error, Names, Result, words};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;
use std::sync::Arc;

/// Chunks of words of a source side: one more than gaps between words.
const CHUNKS: usize = gap::MOST + 1;
/// No chunk.
const NONE: u32 = u32::MAX;

/// A bitext with its word links, and where every phrase of its source side is.
#[derive(Debug)]
pub struct Index {
    limits: Limits,
    source: Corpus,
    target: Vec<u32>,
    links: Vec<[u16; 2]>,
    /// First target word and first link of each pair, and the ends.
    starts: Vec<(u32, u32)>,
    names: (Names, Names),
    lexicon: Lexicon,
    columns: Vec<String>,
}

/// How rules are sampled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sampling {
    /// Occurrences of the words of a source side that are looked at; 0 for all. cdec has 300.
    pub samples: usize,
    /// Words of the input that a rule may span.
    pub reach: usize,
    /// A pair of the bitext that does not count.
    pub leave_out: Option<u32>,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { samples: 300, reach: 20, leave_out: None }
    }
}

/// Where the chunks of an occurrence begin in the source text; [`NONE`] for those that it has not.
type Match = [u32; CHUNKS];

/// Chunks of an occurrence in its sentence: first word and the one behind the last.
type Key = [u16; 2 * CHUNKS];

/// The words of a source side without gaps in front and behind, gaps between chunks as [`gap::ID`].
type Pattern = Vec<u32>;

impl Index {
    /// Reads and indexes the bitext of the options, whose `out`, `top` and the like are not asked about.
    pub fn read(options: &Options) -> Result<Self> {
        check(options)?;
        let want = || Error::Invalid("expected limits of rules with gaps for an index".to_owned());
        let limits = options.gaps.clone().ok_or_else(want)?;
        let mut reader = Reader::open(options)?;
        let mut lexicon = Lexicon::new((1, gap::MOST as u32));
        let (mut source, mut target, mut links) = (Corpus::default(), Vec::new(), Vec::new());
        let mut starts = vec![(0, 0)];
        while let Some(chunk) = reader.chunk()? {
            for sentence in chunk.pairs.iter().map(|pair| chunk.sentence(pair)) {
                lexicon.add(sentence);
                source.push(sentence.source)?;
                target.extend_from_slice(sentence.target);
                links.extend_from_slice(sentence.links);
                starts.push((target.len() as u32, links.len() as u32));
            }
        }
        source.index(limits.symbols);
        let columns = Scores::Cdec.columns().iter().map(|&name| name.to_owned()).collect();
        let names = (reader.source_names, reader.target_names);
        Ok(Self { limits, source, target, links, starts, names, lexicon, columns })
    }

    fn sentence(&self, number: u32) -> Sentence<'_> {
        let (from, to) = (self.starts[number as usize], self.starts[number as usize + 1]);
        Sentence {
            source: self.source.words_of(number as usize),
            target: &self.target[from.0 as usize..to.0 as usize],
            links: &self.links[from.1 as usize..to.1 as usize],
            tags: &[],
            oriented: true,
            asked: &[],
        }
    }

    /// All rules for a line of input.
    pub fn grammar(self: &Arc<Self>, line: &str, sampling: &Sampling) -> Grammar {
        let input: Vec<u32> = words(line).map(|word| self.names.0.get(word).unwrap_or(NONE)).collect();
        let mut search =
            Search { index: self, sampling, input: &input, seen: FxHashSet::default(), found: Vec::new() };
        for at in 0..input.len() {
            search.begin(at);
        }
        let (samples, wanted) = self.sample(search.found, sampling);
        let mut sentences: Vec<(u32, FxHashSet<Key>)> = wanted.into_iter().collect();
        sentences.sort_unstable_by_key(|(sentence, _)| *sentence);
        let mut all: Vec<Occurrence> =
            sentences.par_iter().flat_map_iter(|(number, keys)| self.cut(*number, keys)).collect();
        all.par_sort_unstable();
        Grammar::new(self.clone(), &all, &samples, &Filter::of_line(&input, self.limits.symbols))
    }

    /// Samples of each pattern, and their places in each sentence.
    #[allow(clippy::type_complexity)] // two plain maps
    fn sample(
        &self,
        found: Vec<(Pattern, Vec<Match>)>,
        sampling: &Sampling,
    ) -> (FxHashMap<Pattern, u64>, FxHashMap<u32, FxHashSet<Key>>) {
        let (mut samples, mut wanted): (FxHashMap<_, _>, FxHashMap<u32, FxHashSet<Key>>) = Default::default();
        for (pattern, mut matches) in found {
            matches.retain(|at| sampling.leave_out != Some(self.source.sentence_of(at[0]) as u32));
            matches.sort_unstable();
            let all = matches.len();
            let count = if sampling.samples == 0 { all } else { sampling.samples.min(all) };
            for number in 0..count {
                let at = matches[number * all / count];
                let sentence = self.source.sentence_of(at[0]);
                let key = key(&pattern, at, self.source.start(sentence));
                wanted.entry(sentence as u32).or_default().insert(key);
            }
            samples.insert(pattern, count as u64);
        }
        (samples, wanted)
    }

    /// The occurrences of rules in one sentence pair whose words are at wanted places.
    fn cut(&self, number: u32, wanted: &FxHashSet<Key>) -> Vec<Occurrence> {
        let sentence = self.sentence(number);
        let (mut cutter, mut written) = (Cutter::default(), Written::default());
        let (found, starts) = cutter.rules(sentence, &self.limits);
        let mut all = Vec::new();
        for each in found.iter().filter(|each| wanted.contains(&chunks_of(each))) {
            written.set(sentence, each, starts);
            let Written { source, target, links } = &written;
            let count = if self.limits.fractional { share(each.shared) } else { UNIT };
            all.push(Occurrence {
                source: source.clone(),
                target: target.clone(),
                links: links.clone(),
                count,
            });
        }
        all
    }
}

/// An occurrence of a rule; its count is in units.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Occurrence {
    source: Vec<u32>,
    target: Vec<u32>,
    links: Vec<u8>,
    count: u64,
}

/// The places of a match in its sentence.
fn key(pattern: &[u32], at: Match, start: u32) -> Key {
    let mut key = [u16::MAX; 2 * CHUNKS];
    let chunks = pattern.split(|&symbol| symbol == gap::ID);
    for ((place, chunk), from) in key.as_chunks_mut::<2>().0.iter_mut().zip(chunks).zip(at) {
        *place = [(from - start) as u16, (from - start) as u16 + chunk.len() as u16];
    }
    key
}

/// The places of the words of an occurrence.
fn chunks_of(found: &Found) -> Key {
    let mut key = [u16::MAX; 2 * CHUNKS];
    let mut places = key.as_chunks_mut::<2>().0.iter_mut();
    let (first, last) = found.span.source;
    let mut from = first;
    let ends = found.gaps().iter().map(|gap| gap.source).chain([(last + 1, last + 1)]);
    for (to, next) in ends {
        if from < to
            && let Some(place) = places.next()
        {
            *place = [from as u16, to as u16];
        }
        from = next + 1;
    }
    key
}

/// Looks up all patterns of an input.
struct Search<'a> {
    index: &'a Index,
    sampling: &'a Sampling,
    input: &'a [u32],
    seen: FxHashSet<Pattern>,
    found: Vec<(Pattern, Vec<Match>)>,
}

impl Search<'_> {
    /// Patterns whose first word is at `at`.
    fn begin(&mut self, at: usize) {
        for end in at + 1..=self.input.len().min(at + self.index.limits.symbols) {
            let positions = self.index.source.positions(&self.input[at..end]);
            if self.input[end - 1] == NONE || positions.is_empty() {
                return;
            }
            let matches: Vec<Match> = positions.iter().map(|&position| [position, NONE, NONE]).collect();
            self.extend(self.input[at..end].to_vec(), (at, end), 1, matches);
        }
    }

    /// Notes a pattern, and goes on with a gap and one more chunk. `symbols` of the pattern are words of the input between
    /// `from` and `to`.
    fn extend(
        &mut self,
        pattern: Pattern,
        (from, to): (usize, usize),
        chunks: usize,
        mut matches: Vec<Match>,
    ) {
        let limits = &self.index.limits;
        if chunks <= limits.gaps && pattern.len() + 2 <= limits.symbols {
            matches.sort_unstable_by_key(|at| at[chunks - 1]);
            for next in to + 1..self.input.len() {
                for end in next + 1..=self.input.len().min(from + self.sampling.reach) {
                    let more = &self.input[next..end];
                    if pattern.len() + 1 + more.len() > limits.symbols || more.contains(&NONE) {
                        break;
                    }
                    let longer = self.join(&pattern, chunks, &matches, more);
                    if longer.is_empty() {
                        break;
                    }
                    let whole = [pattern.as_slice(), &[gap::ID], more].concat();
                    self.extend(whole, (from, end), chunks + 1, longer);
                }
            }
        }
        if self.seen.insert(pattern.clone()) {
            self.found.push((pattern, matches));
        }
    }

    /// Occurrences of a pattern, a gap and one more chunk; those of the pattern are sorted by their last chunk.
    fn join(&self, pattern: &[u32], chunks: usize, matches: &[Match], more: &[u32]) -> Vec<Match> {
        let (limits, corpus) = (&self.index.limits, &self.index.source);
        let last = pattern.rsplit(|&symbol| symbol == gap::ID).next().map_or(0, <[u32]>::len) as u32;
        let (span, least, length) = (limits.span as u32, limits.gap.0 as u32, more.len() as u32);
        let mut found = Vec::new();
        for &position in corpus.positions(more) {
            let first =
                (position + length).saturating_sub(span).max(corpus.start(corpus.sentence_of(position)));
            let Some(before) = position.checked_sub(least + last) else { continue };
            let from = matches.partition_point(|at| at[chunks - 1] < first);
            for at in matches[from..].iter().take_while(|at| at[chunks - 1] <= before) {
                if at[0] >= first {
                    let mut joined = *at;
                    joined[chunks] = position;
                    found.push(joined);
                }
            }
        }
        found
    }
}

/// A rule of a grammar.
#[derive(Debug)]
struct Rule {
    target: Vec<u32>,
    links: Vec<[u8; 2]>,
    scores: Vec<f32>,
    count: f64,
}

/// The rules of one line of input.
#[derive(Debug)]
pub struct Grammar {
    index: Arc<Index>,
    /// Children of each node by symbol.
    children: Vec<FxHashMap<u32, u32>>,
    /// Rules of each node.
    runs: Vec<Range<u32>>,
    rules: Vec<Rule>,
    longest: usize,
}

impl Grammar {
    /// Puts sorted occurrences together, of source sides that the input can match: it may have no word before the words of
    /// one, or behind them, where that has a gap.
    fn new(index: Arc<Index>, all: &[Occurrence], samples: &FxHashMap<Pattern, u64>, input: &Filter) -> Self {
        // The root has no rules.
        let (children, runs) = (vec![FxHashMap::default()], vec![Range::default()]);
        let mut grammar = Self { index, children, runs, rules: Vec::new(), longest: 0 };
        for same in all.chunk_by(|a, b| a.source == b.source) {
            let source = &same[0].source;
            let pattern: Vec<u32> = source.iter().map(|&s| if s == gap::ID { GAP } else { s }).collect();
            if !input.matches(&pattern) {
                continue;
            }
            let words = source.as_slice();
            let words = words.strip_prefix(&[gap::ID]).unwrap_or(words);
            let words = words.strip_suffix(&[gap::ID]).unwrap_or(words);
            let samples = samples.get(words).copied().unwrap_or(0) as f64;
            let from = grammar.rules.len() as u32;
            for rule in same.chunk_by(|a, b| a.target == b.target) {
                let made = grammar.rule(rule, samples);
                grammar.rules.push(made);
            }
            let node = grammar.node(source);
            grammar.runs[node] = from..grammar.rules.len() as u32;
            grammar.longest = grammar.longest.max(source.len());
        }
        grammar
    }

    /// The rule of some occurrences; of equally frequent links those that Moses takes.
    fn rule(&self, same: &[Occurrence], samples: f64) -> Rule {
        let count: u64 = same.iter().map(|each| each.count).sum();
        let links = same.chunk_by(|a, b| a.links == b.links).max_by_key(|group| {
            (group.iter().map(|each| each.count).sum::<u64>(), by_side(&group[0].links, 0))
        });
        let links = links.map_or(&[][..], |group| &group[0].links);
        let costs = self.index.lexicon.best_costs(&same[0].source, &same[0].target);
        Rule {
            target: same[0].target.clone(),
            links: links.iter().map(|link| [link >> 4, link & 15]).collect(),
            scores: cdec(same.len() as f64, samples, costs).to_vec(),
            count: count as f64 / UNIT as f64,
        }
    }

    /// One more node, without rules.
    fn grow(&mut self) {
        self.children.push(FxHashMap::default());
        self.runs.push(0..0);
    }

    fn node(&mut self, source: &[u32]) -> usize {
        let mut node = 0;
        for &symbol in source {
            let next = self.children.len() as u32;
            let child = *self.children[node].entry(symbol).or_insert(next);
            if child == next {
                self.grow();
            }
            node = child as usize;
        }
        node
    }

    /// Number of rules.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The count of a rule among the samples; fractional if the index counts so.
    pub fn count(&self, rule: u32) -> f64 {
        self.rules[rule as usize].count
    }

    /// The source symbol behind an id.
    pub fn source_text(&self, id: u32) -> &str {
        self.index.names.0.name(id)
    }

    /// Calls `take` with every source side and its rules.
    pub fn walk(&self, mut take: impl FnMut(&[u32], Range<u32>)) {
        let mut open = vec![(0usize, Vec::new())];
        while let Some((node, source)) = open.pop() {
            if !self.runs[node].is_empty() {
                take(&source, self.runs[node].clone());
            }
            let mut children: Vec<(&u32, &u32)> = self.children[node].iter().collect();
            children.sort_unstable_by(|a, b| b.cmp(a));
            for (&symbol, &child) in children {
                open.push((child as usize, [source.as_slice(), &[symbol]].concat()));
            }
        }
    }
}

impl RuleSource for Grammar {
    fn columns(&self) -> &[String] {
        &self.index.columns
    }

    fn source_word(&self, word: &str) -> Option<u32> {
        self.index.names.0.get(word)
    }

    fn target_word(&self, word: &str) -> Option<u32> {
        self.index.names.1.get(word)
    }

    fn target_text(&self, id: u32) -> &str {
        self.index.names.1.name(id)
    }

    fn target_words(&self) -> usize {
        self.index.names.1.len()
    }

    fn longest_source(&self) -> usize {
        self.longest
    }

    fn root(&self) -> Node {
        Node::new(0)
    }

    fn child(&self, node: Node, symbol: u32) -> Option<Node> {
        self.children.get(node.number())?.get(&symbol).map(|&child| Node::new(child))
    }

    fn goes_on(&self, node: Node) -> bool {
        self.children.get(node.number()).is_some_and(|children| !children.is_empty())
    }

    fn rules(&self, node: Node) -> Range<u32> {
        self.runs.get(node.number()).cloned().unwrap_or(0..0)
    }

    fn target(&self, rule: u32) -> &[u32] {
        &self.rules[rule as usize].target
    }

    fn links(&self, rule: u32) -> &[[u8; 2]] {
        &self.rules[rule as usize].links
    }

    fn scores(&self, rule: u32) -> &[f32] {
        &self.rules[rule as usize].scores
    }
}
