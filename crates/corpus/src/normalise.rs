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
    if is_plain(line, form) {
        squeeze_blanks(line, out);
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

/// Whether a line is in the normal form already, and has neither invisible characters nor white space other than
/// blanks: true if all of it is printable ASCII and Latin letters up to U+02FF (up to U+00FF for NFKC), as their bytes
/// show. Nothing below U+0300 combines; U+0080 to U+00BF, which have all the exceptions, begin with 0xc2.
fn is_plain(line: &str, form: Form) -> bool {
    let last = if form == Form::Nfkc { 0xc3 } else { 0xcb };
    line.bytes().all(|b| matches!(b, 0x20..=0x7e | 0x80..=0xbf) || (0xc3..=last).contains(&b))
}

/// [`squeeze`] for text in which blanks are the only white space.
fn squeeze_blanks(line: &str, out: &mut String) {
    let words = line.split(' ').filter(|word| !word.is_empty());
    for (index, word) in words.enumerate() {
        if index > 0 {
            out.push(' ');
        }
        out.push_str(word);
    }
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
    let bytes: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
    hash_bytes(&bytes)
}

fn hash_bytes(parts: &[&[u8]]) -> u128 {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u8(salt);
        for part in parts {
            hasher.write(part);
            hasher.write_u8(0xff); // in no UTF-8 text
        }
        hasher.finish()
    };
    (u128::from(half(1)) << 64) | u128::from(half(2))
}

/// What must be equal for a line to count as a line of a test set, hashed: the NFKC form in lower case without white
/// space and invisible characters, so that tokenised and plain text, and letters of either case, fall together.
pub fn key(line: &str) -> u128 {
    if is_plain(line, Form::Nfkc) {
        return hash_bytes(&[&small_latin(line)]);
    }
    let visible = line.chars().filter(|&c| !is_invisible(c));
    let text: String =
        visible.nfkc().flat_map(char::to_lowercase).nfkc().filter(|c| !c.is_whitespace()).collect();
    hash(&[&text])
}

/// A plain line up to U+00FF in small letters, without blanks.
fn small_latin(line: &str) -> Vec<u8> {
    let mut small = Vec::with_capacity(line.len());
    let mut after = 0;
    for byte in line.bytes().filter(|&b| b != b' ') {
        // U+00C0 to U+00DE are capitals, but for the sign U+00D7; the small letter is 32 higher.
        let capital = after == 0xc3 && (0x80..=0x9e).contains(&byte) && byte != 0x97;
        small.push(if capital { byte + 0x20 } else { byte.to_ascii_lowercase() });
        after = byte;
    }
    small
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
        assert_eq!(key("ÀÖØÞ ×ßÿ"), key("àöøþ×\u{200b}ßÿ"), "plain lines and others have the same keys");
        assert_ne!(key("×"), key("÷"));
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
        assert_eq!(hash(&["ab", "c"]), hash(&["ab", "c"]));
    }
}
