//! The lattices of all sentences and of several rounds, and the paths that are sought in them.

use super::plain::Plain;
use super::product::Lattice;
use super::seek::{Found, Seeker};
use crate::mira::{Scorer, Wish, Worth};
use dragoman_base::{Error, Result};
use dragoman_metric::Metric;
use dragoman_metric::capability::{Linear, Matcher, refusal};
use rayon::prelude::*;
use std::sync::Arc;

/// From so many steps on, the lattices of a sentence are searched side by side.
const MANY: usize = 1 << 14;

/// A path with all that an update asks of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// Which of the sentence's lattices it is in, oldest first.
    pub lattice: usize,
    /// Its arcs.
    pub arcs: Vec<u32>,
    /// Its model score.
    pub model: f64,
    /// Its true statistics: clipped, with the right reference length.
    pub row: Vec<f64>,
}

/// A sentence: the n-grams of its references and its lattices, with the rounds that they are from.
struct Sentence {
    matcher: Matcher,
    lattices: Vec<(u32, Lattice)>,
}

/// Paths of a lattice, each once.
fn distinct(lattice: usize, found: impl Iterator<Item = Found>) -> Vec<Path> {
    let mut paths: Vec<Path> = Vec::new();
    for Found { arcs, model, row } in found {
        if !paths.iter().any(|path| path.arcs == arcs) {
            paths.push(Path { lattice, arcs, model, row });
        }
    }
    paths
}

/// The 1-best path of a lattice.
struct First<'a> {
    lattice: usize,
    found: Found,
    seeker: Seeker<'a>,
}

impl First<'_> {
    fn seek(&mut self, wishes: &[Wish], worth: &Worth<'_>) -> Vec<Path> {
        let Self { lattice, found, seeker } = self;
        // Nothing has a larger model score than the 1-best path.
        let others = wishes.iter().filter(|wish| **wish != Wish::MODEL);
        let others = others.map(|&wish| seeker.seek(wish, worth, found));
        distinct(*lattice, std::iter::once(found.clone()).chain(others))
    }
}

/// The 1-best paths of a sentence's lattices: where searches for other paths start.
pub struct Firsts<'a> {
    all: Vec<First<'a>>,
    /// Whether lattices are searched side by side.
    many: bool,
}

impl Firsts<'_> {
    /// The 1-best path of the sentence: of all its lattices, the first with the largest model score.
    pub fn best(&self) -> Option<Path> {
        let best = self.all.iter().reduce(|a, b| if b.found.model > a.found.model { b } else { a })?;
        let Found { arcs, model, row } = best.found.clone();
        Some(Path { lattice: best.lattice, arcs, model, row })
    }

    /// The 1-best path of each lattice and, for each wish, the best path that a search finds from there under the true
    /// metric. Paths of a lattice that are best for several wishes come once.
    pub fn seek(&mut self, wishes: &[Wish], worth: &Worth<'_>) -> Vec<Path> {
        let one = |first: &mut First<'_>| first.seek(wishes, worth);
        if self.many {
            return self.all.par_iter_mut().flat_map_iter(one).collect();
        }
        self.all.iter_mut().flat_map(one).collect()
    }
}

/// Lattices with references.
pub struct Pool {
    metric: Arc<dyn Metric>,
    sentences: Vec<Sentence>,
}

impl Pool {
    /// No lattices yet. The metric must have a linear form: nothing else falls apart along a path.
    pub fn new(metric: Arc<dyn Metric>, references: &[Vec<&str>]) -> Result<Self> {
        let linear = metric
            .linear()
            .ok_or_else(|| Error::Invalid(refusal("the search for hope and fear in lattices", "linear")))?;
        let one = |lines: &Vec<&str>| Sentence { matcher: linear.matcher(lines), lattices: Vec::new() };
        let sentences = references.par_iter().map(one).collect();
        Ok(Self { metric, sentences })
    }

    /// The metric.
    pub fn metric(&self) -> &dyn Metric {
        self.metric.as_ref()
    }

    /// What rows are worth on top of a sum, in a unit.
    pub fn worth<'a>(&'a self, base: &'a [f64], unit: f64) -> Worth<'a> {
        // A metric with a linear form is BLEU so far: higher is better, up to 100.
        Worth { scorer: Scorer { metric: self.metric(), sign: 1.0, scale: 100.0 }, base, unit }
    }

