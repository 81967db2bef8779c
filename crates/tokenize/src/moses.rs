//! Moses' rules, as sacremoses 0.2 applies them without escapes and protected patterns.
//!
//! The rules are a chain of passes over the characters; each pass looks at one or two neighbours and goes from left to
//! right without looking back at what it wrote. Passes that have nothing to do are left out.

use crate::classes::words;
use rustc_hash::FxHashSet;

/// What the rules take from lists: characters by class, and words before a period that does not end a sentence.
#[derive(Debug, Clone, Default)]
pub struct Lists {
    /// Letters, digits and what else is part of words, when cutting.
    pub alnum: String,
    /// Letters, when cutting.
    pub alpha: String,
    /// Numbers.
    pub number: String,
    /// Small letters.
    pub lower: String,
    /// Words whose period stays.
    pub prefixes: Vec<String>,
    /// Words whose period stays before digits.
    pub numeric: Vec<String>,
    /// Letters, when joining.
    pub joined_alpha: String,
    /// Currency signs, when joining.
    pub currency: String,
    /// Ranges of characters that are written without spaces, first and last.
    pub dense: Vec<(u32, u32)>,
}

const ALNUM: u16 = 1;
const ALPHA: u16 = 2;
const NUMBER: u16 = 4;
const LOWER: u16 = 8;
const JOINED_ALPHA: u16 = 16;
/// Currency signs and opening brackets, which are joined to what follows.
const OPENING: u16 = 32;
const DENSE: u16 = 64;
/// Punctuation that is joined to what comes before.
const PUNCTUATION: u16 = 128;
/// Quotation marks that count in pairs.
const QUOTE: u16 = 256;

/// Flags of all characters, in pages of 256 of which equal ones are kept once.
struct Flags {
    pages: Vec<u16>,
    rows: Vec<[u16; 256]>,
}

impl Flags {
    fn new(lists: &Lists) -> Self {
        let mut all = vec![[0_u16; 256]; 0x1100];
        let mut set = |c: u32, flag: u16| all[c as usize >> 8][c as usize & 0xff] |= flag;
        for (text, flag) in [
            (lists.alnum.as_str(), ALNUM),
            (&lists.alpha, ALPHA),
            (&lists.number, NUMBER),
            (&lists.lower, LOWER),
            (&lists.joined_alpha, JOINED_ALPHA),
            (&lists.currency, OPENING),
            ("([{¿¡", OPENING),
            (",.?!:;\\%}])", PUNCTUATION),
            ("'\"„“`", QUOTE),
        ] {
            text.chars().for_each(|c| set(c as u32, flag));
        }
        for &(first, last) in &lists.dense {
            (first..=last.min(0x10_ffff)).for_each(|c| set(c, DENSE));
        }
        let mut flags = Self { pages: Vec::with_capacity(all.len()), rows: Vec::new() };
        for row in all {
            let known = flags.rows.iter().position(|old| *old == row);
            flags.pages.push(known.unwrap_or(flags.rows.len()) as u16);
            if known.is_none() {
                flags.rows.push(row);
            }
        }
        flags
    }

    fn has(&self, c: char, flag: u16) -> bool {
        self.rows[usize::from(self.pages[c as usize >> 8])][c as usize & 0xff] & flag != 0
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Apostrophes {
    /// `it 's`.
    English,
    /// `l' homme`.
    Elided,
    /// `x ' y`.
    Apart,
}

/// The tokeniser and detokeniser of a language.
pub struct Moses {
    flags: Flags,
    prefixes: FxHashSet<String>,
    numeric: FxHashSet<String>,
    apostrophes: Apostrophes,
    language: String,
}

/// The pattern of a pass over apostrophes: what must stand before, what after, and where spaces come.
type Around<'a> = (&'a dyn Fn(char) -> bool, &'a dyn Fn(char) -> bool, &'a [char]);

impl Moses {
    /// Rules for a language, with these lists.
    pub fn new(language: &str, lists: &Lists) -> Self {
        let apostrophes = match language {
            "en" => Apostrophes::English,
            "fr" | "it" => Apostrophes::Elided,
            _ => Apostrophes::Apart,
        };
        Self {
            flags: Flags::new(lists),
            prefixes: lists.prefixes.iter().cloned().collect(),
            numeric: lists.numeric.iter().cloned().collect(),
            apostrophes,
            language: language.to_owned(),
        }
    }

