//! Tables against a plain map: what is written is read, and damage is told.

use dragoman_base::Texts;
use dragoman_rules::table::Rule;
use dragoman_rules::{Builder, Form, ImportOptions, Table, import};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

/// Source phrase and target phrase to links and scores.
type Rules = BTreeMap<(Vec<u32>, Vec<u32>), (Vec<[u8; 2]>, Vec<f32>)>;

fn phrase(vocabulary: u32) -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(0..vocabulary, 1..5)
}

fn rules() -> impl Strategy<Value = Rules> {
    let links = prop::collection::vec([0..4u8, 0..4u8], 0..4);
    let scores = prop::collection::vec(-9.0f32..0.0, 3);
    prop::collection::btree_map((phrase(6), phrase(5)), (links, scores), 0..60)
}

fn words(prefix: &str, count: u32) -> Texts {
    (0..count).map(|i| format!("{prefix}é{i}")).collect()
}

fn write(path: &Path, rules: &Rules) {
    let columns = ["a", "b", "c"].map(str::to_owned);
    let mut builder = Builder::create(path, &columns, "{\"x\": 1}").unwrap();
    for ((source, target), (links, scores)) in rules {
        builder.push(Rule { source, target, links, scores }).unwrap();
    }
    builder.finish(&words("f", 6), &words("e", 5)).unwrap();
}

fn read(table: &Table) -> Rules {
    let mut rules = Rules::new();
    table
        .walk(|source, range| {
            for rule in range {
                let value = (table.links(rule).to_vec(), table.scores(rule).to_vec());
                assert!(rules.insert((source.to_vec(), table.target(rule).to_vec()), value).is_none());
            }
            Ok(())
        })
        .unwrap();
    rules
}

