//! The sampler as a decoder: annealed to the best derivation, or at one temperature for samples of the model.

use super::MEMORY;
use super::chain::{Chain, Start, step};
use super::judge::{Fixed, Judge, Known};
use super::moves::{Mix, draw};
use super::neighbourhood::{Neighbourhood, Scratch};
use dragoman_base::random::{Generator, below, stream, unit};
use dragoman_base::{Error, Result};
use dragoman_model::Weights;
use dragoman_model::found::{Hypothesis, Translation};
use dragoman_model::{Input, Sentence};
use dragoman_phrase::System;
use dragoman_phrase::feature::{Context, Stacks};
use dragoman_phrase::search::{Arc, Graph, NONE, Node, Ready};
use dragoman_phrase::{Collector, Options};
use dragoman_phrase::{Extractor, Settings};
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// How long to sample, and from what.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Samples for each source word before the first one counts.
    pub burn_in: usize,
    /// Samples for each source word that count.
    pub samples: usize,
    /// Of the first sample.
    pub hot: f64,
    /// Of the last one of the burn-in and all that count; in between it falls by a constant factor.
    pub cold: f64,
    /// Of operators.
    pub mix: Mix,
    /// Every so many samples one is listed; 0 lists the best ones instead.
    pub lag: usize,
    /// Of the random numbers.
    pub seed: u64,
}

impl Plan {
    fn check(&self) -> Result<()> {
        self.mix.check()?;
        if self.hot >= self.cold && self.cold > 0.0 && self.hot.is_finite() && self.samples > 0 {
            return Ok(());
        }
        Err(Error::Invalid(format!(
            "expected at least one sample and a temperature that falls to a number above 0, found {} samples from {} \
             to {}",
            self.samples, self.hot, self.cold
        )))
    }
}

/// Judges whole texts, which no step-by-step search can: what it says is added to the model score.
pub trait Whole {
    /// The weighted value of all texts of a document if one of its sentences had other words.
    fn score(&mut self, sentence: usize, text: &str) -> Result<f64>;

    /// The last text that was judged is the sentence's from now on.
    fn keep(&mut self);
}

/// Derivations that were listed, each with how often.
#[derive(Default)]
struct Found {
    numbers: FxHashMap<Vec<u32>, usize>,
    derivations: Vec<(Vec<u32>, f64)>,
}

impl Found {
    fn meet(&mut self, phrases: &[u32]) {
        if let Some(&known) = self.numbers.get(phrases) {
            self.derivations[known].1 += 1.0;
        } else {
            self.numbers.insert(phrases.to_vec(), self.derivations.len());
            self.derivations.push((phrases.to_vec(), 1.0));
        }
    }
}

/// A sentence at work.
struct Member<'a> {
    chain: Chain<'a>,
    found: Found,
    /// Its derivation in the best state of the document so far.
    best: Vec<u32>,
    /// Whether it has changed since.
    changed: bool,
}

