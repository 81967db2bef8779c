//! The sampler's conditional distributions against the joint probability of all links, written out from scratch;
//! and the sampler of new text against all alignments of small sentences.

use dragoman_align::direction::Direction;
use dragoman_align::jumps::Jumps;
use dragoman_align::sampler::{FERTILITIES, Level, Priors, Sampler};
use dragoman_align::weights::NONE;
use dragoman_align::{Bitext, Effort, Model, Options, Spelling, Trainer};
use dragoman_base::{Texts, random};
use std::collections::HashMap;

const PRIORS: Priors = Priors { lexical: 0.05, null_lexical: 0.1, null: 0.2, jump: 0.5, fertility: 0.5 };

/// Random sentences over few types, so that words repeat within and across sentences.
fn corpus(seed: u64, pairs: usize, longest: usize) -> (Texts, Texts) {
    let mut rng = random::stream(seed, 0);
    let mut side = |letter: char| -> Texts {
        (0..pairs)
            .map(|_| {
                let count = 1 + random::below(&mut rng, longest);
                let words: Vec<String> =
                    (0..count).map(|_| format!("{letter}{}", random::below(&mut rng, 4))).collect();
                words.join(" ")
            })
            .collect()
    };
    (side('e'), side('f'))
}

fn text_words(texts: &Texts) -> Vec<Vec<&str>> {
    texts.iter().map(|line| line.split(' ').collect()).collect()
}

/// ln of the rising factorial a (a + 1) ... (a + n - 1).
fn rising(a: f64, n: usize) -> f64 {
    (0..n).map(|k| (a + k as f64).ln()).sum()
}

/// ln of the joint probability of all links: collapsed Dirichlets for words and fertilities, fixed jumps.
fn joint(given: &[Vec<&str>], made: &[Vec<&str>], links: &[Vec<u16>], level: Level, jumps: &Jumps) -> f64 {
    let mut pairs: HashMap<(&str, &str), usize> = HashMap::new();
    let mut partners: HashMap<&str, std::collections::HashSet<&str>> = HashMap::new();
    let mut fertility: HashMap<(&str, usize), usize> = HashMap::new();
    let mut types: HashMap<&str, usize> = HashMap::new();
    let mut total = 0.0;
    for ((e, f), a) in given.iter().zip(made).zip(links) {
        let (mut phi, mut prev) = (vec![0; e.len()], -1);
        for word in e {
            partners.entry(word).or_default().extend(f.iter().copied());
        }
        for (&word, &link) in f.iter().zip(a) {
            *types.entry(word).or_default() += 1;
            if link == NONE {
                *pairs.entry(("", word)).or_default() += 1;
                total += f64::from(PRIORS.null).ln();
            } else {
                let i = link as usize;
                *pairs.entry((e[i], word)).or_default() += 1;
                phi[i] += 1;
                total += f64::from(1.0 - PRIORS.null).ln();
                if level != Level::Ibm1 {
                    total += f64::from(jumps.probability(prev, i as isize)).ln();
                }
                prev = i as isize;
            }
        }
        if level != Level::Ibm1 {
            total += f64::from(jumps.probability(prev, e.len() as isize)).ln();
        }
        for (&word, phi) in e.iter().zip(phi) {
            *fertility.entry((word, phi)).or_default() += 1;
        }
    }
    let mut sums: HashMap<&str, usize> = HashMap::new();
    for (&(e, _), &n) in &pairs {
        let alpha = if e.is_empty() { PRIORS.null_lexical } else { PRIORS.lexical };
        total += rising(f64::from(alpha), n);
        *sums.entry(e).or_default() += n;
    }
    for (e, n) in sums {
        let (alpha, size) = if e.is_empty() {
            (PRIORS.null_lexical, types.len())
        } else {
            (PRIORS.lexical, partners[e].len())
        };
        total -= rising(f64::from(alpha) * size as f64, n);
    }
    if level == Level::Fertility {
        // The number of tokens of a type is fixed, so the denominators are the same for all links.
        total += fertility.values().map(|&n| rising(f64::from(PRIORS.fertility), n)).sum::<f64>();
    }
    total
}

fn split(links: &[u16], made: &[Vec<&str>]) -> Vec<Vec<u16>> {
    let mut rest = links;
    made.iter()
        .map(|f| {
            let (head, tail) = rest.split_at(f.len());
            rest = tail;
            head.to_vec()
        })
        .collect()
}