    /// Its linear form.
    pub fn linear(&self) -> &dyn Linear {
        self.metric.linear().expect("asked for when the pool was made")
    }

    /// Longest n-gram that counts.
    pub fn order(&self) -> usize {
        self.linear().order()
    }

    /// Number of sentences.
    pub fn sentences(&self) -> usize {
        self.sentences.len()
    }

    /// Adds a lattice to each of some sentences.
    pub fn add(&mut self, round: u32, sentences: &[usize], lattices: Vec<Plain>) -> Result<()> {
        if let Some(bad) = sentences.iter().find(|&&s| s >= self.sentences.len()) {
            return Err(Error::Invalid(format!("there is no sentence {bad}")));
        }
        lattices.iter().try_for_each(Plain::check)?;
        let made: Vec<Lattice> = lattices
            .into_par_iter()
            .zip(sentences)
            .map(|(plain, &s)| Lattice::new(plain, &self.sentences[s].matcher))
            .collect();
        for (&s, lattice) in sentences.iter().zip(made) {
            self.sentences[s].lattices.push((round, lattice));
        }
        Ok(())
    }

    /// Forgets the lattices of rounds before this one.
    pub fn forget(&mut self, round: u32) {
        for sentence in &mut self.sentences {
            sentence.lattices.retain(|(from, _)| *from >= round);
        }
    }

    fn all(&self) -> impl Iterator<Item = &Lattice> {
        self.sentences.iter().flat_map(|sentence| sentence.lattices.iter().map(|(_, lattice)| lattice))
    }

    /// Bytes in use by all lattices.
    pub fn bytes(&self) -> usize {
        self.all().map(Lattice::bytes).sum()
    }

    /// Number of arcs of all lattices, and of steps in the products.
    pub fn size(&self) -> (usize, usize) {
        self.all().fold((0, 0), |(arcs, steps), l| (arcs + l.arcs(), steps + l.steps()))
    }

    /// The lattices of a round, by sentence.
    pub fn round(&self, round: u32) -> Vec<(usize, &Plain)> {
        self.sentences
            .iter()
            .enumerate()
            .flat_map(|(s, sentence)| {
                let own = sentence.lattices.iter().filter(|(from, _)| *from == round);
                own.map(move |(_, lattice)| (s, lattice.plain())).collect::<Vec<_>>()
            })
            .collect()
    }

