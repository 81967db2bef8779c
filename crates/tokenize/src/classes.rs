//! Classes of characters for cutting: looked up in a table that is made once.

use std::sync::LazyLock;
use unicode_properties::{GeneralCategory as G, UnicodeGeneralCategory};
use unicode_script::{Script, UnicodeScript};

/// What cutting must know of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    /// White space.
    Space,
    /// Letters without case, and what counts as one: number signs such as `½`, connecting underscores.
    Letter,
    /// Small letters.
    Small,
    /// Capital and title-case letters.
    Capital,
    /// Decimal digits.
    Digit,
    /// Combining marks and invisible characters: part of what comes before.
    Extend,
    /// Han, kana and relatives: every character is a word.
    Han,
    /// Scripts without spaces between words whose words need a dictionary: every cluster is a word.
    Cluster,
    /// Hyphens, which stay inside words.
    Hyphen,
    /// Currency signs.
    Currency,
    /// All other punctuation and signs.
    Other,
}

impl Class {
    /// Letters of any kind.
    pub fn is_letter(self) -> bool {
        matches!(self, Self::Letter | Self::Small | Self::Capital)
    }

    /// What words consist of where words have spaces between them.
    pub fn is_word(self) -> bool {
        self.is_letter() || matches!(self, Self::Digit | Self::Extend)
    }

    /// Text that is written without spaces.
    pub fn is_dense(self) -> bool {
        matches!(self, Self::Han | Self::Cluster)
    }
}

/// White space as Python's `str.split` has it: Unicode's, and the four separators U+001C to U+001F.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// What the first byte of a character says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Lead {
    /// An ASCII letter or digit.
    Plain,
    /// ASCII white space.
    Space,
    /// All white space beyond ASCII starts with such a byte, and much else.
    Perhaps,
    /// A sign that ends sentences and clauses.
    Sign,
    /// Anything else.
    Other,
}

/// By the first byte of a character, and for bytes inside of characters.
pub static LEADS: [Lead; 256] = {
    let mut leads = [Lead::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        leads[byte] = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => Lead::Plain,
            b' ' | 9..=13 | 0x1c..=0x1f => Lead::Space,
            0xc2 | 0xe1..=0xe3 => Lead::Perhaps,
            b'.' | b',' | b';' | b':' | b'!' | b'?' => Lead::Sign,
            _ => Lead::Other,
        };
        byte += 1;
    }
    leads
};

/// Whether white space starts at a byte of the line where a character starts.
fn space_at(line: &str, at: usize) -> bool {
    match LEADS[usize::from(line.as_bytes()[at])] {
        Lead::Space => true,
        Lead::Perhaps => starts_with_space(line, at),
        _ => false,
    }
}

/// Whether the character at `at` is white space; for characters of several bytes.
#[cold]
pub fn starts_with_space(line: &str, at: usize) -> bool {
    line[at..].starts_with(is_space)
}

/// Where the next word starts, from `at` on.
pub fn skip_space(line: &str, mut at: usize) -> Option<usize> {
    while at < line.len() {
        if !space_at(line, at) {
            return Some(at);
        }
        at += 1;
        while !line.is_char_boundary(at) {
            at += 1;
        }
    }
    None
}

/// The words of a line: what is between white space.
pub fn words(line: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = skip_space(line, at)?;
        let bytes = line.as_bytes();
        at = start;
        // Bytes inside characters are never taken for starts of others.
        while at < bytes.len() {
            match LEADS[usize::from(bytes[at])] {
                Lead::Space => break,
                Lead::Perhaps if starts_with_space(line, at) => break,
                _ => at += 1,
            }
        }
        Some(&line[start..at])
    })
}

