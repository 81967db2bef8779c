//! How a metric cuts a line into tokens.

/// Whether Python's `str.split` and `str.strip` take `c` for white space: Unicode's `White_Space` and the four
/// information separators. Scores can only equal sacreBLEU's if the same characters separate tokens.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// The tokens of an already tokenised line.
pub fn split(line: &str) -> impl Iterator<Item = &str> {
    line.split(is_space).filter(|token| !token.is_empty())
}

/// A tokeniser of sacreBLEU's family, to the letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tokenizer {
    /// The line is tokenised already: split it at white space.
    None,
}

impl Tokenizer {
    /// The tokeniser that sacreBLEU calls `name`, if it is one of ours.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::None),
            _ => None,
        }
    }

    /// The line with its tokens separated by white space; [`split`] gives the tokens.
    pub fn apply(self, line: &str) -> String {
        match self {
            Self::None => line.to_owned(),
        }
    }
}
