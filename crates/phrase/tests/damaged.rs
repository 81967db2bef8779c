//! Damaged tables: bytes of a rule table and of two language models are changed, and sentences are translated. Whatever
//! the bytes say, the answer is a translation or an error; nothing panics, and nothing goes on for ever.
//!
//! Deterministic. `FUZZ_CASES` sets the number of cases of all files together, `FUZZ_SEED` the seed.

use dragoman_base::Texts;
use dragoman_base::hash::block;
use dragoman_base::random::{Generator, below, stream};
use dragoman_lm::estimate::{Options, Source, estimate};
use dragoman_lm::{Kind, Model, Ngrams};
use dragoman_model::Input;
use dragoman_model::feature::Part;
use dragoman_phrase::search::Limits;
use dragoman_phrase::{Choice, Settings, System, translate};
use dragoman_rules::Builder;
use dragoman_rules::table::Rule;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

const LINES: [&str; 2] = ["a b c d", "d x a a b"];
/// After which an answer is taken for a loop that does not end; a busy machine has its time.
const LONGEST: Duration = Duration::from_secs(20);

/// A file, and where the length of its head and the hash of that are in it.
struct File {
    name: &'static str,
    length: usize,
    hash: usize,
}

const FILES: [File; 3] = [
    File { name: "rules", length: 24, hash: 32 },
    File { name: "hash.lm", length: 32, hash: 48 },
    File { name: "compact.lm", length: 32, hash: 48 },
];

fn build(folder: &Path) {
    let mut rng = stream(7, 0);
    let columns = COLUMNS.map(str::to_owned);
    let mut builder = Builder::create(&folder.join("rules"), &columns, "{}").unwrap();
    let mut phrase = |words: usize| -> Vec<u32> {
        (0..=below(&mut rng, 3)).map(|_| below(&mut rng, words) as u32).collect()
    };
    let mut rules: Vec<(Vec<u32>, Vec<u32>)> = (0..60).map(|_| (phrase(4), phrase(5))).collect();
    rules.sort();
    rules.dedup();
    for (source, target) in &rules {
        let scores = [-0.1, -0.2, -1.0, -2.0, -0.3, -0.5, -4.0];
        builder.push(Rule { source, target, links: &[[0, 0]], scores: &scores }).unwrap();
    }
    let words = |all: &str| -> Texts { all.split(' ').collect() };
    builder.finish(&words("a b c d"), &words("s t u v w")).unwrap();
    let lines: Texts = ["s t u v", "s t w", "t u v s", "w s t u", "v v"].into_iter().collect();
    let options = Options {
        order: 3,
        memory: 1 << 20,
        scratch: None,
        prune: vec![0],
        fallback: Some([0.5, 1.0, 1.5]),
        skip_symbols: false,
    };
    let mut ngrams = Ngrams::default();
    estimate(Source::Lines(&lines), &options, &mut ngrams).unwrap();
    for (name, kind) in [("hash.lm", Kind::Hash), ("compact.lm", Kind::Compact(8))] {
        let path = folder.join(name).display().to_string();
        Model::from_ngrams(&ngrams, kind, "").unwrap().save(&path).unwrap();
    }
}

const COLUMNS: [&str; 7] = [
    "p",
    "hier.previous.M",
    "hier.previous.S",
    "hier.previous.D",
    "hier.next.M",
    "hier.next.S",
    "hier.next.D",
];

/// A few bytes changed, most often; or cut, or with bytes taken out or repeated. Half of the time the head's hash is
/// made to fit, as somebody with bad intentions would.
fn mutated(whole: &[u8], file: &File, rng: &mut Generator) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    match below(rng, 10) {
        0 => bytes.truncate(below(rng, bytes.len())),
        1 => {
            let (at, size) = (below(rng, bytes.len()), 1 + below(rng, 64));
            bytes.drain(at..(at + size).min(whole.len()));
        }
        2 => {
            let (at, from, size) = (below(rng, bytes.len()), below(rng, bytes.len()), 1 + below(rng, 64));
            let part = whole[from..(from + size).min(whole.len())].to_vec();
            bytes.splice(at..at, part);
        }
        _ => {
            for _ in 0..[1, 1, 1, 2, 4, 16][below(rng, 6)] {
                let at = below(rng, bytes.len());
                bytes[at] = match below(rng, 4) {
                    0 => 0,
                    1 => 255,
                    2 => below(rng, 256) as u8,
                    _ => bytes[at] ^ 1 << below(rng, 8),
                };
            }
        }
    }
    if below(rng, 2) == 0 {
        fit_head(&mut bytes, file);
    }
    bytes
}

