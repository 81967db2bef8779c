//! Lattices of many sentences in columns, with all features numbered as the system has them.

use crate::lattice::Lattice;
use crate::system::System;
use dragoman_base::Texts;
use dragoman_base::sparse::Rows;
use dragoman_model::found::Filing;

/// Lattices of some sentences: the arcs of lattice s from `starts[s]` up to `starts[s + 1]`, in order of their heads.
/// All final nodes of a lattice are one, the last.
#[derive(Debug, Clone, PartialEq)]
pub struct Lattices {
    /// Number of nodes of each; 0 if it has no translation.
    pub nodes: Vec<i64>,
    /// Where the arcs of each start, and where the last ones end.
    pub starts: Vec<i64>,
    /// Node that each arc leaves.
    pub tails: Vec<u32>,
    /// Node that it reaches.
    pub heads: Vec<u32>,
    /// Its target words, between blanks.
    pub texts: Texts,
    /// Its features.
    pub rows: Rows,
}

impl Default for Lattices {
    fn default() -> Self {
        let (nodes, tails, heads) = (Vec::new(), Vec::new(), Vec::new());
        Self { nodes, starts: vec![0], tails, heads, texts: Texts::new(), rows: Rows::default() }
    }
}

impl Lattices {
    /// All of them, in order of the sentences, so that names get the same numbers however many threads there are.
    pub fn of(lattices: &[Lattice], system: &System) -> Self {
        let mut made = Self::default();
        for lattice in lattices {
            let own = system.file(&lattice.own);
            made.push(lattice, Filing { dense: system.dense(), own: &own });
        }
        made
    }

    /// Adds the lattice of a sentence.
    pub fn push(&mut self, lattice: &Lattice, filing: Filing<'_>) {
        let (number, count) = numbers(lattice);
        let mut arcs: Vec<usize> = (0..lattice.arcs.len()).collect();
        arcs.sort_by_key(|&arc| number[lattice.arcs[arc].to as usize]);
        for arc in arcs {
            let arc = &lattice.arcs[arc];
            self.tails.push(number[arc.from as usize]);
            self.heads.push(number[arc.to as usize]);
            self.texts.push(&arc.text);
            for &(id, value) in &arc.features {
                self.rows.push(filing.number(id), f64::from(value));
            }
            self.rows.end_row();
        }
        self.nodes.push(i64::from(count));
        self.starts.push(self.tails.len() as i64);
    }
}

/// New numbers for the nodes, with all final ones as the last, and how many there are.
fn numbers(lattice: &Lattice) -> (Vec<u32>, u32) {
    let mut number = vec![0; lattice.nodes];
    let mut ends = vec![false; lattice.nodes];
    lattice.finals.iter().for_each(|&end| ends[end as usize] = true);
    let mut next = 0;
    for node in (0..lattice.nodes).filter(|&node| !ends[node]) {
        number[node] = next;
        next += 1;
    }
    lattice.finals.iter().for_each(|&end| number[end as usize] = next);
    (number, if lattice.finals.is_empty() { 0 } else { next + 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattice::Phrase;
    use dragoman_model::OWN;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn arc(from: u32, to: u32, text: &str, features: &[(u32, f32)]) -> Phrase {
        Phrase { from, to, text: text.to_owned(), span: (0, 1), score: 0.0, features: features.to_vec() }
    }

    #[test]
    fn a_lattice_without_an_end_has_no_node() {
        let mut made = Lattices::default();
        made.push(&Lattice { nodes: 1, ..Lattice::default() }, Filing { dense: 0, own: &[] });
        assert_eq!((made.nodes, made.starts), (vec![0], vec![0, 0]));
    }

    /// Texts of all paths with their features by number.
    fn paths(
        arcs: &[Phrase],
        node: u32,
        finals: &[u32],
        number: &dyn Fn(u32) -> u32,
    ) -> Vec<(String, String)> {
        let mut found = Vec::new();
        if finals.contains(&node) {
            found.push((String::new(), String::new()));
        }
        for arc in arcs.iter().filter(|arc| arc.from == node) {
            let features: Vec<_> = arc.features.iter().map(|&(id, value)| (number(id), value)).collect();
            for (text, more) in paths(arcs, arc.to, finals, number) {
                found.push((format!("{} {text}", arc.text), format!("{features:?}{more}")));
            }
        }
        found.sort();
        found
    }

    proptest! {
        /// Columns have the same paths as the lattice, heads in order, and one end.
        #[test]
        fn columns_have_the_same_paths(
            nodes in 2usize..7,
            ends in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0u32..3), 0..12),
            finals in prop::collection::btree_set(1usize..7, 1..3),
        ) {
            let finals: Vec<u32> = finals.into_iter().filter(|&end| end < nodes).map(|end| end as u32).collect();
            let own = [11, 12, 13];
            // Final nodes have no way out, as in a search: all source words are covered.
            let arcs: Vec<Phrase> = ends
                .iter()
                .enumerate()
                .map(|(i, (a, b, id))| {
                    let from = a.index(nodes - 1);
                    let to = from + 1 + b.index(nodes - 1 - from);
                    arc(from as u32, to as u32, &format!("w{i}"), &[(*id, i as f32), (OWN + id, 1.0)])
                })
                .filter(|arc| !finals.contains(&arc.from))
                .collect();
            let lattice = Lattice { nodes, finals: finals.clone(), arcs: arcs.clone(), ..Lattice::default() };
            let filing = Filing { dense: 3, own: &own };
            let mut made = Lattices::default();
            made.push(&lattice, filing);
            prop_assert!(made.heads.windows(2).all(|pair| pair[0] <= pair[1]));
            prop_assert!(made.tails.iter().zip(&made.heads).all(|(tail, head)| tail < head));
            let again: Vec<Phrase> = (0..made.texts.len())
                .map(|i| {
                    let (columns, values) = made.rows.row(i);
                    let features: Vec<_> =
                        columns.iter().zip(values).map(|(&id, &value)| (id, value as f32)).collect();
                    arc(made.tails[i], made.heads[i], made.texts.get(i), &features)
                })
                .collect();
            let end: Vec<u32> = (made.nodes[0] > 0).then(|| made.nodes[0] as u32 - 1).into_iter().collect();
            let want = paths(&arcs, 0, &finals, &|id| filing.number(id));
            prop_assert_eq!(paths(&again, 0, &end, &|id| id), want);
            let distinct: BTreeSet<&str> = made.texts.iter().collect();
            prop_assert_eq!(distinct.len(), arcs.len());
        }
    }
}