    /// The best path of each lattice of a sentence for each wish. `slopes` is what a word and a match of each order
    /// are worth.
    pub fn search(&self, s: usize, weights: &[f64], wishes: &[Wish], slopes: &[f64]) -> Vec<Path> {
        let one = |lattice: usize, mut seeker: Seeker<'_>| {
            let found = wishes.iter().filter_map(|&wish| seeker.best(wish, slopes));
            distinct(lattice, found)
        };
        self.each(s, weights, one).into_iter().flatten().collect()
    }

    /// Does something with each lattice of a sentence under some weights.
    fn each<'a, T: Send>(
        &'a self,
        s: usize,
        weights: &[f64],
        one: impl Fn(usize, Seeker<'a>) -> T + Sync,
    ) -> Vec<T> {
        let Sentence { matcher, lattices } = &self.sentences[s];
        let ready = |at: usize| one(at, Seeker::new(&lattices[at].1, matcher, self.linear(), weights));
        if self.many(s) {
            return (0..lattices.len()).into_par_iter().map(ready).collect();
        }
        (0..lattices.len()).map(ready).collect()
    }

    /// Whether the lattices of a sentence are searched side by side.
    fn many(&self, s: usize) -> bool {
        let lattices = &self.sentences[s].lattices;
        lattices.len() > 1 && lattices.iter().map(|(_, lattice)| lattice.steps()).sum::<usize>() >= MANY
    }

    /// The 1-best path of each lattice of a sentence.
    pub fn firsts<'a>(&'a self, s: usize, weights: &[f64]) -> Firsts<'a> {
        let one = |lattice, mut seeker: Seeker<'a>| {
            let found = seeker.best(Wish::MODEL, &[])?;
            Some(First { lattice, found, seeker })
        };
        Firsts { all: self.each(s, weights, one).into_iter().flatten().collect(), many: self.many(s) }
    }

    /// The 1-best path of a sentence: of all its lattices, the first with the largest model score.
    pub fn best(&self, s: usize, weights: &[f64]) -> Option<Path> {
        self.firsts(s, weights).best()
    }

    /// The sum of the statistics of all 1-best paths.
    pub fn total(&self, weights: &[f64]) -> Vec<f64> {
        let rows: Vec<Option<Path>> =
            (0..self.sentences.len()).into_par_iter().map(|s| self.best(s, weights)).collect();
        let mut total = vec![0.0; self.metric.width()];
        for path in rows.iter().flatten() {
            total.iter_mut().zip(&path.row).for_each(|(sum, x)| *sum += x);
        }
        total
    }

    /// The words of a path.
    pub fn text(&self, s: usize, path: &Path) -> String {
        self.sentences[s].lattices[path.lattice].1.text(&path.arcs)
    }

    /// The largest feature number of all lattices, plus one.
    pub fn width(&self) -> usize {
        let columns = self.all().flat_map(|lattice| lattice.plain().columns.iter());
        columns.max().map_or(0, |&column| column as usize + 1)
    }

    /// The sum of the features of some paths, each times a factor, in order of their numbers.
    pub fn features(&self, s: usize, paths: &[(&Path, f64)]) -> Vec<(u32, f64)> {
        let mut list: Vec<(u32, f64)> = Vec::new();
        for (path, factor) in paths {
            let plain = self.sentences[s].lattices[path.lattice].1.plain();
            for &arc in &path.arcs {
                let (columns, values) = plain.features(arc as usize);
                list.extend(columns.iter().zip(values).map(|(&column, &v)| (column, factor * f64::from(v))));
            }
        }
        list.sort_by_key(|(column, _)| *column); // stable, so that equal paths sum alike
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattice::seek::tests::{line, random};
    use dragoman_base::random::stream;
    use dragoman_metric::bleu::{Bleu, Smoothing};

    /// What a sentence with several lattices gives is what searches in each of them give, one by one and from the start.
    #[test]
    fn paths_are_those_of_each_lattice() {
        let bleu = Arc::new(Bleu { smoothing: Smoothing::AddK(1.0), ..Bleu::default() });
        let (hope, fear) = (Wish { model: 1.0, gain: 1.0 }, Wish { model: 1.0, gain: -1.0 });
        let mut later = 0;
        for number in 0..60 {
            let rng = &mut stream(7, number);
            let reference = line(rng);
            let lines = [&reference[..]];
            let mut pool = Pool::new(bleu.clone(), &[lines.to_vec()]).unwrap();
            let plains: Vec<Plain> = (0..3).map(|_| random(rng)).collect();
            for (round, plain) in plains.iter().enumerate() {
                pool.add(round as u32, &[0], vec![plain.clone()]).unwrap();
            }
            let (base, weights) = ([0.0; 10], [1.0]);
            let worth = pool.worth(&base, 5.0);
            let matcher = bleu.matcher(&lines);
            let lattices: Vec<Lattice> =
                plains.into_iter().map(|plain| Lattice::new(plain, &matcher)).collect();
            let wishes = [hope, Wish::MODEL, fear];
            let (mut want, mut firsts): (Vec<Path>, Vec<Found>) = (Vec::new(), Vec::new());
            for (at, lattice) in lattices.iter().enumerate() {
                let fresh = || Seeker::new(lattice, &matcher, pool.linear(), &weights);
                let first = fresh().best(Wish::MODEL, &[]).unwrap();
                // Each wish with arrays of its own; the 1-best path is sought like the others.
                let others = wishes.iter().map(|&wish| fresh().seek(wish, &worth, &first));
                want.extend(distinct(at, std::iter::once(first.clone()).chain(others)));
                firsts.push(first);
            }
            let best = (0..3).rev().max_by(|&a, &b| firsts[a].model.total_cmp(&firsts[b].model)).unwrap();
            let mut found = pool.firsts(0, &weights);
            let top = found.best().unwrap();
            assert_eq!((top.lattice, &top.arcs), (best, &firsts[best].arcs), "{number}");
            assert_eq!(found.seek(&wishes, &worth), want, "{number}");
            assert_eq!(
                found.seek(&[hope], &worth),
                pool.firsts(0, &weights).seek(&[hope], &worth),
                "{number}"
            );
            later += usize::from(best > 0);
        }
        assert!(later > 20, "{later} of 60 have their best path in a later lattice");
    }
}
