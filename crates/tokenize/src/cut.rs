//! Where a line is cut into words.
//!
//! A line falls into chunks at white space, and a chunk into words by rule. Words are ranges of bytes of the line, in
//! order, without white space; no cluster of a letter and its marks, and no sequence of emoji, is cut.

use crate::classes::{Class, LEADS, Lead, class, is_space, skip_space, starts_with_space};
use crate::language::{Apostrophe, CONTRACTIONS, Language, Leading};
use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

/// A word: where it starts and ends, in bytes.
pub type Range = (usize, usize);

#[derive(Clone, Copy)]
struct Char {
    at: usize,
    c: char,
    class: Class,
}

/// No abbreviation has more bytes.
const LONGEST: usize = 24;

/// Abbreviations that are followed by a number: without one, the period ends a sentence.
const NUMERIC: [&str; 33] = [
    "no", "nos", "nr", "nrs", "art", "arts", "artt", "p", "pp", "fig", "figs", "vol", "vols", "voll", "sec",
    "ch", "par", "para", "núm", "num", "pág", "pag", "pagg", "abs", "ziff", "kap", "str", "s", "n", "č",
    "čl", "odst", "ust",
];

/// Appends the words of a line.
pub fn cut(line: &str, language: &Language, words: &mut Vec<Range>) {
    let first = words.len();
    let mut chars = Vec::new();
    let (mut at, mut tag_end) = (0, 0);
    while let Some(start) = skip_space(line, at) {
        let (end, plain) = chunk_end(line, start);
        at = end;
        if start < tag_end {
            // The rest of a tag with attributes: as the spaces cut it.
            words.push((start, end.min(tag_end)));
        }
        let start = start.max(tag_end.min(end));
        if start == end {
            continue;
        }
        if plain {
            cut_plain(line, (start, end), language, words);
            continue;
        }
        chars.clear();
        chars.extend(line[start..end].char_indices().map(|(i, c)| {
            let class = class(c);
            let class = if class == Class::Han && language.han_words { Class::Letter } else { class };
            Char { at: start + i, c, class }
        }));
        tag_end = Chunk { line, language, chars: &chars, end }.cut(words).max(tag_end);
    }
    keep_clusters(line, words, first);
}

/// Where a chunk ends, and whether it consists of ASCII letters and digits, but for a sign at its end.
fn chunk_end(line: &str, start: usize) -> (usize, bool) {
    let bytes = line.as_bytes();
    let (mut signs, mut plain, mut at) = (0, true, start);
    while at < bytes.len() {
        match LEADS[usize::from(bytes[at])] {
            Lead::Plain => {}
            Lead::Space => break,
            Lead::Perhaps if starts_with_space(line, at) => break,
            Lead::Sign => signs += 1,
            Lead::Perhaps | Lead::Other => plain = false,
        }
        at += 1;
    }
    let last = signs == 1 && at > start + 1 && !bytes[at - 1].is_ascii_alphanumeric();
    (at, plain && (signs == 0 || last))
}

/// Cuts a chunk of letters and digits with at most a sign at its end.
fn cut_plain(line: &str, (start, end): Range, language: &Language, words: &mut Vec<Range>) {
    match line.as_bytes()[end - 1] {
        b'.' => {
            let next = skip_space(line, end).and_then(|at| line[at..].chars().next());
            let period = Period { word: &line[start..end - 1], language, next, closed: true };
            if period.stays() {
                words.push((start, end));
            } else {
                words.extend([(start, end - 1), (end - 1, end)]);
            }
        }
        b',' | b';' | b':' | b'!' | b'?' => words.extend([(start, end - 1), (end - 1, end)]),
        _ => words.push((start, end)),
    }
}

/// Joins words again that were cut inside a cluster: signs with marks of other scripts and the like.
fn keep_clusters(line: &str, words: &mut Vec<Range>, first: usize) {
    let mut kept = first;
    for index in first..words.len() {
        let word = words[index];
        if kept > first && words[kept - 1].1 == word.0 && inside_cluster(line, word.0) {
            words[kept - 1].1 = word.1;
        } else {
            words[kept] = word;
            kept += 1;
        }
    }
    words.truncate(kept);
}