    fn is(&self, c: char, flag: u16) -> bool {
        self.flags.has(c, flag)
    }

    /// Appends the words of a line, apart by single spaces.
    pub fn tokenize(&self, line: &str, out: &mut String) {
        let mut text = self.padded(line);
        if text.windows(2).any(|two| two == ['.', '.']) {
            text = split_dots(&text);
        }
        if text.contains(&',') {
            text = self.split_commas(&text);
        }
        if text.contains(&'\'') {
            text = self.split_apostrophes(text);
        }
        let start = out.len();
        self.write_words(&text, out);
        split_last_apostrophe(out, start);
        if out[start..].contains("MULTI") {
            restore_dots(out, start);
        }
    }

    /// Single spaces, no control characters, and spaces around all signs but those of later passes.
    fn padded(&self, line: &str) -> Vec<char> {
        let mut text = Vec::with_capacity(line.len() + line.len() / 4 + 8);
        // Spaces are written before what follows them, so that none are at the ends.
        let (mut spaces, mut after_space) = (0, false);
        for c in line.chars() {
            let space = crate::is_space(c);
            spaces += usize::from(space && !after_space);
            after_space = space;
            if c < ' ' || space {
                continue;
            }
            if !text.is_empty() {
                text.resize(text.len() + spaces, ' ');
            }
            spaces = 0;
            if matches!(c, '.' | '\'' | '`' | ',' | '-') || self.is(c, ALNUM) {
                text.push(c);
            } else {
                text.extend([' ', c, ' ']);
            }
        }
        text
    }

    /// Commas apart, but between digits.
    fn split_commas(&self, text: &[char]) -> Vec<char> {
        let number = |c: char| self.is(c, NUMBER);
        let apart: &[char] = &[' ', ',', ' '];
        let text =
            pass(text, ',', apart, |at, start| (at > start && !number(text[at - 1])).then_some(at + 1));
        let after = |at: usize| text.get(at + 1).is_some_and(|&c| !number(c));
        let mut text = pass(&text, ',', apart, |at, _| after(at).then_some(at + 2));
        if let [.., a, ','] = text[..]
            && number(a)
        {
            text.pop();
            text.extend([' ', ',', ' ']);
        }
        text
    }

    fn split_apostrophes(&self, mut text: Vec<char>) -> Vec<char> {
        let alpha = |c: char| self.is(c, ALPHA);
        let number = |c: char| self.is(c, NUMBER);
        let other = |c: char| !alpha(c);
        let neither = |c: char| !alpha(c) && !number(c);
        let s = |c: char| c == 's';
        let (apart, left, right): (&[char], &[char], &[char]) =
            (&[' ', '\'', ' '], &[' ', '\''], &['\'', ' ']);
        let passes: &[Around<'_>] = match self.apostrophes {
            Apostrophes::English => &[
                (&other, &other, apart),
                (&neither, &alpha, apart),
                (&alpha, &other, apart),
                (&alpha, &alpha, left),
                (&number, &s, left),
            ],
            Apostrophes::Elided => &[
                (&other, &other, apart),
                (&other, &alpha, apart),
                (&alpha, &other, apart),
                (&alpha, &alpha, right),
            ],
            Apostrophes::Apart => return pass(&text, '\'', apart, |at, _| Some(at + 1)),
        };
        for (before, after, instead) in passes {
            text = pass(&text, '\'', instead, |at, start| {
                let found = at > start && at + 1 < text.len() && before(text[at - 1]) && after(text[at + 1]);
                found.then_some(at + 2)
            });
        }
        text
    }

