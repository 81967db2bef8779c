//! Where words are joined: rules by the form of words and signs, with quotation marks in pairs.
//!
//! Whether a space comes between two words depends on both, on the one after them, and on what was opened before; never
//! on marks that were not written. So both directions of [`crate::Unicode`] follow the same rules.

use crate::classes::{Class, class};
use crate::language::{Apostrophe, CONTRACTIONS, Language};
use unicode_properties::{GeneralCategory as G, UnicodeGeneralCategory};

/// What a word is to its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A word: spaces on both sides.
    Word,
    /// A sign with spaces on both sides.
    Spaced,
    /// As a sign with spaces, but those in a row are joined: stars, emoji.
    Symbol,
    /// Joined to what follows: opening brackets.
    Open,
    /// Joined to what comes before: most punctuation.
    Close,
    /// `; : ! ?`, which French sets apart.
    Clause,
    /// Joined on both sides: slashes, punctuation as wide as Han characters.
    Both,
    /// The end of a word: `'s`, `°C`.
    Suffix,
    /// The start of a word: `l'`.
    Prefix,
    /// `-Schild`, which goes on after a quotation mark: `“-Schild`.
    Hyphened,
    /// A currency sign.
    Currency,
    /// Letters with a currency sign: `US$`.
    CurrencyWord,
    /// Percent and its relatives.
    Percent,
    /// A dash that may stand between numbers.
    Dash,
    /// `<b>`
    TagOpen,
    /// `</b>`
    TagClose,
    /// `<a`, with attributes to come.
    TagStart,
    /// A quotation mark, which may open or close.
    Quote(Quote),
}

/// Quotation marks by their form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quote {
    /// `"`
    Straight,
    /// `'`
    Single,
    /// `` ` ``
    Backtick,
    /// ``` `` ```
    Backticks,
    /// `''`
    Twice,
    /// `“`
    Left,
    /// `”`
    Right,
    /// `‘`
    LeftSingle,
    /// `’`
    RightSingle,
    /// `„`
    Low,
    /// `‚`
    LowSingle,
    /// `«`
    LeftAngle,
    /// `»`
    RightAngle,
    /// `‹`
    LeftAngleSingle,
    /// `›`
    RightAngleSingle,
}

/// What the rules look at in a word.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools)] // each is a question of its own
pub struct Look {
    /// Its kind.
    pub kind: Kind,
    /// Starts with a character of a script without spaces.
    dense_first: bool,
    /// Ends with one.
    dense_last: bool,
    digit_first: bool,
    digit_last: bool,
    /// Digits and separators only.
    number: bool,
    /// Ends with `s`, after which an English apostrophe is a genitive.
    s_last: bool,
    /// Ends with `>`.
    ends_tag: bool,
    /// Ends with `/>`.
    ends_empty_tag: bool,
}

/// Which side of a quotation mark is joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The right one.
    Open,
    /// The left one.
    Close,
}

/// A word as its neighbours have made it.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    look: Look,
    joins_left: bool,
    joins_right: bool,
}

impl Shape {
    /// After it, a word may go on with a hyphen.
    fn ends_quote(&self) -> bool {
        (self.look.is_quote() && self.joins_left) || self.look.kind == Kind::Suffix
    }
}

