//! How a metric cuts a line into tokens.

mod cut;
mod tercom;

pub use tercom::Tercom;

use std::borrow::Cow;

/// Whether Python's `str.split` and `str.strip` take `c` for white space: Unicode's `White_Space` and the four
/// information separators. Scores can only equal sacreBLEU's if the same characters separate tokens.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// The tokens of an already tokenised line.
pub fn split(line: &str) -> impl Iterator<Item = &str> {
    line.split(is_space).filter(|token| !token.is_empty())
}

/// A tokeniser of sacreBLEU's family, to the letter (checked against sacreBLEU 2.6.0; Post 2018).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tokenizer {
    /// `none`: the line is tokenised already, so it is split at white space and nothing else.
    None,
    /// `13a`: the rules of NIST's `mteval-v13a` for Western scripts. The default of BLEU at WMT.
    V13a,
    /// `zh`: every Chinese character is a token; the rest goes by the rules of `13a`.
    Zh,
    /// `intl`: the rules of NIST's `mteval-v14`, which part Unicode's punctuation and symbols from words.
    Intl,
    /// `char`: every character that is not white space is a token.
    Char,
}

impl Tokenizer {
    /// The tokeniser that sacreBLEU calls `name`, if it is one of ours.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::None),
            "13a" => Some(Self::V13a),
            "zh" => Some(Self::Zh),
            "intl" => Some(Self::Intl),
            "char" => Some(Self::Char),
            _ => None,
        }
    }

    /// The line with its tokens separated by white space, the same string as sacreBLEU's tokeniser returns;
    /// [`split`] gives the tokens.
    pub fn apply(self, line: &str) -> String {
        match self {
            Self::None => line.to_owned(),
            Self::V13a => cut::western(line),
            Self::Zh => cut::chinese(line),
            Self::Intl => cut::international(line),
            Self::Char => spell(line),
        }
    }

    /// The line as a word metric compares it: without white space at its end, lower-cased if so asked, tokenised.
    pub fn prepare(self, line: &str, lowercase: bool) -> String {
        let line = line.trim_end_matches(is_space);
        if lowercase { self.apply(&line.to_lowercase()) } else { self.apply(line) }
    }
}

/// All characters of `line`, white space too, with a space between each two.
fn spell(line: &str) -> String {
    let mut out = String::with_capacity(2 * line.len());
    for c in line.chars() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

/// `line` with each of `pairs` replaced in turn, so that what one replacement makes the next one sees.
fn replace_in_turn<'a>(line: &'a str, pairs: &[(&str, &str)]) -> Cow<'a, str> {
    let mut line = Cow::Borrowed(line);
    for (from, to) in pairs {
        if line.contains(from) {
            line = Cow::Owned(line.replace(from, to));
        }
    }
    line
}

#[cfg(test)]
mod tests;