/// Translates the sentences of a document by sampling; with `whole`, features of the whole text take part.
///
/// Where samples are listed, their scores are the logarithms of their shares; else they are model scores.
pub fn sample(
    system: &System,
    inputs: &[Input],
    weights: &Weights,
    settings: &Settings,
    plan: &Plan,
    whole: Option<&mut (dyn Whole + '_)>,
    number: u64,
) -> Result<Vec<Translation>> {
    plan.check()?;
    inputs.iter().try_for_each(Input::check)?;
    let sentences: Vec<Sentence<'_>> = inputs.iter().map(|input| system.sentence(input)).collect();
    let options = |s| Collector::new(system, s, weights, None, settings.choice).collect();
    let all: Vec<Options> = sentences.iter().map(options).collect::<Result<_>>()?;
    let stacks: Vec<RefCell<Stacks>> = inputs.iter().map(|_| RefCell::default()).collect();
    let made = sentences.iter().zip(&all).zip(&stacks);
    let readies: Vec<Ready<'_>> = made
        .map(|((sentence, options), stacks)| {
            Ready::new(system, Context { sentence, options, weights, stacks, memory: MEMORY }, None)
        })
        .collect();
    let mut walk =
        Walk { members: Vec::new(), plan: *plan, whole, score: 0.0, extra: 0.0, scratch: Scratch::default() };
    for ready in &readies {
        walk.join(ready, settings)?;
    }
    walk.run(&mut stream(plan.seed, number))?;
    Ok(walk.members.into_iter().map(|member| list(member, settings, plan)).collect())
}

/// The words of the current derivation.
pub(super) fn text(chain: &Chain<'_>) -> String {
    let (options, sentence) = (chain.ready().options(), chain.ready().sentence());
    let words = chain.phrases().iter().flat_map(|&option| options.target(option));
    words.map(|&word| sentence.target_text(word)).collect::<Vec<_>>().join(" ")
}

/// The words if a member of the neighbourhood were the current derivation.
pub(super) fn text_with(chain: &Chain<'_>, neighbourhood: &Neighbourhood, member: usize) -> String {
    let mut inside = Vec::new();
    neighbourhood.options(chain, member, &mut inside);
    let (options, sentence) = (chain.ready().options(), chain.ready().sentence());
    let phrases = chain.phrases();
    let whole =
        phrases[..neighbourhood.window.0].iter().chain(&inside).chain(&phrases[neighbourhood.window.1..]);
    let words = whole.flat_map(|&option| options.target(option));
    words.map(|&word| sentence.target_text(word)).collect::<Vec<_>>().join(" ")
}

/// A document at work.
struct Walk<'a, 'w, 'd> {
    members: Vec<Member<'a>>,
    plan: Plan,
    whole: Option<&'w mut (dyn Whole + 'd)>,
    /// Model score of all sentences.
    score: f64,
    /// What `whole` adds.
    extra: f64,
    scratch: Scratch,
}

impl<'a> Walk<'a, '_, '_> {
    fn join(&mut self, ready: &'a Ready<'a>, settings: &Settings) -> Result<()> {
        let mut chain =
            Chain::new(ready, (settings.limits.distortion, Start::Best), &mut Fixed, &mut self.scratch)?;
        self.score += chain.total(&mut Fixed, &mut self.scratch);
        if let Some(whole) = self.whole.as_deref_mut() {
            self.extra = whole.score(self.members.len(), &text(&chain))?;
            whole.keep();
        }
        let best = chain.phrases().to_vec();
        self.members.push(Member { chain, found: Found::default(), best, changed: false });
        Ok(())
    }

    fn run(&mut self, rng: &mut Generator) -> Result<()> {
        let words: usize = self.members.iter().map(|member| member.chain.ready().sentence().len()).sum();
        let (burn, count) = (self.plan.burn_in * words, self.plan.samples * words);
        let (mut neighbourhood, mut shares) = (Neighbourhood::default(), Vec::new());
        let mut best = self.score + self.extra;
        for sample in 0..burn + count {
            let done = (sample as f64 / burn.max(1) as f64).min(1.0);
            let temperature = self.plan.hot * (self.plan.cold / self.plan.hot).powf(done);
            let at = if self.members.len() > 1 { below(rng, self.members.len()) } else { 0 };
            let chain = &mut self.members[at].chain;
            if chain.look(&mut Fixed, &self.plan.mix, rng, &mut self.scratch, &mut neighbourhood) {
                let member = draw(&neighbourhood, temperature, rng, &mut shares);
                if member != neighbourhood.current
                    && self.accept(at, &neighbourhood, member, temperature, rng)?
                {
                    self.score += neighbourhood.scores[member];
                    self.members[at].chain.take(&mut Fixed, &mut self.scratch, &neighbourhood, member);
                    self.members[at].changed = true;
                }
            }
            if self.score + self.extra > best {
                best = self.score + self.extra;
                self.snapshot();
            }
            if self.plan.lag > 0 && sample >= burn && (sample - burn).is_multiple_of(self.plan.lag) {
                self.members.iter_mut().for_each(|member| member.found.meet(member.chain.phrases()));
            }
        }
        Ok(())
    }

