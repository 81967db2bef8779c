//! Rules on demand against whole tables: with all samples the same rules and counts, without a pair those of the rest.

use dragoman_rules::extract::{
    Index, Limits, Options, ReorderingSmoothing, Sampling, Scores, Smoothing, extract,
};
use dragoman_rules::{RuleSource, Table, gap};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Words and links of a sentence pair.
type Pair = (Vec<u8>, Vec<u8>, Vec<(usize, usize)>);
/// Source and target as people read them, to the count and links.
type Rules = BTreeMap<(String, String), (String, Vec<[u8; 2]>)>;

fn pair() -> impl Strategy<Value = Pair> {
    let side = |letters: std::ops::Range<u8>| prop::collection::vec(letters, 1..8);
    let cells = prop::collection::vec((0..8usize, 0..8usize), 0..9);
    (side(b'a'..b'd'), side(b'x'..b'{'), cells).prop_map(|(source, target, cells)| {
        let inside = cells.into_iter().filter(|&(i, j)| i < source.len() && j < target.len()).collect();
        (source, target, inside)
    })
}

fn text(words: &[u8]) -> String {
    words.iter().map(|&word| char::from(word).to_string()).collect::<Vec<_>>().join(" ")
}

fn options(folder: &Path, pairs: &[Pair], limits: &Limits) -> Options {
    let write = |name: &str, lines: Vec<String>| {
        std::fs::write(folder.join(name), lines.join("\n") + "\n").unwrap();
        folder.join(name).display().to_string()
    };
    let links = |links: &[(usize, usize)]| {
        let pairs: Vec<String> = links.iter().map(|(i, j)| format!("{i}-{j}")).collect();
        pairs.join(" ")
    };
    Options {
        source: write("f", pairs.iter().map(|pair| text(&pair.0)).collect()),
        target: write("e", pairs.iter().map(|pair| text(&pair.1)).collect()),
        links: write("a", pairs.iter().map(|pair| links(&pair.2)).collect()),
        out: folder.join("table"),
        meta: String::new(),
        length: limits.span,
        gaps: Some(limits.clone()),
        least: 1,
        scores: if limits.fractional { Scores::Moses } else { Scores::Cdec },
        filter: Vec::new(),
        longest: 100,
        tags: None,
        models: Vec::new(),
        share: 1.0,
        moses_next: false,
        smoothing: Smoothing::None,
        reordering: ReorderingSmoothing::Constant(0.5),
        orientation_counts: false,
        top: None,
        significance: None,
        lexical: None,
        memory: 1 << 20,
    }
}

/// Whether a source side can span some words of a line, by trying every filling of its gaps.
fn fits(source: &[&str], line: &[&str]) -> bool {
    match source.split_first() {
        None => line.is_empty(),
        Some((symbol, rest)) if symbol.starts_with('[') => {
            (1..=line.len()).any(|count| fits(rest, &line[count..]))
        }
        Some((word, rest)) => line.first() == Some(word) && fits(rest, &line[1..]),
    }
}

fn applies(source: &str, line: &str) -> bool {
    let (source, line): (Vec<&str>, Vec<&str>) = (source.split(' ').collect(), line.split(' ').collect());
    (0..line.len()).any(|from| (from..line.len()).any(|to| fits(&source, &line[from..=to])))
}

/// The rules of a table that can be used on a line.
fn whole(pairs: &[Pair], limits: &Limits, line: &str) -> Rules {
    let folder = tempfile::tempdir().unwrap();
    let options = options(folder.path(), pairs, limits);
    extract(&options).unwrap();
    let table = Table::open(&options.out).unwrap();
    let mut rules = Rules::new();
    table
        .walk(|source, range| {
            let source = gap::shown(source.iter().map(|&word| table.source_text(word)));
            for rule in range.filter(|_| applies(&source, line)) {
                let target = gap::shown(table.target(rule).iter().map(|&word| table.target_text(word)));
                let scores = table.scores(rule);
                let count = if limits.fractional { scores[4].exp() } else { 10f32.powf(scores[2]) - 1.0 };
                rules.insert((source.clone(), target), (format!("{count:.4}"), table.links(rule).to_vec()));
            }
            Ok(())
        })
        .unwrap();
    rules
}

fn index(pairs: &[Pair], limits: &Limits) -> Arc<Index> {
    let folder = tempfile::tempdir().unwrap();
    Arc::new(Index::read(&options(folder.path(), pairs, limits)).unwrap())
}

fn sampled(index: &Arc<Index>, line: &str, sampling: &Sampling) -> Rules {
    let grammar = index.grammar(line, sampling);
    let mut rules = Rules::new();
    grammar.walk(|source, range| {
        let node = grammar.find(source).unwrap();
        assert_eq!(grammar.rules(node), range);
        let source = gap::shown(source.iter().map(|&symbol| grammar.source_text(symbol)));
        for rule in range {
            let target = gap::shown(grammar.target(rule).iter().map(|&word| grammar.target_text(word)));
            let value = (format!("{:.4}", grammar.count(rule)), grammar.links(rule).to_vec());
            assert!(rules.insert((source.clone(), target), value).is_none());
        }
    });
    assert_eq!(rules.len(), grammar.len());
    rules
}

fn limits() -> impl Strategy<Value = Limits> {
    (2..9usize, 1..6usize, (1..3usize, 1..3usize), 0..3usize, any::<bool>(), any::<bool>()).prop_map(
        |(span, symbols, gap, gaps, tight, fractional)| Limits {
            span,
            symbols,
            gap,
            gaps,
            tight,
            fractional,
        },
    )
}

const ALL: Sampling = Sampling { samples: 0, reach: 100, leave_out: None };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn all_samples_give_the_rules_of_the_table(
        pairs in prop::collection::vec(pair(), 1..6),
        line in prop::collection::vec(b'a'..b'e', 1..8),
        limits in limits(),
    ) {
        let line = text(&line);
        prop_assert_eq!(sampled(&index(&pairs, &limits), &line, &ALL), whole(&pairs, &limits, &line));
    }

    #[test]
    fn a_pair_can_be_left_out(
        mut pairs in prop::collection::vec(pair(), 2..6), number in any::<prop::sample::Index>(), limits in limits()
    ) {
        let index = index(&pairs, &limits);
        let out = number.index(pairs.len());
        let line = text(&pairs[out].0);
        let found = sampled(&index, &line, &Sampling { leave_out: Some(out as u32), ..ALL });
        pairs.remove(out);
        prop_assert_eq!(found, whole(&pairs, &limits, &line));
    }

    #[test]
    fn samples_are_some_of_all(pairs in prop::collection::vec(pair(), 1..8), samples in 1..4usize) {
        let limits = Limits { span: 8, symbols: 5, gap: (1, 1), gaps: 2, tight: false, fractional: false };
        let index = index(&pairs, &limits);
        let line = text(&pairs[0].0);
        let all = sampled(&index, &line, &ALL);
        let some = Sampling { samples, ..ALL };
        let found = sampled(&index, &line, &some);
        prop_assert_eq!(&found, &sampled(&index, &line, &some), "the same each time");
        for (key, (count, _)) in &found {
            let (count, most): (f64, f64) = (count.parse().unwrap(), all[key].0.parse().unwrap());
            prop_assert!(count <= most);
        }
        let grammar = index.grammar(&line, &some);
        for rule in 0..grammar.len() as u32 {
            // log10(1 + samples)
            prop_assert!(10f32.powf(grammar.scores(rule)[1]) - 1.0 <= samples as f32 + 1e-3);
        }
    }
}
