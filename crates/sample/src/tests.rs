//! The sampler against recomputation from scratch, on random small systems.

use super::chain::step;
use super::judge::{Fixed, Judge, Known, Learned};
use super::moves::{Mix, draw};
use super::neighbourhood::{Neighbourhood, Scratch};
use super::rank::symbols;
use super::{Chain, Oracle, Pace, RankOptions, Shard, Start, rank};
use dragoman_base::random::{Generator, below, stream};
use dragoman_metric::Metric;
use dragoman_metric::bleu::Bleu;
use dragoman_metric::bleu::incremental::Text;
use dragoman_metric::capability::Incremental;
use dragoman_model::Input;
use dragoman_model::OWN;
use dragoman_model::feature::Part;
use dragoman_phrase::System;
use dragoman_phrase::coverage::{Coverages, EMPTY};
use dragoman_phrase::feature::{Context, Stacks};
use dragoman_phrase::search::Ready;
use dragoman_phrase::{Choice, Collector};
use dragoman_rules::{Form, ImportOptions, import};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::fmt::Write;

const MIX: Mix = Mix { merge: 1.0, reorder: 1.0, retranslate: 1.0, width: 0 };
const NARROW: Mix = Mix { width: 2, ..MIX };
/// Unknown words have empty translations, which are a case of their own for all that counts words.
const CHOICE: Choice = Choice { limit: 20, drop_unknown: true };

/// Steps of the long test; more of them with `SAMPLE_STEPS`.
fn steps() -> usize {
    std::env::var("SAMPLE_STEPS").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000)
}

fn bleu() -> Incremental {
    Bleu::default().incremental().unwrap()
}

fn part(kind: &str, name: &str, options: &[(&str, &str)]) -> Part {
    let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Part { kind: kind.to_owned(), name: name.to_owned(), options }
}

/// A system over source words a to f with random rules, a trigram model, two reordering models and sparse sets.
fn system(folder: &std::path::Path, rng: &mut Generator) -> System {
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (mut rules, mut orientations) = (String::new(), String::new());
    let mut sources: Vec<String> = Vec::new();
    for one in "abcdef".chars() {
        sources.push(one.to_string());
        for two in "abcdef".chars() {
            sources.push(format!("{one} {two}"));
            sources.push(format!("{one} {two} a"));
        }
    }
    for source in &sources {
        for target in ["u", "v w", "w", "x u v", "y", "u u"].iter().take(1 + below(rng, 6)) {
            let score = (1 + below(rng, 9)) as f64 / 10.0;
            writeln!(rules, "{source} ||| {target} ||| {score} ||| ||| 1 1 1").unwrap();
            let six: Vec<String> = (0..6).map(|_| ((1 + below(rng, 9)) as f64 / 10.0).to_string()).collect();
            writeln!(orientations, "{source} ||| {target} ||| {}", six.join(" ")).unwrap();
        }
    }
    std::fs::write(path("phrases"), rules).unwrap();
    std::fs::write(path("orientations"), orientations).unwrap();
    std::fs::write(path("lm.arpa"), arpa(rng)).unwrap();
    let reordering = vec![("hier".to_owned(), path("orientations"))];
    let (rules, out) = (path("phrases"), folder.join("rules"));
    import(ImportOptions {
        rules,
        form: Form::Phrases,
        reordering,
        columns: None,
        out,
        meta: String::new(),
        memory: 1 << 24,
    })
    .unwrap();
    let parts = [
        part("scores", "TM", &[("columns", "s1"), ("group", "TM")]),
        part("lm", "LM", &[("path", &path("lm.arpa"))]),
        part("distortion", "D", &[]),
        part("reordering", "H", &[("model", "hier"), ("top", "stack")]),
        part("reordering", "R", &[("model", "hier"), ("top", "phrase")]),
        part("word-penalty", "WP", &[]),
        part("unknown-penalty", "UP", &[]),
        part("tb", "tb", &[]),
        part("lo", "lo", &[]),
        part("pt", "pt", &[]),
    ];
    System::open(&[path("rules")], &parts).unwrap()
}