impl Look {
    /// The look of a word without its marks.
    pub fn of(word: &str, language: &Language) -> Self {
        let bytes = word.as_bytes();
        let (first, last) = (bytes.first().copied().unwrap_or(b'x'), bytes.last().copied().unwrap_or(b'x'));
        let mut look = Self {
            kind: Kind::Word,
            dense_first: false,
            dense_last: false,
            digit_first: first.is_ascii_digit(),
            digit_last: last.is_ascii_digit(),
            number: first.is_ascii_digit()
                && bytes.iter().all(|b| matches!(b, b'0'..=b'9' | b'.' | b',' | b':')),
            s_last: matches!(last, b's' | b'S'),
            ends_tag: last == b'>',
            ends_empty_tag: false,
        };
        if (first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric()) || word.is_empty() {
            return look;
        }
        look.ends_empty_tag = word.ends_with("/>");
        look.kind = kind(word, language);
        if !(first.is_ascii() && last.is_ascii()) {
            let dense = |c: Option<char>| c.is_some_and(|c| is_dense(c, language));
            look.dense_first = dense(word.chars().next());
            look.dense_last = dense(word.chars().rev().find(|&c| class(c) != Class::Extend));
            look.digit_first |= word.chars().next().is_some_and(|c| class(c) == Class::Digit);
            look.digit_last |= word.chars().next_back().is_some_and(|c| class(c) == Class::Digit);
        }
        look
    }

    /// Whether marks may turn it.
    pub fn is_quote(&self) -> bool {
        matches!(self.kind, Kind::Quote(_))
    }

    /// Whether it has letters or digits, so that marks are better elsewhere.
    pub fn is_word(&self) -> bool {
        matches!(self.kind, Kind::Word | Kind::Hyphened)
    }

    fn closes(&self) -> bool {
        matches!(self.kind, Kind::Close | Kind::Clause | Kind::Both)
    }
}

fn is_dense(c: char, language: &Language) -> bool {
    match class(c) {
        Class::Cluster => true,
        Class::Han => !language.han_words,
        _ => false,
    }
}

fn kind(word: &str, language: &Language) -> Kind {
    let mut chars = word.chars();
    let first = chars.next().expect("empty words are no signs");
    let rest = chars.as_str();
    let last = word.chars().next_back().unwrap_or(first);
    if rest.chars().all(|c| class(c) == Class::Extend) {
        return sign(first);
    }
    match first {
        '`' if word == "``" => return Kind::Quote(Quote::Backticks),
        '\'' if word == "''" => return Kind::Quote(Quote::Twice),
        '!' | '?' if word.bytes().all(|b| matches!(b, b'!' | b'?')) => return Kind::Clause,
        '\'' | '’' | '´' | '＇' | '"' if is_contraction(rest, language) => return Kind::Suffix,
        '&' if last == ';' => return Kind::Spaced,
        '°' => return Kind::Suffix,
        '<' => return tag(word),
        '-' if rest.starts_with(char::is_alphabetic) => return Kind::Hyphened,
        _ if rest.chars().all(|c| c == first) && !class(first).is_word() => return sign(first),
        _ => {}
    }
    let elides = matches!(language.apostrophe, Apostrophe::Listed(_) | Apostrophe::Every);
    if elides && class(first).is_letter() && matches!(last, '\'' | '’' | '´' | '＇' | '"') && !is_po(word)
    {
        return Kind::Prefix;
    }
    if class(last) == Class::Currency {
        return Kind::CurrencyWord;
    }
    if class(first) == Class::Other && first.general_category() == G::OtherSymbol {
        Kind::Symbol
    } else {
        Kind::Word
    }
}

/// The Italian word for a little.
fn is_po(word: &str) -> bool {
    word.get(..2).is_some_and(|stem| stem.eq_ignore_ascii_case("po")) && word.chars().count() == 3
}

fn is_contraction(rest: &str, language: &Language) -> bool {
    language.apostrophe == Apostrophe::English
        && CONTRACTIONS.iter().any(|known| rest.eq_ignore_ascii_case(known))
}

fn tag(word: &str) -> Kind {
    let name = word[1..].starts_with(|c: char| c.is_ascii_alphabetic());
    match (name, word.ends_with('>')) {
        (true, true) if word.ends_with("/>") => Kind::Spaced,
        (true, true) => Kind::TagOpen,
        (true, false) => Kind::TagStart,
        (false, true) if word.starts_with("</") => Kind::TagClose,
        _ => Kind::Spaced,
    }
}

