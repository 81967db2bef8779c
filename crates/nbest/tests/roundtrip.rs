//! Random batches to each format and back: exact in every value.

mod common;

use common::{assert_same_columns, read, row, write};
use dragoman_base::{Names, Rows, Texts};
use dragoman_nbest::{Batch, Format, Reader};
use proptest::prelude::*;

/// A finite number, often a special one.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |v| v.is_finite()),
        prop::sample::select(vec![0.0, -0.0, 1.0, -3.5, 1e-5, 5e-324, f64::MAX, 1e16, 0.1]),
    ]
}

/// A candidate: text, sparse features (by number), values of the dense ones, total, alignment, extra.
type Line = (String, Vec<(usize, f64)>, Vec<f64>, Option<f64>, String, String);

/// Texts that every format can hold, or only JSON.
fn line(plain: bool) -> impl Strategy<Value = Line> {
    let text =
        if plain { "([a-z|é\"\\\\=]{1,4}( [a-z0-9]{1,3}){0,3})?" } else { "\\PC{0,6}|[\u{0}-\u{7f}]{0,6}" };
    let text = text.prop_filter("no separator", move |t| !plain || !t.split(' ').any(|word| word == "|||"));
    (
        text,
        prop::collection::vec((0usize..6, number()), 0..5),
        prop::collection::vec(number(), 4),
        prop::option::of(number()),
        "([0-9]{1,2}-[0-9] )?[0-9]=[0-9]-[0-9]|",
        "|x y|a \\|\\|\\| b",
    )
}

fn batch(lists: &[Vec<Line>], plain: bool) -> (Batch, Names) {
    let mut names = Names::new();
    let dense = ["LM", "TM[0]", "TM[1]", "TM[2]"].map(|name| names.intern_as(name, true));
    let sparse =
        ["a", "b=c", "d:", "5", "TM[9]", if plain { "é~x" } else { "blank name" }].map(|n| names.intern(n));
    let mut batch = Batch { starts: vec![0], totals: Some(Vec::new()), ..Batch::default() };
    let (mut rows, mut alignments, mut extra) = (Rows::default(), Texts::new(), Texts::new());
    for (sentence, list) in lists.iter().enumerate() {
        batch.ids.push(&(sentence * 3).to_string());
        for (text, pairs, values, total, alignment, more) in list {
            batch.texts.push(text);
            dense.iter().zip(values).for_each(|(&id, &value)| rows.push(id, value));
            let mut seen = [false; 6];
            for &(k, value) in pairs {
                if !std::mem::replace(&mut seen[k], true) {
                    rows.push(sparse[k], value);
                }
            }
            rows.end_row();
            batch.totals.as_mut().unwrap().push(total.unwrap_or(f64::NAN));
            alignments.push(alignment);
            extra.push(more);
        }
        batch.starts.push(batch.texts.len() as i64);
    }
    if batch.totals.as_ref().is_some_and(|totals| totals.iter().all(|v| v.is_nan())) {
        batch.totals = None;
    }
    batch.extra = Some(extra).filter(|extra| !extra.bytes().is_empty());
    if !plain && !batch.texts.is_empty() {
        // A column that all candidates have, and one that only the first has.
        let (mut all, mut first) = (Texts::new(), Texts::new());
        for at in 0..batch.texts.len() {
            all.push(["1", "-2.50", "\"x \\\" y\"", "[1, {\"a\": null}]", "true"][at % 5]);
            first.push(if at == 0 { "\"\"" } else { "" });
        }
        batch.members = vec![("all".to_owned(), all), ("the first".to_owned(), first)];
    }
    (Batch { rows, alignments: Some(alignments), ..batch }, names)
}