/// Asks a table everything; for damaged files, which may answer what they like but must not crash.
fn ask(table: &Table) {
    let _ = table.verify();
    let mut open = vec![(table.root(), 0)];
    while let Some((node, depth)) = open.pop() {
        for rule in table.rules(node) {
            let _ = (table.target(rule), table.links(rule), table.scores(rule));
            for &word in table.target(rule) {
                let _ = table.target_text(word);
            }
        }
        if depth < 3 {
            open.extend((0..7).filter_map(|word| table.child(node, word)).map(|child| (child, depth + 1)));
        }
    }
    for id in [0, 3, 6, u32::MAX] {
        let _ = (table.source_word(table.source_text(id)), table.target_word(table.target_text(id)));
    }
    let mut steps = 0;
    let _ = table.walk(|_, _| {
        steps += 1;
        if steps < 1000 { Ok(()) } else { Err(dragoman_base::Error::Invalid(String::new())) }
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn round_trip(rules in rules()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        write(&path, &rules);
        prop_assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        let table = Table::open(&path).unwrap();
        table.verify().unwrap();
        prop_assert_eq!(&read(&table), &rules);
        prop_assert_eq!(table.len(), rules.len());
        prop_assert_eq!(table.columns(), ["a", "b", "c"]);
        prop_assert_eq!(table.meta(), "{\"x\": 1}");
        prop_assert_eq!(table.longest_source(), rules.keys().map(|k| k.0.len()).max().unwrap_or(0));
        for i in 0..6 {
            let word = format!("fé{i}");
            prop_assert_eq!(table.source_word(&word), Some(i));
            prop_assert_eq!(table.source_text(i), word);
        }
        prop_assert_eq!(table.source_word("eé1"), None);
        prop_assert_eq!(table.target_word("eé4"), Some(4));
        prop_assert_eq!((table.source_words(), table.target_words()), (6, 5));
    }

    #[test]
    fn look_up_finds_what_is_there_and_nothing_else(rules in rules(), asked in prop::collection::vec(phrase(7), 30)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        write(&path, &rules);
        let table = Table::open(&path).unwrap();
        for source in asked.iter().chain(rules.keys().map(|k| &k.0)) {
            let want: Vec<_> = rules.keys().filter(|k| &k.0 == source).map(|k| k.1.clone()).collect();
            let begins = rules.keys().any(|k| k.0.starts_with(source));
            let node = table.find(source);
            prop_assert_eq!(node.is_some(), begins);
            let found: Vec<_> =
                node.map_or(0..0, |n| table.rules(n)).map(|rule| table.target(rule).to_vec()).collect();
            prop_assert_eq!(found, want);
        }
    }

    #[test]
    fn damaged_files_never_crash(rules in rules(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        write(&path, &rules);
        let whole = std::fs::read(&path).unwrap();
        let mut bytes = whole.clone();
        for (at, byte) in &changes {
            bytes[at.index(whole.len())] ^= byte;
        }
        std::fs::write(&path, &bytes).unwrap();
        if let Ok(table) = Table::open(&path) {
            ask(&table);
            if table.verify().is_ok() {
                // Only padding between sections may differ.
                prop_assert_eq!(&read(&table), &rules);
            }
        }
        let cut = changes[0].0.index(whole.len());
        std::fs::write(&path, &whole[..cut]).unwrap();
        prop_assert!(Table::open(&path).is_err());
    }
}

fn import_text(rules: &str, reordering: &[&str], memory: usize) -> dragoman_base::Result<(Vec<u8>, String)> {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("rules"), rules).unwrap();
    let mut tables = Vec::new();
    for (i, text) in reordering.iter().enumerate() {
        std::fs::write(path(&i.to_string()), text).unwrap();
        tables.push((format!("m{i}"), path(&i.to_string())));
    }
    let out = folder.path().join("out");
    let options = ImportOptions {
        rules: path("rules"),
        form: Form::Phrases,
        reordering: tables,
        columns: None,
        out: out.clone(),
        meta: String::new(),
        memory,
    };
    let report = import(&options)?;
    Ok((std::fs::read(out).unwrap(), format!("{report:?}")))
}

#[test]
fn import_joins_by_phrase_pair() {
    let rules =
        "b ||| y ||| 0.5 0 ||| 0-0 ||| 1 1 1 ||| |||\na b ||| x ||| 1 0.25\na ||| x y ||| 1 1 ||| 0-0 0-1\n";
    let table = "a b ||| x ||| 1 0.5 0.25 1 1 1\na ||| z ||| 1 1 1 1 1 1\nb ||| x ||| 1 1 1 1 1 1\n";
    let (bytes, report) = import_text(rules, &[table], 1 << 20).unwrap();
    assert!(report.contains("rules: 3, phrases: 3, repeated: 0, missing: [2], unused: [2]"), "{report}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    std::fs::write(&path, &bytes).unwrap();
    let table = Table::open(&path).unwrap();
    table.verify().unwrap();
    assert_eq!(table.columns()[..3], ["s1", "s2", "m0.previous.M"]);
    let id = |word| table.source_word(word).unwrap();
    let node = table.find(&[id("a"), id("b")]).unwrap();
    let rule = table.rules(node).start;
    assert_eq!(table.rules(node).len(), 1);
    assert_eq!(table.scores(rule), [0.0, 0.25f32.ln(), 0.0, 0.5f32.ln(), 0.25f32.ln(), 0.0, 0.0, 0.0]);
    let node = table.find(&[id("b")]).unwrap();
    let rule = table.rules(node).start;
    assert_eq!(table.scores(rule)[..3], [0.5f32.ln(), -100.0, 0.0]);
    assert_eq!(table.links(rule), [[0, 0]]);
    assert_eq!(table.target_text(table.target(rule)[0]), "y");
    let small = import_text(
        rules,
        &["a b ||| x ||| 1 0.5 0.25 1 1 1\na ||| z ||| 1 1 1 1 1 1\nb ||| x ||| 1 1 1 1 1 1\n"],
        1,
    );
    assert_eq!(small.unwrap().0, bytes, "the memory does not show");
}

#[test]
fn import_tells_what_is_wrong_and_where() {
    let long = vec!["a"; 256].join(" ");
    for (rules, reordering, want) in [
        ("a ||| b ||| 1\na ||| b\n", "", "rules:2: expected source ||| target ||| scores"),
        ("a ||| b ||| 1\na ||| c ||| 1 2\n", "", "rules:2: expected 1 scores, as before"),
        ("a ||| b ||| -1\n", "", "rules:1: expected a probability"),
        ("a ||| b ||| nan\n", "", "rules:1: expected a probability"),
        ("a ||| b ||| 1 ||| 0-1\n", "", "rules:1: expected links within 1 and 1 words, found `0-1`"),
        ("a ||| b ||| 1 ||| 0:1\n", "", "rules:1: expected links i-j, found `0:1`"),
        (
            " ||| b ||| 1\n",
            "",
            "rules:1: expected a phrase of 1 to 255 words on both sides, found 0 in nothing",
        ),
        (&format!("{long} ||| b ||| 1\n"), "", "found 256 in"),
        ("a ||| b ||| 1\n", "a ||| b ||| 1 2 3\n", "0:1: expected six numbers"),
        ("a ||| b ||| 1\n", "a ||| b\n", "0:1: expected source ||| target ||| six numbers"),
    ] {
        let message = import_text(rules, &[reordering], 1 << 20).unwrap_err().to_string();
        assert!(message.contains(want), "{message}");
    }
    assert!(
        import_text("a ||| b ||| 1\na ||| b ||| 0.5\n", &[], 9)
            .unwrap()
            .1
            .contains("rules: 1, phrases: 1, repeated: 1")
    );
}
