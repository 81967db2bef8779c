//! From n-grams to the automaton, in memory.

use super::ROOT;
use crate::ngrams::Ngrams;
use crate::words::UNK;
use dragoman_base::hash::{mix, place};
use dragoman_base::{Error, Result};
use rayon::prelude::*;

/// log10 probability of unknown words in a model that has no `<unk>`, as KenLM gives them.
const MISSING_UNK: f32 = -100.0;
const NONE: u32 = u32::MAX;

/// An n-gram of order 2 or more.
#[derive(Debug, Clone, Copy, Default)]
pub struct Edge {
    pub node: u32,
    pub word: u32,
    /// Natural logarithm.
    pub probability: f32,
    pub next: u32,
}

/// The automaton, before it is laid out in a file. Logarithms are natural.
#[derive(Debug)]
pub struct Automaton {
    /// By word: probability and next node.
    pub unigrams: Vec<(f32, u32)>,
    /// By node: back-off weight and suffix.
    pub nodes: Vec<(f32, u32)>,
    /// `starts[n]`: the first node of `n` words; the last entry is the number of nodes.
    pub starts: Vec<u32>,
    /// The edges of order 2 and up.
    pub edges: Vec<Vec<Edge>>,
}

/// Pairs of (n-gram, word) to longer n-grams, while building.
struct Index {
    slots: Vec<(u64, u32)>,
}

impl Index {
    fn new(entries: usize) -> Self {
        Self { slots: vec![(u64::MAX, NONE); entries + entries / 2 + 1] }
    }

    fn key(from: u32, word: u32) -> u64 {
        u64::from(from) << 32 | u64::from(word)
    }

    fn find(&self, from: u32, word: u32) -> Option<u32> {
        let key = Self::key(from, word);
        let mut at = place(mix(key), self.slots.len());
        loop {
            match self.slots[at] {
                (_, NONE) => return None,
                (found, id) if found == key => return Some(id),
                _ => at = if at + 1 == self.slots.len() { 0 } else { at + 1 },
            }
        }
    }

    /// Adds a pair; false if it is there already.
    fn insert(&mut self, from: u32, word: u32, id: u32) -> bool {
        let key = Self::key(from, word);
        let mut at = place(mix(key), self.slots.len());
        while self.slots[at].1 != NONE {
            if self.slots[at].0 == key {
                return false;
            }
            at = if at + 1 == self.slots.len() { 0 } else { at + 1 };
        }
        self.slots[at] = (key, id);
        true
    }
}

/// N-grams by one number: words first, then order 2, and so on.
struct Builder<'a> {
    ngrams: &'a Ngrams,
    /// The number of the first n-gram of each order.
    firsts: Vec<u32>,
    index: Index,
    /// For each n-gram of order 2 and up, the number of its context.
    contexts: Vec<Vec<u32>>,
    /// For each n-gram below the highest order: its node or [`NONE`].
    node_of: Vec<u32>,
}

fn error(ngrams: &Ngrams, order: usize, i: usize, want: &str) -> Error {
    let grams = &ngrams.orders[order - 1];
    let words = &grams.words[i * order..(i + 1) * order];
    let text = words.iter().map(|&w| ngrams.names.name(w)).collect::<Vec<_>>().join(" ");
    Error::format(&ngrams.path, grams.line + i, want, &text)
}

impl<'a> Builder<'a> {
    fn new(ngrams: &'a Ngrams) -> Result<Self> {
        let mut firsts = vec![0, ngrams.names.len() as u64];
        for count in &ngrams.counts()[1..] {
            firsts.push(firsts[firsts.len() - 1] + count);
        }
        if firsts[firsts.len() - 1] >= u64::from(u32::MAX) {
            return Err(Error::Invalid(format!("{}: too many n-grams for one table (2^32)", ngrams.path)));
        }
        let entries = (firsts[firsts.len() - 1] - firsts[1]) as usize;
        let firsts = firsts.into_iter().map(|f| f as u32).collect();
        Ok(Self { ngrams, firsts, index: Index::new(entries), contexts: Vec::new(), node_of: Vec::new() })
    }

    /// Gives every n-gram its number and finds its context.
    fn link(&mut self) -> Result<()> {
        for order in 2..=self.ngrams.order() {
            let words = &self.ngrams.orders[order - 1].words;
            let index = &self.index;
            let find = |gram: &[u32]| {
                gram[1..order - 1].iter().try_fold(gram[0], |from, &w| index.find(from, w)).unwrap_or(NONE)
            };
            let contexts: Vec<u32> = words.par_chunks_exact(order).map(find).collect();
            if let Some(i) = contexts.iter().position(|&c| c == NONE) {
                let want = format!("an n-gram whose first {} words are an n-gram, too", order - 1);
                return Err(error(self.ngrams, order, i, &want));
            }
            for (i, (&context, gram)) in contexts.iter().zip(words.chunks_exact(order)).enumerate() {
                if !self.index.insert(context, gram[order - 1], self.firsts[order - 1] + i as u32) {
                    return Err(error(self.ngrams, order, i, "each n-gram once"));
                }
            }
            self.contexts.push(contexts);
        }
        Ok(())
    }

