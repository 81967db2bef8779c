//! Mutated lists: nothing panics, and whatever parses comes back from every format that can hold it.
//!
//! Deterministic. `FUZZ_CASES` sets the number of cases, `FUZZ_SEED` the seed.

mod common;

use common::{assert_same_columns, read, row, write};
use dragoman_base::Names;
use dragoman_base::random::{Generator, below, stream};
use dragoman_nbest::{Batch, Format, Reader};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Pieces that parsers stumble over.
const TOKENS: &[&str] = &[
    " ||| ",
    "|||",
    "||||",
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    "=",
    "= ",
    "==",
    ":",
    ": ",
    ";",
    "-",
    "0-0",
    "0-1=2-3",
    "1=2",
    "0-0 1-1",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "-0",
    "1e-400",
    "0.1",
    "1e5",
    "1e",
    ".",
    "+",
    "F",
    "F= 1 2",
    "TM",
    "TM= 1 2",
    "TM[0]=3",
    "TM[1]= 4",
    "TM[0]= 1",
    "LM= 1",
    "LM=1",
    "LM: 2 3",
    "a=1",
    "{",
    "}",
    "[",
    "]",
    ",",
    "\"",
    "\\",
    "\\u00e9",
    "\\ud83d\\ude00",
    "\\ud83d",
    "\"id\":",
    "\"id\":\"x\"",
    "\"text\":\"\"",
    "\"features\":{}",
    "\"features\":{\"TM\":[1,2]}",
    "\"sparse\":{\"a\":1}",
    "\"scores\":{\"C\":1}",
    "\"total\":1",
    "\"alignment\":\"0-0\"",
    "\"extra\":\"x\"",
    "\"extra\":\"0-0\"",
    "null",
    "true",
    "é",
    "\u{a0}",
    "\u{feff}",
    "0",
    "1",
    "18446744073709551616",
];

fn seeds() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/seeds");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// A random span of at most `longest` bytes.
fn span(rng: &mut Generator, bytes: &[u8], longest: usize) -> std::ops::Range<usize> {
    let start = below(rng, bytes.len() + 1);
    start..(start + below(rng, longest + 1)).min(bytes.len())
}

/// The span of a random item: what stands between blanks, quotes, commas and line ends.
fn item(rng: &mut Generator, bytes: &[u8]) -> std::ops::Range<usize> {
    let at = below(rng, bytes.len() + 1);
    let stop = |b: &u8| b" \t\n,\"{}[]=".contains(b);
    let start = bytes[..at].iter().rposition(stop).map_or(0, |k| k + 1);
    start..at + bytes[at..].iter().position(stop).unwrap_or(bytes.len() - at)
}

fn number(rng: &mut Generator) -> String {
    match below(rng, 4) {
        0 => below(rng, 12).to_string(),
        1 => format!("{}", f64::from_bits(rng_bits(rng))),
        2 => format!("{:e}", f64::from_bits(rng_bits(rng))),
        _ => format!("-{}.{}", below(rng, 100), below(rng, 1_000_000)),
    }
}

fn rng_bits(rng: &mut Generator) -> u64 {
    use dragoman_base::random::Rng;
    rng.next_u64()
}

/// One random change.
fn mutate(rng: &mut Generator, bytes: &mut Vec<u8>, others: &[Vec<u8>]) {
    match below(rng, 9) {
        0 if !bytes.is_empty() => {
            let at = below(rng, bytes.len());
            bytes[at] ^= 1 << below(rng, 8);
        }
        1 | 2 => {
            let at = below(rng, bytes.len() + 1);
            bytes.splice(at..at, TOKENS[below(rng, TOKENS.len())].bytes());
        }
        3 => {
            let gone = span(rng, bytes, 12);
            bytes.drain(gone);
        }
        4 => {
            let gone = item(rng, bytes);
            bytes.splice(gone, TOKENS[below(rng, TOKENS.len())].bytes());
        }
        5 => {
            let (from, at) = (span(rng, bytes, 40), below(rng, bytes.len() + 1));
            let copy = bytes[from].to_vec();
            bytes.splice(at..at, copy);
        }
        6 => {
            let other = &others[below(rng, others.len())];
            let (from, at) = (span(rng, other, 60), below(rng, bytes.len() + 1));
            bytes.splice(at..at, other[from].to_vec());
        }
        7 => {
            let gone = item(rng, bytes);
            bytes.splice(gone, number(rng).into_bytes());
        }
        _ => {
            let (from, to) = (item(rng, bytes), item(rng, bytes));
            let copy = bytes[from].to_vec();
            bytes.splice(to, copy);
        }
    }
}