    /// The words, and the period of a word apart unless it belongs to the word.
    fn write_words(&self, text: &[char], out: &mut String) {
        let mut words = text.split(|&c| c == ' ').filter(|word| !word.is_empty()).peekable();
        let mut first = true;
        while let Some(word) = words.next() {
            if !first {
                out.push(' ');
            }
            first = false;
            match word {
                [prefix @ .., '.'] if !prefix.is_empty() => {
                    let start = out.len();
                    out.extend(prefix);
                    let next = words.peek().map(|next| next[0]);
                    out.push_str(if self.keeps_period(&out[start..], next) { "." } else { " ." });
                }
                _ => out.extend(word),
            }
        }
    }

    fn keeps_period(&self, prefix: &str, next: Option<char>) -> bool {
        (prefix.contains('.') && prefix.chars().any(|c| self.is(c, ALPHA)))
            || next.is_some_and(|c| self.is(c, LOWER))
            || if self.numeric.contains(prefix) {
                next.is_some_and(|c| c.is_ascii_digit())
            } else {
                self.prefixes.contains(prefix)
            }
    }

    /// Appends the plain text of a tokenised line.
    pub fn detokenize(&self, line: &str, out: &mut String) {
        let joined;
        let line = if line.contains("@-@") {
            joined = join_hyphens(line);
            &joined
        } else {
            line
        };
        let words: Vec<&str> = words(line).collect();
        let mut joiner = MosesJoiner { rules: self, words: &words, quotes: Vec::new(), out, apart: false };
        let mut at = 0;
        while at < words.len() {
            at += joiner.word(at);
        }
    }
}

/// A pass from left to right, which writes `instead` for a character. `taken` says of the character at a place, with
/// the place behind what was taken before, where what it takes ends; none if the character stays.
fn pass(
    text: &[char],
    sign: char,
    instead: &[char],
    taken: impl Fn(usize, usize) -> Option<usize>,
) -> Vec<char> {
    let mut out = Vec::with_capacity(text.len() + 16);
    let (mut copied, mut start) = (0, 0);
    for at in 0..text.len() {
        if text[at] == sign
            && at >= start
            && let Some(end) = taken(at, start)
        {
            out.extend_from_slice(&text[copied..at]);
            out.extend_from_slice(instead);
            copied = at + 1;
            start = end;
        }
    }
    out.extend_from_slice(&text[copied..]);
    out
}

/// Two and more periods become a word in letters, which later passes take for one.
fn split_dots(text: &[char]) -> Vec<char> {
    let mut out = Vec::with_capacity(text.len() + 32);
    let mut at = 0;
    while at < text.len() {
        let run = text[at..].iter().take_while(|&&c| c == '.').count();
        if run < 2 {
            out.push(text[at]);
            at += 1;
            continue;
        }
        at += run;
        out.push(' ');
        (0..run).for_each(|_| out.extend("DOT".chars()));
        out.extend("MULTI".chars());
        if at < text.len() {
            out.push(' ');
        }
    }
    out
}

/// Undoes [`split_dots`] in what was appended to `out` from `start` on.
fn restore_dots(out: &mut String, start: usize) {
    let text = out.split_off(start);
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        let mut tail = rest;
        while let Some(shorter) = tail.strip_prefix("DOT") {
            tail = shorter;
        }
        match tail.strip_prefix("MULTI") {
            Some(after) if tail.len() < rest.len() => {
                (0..(rest.len() - tail.len()) / 3).for_each(|_| out.push('.'));
                rest = after;
            }
            _ => {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
}

/// `.'` at the end of a line becomes two words.
fn split_last_apostrophe(out: &mut String, start: usize) {
    if out[start..].ends_with(".'") {
        out.truncate(out.len() - 2);
        out.push_str(if out.len() == start || out.ends_with(' ') { ". '" } else { " . '" });
    }
}

/// ` @-@ ` becomes a hyphen; a space serves one of two neighbours only.
fn join_hyphens(line: &str) -> String {
    let words: Vec<&str> = words(line).collect();
    format!(" {} ", words.join(" ")).replace(" @-@ ", "-")
}

struct MosesJoiner<'a> {
    rules: &'a Moses,
    words: &'a [&'a str],
    /// How often each kind of quotation mark occurred.
    quotes: Vec<(&'a str, usize)>,
    out: &'a mut String,
    /// Whether a space comes before the next word that does not ask for none.
    apart: bool,
}

impl MosesJoiner<'_> {
    fn write(&mut self, space: bool, word: &str, apart: bool) {
        if space {
            self.out.push(' ');
        }
        self.out.push_str(word);
        self.apart = apart;
    }

    /// Writes a word with the space before it, and says how many words that were.
    fn word(&mut self, at: usize) -> usize {
        let (rules, word, language) = (self.rules, self.words[at], self.rules.language.as_str());
        let first = word.chars().next().expect("words are not empty");
        // No rule but that for elisions, and those for Czech, looks at words that start with a letter or digit.
        if first.is_ascii_alphanumeric() && !word.ends_with('\'') && language != "cs" {
            self.write(self.apart, word, true);
            return 1;
        }
        let all = |flag: u16| word.chars().all(|c| rules.is(c, flag));
        if language != "ko" && rules.is(first, DENSE) {
            let after_dense = at > 0 && ends(self.words[at - 1], |c| rules.is(c, DENSE));
            self.write(self.apart && !after_dense, word, true);
        } else if all(OPENING) {
            self.write(self.apart, word, false);
        } else if all(PUNCTUATION) {
            let french = language == "fr" && word.len() == 1 && "?!:;\\%".contains(word);
            self.write(french && at > 0, word, true);
        } else if self.goes_on(at) {
            self.write(false, word, true);
        } else if matches!(language, "fr" | "it" | "ga") && self.is_elided(at) {
            self.write(self.apart, word, false);
        } else if language == "cs" && self.is_czech_dash(at) {
            self.write(self.apart, word, false);
            self.write(false, self.words[at + 1], false);
            return 2;
        } else if all(QUOTE) {
            self.quote(at);
        } else {
            self.write(self.apart, word, true);
        }
        1
    }

    /// English contractions, and decimals in Czech.
    fn goes_on(&self, at: usize) -> bool {
        let (word, alpha) = (self.words[at], |c| self.rules.is(c, JOINED_ALPHA));
        match self.rules.language.as_str() {
            "en" => at > 0 && starts_contraction(word, alpha),
            "cs" => at > 1 && digits(word) && self.ends_like_decimal(),
            _ => false,
        }
    }

    /// The last two words of the line are a number and a period or comma: so sacremoses has the rule for decimals.
    fn ends_like_decimal(&self) -> bool {
        matches!(self.words, [.., number, "." | ","] if digits(number))
    }

    fn has_elision(&self, word: &str) -> bool {
        word.strip_suffix('\'').is_some_and(|stem| ends(stem, |c| self.rules.is(c, JOINED_ALPHA)))
    }

    fn is_elided(&self, at: usize) -> bool {
        let next = self.words.get(at + 1).and_then(|next| next.chars().next());
        next.is_some_and(|c| self.rules.is(c, JOINED_ALPHA)) && self.has_elision(self.words[at])
    }

    /// What sacremoses means, though it fails here.
    fn is_czech_dash(&self, at: usize) -> bool {
        let (Some(&dash), Some(after)) = (self.words.get(at + 1), self.words.get(at + 2)) else {
            return false;
        };
        let after = after.to_lowercase();
        self.has_elision(self.words[at])
            && matches!(dash, "-" | "–")
            && (after == "li" || after.starts_with("mail"))
    }

    fn quote(&mut self, at: usize) {
        let word = self.words[at];
        let kind = if word.chars().all(|c| "„“”".contains(c)) { "\"" } else { word };
        let index = self.quotes.iter().position(|known| known.0 == kind).unwrap_or_else(|| {
            self.quotes.push((kind, 0));
            self.quotes.len() - 1
        });
        let language = self.rules.language.as_str();
        let count = &mut self.quotes[index].1;
        match (language, word) {
            ("cs", "„") => *count = 0,
            ("cs", "“") => *count = 1,
            _ => {}
        }
        let opens = count.is_multiple_of(2);
        if opens && language == "en" && word == "'" && at > 0 && self.words[at - 1].ends_with('s') {
            self.write(false, word, true);
            return;
        }
        *count += 1;
        self.write(opens && self.apart, word, !opens);
    }
}

fn ends(word: &str, is: impl Fn(char) -> bool) -> bool {
    word.chars().next_back().is_some_and(is)
}

fn digits(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_digit())
}

