//! One derivation of a forest: its edges from the top, each followed by those of its tails in turn.

use crate::forest::{Forest, TAIL};
use std::fmt::Write;

/// A derivation with its model score.
#[derive(Debug, Clone, PartialEq)]
pub struct Derivation {
    /// The sum of its edges' scores.
    pub score: f64,
    /// Its edges: the first derives the root, and after each edge come those of its first tail, of its second, and so on.
    pub edges: Vec<u32>,
}

/// An edge of a derivation with what is below it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    /// The edge.
    pub edge: u32,
    /// The derivation of each tail.
    pub tails: Vec<Tree>,
}

/// A part of a derivation on its way: places of an edge's tails in the list of edges.
fn places(forest: &Forest, edges: &[u32]) -> Vec<Vec<usize>> {
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); edges.len()];
    let mut open: Vec<(usize, usize)> = Vec::new(); // edges that lack tails, and how many
    for (at, &edge) in edges.iter().enumerate() {
        if let Some((above, lacking)) = open.last_mut() {
            below[*above].push(at);
            *lacking -= 1;
            if *lacking == 0 {
                open.pop();
            }
        }
        let tails = forest.tails(edge as usize).len();
        if tails > 0 {
            open.push((at, tails));
        }
    }
    below
}

impl Forest {
    /// The words of a derivation, by number.
    pub fn words_of(&self, edges: &[u32]) -> Vec<u32> {
        let mut words = Vec::new();
        self.walk(edges, |_, symbol| words.push(symbol));
        words
    }

    /// The words of a derivation with a space between two.
    pub fn text_of(&self, edges: &[u32]) -> String {
        let mut text = String::new();
        self.walk(edges, |_, symbol| {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(self.words.get(symbol as usize));
        });
        text
    }

    /// Visits the words of a derivation in order: place of the edge in the list and place on its target side, and word.
    /// A loop, since derivations may be thousands of edges deep.
    fn walk(&self, edges: &[u32], mut word: impl FnMut((usize, usize), u32)) {
        if edges.is_empty() {
            return;
        }
        let below = places(self, edges);
        let mut open = vec![(0, 0)];
        while let Some((at, symbol)) = open.pop() {
            let target = self.target(edges[at] as usize);
            let Some(&next) = target.get(symbol) else { continue };
            open.push((at, symbol + 1));
            if next < TAIL {
                word((at, symbol), next);
            } else {
                open.push((below[at][(next - TAIL) as usize], 0));
            }
        }
    }

    /// The aligned words of a derivation (source, target), in order.
    pub fn links_of(&self, edges: &[u32]) -> Vec<(u32, u32)> {
        let (mut links, mut target) = (Vec::new(), 0);
        self.walk(edges, |(at, place), _| {
            let own = self.links(edges[at] as usize).iter().filter(|link| link.1 as usize == place);
            links.extend(own.map(|&(source, _)| (source, target)));
            target += 1;
        });
        links.sort_unstable();
        links.dedup();
        links
    }

    /// The sum of the features of some edges, in order of their numbers; zeros are left out.
    pub fn features_of(&self, edges: &[u32]) -> Vec<(u32, f64)> {
        let mut list: Vec<(u32, f64)> = Vec::new();
        for &edge in edges {
            let (columns, values) = self.rows.row(edge as usize);
            list.extend(columns.iter().copied().zip(values.iter().copied()));
        }
        list.sort_by_key(|(column, _)| *column); // stable, so that equal derivations sum alike
        list.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        list.retain(|(_, value)| *value != 0.0);
        list
    }

    /// A derivation as a tree; none if the edges are not a derivation from the top.
    pub fn tree(&self, edges: &[u32]) -> Option<Tree> {
        let below = places(self, edges);
        let mut made: Vec<Option<Tree>> = vec![None; edges.len()];
        for at in (0..edges.len()).rev() {
            let tails: Option<Vec<Tree>> = below[at].iter().map(|&tail| made[tail].take()).collect();
            let tails = tails.filter(|tails| {
                let heads = tails.iter().map(|tree| self.heads[tree.edge as usize]);
                heads.eq(self.tails(edges[at] as usize).iter().copied())
            })?;
            made[at] = Some(Tree { edge: edges[at], tails });
        }
        let whole = made.iter().skip(1).all(Option::is_none);
        made.into_iter().next().flatten().filter(|_| whole)
    }

    /// A derivation as indented lines: label, source span, score, and the target side with `[1]` for the first tail.
    pub fn outline(&self, edges: &[u32]) -> String {
        let below = places(self, edges);
        let mut depth = vec![0; edges.len()];
        let mut lines = String::new();
        for (at, &edge) in edges.iter().enumerate() {
            below[at].iter().for_each(|&tail| depth[tail] = depth[at] + 1);
            let edge = self.edge(edge as usize);
            let side: Vec<String> = edge.symbols.iter().map(|&symbol| self.symbol(symbol)).collect();
            let label = self.label(edge.head);
            let label = if label.is_empty() { "X" } else { label };
            let (indent, (from, to)) = ("  ".repeat(depth[at]), edge.span);
            writeln!(lines, "{indent}{label} {from}-{to} {:.4} {}", edge.score, side.join(" "))
                .expect("strings take all");
        }
        lines
    }

    /// A word, or `[k + 1]` for tail k.
    pub(crate) fn symbol(&self, symbol: u32) -> String {
        if symbol >= TAIL {
            return format!("[{}]", symbol - TAIL + 1);
        }
        self.words.get(symbol as usize).to_owned()
    }
}
