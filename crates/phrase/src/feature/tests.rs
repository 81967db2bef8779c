//! Sums and lists under weights that change, with names that are filed in between, against names put together by hand.

use super::{Context, Stacks, Step};
use crate::coverage::{Coverages, EMPTY};
use crate::options::{Choice, Collector};
use crate::search::Ready;
use crate::system::System;
use dragoman_base::Names;
use dragoman_base::random::{Generator, below, stream};
use dragoman_model::feature::Part;
use dragoman_model::{Input, OWN, Origin, Sink, Weights};
use dragoman_rules::{Form, ImportOptions, import};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write;

const CHOICE: Choice = Choice { limit: 0, drop_unknown: false };
/// Not all of them have rules; `?` is unknown.
const WORDS: [&str; 5] = ["a", "b", "c=d", "e", "?"];

/// A system whose rules have one link each, of the first words.
fn system(folder: &std::path::Path, rng: &mut Generator) -> System {
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let mut rules = String::new();
    for one in &WORDS[..4] {
        for source in [(*one).to_owned(), format!("{one} a"), format!("a {one} b")] {
            for target in ["u", "v_w u", "x", "u v_w x"].iter().take(1 + below(rng, 4)) {
                writeln!(rules, "{source} ||| {target} ||| 0.5 ||| 0-0 ||| 1 1 1").unwrap();
            }
        }
    }
    std::fs::write(path("phrases"), rules).unwrap();
    let (rules, out) = (path("phrases"), folder.join("rules"));
    let options = ImportOptions {
        rules,
        form: Form::Phrases,
        reordering: vec![],
        columns: None,
        out,
        meta: String::new(),
        memory: 1 << 24,
    };
    import(options).unwrap();
    let part = |kind: &str| Part { kind: kind.to_owned(), name: kind.to_owned(), options: vec![] };
    System::open(&[path("rules")], &["pt", "al", "tb", "lo"].map(part)).unwrap()
}

/// A word as names have it.
fn escaped(word: &str) -> String {
    word.replace('=', "%3D").replace('_', "%5F")
}

/// An option as names have it: source and target words.
fn words(ready: &Ready<'_>, option: u32) -> (Vec<String>, Vec<String>) {
    let opt = ready.options.get(option);
    let source = ready.sentence.input.words[opt.from as usize..opt.to as usize].iter();
    let target = ready.options.target(option).iter();
    let target = target.map(|&word| escaped(ready.sentence.target_text(word)));
    (source.map(|word| escaped(word)).collect(), target.collect())
}

/// The rule of an option, if it is of a table.
fn rule(ready: &Ready<'_>, option: u32) -> Option<String> {
    let (source, target) = words(ready, option);
    let table = matches!(ready.options.get(option).origin(), Origin::Table(_));
    table.then(|| format!("{}>{}", source.join("_"), target.join("_")))
}

/// What fires on an option, in order.
fn local(ready: &Ready<'_>, option: u32) -> Vec<String> {
    let Some(rule) = rule(ready, option) else { return Vec::new() };
    let (source, target) = words(ready, option);
    let mut names = vec![format!("pt:{rule}"), format!("al:{}>{}", source[0], target[0])];
    names.extend(source[1..].iter().map(|word| format!("al:{word}>")));
    names.extend(target.windows(2).map(|two| format!("tb:{}>{}", two[0], two[1])));
    names
}

/// The names of orientations of a rule.
fn orientation(rule: Option<&str>, side: &str, class: char) -> Vec<String> {
    let classes = if class == 'M' { "M".to_owned() } else { format!("{class}N") };
    rule.map_or_else(Vec::new, |rule| classes.chars().map(|c| format!("lo:{c}.{side}:{rule}")).collect())
}

/// One thread's look at one sentence.
struct Look<'a> {
    ready: &'a Ready<'a>,
    weights: &'a FxHashMap<String, f32>,
    own: Names,
    /// All names that were put together by hand.
    met: BTreeSet<String>,
}

