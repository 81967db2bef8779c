//! The chart without limits against a search that tries all derivations, on small random grammars.

use crate::{Choice, Limits, Reach, Settings, System, forest_of, translate};
use dragoman_base::Names;
use dragoman_lm::{Grams, Kind, Model, Ngrams};
use dragoman_model::Input;
use dragoman_model::feature::Part;
use dragoman_rules::gap;
use dragoman_rules::table::{Builder, Rule};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A symbol of a side: a word, or which source gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Word(u8),
    Gap(u8),
}

/// A rule of a small grammar: sides and a score.
#[derive(Debug, Clone)]
struct Small {
    source: Vec<Item>,
    target: Vec<Item>,
    score: f32,
}

/// At least one source word, gaps that are not neighbours, each gap once on the target side.
fn rule() -> impl Strategy<Value = Small> {
    let shape = (0u8..3, prop::collection::vec(0u8..3, 1..4), any::<bool>(), any::<bool>());
    (shape, prop::collection::vec(0u8..4, 0..4), any::<[prop::sample::Index; 2]>(), -3.0f32..0.0).prop_map(
        |((gaps, words, early, swap), mut target, places, score)| {
            let mut source: Vec<Item> = words.iter().map(|&word| Item::Word(word)).collect();
            let gaps = usize::from(gaps).min(words.len());
            // Gaps stand before words: the first before the first word or the second, the other before the last.
            let mut made: Vec<Item> = Vec::new();
            let mut left = gaps as u8;
            for (at, item) in source.drain(..).enumerate() {
                if left > 0
                    && (at > 0 || early)
                    && made.last().is_none_or(|last| matches!(last, Item::Word(_)))
                {
                    made.push(Item::Gap(gaps as u8 - left));
                    left -= 1;
                }
                made.push(item);
            }
            if left > 0 {
                made.push(Item::Gap(gaps as u8 - left));
                left -= 1;
            }
            let count = gaps as u8 - left;
            let mut out: Vec<Item> = target.drain(..).map(Item::Word).collect();
            for (number, place) in (0..count).zip(places) {
                out.insert(place.index(out.len() + 1), Item::Gap(number));
            }
            if swap {
                for item in &mut out {
                    if let (Item::Gap(number), 2) = (*item, count) {
                        *item = Item::Gap(1 - number);
                    }
                }
            }
            Small { source: made, target: out, score }
        },
    )
}

const SOURCE: [&str; 4] = ["a", "b", "c", "d"];
const TARGET: [&str; 4] = ["A", "B", "C", "D"];

fn write_table(path: &Path, rules: &[Small]) {
    let mut rules: Vec<(Vec<u32>, Vec<u32>, f32)> = rules
        .iter()
        .map(|rule| {
            let source = rule.source.iter().map(|item| match item {
                Item::Word(word) => u32::from(*word) + 1,
                Item::Gap(_) => 0,
            });
            let target = rule.target.iter().map(|item| match item {
                Item::Word(word) => u32::from(*word) + 2,
                Item::Gap(gap) => u32::from(*gap),
            });
            (source.collect(), target.collect(), rule.score)
        })
        .collect();
    rules.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut builder = Builder::create(path, &["p".to_owned()], "{}").unwrap();
    for (source, target, score) in &rules {
        builder.push(Rule { source, target, links: &[], scores: &[*score] }).unwrap();
    }
    let source: Vec<&str> = [gap::SOURCE].into_iter().chain(SOURCE).collect();
    let target: Vec<&str> = gap::TARGET.into_iter().chain(TARGET).collect();
    builder.finish(&source.into_iter().collect(), &target.into_iter().collect()).unwrap();
}

/// A model of random n-grams of some words, with all their beginnings but not with all their endings.
fn write_model(path: &Path, order: usize, given: &[Vec<u8>], numbers: &[f32]) {
    let mut ngrams = Ngrams::default();
    TARGET.iter().take(3).for_each(|word| {
        ngrams.names.intern(word);
    });
    let mut all: BTreeSet<Vec<u8>> = (0..6).map(|word| vec![word]).collect();
    for gram in given {
        (1..=gram.len().min(order)).for_each(|end| {
            all.insert(gram[..end].to_vec());
        });
    }
    let mut number = numbers.iter().copied().cycle();
    for length in 1..=order {
        let mut grams = Grams::default();
        for gram in all.iter().filter(|gram| gram.len() == length) {
            grams.words.extend(gram.iter().map(|&word| u32::from(word)));
            grams.probabilities.push(number.next().unwrap() - 0.5);
            grams.backoffs.push(if length == order { 0.0 } else { number.next().unwrap() });
        }
        ngrams.orders.push(grams);
    }
    Model::from_ngrams(&ngrams, Kind::Hash, "").unwrap().save(path.to_str().unwrap()).unwrap();
}

/// What the slow search knows of a derivation: its words, and what rules say.
type Made = (Vec<String>, f64);

