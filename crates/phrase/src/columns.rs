//! Translations of many sentences in columns, with all features numbered as the system has them.

use crate::lattice::Lattice;
use crate::system::System;
use crate::translate::{Hypothesis, Segment, Translation};
use dragoman_base::Texts;
use dragoman_base::sparse::Rows;
use dragoman_model::{Input, OWN, Origin};

/// How features are numbered outside of a list: dense features first, names of the list's own as they were filed.
#[derive(Debug, Clone, Copy)]
pub struct Filing<'a> {
    /// Number of dense features.
    pub dense: usize,
    /// The number of each of the list's own names.
    pub own: &'a [u32],
}

impl Filing<'_> {
    /// A number as the system has it.
    pub fn number(&self, id: u32) -> u32 {
        if id >= OWN { self.own[(id - OWN) as usize] } else { id }
    }

    /// Features and values with such numbers.
    pub fn rows(&self, rows: &[(u32, f32)]) -> Vec<(u32, f32)> {
        rows.iter().map(|&(id, value)| (self.number(id), value)).collect()
    }
}

/// Candidate translations of sentences: those of sentence s from `starts[s]` up to `starts[s + 1]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidates {
    /// Where the candidates of each sentence start, and where the last ones end.
    pub starts: Vec<i64>,
    /// Target words between blanks.
    pub texts: Texts,
    /// Model scores.
    pub scores: Vec<f64>,
    /// Features: all dense ones, zero or not, then the sparse ones that are not.
    pub rows: Rows,
    /// Word alignments, `0-0 1-2`.
    pub links: Texts,
    /// Phrases as `from-to:from-to` (source, target), `!` after those that no table has.
    pub phrases: Texts,
    /// Which sentences ran out of time or memory.
    pub narrow: Vec<bool>,
}

impl Default for Candidates {
    fn default() -> Self {
        Self {
            starts: vec![0],
            texts: Texts::new(),
            scores: Vec::new(),
            rows: Rows::default(),
            links: Texts::new(),
            phrases: Texts::new(),
            narrow: Vec::new(),
        }
    }
}

impl Candidates {
    /// All of them, in order of the sentences, so that names get the same numbers however many threads there are;
    /// `system` is given if features are listed.
    pub fn of<'t>(translations: impl IntoIterator<Item = &'t Translation>, system: Option<&System>) -> Self {
        let mut made = Self::default();
        for translation in translations {
            let own = system.map_or_else(Vec::new, |system| system.file(&translation.own));
            made.push(translation, system.map(|system| Filing { dense: system.dense(), own: &own }));
        }
        made
    }

    /// Adds the translations of a sentence; features are listed if it is said how they are numbered.
    pub fn push(&mut self, translation: &Translation, filing: Option<Filing<'_>>) {
        for hypothesis in &translation.hypotheses {
            self.texts.push(&hypothesis.text);
            self.scores.push(hypothesis.score);
            if let Some(filing) = filing {
                self.push_features(hypothesis, filing);
            }
            self.rows.end_row();
            let links: Vec<String> = hypothesis.links.iter().map(|(s, t)| format!("{s}-{t}")).collect();
            self.links.push(&links.join(" "));
            self.phrases.push(&hypothesis.segments.iter().map(segment).collect::<Vec<_>>().join(" "));
        }
        self.starts.push(self.texts.len() as i64);
        self.narrow.push(translation.narrow);
    }

    fn push_features(&mut self, hypothesis: &Hypothesis, filing: Filing<'_>) {
        let mut at = 0;
        for id in 0..filing.dense as u32 {
            let value = hypothesis.features.get(at).filter(|(have, _)| *have == id).map(|(_, value)| *value);
            at += usize::from(value.is_some());
            self.rows.push(id, value.unwrap_or(0.0));
        }
        for &(id, value) in hypothesis.features[at..].iter().filter(|(_, value)| *value != 0.0) {
            self.rows.push(filing.number(id), value);
        }
    }
}

fn segment(s: &Segment) -> String {
    let mark = if matches!(s.origin, Origin::Table(_)) { "" } else { "!" };
    format!("{}-{}:{}-{}{mark}", s.from, s.to, s.target, s.target_end)
}

