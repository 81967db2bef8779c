//! Lines made comparable: Unicode normal forms, no invisible characters, one blank between words.

use dragoman_base::{Error, Result};
use std::hash::{DefaultHasher, Hasher};
use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

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

/// What [`normalise`] makes of a line, and for each of its characters where it comes from: the first character of the
/// line and one past the last. Letters and accents that are composed come from all of them.
pub fn traced(line: &str, form: Form) -> (String, Vec<(usize, usize)>) {
    let (mut out, mut places) = (String::with_capacity(line.len()), Vec::new());
    let visible = line.chars().enumerate().filter(|&(_, c)| !is_invisible(c));
    let mut part: Vec<(usize, char)> = Vec::new();
    let mut gap = None;
    for (at, c) in visible {
        if starts(c, form) {
            flush(&mut part, form, &mut gap, &mut out, &mut places);
        }
        part.push((at, c));
    }
    flush(&mut part, form, &mut gap, &mut out, &mut places);
    (out, places)
}

/// Whether a character never joins those before it, so that a normal form can be made up to it and from it on.
fn starts(c: char, form: Form) -> bool {
    let one = std::iter::once(c);
    let first = match form {
        Form::None => return true,
        Form::Nfc => one.nfd().next(),
        Form::Nfkc => one.nfkd().next(),
    };
    first.is_some_and(|c| {
        canonical_combining_class(c) == 0 && is_nfc_quick(std::iter::once(c)) == IsNormalized::Yes
    })
}

/// Normalises characters that belong together; `gap` is the white space that waits for a word after it.
fn flush(
    part: &mut Vec<(usize, char)>,
    form: Form,
    gap: &mut Option<(usize, usize)>,
    out: &mut String,
    places: &mut Vec<(usize, usize)>,
) {
    let (Some(&(first, _)), Some(&(last, _))) = (part.first(), part.last()) else { return };
    let place = (first, last + 1);
    let chars = part.iter().map(|&(_, c)| c);
    let made: String = match form {
        Form::None => chars.collect(),
        Form::Nfc => chars.nfc().collect(),
        Form::Nfkc => chars.nfkc().collect(),
    };
    part.clear();
    for c in made.chars() {
        if c.is_whitespace() {
            *gap = (!out.is_empty()).then(|| gap.map_or(place, |(from, _)| (from, place.1)));
            continue;
        }
        if let Some(space) = gap.take() {
            out.push(' ');
            places.push(space);
        }
        out.push(c);
        places.push(place);
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
    fn places() {
        let (text, places) = traced("  e\u{ad}\u{301}\u{a0} ﬁ\u{200b}", Form::Nfkc);
        assert_eq!(text, "é fi");
        assert_eq!(places, [(2, 5), (5, 7), (7, 8), (7, 8)]);
    }

    proptest::proptest! {
        /// All that composes: accents in any order, Hangul's letters, ligatures, spaces that decompose.
        #[test]
        fn traced_lines_are_the_normalised_ones(
            line in "[a-eé\u{301}\u{323}\u{344}\u{f73}\u{9be}\u{9c7}\u{1100}-\u{1112}\u{1161}-\u{1175}\u{11a8}-\u{11c2}가ﬁ¨´ \u{a0}\u{3000}\u{ad}\u{200b}Å①\u{212b}]{0,12}|\\PC{0,9}",
        ) {
            for form in [Form::None, Form::Nfc, Form::Nfkc] {
                let (text, places) = traced(&line, form);
                proptest::prop_assert_eq!(&text, &normal(&line, form).0);
                proptest::prop_assert_eq!(places.len(), text.chars().count());
                let length = line.chars().count();
                for pair in places.windows(2) {
                    proptest::prop_assert!(pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1);
                }
                for &(from, to) in &places {
                    proptest::prop_assert!(from < to && to <= length);
                }
            }
        }
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