/// A trigram model over the target words with random probabilities.
fn arpa(rng: &mut Generator) -> String {
    let words = ["u", "v", "w", "x", "y"];
    let mut log = || -(below(rng, 30) as f64) / 10.0 - 0.1;
    let mut grams = vec![String::new(); 3];
    for word in ["<unk>", "</s>"].iter().chain(&words) {
        writeln!(grams[0], "{}\t{word}\t{}", log(), log()).unwrap();
    }
    writeln!(grams[0], "-99\t<s>\t{}", log()).unwrap();
    let mut counts = [8, 0, 0];
    for one in ["<s>"].iter().chain(&words) {
        for two in &words {
            writeln!(grams[1], "{}\t{one} {two}\t{}", log(), log()).unwrap();
            counts[1] += 1;
            for three in words.iter().take(3) {
                writeln!(grams[2], "{}\t{one} {two} {three}", log()).unwrap();
                counts[2] += 1;
            }
        }
    }
    let mut text = "\\data\\\n".to_owned();
    for (n, count) in counts.iter().enumerate() {
        writeln!(text, "ngram {}={count}", n + 1).unwrap();
    }
    for (n, gram) in grams.iter().enumerate() {
        write!(text, "\n\\{}-grams:\n{gram}", n + 1).unwrap();
    }
    text + "\n\\end\\\n"
}

/// Every feature of a derivation, worked out phrase by phrase from the start with other coverages than the chain's.
fn features(ready: &Ready<'_>, judge: &mut Learned, phrases: &[u32]) -> FxHashMap<u32, f64> {
    let (mut coverages, mut coverage, mut last) = (Coverages::new(ready.sentence().len()), EMPTY, 0);
    let (mut state, mut next) = (vec![0; ready.stride()], vec![0; ready.stride()]);
    ready.start(&mut state);
    let mut sums = FxHashMap::default();
    for &option in phrases {
        let mut rows = Vec::new();
        let seen = step(ready, option, last, coverages.get(coverage));
        let (from, to) = (seen.from, seen.to);
        judge.list(ready, &mut Known::new(ready.options().len()), (&seen, &state), &mut next, &mut rows);
        for &(id, value) in &rows {
            *sums.entry(id).or_default() += f64::from(value);
        }
        std::mem::swap(&mut state, &mut next);
        coverage = coverages.with(coverage, from, to);
        last = to;
    }
    assert!(coverages.get(coverage).complete());
    sums
}

fn total(features: &FxHashMap<u32, f64>, judge: &Learned) -> f64 {
    features.iter().map(|(&id, value)| judge.weight(id) * value).sum()
}

/// What a test walks on: a sentence of random words, some of them unknown.
struct Ground {
    system: System,
    input: Input,
    values: Vec<f64>,
    _folder: tempfile::TempDir,
}

impl Ground {
    fn new(seed: u64, length: usize) -> Self {
        let mut rng = stream(seed, 0);
        let folder = tempfile::tempdir().unwrap();
        let system = system(folder.path(), &mut rng);
        let words = (0..length).map(|_| ["a", "b", "c", "d", "e", "f", "?"][below(&mut rng, 7)].to_owned());
        let input = Input { words: words.collect(), ..Input::default() };
        let values = (0..system.dense()).map(|_| (below(&mut rng, 21) as f64 - 5.0) / 20.0).collect();
        Self { system, input, values, _folder: folder }
    }

