//! All n-grams of some sequences, for counting which of them another sequence has.

use rustc_hash::FxHashMap;

/// The n-grams of the references of one sentence, up to a longest order, as a tree: node 0 is empty, an edge adds
/// a symbol at the end. Symbols are words (by number) or characters.
///
/// Every node also knows the n-gram without its first symbol. A sequence is matched by keeping the longest n-gram
/// of the tree that ends where we are: the next symbol lengthens it, or it is shortened from the front until it
/// can be lengthened (the automaton of Aho & Corasick 1975). All shorter n-grams that end here are then a walk
/// along those links, so most symbols cost one look-up, whatever the order, and no n-gram is hashed as a whole.
pub(crate) struct NgramTree {
    order: usize,
    edges: FxHashMap<u64, u32>,
    nodes: Vec<Node>,
}

#[derive(Clone, Copy)]
struct Node {
    /// The node of this n-gram without its first symbol.
    shorter: u32,
    /// Number of symbols.
    depth: u32,
}

fn edge(node: u32, symbol: u32) -> u64 {
    u64::from(node) << 32 | u64::from(symbol)
}

impl NgramTree {
    /// A tree without n-grams, for n-grams of up to `order` symbols.
    pub fn new(order: usize) -> Self {
        Self { order, edges: FxHashMap::default(), nodes: vec![Node { shorter: 0, depth: 0 }] }
    }

    /// Number of nodes, the empty one included; nodes are numbered from 0.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Adds all n-grams of a sequence and calls `visit` with the node of each occurrence.
    pub fn add(&mut self, symbols: &[u32], mut visit: impl FnMut(u32)) {
        // Most long n-grams occur once; a guess that is somewhat low costs at most one more growth.
        self.edges.reserve(symbols.len() * self.order / 2);
        // ends[n]: the n-gram that ends at the symbol before.
        let mut ends = vec![0];
        for &symbol in symbols {
            if ends.len() <= self.order {
                ends.push(0);
            }
            for n in (1..ends.len()).rev() {
                let next = self.nodes.len() as u32;
                ends[n] = *self.edges.entry(edge(ends[n - 1], symbol)).or_insert(next);
                if ends[n] == next {
                    self.nodes.push(Node { shorter: 0, depth: n as u32 });
                }
            }
            for n in 1..ends.len() {
                self.nodes[ends[n] as usize].shorter = ends[n - 1];
                visit(ends[n]);
            }
        }
    }

    /// Calls `visit` with node and order of every n-gram of the sequence that is in the tree, once per
    /// occurrence. `None` is a symbol that no reference has.
    pub fn matches(&self, symbols: impl IntoIterator<Item = Option<u32>>, mut visit: impl FnMut(u32, usize)) {
        if self.order == 0 {
            return;
        }
        let mut longest = 0;
        for symbol in symbols {
            longest = symbol.map_or(0, |symbol| self.step(longest, symbol));
            let mut node = longest;
            while node != 0 {
                let Node { shorter, depth } = self.nodes[node as usize];
                visit(node, depth as usize);
                node = shorter;
            }
        }
    }

    /// Number of symbols of an n-gram.
    pub fn depth(&self, node: u32) -> usize {
        self.nodes[node as usize].depth as usize
    }

    /// An n-gram without its first symbol.
    pub fn shorter(&self, node: u32) -> u32 {
        self.nodes[node as usize].shorter
    }

    /// For each n-gram its longest suffix that is shorter than the longest order and that some symbol continues, or
    /// the empty one: all that [`NgramTree::step`] can tell apart.
    pub fn resting(&self) -> Vec<u32> {
        let mut continued = vec![false; self.nodes.len()];
        for key in self.edges.keys() {
            continued[(key >> 32) as usize] = true;
        }
        let rest = |mut node: u32| {
            while node != 0 && (self.depth(node) == self.order || !continued[node as usize]) {
                node = self.nodes[node as usize].shorter;
            }
            node
        };
        (0..self.nodes.len() as u32).map(rest).collect()
    }

    /// An n-gram with one more symbol, if the tree has it.
    pub fn child(&self, node: u32, symbol: u32) -> Option<u32> {
        self.edges.get(&edge(node, symbol)).copied()
    }

    /// Each n-gram without its last symbol, and that symbol.
    pub fn endings(&self) -> Vec<(u32, u32)> {
        let mut endings = vec![(0, 0); self.nodes.len()];
        for (&key, &node) in &self.edges {
            endings[node as usize] = ((key >> 32) as u32, key as u32);
        }
        endings
    }

    /// Which n-grams some symbol comes before, within the longest order.
    pub fn begun(&self) -> Vec<bool> {
        let mut begun = vec![false; self.nodes.len()];
        for node in self.nodes.iter().filter(|node| node.depth > 1) {
            begun[node.shorter as usize] = true;
        }
        begun
    }

    /// The longest n-gram of the tree that ends with `symbol` after `node`.
    pub fn step(&self, mut node: u32, symbol: u32) -> u32 {
        if self.nodes[node as usize].depth as usize == self.order {
            node = self.nodes[node as usize].shorter;
        }
        loop {
            if let Some(&next) = self.edges.get(&edge(node, symbol)) {
                return next;
            }
            if node == 0 {
                return 0;
            }
            node = self.nodes[node as usize].shorter;
        }
    }
}

/// How often each n-gram of a tree may match: its largest count in any one sequence.
#[derive(Default)]
pub(crate) struct Limits(pub Vec<u32>);

impl Limits {
    /// Adds a sequence to a tree and counts its n-grams.
    pub fn add(&mut self, tree: &mut NgramTree, symbols: &[u32]) {
        let mut counts: FxHashMap<u32, u32> = FxHashMap::default();
        tree.add(symbols, |node| *counts.entry(node).or_default() += 1);
        self.0.resize(tree.len(), 0);
        for (node, count) in counts {
            let limit = &mut self.0[node as usize];
            *limit = (*limit).max(count);
        }
    }
}

/// Numbers for the words of a sentence's references, so that n-grams are made of numbers.
#[derive(Default)]
pub(crate) struct Words(FxHashMap<Box<str>, u32>);

impl Words {
    /// The number of `word`, which gets one if it is new.
    pub fn intern(&mut self, word: &str) -> u32 {
        if let Some(&id) = self.0.get(word) {
            return id;
        }
        let id = self.0.len() as u32;
        self.0.insert(word.into(), id);
        id
    }

    /// The number of `word`, if a reference has it.
    pub fn get(&self, word: &str) -> Option<u32> {
        self.0.get(word).copied()
    }
}
