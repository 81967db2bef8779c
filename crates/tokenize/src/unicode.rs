//! The tokeniser by Unicode's classes: cutting, marking what the joining rules would get wrong, and joining.

use crate::batch::Spans;
use crate::classes::words;
use crate::cut::{Range, cut};
use crate::join::{Direction, Joiner, Look, Shape, is_apart};
use crate::language::Language;
use crate::marks::{self, ESCAPE, Mark};
use std::borrow::Cow;

/// The tokeniser and detokeniser of a language. For every line, detokenising what was tokenised gives the line with one
/// space for each run of white space, and none at its ends.
#[derive(Debug, Clone, Copy)]
pub struct Unicode {
    language: Language,
}

/// What is written at a word.
#[derive(Debug, Clone, Copy, Default)]
struct Marked {
    /// A word of its own before this one says that a space comes.
    space: bool,
    before: Mark,
    after: Mark,
}

/// A mark on both sides, or one that turns a quotation mark.
fn turned(before: Mark, after: Mark, direction: Direction) -> Direction {
    match (before == Mark::Join, after == Mark::Join) {
        (true, false) => Direction::Close,
        (false, true) => Direction::Open,
        _ => direction,
    }
}

impl Unicode {
    /// For a language by its code, such as `de`, `deu` or `de-AT`; rules for no language in particular if it is unknown.
    pub fn new(language: &str) -> Self {
        Self { language: Language::of(language) }
    }

    /// Appends the words of a line apart by single spaces, and where they are in the line. A word that is a mark alone
    /// has an empty span.
    pub fn tokenize(&self, line: &str, out: &mut String, spans: Option<&mut Spans>) {
        let mut words = Vec::with_capacity(line.len() / 3 + 4);
        cut(line, &self.language, &mut words);
        let looks: Vec<Look> =
            words.iter().map(|&(from, to)| Look::of(&line[from..to], &self.language)).collect();
        let marks = self.marks(&words, &looks);
        let clean = marks::has_none(line);
        out.reserve(line.len() + words.len());
        for (index, (&(from, to), marked)) in words.iter().zip(&marks).enumerate() {
            if index > 0 {
                out.push(' ');
            }
            if marked.space {
                Mark::Space.push(out);
                out.push(' ');
            }
            marked.before.push(out);
            if clean {
                out.push_str(&line[from..to]);
            } else {
                marks::escape(&line[from..to], out);
            }
            marked.after.push(out);
        }
        if let Some(spans) = spans {
            push_spans(line, &words, &marks, spans);
        }
    }

    /// The marks that make joining exact.
    fn marks(&self, words: &[Range], looks: &[Look]) -> Vec<Marked> {
        let mut marks = vec![Marked::default(); words.len()];
        let mut joiner = Joiner::new(self.language);
        let mut before: Option<Shape> = None;
        for index in 0..words.len() {
            let (look, after) = (&looks[index], &looks[index + 1..]);
            let apart = |index: usize| words[index - 1].1 < words[index].0;
            if joiner.turns(look) {
                let gaps =
                    ((index > 0).then(|| apart(index)), (index + 1 < words.len()).then(|| apart(index + 1)));
                let known = if index > 0 { marks[index - 1].after } else { Mark::None };
                marks[index] = mark_quote(&joiner, (before.as_ref(), known), look, after, gaps);
                let direction = joiner.direction(before.as_ref(), look, after);
                let direction = turned(marks[index].before, marks[index].after, direction);
                before = Some(joiner.quote(look, direction));
                continue;
            }
            let shape = joiner.word(before.as_ref(), look, after);
            if let Some(left) = &before
                && gap(left, marks[index - 1].after, Mark::None, &shape) != apart(index)
            {
                let mark = if apart(index) { Mark::Space } else { Mark::Join };
                place(mark, (&looks[index - 1], look), &mut marks, index);
            }
            before = Some(shape);
        }
        marks
    }

