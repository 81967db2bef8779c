//! One JSON object a line.

use crate::batch::Record;
use crate::features::Interner;
use crate::json::Cursor;
use crate::moses::is_alignment;
use crate::{Fault, trim};
use dragoman_base::Names;

/// The keys that mean something to us; only the first two must be there.
pub(crate) const KEYS: [&str; 8] =
    ["id", "text", "features", "sparse", "scores", "total", "alignment", "extra"];

/// Keys of the user's own that a list may have.
const MOST_MEMBERS: usize = 256;

/// Reads lines of JSON.
#[derive(Debug, Default)]
pub struct Parser {
    /// All scores so far, in order of their first appearance.
    pub scores: Vec<String>,
    /// All other keys so far, in order of their first appearance.
    pub members: Vec<String>,
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
            let Some(index) = KEYS.iter().position(|&known| known == key) else {
                let key = key.to_owned();
                self.other(&key, &mut cursor, record)?;
                count += 1;
                continue;
            };
            if std::mem::replace(&mut seen[index], true) {
                return Err(Fault::new("each key once", KEYS[index]));
            }
            self.member(KEYS[index], &mut cursor, record, features, names)?;
            count += 1;
        }
        cursor.end()?;
        match seen.iter().take(2).position(|&there| !there) {
            Some(missing) => Err(self.missing(KEYS[missing], record, line)),
            None => Ok(()),
        }
    }

    /// The fault of a line that lacks a key; another that looks like it was most likely meant.
    fn missing(&self, key: &str, record: &Record, line: &str) -> Fault {
        let own = self.members.iter().zip(&record.members).filter(|(_, value)| !value.is_empty());
        match own.map(|(name, _)| name).find(|name| distance(key, name) <= 2) {
            Some(slip) => Fault::words(
                format!("the key `{key}`"),
                format!("{} (did you mean `{key}`?)", dragoman_base::error::quote(slip)),
            ),
            None => Fault::new(format!("the key `{key}`"), line),
        }
    }

    /// A key of the user's own, whose value is kept as it is written.
    fn other(&mut self, key: &str, cursor: &mut Cursor<'_>, record: &mut Record) -> Result<(), Fault> {
        if cursor.peek() == Some(b'{') {
            slip(key)?;
        }
        let index = self.members.iter().position(|known| known == key).unwrap_or(self.members.len());
        if index == self.members.len() {
            if index == MOST_MEMBERS {
                return Err(Fault::new(format!("at most {MOST_MEMBERS} keys of your own in a list"), key));
            }
            self.members.push(key.to_owned());
        }
        if index >= record.members.len() {
            record.members.resize(index + 1, String::new());
        }
        if !record.members[index].is_empty() {
            return Err(Fault::new("each key once", key));
        }
        record.members[index].push_str(cursor.value("a JSON value")?);
        Ok(())
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

/// Refuses a key with an object that was most likely meant for one that we know.
fn slip(key: &str) -> Result<(), Fault> {
    let near = ["features", "sparse", "scores"].into_iter().find(|known| distance(known, key) <= 2);
    let quoted = dragoman_base::error::quote(key);
    match near {
        Some(near) => Err(Fault::words(
            format!("one of the keys {}, or a column of your own", KEYS.join(", ")),
            format!("{quoted} (did you mean `{near}`?)"),
        )),
        None => Ok(()),
    }
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
