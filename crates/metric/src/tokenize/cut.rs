//! The machine behind `13a`, `zh`, `intl` and TER's tokeniser.
//!
//! sacreBLEU and NIST's scripts define these by regular expressions that run over the line one after the other.
//! Here one pass does the work of all, which needs two facts about those expressions.
//!
//! A *mark* (`.` and `,` in `13a`, any punctuation in `intl`) is set apart by two rules. The first takes pairs
//! (non-digit, mark) from left to right without overlap, so a mark that was the second of a pair cannot be the
//! first of the next; that is the one bit of memory, `open`. After it no two marks are adjacent any more, so
//! the second rule, (mark, non-digit), needs no memory. Together: a mark is set apart if `open`, or if what
//! follows it is not a digit.
//!
//! All rules put spaces in but none takes a character away, and a space is a non-digit like the symbol it
//! surrounds. So the rules that always set a symbol apart, and the one for a dash after a digit, commute with
//! the rest.

use super::{is_space, replace_in_turn};
use regex::Regex;
use std::sync::LazyLock;

/// What a character does to the tokens around it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Part of a word.
    Plain,
    /// Part of a word; guards the marks beside it.
    Digit,
    /// White space.
    Space,
    /// A token of its own, always.
    Alone,
    /// A token of its own unless digits guard it.
    Mark,
    /// A token of its own after a digit.
    Dash,
    /// The apostrophe, which starts a token in `'s` before a space or a symbol.
    Quote,
}

/// A tokeniser's view of characters and of a line's ends.
pub(super) struct Rules {
    /// The class of each ASCII character.
    pub ascii: [Class; 128],
    /// The class of every other character.
    pub wide: fn(char) -> Class,
    /// Whether the line counts as having a space before and after it.
    pub padded: bool,
}

/// `13a` for ASCII: all punctuation but `'`, `,`, `-` and `.` stands alone.
pub(super) const WESTERN: [Class; 128] = {
    let mut table = [Class::Plain; 128];
    let mut i = 0;
    while i < 128 {
        let c = i as u8;
        table[i] = match c {
            b'.' | b',' => Class::Mark,
            b'-' => Class::Dash,
            b'0'..=b'9' => Class::Digit,
            b'\'' => Class::Plain,
            b'\t'..=b'\r' | b'\x1c'..=b' ' => Class::Space,
            _ if c.is_ascii_punctuation() => Class::Alone,
            _ => Class::Plain,
        };
        i += 1;
    }
    table
};

/// `intl` for ASCII: Unicode's symbols (S) stand alone, its punctuation (P) are marks.
const INTERNATIONAL: [Class; 128] = {
    let mut table = WESTERN;
    let mut i = 0;
    while i < 128 {
        let c = i as u8;
        if c.is_ascii_punctuation() {
            let symbol = matches!(c, b'$' | b'+' | b'<' | b'=' | b'>' | b'^' | b'`' | b'|' | b'~');
            table[i] = if symbol { Class::Alone } else { Class::Mark };
        }
        i += 1;
    }
    table
};

/// The class of a non-ASCII character where only white space matters.
pub(super) fn wide_plain(c: char) -> Class {
    if is_space(c) { Class::Space } else { Class::Plain }
}

/// `13a`.
pub(super) fn western(line: &str) -> String {
    static RULES: Rules = Rules { ascii: WESTERN, wide: wide_plain, padded: true };
    const REPLACED: [(&str, &str); 7] = [
        ("<skipped>", ""),
        ("-\n", ""),
        ("\n", " "),
        ("&quot;", "\""),
        ("&amp;", "&"),
        ("&lt;", "<"),
        ("&gt;", ">"),
    ];
    if line.bytes().any(|b| matches!(b, b'<' | b'\n' | b'&')) {
        cut(&replace_in_turn(line, &REPLACED), &RULES)
    } else {
        cut(line, &RULES)
    }
}

/// `zh`.
pub(super) fn chinese(line: &str) -> String {
    static RULES: Rules = Rules {
        ascii: WESTERN,
        wide: |c| if is_chinese(c) { Class::Alone } else { wide_plain(c) },
        padded: false,
    };
    cut(line.trim_matches(is_space), &RULES)
}

/// What sacreBLEU takes for a Chinese character.
///
/// It means to list two blocks beyond the BMP as well, but writes them with four-digit escapes, which makes
/// U+2001 to U+2A6D and U+2F81 to U+2FA1 Chinese instead: dashes and curly quotes among them. Kept, since scores
/// are only comparable if everybody counts alike.
fn is_chinese(c: char) -> bool {
    !is_space(c)
        && matches!(c,
            '\u{2001}'..='\u{2a6d}' | '\u{2e80}'..='\u{2fdf}' | '\u{2ff0}'..='\u{303f}' | '\u{3100}'..='\u{312f}'
            | '\u{31a0}'..='\u{31ef}' | '\u{3200}'..='\u{4db5}' | '\u{4e00}'..='\u{9fbb}'
            | '\u{f900}'..='\u{fa2d}' | '\u{fa30}'..='\u{fa6a}' | '\u{fa70}'..='\u{fad9}'
            | '\u{fe10}'..='\u{fe1f}' | '\u{fe30}'..='\u{fe4f}' | '\u{ff00}'..='\u{ffef}')
}