/// `first` and `second` hold the same rows; a group that was written whole may have gained zeros in its gaps.
fn assert_same_rows(first: (&Batch, &Names), second: (&Batch, &Names), by_mark: bool) {
    for at in 0..first.0.texts.len() {
        // Marks may differ (cdec has none), so both are ordered by the marks of the first.
        let mut a = row(first.0, first.1, at, by_mark);
        let mut b = row(second.0, second.1, at, false);
        b.retain(|(name, value)| *value != 0 || a.iter().any(|(known, _)| known == name));
        if a != b {
            a.sort();
            b.sort();
        }
        assert_eq!(a, b, "row {at}");
    }
}

/// Sentence by sentence, a list has the same in it as read at once.
fn assert_streams(bytes: &[u8], format: Option<Format>, whole: &Batch) {
    let (mut names, mut texts, mut ids, mut values) = (Names::new(), Vec::new(), Vec::new(), Vec::new());
    let mut reader = Reader::new("list", Box::new(std::io::Cursor::new(bytes.to_vec())), format);
    while let Some(batch) = reader.next_batch(1, &mut names).unwrap() {
        assert_eq!(batch.ids.len(), 1);
        ids.extend(batch.ids.iter().map(str::to_owned));
        texts.extend(batch.texts.iter().map(str::to_owned));
        values.extend(batch.rows.values.iter().map(|v| v.to_bits()));
    }
    assert!(ids.iter().eq(whole.ids.iter()) && texts.iter().eq(whole.texts.iter()));
    assert!(values.into_iter().eq(whole.rows.values.iter().map(|v| v.to_bits())));
}

/// What the reader tells the format from.
fn first_line(bytes: &[u8]) -> &str {
    let text = std::str::from_utf8(bytes).expect("what was read is UTF-8");
    text.trim_start_matches('\u{feff}').lines().next().unwrap_or("")
}

/// All that must hold for an input.
fn check(bytes: &[u8], format: Option<Format>) -> usize {
    let Ok((batch, names)) = read(bytes, format) else { return 0 };
    let same = format.unwrap_or_else(|| Format::detect(first_line(bytes)));
    assert_streams(bytes, format, &batch);
    let mut held = 0;
    for target in Format::ALL {
        let written = match write(&batch, &names, target) {
            Ok(written) => written,
            Err(error) => {
                assert!(target != same, "{} cannot hold its own: {error}", target.name());
                continue;
            }
        };
        let (back, again) = read(&written, Some(target)).unwrap_or_else(|error| {
            panic!(
                "{} wrote what it cannot read: {error}\n{}",
                target.name(),
                String::from_utf8_lossy(&written)
            )
        });
        assert_same_columns(&batch, &back);
        assert_same_rows((&batch, &names), (&back, &again), target == Format::Jsonl);
        let twice = write(&back, &again, target).unwrap();
        assert_eq!(String::from_utf8_lossy(&written), String::from_utf8_lossy(&twice), "{}", target.name());
        held += 1;
    }
    held
}

#[test]
fn mutated_lists() {
    let cases: u64 = std::env::var("FUZZ_CASES").ok().and_then(|v| v.parse().ok()).unwrap_or(20_000);
    let seed: u64 = std::env::var("FUZZ_SEED").ok().and_then(|v| v.parse().ok()).unwrap_or(1);
    let seeds = seeds();
    let (mut parsed, mut held) = (0, 0);
    for case in 0..cases {
        let mut rng = stream(seed, case);
        let mut bytes = seeds[below(&mut rng, seeds.len())].clone();
        for _ in 0..below(&mut rng, 5) {
            mutate(&mut rng, &mut bytes, &seeds);
        }
        // Most lists only parse in the format they are in.
        let format = Some(below(&mut rng, 8)).filter(|&k| k < 4).map(|k| Format::ALL[k]);
        let count = catch_unwind(AssertUnwindSafe(|| check(&bytes, format)))
            .unwrap_or_else(|_| panic!("case {case} of seed {seed}, {format:?}:\n{}", bytes.escape_ascii()));
        parsed += u64::from(count > 0);
        held += count;
    }
    println!("{cases} cases, {parsed} parsed, {held} round trips");
    assert!(parsed * 20 > cases, "mutations leave enough lists whole: {parsed} of {cases}");
}

#[test]
fn seeds_in_every_format() {
    for bytes in seeds() {
        check(&bytes, None);
        for format in Format::ALL {
            check(&bytes, Some(format));
        }
    }
}