fn fit_head(bytes: &mut [u8], file: &File) {
    let Some(length) = bytes.get(file.length..file.length + 8) else { return };
    let length = u64::from_le_bytes(length.try_into().expect("eight bytes"));
    let Some(head) = usize::try_from(length).ok().and_then(|length| bytes.get(..length)) else { return };
    let mut head = head.to_vec();
    if let Some(field) = head.get_mut(file.hash..file.hash + 8) {
        field.fill(0);
        bytes[file.hash..file.hash + 8].copy_from_slice(&block(&head).to_le_bytes());
    }
}

/// Whether the model translates.
fn answers(folder: &Path) -> bool {
    let path = |name: &str| folder.join(name).display().to_string();
    let part = |kind: &str, name: &str, options: &[(&str, &str)]| Part {
        kind: kind.to_owned(),
        name: name.to_owned(),
        options: options.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect(),
    };
    let parts = [
        part("scores", "TM", &[("table", "0"), ("columns", "p"), ("group", "TM")]),
        part("lm", "LM", &[("path", &path("hash.lm"))]),
        part("lm", "LM2", &[("path", &path("compact.lm"))]),
        part("distortion", "D", &[]),
        part("reordering", "RM", &[("table", "0"), ("model", "hier"), ("top", "stack")]),
        part("word-penalty", "WP", &[]),
        part("unknown-penalty", "UP", &[]),
    ];
    let Ok(system) = System::open(&[path("rules")], &parts) else { return false };
    let Ok(weights) = system.weights(None, &vec![0.3; system.dense()]) else { return false };
    let limits = Limits {
        stack: 20,
        pops: 40,
        threshold: f32::INFINITY,
        distortion: Some(3),
        deadline: None,
        stop: None,
        memory: 1 << 26,
        keep: true,
    };
    let choice = Choice { limit: 20, drop_unknown: false };
    let settings = Settings { limits, choice, size: 3, distinct: true, features: true, explain: false };
    LINES.iter().all(|line| translate(&system, &Input::plain(line), &weights, &settings, None).is_ok())
}

#[test]
fn damaged_tables_answer() {
    let number = |name: &str, usual: u64| std::env::var(name).map_or(usual, |text| text.parse().unwrap());
    let (cases, seed) = (number("FUZZ_CASES", 6_000), number("FUZZ_SEED", 1));
    let folder = tempfile::tempdir().unwrap();
    build(folder.path());
    assert!(answers(folder.path()), "the whole one translates");
    for (number, file) in FILES.iter().enumerate() {
        let path = folder.path().join(file.name);
        let whole = std::fs::read(&path).unwrap();
        let mut rng = stream(seed, number as u64);
        let (mut translated, count) = (0, cases / FILES.len() as u64);
        for case in 0..count {
            let bytes = mutated(&whole, file, &mut rng);
            std::fs::remove_file(&path).unwrap(); // a file that is cut and written again is flushed to the disk
            std::fs::write(&path, &bytes).unwrap();
            let begin = Instant::now();
            let answer = catch_unwind(AssertUnwindSafe(|| answers(folder.path())));
            assert!(answer.is_ok(), "{}: case {case} of seed {seed} panicked", file.name);
            assert!(begin.elapsed() < LONGEST, "{}: case {case} of seed {seed} took too long", file.name);
            translated += u64::from(answer.unwrap_or(false));
        }
        println!("{}: {translated} of {count} translated, the others were refused", file.name);
        assert!(translated > 0 && translated < count, "some damage is seen, some is not");
        std::fs::write(&path, &whole).unwrap();
    }
}
