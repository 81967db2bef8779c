//! Damaged language models in a chart: fragments are scored and joined, which looks at all n-grams first. Whatever the
//! bytes say, there is an answer or an error. `crates/phrase/tests/damaged.rs` does the same for stacks of hypotheses.
//!
//! Deterministic. `FUZZ_CASES` sets the number of cases of both forms together, `FUZZ_SEED` the seed.

use dragoman_base::Texts;
use dragoman_base::hash::block;
use dragoman_base::random::{Generator, below, stream};
use dragoman_lm::edges::{Extended, Fringe, Fringes};
use dragoman_lm::estimate::{Options, Source, estimate};
use dragoman_lm::{Kind, Model, Ngrams};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

fn ngrams() -> Ngrams {
    let lines: Texts = ["s t u v", "s t w", "t u v s", "w s t u", "v v s t u"].into_iter().collect();
    let options = Options {
        order: 4,
        memory: 1 << 20,
        scratch: None,
        prune: vec![0, 0, 1],
        fallback: Some([0.5, 1.0, 1.5]),
        skip_symbols: false,
    };
    let mut ngrams = Ngrams::default();
    estimate(Source::Lines(&lines), &options, &mut ngrams).unwrap();
    ngrams
}

/// A few bytes changed; the head's hash is made to fit.
fn mutated(whole: &[u8], rng: &mut Generator) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for _ in 0..[1, 1, 2, 4, 16][below(rng, 5)] {
        let at = below(rng, bytes.len());
        bytes[at] = [0, 255, below(rng, 256) as u8, bytes[at] ^ 1 << below(rng, 8)][below(rng, 4)];
    }
    let length = u64::from_le_bytes(bytes[32..40].try_into().unwrap());
    if let Some(head) = usize::try_from(length).ok().and_then(|length| bytes.get(..length))
        && head.len() >= 56
    {
        let mut head = head.to_vec();
        head[48..56].fill(0);
        bytes[48..56].copy_from_slice(&block(&head).to_le_bytes());
    }
    bytes
}

/// Whether the model answers: fragments of random words, joined at random.
fn answers(path: &Path, rng: &mut Generator) -> bool {
    let Ok(model) = Model::open(&path.display().to_string()) else { return false };
    let extended = Extended::new(&model);
    let mut fringes = Fringes::new(&model, &extended, 64);
    let mut made: Vec<Fringe> = vec![fringes.start()];
    for _ in 0..12 {
        let mut fringe = fringes.empty();
        for _ in 0..=below(rng, 4) {
            fringe = fringes.push(fringe, model.word(["s", "t", "u", "v", "x"][below(rng, 5)])).1;
        }
        let other = made[below(rng, made.len())];
        made.push(fringe);
        made.push(fringes.join(other, fringe).1);
    }
    for fringe in made {
        fringes.finish(fringe);
    }
    true
}

#[test]
fn damaged_models_answer_in_a_chart() {
    let number = |name: &str, usual: u64| std::env::var(name).map_or(usual, |text| text.parse().unwrap());
    let (cases, seed) = (number("FUZZ_CASES", 4_000), number("FUZZ_SEED", 1));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lm");
    for (place, kind) in [Kind::Hash, Kind::Compact(8)].into_iter().enumerate() {
        Model::from_ngrams(&ngrams(), kind, "").unwrap().save(&path.display().to_string()).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let mut rng = stream(seed, place as u64);
        assert!(answers(&path, &mut rng), "the whole one answers");
        let mut answered = 0;
        for case in 0..cases / 2 {
            let bytes = mutated(&whole, &mut rng);
            std::fs::remove_file(&path).unwrap();
            std::fs::write(&path, &bytes).unwrap();
            let answer = catch_unwind(AssertUnwindSafe(|| answers(&path, &mut rng)));
            assert!(answer.is_ok(), "{kind:?}: case {case} of seed {seed} panicked");
            answered += u64::from(answer.unwrap_or(false));
        }
        println!("{kind:?}: {answered} of {} answered, the others were refused", cases / 2);
        assert!(answered > 0);
    }
}