/// Nothing below U+0300 makes a cluster with its neighbour, and neither do Han characters with each other.
fn inside_cluster(line: &str, at: usize) -> bool {
    let bytes = line.as_bytes();
    if bytes[at - 1].is_ascii() && bytes[at].is_ascii() {
        return false;
    }
    let before = line[..at].chars().next_back();
    let after = line[at..].chars().next();
    let simple = |c: Option<char>| c.is_none_or(|c| c < '\u{300}' || class(c) == Class::Han);
    if simple(before) && simple(after) {
        return false;
    }
    let mut cursor = GraphemeCursor::new(at, line.len(), true);
    !cursor.is_boundary(line, 0).unwrap_or(true)
}

/// Whether a list, in small letters, has a word in letters of either case.
fn has(list: &[&str], word: &str) -> bool {
    if word.is_ascii() {
        return list.iter().any(|listed| listed.eq_ignore_ascii_case(word));
    }
    let small = word.to_lowercase();
    list.contains(&small.as_str())
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’' | '´' | '＇')
}

/// Quotation marks and brackets that close, and may come between the end of a sentence and the end of a line.
fn is_closer(c: char) -> bool {
    matches!(c, ')' | ']' | '}' | '"' | '\'' | '”' | '“' | '’' | '‘' | '»' | '«' | '›' | '‹')
}

/// A word with a period after it.
struct Period<'a> {
    word: &'a str,
    language: &'a Language,
    /// The first character of the next chunk.
    next: Option<char>,
    /// Nothing but closing signs comes between the period and the end of the chunk.
    closed: bool,
}

impl Period<'_> {
    /// Whether the period is part of the word: in abbreviations, initials and ordinals.
    fn stays(&self) -> bool {
        if self.word.len() > LONGEST {
            return false;
        }
        let letters = self.word.chars().filter(|&c| class(c).is_letter()).count();
        if letters == 0 {
            return self.is_ordinal();
        }
        if self.word.contains('.') {
            return self.word.split('.').all(|part| part.chars().count() <= 2);
        }
        if !self.closed {
            return false;
        }
        let Some(next) = self.next else { return has(self.language.last, self.word) };
        let next = class(next);
        if has(self.language.abbreviations, self.word) {
            return next == Class::Digit || !has(&NUMERIC, self.word);
        }
        let capital = self.word.chars().next().is_some_and(|c| class(c) == Class::Capital);
        match next {
            Class::Digit => letters <= 2 || (capital && letters <= 4),
            Class::Small => letters <= 4,
            // Initials; the English word I ends sentences.
            _ => letters == 1 && capital && !(self.language.code == "en" && self.word == "I"),
        }
    }

    /// Numbers to 99 before a word.
    fn is_ordinal(&self) -> bool {
        let follows = self.closed && self.next.is_some_and(|c| class(c).is_letter());
        self.language.ordinals
            && follows
            && self.word.len() <= 2
            && self.word.bytes().all(|b| b.is_ascii_digit())
    }
}

struct Chunk<'a> {
    line: &'a str,
    language: &'a Language,
    chars: &'a [Char],
    /// Where the chunk ends in the line.
    end: usize,
}