fn assert_returns(batch: &Batch, names: &Names, format: Format) -> Result<(), TestCaseError> {
    let bytes = write(batch, names, format).map_err(|e| TestCaseError::fail(e.to_string()))?;
    let (back, again) = read(&bytes, Some(format)).map_err(|e| TestCaseError::fail(e.to_string()))?;
    assert_same_columns(batch, &back);
    for at in 0..batch.texts.len() {
        prop_assert_eq!(row(batch, names, at, false), row(&back, &again, at, false));
    }
    prop_assert_eq!(write(&back, &again, format).unwrap(), bytes);
    Ok(())
}

proptest! {
    #[test]
    fn every_format_returns_what_it_took(lists in prop::collection::vec(prop::collection::vec(line(true), 1..4), 1..4)) {
        let (batch, names) = batch(&lists, true);
        for format in Format::ALL {
            assert_returns(&batch, &names, format)?;
        }
    }

    #[test]
    fn json_holds_any_text_and_scores(lists in prop::collection::vec(prop::collection::vec(line(false), 1..4), 1..4)) {
        let (mut batch, names) = batch(&lists, false);
        let scores: Vec<f64> = (0..batch.texts.len()).map(|k| if k % 3 == 1 { f64::NAN } else { k as f64 / 7.0 }).collect();
        batch.scores.push(("COMET \"22\"".to_owned(), scores));
        assert_returns(&batch, &names, Format::Jsonl)?;
    }

    #[test]
    fn batches_are_whole_sentences(sizes in prop::collection::vec(1usize..6, 1..12), size in 0usize..9) {
        let lines = sizes.iter().enumerate().flat_map(|(s, &n)| (0..n).map(move |k| format!("{s} ||| {k} ||| x{s}=1\n")));
        let reader = Box::new(std::io::Cursor::new(lines.collect::<String>().into_bytes()));
        let (mut reader, mut names) = (Reader::new("list", reader, None), Names::new());
        let mut seen = Vec::new();
        while let Some(batch) = reader.next_batch(size, &mut names).unwrap() {
            let before_last = batch.starts[batch.starts.len() - 2] as usize;
            prop_assert!(before_last < size.max(1), "no more sentences than it takes");
            seen.extend(batch.starts.windows(2).map(|w| (w[1] - w[0]) as usize));
        }
        prop_assert_eq!(seen, sizes);
        prop_assert!(reader.next_batch(size, &mut names).unwrap().is_none());
    }
}

#[test]
fn a_reader_that_failed_stays_so() {
    let reader = Box::new(std::io::Cursor::new(b"1 ||| a ||| \n0 ||| a |||\n".to_vec()));
    let (mut reader, mut names) = (Reader::new("list", reader, None), Names::new());
    let error = reader.next_batch(9, &mut names).unwrap_err().to_string();
    assert_eq!(error, "list:2: expected an id above 1 (lists are sorted by sentence), found `0`");
    assert!(reader.next_batch(9, &mut names).is_err());
}

#[test]
fn string_ids_in_any_order_stay_strings() {
    let list = b"{\"id\":\"5\",\"text\":\"\"}\n{\"id\":\"3\",\"text\":\"\"}\n";
    let (batch, names) = read(list, None).unwrap();
    assert_eq!(write(&batch, &names, Format::Jsonl).unwrap(), list);
    assert!(write(&batch, &names, Format::Moses).unwrap_err().to_string().contains("an id above 5"));
}

#[test]
fn a_group_must_not_widen_while_it_is_written() {
    let (batch, mut names) = read(b"0 ||| a ||| TM= 1 2\n", None).unwrap();
    let mut encoder = dragoman_nbest::Encoder::new(Format::Moses);
    encoder.encode(&batch.view(), &names, &mut |_| Ok(())).unwrap();
    names.intern_as("TM[2]", true);
    let later = Batch { ids: ["1"].into_iter().collect(), ..batch };
    let error = encoder.encode(&later.view(), &names, &mut |_| Ok(())).unwrap_err().to_string();
    assert!(error.contains("the dense group of `TM` changed"), "{error}");
}