    /// Appends the plain text of a tokenised line, and where its words are in that.
    pub fn detokenize(&self, line: &str, out: &mut String, spans: Option<&mut Spans>) {
        let words = read(line);
        let looks: Vec<Look> = words.iter().map(|word| Look::of(&word.text, &self.language)).collect();
        let mut joiner = Joiner::new(self.language);
        let mut before: Option<Shape> = None;
        let mut last = Mark::None;
        let start = out.len();
        out.reserve(line.len());
        let mut at = Vec::with_capacity(if spans.is_some() { words.len() } else { 0 });
        for (index, word) in words.iter().enumerate() {
            if word.text.is_empty() {
                // Marks alone: they hold for the gap.
                last =
                    if word.before == Mark::Space || last == Mark::Space { Mark::Space } else { word.before };
                if spans.is_some() {
                    at.push((out.len(), out.len()));
                }
                continue;
            }
            let (look, after) = (&looks[index], rest(&words, &looks, index));
            let shape = if joiner.turns(look) {
                let direction = joiner.direction(before.as_ref(), look, after);
                joiner.quote(look, turned(word.before, word.after, direction))
            } else {
                joiner.word(before.as_ref(), look, after)
            };
            if let Some(left) = &before
                && gap(left, last, word.before, &shape)
            {
                out.push(' ');
            }
            if spans.is_some() {
                at.push((out.len(), out.len() + word.text.len()));
            }
            out.push_str(&word.text);
            before = Some(shape);
            last = word.after;
        }
        if let Some(spans) = spans {
            push_ranges(&out[start..], at.into_iter().map(|(from, to)| (from - start, to - start)), spans);
            spans.end_line();
        }
    }
}

/// The looks after a word, up to a mark that is a word of its own: where there is one, the next word.
fn rest<'a>(words: &[Read<'_>], looks: &'a [Look], index: usize) -> &'a [Look] {
    if words.get(index + 1).is_some_and(|word| !word.text.is_empty()) {
        return &looks[index + 1..];
    }
    let next = words[index + 1..].iter().position(|word| !word.text.is_empty());
    next.map_or(&[], |skipped| &looks[index + 1 + skipped..])
}

/// Whether a space comes: by marks, and by rule where there are none.
fn gap(left: &Shape, after: Mark, before: Mark, right: &Shape) -> bool {
    if after == Mark::Space || before == Mark::Space {
        true
    } else if after == Mark::Join || before == Mark::Join {
        false
    } else {
        is_apart(left, right)
    }
}

/// The marks of a quotation mark: as few as do. `gaps` are whether spaces come before and after it.
fn mark_quote(
    joiner: &Joiner,
    (left, known): (Option<&Shape>, Mark),
    look: &Look,
    after: &[Look],
    gaps: (Option<bool>, Option<bool>),
) -> Marked {
    let direction = joiner.direction(left, look, after);
    let both = [
        (Mark::None, Mark::None),
        (Mark::Join, Mark::None),
        (Mark::None, Mark::Join),
        (Mark::Join, Mark::Join),
    ];
    let mut best: Option<(usize, Marked)> = None;
    for (number, (before, behind)) in both.into_iter().enumerate() {
        if (before == Mark::Join && gaps.0 == Some(true)) || (behind == Mark::Join && gaps.1 != Some(false)) {
            continue;
        }
        let mut joiner = *joiner;
        let shape = joiner.quote(look, turned(before, behind, direction));
        let mut marked = Marked { space: false, before, after: behind };
        let mut cost = [0, 1, 1, 2][number];
        if let (Some(left), Some(apart)) = (left, gaps.0)
            && gap(left, known, before, &shape) != apart
        {
            if !apart {
                continue; // only a mark that turns can join here, and that is another case
            }
            marked.before = Mark::Space;
            cost += 1;
        }
        if let (Some(next), Some(apart)) = (after.first(), gaps.1) {
            let right = if joiner.turns(next) {
                let direction = joiner.direction(Some(&shape), next, &after[1..]);
                joiner.quote(next, direction)
            } else {
                joiner.word(Some(&shape), next, &after[1..])
            };
            // A mark at the next word, which is worse where that has letters.
            let worse = if apart { 1 } else { 3 };
            cost += if gap(&shape, behind, Mark::None, &right) == apart { 0 } else { worse };
        }
        if best.is_none_or(|(known, _)| cost < known) {
            best = Some((cost, marked));
        }
    }
    best.map_or_else(Marked::default, |(_, marked)| marked)
}