#[test]
fn conditionals_are_ratios_of_the_joint() {
    for seed in 0..12 {
        let (source, target) = corpus(seed, 6, 5);
        let bitext = Bitext::new(&source, &target, Spelling::default()).unwrap();
        let (given, made) = (text_words(&source), text_words(&target));
        let shared = Direction::new(&bitext.source, &bitext.target);
        let mut sampler = Sampler::new(&shared, PRIORS, random::stream(seed, 1));
        for level in [Level::Ibm1, Level::Hmm, Level::Fertility] {
            sampler.sweep(&shared, level);
            sampler.sweep(&shared, level);
            for s in 0..given.len() {
                let mut links = split(&sampler.links, &made);
                let width = given[s].len() + 1;
                let mut rows = vec![0.0; width * made[s].len()];
                sampler.sentence(&shared, s, level, Some(&mut rows));
                let after = split(&sampler.links, &made)[s].clone();
                for j in 0..made[s].len() {
                    let row = &rows[j * width..(j + 1) * width];
                    let logs: Vec<f64> = (0..width)
                        .map(|i| {
                            links[s][j] = if i + 1 == width { NONE } else { i as u16 };
                            joint(&given, &made, &links, level, &sampler.jumps)
                        })
                        .collect();
                    let top = logs.iter().copied().fold(f64::MIN, f64::max);
                    let sum: f64 = logs.iter().map(|l| (l - top).exp()).sum();
                    for (log, p) in logs.iter().zip(row) {
                        let want = (log - top).exp() / sum;
                        assert!((want - f64::from(*p)).abs() < 1e-4, "{level:?} {want} {p} {logs:?} {row:?}");
                    }
                    links[s][j] = after[j];
                }
            }
        }
    }
}

fn trained(seed: u64) -> (Texts, Texts, Model) {
    let (source, target) = corpus(seed, 8, 4);
    let options = Options { priors: PRIORS, samplers: 2, ..Options::default() };
    let model = Trainer::new(&source, &target, options).unwrap().finish().model;
    (source, target, model)
}

/// The exact probability of each link under the fixed counts of a model, by summing over all alignments.
fn enumerate(model: &Model, e: &[u32], f: &[u32]) -> Vec<Vec<f64>> {
    let table = &model.tables[0];
    let lexicon = &table.lexicon;
    let jumps = Jumps::fixed(&table.jumps, 10);
    let nulls: f32 = lexicon.nulls.iter().sum::<f32>() + PRIORS.null_lexical * lexicon.nulls.len() as f32;
    let mut marginals = vec![vec![0.0; e.len() + 1]; f.len()];
    let (base, mut total) = (e.len() + 1, 0.0);
    for code in 0..base.pow(f.len() as u32) {
        let a: Vec<usize> = (0..f.len()).map(|j| code / base.pow(j as u32) % base).collect();
        let (mut p, mut prev, mut phi) = (1.0f64, -1, vec![0usize; e.len()]);
        for (&i, &word) in a.iter().zip(f) {
            if i == e.len() {
                let count = lexicon.nulls[word as usize] + PRIORS.null_lexical;
                p *= f64::from(PRIORS.null * count / nulls);
            } else {
                let sum =
                    lexicon.totals[e[i] as usize] + PRIORS.lexical * lexicon.partners[e[i] as usize] as f32;
                p *= f64::from((1.0 - PRIORS.null) * (lexicon.count(e[i], word) + PRIORS.lexical) / sum);
                p *= f64::from(jumps.probability(prev, i as isize));
                (prev, phi[i]) = (i as isize, phi[i] + 1);
            }
        }
        p *= f64::from(jumps.probability(prev, e.len() as isize));
        for (&word, phi) in e.iter().zip(phi) {
            p *= f64::from(table.fertility[word as usize * FERTILITIES + phi] + PRIORS.fertility);
        }
        for (j, &i) in a.iter().enumerate() {
            marginals[j][i] += p;
        }
        total += p;
    }
    marginals.iter().map(|row| row.iter().map(|p| p / total).collect()).collect()
}