struct Slow<'a> {
    rules: &'a [Small],
    words: &'a [u8],
    span: usize,
}

impl Slow<'_> {
    /// All derivations of a span.
    fn span(&self, from: usize, to: usize) -> Vec<Made> {
        let mut found = Vec::new();
        if to - from <= self.span {
            for rule in self.rules {
                self.fit(rule, 0, from, to, &mut Vec::new(), &mut found);
            }
        }
        if to - from == 1 && found.is_empty() {
            found.push((vec![SOURCE[usize::from(self.words[from])].to_owned()], -7.0 - 1.0 * W[1]));
        }
        found
    }

    /// All ways to fit the source side of a rule from some symbol on to a span.
    fn fit(
        &self,
        rule: &Small,
        at: usize,
        from: usize,
        to: usize,
        gaps: &mut Vec<(usize, usize)>,
        found: &mut Vec<Made>,
    ) {
        match rule.source.get(at) {
            None if from == to => found.extend(self.fill(rule, gaps)),
            Some(Item::Word(word)) if from < to && self.words[from] == *word => {
                self.fit(rule, at + 1, from + 1, to, gaps, found);
            }
            None | Some(Item::Word(_)) => {}
            Some(Item::Gap(_)) => {
                for middle in from + 1..=to {
                    gaps.push((from, middle));
                    self.fit(rule, at + 1, middle, to, gaps, found);
                    gaps.pop();
                }
            }
        }
    }

    fn fill(&self, rule: &Small, gaps: &[(usize, usize)]) -> Vec<Made> {
        let mut ways: Vec<Vec<Made>> = vec![Vec::new()];
        for &(from, to) in gaps {
            let below = self.span(from, to);
            ways = ways
                .iter()
                .flat_map(|way| below.iter().map(move |one| [way.clone(), vec![one.clone()]].concat()))
                .collect();
        }
        let own = rule.target.iter().filter(|item| matches!(item, Item::Word(_))).count();
        let score = W[0] * f64::from(rule.score) - W[1] * own as f64 + W[4] * gaps.len() as f64;
        ways.into_iter()
            .map(|way| {
                let mut words = Vec::new();
                for item in &rule.target {
                    match item {
                        Item::Word(word) => words.push(TARGET[usize::from(*word)].to_owned()),
                        Item::Gap(gap) => words.extend(way[usize::from(*gap)].0.clone()),
                    }
                }
                (words, score + way.iter().map(|one| one.1).sum::<f64>())
            })
            .collect()
    }

    /// All derivations of the sentence up to a word.
    fn start(&self, to: usize) -> Vec<Made> {
        if to == 0 {
            return vec![(Vec::new(), 0.0)];
        }
        let mut found = Vec::new();
        for from in 0..to {
            let spans = self.span(from, to);
            let glue = if from == 0 { 0.0 } else { W[3] };
            for before in &self.start(from) {
                for span in &spans {
                    let words = [before.0.clone(), span.0.clone()].concat();
                    found.push((words, before.1 + span.1 + glue));
                }
            }
        }
        found
    }
}

/// Weights of rules, words, the language model, glue and gaps.
const W: [f64; 5] = [0.7, 0.3, 0.9, -0.4, 0.2];

fn part(kind: &str, name: &str, options: &[(&str, &str)]) -> Part {
    let options = options.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    Part { kind: kind.to_owned(), name: name.to_owned(), options }
}

/// Weights of pairs of neighbouring target words.
fn pairs() -> BTreeMap<String, f64> {
    let names = ["tb:A>B", "tb:^>A", "tb:C>$", "tb:B>B", "tb:A>a", "tb:D>C"];
    names
        .iter()
        .zip([0.5, -0.4, 0.3, 0.7, 1.1, -0.9])
        .map(|(name, weight)| ((*name).to_owned(), weight))
        .collect()
}

fn slow_scores(model: &Model, slow: &Slow<'_>) -> Vec<(String, f64)> {
    let pairs = pairs();
    let score = |(words, rules): Made| {
        let (mut state, mut log) = (model.start(), 0.0);
        for id in words.iter().map(|word| model.word(word)).chain([dragoman_lm::EOS]) {
            let (one, next) = model.score(&state, id);
            log += f64::from(one);
            state = next;
        }
        let ends: Vec<&str> =
            ["^"].into_iter().chain(words.iter().map(String::as_str)).chain(["$"]).collect();
        let tb: f64 = ends.windows(2).filter_map(|two| pairs.get(&format!("tb:{}>{}", two[0], two[1]))).sum();
        (words.join(" "), rules + W[2] * log + tb)
    };
    let mut all: Vec<(String, f64)> = slow.start(slow.words.len()).into_iter().map(score).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all
}

fn open(folder: &Path) -> System {
    let file = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let parts = [
        part("scores", "TM", &[("table", "0"), ("columns", "p"), ("group", "TM")]),
        part("word-penalty", "Words", &[]),
        part("lm", "LM", &[("path", &file("lm"))]),
        part("glue", "Glue", &[]),
        part("arity", "Gaps", &[]),
        part("unknown-penalty", "Unknown", &[("value", "-7")]),
        part("tb", "tb", &[]),
    ];
    System::open(&[file("rules")], &parts).unwrap()
}