    /// Numbers the nodes, shorter contexts first.
    fn number(&mut self, unigrams: &[(f32, f32)]) -> Vec<u32> {
        let below = self.firsts[self.ngrams.order() - 1] as usize;
        let words = self.firsts[1] as usize;
        let mut matters = vec![false; below.max(words)];
        for &context in self.contexts.iter().flatten() {
            matters[context as usize] = true;
        }
        let higher = self.ngrams.orders[1..].iter().flat_map(|grams| &grams.backoffs);
        for (mark, &backoff) in matters.iter_mut().zip(unigrams.iter().map(|(_, b)| b).chain(higher)) {
            *mark |= backoff != 0.0;
        }
        let mut next = ROOT + 1;
        let (mut starts, mut order) = (vec![ROOT], 1);
        self.node_of = Vec::with_capacity(matters.len());
        for (i, &mark) in matters.iter().enumerate() {
            while order <= self.ngrams.order() && i as u32 >= self.firsts[order - 1] {
                starts.push(next);
                order += 1;
            }
            self.node_of.push(if mark { next } else { NONE });
            next += u32::from(mark);
        }
        starts.resize(self.ngrams.order(), next);
        starts.push(next);
        starts
    }
}

/// log10 probability and back-off weight of every word.
fn unigrams(ngrams: &Ngrams) -> Result<Vec<(f32, f32)>> {
    let grams = &ngrams.orders[0];
    let mut found = vec![None; ngrams.names.len()];
    for (i, &word) in grams.words.iter().enumerate() {
        if found[word as usize].replace((grams.probabilities[i], grams.backoffs[i])).is_some() {
            return Err(error(ngrams, 1, i, "each word once"));
        }
    }
    // Special words may be missing from the model; all others came with a probability.
    let missing = |(id, entry): (usize, Option<(f32, f32)>)| {
        entry.unwrap_or(if id as u32 == UNK { (MISSING_UNK, 0.0) } else { (-99.0, 0.0) })
    };
    Ok(found.into_iter().enumerate().map(missing).collect())
}

/// Natural from common logarithm.
fn natural(log10: f32) -> f32 {
    (f64::from(log10) * std::f64::consts::LN_10) as f32
}

impl Automaton {
    /// Builds the automaton of a model. The context of every n-gram must be an n-gram; endings may be missing.
    pub fn new(ngrams: &Ngrams) -> Result<Self> {
        if ngrams.orders.is_empty() || ngrams.orders[0].words.is_empty() {
            return Err(Error::Invalid(format!("{}: a model without words", ngrams.path)));
        }
        let words = unigrams(ngrams)?;
        let mut builder = Builder::new(ngrams)?;
        builder.link()?;
        let starts = builder.number(&words);
        let next = |word: usize| Some(builder.node_of[word]).filter(|&n| n != NONE).unwrap_or(ROOT);
        let mut automaton = Self {
            unigrams: words.iter().enumerate().map(|(i, &(p, _))| (natural(p), next(i))).collect(),
            nodes: vec![(0.0, ROOT); starts[starts.len() - 1] as usize],
            starts,
            edges: Vec::new(),
        };
        for (i, &(_, backoff)) in words.iter().enumerate() {
            if builder.node_of[i] != NONE {
                automaton.nodes[builder.node_of[i] as usize].0 = natural(backoff);
            }
        }
        for order in 2..=ngrams.order() {
            automaton.extend(&builder, order);
        }
        Ok(automaton)
    }

    /// Where the search goes from `node` with `word`, as far as it is built: orders below that of the edges to come.
    fn follow(&self, builder: &Builder<'_>, grams: &[u32], mut node: u32, word: u32) -> u32 {
        while node != ROOT {
            if let Some(id) = builder.index.find(grams[node as usize], word) {
                let order = builder.firsts.iter().rposition(|&first| first <= id).unwrap_or(0);
                return self.edges[order - 1][(id - builder.firsts[order]) as usize].next;
            }
            node = self.nodes[node as usize].1;
        }
        self.unigrams[word as usize].1
    }

    /// Adds the edges of one order and the nodes they lead to.
    fn extend(&mut self, builder: &Builder<'_>, order: usize) {
        // The n-gram behind each node.
        let mut behind = vec![NONE; self.nodes.len()];
        for (id, &node) in builder.node_of.iter().enumerate() {
            if node != NONE {
                behind[node as usize] = id as u32;
            }
        }
        let grams = &builder.ngrams.orders[order - 1];
        let first = builder.firsts[order - 1] as usize;
        let contexts = &builder.contexts[order - 2];
        let this = &*self;
        let make = |i: usize| {
            let (word, node) = (grams.words[i * order + order - 1], builder.node_of[contexts[i] as usize]);
            let fall = this.follow(builder, &behind, this.nodes[node as usize].1, word);
            let own = builder.node_of.get(first + i).copied().unwrap_or(NONE);
            let next = if own == NONE { fall } else { own };
            (Edge { node, word, probability: natural(grams.probabilities[i]), next }, own, fall)
        };
        let made: Vec<_> = (0..contexts.len()).into_par_iter().map(make).collect();
        for (i, &(_, own, fall)) in made.iter().enumerate() {
            if own != NONE {
                self.nodes[own as usize] = (natural(grams.backoffs[i]), fall);
            }
        }
        self.edges.push(made.into_iter().map(|(edge, _, _)| edge).collect());
    }
}
