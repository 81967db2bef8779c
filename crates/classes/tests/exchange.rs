//! The kernels against plain versions that count everything anew.

use dragoman_base::Texts;
use dragoman_classes::state::Scratch;
use dragoman_classes::{Counts, Options, State, cluster};
use proptest::prelude::*;
use std::collections::HashMap;

/// Log-likelihood from the text alone: log p(c | c') + log p(w | c) of every word, and of every end.
fn slow(lines: &[Vec<u8>], class: impl Fn(u8) -> u32) -> f64 {
    let (mut pairs, mut left, mut total, mut words) =
        (HashMap::new(), HashMap::new(), HashMap::<_, f64>::new(), HashMap::new());
    let mut events = Vec::new();
    for line in lines.iter().filter(|line| !line.is_empty()) {
        let mut last = None;
        for &word in line {
            let c = Some(class(word));
            *words.entry(word).or_insert(0.0) += 1.0;
            *total.entry(c).or_insert(0.0) += 1.0;
            events.push((last, c, Some(word)));
            last = c;
        }
        events.push((last, None, None));
    }
    for &(a, b, _) in &events {
        *pairs.entry((a, b)).or_insert(0.0) += 1.0;
        *left.entry(a).or_insert(0.0) += 1.0;
    }
    let log = |&(a, b, word): &(Option<u32>, Option<u32>, Option<u8>)| {
        let emitted: f64 = word.map_or(0.0, |w| (words[&w] / total[&b]).ln());
        let followed: f64 = pairs[&(a, b)] / left[&a];
        followed.ln() + emitted
    };
    events.iter().map(log).sum()
}

fn text(lines: &[Vec<u8>]) -> Texts {
    let word = |w: &u8| format!("w{w:02}");
    lines.iter().map(|line| line.iter().map(word).collect::<Vec<_>>().join(" ")).collect()
}

/// The number of each word that occurs, in byte order of its name.
fn ids(counts: &Counts) -> Vec<u8> {
    counts.words.iter().map(|word| word[1..].parse().unwrap()).collect()
}

fn lines() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(0u8..12, 0..12), 1..30)
        .prop_filter("words", |lines| lines.iter().any(|l| !l.is_empty()))
}

proptest! {
    #[test]
    fn gains_are_differences_of_likelihoods(
        lines in lines(), size in 1usize..6, classes in prop::collection::vec(0u32..6, 12), moves in any::<u64>(),
    ) {
        let counts = Counts::of_texts(&text(&lines), None).unwrap();
        let ids = ids(&counts);
        let mut classes: Vec<u32> = ids.iter().map(|&id| classes[id as usize] % size as u32).collect();
        let mut state = State::new(&counts, size, classes.clone());
        let value = |classes: &[u32]| {
            slow(&lines, |word| classes[ids.iter().position(|&id| id == word).unwrap()])
        };
        prop_assert!((state.likelihood() - value(&classes)).abs() < 1e-8);
        let mut scratch = Scratch::new(size);
        let mut other = Scratch::new(size);
        for word in 0..counts.len() {
            let (here, before) = (classes[word], value(&classes));
            state.evaluate(word as u32, &mut scratch);
            for to in 0..size {
                classes[word] = to as u32;
                let truth = value(&classes) - before;
                let gain = scratch.gains[to] - scratch.gains[here as usize];
                prop_assert!((gain - truth).abs() < 1e-8, "word {} to {}: {} not {}", word, to, gain, truth);
                let exact = state.delta(word as u32, to as u32, &mut other);
                prop_assert!((exact - truth).abs() < 1e-8);
            }
            classes[word] = ((moves >> (word * 5)) % size as u64) as u32;
            state.delta(word as u32, classes[word], &mut other);
            state.shift(word as u32, classes[word], &other);
            prop_assert_eq!(state.classes(), &classes[..]);
            prop_assert!((state.likelihood() - value(&classes)).abs() < 1e-8);
        }
    }

    #[test]
    fn what_is_found_cannot_be_bettered_by_one_move(lines in lines(), size in 1usize..5, seed in 0u64..4) {
        let counts = Counts::of_texts(&text(&lines), None).unwrap();
        let options = Options { classes: size, starts: Some(3), core: 6, sweeps: 4, cooling: 3, seed, ..Options::default() };
        let found = cluster(&counts, &options, &|| true).unwrap();
        let state = State::new(&counts, size, found.classes.clone());
        prop_assert!((state.likelihood() - found.likelihood).abs() < 1e-9);
        prop_assert!(state.totals().windows(2).all(|w| w[0] >= w[1]));
        let mut scratch = Scratch::new(size);
        for word in 0..counts.len() as u32 {
            for to in 0..size as u32 {
                prop_assert!(state.delta(word, to, &mut scratch) < 1e-6);
            }
        }
    }

    #[test]
    fn the_core_sees_other_words_as_boundaries(lines in lines(), size in 1usize..8) {
        let counts = Counts::of_texts(&text(&lines), None).unwrap();
        let core = counts.core(size);
        let (ids, kept) = (ids(&counts), ids(&core.counts));
        prop_assert_eq!(&kept, &core.words.iter().map(|&w| ids[w as usize]).collect::<Vec<_>>());
        let pieces: Vec<Vec<u8>> = lines.iter()
            .flat_map(|line| line.split(|word| !kept.contains(word)).map(<[u8]>::to_vec))
            .collect();
        let plain = Counts::of_texts(&text(&pieces), None).unwrap();
        prop_assert_eq!(&core.counts.unigrams, &plain.unigrams);
        for word in 0..kept.len() as u32 {
            prop_assert_eq!(core.counts.before.of(word).collect::<Vec<_>>(), plain.before.of(word).collect::<Vec<_>>());
            prop_assert_eq!(core.counts.after.of(word).collect::<Vec<_>>(), plain.after.of(word).collect::<Vec<_>>());
        }
    }
}