/// Pages of 256 characters; equal pages are kept once.
struct Table {
    pages: Vec<u8>,
    classes: Vec<Class>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table { pages: Vec::with_capacity(0x1100), classes: Vec::new() };
    for page in 0..0x1100_u32 {
        let class = |low| char::from_u32((page << 8) | low).map_or(Class::Other, compute);
        let row: Vec<Class> = (0..256).map(class).collect();
        let known = table.classes.chunks(256).position(|old| old == row);
        // Fewer than 256 pages differ; the table would not fit its bytes otherwise, and its test fails.
        table.pages.push(known.unwrap_or(table.classes.len() / 256) as u8);
        if known.is_none() {
            table.classes.extend(row);
        }
    }
    table
});

/// The class of a character.
pub fn class(c: char) -> Class {
    let table = &*TABLE;
    let page = usize::from(table.pages[c as usize >> 8]);
    table.classes[(page << 8) | (c as usize & 0xff)]
}

fn compute(c: char) -> Class {
    if is_space(c) {
        return Class::Space;
    }
    match c {
        // Punctuation inside words: Hebrew geresh and gershayim, Armenian accents of intonation, Tibetan tsheg.
        '\u{5f3}' | '\u{5f4}' | '\u{55b}'..='\u{55e}' | '\u{f0b}' | '\u{f0c}' => return Class::Letter,
        '-' | '\u{2010}' | '\u{2011}' | '\u{5be}' | '\u{58a}' => return Class::Hyphen,
        // The voiced sound marks and the prolonged sound mark belong to kana, though their script is common.
        '\u{3099}'..='\u{309c}' | '\u{30fc}' | '\u{ff70}' | '\u{ff9e}' | '\u{ff9f}' | '\u{3007}' => {
            return if c.general_category() == G::NonspacingMark { Class::Extend } else { Class::Han };
        }
        _ => {}
    }
    match c.general_category() {
        G::UppercaseLetter | G::TitlecaseLetter => Class::Capital,
        G::LowercaseLetter => Class::Small,
        G::OtherLetter | G::ModifierLetter | G::LetterNumber => caseless(c),
        G::OtherNumber | G::ConnectorPunctuation => Class::Letter,
        G::DecimalNumber => Class::Digit,
        G::NonspacingMark | G::SpacingMark | G::EnclosingMark | G::Format | G::Control => Class::Extend,
        G::CurrencySymbol => Class::Currency,
        _ => Class::Other,
    }
}

fn caseless(c: char) -> Class {
    use Script as S;
    match c.script() {
        S::Han
        | S::Hiragana
        | S::Katakana
        | S::Bopomofo
        | S::Yi
        | S::Tangut
        | S::Nushu
        | S::Khitan_Small_Script => Class::Han,
        S::Thai | S::Lao | S::Khmer | S::Myanmar | S::Tai_Le | S::New_Tai_Lue | S::Tai_Tham | S::Tai_Viet => {
            Class::Cluster
        }
        _ => Class::Letter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_what_the_rules_say() {
        for c in (0..=0x10_ffff).filter_map(char::from_u32) {
            assert_eq!(class(c), compute(c), "{c:?}");
        }
        assert!(TABLE.classes.len() / 256 < 256);
    }

    #[test]
    fn words_are_what_white_space_leaves() {
        for c in (0..=0x10_ffff).filter_map(char::from_u32) {
            let line = format!("a{c}b{c}{c}é{c}");
            let want: Vec<&str> = line.split(is_space).filter(|word| !word.is_empty()).collect();
            assert_eq!(words(&line).collect::<Vec<_>>(), want, "{c:?}");
        }
    }

    #[test]
    fn letters_of_many_scripts() {
        use Class::{Capital, Cluster, Currency, Digit, Extend, Han, Hyphen, Letter, Other, Small};
        let classes: Vec<Class> = "aÄ1ʼ語カーกक\u{94d}한-–$½_".chars().map(class).collect();
        let want =
            [Small, Capital, Digit, Letter, Han, Han, Han, Cluster, Letter, Extend, Letter, Hyphen, Other];
        assert_eq!(classes[..13], want);
        assert_eq!(classes[13..], [Currency, Letter, Letter]);
    }
}
