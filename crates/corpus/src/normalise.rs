//! Lines made comparable: Unicode normal forms, no invisible characters, one blank between words.

use dragoman_base::{Error, Result};
use std::hash::{DefaultHasher, Hasher};
use unicode_normalization::UnicodeNormalization;

/// Unicode normal forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Characters stay as they are.
    None,
    /// Letters and their accents are composed.
    Nfc,
    /// Compatible characters are made equal, too: full-width letters, ligatures, superscripts.
    Nfkc,
}

impl Form {
    /// The form called `name`.
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "none" => Ok(Self::None),
            "nfc" => Ok(Self::Nfc),
            "nfkc" => Ok(Self::Nfkc),
            _ => Err(Error::Invalid(format!("expected nfc, nfkc or none, found {name}"))),
        }
    }
}

/// Characters that nobody sees: control characters other than white space, byte-order marks, soft hyphens,
/// zero-width blanks, and marks of direction. The joiners U+200C and U+200D stay, as they change words.
pub fn is_invisible(c: char) -> bool {
    let marks = matches!(c, '\u{00ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2060}' | '\u{feff}');
    let directions = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    marks || directions || (c.is_control() && !c.is_whitespace())
}

/// Normalises a line into `out`: invisible characters go, then comes the normal form, then every run of white space
/// becomes one blank, none at the ends. Says whether there were invisible characters.
pub fn normalise(line: &str, form: Form, out: &mut String) -> bool {
    out.clear();
    if line.bytes().all(|b| (0x20..0x7f).contains(&b)) {
        // Plain ASCII is its own normal form.
        squeeze(line.chars(), out);
        return false;
    }
    let visible = line.chars().filter(|&c| !is_invisible(c));
    match form {
        Form::None => squeeze(visible, out),
        Form::Nfc => squeeze(visible.nfc(), out),
        Form::Nfkc => squeeze(visible.nfkc(), out),
    }
    line.contains(is_invisible)
}

fn squeeze(chars: impl Iterator<Item = char>, out: &mut String) {
    let mut gap = false;
    for c in chars {
        if c.is_whitespace() {
            gap = !out.is_empty();
        } else {
            if gap {
                out.push(' ');
                gap = false;
            }
            out.push(c);
        }
    }
}

/// 128 bits that stand for a string: two texts with the same are taken for equal. With a billion texts the
/// probability that any two fall together by chance is below 1e-20.
pub fn hash(parts: &[&str]) -> u128 {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u8(salt);
        for part in parts {
            hasher.write(part.as_bytes());
            hasher.write_u8(0xff); // in no UTF-8 text
        }
        hasher.finish()
    };
    (u128::from(half(1)) << 64) | u128::from(half(2))
}

/// What must be equal for a line to count as a line of a test set, hashed: the NFKC form in lower case without white
/// space and invisible characters, so that tokenised and plain text, and letters of either case, fall together.
pub fn key(line: &str) -> u128 {
    let visible = line.chars().filter(|&c| !is_invisible(c));
    let text: String = if line.is_ascii() {
        visible.filter(|c| !c.is_whitespace()).map(|c| c.to_ascii_lowercase()).collect()
    } else {
        visible.nfkc().flat_map(char::to_lowercase).nfkc().filter(|c| !c.is_whitespace()).collect()
    };
    hash(&[&text])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(line: &str, form: Form) -> (String, bool) {
        let mut out = "old".to_owned();
        let odd = normalise(line, form, &mut out);
        (out, odd)
    }

    #[test]
    fn white_space_and_invisible_characters() {
        assert_eq!(normal("  a\t\u{a0} b  ", Form::Nfc), ("a b".to_owned(), false));
        assert_eq!(normal("  a  b ", Form::Nfc), ("a b".to_owned(), false));
        assert_eq!(normal("a\u{1}b\u{7f}\u{200b}c\u{feff}", Form::None), ("abc".to_owned(), true));
        assert_eq!(normal("\u{200d}\u{3000}\u{2028}x", Form::None), ("\u{200d} x".to_owned(), false));
    }

    #[test]
    fn forms() {
        assert_eq!(normal("e\u{ad}\u{301} ﬁ Ａ", Form::Nfc).0, "é ﬁ Ａ");
        assert_eq!(normal("e\u{301} ﬁ Ａ", Form::Nfkc).0, "é fi A");
        assert_eq!(normal("e\u{301} ﬁ", Form::None).0, "e\u{301} ﬁ");
        assert!(Form::parse("nfd").is_err());
    }

    #[test]
    fn keys() {
        assert_eq!(key("Ein Haus."), key("ein haus ."));
        assert_eq!(key("Ｅin e\u{301}"), key("EIN É"));
        assert_ne!(key("ein haus"), key("ein maus"));
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
        assert_eq!(hash(&["ab", "c"]), hash(&["ab", "c"]));
    }
}