/// A language of four groups of words, in which each group follows another.
fn made(sentences: usize) -> Texts {
    let mut rng = dragoman_base::random::stream(5, 5);
    let mut line = || {
        let length = 3 + dragoman_base::random::below(&mut rng, 6);
        let first = dragoman_base::random::below(&mut rng, 4);
        let mut word =
            |k: usize| format!("g{}x{}", (first + k) % 4, dragoman_base::random::below(&mut rng, 150));
        (0..length).map(&mut word).collect::<Vec<_>>().join(" ")
    };
    (0..sentences).map(|_| line()).collect()
}

#[test]
fn finds_the_groups_of_a_made_language_on_any_number_of_threads() {
    let counts = Counts::of_texts(&made(4000), None).unwrap();
    let with = |classes: usize, threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let options = Options { classes, starts: Some(4), seed, ..Options::default() };
        pool.install(|| cluster(&counts, &options, &|| true).unwrap())
    };
    // With seven classes for four groups there is no single answer, so that chance shows.
    let seven = with(7, 1, 0);
    assert_eq!(seven, with(7, 3, 0));
    assert_ne!(seven.classes, with(7, 1, 1).classes);
    let found = with(4, 2, 0);
    let mut groups: HashMap<(&str, u32), usize> = HashMap::new();
    for (word, &class) in counts.words.iter().zip(&found.classes) {
        *groups.entry((&word[..2], class)).or_default() += 1;
    }
    assert_eq!(groups.len(), 4, "{groups:?}");
}

#[test]
fn refuses_what_makes_no_sense() {
    let counts = Counts::of_texts(&["a b a"].into_iter().collect(), None).unwrap();
    let with = |classes| Options { classes, ..Options::default() };
    for classes in [0, 40_000] {
        let message = cluster(&counts, &with(classes), &|| true).unwrap_err().to_string();
        assert!(message.contains("expected 1 to 32768 classes"), "{message}");
    }
    assert!(cluster(&counts, &with(2), &|| false).unwrap_err().to_string().contains("interrupted"));
    let none = Counts::of_texts(&["", "  "].into_iter().collect(), None).unwrap();
    assert!(cluster(&none, &with(2), &|| true).unwrap_err().to_string().contains("found none"));
    // More classes than words: every word has its own.
    let found = cluster(&counts, &with(9), &|| true).unwrap();
    assert_ne!(found.classes[0], found.classes[1]);
}

#[test]
fn factors() {
    let texts: Texts = ["Ein|DET Haus|NN", "ein|DET"].into_iter().collect();
    let words = |factor| Counts::of_texts(&texts, factor).unwrap().words;
    assert_eq!(words(None).len(), 3);
    assert_eq!(words(Some(1)).iter().collect::<Vec<_>>(), ["DET", "NN"]);
    let message = Counts::of_texts(&texts, Some(2)).unwrap_err().to_string();
    assert!(message.contains("text:1: expected tokens with a factor number 2"), "{message}");
    assert!(message.contains("found `Ein|DET`"), "{message}");
}
