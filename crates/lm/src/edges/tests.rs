use super::*;
use crate::{Grams, Kind, Ngrams};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A model whose n-grams are those given, with all their beginnings but not with all their endings.
fn model(order: usize, words: u32, given: &[Vec<u32>], numbers: &[f32], kind: Kind) -> Model {
    let mut ngrams = Ngrams::default();
    for word in 0..words {
        ngrams.names.intern(&format!("w{word}"));
    }
    let mut all: BTreeSet<Vec<u32>> = (0..words + 3).map(|word| vec![word]).collect();
    for gram in given {
        for end in 1..=gram.len().min(order) {
            all.insert(gram[..end].to_vec());
        }
    }
    let mut at = 0;
    let mut number = || {
        at += 1;
        numbers[at % numbers.len()]
    };
    for length in 1..=order {
        let mut grams = Grams::default();
        for gram in all.iter().filter(|gram| gram.len() == length) {
            grams.words.extend(gram);
            grams.probabilities.push(number() - 1.0);
            // Some n-grams have no back-off weight, so that not all of them are nodes.
            let backoff = number();
            grams.backoffs.push(if length == order || backoff < -1.4 { 0.0 } else { backoff });
        }
        ngrams.orders.push(grams);
    }
    Model::from_ngrams(&ngrams, kind, "").unwrap()
}

/// The fringe and the log probability of some words, put together in an order that `cuts` says.
fn tree(fringes: &mut Fringes<'_>, words: &[u32], cuts: &mut impl Iterator<Item = usize>) -> (f64, Fringe) {
    match words {
        [] => (0.0, fringes.empty()),
        [word] => {
            let (log, fringe) = fringes.push(fringes.empty(), *word);
            (f64::from(log), fringe)
        }
        _ => {
            let cut = cuts.next().unwrap_or(0) % (words.len() + 1);
            // A cut at an end would go on for ever: there the last word is put behind the others.
            if cut == 0 || cut == words.len() {
                let (log, fringe) = tree(fringes, &words[..words.len() - 1], cuts);
                let (more, fringe) = fringes.push(fringe, words[words.len() - 1]);
                return (log + f64::from(more), fringe);
            }
            let (first, left) = tree(fringes, &words[..cut], cuts);
            let (second, right) = tree(fringes, &words[cut..], cuts);
            let (more, fringe) = fringes.join(left, right);
            (first + second + f64::from(more), fringe)
        }
    }
}

fn in_order(model: &Model, words: &[u32]) -> f64 {
    let (mut sum, mut state) = (0.0, model.start());
    for &word in words.iter().chain([&crate::EOS]) {
        let (log, next) = model.score(&state, word);
        sum += f64::from(log);
        state = next;
    }
    sum
}

/// Order, n-grams, numbers, sentences, cuts, whether the table is compact.
type Case = (usize, Vec<Vec<u32>>, Vec<f32>, Vec<Vec<u32>>, Vec<usize>, bool);

fn case() -> impl Strategy<Value = Case> {
    let gram = prop::collection::vec(1u32..7, 2..6);
    (
        2usize..=5,
        prop::collection::vec(gram, 0..40),
        prop::collection::vec(-2.0f32..0.0, 5..40),
        prop::collection::vec(prop::collection::vec(3u32..8, 0..10), 1..20),
        prop::collection::vec(0usize..100, 1..40),
        any::<bool>(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// However a sentence is put together, its score is that of reading it from left to right.
    #[test]
    fn trees_score_as_strings((order, grams, numbers, sentences, cuts, small) in case()) {
        let kind = if small { Kind::Compact(12) } else { Kind::Hash };
        let model = model(order, 5, &grams, &numbers, kind);
        let extended = Extended::new(&model);
        for memory in [1, 1 << 10] {
            let mut fringes = Fringes::new(&model, &extended, memory);
            let mut cuts = cuts.iter().copied().cycle();
            for words in &sentences {
                let (log, fringe) = tree(&mut fringes, words, &mut cuts);
                prop_assert_eq!(Fringe::from_bytes(fringe.to_bytes()), fringe);
                let (more, whole) = fringes.join(fringes.start(), fringe);
                let found = log + f64::from(more) + f64::from(fringes.finish(whole));
                let want = in_order(&model, words);
                prop_assert!((found - want).abs() < 1e-4, "{:?}: {} for {}", words, found, want);
            }
        }
    }

    /// What is kept of the left edge is no longer than what the model can still see: no n-gram ends with more.
    #[test]
    fn left_edges_are_as_short_as_can_be((order, grams, numbers, sentences, _, _) in case()) {
        let model = model(order, 5, &grams, &numbers, Kind::Hash);
        let extended = Extended::new(&model);
        let mut fringes = Fringes::new(&model, &extended, 64);
        let known: BTreeSet<Vec<u32>> =
            grams.iter().flat_map(|g| (2..=g.len().min(order)).map(|end| g[..end].to_vec())).collect();
        for words in &sentences {
            let fringe = words.iter().fold(fringes.empty(), |fringe, &word| fringes.push(fringe, word).1);
            let seen = |length: usize| known.iter().any(|g| g.len() > length && g.ends_with(&words[..length]));
            let want = (1..=words.len()).take_while(|&length| seen(length)).count();
            prop_assert_eq!(usize::from(fringes.prefixes[fringe.prefix() as usize].length), want);
            prop_assert_eq!(fringe.closed(), want < words.len() || want >= order - 1);
        }
    }
}