/// Puts a mark where it disturbs least: at the sign rather than at the word, and alone between two words.
fn place(mark: Mark, (left, right): (&Look, &Look), marks: &mut [Marked], index: usize) {
    let turns = left.is_quote() && mark == Mark::Join;
    if !right.is_word() {
        marks[index].before = mark;
    } else if !left.is_word() && marks[index - 1].after == Mark::None && !turns {
        marks[index - 1].after = mark;
    } else if mark == Mark::Join {
        marks[index].before = mark;
    } else {
        marks[index].space = true;
    }
}

struct Read<'a> {
    before: Mark,
    text: Cow<'a, str>,
    after: Mark,
}

fn read(line: &str) -> Vec<Read<'_>> {
    let mut found = Vec::with_capacity(line.len() / 3 + 4);
    if marks::has_none(line) {
        found.extend(words(line).map(|word| Read {
            before: Mark::None,
            text: Cow::Borrowed(word),
            after: Mark::None,
        }));
    } else {
        found.extend(words(line).map(read_marked));
    }
    found
}

fn read_marked(word: &str) -> Read<'_> {
    let (before, text, after) = marks::split(word);
    let mut plain = Cow::Borrowed(text);
    if text.contains(ESCAPE) {
        plain = Cow::Owned(String::with_capacity(text.len()));
        marks::unescape(text, plain.to_mut());
    }
    Read { before, text: plain, after }
}

fn push_spans(line: &str, words: &[Range], marks: &[Marked], spans: &mut Spans) {
    let end = |index: usize| if index == 0 { 0 } else { words[index - 1].1 };
    let all = words.iter().zip(marks).enumerate().flat_map(|(index, (&word, marked))| {
        let alone = marked.space.then(|| (end(index), end(index)));
        alone.into_iter().chain([word])
    });
    push_ranges(line, all, spans);
    spans.end_line();
}