impl Chunk<'_> {
    fn get(&self, i: usize) -> Option<Char> {
        self.chars.get(i).copied()
    }

    fn class(&self, i: usize) -> Option<Class> {
        self.get(i).map(|c| c.class)
    }

    fn char(&self, i: usize) -> Option<char> {
        self.get(i).map(|c| c.c)
    }

    /// Where character `i` starts in the line.
    fn at(&self, i: usize) -> usize {
        self.get(i).map_or(self.end, |c| c.at)
    }

    fn slice(&self, from: usize, to: usize) -> &str {
        &self.line[self.at(from)..self.at(to)]
    }

    fn is_letter(&self, i: usize) -> bool {
        self.class(i).is_some_and(Class::is_letter)
    }

    fn is_digit(&self, i: usize) -> bool {
        self.class(i) == Some(Class::Digit)
    }

    fn is_word(&self, i: usize) -> bool {
        self.class(i).is_some_and(Class::is_word)
    }

    /// Behind the characters from `i` on that are such.
    fn run(&self, i: usize, is: impl Fn(Char) -> bool) -> usize {
        i + self.chars[i..].iter().take_while(|&&c| is(c)).count()
    }

    /// The character before `i` without its marks.
    fn base(&self, i: usize) -> Option<usize> {
        (0..i).rev().find(|&k| self.chars[k].class != Class::Extend)
    }

    /// Appends the words of the chunk; says where in the line a tag ends that starts here and goes beyond.
    fn cut(&self, words: &mut Vec<Range>) -> usize {
        let mut i = 0;
        if self.is_emoticon() {
            words.push((self.at(0), self.end));
            return 0;
        }
        while i < self.chars.len() {
            if self.chars[i].c == '<'
                && let Some(end) = tag_end(self.line, self.chars[i].at)
            {
                words.push((self.chars[i].at, end.min(self.end)));
                if end > self.end {
                    return end;
                }
                i = self.chars.partition_point(|c| c.at < end);
                continue;
            }
            let next = self.next(i);
            words.push((self.at(i), self.at(next)));
            i = next;
        }
        0
    }

    /// `:)`, `;-(` and the like, by themselves.
    fn is_emoticon(&self) -> bool {
        let eyes = matches!(self.char(0), Some(':' | ';'));
        let mouth = |i| matches!(self.char(i), Some(')' | '(' | 'D' | 'P' | 'p' | '/' | '|' | '*'));
        eyes && match self.chars.len() {
            2 => mouth(1),
            3 => self.char(1) == Some('-') && mouth(2),
            _ => false,
        }
    }

    /// Behind the word that starts at `i`.
    fn next(&self, i: usize) -> usize {
        let Char { c, class, .. } = self.chars[i];
        match class {
            Class::Han => self.run(i + 1, |c| c.class == Class::Extend),
            Class::Cluster => self.cluster(i),
            Class::Hyphen => self.hyphen(i),
            _ if class.is_word() => self.address(i).unwrap_or_else(|| self.word(i)),
            _ if is_apostrophe(c) || c == '"' => self.apostrophe(i),
            _ => self.sign(i),
        }
    }

    fn cluster(&self, i: usize) -> usize {
        let length = self.line[self.at(i)..self.end].graphemes(true).next().map_or(1, str::len);
        self.chars.partition_point(|c| c.at < self.at(i) + length)
    }

    /// A hyphen starts words such as `-5` and `-teile`, but not those with a capital, which it sets off, unless these
    /// are German or go on after a sign: `“-Schild`.
    fn hyphen(&self, i: usize) -> usize {
        let run = self.run(i, |c| c.class == Class::Hyphen);
        let after_word = i > 0 && self.is_word(i - 1);
        let starts = match self.class(run) {
            Some(Class::Digit | Class::Small | Class::Letter) => true,
            Some(Class::Capital) => i > 0 || self.language.code == "de",
            _ => false,
        };
        if run == i + 1 && starts && !after_word { self.word(i) } else { run }
    }

    fn sign(&self, i: usize) -> usize {
        let c = self.chars[i].c;
        let before_word = i == 0 || !self.is_word(i - 1);
        match c {
            '.' => {
                let run = self.run(i, |c| c.c == '.');
                if run == i + 1 && self.is_digit(run) && before_word { self.word(i) } else { run }
            }
            '!' | '?' => self.run(i, |c| matches!(c.c, '!' | '?')),
            '&' => self.entity(i).unwrap_or(i + 1),
            '#' | '@' if before_word && self.is_word(i + 1) => {
                let end = self.run(i + 1, |c| c.class.is_word());
                end + usize::from(c == '#' && self.char(end) == Some('#'))
            }
            '`' | '*' | '=' | '~' | '+' | '^' | '|' | '\\' | '<' | '>' | '–' | '—' => {
                self.run(i, |other| other.c == c)
            }
            '°' if matches!(self.char(i + 1), Some('C' | 'F')) && !self.is_word(i + 2) => i + 2,
            _ if c.is_ascii() => self.run(i + 1, |c| c.class == Class::Extend),
            _ => self.cluster(i).max(self.run(i + 1, |c| c.class == Class::Extend)),
        }
    }

    /// A contraction, a word that starts with an apostrophe, or a quotation mark.
    fn apostrophe(&self, i: usize) -> usize {
        if i > 0
            && let Some(end) = self.contraction(i)
        {
            return end;
        }
        let c = self.chars[i].c;
        if c == '\'' && self.char(i + 1) == Some('\'') {
            return i + 2;
        }
        let before_word = i == 0 || !self.is_word(i - 1);
        if c != '"' && before_word && self.leads(i) {
            self.word(i)
        } else {
            self.run(i + 1, |c| c.class == Class::Extend)
        }
    }

    /// Whether the apostrophe at `i` starts a word.
    fn leads(&self, i: usize) -> bool {
        let end = self.run(i + 1, |c| c.class.is_word());
        let year = self.language.code == "en" && self.is_digit(i + 1) && self.is_digit(i + 2);
        match self.language.leading {
            Leading::Every => self.is_letter(i + 1),
            Leading::Listed(list) => {
                (year && !self.is_digit(i + 3) && !self.char(end).is_some_and(is_apostrophe))
                    || has(list, self.slice(i + 1, end))
            }
        }
    }

    /// Behind an English contraction that starts with the apostrophe at `i`.
    fn contraction(&self, i: usize) -> Option<usize> {
        if self.language.apostrophe != Apostrophe::English {
            return None;
        }
        let end = self.run(i + 1, |c| c.class.is_word());
        let rest = self.slice(i + 1, end);
        let known = CONTRACTIONS.iter().any(|known| rest.eq_ignore_ascii_case(known));
        // A quotation mark is one only where it was mistaken for an apostrophe.
        let meant = self.chars[i].c != '"' || (self.is_letter(i - 1) && !self.slice(0, i).contains('"'));
        (known && meant).then_some(end)
    }

    /// Behind `&amp;`, `&#8364;` or `&#x20ac;`.
    fn entity(&self, i: usize) -> Option<usize> {
        let from = i + 1 + usize::from(self.char(i + 1) == Some('#'));
        let end = self.run(from.min(self.chars.len()), |c| c.c.is_ascii_alphanumeric());
        (end > from && end < from + 32 && self.char(end) == Some(';')).then_some(end + 1)
    }

    /// Behind the URL or e-mail address that starts at `i`.
    fn address(&self, i: usize) -> Option<usize> {
        if !self.chars[i].c.is_ascii_alphanumeric() || (i > 0 && self.is_word(i - 1)) {
            return None;
        }
        let scheme = self.run(i, |c| c.c.is_ascii_alphanumeric() || matches!(c.c, '+' | '-'));
        let url = self.slice(scheme, self.chars.len()).starts_with("://");
        let www = scheme == i + 3
            && self.slice(i, scheme).eq_ignore_ascii_case("www")
            && self.char(scheme) == Some('.')
            && self.is_word(scheme + 1);
        if url || www { Some(self.url_end(scheme + 1)) } else { self.email(i) }
    }

    /// Behind the URL, without the signs at its end that belong to the sentence.
    fn url_end(&self, from: usize) -> usize {
        let inside =
            |c: Char| !c.class.is_dense() && !matches!(c.c, '<' | '>' | '"' | '“' | '”' | '«' | '»' | '„');
        let mut end = self.run(from, inside);
        while end > from {
            let opened = || self.chars[from..end].iter().any(|c| c.c == '(');
            match self.chars[end - 1].c {
                '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '’' | ']' | '}' | '*' | '…' => end -= 1,
                ')' if !opened() => end -= 1,
                _ => break,
            }
        }
        end
    }

    fn email(&self, i: usize) -> Option<usize> {
        let name = self.run(i, |c| c.c.is_ascii_alphanumeric() || matches!(c.c, '.' | '_' | '%' | '+' | '-'));
        if self.char(name) != Some('@') {
            return None;
        }
        let mut end = name + 1;
        let mut labels = 0;
        loop {
            let label = self.run(end, |c| c.c.is_ascii_alphanumeric() || c.c == '-');
            if label == end {
                break;
            }
            labels += 1;
            end = label;
            let more =
                self.char(end) == Some('.') && self.char(end + 1).is_some_and(|c| c.is_ascii_alphanumeric());
            if !more {
                break;
            }
            end += 1;
        }
        (labels > 1).then_some(end)
    }

    /// Behind the word that starts at `i` with letters, digits, or a sign that belongs to it.
    fn word(&self, i: usize) -> usize {
        let mut j = i + 1;
        while let Some(Char { c, class, .. }) = self.get(j) {
            let step = if class.is_word() {
                Step::On(j + 1)
            } else if class == Class::Hyphen {
                self.hyphen_inside(j)
            } else if is_apostrophe(c) || c == '"' {
                self.apostrophe_inside(i, j)
            } else if c == '.' {
                self.period_inside(i, j)
            } else {
                self.sign_inside(i, j)
            };
            match step {
                Step::On(next) => j = next,
                Step::End(end) => return end,
            }
        }
        j
    }

    fn hyphen_inside(&self, j: usize) -> Step {
        if self.is_word(j + 1) {
            Step::On(j + 2)
        } else if self.class(j + 1) == Some(Class::Hyphen) {
            Step::End(j)
        } else {
            Step::End(j + 1) // as in `Vor- und Nachteile`
        }
    }

    fn apostrophe_inside(&self, i: usize, j: usize) -> Step {
        let before = self.base(j).filter(|&k| k >= i && self.is_word(k));
        let letters = before.is_some_and(|k| self.is_letter(k)) && self.is_letter(j + 1);
        // Quotation marks and accents count if they were mistaken for apostrophes.
        let counts =
            matches!(self.chars[j].c, '\'' | '’' | '＇') || (letters && !self.slice(0, j).contains('"'));
        let stem = || {
            let from = (i..j).rev().find(|&k| !self.is_word(k)).map_or(i, |k| k + 1);
            self.slice(from, j)
        };
        if before.is_none() || !counts || !self.is_word(j + 1) {
            let quoted = matches!(self.char(j + 1), Some('"' | '“' | '«' | '„' | '‘'));
            let stays = match self.language.apostrophe {
                Apostrophe::Listed(list) => quoted && has(list, stem()),
                Apostrophe::Every => quoted || has(&["po"], stem()),
                Apostrophe::Whole | Apostrophe::English => false,
            };
            return Step::End(if stays && before.is_some() && self.chars[j].c != '"' { j + 1 } else { j });
        }
        match self.language.apostrophe {
            Apostrophe::English if self.contraction(j).is_some() => Step::End(j),
            Apostrophe::Listed(list) if letters && has(list, stem()) => Step::End(j + 1),
            Apostrophe::Every if letters => Step::End(j + 1),
            _ => Step::On(j + 1),
        }
    }

    fn period_inside(&self, i: usize, j: usize) -> Step {
        match self.get(j + 1) {
            Some(next) if next.c == '.' => Step::End(j),
            Some(next) if next.class.is_word() => {
                if self.ends_sentence(i, j) {
                    Step::End(j)
                } else {
                    Step::On(j + 2)
                }
            }
            Some(next) if next.class == Class::Hyphen && self.is_letter(j + 2) => Step::On(j + 2),
            Some(Char { c: ',' | ';' | ':', .. }) if self.is_letter(j - 1) => Step::End(j + 1),
            _ => {
                let closed = self.chars[j + 1..].iter().all(|c| is_closer(c.c));
                let next = skip_space(self.line, self.end).and_then(|at| self.line[at..].chars().next());
                let period = Period { word: self.slice(i, j), language: self.language, next, closed };
                Step::End(if period.stays() { j + 1 } else { j })
            }
        }
    }

    /// A space was forgotten after a sentence: `Ende.Der`.
    fn ends_sentence(&self, i: usize, j: usize) -> bool {
        let long =
            j >= i + 3 && (j - 3..j).all(|k| self.is_letter(k)) && self.class(j - 1) == Some(Class::Small);
        long && self.class(j + 1) == Some(Class::Capital) && self.class(j + 2) == Some(Class::Small)
    }

    fn sign_inside(&self, i: usize, j: usize) -> Step {
        let Some(base) = self.base(j) else { return Step::End(j) };
        let digits = self.is_digit(base) && self.is_digit(j + 1);
        let letters = self.is_letter(base) && self.is_letter(j + 1);
        let capitals = self.class(base) == Some(Class::Capital) && self.class(j + 1) == Some(Class::Capital);
        let ending = letters && self.language.gender && self.slice(j + 1, self.chars.len()).starts_with("in");
        let on = match self.chars[j].c {
            ',' | '/' | '\u{66b}' | '\u{66c}' => digits,
            ':' => digits || ending || (letters && self.language.colon),
            '*' => ending,
            '·' | '\u{2027}' => letters,
            '&' => {
                // `A&amp;M`
                let entity = self.entity(j).filter(|&end| self.class(end) == Some(Class::Capital));
                match entity.filter(|_| self.class(base) == Some(Class::Capital)) {
                    Some(end) => return Step::On(end + 1),
                    None => capitals,
                }
            }
            '(' => return self.bracket_inside(base, j),
            _ => false,
        };
        if on {
            return Step::On(j + 2);
        }
        match self.chars[j].c {
            '/' if self.is_domain(i, j) && j + 1 < self.chars.len() => Step::End(self.url_end(j + 1)),
            '+' => {
                let run = self.run(j, |c| c.c == '+');
                Step::End(if run <= j + 2 && !self.is_word(run) { run } else { j })
            }
            '#' if j == i + 1 && !self.is_word(j + 1) => Step::End(j + 1),
            '°' if self.is_letter(base) => Step::End(j + 1),
            _ if self.chars[j].class == Class::Currency && self.is_letter(base) && self.is_digit(j + 1) => {
                Step::End(j + 1)
            }
            _ => Step::End(j),
        }
    }

    /// `10(3)`, `COM(2000)`, `person(s)`, `1999/0151(COD)`: brackets around a number, an ending, a code.
    fn bracket_inside(&self, base: usize, j: usize) -> Step {
        let numbers = self.run(j + 1, |c| c.class == Class::Digit);
        let letters = self.run(j + 1, |c| c.class == Class::Small);
        let capitals = self.run(j + 1, |c| c.class == Class::Capital);
        let mut end = if letters <= j + 3 { numbers.max(letters) } else { numbers };
        if self.is_digit(base) {
            end = end.max(capitals);
        }
        let short = end > j + 1 && end <= j + 5 && self.char(end) == Some(')');
        if short { Step::On(end + 1) } else { Step::End(j) }
    }

    /// `example.com`: the last part is at least two letters.
    fn is_domain(&self, i: usize, j: usize) -> bool {
        let word = self.slice(i, j);
        let last = word.rsplit_once('.').map_or("", |(_, last)| last);
        word.is_ascii() && last.len() > 1 && last.bytes().all(|b| b.is_ascii_alphabetic())
    }
}

