//! Lines that are wrong, and what the errors say of them; lines that only look wrong, and what they hold.

mod common;

use common::{read, row, write};
use dragoman_nbest::Format;

fn message(list: &str, format: Option<Format>) -> String {
    read(list.as_bytes(), format).unwrap_err().to_string()
}

#[test]
fn faults_name_the_line_and_both_sides() {
    let good = "0 ||| a ||| LM= 1 TM= 1 2 x=1 ||| 3\n";
    let cases = [
        ("", "list:1: expected at least one candidate, found an empty file"),
        ("\n", "list:1: expected a candidate, found a blank line"),
        ("x ||| a |||\n", "list:1: expected a sentence number and `|||`, found `x ||| a |||`"),
        ("0 ||| a\n", "list:1: expected the columns `id ||| text ||| features`, found `0 ||| a`"),
        (
            "7 ||| a |||\n3 ||| a |||\n",
            "list:2: expected an id above 7 (lists are sorted by sentence), found `3`",
        ),
        ("0 ||| a ||| x=nan\n", "list:1: expected a finite number for `x`, found `nan`"),
        ("0 ||| a ||| x=1 ||| inf\n", "list:1: expected a finite number as total, found `inf`"),
        ("0 ||| a ||| =1\n", "list:1: expected a feature name before `=`, found none"),
        ("0 ||| a ||| x=1 x=1\n", "list:1: expected each feature once, found `x`"),
        ("0 ||| a ||| LM= TM= 1\n", "list:1: expected a finite number for `LM`, found none"),
        ("0 ||| a ||| x=1 2\n", "list:1: expected a finite number, `name= value` or `name=value`, found `2`"),
        ("{\"id\":0,\"txt\":\"\"}\n", "`txt` (did you mean `text`?)"),
        ("{\"id\":0,\"id\":0,\"text\":\"\"}\n", "list:1: expected each key once, found `id`"),
        (
            "{\"id\":0,\"text\":\"\",\"sparse\":{\"a\":1,\"a\":1}}\n",
            "list:1: expected each feature once, found `a`",
        ),
        (
            "{\"id\":0,\"text\":\"\",\"scores\":{\"a\":1,\"a\":1}}\n",
            "list:1: expected each score once, found `a`",
        ),
        ("{\"id\":0,\"text\":\"\"}}\n", "list:1: expected the end of the line after `}`, found `}`"),
    ];
    for (list, want) in cases {
        let found = message(list, None);
        assert!(found.contains(want), "{list}: {found}");
    }
    let wider = format!("{good}0 ||| b ||| LM= 1 TM= 1 2 3\n");
    assert_eq!(message(&wider, None), "list:2: expected 2 values of `TM`, as on earlier lines, found 3");
    let travatar = message("0 ||| a ||| 1\n", Some(Format::Travatar));
    assert_eq!(
        travatar,
        "list:1: expected the columns `id ||| text ||| total ||| features`, found `0 ||| a ||| 1`"
    );
    assert_eq!(message("0 ||| a ||| 1\n", Some(Format::Cdec)), "list:1: expected `name=value`, found `1`");
}

/// The one line of a list, as names and values.
fn only_row(list: &str, format: Option<Format>) -> Vec<(String, f64)> {
    let (batch, names) = read(list.as_bytes(), format).unwrap();
    row(&batch, &names, 0, false).into_iter().map(|(name, bits)| (name, f64::from_bits(bits))).collect()
}

fn pairs(want: &[(&str, f64)]) -> Vec<(String, f64)> {
    want.iter().map(|&(name, value)| (name.to_owned(), value)).collect()
}

#[test]
fn odd_lines_hold_what_they_say() {
    let dense = pairs(&[("LM", 1.0), ("TM[0]", -2.0), ("TM[1]", 0.0), ("a=b", 4.0)]);
    let unblanked = only_row("0||| a |||LM= 1 ||| x=2\n", None);
    assert_eq!(unblanked, pairs(&[("x", 2.0)]), "a bar needs blanks around it");
    assert_eq!(only_row("0||| a ||| LM: 1 TM:  -2 0 a=b=4\n", None), dense);
    assert_eq!(only_row("0 ||| a ||| LM= 1 TM= -2 -0e5 a=b=4 \n", None).len(), 4);
    assert_eq!(only_row("0 ||| a ||| 5 LM= 1\n", None), pairs(&[("F", 5.0), ("LM", 1.0)]));
    assert_eq!(
        only_row("0 ||| a ||| a=1; b=2;c=3 ||| 4\n", None),
        pairs(&[("a", 1.0), ("b", 2.0), ("c", 3.0)])
    );
    assert_eq!(only_row("0 ||| a ||| a;b=1\n", None), pairs(&[("a;b", 1.0)]));
    assert_eq!(only_row("0 ||| a ||| 4 ||| a=1\n", None), pairs(&[("a", 1.0)]));
    let json = "{\"id\":0,\"text\":\"\",\"features\":{\"LM\":[1],\"TM\":[-2,0]},\"sparse\":{\"a=b\":4}}\n";
    assert_eq!(only_row(json, None), dense);
    let (batch, names) = read(b"0 ||| a|||b |||| c ||| x=1 ||| ||| 0-0 1=2-3 ||| e ||| f \n", None).unwrap();
    assert_eq!((batch.texts.get(0), &batch.totals), ("a|||b |||| c", &None));
    assert_eq!(batch.alignments.as_ref().map(|a| a.get(0)), Some("0-0 1=2-3"));
    assert_eq!(batch.extra.as_ref().map(|e| e.get(0)), Some("e ||| f"));
    let written = write(&batch, &names, Format::Moses).unwrap();
    assert_eq!(written, b"0 ||| a|||b |||| c ||| x=1 |||  ||| 0-0 1=2-3 ||| e ||| f\n");
}

#[test]
fn groups_are_written_whole_across_gaps() {
    let (mut names, mut batch) = (dragoman_base::Names::new(), read(b"0 ||| a |||\n", None).unwrap().0);
    let ids = ["TM[0]", "TM[1]", "TM[2]", "LM"].map(|name| names.intern_as(name, true));
    for (id, value) in [(ids[2], 2.5), (names.intern("x"), 1.0), (ids[3], 0.0), (ids[0], -1.0)] {
        batch.rows.push(id, value);
    }
    batch.rows.starts[1] = 4;
    assert_eq!(write(&batch, &names, Format::Moses).unwrap(), b"0 ||| a ||| TM= -1 0 2.5 x=1 LM= 0\n");
    let json = b"{\"id\":0,\"text\":\"a\",\"features\":{\"TM\":[-1,0,2.5],\"LM\":0},\"sparse\":{\"x\":1}}\n";
    assert_eq!(write(&batch, &names, Format::Jsonl).unwrap(), json);
    assert_eq!(write(&batch, &names, Format::Cdec).unwrap(), b"0 ||| a ||| TM[2]=2.5 x=1 LM=0 TM[0]=-1\n");
}

#[test]
fn a_lone_part_is_no_group() {
    let (batch, names) = read(b"0 ||| a ||| LM= 1 TM= 2 3\n", None).unwrap();
    let mut others = dragoman_base::Names::new();
    for (id, name) in ["TM[0]", "TM[2]", "[0]"].into_iter().enumerate() {
        assert_eq!(others.intern_as(name, true), id as u32);
    }
    assert_eq!(names.len(), others.len());
    assert_eq!(write(&batch, &others, Format::Moses).unwrap(), b"0 ||| a ||| TM[0]=1 TM[2]=2 [0]=3\n");
}
