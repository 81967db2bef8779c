//! Weights as TOML: the part of it that our own files use, read and written line by line.
//!
//! A section `[weights]` with lines `name = number` or `group = [number, number]`, other sections around it. What is
//! more than that, and what is wrong, is left to a full parser.

use crate::{View, Weights, component};
use dragoman_base::io::{Lines, Output};
use dragoman_base::{Names, Result, number};
use std::collections::HashSet;

/// Reads the section `[weights]`, of about `count` lines; none if there is anything that needs a full parser.
pub fn read(mut lines: Lines, count: usize) -> Result<Option<Weights>> {
    let mut found = Weights { names: Names::with_capacity(count, 0), values: Vec::with_capacity(count) };
    let mut sections: Vec<&str> = Vec::new();
    while let Some(line) = lines.next()? {
        let line = line.trim_matches([' ', '\t']);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let known = match line {
            "[weights]" | "[info]" if sections.contains(&line) => false,
            "[weights]" | "[info]" => {
                sections.push(if line == "[info]" { "[info]" } else { "[weights]" });
                true
            }
            _ if sections.last() == Some(&"[weights]") => pair(line, &mut found).is_some(),
            _ => sections.last() == Some(&"[info]") && !line.starts_with('['),
        };
        if !known {
            return Ok(None);
        }
    }
    Ok(Some(found).filter(|_| sections.contains(&"[weights]")))
}

/// `name = number` or `name = [number, ...]`.
fn pair(line: &str, found: &mut Weights) -> Option<()> {
    let (name, rest) = key(line)?;
    let value = rest.trim_start_matches([' ', '\t']).strip_prefix('=')?.trim_matches([' ', '\t']);
    let number = |text: &str| {
        let text = text.trim_matches([' ', '\t']);
        number::parse(text).filter(|_| number::is_json(text.as_bytes()))
    };
    let Some(list) = value.strip_prefix('[') else {
        return found.add(&name, number(value)?).then_some(());
    };
    let list = list.strip_suffix(']')?;
    if list.trim_matches([' ', '\t']).is_empty() {
        return None;
    }
    list.split(',')
        .enumerate()
        .try_for_each(|(k, text)| found.add(&format!("{name}[{k}]"), number(text)?).then_some(()))
}

/// The key that a line begins with, and what follows it.
fn key(line: &str) -> Option<(String, &str)> {
    let Some(quoted) = line.strip_prefix('"') else {
        let end = line.find(|c| !bare(c)).unwrap_or(line.len());
        return (end > 0).then(|| (line[..end].to_owned(), &line[end..]));
    };
    let mut name = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((name, &quoted[at + 1..])),
            '\\' => name.push(escaped(&mut chars)?),
            c if c.is_control() && c < '\u{80}' => return None,
            c => name.push(c),
        }
    }
    None
}

fn bare(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn escaped(chars: &mut std::str::CharIndices<'_>) -> Option<char> {
    Some(match chars.next()?.1 {
        'b' => '\u{8}',
        't' => '\t',
        'n' => '\n',
        'f' => '\u{c}',
        'r' => '\r',
        c @ ('"' | '\\') => c,
        'u' => {
            let mut code = 0;
            for _ in 0..4 {
                code = code * 16 + chars.next()?.1.to_digit(16)?;
            }
            char::from_u32(code)?
        }
        _ => return None,
    })
}

/// Writes the weights; `about` are lines behind them, as TOML.
pub fn write(weights: View<'_>, about: &str, path: &str) -> Result<()> {
    let mut out = Output::create(path)?;
    let mut line = Vec::new();
    let mut done = HashSet::new();
    out.write(b"[weights]\n")?;
    for (name, value) in weights.rows() {
        line.clear();
        match component(name).filter(|(base, number)| whole(weights, base, *number)) {
            None => {
                push_key(&mut line, name);
                line.extend_from_slice(b" = ");
                push_value(&mut line, value);
            }
            Some((base, _)) => {
                if !done.insert(base) {
                    continue;
                }
                push_key(&mut line, base);
                let values = (0..).map_while(|k| weights.get(&format!("{base}[{k}]")));
                for (k, value) in values.enumerate() {
                    line.extend_from_slice(if k == 0 { b" = [" } else { b", " });
                    push_value(&mut line, value);
                }
                line.push(b']');
            }
        }
        line.push(b'\n');
        out.write(&line)?;
    }
    out.write(about.as_bytes())?;
    out.finish()
}

/// Whether a component is reached by counting up from 0, and nothing else has the group's name.
fn whole(weights: View<'_>, base: &str, number: usize) -> bool {
    weights.get(base).is_none() && (0..number).all(|k| weights.get(&format!("{base}[{k}]")).is_some())
}

fn push_key(line: &mut Vec<u8>, name: &str) {
    if !name.is_empty() && name.chars().all(bare) {
        line.extend_from_slice(name.as_bytes());
        return;
    }
    let mut text = String::with_capacity(name.len() + 2);
    text.push('"');
    for c in name.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            c if c < ' ' || c == '\u{7f}' => text.push_str(&format!("\\u{:04x}", c as u32)),
            c => text.push(c),
        }
    }
    text.push('"');
    line.extend_from_slice(text.as_bytes());
}

/// A number as TOML has floats: with a point or an exponent.
fn push_value(line: &mut Vec<u8>, value: f64) {
    let from = line.len();
    number::write(value, line);
    if !line[from..].iter().any(|b| matches!(b, b'.' | b'e')) {
        line.extend_from_slice(b".0");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn parse(text: &str) -> Option<Vec<(String, f64)>> {
        let lines = Lines::new("w", Box::new(Cursor::new(text.to_owned().into_bytes())));
        let found = read(lines, 0).unwrap()?;
        Some(found.rows().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    #[test]
    fn our_own_files() {
        let text = "# so\n[weights]\nLM = 0.5\nTM = [0.2, -3e-05]\n\"pt:das>\\\"x\\u00e9\" = 1\n\n[info]\nseed = 3\n";
        let want = [("LM", 0.5), ("TM[0]", 0.2), ("TM[1]", -3e-5), ("pt:das>\"xé", 1.0)];
        assert_eq!(parse(text).unwrap(), want.map(|(name, value)| (name.to_owned(), value)));
        assert_eq!(parse("[weights]\n"), Some(Vec::new()));
    }

    #[test]
    fn the_rest_is_for_others() {
        for text in [
            "",
            "LM = 1\n",
            "[weights]\na.b = 1\n",
            "[weights]\n'a' = 1\n",
            "[weights]\na = 1 # so\n",
            "[weights]\na = 1_000\n",
            "[weights]\na = inf\n",
            "[weights]\na = [1,\n2]\n",
            "[weights]\na = []\n",
            "[weights]\na = 1\na = 2\n",
            "[weights]\na = 1\n[weights]\nb = 2\n",
            "[weights]\na = 1\n[more]\nb = 2\n",
            "[weights]\n\"a\\x\" = 1\n",
            "[weights]\na\n",
            "[[weights]]\na = 1\n",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