#[test]
fn new_text_gets_the_most_probable_links_of_all_alignments() {
    let mut clear = 0;
    for seed in 0..6 {
        let (source, target, model) = trained(seed);
        let effort = Effort { collect: 20_000, ..Effort::default() };
        let (forward, _, _) = model.align(&source, &target, &effort).unwrap();
        for s in 0..source.len() {
            let ids = |k: usize, line: &str| -> Vec<u32> {
                line.split(' ').map(|word| model.words[k].get(word).unwrap()).collect()
            };
            let (e, f) = (ids(0, source.get(s)), ids(1, target.get(s)));
            for (j, row) in enumerate(&model, &e, &f).iter().enumerate() {
                let best = (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
                let second =
                    row.iter().enumerate().filter(|(i, _)| *i != best).map(|(_, p)| *p).fold(0.0, f64::max);
                if row[best] - second < 0.2 {
                    continue; // too close for a sampler that seldom leaves a mode
                }
                clear += 1;
                let (from, to) = forward.pair(s);
                let found = to.iter().position(|&t| t as usize == j).map_or(e.len(), |k| from[k] as usize);
                assert_eq!(found, best, "seed {seed} pair {s} word {j}: {row:?}");
            }
        }
    }
    assert!(clear > 80, "{clear}");
}

#[test]
fn threads_change_nothing_and_seeds_do() {
    let (source, target) = corpus(3, 700, 6);
    let run = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let options =
                Options { samplers: 3, sweeps: Some([1, 1, 2]), collect: 2, seed, ..Options::default() };
            let trained = Trainer::new(&source, &target, options).unwrap().finish();
            let new = trained.model.align(&source, &target, &Effort::default()).unwrap();
            (trained.forward, trained.reverse, trained.model.tables, new)
        })
    };
    let one = run(1, 5);
    assert_eq!(one, run(4, 5));
    assert_ne!(one.0, run(4, 6).0);
}

#[test]
fn odd_pairs_get_no_links_and_lines_stay_in_step() {
    let long = "w ".repeat(10_000);
    let source: Texts = ["a b", "", "c", &long, "a b"].into_iter().collect();
    let target: Texts = ["x y", "x", "", "x", "x y"].into_iter().collect();
    let trainer = Trainer::new(&source, &target, Options::default()).unwrap();
    assert_eq!((trainer.report().empty, trainer.report().long), (2, 1));
    let trained = trainer.finish();
    assert_eq!(trained.forward.len(), 5);
    assert_eq!(trained.forward.pair(1).0.len() + trained.forward.pair(3).0.len(), 0);
    let (forward, reverse, report) = trained.model.align(&source, &target, &Effort::default()).unwrap();
    assert_eq!((forward.len(), reverse.len(), report.long), (5, 5, 1));
    assert_eq!(forward.pair(0), forward.pair(4), "links depend on the pair alone");
    // Words that training never saw.
    let unseen: Texts = ["q a r"].into_iter().collect();
    let (links, _, _) = trained.model.align(&unseen, &unseen, &Effort::default()).unwrap();
    assert_eq!(links.len(), 1);
    let empty: Texts = ["", " "].into_iter().collect();
    assert!(Trainer::new(&empty, &empty, Options::default()).is_err());
}

#[test]
fn a_model_is_the_same_after_a_round_trip_and_damage_is_noticed() {
    let (source, target, model) = trained(1);
    let dir = tempfile::tempdir().unwrap();
    for name in ["m", "m.gz", "m.zst"] {
        let path = dir.path().join(name).to_str().unwrap().to_owned();
        model.write(&path).unwrap();
        let again = Model::read(&path).unwrap();
        assert_eq!(
            (&again.tables, again.priors, again.spelling),
            (&model.tables, model.priors, model.spelling)
        );
        let links = |m: &Model| m.align(&source, &target, &Effort::default()).unwrap();
        assert_eq!(links(&again), links(&model));
    }
    let path = dir.path().join("m").to_str().unwrap().to_owned();
    let whole = std::fs::read(&path).unwrap();
    let read = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        Model::read(&path).unwrap_err().to_string()
    };
    for cut in 0..whole.len() {
        let message = read(&whole[..cut]);
        assert!(message.contains("expected") || message.contains("truncated"), "{cut}: {message}");
    }
    for at in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        read(&bytes);
    }
    let mut later = whole.clone();
    later[8] = 2;
    assert!(read(&later).contains("version 1, found 2"));
    assert!(read(&[&whole[..], b"x"].concat()).contains("corrupt"));
}