impl Look<'_> {
    fn sum(&mut self, names: &[String]) -> f32 {
        self.met.extend(names.iter().cloned());
        names.iter().fold(0.0, |sum, name| sum + self.weights.get(name).copied().unwrap_or(0.0))
    }

    fn names(&self, rows: &[(u32, f32)]) -> Vec<String> {
        let names = self.ready.system().names().read().unwrap();
        let dense = self.ready.system().dense() as u32;
        let name = |id: u32| if id >= OWN { self.own.name(id - OWN) } else { names.name(id) };
        rows.iter().filter(|(id, _)| *id >= dense).map(|&(id, _)| name(id).to_owned()).collect()
    }

    fn options(&mut self) {
        for option in 0..self.ready.options.len() as u32 {
            let names = local(self.ready, option);
            let sum = self.sum(&names);
            assert_eq!(self.ready.options.get(option).score.to_bits(), sum.to_bits(), "{names:?}");
            let mut rows = Vec::new();
            self.ready.list_rule(option, &mut rows, &mut self.own);
            assert_eq!(self.names(&rows), names);
        }
    }

    /// A random derivation.
    fn derivation(&mut self, rng: &mut Generator) {
        let ready = self.ready;
        let mut coverages = Coverages::new(ready.sentence.len());
        let (mut coverage, mut last, mut before) = (EMPTY, 0, None);
        let (mut state, mut next) = (vec![0; ready.stride], vec![0; ready.stride]);
        ready.start(&mut state);
        while !coverages.get(coverage).complete() {
            let covered = coverages.get(coverage);
            let open = |option: &u32| {
                let opt = ready.options.get(*option);
                (opt.from..opt.to).all(|at| !covered.has(at as usize))
            };
            let open: Vec<u32> = (0..ready.options.len() as u32).filter(open).collect();
            let option = open[below(rng, open.len())];
            let (from, to) = (ready.options.get(option).from as usize, ready.options.get(option).to as usize);
            let complete = covered.count() + to - from == ready.sentence.len();
            let step = Step { option, from, to, last, before: covered, complete };
            self.step(&step, before, &state, &mut next);
            std::mem::swap(&mut state, &mut next);
            coverage = coverages.with(coverage, from, to);
            (before, last) = (Some(option), to);
        }
    }

    fn step(&mut self, step: &Step<'_>, before: Option<u32>, state: &[u8], next: &mut [u8]) {
        let ready = self.ready;
        let (_, target) = words(ready, step.option);
        let last = before.map_or("^".to_owned(), |before| words(ready, before).1.pop().unwrap());
        let mut pairs = vec![format!("tb:{last}>{}", target[0])];
        pairs.extend(step.complete.then(|| format!("tb:{}>$", target[target.len() - 1])));
        let class = match before {
            _ if step.from == step.last => 'M',
            Some(before) if step.to == ready.options.get(before).from as usize => 'S',
            _ => 'D',
        };
        let previous = orientation(rule(ready, step.option).as_deref(), "previous", class);
        let behind = before.map_or(Some("^".to_owned()), |before| rule(ready, before));
        let following = orientation(behind.as_deref(), "next", class);
        let two = self.sum(&previous) + self.sum(&following);
        let mut want = 0.0;
        for pair in &pairs {
            want += self.sum(std::slice::from_ref(pair));
        }
        want += two;
        let mut out = Sink::scoring(ready.weights);
        ready.step(step, state, next, &mut out);
        let names = [pairs, previous, following].concat();
        assert_eq!(out.score().to_bits(), want.to_bits(), "{names:?}");
        // Twice: the second time what the sentence has kept is listed.
        for _ in 0..2 {
            let mut rows = Vec::new();
            ready.step(step, state, next, &mut Sink::collecting(ready.weights, &mut rows, &mut self.own));
            assert_eq!(self.names(&rows), names);
        }
    }
}

/// Looks at a sentence under some weights; the names that were met.
fn look(
    system: &System,
    input: &Input,
    weights: &Weights,
    named: &FxHashMap<String, f32>,
    rng: &mut Generator,
) -> BTreeSet<String> {
    let sentence = system.sentence(input);
    let options = Collector::new(system, &sentence, weights, None, CHOICE).collect().unwrap();
    let stacks = RefCell::new(Stacks::default());
    let context = Context { sentence: &sentence, options: &options, weights, stacks: &stacks, memory: 64 };
    let ready = Ready::new(system, context, None);
    let mut look = Look { ready: &ready, weights: named, own: Names::new(), met: BTreeSet::new() };
    look.options();
    for _ in 0..3 {
        look.derivation(rng);
    }
    if below(rng, 3) > 0 {
        system.file(&look.own);
    }
    look.met
}

/// Weights of some of the names, and a few that no rule has.
fn weighted(
    system: &System,
    met: &BTreeSet<String>,
    rng: &mut Generator,
) -> (Weights, FxHashMap<String, f32>) {
    let (mut names, mut values, mut named) = (Names::new(), Vec::new(), FxHashMap::default());
    let strange = ["lo:N.next:%61>u", "lo:M.previous:a", "tb:%75>$", "pt:none>none"].map(str::to_owned);
    for name in met.iter().chain(&strange) {
        if below(rng, 3) == 0 {
            let value = f64::from(below(rng, 2001) as f32 - 1000.0) / 777.0;
            names.intern(name);
            values.push(value);
            named.insert(name.clone(), value as f32);
        }
    }
    (system.weights(Some(&names), &values).unwrap(), named)
}

#[test]
fn sums_and_lists_follow_weights_and_names() {
    for seed in 0..12 {
        let mut rng = stream(seed, 0);
        let folder = tempfile::tempdir().unwrap();
        let system = system(folder.path(), &mut rng);
        let input = |rng: &mut Generator| {
            let words = (0..3 + below(rng, 4)).map(|_| WORDS[below(rng, WORDS.len())].to_owned());
            Input { words: words.collect(), ..Input::default() }
        };
        let inputs: Vec<Input> = (0..3).map(|_| input(&mut rng)).collect();
        let mut met = BTreeSet::new();
        for round in 0..8 {
            // Two threads side by side, each with weights of its own.
            let both: Vec<_> = (0..2).map(|_| weighted(&system, &met, &mut rng)).collect();
            let (system, inputs) = (&system, &inputs);
            let found: Vec<BTreeSet<String>> = std::thread::scope(|scope| {
                let run = |thread: usize, weights, named| {
                    let mut rng = stream(seed, 1 + 2 * round + thread as u64);
                    let all = inputs.iter().map(move |input| look(system, input, weights, named, &mut rng));
                    all.flatten().collect()
                };
                let each = both.iter().enumerate();
                let threads: Vec<_> =
                    each.map(|(i, (weights, named))| scope.spawn(move || run(i, weights, named))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            met.extend(found.into_iter().flatten());
        }
    }
}
