//! The forests of all sentences and of several rounds, and the paths that are sought in them.

use super::kept::{Features, Kept};
use super::product::Product;
use super::seek::{Found, Seeker};
use crate::mira::{Scorer, Wish, Worth};
use dragoman_base::{Error, Result};
use dragoman_metric::Metric;
use dragoman_metric::capability::{Linear, Matcher, refusal};
use rayon::prelude::*;
use std::sync::Arc;

/// From so many steps on, the forests of a sentence are searched side by side.
const MANY: usize = 1 << 14;

/// A path with all that an update asks of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// Which of the sentence's forests it is in, oldest first.
    pub forest: usize,
    /// Its edges, bottom up.
    pub edges: Vec<u32>,
    /// Its model score.
    pub model: f64,
    /// Its true statistics: clipped, with the right reference length.
    pub row: Vec<f64>,
}

/// A sentence: the n-grams of its references and its forests, with the rounds that they are from.
struct Sentence {
    matcher: Matcher,
    forests: Vec<(u32, Product)>,
}

/// Paths of a forest, each once.
fn distinct(forest: usize, found: impl Iterator<Item = Found>) -> Vec<Path> {
    let mut paths: Vec<Path> = Vec::new();
    for Found { edges, model, row } in found {
        if !paths.iter().any(|path| path.edges == edges) {
            paths.push(Path { forest, edges, model, row });
        }
    }
    paths
}

/// The 1-best derivation of a forest.
struct First<'a> {
    forest: usize,
    found: Found,
    seeker: Seeker<'a>,
}

impl First<'_> {
    fn seek(&mut self, wishes: &[Wish], worth: &Worth<'_>) -> Vec<Path> {
        let Self { forest, found, seeker } = self;
        // Nothing has a larger model score than the 1-best derivation.
        let others = wishes.iter().filter(|wish| **wish != Wish::MODEL);
        let others = others.map(|&wish| seeker.seek(wish, worth, found));
        distinct(*forest, std::iter::once(found.clone()).chain(others))
    }
}

/// The 1-best derivations of a sentence's forests: where searches for other paths start.
pub struct Firsts<'a> {
    all: Vec<First<'a>>,
    /// Whether forests are searched side by side.
    many: bool,
}

impl Firsts<'_> {
    /// The 1-best derivation of the sentence: of all its forests, the first with the largest model score.
    pub fn best(&self) -> Option<Path> {
        let best = self.all.iter().reduce(|a, b| if b.found.model > a.found.model { b } else { a })?;
        let Found { edges, model, row } = best.found.clone();
        Some(Path { forest: best.forest, edges, model, row })
    }

    /// The 1-best derivation of each forest and, for each wish, the best path that a search finds from there under the true
    /// metric. Paths of a forest that are best for several wishes come once.
    pub fn seek(&mut self, wishes: &[Wish], worth: &Worth<'_>) -> Vec<Path> {
        let one = |first: &mut First<'_>| first.seek(wishes, worth);
        if self.many {
            return self.all.par_iter_mut().flat_map_iter(one).collect();
        }
        self.all.iter_mut().flat_map(one).collect()
    }
}

/// Forests with references.
pub struct Pool {
    metric: Arc<dyn Metric>,
    sentences: Vec<Sentence>,
}

impl Pool {
    /// No forests yet. The metric must have a linear form: nothing else falls apart along a derivation.
    pub fn new(metric: Arc<dyn Metric>, references: &[Vec<&str>]) -> Result<Self> {
        let linear = metric
            .linear()
            .ok_or_else(|| Error::Invalid(refusal("the search for hope and fear in forests", "linear")))?;
        let one = |lines: &Vec<&str>| Sentence { matcher: linear.matcher(lines), forests: Vec::new() };
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

    /// Adds a forest to each of some sentences.
    pub fn add(&mut self, round: u32, sentences: &[usize], forests: Vec<Kept>) -> Result<()> {
        if let Some(bad) = sentences.iter().find(|&&s| s >= self.sentences.len()) {
            return Err(Error::Invalid(format!("there is no sentence {bad}")));
        }
        let made: Vec<Product> = forests
            .into_par_iter()
            .zip(sentences)
            .map(|(kept, &s)| Product::new(kept, &self.sentences[s].matcher))
            .collect();
        for (&s, product) in sentences.iter().zip(made) {
            self.sentences[s].forests.push((round, product));
        }
        Ok(())
    }

    /// Forgets the forests of rounds before this one.
    pub fn forget(&mut self, round: u32) {
        for sentence in &mut self.sentences {
            sentence.forests.retain(|(from, _)| *from >= round);
        }
    }

    fn all(&self) -> impl Iterator<Item = &Product> {
        self.sentences.iter().flat_map(|sentence| sentence.forests.iter().map(|(_, product)| product))
    }

    /// Bytes in use by all forests.
    pub fn bytes(&self) -> usize {
        self.all().map(Product::bytes).sum()
    }

    /// Number of edges of all forests, and of steps in the products.
    pub fn size(&self) -> (usize, usize) {
        self.all().fold((0, 0), |(edges, steps), p| (edges + p.edges(), steps + p.steps()))
    }

    /// The forests of a round, by sentence.
    pub fn round(&self, round: u32) -> Vec<(usize, &Kept)> {
        self.sentences
            .iter()
            .enumerate()
            .flat_map(|(s, sentence)| {
                let own = sentence.forests.iter().filter(|(from, _)| *from == round);
                own.map(move |(_, product)| (s, product.kept())).collect::<Vec<_>>()
            })
            .collect()
    }

    /// The best path of each forest of a sentence for each wish. `slopes` is what a word and a match of each order
    /// are worth.
    pub fn search(&self, s: usize, weights: &[f64], wishes: &[Wish], slopes: &[f64]) -> Vec<Path> {
        let one = |forest: usize, mut seeker: Seeker<'_>| {
            let found = wishes.iter().filter_map(|&wish| seeker.best(wish, slopes));
            distinct(forest, found)
        };
        self.each(s, weights, one).into_iter().flatten().collect()
    }