/// The kind of a sign by itself.
fn sign(c: char) -> Kind {
    use Quote as Q;
    match c {
        // Those of most texts first; their categories would say the same.
        ',' | '.' | ')' | ']' | '}' | '…' => Kind::Close,
        '(' | '[' | '{' | '¿' | '¡' => Kind::Open,
        ';' | ':' | '!' | '?' => Kind::Clause,
        '/' => Kind::Both,
        '"' => Kind::Quote(Q::Straight),
        '\'' | '＇' => Kind::Quote(Q::Single),
        '`' => Kind::Quote(Q::Backtick),
        '“' | '‟' => Kind::Quote(Q::Left),
        '”' => Kind::Quote(Q::Right),
        '‘' | '‛' => Kind::Quote(Q::LeftSingle),
        '’' => Kind::Quote(Q::RightSingle),
        '„' => Kind::Quote(Q::Low),
        '‚' => Kind::Quote(Q::LowSingle),
        '«' => Kind::Quote(Q::LeftAngle),
        '»' => Kind::Quote(Q::RightAngle),
        '‹' => Kind::Quote(Q::LeftAngleSingle),
        '›' => Kind::Quote(Q::RightAngleSingle),
        '%' | '‰' | '‱' | '\u{66a}' => Kind::Percent,
        '–' => Kind::Dash,
        '°' | '′' | '″' | '®' | '™' => Kind::Suffix,
        '#' | '&' | '*' | '@' | '\\' | '§' | '¶' | '†' | '‡' | '•' | '·' | '※' => Kind::Spaced,
        // The block of Han punctuation, and wide and half-width forms of signs.
        '\u{3001}'..='\u{301f}' | '\u{ff01}'..='\u{ff65}' if !class(c).is_word() && !class(c).is_dense() => {
            Kind::Both
        }
        _ => by_category(c),
    }
}

fn by_category(c: char) -> Kind {
    match c.general_category() {
        G::OpenPunctuation | G::InitialPunctuation => Kind::Open,
        G::ClosePunctuation | G::FinalPunctuation | G::OtherPunctuation => Kind::Close,
        G::DashPunctuation | G::MathSymbol | G::ModifierSymbol => Kind::Spaced,
        G::CurrencySymbol => Kind::Currency,
        G::OtherSymbol => Kind::Symbol,
        _ => Kind::Word,
    }
}

/// Words that a tag with attributes may have.
const TAG_WORDS: usize = 16;

/// What is open at some place of a line.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools)] // each is a pair of its own
pub struct Joiner {
    language: Language,
    straight: bool,
    single: bool,
    low: bool,
    low_single: bool,
    curly: bool,
    /// The angle quotation mark that opened, double and single.
    angle: [Option<Quote>; 2],
    in_tag: bool,
}

impl Joiner {
    /// At the start of a line.
    pub fn new(language: Language) -> Self {
        Self {
            language,
            straight: false,
            single: false,
            low: false,
            low_single: false,
            curly: false,
            angle: [None; 2],
            in_tag: false,
        }
    }

    /// Whether the next word, if it is a quotation mark, can be turned: not inside a tag.
    pub fn turns(&self, look: &Look) -> bool {
        look.is_quote() && !self.in_tag
    }

    /// Whether a quotation mark opens or closes, as far as the rules know.
    pub fn direction(&self, before: Option<&Shape>, look: &Look, after: &[Look]) -> Direction {
        use Quote as Q;
        let Kind::Quote(quote) = look.kind else { return Direction::Close };
        let ends = after.first().is_none_or(Look::closes);
        let started = before.is_some();
        let inward = |opened: Option<Quote>, this: Quote| match opened {
            Some(other) => other != this,
            None => ends || (started && !self.language.inward),
        };
        let closes = match quote {
            Q::Straight => started && (self.straight || ends),
            Q::Single => started && (self.single || ends || self.is_genitive(before)),
            Q::Backtick | Q::Backticks | Q::Low | Q::LowSingle => false,
            Q::Twice | Q::RightSingle => true,
            Q::Left => self.low || (started && ends),
            Q::LeftSingle => self.low_single || (started && ends),
            Q::Right => self.low || self.curly || ends || (started && !self.language.same),
            Q::LeftAngle | Q::LeftAngleSingle => {
                let opened = self.angle[usize::from(quote == Q::LeftAngleSingle)];
                opened.is_some_and(|other| other != quote) || (started && ends)
            }
            Q::RightAngle => inward(self.angle[0], quote),
            Q::RightAngleSingle => inward(self.angle[1], quote),
        };
        if closes { Direction::Close } else { Direction::Open }
    }

