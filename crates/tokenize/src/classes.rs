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
        S::Han | S::Hiragana | S::Katakana | S::Bopomofo | S::Yi | S::Tangut | S::Nushu | S::Khitan_Small_Script => {
            Class::Han
        }
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
    fn letters_of_many_scripts() {
        let classes: Vec<Class> = "aÄ1ʼ語カーกक\u{94d}한-–$½_".chars().map(class).collect();
        use Class::{Capital, Cluster, Currency, Digit, Extend, Han, Hyphen, Letter, Other, Small};
        let want = [Small, Capital, Digit, Letter, Han, Han, Han, Cluster, Letter, Extend, Letter, Hyphen, Other];
        assert_eq!(classes[..13], want);
        assert_eq!(classes[13..], [Currency, Letter, Letter]);
    }
}
