//! BLEU of some texts, kept up to date: a changed phrase costs a walk over the words around it.
//!
//! The references' n-grams are an automaton over small numbers: the longest n-gram that ends at a word leads, by the
//! next word, to the next one, and to all shorter ones that end there (Aho & Corasick 1975). Each sentence remembers
//! where its words are in the automaton and how often each n-gram is used; the n-grams that touch a window are taken
//! out once, and each candidate puts its own in and takes them out again.

use super::{Bleu, RefLength, Smoothing};
use crate::tokenize::{Tokenizer, split};
use rustc_hash::FxHashMap;

/// Longest n-gram.
pub const ORDER: usize = 4;

/// Statistics of sentences; they add up.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tally {
    /// Words.
    pub length: i64,
    /// Words of the reference; a whole number unless it is a mean.
    pub reference: f64,
    /// N-grams of each order that a reference has, as often as it has them at most.
    pub matches: [i64; ORDER],
    /// N-grams of each order.
    pub totals: [i64; ORDER],
}

impl Tally {
    /// Adds another one, `sign` times.
    #[inline]
    pub fn add(&mut self, other: &Self, sign: i64) {
        self.length += sign * other.length;
        self.reference += sign as f64 * other.reference;
        for n in 0..ORDER {
            self.matches[n] += sign * other.matches[n];
            self.totals[n] += sign * other.totals[n];
        }
    }
}

/// BLEU-4 that is kept up to date.
#[derive(Debug, Clone)]
pub struct Incremental {
    bleu: Bleu,
}

impl Incremental {
    /// None if the metric has options that this form cannot honour.
    pub(super) fn new(bleu: &Bleu) -> Option<Self> {
        let words = bleu.order == ORDER && bleu.tokenizer == Tokenizer::None;
        let smooth = !bleu.effective_order && !matches!(bleu.smoothing, Smoothing::Floor(_));
        (words && smooth).then(|| Self { bleu: bleu.clone() })
    }

    /// Reads the references of a sentence; None if they have too many words.
    pub fn references(&self, texts: &[String]) -> Option<References> {
        References::new(&self.bleu, texts)
    }

    /// How sums are scored. A metric that adds nothing to counts itself has `add` added to all of them (Haddow et al.
    /// 2011, 2.2.1: 0.01): no count is zero then, and its rules for missing orders are not asked.
    pub fn scorer(&self, scale: f64, add: f64) -> Scorer {
        let (low, high) = match self.bleu.smoothing {
            Smoothing::AddK(_) | Smoothing::AddAll(_) => self.bleu.added(),
            _ => (add, add),
        };
        Scorer::new(&self.bleu, scale, (low, high))
    }
}

/// Corpus BLEU with constants added to all counts.
#[derive(Debug, Clone)]
pub struct Scorer {
    /// What a perfect score is: 100 or 1.
    scale: f64,
    /// For unigrams and for all other orders: what is added, and which logarithms that takes.
    added: [(f64, usize); 2],
    /// Logarithms of count plus constant.
    logs: Vec<Vec<f64>>,
    /// What reference lengths are multiplied by, and what is added to their sum.
    length: (f64, f64),
}

/// Counts whose logarithms are kept.
const LOGS: usize = 1 << 13;

impl Scorer {
    fn new(bleu: &Bleu, scale: f64, (low, high): (f64, f64)) -> Self {
        let logs = |add: f64| (0..LOGS).map(|count| (count as f64 + add).ln()).collect();
        let mut made = vec![logs(low)];
        if low.to_bits() != high.to_bits() {
            made.push(logs(high));
        }
        let added = [(low, 0), (high, made.len() - 1)];
        Self { scale, added, logs: made, length: (bleu.length_scale, bleu.length_offset) }
    }

    #[inline]
    fn log(&self, count: i64, (add, table): (f64, usize)) -> f64 {
        self.logs[table].get(count as usize).copied().unwrap_or_else(|| (count as f64 + add).ln())
    }

    /// The score of some statistics.
    #[inline]
    pub fn score(&self, tally: &Tally) -> f64 {
        let reference = tally.reference * self.length.0 + self.length.1;
        if tally.length == 0 && (reference > 0.0 || self.added[0].0 == 0.0) {
            return 0.0;
        }
        let mut sum = 0.0;
        for n in 0..ORDER {
            let added = self.added[usize::from(n > 0)];
            sum += self.log(tally.matches[n], added) - self.log(tally.totals[n], added);
        }
        let brevity = (1.0 - reference / tally.length.max(1) as f64).min(0.0);
        self.scale * (brevity + sum / ORDER as f64).exp()
    }
}