/// `intl`.
pub(super) fn international(line: &str) -> String {
    static RULES: Rules = Rules { ascii: INTERNATIONAL, wide: wide_international, padded: false };
    cut(line, &RULES)
}

fn wide_international(c: char) -> Class {
    static PUNCTUATION: LazyLock<Vec<(char, char)>> = LazyLock::new(|| ranges(r"\p{P}+"));
    static SYMBOLS: LazyLock<Vec<(char, char)>> = LazyLock::new(|| ranges(r"\p{S}+"));
    let within = |ranges: &[(char, char)]| {
        ranges.get(ranges.partition_point(|&(_, last)| last < c)).is_some_and(|&(first, _)| first <= c)
    };
    if within(&PUNCTUATION) {
        Class::Mark
    } else if within(&SYMBOLS) {
        Class::Alone
    } else if c.is_numeric() {
        Class::Digit
    } else {
        wide_plain(c)
    }
}

/// The non-ASCII characters that `pattern` matches, as ranges in order.
fn ranges(pattern: &str) -> Vec<(char, char)> {
    let class = Regex::new(pattern).expect("a pattern of ours");
    let all: String = ('\u{80}'..=char::MAX).collect();
    let ends = |run: &str| Some((run.chars().next()?, run.chars().next_back()?));
    class.find_iter(&all).filter_map(|run| ends(run.as_str())).collect()
}

/// Tokens joined by single spaces, as Python's `' '.join(line.split())` leaves them.
struct Joined(String);

impl Joined {
    /// Ends the token under construction, if there is one.
    fn gap(&mut self) {
        if !matches!(self.0.as_bytes().last(), None | Some(b' ')) {
            self.0.push(' ');
        }
    }

    fn alone(&mut self, token: &str) {
        self.gap();
        self.0.push_str(token);
        self.0.push(' ');
    }

    fn finish(mut self) -> String {
        if self.0.ends_with(' ') {
            self.0.pop();
        }
        self.0
    }
}

impl Rules {
    /// The class of the character that starts at byte `at`, and its length in bytes.
    fn class(&self, line: &str, at: usize) -> (Class, usize) {
        let byte = line.as_bytes()[at];
        if byte < 128 {
            return (self.ascii[byte as usize], 1);
        }
        line[at..].chars().next().map_or((Class::Plain, 1), |c| ((self.wide)(c), c.len_utf8()))
    }

    /// Whether a mark that ends at byte `end` has something other than a digit after it.
    fn no_digit_after(&self, line: &str, end: usize) -> bool {
        if end < line.len() { self.class(line, end).0 != Class::Digit } else { self.padded }
    }

    /// Whether the apostrophe at byte `at` is that of an `'s` with a space or an ASCII symbol behind it.
    fn possessive(&self, line: &str, at: usize) -> bool {
        match line.as_bytes()[at + 1..] {
            [b's'] => self.padded,
            [b's', next, ..] => next == b' ' || next < 128 && self.ascii[next as usize] == Class::Alone,
            _ => false,
        }
    }
}

/// The tokens of `line` under `rules`, joined by single spaces.
pub(super) fn cut(line: &str, rules: &Rules) -> String {
    let mut out = Joined(String::with_capacity(line.len() + line.len() / 4 + 8));
    // Where the characters start that are not written yet.
    let mut run = 0;
    // Whether a mark here is set apart whatever follows it.
    let mut open = rules.padded;
    let mut after_digit = false;
    let mut at = 0;
    while at < line.len() {
        let (class, length) = rules.class(line, at);
        let end = at + length;
        let apart = match class {
            Class::Alone => true,
            Class::Mark => open || rules.no_digit_after(line, end),
            Class::Dash => after_digit,
            _ => false,
        };
        if apart || class == Class::Space {
            out.0.push_str(&line[run..at]);
            run = end;
            if apart { out.alone(&line[at..end]) } else { out.gap() }
        } else if class == Class::Quote && rules.possessive(line, at) {
            out.0.push_str(&line[run..at]);
            run = at;
            out.gap();
        }
        after_digit = class == Class::Digit;
        let second_of_pair = open && class == Class::Mark;
        open = !(after_digit || second_of_pair);
        at = end;
    }
    out.0.push_str(&line[run..]);
    out.finish()
}
