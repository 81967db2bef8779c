//! The dialects of n-best lists, and how to tell them apart.

use crate::{moses, number};
use dragoman_base::{Error, Result};

/// A way to write an n-best list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `id ||| text ||| name= v v name=v ||| total ||| alignment ||| ...`, also with `name: v v`.
    Moses,
    /// `id ||| text ||| name=v name=v ||| total ||| ...`; features may be separated by `;` too.
    Cdec,
    /// `id ||| text ||| total ||| name=v name=v ||| ...`.
    Travatar,
    /// One JSON object a line.
    Jsonl,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 4] = [Self::Moses, Self::Cdec, Self::Travatar, Self::Jsonl];

    /// The format's name as options spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Moses => "moses",
            Self::Cdec => "cdec",
            Self::Travatar => "travatar",
            Self::Jsonl => "jsonl",
        }
    }

    /// The format called `name`; None for `auto`.
    pub fn parse(name: &str) -> Result<Option<Self>> {
        if name == "auto" {
            return Ok(None);
        }
        let known = Self::ALL.into_iter().find(|format| format.name() == name);
        let message = || format!("expected the format auto, moses, cdec, travatar or jsonl, found `{name}`");
        known.map(Some).ok_or_else(|| Error::Invalid(message()))
    }

    /// The format told from the first line of a list. Moses also reads cdec's lists with blanks.
    pub fn detect(line: &str) -> Self {
        if line.trim_start().starts_with('{') {
            return Self::Jsonl;
        }
        let mut columns = moses::columns(line).skip(2);
        let (third, fourth) = (columns.next().unwrap_or(""), columns.next().unwrap_or(""));
        if number::parse(third).is_some() && fourth.contains('=') {
            Self::Travatar
        } else if is_semicolon_list(third) {
            Self::Cdec
        } else {
            Self::Moses
        }
    }
}

/// Whether a column is `name=value;name=value`, which Moses would take for one long name.
fn is_semicolon_list(column: &str) -> bool {
    let pair = |item: &str| item.rsplit_once('=').is_some_and(|(_, value)| number::parse(value).is_some());
    column.contains(';')
        && column.split(';').map(crate::trim).all(|item| !item.contains([' ', '\t']) && pair(item))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn told_from_the_first_line() {
        let cases = [
            ("0 ||| a ||| LM= 1 ||| 2", Format::Moses),
            ("0||| a ||| lm: 1 ||| 2", Format::Moses),
            ("0 ||| a ||| x=1 y=2 ||| 3", Format::Moses),
            ("0 ||| a ||| -3.5 ||| 2", Format::Moses),
            ("0 ||| a ||| wp_;_,=1 ||| 2", Format::Moses),
            ("0 ||| a ||| x=1;y=2 ||| 3", Format::Cdec),
            ("0 ||| a ||| -3.5 ||| x=1", Format::Travatar),
            ("{\"id\":0}", Format::Jsonl),
            ("", Format::Moses),
        ];
        for (line, want) in cases {
            assert_eq!(Format::detect(line), want, "{line}");
        }
        assert_eq!(Format::parse("cdec").unwrap(), Some(Format::Cdec));
        assert_eq!(Format::parse("auto").unwrap(), None);
        assert!(Format::parse("mosse").unwrap_err().to_string().contains("travatar or jsonl, found `mosse`"));
    }
}