    fn walk<T>(&self, see: impl FnOnce(&Ready<'_>) -> T) -> T {
        let weights = self.system.weights(None, &self.values).unwrap();
        let sentence = self.system.sentence(&self.input);
        let options = Collector::new(&self.system, &sentence, &weights, None, CHOICE).collect().unwrap();
        let stacks = RefCell::new(Stacks::default());
        let context = Context {
            sentence: &sentence,
            options: &options,
            weights: &weights,
            stacks: &stacks,
            memory: 64,
        };
        see(&Ready::new(&self.system, context, None))
    }
}

/// Checks the order of phrases: each word once, no jump beyond the limit, the first gap always within reach.
fn check_order(ready: &Ready<'_>, phrases: &[u32], far: usize) {
    let (mut covered, mut last) = (vec![false; ready.sentence().len()], 0usize);
    for &option in phrases {
        let opt = ready.options().get(option);
        let (from, to) = (opt.from as usize, opt.to as usize);
        let gap = covered.iter().position(|c| !c).unwrap();
        assert!(from.abs_diff(last) <= far && (from == gap || to - gap <= far));
        assert!(!covered[from..to].contains(&true));
        covered[from..to].fill(true);
        last = to;
    }
    assert!(covered.iter().all(|&c| c));
}

#[test]
fn scores_and_statistics_stay_what_they_are_from_scratch() {
    for (seed, length, far) in [(1, 12, 4), (2, 7, 6), (3, 70, 5)] {
        Ground::new(seed, length)
            .walk(|ready| walk_and_check(ready, seed, far, steps(), if seed == 2 { &NARROW } else { &MIX }));
    }
}

fn walk_and_check(ready: &Ready<'_>, seed: u64, far: usize, steps: usize, mix: &Mix) {
    let (mut rng, mut scratch, mut neighbourhood) =
        (stream(seed, 1), Scratch::default(), Neighbourhood::default());
    let mut judge = Learned::new(ready.weights().iter().map(f64::from).collect());
    let mut chain = Chain::new(ready, (Some(far), Start::Gloss), &mut judge, &mut scratch).unwrap();
    let references = bleu().references(&["u v w x".to_owned(), "v w u v w y y x".to_owned()]).unwrap();
    let symbols = symbols(&references, ready.sentence(), ready.options());
    let words = |phrases: &[u32]| -> Vec<u16> {
        phrases.iter().flat_map(|&o| symbols[ready.options().place(o)].to_vec()).collect()
    };
    let mut text = Text::new(&references);
    text.replace(0, 0, [&words(chain.phrases())[..]].into_iter());
    let (mut score, mut shares, mut inside) = (chain.total(&mut judge, &mut scratch), Vec::new(), Vec::new());
    let mut moves = 0;
    for number in 0..steps {
        if !chain.look(&mut judge, mix, &mut rng, &mut scratch, &mut neighbourhood) {
            continue;
        }
        let member = draw(&neighbourhood, 2.0, &mut rng, &mut shares);
        if number % 97 == 0 {
            check_members(ready, &mut chain, &mut judge, &mut scratch, &neighbourhood);
        }
        assert!(neighbourhood.scores[neighbourhood.current].abs() < 1e-9);
        neighbourhood.options(&chain, member, &mut inside);
        let (first, last) = neighbourhood.window;
        let (before, old) =
            (words(&chain.phrases()[..first]).len(), words(&chain.phrases()[first..last]).len());
        chain.take(&mut judge, &mut scratch, &neighbourhood, member);
        moves += u64::from(member != neighbourhood.current);
        score += neighbourhood.scores[member];
        text.replace(before, before + old, [&words(&inside)[..]].into_iter());
        if number % 61 == 0 || number + 1 == steps {
            check_order(ready, chain.phrases(), far);
            let want = total(&features(ready, &mut judge, chain.phrases()), &judge);
            assert!((score - want).abs() < 1e-4, "{score} {want}");
            assert!((chain.total(&mut judge, &mut scratch) - want).abs() < 1e-4);
            let mut fresh = Text::new(&references);
            fresh.replace(0, 0, [&words(chain.phrases())[..]].into_iter());
            assert_eq!(fresh.tally, text.tally);
            let id = below(&mut rng, ready.weights().len()) as u32;
            judge.add(id, 0.02 - 2.0 * 0.02 * (number % 2) as f64);
            judge.changed();
            score = chain.total(&mut judge, &mut scratch);
        }
    }
    assert!(moves > steps as u64 / 20, "{moves} moves");
}

/// Every member's score and features against those of its whole derivation.
fn check_members(
    ready: &Ready<'_>,
    chain: &mut Chain<'_>,
    judge: &mut Learned,
    scratch: &mut Scratch,
    neighbourhood: &Neighbourhood,
) {
    let old = features(ready, judge, chain.phrases());
    for member in (0..neighbourhood.scores.len()).filter(|&m| neighbourhood.scores[m] > f64::NEG_INFINITY) {
        let mut phrases = Vec::new();
        neighbourhood.options(chain, member, &mut phrases);
        let (first, last) = neighbourhood.window;
        let all: Vec<u32> = chain.phrases()[..first]
            .iter()
            .chain(&phrases)
            .chain(&chain.phrases()[last..])
            .copied()
            .collect();
        let mut want = features(ready, judge, &all);
        let more = total(&want, judge) - total(&old, judge);
        assert!(
            (neighbourhood.scores[member] - more).abs() < 1e-4,
            "{member}: {} {more}",
            neighbourhood.scores[member]
        );
        chain.difference(judge, scratch, neighbourhood, member, &mut |id, value| {
            *want.entry(id).or_default() -= value;
        });
        for (&id, value) in &old {
            *want.entry(id).or_default() -= value;
        }
        assert!(want.values().all(|value| value.abs() < 1e-4), "{want:?}");
    }
}

#[test]
fn weights_that_stay_score_as_weights_that_change() {
    Ground::new(5, 9).walk(|ready| {
        let (mut scratch, mut neighbourhood) = (Scratch::default(), Neighbourhood::default());
        let mut judge = Learned::new(ready.weights().iter().map(f64::from).collect());
        let mut one = Chain::new(ready, (None, Start::Gloss), &mut judge, &mut scratch).unwrap();
        let mut two = Chain::new(ready, (None, Start::Gloss), &mut Fixed, &mut scratch).unwrap();
        let (mut rng, mut other, mut shares) = (stream(5, 1), stream(5, 1), Vec::new());
        for _ in 0..2_000 {
            let asked = two.look(&mut Fixed, &MIX, &mut other, &mut scratch, &mut neighbourhood);
            let scores = neighbourhood.scores.clone();
            assert_eq!(one.look(&mut judge, &MIX, &mut rng, &mut scratch, &mut neighbourhood), asked);
            if asked {
                assert!(
                    scores.iter().zip(&neighbourhood.scores).all(|(a, b)| a == b || (a - b).abs() < 1e-3)
                );
                let member = draw(&neighbourhood, 1.0, &mut rng, &mut shares);
                draw(&neighbourhood, 1.0, &mut other, &mut shares);
                one.take(&mut judge, &mut scratch, &neighbourhood, member);
                two.take(&mut Fixed, &mut scratch, &neighbourhood, member);
                assert_eq!(one.phrases(), two.phrases());
            }
        }
        assert_eq!(judge.version(), 1);
    });
}

fn ranking() -> RankOptions {
    RankOptions {
        burn_in: 20,
        samples: 200,
        visit: 1,
        rate: 0.0,
        c: 0.01,
        scale: 100.0,
        add: 0.01,
        oracle: Oracle::Hope,
        margin: true,
        always: false,
        temperature: 1.0,
        hot: 1.0,
        start: Start::Best,
        mix: MIX,
        distortion: Some(4),
        choice: CHOICE,
        clock: false,
    }
}

#[test]
fn the_bounds_of_gains_change_nothing() {
    // The same walk with every gain worked out: an oracle that is found without bounds.
    let ground = Ground::new(8, 6);
    let weights = ground.system.weights(None, &ground.values).unwrap();
    let inputs = vec![ground.input.clone(), Input::plain("a b c"), Input::plain("? d")];
    let refs = ["v w u u", "w x u v", "y ? u"].map(|r| bleu().references(&[r.to_owned()]).unwrap());
    let batches = [vec![0, 2], vec![1]];
    let shard = Shard { inputs: &inputs, metric: &bleu(), references: &refs, batches: &batches, texts: None };
    for oracle in [Oracle::Hope, Oracle::Gain] {
        let options = RankOptions { oracle, ..ranking() };
        let run = |all: bool| {
            super::learn::PROBE_ALL.set(all);
            let done = rank(
                &ground.system,
                &weights,
                (&ground.values, Pace::default()),
                &[],
                &shard,
                &options,
                (3, 0),
            )
            .unwrap();
            super::learn::PROBE_ALL.set(false);
            done
        };
        let (fast, slow) = (run(false), run(true));
        assert_eq!(fast.learned.weights, slow.learned.weights);
        assert_eq!(fast.learned.own_weights, slow.learned.own_weights);
        assert!(fast.updates > 0 && fast.probed.0 < slow.probed.0 && slow.probed.0 <= slow.probed.1);
        assert_eq!(fast.collected, 600);
    }
}

#[test]
fn weights_move_as_the_equations_say() {
    let ground = Ground::new(9, 5);
    let weights = ground.system.weights(None, &ground.values).unwrap();
    let inputs = vec![ground.input.clone()];
    let refs = [bleu().references(&["v w u u".to_owned()]).unwrap()];
    let batches = [vec![0]];
    let shard = Shard { inputs: &inputs, metric: &bleu(), references: &refs, batches: &batches, texts: None };
    let fixed: Vec<bool> = (0..ground.values.len()).map(|i| i == 1).collect();
    let run = |options: &RankOptions| {
        rank(&ground.system, &weights, (&ground.values, Pace::default()), &fixed, &shard, options, (4, 0))
            .unwrap()
    };
    let done = run(&ranking());
    assert!(done.capped > 0 && done.capped <= done.updates);
    assert_eq!(done.learned.weights[1], ground.values[1], "a weight that is to stay");
    assert_ne!(done.learned.weights[0], ground.values[0]);
    assert!(done.learned.own_weights.iter().any(|&w| w != 0.0), "names that the system lacks are learned");
    assert!(done.learned.own.len() >= done.learned.own_weights.len() && OWN > 0);
    // Nothing is learned without samples, and no step is longer than C allows.
    let idle = run(&RankOptions { samples: 0, ..ranking() });
    assert_eq!((idle.updates, &idle.learned.weights), (0, &ground.values));
    let always = run(&RankOptions { always: true, ..ranking() });
    assert!(always.updates > done.updates, "margins are asked for, too");
    let tiny = run(&RankOptions { c: 1e-9, ..ranking() });
    assert_eq!(tiny.capped, tiny.updates);
    let moved =
        tiny.learned.weights.iter().zip(&ground.values).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(moved > 0.0 && moved < 1e-9 * 100.0 * tiny.updates as f64);
}

#[test]
fn the_mean_climbs_the_expected_gain() {
    // Plain steps of a tiny size: one sample of one sentence moves the weights along the gradient of the expected gain.
    // The other side of the comparison takes a copy of the chain through the same draws and differentiates numerically.
    let ground = Ground::new(12, 6);
    let weights = ground.system.weights(None, &ground.values).unwrap();
    let (inputs, batches) = (vec![ground.input.clone()], [vec![0]]);
    let refs = [bleu().references(&["v w u x u".to_owned()]).unwrap()];
    let shard = Shard { inputs: &inputs, metric: &bleu(), references: &refs, batches: &batches, texts: None };
    let (c, temperature) = (1e-9, 0.7);
    let (mut seen, bleu) = (0, bleu().scorer(100.0, 0.01));
    for seed in 0..60 {
        let options = RankOptions {
            oracle: Oracle::Mean,
            burn_in: 0,
            samples: 1,
            c,
            temperature,
            hot: 0.0,
            ..ranking()
        };
        let done = rank(
            &ground.system,
            &weights,
            (&ground.values, Pace::default()),
            &[],
            &shard,
            &options,
            (seed, 0),
        )
        .unwrap();
        ground.walk(|ready| {
            let mut rng = stream(seed, 0);
            below(&mut rng, 1);
            let (mut scratch, mut neighbourhood) = (Scratch::default(), Neighbourhood::default());
            let from = (options.distortion, options.start);
            let expected = |values: &[f64], scratch: &mut Scratch, neighbourhood: &mut Neighbourhood| {
                let mut judge = Learned::new(values.to_vec());
                let mut chain = Chain::new(ready, from, &mut judge, scratch).unwrap();
                if !chain.look(&mut judge, &options.mix, &mut rng.clone(), scratch, neighbourhood) {
                    return 0.0;
                }
                let shares: Vec<f64> =
                    neighbourhood.scores.iter().map(|score| (score / temperature).exp()).collect();
                let total: f64 = shares.iter().sum();
                let symbols = symbols(&refs[0], ready.sentence(), ready.options());
                let mut phrases = Vec::new();
                let gains = (0..shares.len()).map(|member| {
                    neighbourhood.options(&chain, member, &mut phrases);
                    let (first, last) = neighbourhood.window;
                    let all = chain.phrases()[..first].iter().chain(&phrases).chain(&chain.phrases()[last..]);
                    let mut text = Text::new(&refs[0]);
                    text.replace(0, 0, all.map(|&option| &symbols[ready.options().place(option)]));
                    bleu.score(&text.tally)
                });
                shares.iter().zip(gains).map(|(share, gain)| share / total * gain).sum()
            };
            for id in 0..ground.values.len() {
                let mut shifted = [ground.values.clone(), ground.values.clone()];
                shifted[0][id] -= 1e-4;
                shifted[1][id] += 1e-4;
                let [low, high] = shifted.map(|values| expected(&values, &mut scratch, &mut neighbourhood));
                let slope = temperature * (high - low) / 2e-4;
                let found = (done.learned.weights[id] - ground.values[id]) / c;
                assert!((found - slope).abs() < 0.03 + 0.03 * slope.abs(), "{seed} {id}: {found} {slope}");
                seen += u64::from(slope.abs() > 0.1);
            }
        });
    }
    assert!(seen > 30, "{seen}");
}