fn starts_contraction(word: &str, alpha: impl Fn(char) -> bool) -> bool {
    word.strip_prefix('\'').and_then(|rest| rest.chars().next()).is_some_and(alpha)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moses(language: &str) -> Moses {
        let small = "abcdefghijklmnopqrstuvwxyzé";
        let alpha = format!("{small}{}", small.to_uppercase());
        Moses::new(
            language,
            &Lists {
                alnum: format!("{alpha}0123456789"),
                alpha: alpha.clone(),
                number: "0123456789".into(),
                lower: small.into(),
                prefixes: ["Mr", "No #NUMERIC_ONLY#"].map(str::to_owned).to_vec(),
                numeric: vec!["No".into()],
                joined_alpha: alpha,
                currency: "$".into(),
                dense: vec![(0x4e00, 0x9fff)],
            },
        )
    }

    /// Words of a line, and the line again.
    fn check(language: &str, examples: &[(&str, &str, &str)]) {
        for (line, words, back) in examples {
            let (mut out, mut joined) = (String::new(), String::new());
            moses(language).tokenize(line, &mut out);
            assert_eq!(out, *words, "{language}");
            moses(language).detokenize(words, &mut joined);
            assert_eq!(joined, *back, "{language}");
        }
    }

    #[test]
    fn rules_of_languages() {
        check(
            "en",
            &[
                ("It's Mr. X, 5,000 ($5).", "It 's Mr. X , 5,000 ( $ 5 ) .", "It's Mr. X, 5,000 ($5)."),
                ("No. 5, no. No. Wait...", "No. 5 , no . No . Wait ...", "No. 5, no. No. Wait..."),
                ("a.b. U.S. end. lower 'no'", "a.b. U.S. end. lower ' no'", "a.b. U.S. end. lower 'no'"),
                ("He's \"in\".'", "He 's \" in \" . '", "He's \"in\". '"),
                ("1,2,x,y '90's", "1,2 , x , y ' 90 's", "1,2, x, y '90's"),
                (" \u{1}a\u{a0}\u{1} b\u{1f} ", "a b", "a b"),
                ("DOTMULTI ..", ". ..", "..."),
                ("a'b'c", "a 'b'c", "a'b'c"), // the letter between two apostrophes serves one of them
            ],
        );
        check("fr", &[("L'eau : non !", "L' eau : non !", "L'eau : non !"), ("é'5", "é ' 5", "é '5")]);
        check("de", &[("geht's", "geht ' s", "geht 's"), ("a @-@ b", "a @ - @ b", "a @ - @ b")]);
        check("zh", &[("語語 a", "語 語 a", "語語 a")]);
        let mut joined = String::new();
        moses("en").detokenize("x @-@ y @-@ @-@ z `` q ``", &mut joined);
        assert_eq!(joined, "x-y-@-@ z ``q``");
    }
}