    /// Whether a move stands. It leaves the model's own distribution as it is; what the whole text adds is weighed by
    /// accepting it or not (Liu 2001, surrogate transitions).
    fn accept(
        &mut self,
        at: usize,
        neighbourhood: &Neighbourhood,
        member: usize,
        temperature: f64,
        rng: &mut Generator,
    ) -> Result<bool> {
        let Some(whole) = self.whole.as_deref_mut() else { return Ok(true) };
        let value = whole.score(at, &text_with(&self.members[at].chain, neighbourhood, member))?;
        let stands = unit(rng).ln() < (value - self.extra) / temperature;
        if stands {
            whole.keep();
            self.extra = value;
        }
        Ok(stands)
    }

    /// Remembers the current derivations as the best.
    fn snapshot(&mut self) {
        for Member { chain, best, changed, .. } in self.members.iter_mut().filter(|member| member.changed) {
            best.clear();
            best.extend_from_slice(chain.phrases());
            *changed = false;
        }
    }
}

/// The best derivation, or all that were listed, most frequent first.
fn list(member: Member<'_>, settings: &Settings, plan: &Plan) -> Translation {
    let Member { chain, found, best, .. } = member;
    let ready = chain.ready();
    // An empty line is never sampled: there is nothing to change.
    let best_only = plan.lag == 0 || found.derivations.is_empty();
    let derivations = if best_only { vec![(best, 1.0)] } else { found.derivations };
    let mut graph = Graph::new(ready.sentence().len(), ready.stride());
    let mut start = vec![0; ready.stride()];
    ready.start(&mut start);
    graph.add_node(Node::start(0.0), &start);
    let paths: Vec<(f64, Vec<u32>)> =
        derivations.iter().map(|(phrases, _)| append(&mut graph, ready, phrases)).collect();
    let mut extractor = Extractor::new(ready, &graph);
    let wanted = Settings { size: paths.len(), ..settings.clone() };
    let mut made: Vec<(Hypothesis, f64)> = Vec::new();
    let mut texts: FxHashMap<String, usize> = FxHashMap::default();
    let listed = extractor.list(&paths, &wanted);
    for (hypothesis, (_, count)) in listed.into_iter().zip(&derivations) {
        let known = texts.get(&hypothesis.text).copied().filter(|_| settings.distinct);
        if let Some(known) = known {
            made[known].1 += count;
        } else {
            texts.insert(hypothesis.text.clone(), made.len());
            made.push((hypothesis, *count));
        }
    }
    if plan.lag > 0 {
        made.sort_by(|a, b| b.1.total_cmp(&a.1));
        let all: f64 = made.iter().map(|(_, count)| count).sum();
        for (hypothesis, count) in &mut made {
            hypothesis.score = (*count / all).ln();
        }
    }
    made.truncate(settings.size.max(1));
    let hypotheses = made.into_iter().map(|(hypothesis, _)| hypothesis).collect();
    Translation { hypotheses, narrow: false, nodes: graph.nodes.len(), own: extractor.own().clone() }
}

/// Adds a derivation to a graph as a path of its own: its score and arcs.
fn append(graph: &mut Graph, ready: &Ready<'_>, phrases: &[u32]) -> (f64, Vec<u32>) {
    let (mut node, mut arcs, mut total) = (0, Vec::new(), 0.0);
    let mut next = vec![0; ready.stride()];
    for &option in phrases {
        let Node { coverage, end, score, .. } = graph.nodes[node as usize];
        let seen = step(ready, option, end as usize, graph.coverages.get(coverage));
        let rule = Fixed.option(ready, &mut Known::default(), option);
        let more = rule + Fixed.step(ready, &seen, graph.state(node), &mut next);
        total += more;
        let (from, to) = (seen.from, seen.to);
        let coverage = graph.coverages.with(coverage, from, to);
        let score = score + more as f32;
        let made = graph.add_node(Node { score, total: score, coverage, end: to as u32, arcs: NONE }, &next);
        arcs.push(graph.arcs.len() as u32);
        graph.add_arc(made, Arc { from: node, option, score, next: NONE });
        node = made;
    }
    (total, arcs)
}