enum Step {
    /// The word goes on here.
    On(usize),
    /// The word ends before this.
    End(usize),
}

/// Behind the tag that starts at `at`: `<b>`, `</b>`, `<br/>`, `<a href="x">`, `<!-- x -->`.
fn tag_end(line: &str, at: usize) -> Option<usize> {
    let text = &line[at..];
    if text.starts_with("<!--") {
        return text.find("-->").map(|end| at + end + 3);
    }
    let name = text[1..].strip_prefix('/').unwrap_or(&text[1..]);
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let mut rest =
        name.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '-' | '_' | '.'));
    loop {
        let next = rest.trim_start_matches(is_space);
        if let Some(after) = next.strip_prefix("/>").or_else(|| next.strip_prefix('>')) {
            return Some(line.len() - after.len());
        }
        if next.len() == rest.len() {
            return None;
        }
        rest = attribute(next)?;
    }
}

/// What comes after `name="value"`.
fn attribute(text: &str) -> Option<&str> {
    let value =
        text.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '-' | '_' | '.'));
    let value = if value.len() < text.len() { value.strip_prefix('=')? } else { return None };
    for quote in ['"', '\''] {
        if let Some(value) = value.strip_prefix(quote) {
            return value.split_once(quote).map(|(_, rest)| rest);
        }
    }
    let rest = value.trim_start_matches(|c: char| !is_space(c) && !matches!(c, '>' | '<' | '"' | '\'' | '/'));
    (rest.len() < value.len()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words apart by `|`, as nothing in the examples is.
    fn words(language: &str, line: &str) -> String {
        let mut found = Vec::new();
        cut(line, &Language::of(language), &mut found);
        found.iter().map(|&(from, to)| &line[from..to]).collect::<Vec<_>>().join("|")
    }

    fn check(language: &str, examples: &[(&str, &str)]) {
        for (line, want) in examples {
            assert_eq!(words(language, line), *want, "{language}");
        }
    }

    #[test]
    fn english() {
        check(
            "en",
            &[
                ("It's mine, isn't it?", "It|'s|mine|,|isn|'t|it|?"),
                ("It’s Jacob’s.", "It|’s|Jacob|’s|."),
                ("five o'clock with O'Brien", "five|o'clock|with|O'Brien"),
                ("shouldn't've in the 1990's and '90s", "shouldn|'t|'ve|in|the|1990|'s|and|'90s"),
                ("'Tis the dogs' house", "'Tis|the|dogs|'|house"),
                ("He said, 'Go.'", "He|said|,|'|Go|.|'"),
                ("“Go,” he said.", "“|Go|,|”|he|said|."),
                ("Parliament\"s \"Rules\"", "Parliament|\"s|\"|Rules|\""),
                (
                    "Mr. Smith of the U.S. met J. Doe, i.e. him.",
                    "Mr.|Smith|of|the|U.S.|met|J.|Doe|,|i.e.|him|.",
                ),
                ("So do I. No. 5 says no. Then", "So|do|I|.|No.|5|says|no|.|Then"),
                ("pens, paper etc.", "pens|,|paper|etc."),
                ("in abbr., or (abbr.)", "in|abbr.|,|or|(|abbr|.|)"),
                ("at 10:30 p.m., on 12/05/2010", "at|10:30|p.m.|,|on|12/05/2010"),
                ("Rule 10(3) and COM(2000)0123 for person(s)", "Rule|10(3)|and|COM(2000)0123|for|person(s)"),
                ("C5-0003/1999 - 1999/2004(DEC) a(DEC)", "C5-0003/1999|-|1999/2004(DEC)|a|(|DEC|)"),
                ("yes :) no ;-( a:) A&amp;M", "yes|:)|no|;-(|a|:|)|A&amp;M"),
                ("$5, US$5.50, 50% or -5 and 1,000,000", "$|5|,|US$|5.50|,|50|%|or|-5|and|1,000,000"),
                ("well-known pre- and post-war -Yes -no", "well-known|pre-|and|post-war|-|Yes|-no"),
                ("wait... what?! no — yes--no", "wait|...|what|?!|no|—|yes|--|no"),
                ("R&D and AT&T and C++ or C#", "R&D|and|AT&T|and|C++|or|C#"),
                ("and/or the end.The start", "and|/|or|the|end|.|The|start"),
                ("20°C", "20|°C"),
            ],
        );
    }

    #[test]
    fn addresses_and_tags() {
        check(
            "en",
            &[
                (
                    "See http://a.b/c?d=e&f=(g), or (www.x.org).",
                    "See|http://a.b/c?d=e&f=(g)|,|or|(|www.x.org|)|.",
                ),
                ("mail me@x.org, or example.com/path.", "mail|me@x.org|,|or|example.com/path|."),
                ("#PRS_ORG# and #tag by @who_1: #1", "#PRS_ORG#|and|#tag|by|@who_1|:|#1"),
                ("<b>bold</b> &amp; <br/>&#124;", "<b>|bold|</b>|&amp;|<br/>|&#124;"),
                ("an <a href=\"x y\" id=z>end</a>!", "an|<a|href=\"x|y\"|id=z>|end|</a>|!"),
                ("1 < 2 and x <y and z> w", "1|<|2|and|x|<|y|and|z|>|w"),
            ],
        );
    }

    #[test]
    fn other_languages() {
        check(
            "de",
            &[
                ("Am 3. Oktober z.B. geht's.", "Am|3.|Oktober|z.B.|geht's|."),
                ("„Vor- und Nachteile“, Abs. 1 usw.", "„|Vor-|und|Nachteile|“|,|Abs.|1|usw."),
                ("Lehrer*innen, -teile -Nein", "Lehrer*innen|,|-teile|-Nein"),
                ("ein „Halt“-Schild", "ein|„|Halt|“|-Schild"),
            ],
        );
        check(
            "fr",
            &[
                ("L'homme d’ici, aujourd'hui qu'il", "L'|homme|d’|ici|,|aujourd'hui|qu'|il"),
                ("l\"occasion « non »", "l\"|occasion|«|non|»"),
                ("M. le n° 5 l'\"eau\"", "M.|le|n°|5|l'|\"|eau|\""),
            ],
        );
        check("it", &[("dell'acqua un po' di", "dell'|acqua|un|po'|di")]);
        check("sw", &[("ng'ombe wa Ng’ambo", "ng'ombe|wa|Ng’ambo")]);
        check("ha", &[("’yan Isra’ila ‘Ku ’ya’ya’", "’yan|Isra’ila|‘|Ku|’ya’ya|’")]);
        check("nl", &[("'s morgens in 's-Gravenhage", "'s|morgens|in|'s-Gravenhage")]);
        check("fi", &[("EU:n ja 3. luokka", "EU:n|ja|3.|luokka")]);
    }

    #[test]
    fn scripts() {
        check(
            "zh",
            &[
                ("我用Python 3.11写“代码”，好。", "我|用|Python|3.11|写|“|代|码|”|，|好|。"),
                ("カナー", "カ|ナ|ー"),
            ],
        );
        check("ko", &[("한국은 中國(중국)이다.", "한국은|中國|(|중국|)|이다|.")]);
        check("hi", &[("क्षत्रिय है। राम॥", "क्षत्रिय|है|।|राम|॥")]);
        check("ar", &[("مرحبا، كيف حالك؟", "مرحبا|،|كيف|حالك|؟")]);
        check("he", &[("צה\"ל בע״מ, כן־לא", "צה\"ל|בע״מ|,|כן־לא")]);
        check("th", &[("น้ำดี ก", "น้ำ|ดี|ก")]);
        check("", &[("e\u{301}te\u{301} .\u{301} 👩‍👩‍👧🇩🇪🇫🇷", "e\u{301}te\u{301}|.\u{301}|👩‍👩‍👧|🇩🇪|🇫🇷")]);
        check("haw", &[("Hawaiʻi ʼāina", "Hawaiʻi|ʼāina")]);
        check("", &[("", ""), (" \u{a0}\t", ""), (" a\u{3000}b\u{1f}c ", "a|b|c")]);
    }
}
