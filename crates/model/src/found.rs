//! What decoders found: derivations of sentences, and all of them in columns, with features numbered as the system has them.

use crate::rule::Origin;
use crate::sentence::Input;
use crate::sink::OWN;
use crate::system::System;
use dragoman_base::sparse::Rows;
use dragoman_base::{Names, Texts};
use rustc_hash::{FxHashMap, FxHashSet};

/// A phrase of a hypothesis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Source span.
    pub from: usize,
    /// The source word after the last.
    pub to: usize,
    /// First target word.
    pub target: usize,
    /// The target word after the last.
    pub target_end: usize,
    /// Where the rule comes from.
    pub origin: Origin,
}

/// One derivation.
#[derive(Debug, Clone)]
pub struct Hypothesis {
    /// Target words between blanks.
    pub text: String,
    /// Model score: the product of weights and features, and the log probabilities of given translations.
    pub score: f64,
    /// Features that fire: dense ones by number, sparse ones by name. Numbers from [`OWN`] on are names of the list's
    /// own.
    pub features: Vec<(u32, f64)>,
    /// Phrases, in order of the target.
    pub segments: Vec<Segment>,
    /// Word alignment (source, target), in order.
    pub links: Vec<(u32, u32)>,
    /// Features of each phrase, if they are wanted.
    pub steps: Vec<Vec<(u32, f32)>>,
}

/// What became of a sentence.
#[derive(Debug, Clone, Default)]
pub struct Translation {
    /// Best first; empty only if a demanded target cannot be reached.
    pub hypotheses: Vec<Hypothesis>,
    /// Whether time or memory was used up.
    pub narrow: bool,
    /// Nodes of the search graph.
    pub nodes: usize,
    /// Names that the system did not have.
    pub own: Names,
}

/// Features of the parts of derivations, as lists want them: dense ones by number, then sparse ones by name.
///
/// A part is an arc of a lattice or an edge of a forest, by its number; its features are asked for once.
#[derive(Debug, Default)]
pub struct Lister {
    /// Features of parts that were met.
    known: FxHashMap<u32, Vec<(u32, f32)>>,
    /// Names that the system lacks.
    pub own: Names,
    /// Where features stand in lists.
    ranks: FxHashMap<u32, u32>,
}

impl Lister {
    /// What fires on a part, which `explain` says.
    pub fn part(
        &mut self,
        part: u32,
        explain: impl FnOnce(&mut Vec<(u32, f32)>, &mut Names),
    ) -> &[(u32, f32)] {
        let Self { known, own, .. } = self;
        known.entry(part).or_insert_with(|| {
            let mut rows = Vec::new();
            explain(&mut rows, own);
            rows
        })
    }

    /// Orders all features of some parts by name, so that nothing depends on how names came to their numbers.
    pub fn rank(
        &mut self,
        system: &System,
        parts: impl Iterator<Item = u32>,
        mut explain: impl FnMut(u32, &mut Vec<(u32, f32)>, &mut Names),
    ) {
        let (mut ids, mut seen): (Vec<u32>, FxHashSet<u32>) = (Vec::new(), FxHashSet::default());
        for part in parts {
            if seen.insert(part) {
                let rows = self.part(part, |rows, own| explain(part, rows, own));
                ids.extend(rows.iter().map(|&(id, _)| id));
            }
        }
        ids.sort_unstable();
        ids.dedup();
        let names = system.names().read().expect("no panic while locked");
        let dense = system.dense() as u32;
        let name = |id: u32| if id >= OWN { self.own.name(id - OWN) } else { names.name(id) };
        let order = |id: u32| if id < dense { (id, "") } else { (dense, name(id)) };
        ids.sort_by(|&a, &b| order(a).cmp(&order(b)));
        let mut rank = 0;
        let mut last = None;
        for id in ids {
            // A name that was filed meanwhile has two numbers.
            rank += u32::from(last.is_some_and(|last| order(last) != order(id)));
            last = Some(id);
            self.ranks.insert(id, rank);
        }
    }

    /// The sum of the features of some parts, which were ranked, by feature.
    pub fn sum(&self, parts: impl Iterator<Item = u32>) -> Vec<(u32, f64)> {
        let mut all: Vec<(u32, f64)> = Vec::new();
        for part in parts {
            all.extend(self.known[&part].iter().map(|&(id, value)| (id, f64::from(value))));
        }
        // A stable sort, so that equal derivations sum in the same order.
        let ranks = &self.ranks;
        all.sort_by_key(|(id, _)| ranks[id]);
        all.dedup_by(|next, kept| {
            let same = ranks[&next.0] == ranks[&kept.0];
            if same {
                kept.1 += next.1;
            }
            same
        });
        all
    }
}

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
    /// Rules around it, in a tree.
    pub depth: usize,
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
        depth: 0,
    };
    best.segments.iter().zip(&best.steps).map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
