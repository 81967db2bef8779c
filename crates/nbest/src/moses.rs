//! The family of lists with columns between `|||`: Moses, cdec, Travatar.

use crate::batch::Record;
use crate::features::{Interner, no_values};
use crate::format::Format;
use crate::{Fault, is_blank, number, trim};
use dragoman_base::Names;
use memchr::{memchr, memrchr};

/// What may stand in the feature column.
const FEATURE: &str = "a finite number, `name= value` or `name=value`";

/// How many places of a line are remembered.
const PLACES: usize = 1024;

/// Where the next separator starts at or after `from`: `|||` with a blank (or the line's end) on both sides.
fn separator(line: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += memchr(b'|', &line[at..])?;
        let run = line[at..].iter().take_while(|&&b| b == b'|').count();
        let open = at == from || is_blank(line[at - 1]);
        if run == 3 && open && line.get(at + 3).is_none_or(|&b| is_blank(b)) {
            return Some(at);
        }
        at += run;
    }
}

/// A column and what follows it. The separator is part of neither.
pub fn cut(line: &str, from: usize) -> (&str, Option<usize>) {
    match separator(line.as_bytes(), from) {
        Some(at) => (trim(&line[from..at]), Some(at + 3)),
        None => (trim(&line[from..]), None),
    }
}

/// The id at the start of a line and where the text starts. The old dialect has no blank before the first `|||`.
fn head(line: &str) -> Result<(u64, usize), Fault> {
    let start = line.bytes().take_while(|&b| is_blank(b)).count();
    let end = start + line[start..].bytes().take_while(u8::is_ascii_digit).count();
    let bar = end + line[end..].bytes().take_while(|&b| is_blank(b)).count();
    let id = line[start..end].parse().ok();
    let rest = line[bar..].strip_prefix("|||").filter(|rest| rest.bytes().next().is_none_or(is_blank));
    match (id, rest) {
        (Some(id), Some(_)) => Ok((id, bar + 3)),
        _ if trim(line).is_empty() => Err(Fault::words("a candidate", "a blank line")),
        _ => Err(Fault::new("a sentence number and `|||`", line)),
    }
}

/// All columns of a line, as far as it has them.
pub fn columns(line: &str) -> impl Iterator<Item = &str> {
    let (first, mut next) = match head(line) {
        Ok((_, from)) => (Some(trim(&line[..from - 3])), Some(from)),
        Err(_) => (None, None),
    };
    let rest = std::iter::from_fn(move || {
        let (column, after) = cut(line, next?);
        next = after;
        Some(column)
    });
    first.into_iter().chain(rest)
}

/// Whether a column holds nothing but links: `0-0 1-2`, or phrases `0-1=0-2 2=3`.
pub fn is_alignment(column: &str) -> bool {
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let link = |s: &str| s.split_once('-').is_some_and(|(i, j)| digits(i) && digits(j));
    let span = |s: &str| digits(s) || link(s);
    let item = |s: &str| link(s) || s.split_once('=').is_some_and(|(a, b)| span(a) && span(b));
    column.split([' ', '\t']).all(|s| s.is_empty() || item(s))
}

/// What stood at some place of the previous line, for the next line most likely has it there, too.
#[derive(Debug)]
enum Known {
    Group(usize),
    Sparse(u32),
}

/// Reads lines of one dialect.
#[derive(Debug)]
pub struct Parser {
    format: Format,
    /// For each place in the feature column: the text up to and with `=`, and what it means.
    places: Vec<(Vec<u8>, Known)>,
}

/// A walk through the feature column of one line.
struct Walk<'a> {
    column: &'a str,
    at: usize,
    record: &'a mut Record,
    features: &'a mut Interner,
    names: &'a mut Names,
}

impl Parser {
    pub fn new(format: Format) -> Self {
        Self { format, places: Vec::new() }
    }

    /// Reads `line` into `record`.
    pub fn parse(
        &mut self,
        line: &str,
        record: &mut Record,
        features: &mut Interner,
        names: &mut Names,
    ) -> Result<(), Fault> {
        let (id, from) = head(line)?;
        record.number = Some(id);
        let (text, next) = cut(line, from);
        record.text.push_str(text);
        let third = next.map(|from| cut(line, from));
        let fourth = third.and_then(|(_, next)| next).map(|from| cut(line, from));
        let (features_column, total, rest) = match (self.format, third, fourth) {
            (Format::Travatar, Some((total, _)), Some((column, rest))) => (column, total, rest),
            (Format::Travatar, ..) => return Err(too_few("id ||| text ||| total ||| features", line)),
            (_, Some((column, _)), Some((total, rest))) => (column, total, rest),
            (_, Some((column, _)), None) => (column, "", None),
            _ => return Err(too_few("id ||| text ||| features", line)),
        };
        if !total.is_empty() {
            let fault = || Fault::new("a finite number as total", total);
            record.total = number::parse(total).ok_or_else(fault)?;
        }
        if let Some(from) = rest {
            further(line, from, record);
        }
        let walk = Walk { column: features_column, at: 0, record, features, names };
        self.features(walk)
    }

    fn features(&mut self, mut walk: Walk<'_>) -> Result<(), Fault> {
        let mut place = 0;
        while walk.skip(self.format) {
            if !self.recall(place, &mut walk)? {
                let (text, known) = self.item(place, &mut walk)?;
                self.remember(place, text, known);
            }
            place += 1;
        }
        Ok(())
    }