/// The references of a sentence.
#[derive(Debug, Clone)]
pub struct References {
    /// Words by number, from 1 on.
    words: FxHashMap<String, u16>,
    bleu: Bleu,
    lengths: Vec<i64>,
    /// By node and word: the longest n-gram of the references that ends there. Word 0 is in no reference.
    next: Vec<u16>,
    symbols: usize,
    nodes: Vec<Node>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Node {
    /// Number of words.
    depth: u8,
    /// The n-gram without its first word.
    shorter: u16,
    /// How often it counts: as often as the reference that has it most.
    limit: u16,
}

impl References {
    fn new(bleu: &Bleu, texts: &[String]) -> Option<Self> {
        let mut words: FxHashMap<String, u16> = FxHashMap::default();
        let mut lines: Vec<Vec<u16>> = Vec::new();
        for text in texts {
            let mut line = Vec::new();
            for word in split(&bleu.prepare(text)) {
                let next = u16::try_from(words.len() + 1).ok()?;
                line.push(*words.entry(word.to_owned()).or_insert(next));
            }
            lines.push(line);
        }
        let symbols = words.len() + 1;
        let (children, nodes) = tree(&lines)?;
        let lengths = lines.iter().map(|line| line.len() as i64).collect();
        let next = vec![0; symbols * nodes.len()];
        let mut made = Self { words, bleu: bleu.clone(), lengths, next, symbols, nodes };
        made.connect(&children);
        Some(made)
    }

    /// Fills in the automaton, shorter n-grams first.
    fn connect(&mut self, children: &FxHashMap<(u16, u16), u16>) {
        let mut order: Vec<(u16, u16, u16)> = children.iter().map(|(&(n, s), &c)| (n, s, c)).collect();
        order.sort_by_key(|&(parent, symbol, _)| (self.nodes[parent as usize].depth, parent, symbol));
        for depth in 0..=ORDER {
            for &(parent, symbol, child) in &order {
                if usize::from(self.nodes[parent as usize].depth) == depth {
                    let fallback = self.nodes[parent as usize].shorter;
                    let shorter = if parent == 0 { 0 } else { self.step(fallback, symbol) };
                    self.nodes[child as usize].shorter = shorter;
                }
            }
            for node in 0..self.nodes.len() {
                if usize::from(self.nodes[node].depth) != depth {
                    continue;
                }
                for symbol in 1..self.symbols {
                    let child = children.get(&(node as u16, symbol as u16)).copied();
                    let fallback =
                        if node == 0 { 0 } else { self.step(self.nodes[node].shorter, symbol as u16) };
                    self.next[node * self.symbols + symbol] = child.unwrap_or(fallback);
                }
            }
        }
    }

    #[inline]
    fn step(&self, node: u16, symbol: u16) -> u16 {
        self.next[usize::from(node) * self.symbols + usize::from(symbol)]
    }

    /// The number of a word; 0 if no reference has it.
    pub fn symbol(&self, word: &str) -> u16 {
        let found =
            if self.bleu.lowercase { self.words.get(&self.bleu.prepare(word)) } else { self.words.get(word) };
        found.copied().unwrap_or(0)
    }

    /// The length that a text is held against.
    #[inline]
    fn length(&self, length: i64) -> f64 {
        match self.bleu.ref_length {
            // The usual case first, for the compiler.
            RefLength::Closest => RefLength::Closest.of(&self.lengths, length),
            other => other.of(&self.lengths, length),
        }
    }
}

type Tree = (FxHashMap<(u16, u16), u16>, Vec<Node>);

/// All n-grams of some lines, with depths and limits; none if they are too many.
fn tree(lines: &[Vec<u16>]) -> Option<Tree> {
    let mut children: FxHashMap<(u16, u16), u16> = FxHashMap::default();
    let mut nodes = vec![Node::default()];
    for line in lines {
        let mut counts: FxHashMap<u16, u16> = FxHashMap::default();
        for start in 0..line.len() {
            let mut node = 0;
            for (n, &symbol) in line[start..].iter().take(ORDER).enumerate() {
                let next = u16::try_from(nodes.len()).ok()?;
                node = *children.entry((node, symbol)).or_insert(next);
                if node == next {
                    nodes.push(Node { depth: n as u8 + 1, ..Node::default() });
                }
                *counts.entry(node).or_default() += 1;
            }
        }
        for (node, count) in counts {
            let limit = &mut nodes[usize::from(node)].limit;
            *limit = (*limit).max(count);
        }
    }
    Some((children, nodes))
}

/// The current translation of a sentence, against its references.
#[derive(Debug)]
pub struct Text<'a> {
    references: &'a References,
    symbols: Vec<u16>,
    /// The longest n-gram that ends at each word.
    ends: Vec<u16>,
    /// How often each n-gram is used.
    counts: Vec<u16>,
    /// Its statistics.
    pub tally: Tally,
    /// The open window, and the matches outside it.
    window: (usize, usize),
    outside: [i64; ORDER],
    trail: Vec<u16>,
}

