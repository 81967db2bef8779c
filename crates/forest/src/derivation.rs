//! One derivation of a forest: its edges bottom up. In a lattice, where each edge has one tail, that is the order of the
//! target.

use crate::forest::{Forest, TAIL};
use std::fmt::Write;

/// A derivation with its model score.
#[derive(Debug, Clone, PartialEq)]
pub struct Derivation {
    /// The sum of its edges' scores.
    pub score: f64,
    /// Its edges: those of the first tail, those of the second and so on, then the edge itself; the last derives the root.
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

/// For each edge of a derivation, the places of its tails in the list. Edges without enough others before them get what
/// there is.
fn places(forest: &Forest, edges: &[u32]) -> Vec<Vec<usize>> {
    let mut open: Vec<usize> = Vec::new();
    let mut below = Vec::with_capacity(edges.len());
    for (at, &edge) in edges.iter().enumerate() {
        let tails = forest.tails(edge as usize).len().min(open.len());
        below.push(open.split_off(open.len() - tails));
        open.push(at);
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
        let mut open = vec![(edges.len() - 1, 0)];
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

    /// A derivation as a tree; none if the edges are no derivation.
    pub fn tree(&self, edges: &[u32]) -> Option<Tree> {
        let mut open: Vec<Tree> = Vec::new();
        for &edge in edges {
            let wanted = self.tails(edge as usize);
            let tails = open.split_off(open.len().checked_sub(wanted.len())?);
            if !tails.iter().map(|tree| self.heads[tree.edge as usize]).eq(wanted.iter().copied()) {
                return None;
            }
            open.push(Tree { edge, tails });
        }
        open.pop().filter(|_| open.is_empty())
    }

    /// A derivation as indented lines, from the top: label, source span, score, and the target side with `[1]` for the
    /// first tail.
    pub fn outline(&self, edges: &[u32]) -> String {
        let below = places(self, edges);
        let (mut lines, mut open) = (String::new(), Vec::new());
        open.extend(edges.len().checked_sub(1).map(|top| (top, 0)));
        while let Some((at, depth)) = open.pop() {
            open.extend(below[at].iter().rev().map(|&tail| (tail, depth + 1)));
            let edge = self.edge(edges[at] as usize);
            let side: Vec<String> = edge.symbols.iter().map(|&symbol| self.symbol(symbol)).collect();
            let label = Some(self.label(edge.head)).filter(|label| !label.is_empty()).unwrap_or("X");
            let (indent, (from, to)) = ("  ".repeat(depth), edge.span);
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