    /// Notes what stands at `place`, unless the line is out of all bounds.
    fn remember(&mut self, place: usize, text: &[u8], known: Known) {
        if let Some(old) = self.places.get_mut(place) {
            old.0.clear();
            old.0.extend_from_slice(text);
            old.1 = known;
        } else if place < PLACES {
            self.places.push((text.to_vec(), known));
        }
    }

    /// Reads the item at `walk.at` if it is named as on the previous line.
    fn recall(&self, place: usize, walk: &mut Walk<'_>) -> Result<bool, Fault> {
        let Some((text, known)) = self.places.get(place) else { return Ok(false) };
        let Some(after) = walk.column.as_bytes()[walk.at..].strip_prefix(text.as_slice()) else {
            return Ok(false);
        };
        match *known {
            Known::Group(group) => {
                if !after.first().is_none_or(|&b| is_blank(b)) {
                    return Ok(false);
                }
                let start = walk.at;
                walk.at += text.len();
                let width = walk.numbers()?;
                let name = &walk.column[start..start + text.len() - 1];
                walk.features.check_width(group, name, width)?;
                walk.features.push_group(group, walk.record, walk.names)?;
            }
            Known::Sparse(id) => {
                let Some((value, length)) = number::prefix(after) else { return Ok(false) };
                if !after.get(length).is_none_or(|&b| self.ends(b)) {
                    return Ok(false);
                }
                walk.at += text.len() + length;
                walk.features.push(id, value, walk.record, walk.names)?;
            }
        }
        Ok(true)
    }

    /// Whether `byte` ends an item.
    fn ends(&self, byte: u8) -> bool {
        is_blank(byte) || (byte == b';' && self.format == Format::Cdec)
    }

    /// Reads the item at `walk.at`, whatever it is; returns its text up to and with `=`, and what it means.
    fn item<'a>(&self, place: usize, walk: &mut Walk<'a>) -> Result<(&'a [u8], Known), Fault> {
        let column = walk.column;
        let start = walk.at;
        let bytes = column.as_bytes();
        let length = bytes[start..].iter().take_while(|&&b| !self.ends(b)).count();
        let token = &column[start..start + length];
        if self.format == Format::Moses && place == 0 && number::parse(token).is_some() {
            let width = walk.numbers()?;
            return walk.group("F", width).map(|group| (&b"F="[..], group));
        }
        let groups = self.format == Format::Moses;
        if let Some(name) = token.strip_suffix(['=', ':']).filter(|_| groups) {
            walk.at += length;
            let width = walk.numbers()?;
            return walk.group(name, width).map(|group| (token.as_bytes(), group));
        }
        let Some(split) = memrchr(b'=', token.as_bytes()) else {
            return Err(Fault::new(if groups { FEATURE } else { "`name=value`" }, token));
        };
        let (name, value) = (&token[..split], &token[split + 1..]);
        let id = Interner::sparse(name, walk.names)?;
        let fault = || {
            if value.is_empty() {
                no_values(name)
            } else {
                Fault::new(format!("a finite number for `{name}`"), value)
            }
        };
        let value = number::parse(value).ok_or_else(fault)?;
        walk.at += length;
        walk.features.push(id, value, walk.record, walk.names)?;
        Ok((&token.as_bytes()[..=split], Known::Sparse(id)))
    }
}

impl Walk<'_> {
    /// Goes to the next item; false at the end of the column.
    fn skip(&mut self, format: Format) -> bool {
        let bytes = self.column.as_bytes();
        while bytes.get(self.at).is_some_and(|&b| is_blank(b) || (b == b';' && format == Format::Cdec)) {
            self.at += 1;
        }
        self.at < bytes.len()
    }

    /// Reads all numbers that follow, up to the next name, and says how many there were.
    fn numbers(&mut self) -> Result<usize, Fault> {
        let bytes = self.column.as_bytes();
        let before = self.record.values.len();
        loop {
            let mut at = self.at;
            while bytes.get(at).is_some_and(|&b| is_blank(b)) {
                at += 1;
            }
            match number::prefix(&bytes[at..]) {
                Some((value, length)) if bytes.get(at + length).is_none_or(|&b| is_blank(b)) => {
                    self.record.values.push(value);
                    self.at = at + length;
                }
                _ => {
                    let token = self.column[at..].split([' ', '\t']).next().unwrap_or("");
                    let named = token.contains('=') || token.ends_with(':') || token.is_empty();
                    let count = self.record.values.len() - before;
                    return if named { Ok(count) } else { Err(Fault::new(FEATURE, token)) };
                }
            }
        }
    }

    /// Files the `width` values just read under the dense group `name`.
    fn group(&mut self, name: &str, width: usize) -> Result<Known, Fault> {
        let group = self.features.group(name, width, self.names)?;
        self.features.push_group(group, self.record, self.names)?;
        Ok(Known::Group(group))
    }
}

/// The columns after the ones that every list has: an alignment, if it looks like one, and the rest as it is.
fn further(line: &str, from: usize, record: &mut Record) {
    let (column, rest) = cut(line, from);
    if is_alignment(column) {
        record.aligned = true;
        record.alignment.push_str(column);
        record.extra.push_str(rest.map_or("", |from| trim(&line[from..])));
    } else {
        record.extra.push_str(trim(&line[from..]));
    }
}

fn too_few(want: &str, line: &str) -> Fault {
    Fault::new(format!("the columns `{want}`"), line)
}