impl<'a> Text<'a> {
    /// An empty translation.
    pub fn new(references: &'a References) -> Self {
        let mut made = Self {
            references,
            symbols: Vec::new(),
            ends: Vec::new(),
            counts: vec![0; references.nodes.len()],
            tally: Tally::default(),
            window: (0, 0),
            outside: [0; ORDER],
            trail: Vec::new(),
        };
        made.tally.reference = references.length(0);
        made
    }

    /// Number of words.
    pub fn len(&self) -> usize {
        self.symbols.len()
    }

    /// Whether there is no word.
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// Takes out the n-grams that touch the words from `from` up to `to`; [`Text::close`] puts them back.
    pub fn open(&mut self, from: usize, to: usize) {
        self.window = (from, to);
        self.outside = self.tally.matches;
        let nodes = &self.references.nodes;
        for at in from..(to + ORDER - 1).min(self.len()) {
            let least = if at < to { 0 } else { at - to + 1 };
            let mut node = nodes[usize::from(self.ends[at])];
            let mut number = usize::from(self.ends[at]);
            while usize::from(node.depth) > least {
                self.outside[usize::from(node.depth) - 1] -= i64::from(self.counts[number] <= node.limit);
                self.counts[number] -= 1;
                number = usize::from(node.shorter);
                node = nodes[number];
            }
        }
    }