fn settings(span: usize, size: usize, distinct: bool) -> Settings {
    let limits = Limits {
        nodes: 0,
        pops: 0,
        threshold: f32::INFINITY,
        deadline: None,
        stop: None,
        memory: usize::MAX,
        keep: size > 1,
    };
    Settings {
        limits,
        choice: Choice { limit: 0, drop_unknown: false },
        reach: Reach { span, pass_through: false },
        size,
        distinct,
        features: true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn without_limits_all_derivations_are_found(
        rules in prop::collection::vec(rule(), 1..9),
        order in 2usize..=5,
        grams in prop::collection::vec(prop::collection::vec(1u8..6, 2..6), 0..25),
        numbers in prop::collection::vec(-1.5f32..0.0, 3..30),
        words in prop::collection::vec(0u8..4, 0..5),
        span in 1usize..6,
    ) {
        let folder = tempfile::tempdir().unwrap();
        // A table has each pair of sides once, and this grammar must have a gap to be one.
        let mut seen = BTreeSet::new();
        let mut rules: Vec<Small> =
            rules.into_iter().filter(|rule| seen.insert((rule.source.clone(), rule.target.clone()))).collect();
        let gap = Small { source: vec![Item::Word(3), Item::Gap(0), Item::Word(3)], target: vec![Item::Gap(0)], score: -1.0 };
        if seen.insert((gap.source.clone(), gap.target.clone())) {
            rules.push(gap);
        }
        write_table(&folder.path().join("rules"), &rules);
        write_model(&folder.path().join("lm"), order, &grams, &numbers);
        let system = open(folder.path());
        let mut names = Names::new();
        let mut values = Vec::new();
        let dense = [("TM", W[0]), ("Words", W[1]), ("LM", W[2]), ("Glue", W[3]), ("Gaps", W[4]), ("Unknown", 1.0)];
        for (name, value) in dense.iter().map(|(n, v)| ((*n).to_owned(), *v)).chain(pairs()) {
            names.intern(&name);
            values.push(value);
        }
        let weights = system.weights(Some(&names), &values).unwrap();
        let line: Vec<&str> = words.iter().map(|&word| SOURCE[usize::from(word)]).collect();
        let input = Input::plain(&line.join(" "));
        let model = Model::open(folder.path().join("lm").to_str().unwrap()).unwrap();
        let want = slow_scores(&model, &Slow { rules: &rules, words: &words, span });
        let best = translate(&system, &input, &weights, &settings(span, 1, true), None).unwrap();
        prop_assert!((best.hypotheses[0].score - want[0].1).abs() < 1e-3, "{:?} {:?}", best.hypotheses, want);
        // Every derivation, with its score from features.
        if want.len() < 2000 {
            let all = translate(&system, &input, &weights, &settings(span, 5000, false), None).unwrap();
            let mut found: Vec<(String, f64)> = all.hypotheses.iter().map(|h| (h.text.clone(), h.score)).collect();
            found.sort_by(|a, b| b.1.total_cmp(&a.1));
            prop_assert_eq!(found.len(), want.len());
            for (a, b) in found.iter().zip(&want) {
                prop_assert!((a.1 - b.1).abs() < 1e-3, "{:?} {:?}", found, want);
            }
            let mut texts: Vec<&String> = found.iter().map(|(text, _)| text).collect();
            let mut others: Vec<&String> = want.iter().map(|(text, _)| text).collect();
            texts.sort();
            others.sort();
            prop_assert_eq!(&texts, &others);
            // Each text once, by its best derivation.
            let unique = translate(&system, &input, &weights, &settings(span, 5000, true), None).unwrap();
            others.dedup();
            prop_assert_eq!(unique.hypotheses.len(), others.len());
            for one in &unique.hypotheses {
                let top = want.iter().filter(|(text, _)| *text == one.text).map(|(_, s)| *s).fold(f64::NEG_INFINITY, f64::max);
                prop_assert!((one.score - top).abs() < 1e-3);
            }
            let (forest, _) = forest_of(&system, &input, &weights, &settings(span, 2, false), 0.0).unwrap();
            forest.check().unwrap();
        }
        // A target that is demanded, whatever it costs.
        let (text, _) = &want[want.len() / 2];
        let target = dragoman_model::feature::Reference::new(dragoman_base::words(text).map(str::to_owned).collect());
        let forced = translate(&system, &input, &weights, &settings(span, 1, true), Some(&target)).unwrap();
        let top = want.iter().filter(|(t, _)| t == text).map(|(_, s)| *s).fold(f64::NEG_INFINITY, f64::max);
        prop_assert_eq!(&forced.hypotheses[0].text, text);
        prop_assert!((forced.hypotheses[0].score - top).abs() < 1e-3);
    }
}
