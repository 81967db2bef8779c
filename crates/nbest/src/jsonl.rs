//! One JSON object a line.

use crate::batch::Record;
use crate::features::Interner;
use crate::json::Cursor;
use crate::moses::is_alignment;
use crate::{Fault, trim};
use dragoman_base::Names;

/// The keys that a line may have; only the first two must be there.
const KEYS: [&str; 8] = ["id", "text", "features", "sparse", "scores", "total", "alignment", "extra"];

/// Reads lines of JSON.
#[derive(Debug, Default)]
pub struct Parser {
    /// All scores so far, in order of their first appearance.
    pub scores: Vec<String>,
    scratch: String,
    name: String,
}

impl Parser {
    /// Reads `line` into `record`.
    pub fn parse(
        &mut self,
        line: &str,
        record: &mut Record,
        features: &mut Interner,
        names: &mut Names,
    ) -> Result<(), Fault> {
        if trim(line).is_empty() {
            return Err(Fault::words("a candidate", "a blank line"));
        }
        let mut cursor = Cursor::new(line);
        cursor.take(b'{', "a JSON object")?;
        let (mut count, mut seen) = (0, [false; KEYS.len()]);
        while cursor.more(count, b'}')? {
            let key = cursor.key(&mut self.scratch)?;
            let index = KEYS.iter().position(|&known| known == key).ok_or_else(|| unknown(key))?;
            if std::mem::replace(&mut seen[index], true) {
                return Err(Fault::new("each key once", KEYS[index]));
            }
            self.member(KEYS[index], &mut cursor, record, features, names)?;
            count += 1;
        }
        cursor.end()?;
        match seen.iter().take(2).position(|&there| !there) {
            Some(missing) => Err(Fault::new(format!("the key `{}`", KEYS[missing]), line)),
            None => Ok(()),
        }
    }

    fn member(
        &mut self,
        key: &str,
        cursor: &mut Cursor<'_>,
        record: &mut Record,
        features: &mut Interner,
        names: &mut Names,
    ) -> Result<(), Fault> {
        match key {
            "id" => self.id(cursor, record)?,
            "text" => record.text.push_str(cursor.string("the text in double quotes", &mut self.scratch)?),
            "features" => self.features(cursor, record, features, names)?,
            "sparse" => self.sparse(cursor, record, features, names)?,
            "scores" => self.scores(cursor, record)?,
            "total" => record.total = cursor.number("a finite number as total")?,
            "alignment" => {
                let want = "an alignment such as \"0-0 1-2\"";
                let text = cursor.string(want, &mut self.scratch)?;
                if !is_alignment(text) {
                    return Err(Fault::new(want, text));
                }
                record.aligned = true;
                record.alignment.push_str(trim(text));
            }
            _ => record.extra.push_str(cursor.string("further columns in double quotes", &mut self.scratch)?),
        }
        Ok(())
    }

    fn id(&mut self, cursor: &mut Cursor<'_>, record: &mut Record) -> Result<(), Fault> {
        let want = "a non-negative integer or a string as id";
        if cursor.peek() != Some(b'"') {
            record.number = Some(cursor.integer(want)?);
            return Ok(());
        }
        let id = cursor.string(want, &mut self.scratch)?;
        if id.is_empty() {
            return Err(Fault::words("an id", "an empty string"));
        }
        record.name.push_str(id);
        Ok(())
    }

    /// `{"LM": -1.5, "TM": [1, 2]}`.
    fn features(
        &mut self,
        cursor: &mut Cursor<'_>,
        record: &mut Record,
        features: &mut Interner,
        names: &mut Names,
    ) -> Result<(), Fault> {
        cursor.take(b'{', "an object of features")?;
        let mut count = 0;
        while cursor.more(count, b'}')? {
            let name = cursor.key(&mut self.name)?;
            let width = values(cursor, name, record)?;
            let group = features.group(name, width, names)?;
            features.push_group(group, record, names)?;
            count += 1;
        }
        Ok(())
    }

    /// `{"wp_a_b": 1}`.
    fn sparse(
        &mut self,
        cursor: &mut Cursor<'_>,
        record: &mut Record,
        features: &mut Interner,
        names: &mut Names,
    ) -> Result<(), Fault> {
        cursor.take(b'{', "an object of sparse features")?;
        let mut count = 0;
        while cursor.more(count, b'}')? {
            let name = cursor.key(&mut self.name)?;
            let value = cursor.number("a finite number as value of a sparse feature")?;
            features.push(Interner::sparse(name, names)?, value, record, names)?;
            count += 1;
        }
        Ok(())
    }

    /// `{"COMET": 0.8}`.
    fn scores(&mut self, cursor: &mut Cursor<'_>, record: &mut Record) -> Result<(), Fault> {
        cursor.take(b'{', "an object of scores")?;
        let mut count = 0;
        while cursor.more(count, b'}')? {
            let name = cursor.key(&mut self.name)?;
            let index = self.scores.iter().position(|known| known == name).unwrap_or(self.scores.len());
            if index == self.scores.len() {
                self.scores.push(name.to_owned());
            }
            if index >= record.scores.len() {
                record.scores.resize(index + 1, f64::NAN);
            }
            let value = cursor.number("a finite number as score")?;
            if !std::mem::replace(&mut record.scores[index], value).is_nan() {
                return Err(Fault::new("each score once", &self.scores[index]));
            }
            count += 1;
        }
        Ok(())
    }
}

/// Reads one number, or an array of them, and says how many there were.
fn values(cursor: &mut Cursor<'_>, name: &str, record: &mut Record) -> Result<usize, Fault> {
    if cursor.peek() != Some(b'[') {
        let want = "a finite number or an array of them as value of a feature";
        record.values.push(cursor.number(want)?);
        return Ok(1);
    }
    cursor.take(b'[', "`[`")?;
    let mut count = 0;
    while cursor.more(count, b']')? {
        record.values.push(cursor.number("a finite number in an array of features")?);
        count += 1;
    }
    if count == 0 { Err(crate::features::no_values(name)) } else { Ok(count) }
}

/// A key that nobody knows, most likely a slip: with the nearest that somebody does.
fn unknown(key: &str) -> Fault {
    let nearest = KEYS.into_iter().min_by_key(|known| distance(known, key)).unwrap_or("text");
    let quoted = dragoman_base::error::quote(key);
    let hint =
        if distance(nearest, key) <= 3 { format!(" (did you mean `{nearest}`?)") } else { String::new() };
    Fault::words(format!("one of the keys {}", KEYS.join(", ")), format!("{quoted}{hint}"))
}

/// Levenshtein distance in characters; a long `key` counts by its first 20.
fn distance(known: &str, key: &str) -> usize {
    let known: Vec<char> = known.chars().collect();
    let mut row: Vec<usize> = (0..=known.len()).collect();
    for (i, c) in key.chars().take(20).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, k) in known.iter().enumerate() {
            let substituted = diagonal + usize::from(*k != c);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[known.len()]
}
