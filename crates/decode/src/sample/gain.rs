//! BLEU of a batch, kept up to date: a changed phrase costs a walk over the words around it.
//!
//! The references' n-grams are an automaton over small numbers: the longest n-gram that ends at a word leads, by the
//! next word, to the next one, and to all shorter ones that end there (Aho & Corasick 1975). Each sentence remembers
//! where its words are in the automaton and how often each n-gram is used; the n-grams that touch a window are taken
//! out once, and each candidate puts its own in and takes them out again.

use crate::options::Options;
use crate::sentence::Sentence;
use rustc_hash::FxHashMap;

/// Longest n-gram.
pub const ORDER: usize = 4;

/// Statistics of sentences; they add up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Words.
    pub length: i64,
    /// Words of the closest reference.
    pub reference: i64,
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
        self.reference += sign * other.reference;
        for n in 0..ORDER {
            self.matches[n] += sign * other.matches[n];
            self.totals[n] += sign * other.totals[n];
        }
    }
}

/// Corpus BLEU with a constant added to all counts (Haddow et al. 2011, 2.2.1: 0.01).
#[derive(Debug, Clone)]
pub struct Bleu {
    /// What a perfect score is: 100 or 1.
    scale: f64,
    add: f64,
    /// Logarithms of count plus constant.
    logs: Vec<f64>,
}

/// Counts whose logarithms are kept.
const LOGS: usize = 1 << 13;

impl Bleu {
    /// On a scale, with a constant that is added to all counts.
    pub fn new(scale: f64, add: f64) -> Self {
        let logs = (0..LOGS).map(|count| (count as f64 + add).ln()).collect();
        Self { scale, add, logs }
    }

    #[inline]
    fn log(&self, count: i64) -> f64 {
        self.logs.get(count as usize).copied().unwrap_or_else(|| (count as f64 + self.add).ln())
    }

    /// The score of some statistics.
    #[inline]
    pub fn score(&self, tally: &Tally) -> f64 {
        if tally.length == 0 && tally.reference > 0 {
            return 0.0;
        }
        let mut sum = 0.0;
        for n in 0..ORDER {
            sum += self.log(tally.matches[n]) - self.log(tally.totals[n]);
        }
        let brevity = (1.0 - tally.reference as f64 / tally.length.max(1) as f64).min(0.0);
        self.scale * (brevity + sum / ORDER as f64).exp()
    }
}

/// The references of a sentence.
#[derive(Debug, Clone)]
pub struct References {
    /// Words by number, from 1 on.
    words: FxHashMap<String, u16>,
    lower: bool,
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
    /// Reads references as words between blanks; `lower` compares lower-cased words. None if they have too many words.
    pub fn new(texts: &[String], lower: bool) -> Option<Self> {
        let mut words: FxHashMap<String, u16> = FxHashMap::default();
        let mut lines: Vec<Vec<u16>> = Vec::new();
        for text in texts {
            let mut line = Vec::new();
            for word in dragoman_lm::words(text) {
                let next = u16::try_from(words.len() + 1).ok()?;
                let word = if lower { word.to_lowercase() } else { word.to_owned() };
                line.push(*words.entry(word).or_insert(next));
            }
            lines.push(line);
        }
        let symbols = words.len() + 1;
        let (children, nodes) = tree(&lines)?;
        let lengths = lines.iter().map(|line| line.len() as i64).collect();
        let mut made = Self { words, lower, lengths, next: vec![0; symbols * nodes.len()], symbols, nodes };
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
        let found = if self.lower { self.words.get(&word.to_lowercase()) } else { self.words.get(word) };
        found.copied().unwrap_or(0)
    }

    /// The numbers of all target words of a sentence's options.
    pub fn symbols(&self, sentence: &Sentence<'_>, options: &Options) -> Vec<u16> {
        options.targets().iter().map(|&word| self.symbol(sentence.target_text(word))).collect()
    }

    /// The closest reference's length; of two equally close, the shorter.
    #[inline]
    fn closest(&self, length: i64) -> i64 {
        let mut best = (i64::MAX, 0);
        for &reference in &self.lengths {
            best = best.min(((reference - length).abs(), reference));
        }
        best.1
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
        made.tally.reference = references.closest(0);
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
        Tally { length, reference: self.references.closest(length), matches, totals }
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
        made.reference = self.references.lengths.iter().copied().min().unwrap_or(0);
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
    use dragoman_metric::Metric;
    use dragoman_metric::bleu::{RefLength, Smoothing};
    use dragoman_metric::tokenize::Tokenizer;
    use proptest::prelude::*;

    fn metric() -> dragoman_metric::bleu::Bleu {
        dragoman_metric::bleu::Bleu {
            order: ORDER,
            tokenizer: Tokenizer::None,
            lowercase: false,
            ref_length: RefLength::Closest,
            smoothing: Smoothing::AddAll(0.01),
            effective_order: false,
            length_scale: 1.0,
            length_offset: 0.0,
        }
    }

    fn row(refs: &[String], words: &[String]) -> Vec<f64> {
        let refs: Vec<&str> = refs.iter().map(String::as_str).collect();
        let mut row = vec![0.0; 2 + 2 * ORDER];
        metric().digest(&refs).statistics(&words.join(" "), &mut row);
        row
    }

    fn as_row(tally: &Tally) -> Vec<f64> {
        let counts = tally.matches.iter().chain(&tally.totals);
        [tally.length, tally.reference].iter().chain(counts).map(|&n| n as f64).collect()
    }

    proptest! {
        /// The crate that scores texts is the slow version.
        #[test]
        fn statistics_equal_those_of_the_metric(
            refs in prop::collection::vec(prop::collection::vec("[a-d]", 0..9), 1..4),
            changes in prop::collection::vec((0usize..12, 0usize..4, prop::collection::vec("[a-e]", 0..4)), 1..12),
        ) {
            let refs: Vec<String> = refs.iter().map(|r| r.join(" ")).collect();
            let references = References::new(&refs, false).unwrap();
            let (mut text, mut words) = (Text::new(&references), Vec::<String>::new());
            let bleu = Bleu::new(100.0, 0.01);
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
                prop_assert!(bleu.score(&bound) >= bleu.score(&probed) - 1e-9);
                text.close();
                prop_assert_eq!(text.tally, before);
                text.replace(from, to, [&symbols[..]].into_iter());
                words.splice(from..to, new);
                prop_assert_eq!(as_row(&text.tally), row(&refs, &words));
                prop_assert_eq!(probed, text.tally);
                let want = metric().score(&row(&refs, &words));
                prop_assert!((bleu.score(&text.tally) - want).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn lower_case_and_many_words() {
        let references = References::new(&["Ein Haus".to_owned()], true).unwrap();
        assert_eq!(references.symbol("HAUS"), 2);
        assert_eq!(references.symbol("hut"), 0);
        let words: Vec<String> = (0..70_000).map(|i| i.to_string()).collect();
        assert!(References::new(&[words.join(" ")], false).is_none());
    }
}