    fn is_genitive(&self, before: Option<&Shape>) -> bool {
        self.language.code == "en"
            && before.is_some_and(|shape| shape.look.kind == Kind::Word && shape.look.s_last)
    }

    /// Takes a quotation mark in, which opens or closes.
    pub fn quote(&mut self, look: &Look, direction: Direction) -> Shape {
        use Quote as Q;
        let opens = direction == Direction::Open;
        let mut apart = false;
        if let Kind::Quote(quote) = look.kind {
            match quote {
                Q::Straight => self.straight = opens,
                Q::Single | Q::Backtick => self.single = opens,
                Q::Backticks | Q::Twice | Q::RightSingle => {}
                Q::Left | Q::Right => {
                    self.curly = opens;
                    self.low = false;
                }
                Q::LeftSingle => self.low_single = false,
                Q::Low => self.low = opens,
                Q::LowSingle => self.low_single = opens,
                Q::LeftAngle | Q::RightAngle => {
                    self.angle[0] = opens.then_some(quote);
                    apart = self.language.french;
                }
                Q::LeftAngleSingle | Q::RightAngleSingle => self.angle[1] = opens.then_some(quote),
            }
        }
        Shape { look: *look, joins_left: !opens && !apart, joins_right: opens && !apart }
    }

    /// Takes a word in that is no quotation mark, or stands in a tag.
    pub fn word(&mut self, before: Option<&Shape>, look: &Look, after: &[Look]) -> Shape {
        let next = after.first();
        let number_before = before.is_some_and(|shape| shape.look.digit_last);
        let range = before.is_some_and(|shape| shape.look.number) && next.is_some_and(|next| next.number);
        let number_after = next.is_some_and(|next| next.digit_first);
        let (joins_left, joins_right) = if self.in_tag {
            self.in_tag = !look.ends_tag;
            (false, look.ends_tag && !look.ends_empty_tag)
        } else {
            match look.kind {
                Kind::Word | Kind::Spaced | Kind::Symbol | Kind::Quote(_) => (false, false),
                Kind::TagStart => {
                    self.in_tag = after.iter().take(TAG_WORDS).any(|word| word.ends_tag);
                    (false, false)
                }
                Kind::Open | Kind::Prefix | Kind::TagOpen => (false, true),
                Kind::Close | Kind::Suffix | Kind::TagClose => (true, false),
                Kind::Clause => (!self.language.french, false),
                Kind::Both => (true, true),
                Kind::Currency if number_before => (self.language.code == "en", false),
                Kind::Currency | Kind::CurrencyWord => (false, number_after),
                Kind::Percent => (!(self.language.spaced_percent && number_before), false),
                Kind::Dash => (range, range),
                Kind::Hyphened => (before.is_some_and(Shape::ends_quote), false),
            }
        };
        Shape { look: *look, joins_left, joins_right }
    }
}

/// Whether a space comes between two words.
pub fn is_apart(left: &Shape, right: &Shape) -> bool {
    let joined = left.joins_right || right.joins_left;
    let dense = left.look.dense_last || right.look.dense_first;
    let symbols = left.look.kind == Kind::Symbol && right.look.kind == Kind::Symbol;
    !(joined || dense || symbols)
}