/// A phrase of an explained derivation.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    /// First source word.
    pub from: usize,
    /// The source word after the last.
    pub to: usize,
    /// Source words between blanks.
    pub source: String,
    /// Target words between blanks.
    pub target: String,
    /// Where the rule comes from.
    pub origin: Origin,
    /// What fires.
    pub features: Vec<(u32, f32)>,
}

/// A derivation phrase by phrase; its features must have been listed that way.
pub fn explained(input: &Input, best: &Hypothesis, filing: Filing<'_>) -> Vec<Explained> {
    let words: Vec<&str> = best.text.split(' ').filter(|word| !word.is_empty()).collect();
    let step = |(segment, features): (&Segment, &Vec<(u32, f32)>)| Explained {
        from: segment.from,
        to: segment.to,
        source: input.words[segment.from..segment.to].join(" "),
        target: words[segment.target..segment.target_end].join(" "),
        origin: segment.origin,
        features: filing.rows(features),
    };
    best.segments.iter().zip(&best.steps).map(step).collect()
}

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
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn hypothesis(text: &str, score: f64, features: &[(u32, f64)]) -> Hypothesis {
        let segments = [(0, 1, 1, 2, Origin::Table(0)), (1, 3, 0, 1, Origin::Unknown)];
        let segment =
            |(from, to, target, target_end, origin)| Segment { from, to, target, target_end, origin };
        Hypothesis {
            text: text.to_owned(),
            score,
            features: features.to_vec(),
            segments: segments.into_iter().map(segment).collect(),
            links: vec![(0, 1), (2, 0)],
            steps: vec![vec![(0, 0.5), (OWN, 2.0)], vec![(4, -1.0)]],
        }
    }

    #[test]
    fn candidates_by_hand() {
        let first = [(0, 0.5), (2, -1.0), (5, 2.0), (OWN + 1, 3.0), (6, 0.0), (OWN, 1.0)];
        let list = Translation {
            hypotheses: vec![hypothesis("a b", -1.5, &first), hypothesis("b", -2.0, &[])],
            narrow: true,
            ..Translation::default()
        };
        let mut made = Candidates::default();
        made.push(&list, Some(Filing { dense: 4, own: &[9, 7] }));
        made.push(&Translation::default(), Some(Filing { dense: 4, own: &[] }));
        assert_eq!(made.starts, [0, 2, 2]);
        assert_eq!(made.texts.iter().collect::<Vec<_>>(), ["a b", "b"]);
        assert_eq!(made.scores, [-1.5, -2.0]);
        let row = |i| made.rows.row(i);
        assert_eq!(row(0), (&[0, 1, 2, 3, 5, 7, 9][..], &[0.5, 0.0, -1.0, 0.0, 2.0, 3.0, 1.0][..]));
        assert_eq!(row(1), (&[0, 1, 2, 3][..], &[0.0; 4][..]));
        assert_eq!(made.links.get(0), "0-1 2-0");
        assert_eq!(made.phrases.get(1), "0-1:1-2 1-3:0-1!");
        assert_eq!(made.narrow, [true, false]);
    }

    #[test]
    fn without_features_rows_are_empty() {
        let list =
            Translation { hypotheses: vec![hypothesis("a", 0.0, &[(0, 1.0)])], ..Translation::default() };
        let made = Candidates::of([&list, &list], None);
        assert_eq!((made.rows.starts, made.rows.columns), (vec![0, 0, 0], vec![]));
    }

    #[test]
    fn a_derivation_explained_by_hand() {
        let input = Input::plain("x y z");
        let steps = explained(&input, &hypothesis("b a", 0.0, &[]), Filing { dense: 1, own: &[8] });
        assert_eq!((steps[0].source.as_str(), steps[0].target.as_str()), ("x", "a"));
        assert_eq!((steps[1].source.as_str(), steps[1].target.as_str()), ("y z", "b"));
        assert_eq!(steps[0].features, [(0, 0.5), (8, 2.0)]);
        assert_eq!((steps[1].origin, &steps[1].features[..]), (Origin::Unknown, &[(4, -1.0)][..]));
    }

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
