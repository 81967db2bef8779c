//! Moses' rules, as sacremoses 0.2 applies them without escapes and protected patterns.
//!
//! The rules are a chain of passes over the characters; each pass looks at one or two neighbours and goes from left to
//! right without looking back at what it wrote. Passes that have nothing to do are left out.

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

const ALNUM: u8 = 1;
const ALPHA: u8 = 2;
const NUMBER: u8 = 4;
const LOWER: u8 = 8;
const JOINED_ALPHA: u8 = 16;
const CURRENCY: u8 = 32;
const DENSE: u8 = 64;

/// Flags of all characters, in pages of 256 of which equal ones are kept once.
struct Flags {
    pages: Vec<u16>,
    rows: Vec<[u8; 256]>,
}

impl Flags {
    fn new(lists: &Lists) -> Self {
        let mut all = vec![[0_u8; 256]; 0x1100];
        let mut set = |c: u32, flag: u8| all[c as usize >> 8][c as usize & 0xff] |= flag;
        for (text, flag) in [
            (&lists.alnum, ALNUM),
            (&lists.alpha, ALPHA),
            (&lists.number, NUMBER),
            (&lists.lower, LOWER),
            (&lists.joined_alpha, JOINED_ALPHA),
            (&lists.currency, CURRENCY),
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

    fn has(&self, c: char, flag: u8) -> bool {
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

    fn is(&self, c: char, flag: u8) -> bool {
        self.flags.has(c, flag)
    }

    /// Appends the words of a line, apart by single spaces.
    pub fn tokenize(&self, line: &str, out: &mut String) {
        let mut text = self.padded(line);
        if text.contains(&'.') {
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
        let text = pass(text, |rest, out| match rest {
            [a, ',', ..] if !number(*a) => {
                out.extend([*a, ' ', ',', ' ']);
                2
            }
            _ => 0,
        });
        let mut text = pass(&text, |rest, out| match rest {
            [',', b, ..] if !number(*b) => {
                out.extend([' ', ',', ' ', *b]);
                2
            }
            _ => 0,
        });
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
        let (apart, left, right): (&[char], &[char], &[char]) = (&[' ', '\'', ' '], &[' ', '\''], &['\'', ' ']);
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
            Apostrophes::Apart => {
                return pass(&text, |rest, out| {
                    if rest[0] == '\'' {
                        out.extend(apart);
                    }
                    usize::from(rest[0] == '\'')
                });
            }
        };
        for (before, after, instead) in passes {
            text = pass(&text, |rest, out| match rest {
                [a, '\'', b, ..] if before(*a) && after(*b) => {
                    out.push(*a);
                    out.extend(*instead);
                    out.push(*b);
                    3
                }
                _ => 0,
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
        let words: Vec<&str> = line.split(crate::is_space).filter(|word| !word.is_empty()).collect();
        let mut joiner = MosesJoiner { rules: self, words: &words, quotes: Vec::new(), out, apart: false };
        let mut at = 0;
        while at < words.len() {
            at += joiner.word(at);
        }
    }
}

/// A pass from left to right: `change` writes what comes instead of the first characters and says how many these were.
fn pass(text: &[char], mut change: impl FnMut(&[char], &mut Vec<char>) -> usize) -> Vec<char> {
    let mut out = Vec::with_capacity(text.len() + 16);
    let mut at = 0;
    while at < text.len() {
        let taken = change(&text[at..], &mut out);
        if taken == 0 {
            out.push(text[at]);
        }
        at += taken.max(1);
    }
    out
}

/// Two and more periods become a word in letters, which later passes take for one.
fn split_dots(text: &[char]) -> Vec<char> {
    pass(text, |rest, out| {
        let run = rest.iter().take_while(|&&c| c == '.').count();
        if run < 2 {
            return 0;
        }
        out.push(' ');
        (0..run).for_each(|_| out.extend("DOT".chars()));
        out.extend("MULTI".chars());
        if run < rest.len() {
            out.push(' ');
        }
        run
    })
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
    let words: Vec<&str> = line.split(crate::is_space).filter(|word| !word.is_empty()).collect();
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

impl<'a> MosesJoiner<'a> {
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
        let all = |flag: u8, more: &str| word.chars().all(|c| rules.is(c, flag) || more.contains(c));
        if language != "ko" && rules.is(first, DENSE) {
            let after_dense = at > 0 && ends(self.words[at - 1], |c| rules.is(c, DENSE));
            self.write(self.apart && !after_dense, word, true);
        } else if all(CURRENCY, "([{¿¡") {
            self.write(self.apart, word, false);
        } else if all(0, ",.?!:;\\%}])") {
            let french = language == "fr" && word.len() == 1 && "?!:;\\%".contains(word);
            self.write(french && at > 0, word, true);
        } else if language == "en" && at > 0 && starts_contraction(word, |c| rules.is(c, JOINED_ALPHA)) {
            self.write(false, word, true);
        } else if language == "cs" && at > 1 && digits(word) && self.ends_like_decimal() {
            self.write(false, word, true);
        } else if matches!(language, "fr" | "it" | "ga") && self.is_elided(at) {
            self.write(self.apart, word, false);
        } else if language == "cs" && self.is_czech_dash(at) {
            self.write(self.apart, word, false);
            self.write(false, self.words[at + 1], false);
            return 2;
        } else if all(0, "'\"„“`") {
            self.quote(at);
        } else {
            self.write(self.apart, word, true);
        }
        1
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
        let (Some(&dash), Some(after)) = (self.words.get(at + 1), self.words.get(at + 2)) else { return false };
        let after = after.to_lowercase();
        self.has_elision(self.words[at]) && matches!(dash, "-" | "–") && (after == "li" || after.starts_with("mail"))
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
        let opens = *count % 2 == 0;
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