/// Ranges of bytes, in order, as ranges of characters.
fn push_ranges(text: &str, ranges: impl Iterator<Item = Range>, spans: &mut Spans) {
    let (mut bytes, mut chars) = (0, 0);
    let mut position = |at: usize| {
        chars += text[bytes..at].chars().count();
        bytes = at;
        chars
    };
    for (from, to) in ranges {
        let from = position(from);
        spans.push(from, position(to));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there(language: &str, line: &str) -> String {
        let mut out = String::new();
        Unicode::new(language).tokenize(line, &mut out, None);
        out
    }

    fn back(language: &str, line: &str) -> String {
        let mut out = String::new();
        Unicode::new(language).detokenize(line, &mut out, None);
        out
    }

    /// Each line comes back, and without marks.
    fn plain(language: &str, lines: &[&str]) {
        for line in lines {
            let words = there(language, line);
            assert!(!words.contains([marks::JOIN, marks::SPACE]), "{language}: {words}");
            assert_eq!(back(language, &words), *line, "{language}: {words}");
        }
    }

    /// Each line comes back, and its words are these.
    fn marked(language: &str, lines: &[(&str, &str)]) {
        for (line, want) in lines {
            assert_eq!(there(language, line), *want, "{language}");
            assert_eq!(back(language, want), *line, "{language}: {want}");
        }
    }

    #[test]
    fn the_two_faults_that_people_met() {
        marked("en", &[("“Go,” he said.", "“ Go , ” he said ."), ("It’s Jacob’s.", "It ’s Jacob ’s .")]);
        assert_eq!(back("en", "Go , ” he said ."), "Go,” he said.");
    }

    #[test]
    fn ordinary_text_has_no_marks() {
        plain(
            "en",
            &[
                "It's mine, isn't it? He said, 'Go.' \"No,\" I said: \"Stay!\"",
                "and said, “‘I have sworn by myself,’ says the LORD, ‘because...’”",
                "(\"quoted\") [sic] {x} 50% of $5 and US$5 at 10:30 p.m., pp. 3–5 – or 3/4; and/or",
                "the dogs' house, 'the dogs' and ``TeX'' and `quotes'",
                "See http://a.b/c, me@x.org, #tag, @who: <b>bold</b>, <a href=\"x y\">link</a>! A &amp; B",
                "I am 5€ short, 20°C, Brand® — yes.",
                "he left.'",
            ],
        );
        plain(
            "de",
            &[
                "„Ja“, sagte er. »Nein«, das „Halt“-Schild, 50 % und “Englisch” – Vor- und Nachteile: 3–5 Lehrer*innen?",
            ],
        );
        plain("fr", &["L'homme dit : « Non ! » Qu’y a-t-il ? 50 % de l'\"eau\" ; oui."]);
        plain("es", &["¿Qué? ¡No! «Sí», dijo."]);
        plain("sv", &["”Ja”, sade han. EU:s ”nej” är 5 %."]);
        plain("ha", &["‘Ku tafi,’ in ji ’yan Isra’ila."]);
        plain("zh", &["我用Python写“代码”，好。（是）"]);
        plain("hi", &["राम है। श्याम॥"]);
        plain("ar", &["مرحبا، كيف حالك؟ «نعم»"]);
        plain("th", &["น้ำดี"]);
    }

    #[test]
    fn other_spacing_is_marked() {
        marked(
            "en",
            &[
                ("a , b", "a ￮, b"),
                ("a,b", "a ,￭ b"),
                ("a—b", "a ￭—￭ b"),
                ("( a )", "(￮ a ￮)"),
                ("x:\"y\"z", "x : ￭\"￭ y ￭\"￭ z"),
                ("he said \" no \" twice", "he said \"￮ no ￮\" twice"),
                ("end.The", "end .￭ The"),
                ("in 'words' and words' x", "in ' words ' and words ' x"),
            ],
        );
        marked("fr", &[("Non! «Oui»", "Non ￭! «￭ Oui ￭»")]);
        marked("zh", &[("我 用 Python", "我 ￮ 用 ￮ Python")]);
        marked("en", &[("a ￭ ￬j ￮b", "a ￬j ￬e￭ j ￬s￭ b")]);
    }

    #[test]
    fn translations_without_marks_are_joined_by_rule() {
        assert_eq!(back("en", "\" Go , \" he said , ' now ' ."), "\"Go,\" he said, 'now'.");
        assert_eq!(back("fr", "l' eau : « oui » !"), "l'eau : « oui » !");
        assert_eq!(back("de", "„ Ja “ , 50 % ( etwa )"), "„Ja“, 50 % (etwa)");
        assert_eq!(back("en", "a <b bold , not a tag ."), "a <b bold, not a tag.");
        assert_eq!(back("en", "￭ ￮ a ￭ ￭ b ￮ ￮ , ￭￮"), "ab ,");
        assert_eq!(back("en", "1 &#124; 2"), "1 &#124; 2");
    }

    #[test]
    fn spans_are_in_characters() {
        let (mut out, mut spans) = (String::new(), Spans::default());
        let unicode = Unicode::new("zh");
        unicode.tokenize("  é我 用,é ", &mut out, Some(&mut spans));
        assert_eq!(out, "é 我 ￮ 用 ,￭ é");
        assert_eq!(spans.starts, [2, 3, 4, 5, 6, 7]);
        assert_eq!(spans.ends, [3, 4, 4, 6, 7, 8]);
        let (mut text, mut spans) = (String::new(), Spans::default());
        unicode.detokenize(&out, &mut text, Some(&mut spans));
        assert_eq!(text, "é我 用,é");
        assert_eq!(spans.starts, [0, 1, 2, 3, 4, 5]);
        assert_eq!(spans.ends, [1, 2, 2, 4, 5, 6]);
        assert_eq!(spans.lines, [0, 6]);
    }
}
