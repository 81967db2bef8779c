//! A language model above 256 MB: opened without being read, and asked after bytes of it were changed. The model takes
//! half a minute and a gigabyte to make: `make test-long` asks for it.

use dragoman_base::random::{Generator, below, stream};
use dragoman_lm::{BOS, Grams, Kind, Model, Ngrams};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

const WORDS: usize = 60_000;
/// Bigrams and trigrams of each word.
const NEXT: usize = 100;

/// Bigrams and trigrams of random words, sorted as models have them.
fn ngrams() -> Ngrams {
    let mut rng = stream(3, 0);
    let mut made = Ngrams::default();
    for word in 3..WORDS {
        made.names.intern(&format!("w{word}"));
    }
    let mut orders = vec![Grams::default(), Grams::default(), Grams::default()];
    for word in 0..WORDS as u32 {
        orders[0].words.push(word);
        let mut next: Vec<u32> = (0..NEXT).map(|_| below(&mut rng, WORDS) as u32).collect();
        next.sort_unstable();
        next.dedup();
        next.retain(|&id| id != BOS);
        for &second in &next {
            orders[1].words.extend([word, second]);
            orders[2].words.extend([word, second, below(&mut rng, WORDS - 3) as u32 + 3]);
        }
    }
    for (order, grams) in (1..).zip(&mut orders) {
        let count = grams.words.len() / order;
        grams.probabilities = (0..count).map(|_| -(below(&mut rng, 5000) as f32) / 1000.0).collect();
        grams.backoffs = (0..count).map(|_| if order < 3 { -0.3 } else { 0.0 }).collect();
    }
    made.orders = orders;
    made
}

/// Asks for sentences of random words; damaged or not, there is an answer for each.
fn ask(model: &Model, rng: &mut Generator) {
    for _ in 0..20 {
        let mut state = model.start();
        for _ in 0..20 {
            let word = model.word(&format!("w{}", 3 + below(rng, WORDS)));
            state = model.in_use().score(&state, word).1;
            model.score_full(&state, word);
            let _ = model.name(word);
        }
    }
}

/// Kilobytes of a mapped file that are in memory.
#[cfg(target_os = "linux")]
fn resident(path: &Path) -> usize {
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let mine = maps.split_once(&path.display().to_string()).expect("it is mapped").1;
    let line = mine.lines().find(|line| line.starts_with("Rss:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
#[ignore = "it takes half a minute; see above"]
fn a_large_model_opens_unread_and_answers_when_it_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.lm");
    let name = path.display().to_string();
    Model::from_ngrams(&ngrams(), Kind::Hash, "").unwrap().save(&name).unwrap();
    let length = std::fs::metadata(&path).unwrap().len();
    assert!(length > 256 << 20, "{length} bytes are too few for this test");
    let opened = Model::open(&name).unwrap();
    #[cfg(target_os = "linux")]
    {
        let seen = resident(&path);
        println!("{} MB, of which opening looked at {seen} kB", length >> 20);
        assert!(seen < 8192, "opening has read {seen} kB");
    }
    opened.verify().unwrap();
    drop(opened);

    let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let (mut rng, mut refused) = (stream(5, 0), 0);
    for case in 0..1000 {
        // A tenth of all damage is in the first bytes; the rest anywhere.
        let reach = if case % 10 == 0 { 4096 } else { length as usize - 4096 };
        let places: Vec<u64> = (0..[1, 16, 4096][case % 3]).map(|_| below(&mut rng, reach) as u64).collect();
        let mut before = Vec::new();
        for &at in &places {
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            before.push(byte);
            let new = [0, 255, byte[0] ^ 1, below(&mut rng, 256) as u8][below(&mut rng, 4)];
            file.write_all_at(&[new], at).unwrap();
        }
        let answer = catch_unwind(AssertUnwindSafe(|| match Model::open(&name) {
            Ok(model) => ask(&model, &mut rng),
            Err(_) => refused += 1,
        }));
        assert!(answer.is_ok(), "case {case} panicked");
        for (&at, byte) in places.iter().zip(before).rev() {
            file.write_all_at(&byte, at).unwrap();
        }
    }
    println!("{refused} of 1000 were refused when they were opened");
    assert!(refused > 0 && refused < 1000);
    Model::open(&name).unwrap().verify().unwrap();
}
