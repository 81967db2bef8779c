//! Columns of the user's own: keys of JSON objects that mean nothing to us.

use crate::json::{Cursor, write_string};
use crate::number;
use dragoman_base::Texts;

/// Whole numbers from here on are not all doubles.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A column by what its values are.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Numbers; NaN where a candidate has none.
    Numbers(Vec<f64>),
    /// Texts; empty where a candidate has none.
    Texts(Texts),
    /// Anything else, as JSON; empty where a candidate has none.
    Json(Texts),
}

impl Column {
    /// The column of values as a list writes them: what is written again is the same.
    pub fn of(raw: Texts) -> Self {
        if let Some(numbers) = raw.iter().map(as_number).collect() {
            return Self::Numbers(numbers);
        }
        match plain(&raw) {
            Some(texts) => Self::Texts(texts),
            None => Self::Json(raw),
        }
    }
}

/// The texts that all values are, if none of them is empty.
fn plain(raw: &Texts) -> Option<Texts> {
    let (mut texts, mut scratch) = (Texts::new(), String::new());
    for value in raw.iter() {
        match Cursor::new(value).string("a string", &mut scratch) {
            _ if value.is_empty() => texts.push(""),
            Ok(text) if !text.is_empty() => texts.push(text),
            _ => return None,
        }
    }
    Some(texts)
}

/// The number that a value is, NaN for a missing one; None for another value, and for one that a double cannot hold.
fn as_number(raw: &str) -> Option<f64> {
    if raw.is_empty() {
        return Some(f64::NAN);
    }
    let whole = raw.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    match number::prefix(raw.as_bytes()) {
        Some((value, length)) if length == raw.len() && !(whole && value.abs() >= EXACT) => Some(value),
        _ => None,
    }
}

/// A column to be written.
#[derive(Debug, Clone, Copy)]
pub enum Member<'a> {
    /// Numbers; NaN where a candidate has none.
    Numbers(&'a [f64]),
    /// Texts; empty where a candidate has none.
    Texts(&'a Texts),
    /// JSON; empty where a candidate has none.
    Json(&'a Texts),
}

impl Member<'_> {
    /// Number of candidates.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Numbers(values) => values.len(),
            Self::Texts(texts) | Self::Json(texts) => texts.len(),
        }
    }

    /// Whether a candidate has a value.
    pub(crate) fn has(&self, at: usize) -> bool {
        match self {
            Self::Numbers(values) => !values[at].is_nan(),
            Self::Texts(texts) | Self::Json(texts) => !texts.get(at).is_empty(),
        }
    }

    /// Writes the value of a candidate as JSON; false, and nothing, if it is none.
    pub(crate) fn write(&self, at: usize, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Numbers(values) if values[at].is_finite() => number::write(values[at], out),
            Self::Numbers(_) => return false,
            Self::Texts(texts) => write_string(texts.get(at), out),
            Self::Json(texts) => {
                let mut cursor = Cursor::new(texts.get(at));
                let Some(value) = cursor.value("a value").ok().filter(|_| cursor.end().is_ok()) else {
                    return false;
                };
                out.extend_from_slice(value.as_bytes());
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(raw: &[&str]) -> Column {
        let mut texts = Texts::new();
        for value in raw {
            texts.push(value);
        }
        Column::of(texts)
    }

    #[test]
    fn columns_are_what_their_values_are() {
        assert!(matches!(column(&["1", "", "-2.5e3"]), Column::Numbers(n) if n[0] == 1.0 && n[1].is_nan()));
        assert!(
            matches!(column(&["\"a\\n\"", ""]), Column::Texts(t) if t.get(0) == "a\n" && t.get(1).is_empty())
        );
        // A text that is empty is not a missing one, and 2^53 + 1 is no double.
        for other in
            [["\"\"", "\"a\""], ["1", "\"1\""], ["9007199254740993", "1"], ["null", "1"], ["[1]", "2"]]
        {
            assert!(matches!(column(&other), Column::Json(t) if t.get(0) == other[0]), "{other:?}");
        }
    }
}