    /// The statistics if the window had other words.
    #[inline]
    pub fn probe<'s>(&mut self, words: impl Iterator<Item = &'s [u16]>) -> Tally {
        let (from, to) = self.window;
        let Self { references, counts, trail, .. } = self;
        let mut matches = self.outside;
        let mut node = if from > 0 { self.ends[from - 1] } else { 0 };
        let mut size = 0;
        trail.clear();
        let mut use_from = |node: u16, least: usize| {
            let mut number = usize::from(node);
            let mut seen = references.nodes[number];
            while usize::from(seen.depth) > least {
                counts[number] += 1;
                matches[usize::from(seen.depth) - 1] += i64::from(counts[number] <= seen.limit);
                trail.push(number as u16);
                number = usize::from(seen.shorter);
                seen = references.nodes[number];
            }
        };
        for part in words {
            size += part.len();
            for &symbol in part {
                node = references.step(node, symbol);
                use_from(node, 0);
            }
        }
        for (k, &symbol) in self.symbols[to..].iter().take(ORDER - 1).enumerate() {
            node = references.step(node, symbol);
            use_from(node, k + 1);
        }
        for &node in trail.iter() {
            counts[usize::from(node)] -= 1;
        }
        self.tally_of(self.len() - (to - from) + size, matches)
    }

    #[inline]
    fn tally_of(&self, length: usize, matches: [i64; ORDER]) -> Tally {
        let length = length as i64;
        let totals = [length, (length - 1).max(0), (length - 2).max(0), (length - 3).max(0)];
        Tally { length, reference: self.references.length(length), matches, totals }
    }

    /// The largest statistics that any words in the window could have, of which `known` are in a reference and which
    /// leave the translation from `least` to `most` words long.
    pub fn bound(&self, known: usize, empty: bool, (least, most): (i64, i64)) -> Tally {
        let mut matches = self.outside;
        for (n, count) in matches.iter_mut().enumerate() {
            *count += if known == 0 && !empty { 0 } else { (known + n) as i64 };
        }
        let mut made = self.tally_of(least.max(0) as usize, matches);
        made.length = most;
        made.reference = RefLength::Shortest.of(&self.references.lengths, 0);
        made
    }

    /// Puts back what [`Text::open`] took out.
    pub fn close(&mut self) {
        let (from, to) = self.window;
        let nodes = &self.references.nodes;
        for at in from..(to + ORDER - 1).min(self.len()) {
            let least = if at < to { 0 } else { at - to + 1 };
            let mut number = usize::from(self.ends[at]);
            while usize::from(nodes[number].depth) > least {
                self.counts[number] += 1;
                number = usize::from(nodes[number].shorter);
            }
        }
    }

    /// Replaces the words from `from` up to `to`.
    pub fn replace<'s>(&mut self, from: usize, to: usize, words: impl Iterator<Item = &'s [u16]> + Clone) {
        self.open(from, to);
        self.tally = self.probe(words.clone());
        let size: usize = words.clone().map(<[u16]>::len).sum();
        self.symbols.splice(from..to, words.flatten().copied());
        self.ends.splice(from..to, std::iter::repeat_n(0, size));
        let mut node = if from > 0 { self.ends[from - 1] } else { 0 };
        for at in from..(from + size + ORDER - 1).min(self.len()) {
            node = self.references.step(node, self.symbols[at]);
            self.ends[at] = node;
        }
        self.window = (from, from + size);
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metric;
    use proptest::prelude::*;

    fn row(bleu: &Bleu, refs: &[String], words: &[String]) -> Vec<f64> {
        let refs: Vec<&str> = refs.iter().map(String::as_str).collect();
        let mut row = vec![0.0; bleu.width()];
        bleu.digest(&refs).statistics(&words.join(" "), &mut row);
        row
    }

    fn as_row(tally: &Tally) -> Vec<f64> {
        let counts = tally.matches.iter().chain(&tally.totals);
        [tally.length as f64, tally.reference].into_iter().chain(counts.map(|&n| n as f64)).collect()
    }

    proptest! {
        /// The exact form is the slow version.
        #[test]
        fn statistics_equal_those_of_the_metric(
            refs in prop::collection::vec(prop::collection::vec("[a-d]", 0..9), 1..4),
            changes in prop::collection::vec((0usize..12, 0usize..4, prop::collection::vec("[a-e]", 0..4)), 1..12),
            smoothing in prop_oneof![Just(Smoothing::AddAll(0.01)), Just(Smoothing::AddAll(0.3)), Just(Smoothing::AddK(1.0))],
            ref_length in prop_oneof![Just(RefLength::Closest), Just(RefLength::Shortest), Just(RefLength::Average)],
            (length_scale, length_offset) in prop_oneof![Just((1.0, 0.0)), Just((0.9, 1.0))],
        ) {
            let metric = Bleu { ref_length, smoothing, length_scale, length_offset, ..Bleu::default() };
            let refs: Vec<String> = refs.iter().map(|r| r.join(" ")).collect();
            let form = metric.incremental().unwrap();
            let references = form.references(&refs).unwrap();
            let (mut text, mut words) = (Text::new(&references), Vec::<String>::new());
            let scorer = form.scorer(100.0, 0.5);
            for (from, size, new) in changes {
                let from = from.min(words.len());
                let to = (from + size).min(words.len());
                let symbols: Vec<u16> = new.iter().map(|w| references.symbol(w)).collect();
                let halves = symbols.split_at(symbols.len() / 2);
                let before = text.tally;
                text.open(from, to);
                let probed = text.probe([halves.0, halves.1].into_iter());
                let known = symbols.iter().filter(|s| **s > 0).count();
                let size = (words.len() - (to - from) + new.len()) as i64;
                let bound = text.bound(known, new.is_empty(), (size, size));
                prop_assert!(scorer.score(&bound) >= scorer.score(&probed) - 1e-9);
                text.close();
                prop_assert_eq!(text.tally, before);
                text.replace(from, to, [&symbols[..]].into_iter());
                words.splice(from..to, new);
                prop_assert_eq!(as_row(&text.tally), row(&metric, &refs, &words));
                prop_assert_eq!(probed, text.tally);
                let want = metric.score(&row(&metric, &refs, &words));
                prop_assert!((scorer.score(&text.tally) - want).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn lower_case_and_many_words() {
        let lower = Bleu { lowercase: true, ..Bleu::default() };
        let references = References::new(&lower, &["Ein Haus".to_owned()]).unwrap();
        assert_eq!(references.symbol("HAUS"), 2);
        assert_eq!(references.symbol("hut"), 0);
        let words: Vec<String> = (0..70_000).map(|i| i.to_string()).collect();
        assert!(References::new(&lower, &[words.join(" ")]).is_none());
    }

    /// A metric that adds nothing itself gets the given constant; what cannot be honoured is refused.
    #[test]
    fn smoothing_is_the_metrics_or_the_given_one() {
        let form = |bleu: Bleu| bleu.incremental();
        let tally = Tally { length: 3, reference: 3.0, matches: [2, 1, 0, 0], totals: [3, 2, 1, 0] };
        let given = form(Bleu { smoothing: Smoothing::Exp, ..Bleu::default() }).unwrap().scorer(1.0, 0.01);
        let own = form(Bleu { smoothing: Smoothing::AddAll(0.01), ..Bleu::default() }).unwrap();
        assert_eq!(given.score(&tally).to_bits(), own.scorer(1.0, 0.7).score(&tally).to_bits());
        assert!(form(Bleu { smoothing: Smoothing::Floor(0.1), ..Bleu::default() }).is_none());
        assert!(form(Bleu { effective_order: true, ..Bleu::default() }).is_none());
        assert!(form(Bleu { order: 3, ..Bleu::default() }).is_none());
        assert!(form(Bleu { tokenizer: Tokenizer::V13a, ..Bleu::default() }).is_none());
    }
}