    /// Does something with each forest of a sentence under some weights.
    fn each<'a, T: Send>(
        &'a self,
        s: usize,
        weights: &[f64],
        one: impl Fn(usize, Seeker<'a>) -> T + Sync,
    ) -> Vec<T> {
        let Sentence { matcher, forests } = &self.sentences[s];
        let ready = |at: usize| one(at, Seeker::new(&forests[at].1, matcher, self.linear(), weights));
        if self.many(s) {
            return (0..forests.len()).into_par_iter().map(ready).collect();
        }
        (0..forests.len()).map(ready).collect()
    }

    /// Whether the forests of a sentence are searched side by side.
    fn many(&self, s: usize) -> bool {
        let forests = &self.sentences[s].forests;
        forests.len() > 1 && forests.iter().map(|(_, product)| product.steps()).sum::<usize>() >= MANY
    }

    /// The 1-best derivation of each forest of a sentence.
    pub fn firsts<'a>(&'a self, s: usize, weights: &[f64]) -> Firsts<'a> {
        let one = |forest, mut seeker: Seeker<'a>| {
            let found = seeker.best(Wish::MODEL, &[])?;
            Some(First { forest, found, seeker })
        };
        Firsts { all: self.each(s, weights, one).into_iter().flatten().collect(), many: self.many(s) }
    }

    /// The 1-best derivation of a sentence: of all its forests, the first with the largest model score.
    pub fn best(&self, s: usize, weights: &[f64]) -> Option<Path> {
        self.firsts(s, weights).best()
    }

    /// The sum of the statistics of all 1-best derivations.
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
        self.sentences[s].forests[path.forest].1.text(&path.edges)
    }

    /// The largest feature number of all forests, plus one.
    pub fn width(&self) -> usize {
        let columns = self.all().flat_map(|product| product.kept().features.columns.iter());
        columns.max().map_or(0, |&column| column as usize + 1)
    }

    /// The sum of the features of some derivations, each times a factor, in order of their numbers.
    pub fn features(&self, s: usize, paths: &[(&Path, f64)]) -> Vec<(u32, f64)> {
        let one = |&(path, factor): &(&Path, f64)| {
            let features = &self.sentences[s].forests[path.forest].1.kept().features;
            let edges: Vec<(&Features, u32, f64)> =
                path.edges.iter().map(|&edge| (features, edge, factor)).collect();
            edges
        };
        Features::sum(paths.iter().flat_map(one))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forest::tests::{lattice, line};
    use dragoman_base::random::stream;
    use dragoman_metric::bleu::{Bleu, Smoothing};

    /// What a sentence with several forests gives is what searches in each of them give, one by one and from the start.
    #[test]
    fn paths_are_those_of_each_forest() {
        let bleu = Arc::new(Bleu { smoothing: Smoothing::AddK(1.0), ..Bleu::default() });
        let (hope, fear) = (Wish { model: 1.0, gain: 1.0 }, Wish { model: 1.0, gain: -1.0 });
        let mut later = 0;
        for number in 0..60 {
            let rng = &mut stream(7, number);
            let reference = line(rng);
            let lines = [&reference[..]];
            let mut pool = Pool::new(bleu.clone(), &[lines.to_vec()]).unwrap();
            let plains: Vec<Kept> = (0..3).map(|_| Kept::new(&lattice(rng)).unwrap()).collect();
            for (round, plain) in plains.iter().enumerate() {
                pool.add(round as u32, &[0], vec![plain.clone()]).unwrap();
            }
            let (base, weights) = ([0.0; 10], [1.0]);
            let worth = pool.worth(&base, 5.0);
            let matcher = bleu.matcher(&lines);
            let products: Vec<Product> =
                plains.into_iter().map(|plain| Product::new(plain, &matcher)).collect();
            let wishes = [hope, Wish::MODEL, fear];
            let (mut want, mut firsts): (Vec<Path>, Vec<Found>) = (Vec::new(), Vec::new());
            for (at, product) in products.iter().enumerate() {
                let fresh = || Seeker::new(product, &matcher, pool.linear(), &weights);
                let first = fresh().best(Wish::MODEL, &[]).unwrap();
                // Each wish with arrays of its own; the 1-best path is sought like the others.
                let others = wishes.iter().map(|&wish| fresh().seek(wish, &worth, &first));
                want.extend(distinct(at, std::iter::once(first.clone()).chain(others)));
                firsts.push(first);
            }
            let best = (0..3).rev().max_by(|&a, &b| firsts[a].model.total_cmp(&firsts[b].model)).unwrap();
            let mut found = pool.firsts(0, &weights);
            let top = found.best().unwrap();
            assert_eq!((top.forest, &top.edges), (best, &firsts[best].edges), "{number}");
            assert_eq!(found.seek(&wishes, &worth), want, "{number}");
            assert_eq!(
                found.seek(&[hope], &worth),
                pool.firsts(0, &weights).seek(&[hope], &worth),
                "{number}"
            );
            later += usize::from(best > 0);
        }
        assert!(later > 20, "{later} of 60 have their best path in a later forest");
    }
}
