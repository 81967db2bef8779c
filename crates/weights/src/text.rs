//! Weights as plain text: a name, a blank and a number on each line, as cdec, Moses and Travatar have them.
//!
//! `pt:das>the 0.5`, `pt:das>the=0.5` and Moses' `TM= 0.5 0.2`, which gives `TM[0]` and `TM[1]`, are all read. Lines that
//! begin with `#` say nothing, but those at the start may tell what the weights came from.

use crate::{View, Weights};
use dragoman_base::io::{Lines, Output};
use dragoman_base::{Error, Names, Result, number};

const WANT: &str = "a name and a finite number";

/// Reads all lines, of which there are about `count`.
pub fn read(mut lines: Lines, count: usize) -> Result<Weights> {
    let mut found = Weights { names: Names::with_capacity(count, 0), values: Vec::with_capacity(count) };
    let mut line_of = Vec::new();
    let path = lines.path().to_owned();
    let mut at = 0;
    while let Some(line) = lines.next()? {
        at += 1;
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let before = found.values.len();
        take(line, &mut found).map_err(|fault| match fault {
            Fault::Form => Error::format(&path, at, WANT, line),
            Fault::Twice(name) => {
                let first = found.names.get(&name).map_or(0, |id| line_of[id as usize]);
                let want = format!("each name once (the first is in line {first})");
                Error::format(&path, at, want, &name)
            }
        })?;
        line_of.resize(line_of.len() + found.values.len() - before, at as u32);
    }
    Ok(found)
}

enum Fault {
    Form,
    Twice(String),
}

fn take(line: &str, found: &mut Weights) -> std::result::Result<(), Fault> {
    let mut add = |name: &str, value: &str| {
        let value = number::parse(value).ok_or(Fault::Form)?;
        if found.add(name, value) { Ok(()) } else { Err(Fault::Twice(name.to_owned())) }
    };
    let blank = |c: char| c == ' ' || c == '\t';
    if let Some((group, values)) = line.split_once(blank)
        && let Some(group) = group.strip_suffix('=').filter(|group| !group.is_empty())
    {
        let values: Vec<&str> = values.split(blank).filter(|value| !value.is_empty()).collect();
        if values.len() == 1 {
            return add(group, values[0]);
        }
        return values.iter().enumerate().try_for_each(|(i, value)| add(&format!("{group}[{i}]"), value));
    }
    let (name, value) = match line.rsplit_once(blank) {
        Some((name, value)) => (name.trim_end_matches(blank), value),
        None => line.rsplit_once('=').ok_or(Fault::Form)?,
    };
    if name.is_empty() { Err(Fault::Form) } else { add(name, value) }
}

/// Whether [`read`] gives a name back as it is.
fn plain(name: &str) -> bool {
    let first = name.split([' ', '\t']).next().unwrap_or_default();
    let tidy = !name.is_empty() && name.trim_ascii() == name && !name.starts_with(['#', '{', '\u{feff}']);
    let header = name.starts_with('[') && name.contains('#'); // TOML, as far as anybody can tell
    tidy && !header && !first.ends_with('=') && !name.contains(['\n', '\r'])
}

/// Writes a line for each name. `about` goes before them, behind `#`.
pub fn write(weights: View<'_>, about: &[(String, String)], path: &str) -> Result<()> {
    if let Some((name, _)) = weights.rows().find(|(name, _)| !plain(name)) {
        let name = dragoman_base::error::quote(name);
        return Err(Error::Invalid(format!(
            "{path}: {name} is no name for plain text, which has a name, a blank and a number on a line; write .toml or .bin"
        )));
    }
    let mut out = Output::create(path)?;
    for (key, value) in about {
        out.write(format!("# {key} {}\n", value.replace(['\n', '\r'], " ")).as_bytes())?;
    }
    let mut line = Vec::new();
    for (name, value) in weights.rows() {
        line.clear();
        line.extend_from_slice(name.as_bytes());
        line.push(b' ');
        number::write(value, &mut line);
        line.push(b'\n');
        out.write(&line)?;
    }
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Cursor;

    fn parse(text: &str) -> Result<Vec<(String, f64)>> {
        let lines = Lines::new("w", Box::new(Cursor::new(text.to_owned().into_bytes())));
        read(lines, 0).map(|w| w.rows().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    #[test]
    fn all_dialects() {
        let text = "# made by hand\nLM 0.5\n\nTM= 0.1 -2e-3\npt:a>b\t 1\nwp=3=-4\nOne= 7\nx y 2\r\n";
        let want = [
            ("LM", 0.5),
            ("TM[0]", 0.1),
            ("TM[1]", -0.002),
            ("pt:a>b", 1.0),
            ("wp=3", -4.0),
            ("One", 7.0),
            ("x y", 2.0),
        ]; // fmt: skip
        assert_eq!(parse(text).unwrap(), want.map(|(name, value)| (name.to_owned(), value)));
    }

    #[test]
    fn faults_have_a_line() {
        for (text, want) in [
            ("a 1\nb\n", "w:2: expected a name and a finite number, found `b`"),
            ("a 1\nb x\n", "w:2: expected a name and a finite number, found `b x`"),
            ("b inf", "w:1: expected a name and a finite number, found `b inf`"),
            ("=3", "w:1: expected a name"),
            ("a 1\n# so\n\nb 1\na 2\n", "w:5: expected each name once (the first is in line 1), found `a`"),
            ("TM= 1 x", "w:1: expected a name"),
            ("TM= 1 2\nTM[1] 3", "w:2: expected each name once (the first is in line 1), found `TM[1]`"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(want), "{error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_comes_back(rows in prop::collection::hash_map("[a#={\\[\\] \t\u{c}]{1,4}|\\PC{1,6}", -1e9..1e9_f64, 0..20)) {
            let mut names = Names::new();
            let values: Vec<f64> = rows.iter().map(|(name, value)| { names.intern(name); *value }).collect();
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("w.txt").to_str().unwrap().to_owned();
            let done = write(View { names: &names, values: &values }, &[("a".into(), "b\nc".into())], &path);
            prop_assert_eq!(done.is_ok(), rows.keys().all(|name| plain(name)));
            if done.is_ok() {
                let back = read(Lines::open(&path).unwrap(), rows.len()).unwrap();
                prop_assert_eq!(back.values, values);
                prop_assert_eq!(back.names.iter().collect::<Vec<_>>(), names.iter().collect::<Vec<_>>());
            }
        }
    }
}
