//! Marks at words: what the joining rules would get wrong.
//!
//! A word may have one mark on each side: [`JOIN`] where no space comes, [`SPACE`] where one does. A word that is the
//! mark [`SPACE`] alone is a space between two words. Marks that occur in text are escaped, so that nothing is lost.

/// No space here, against the rule.
pub const JOIN: char = '\u{ffed}';
/// A space here, against the rule; alone between two words: a space, too.
pub const SPACE: char = '\u{ffee}';
/// Before `j`, `s`, `e`: the mark [`JOIN`], the mark [`SPACE`], or this character, in the text itself.
pub const ESCAPE: char = '\u{ffec}';

/// What a side of a word is marked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mark {
    /// Nothing: the rules decide.
    #[default]
    None,
    /// [`JOIN`].
    Join,
    /// [`SPACE`].
    Space,
}

impl Mark {
    fn of(c: Option<char>) -> Self {
        match c {
            Some(JOIN) => Self::Join,
            Some(SPACE) => Self::Space,
            _ => Self::None,
        }
    }

    /// Writes the mark, if there is one.
    pub fn push(self, out: &mut String) {
        match self {
            Self::None => {}
            Self::Join => out.push(JOIN),
            Self::Space => out.push(SPACE),
        }
    }
}

/// Whether a text has no marks and nothing to escape: all marks start with the byte 0xef.
pub fn has_none(text: &str) -> bool {
    !text.as_bytes().contains(&0xef)
}

/// The marks at both sides of a word, and what is between.
pub fn split(word: &str) -> (Mark, &str, Mark) {
    if has_none(word) {
        return (Mark::None, word, Mark::None);
    }
    let before = Mark::of(word.chars().next());
    let word = if before == Mark::None { word } else { &word[JOIN.len_utf8()..] };
    let after = Mark::of(word.chars().next_back());
    let word = if after == Mark::None { word } else { &word[..word.len() - JOIN.len_utf8()] };
    (before, word, after)
}

/// Writes text so that no mark is in it.
pub fn escape(text: &str, out: &mut String) {
    if has_none(text) {
        out.push_str(text);
        return;
    }
    for c in text.chars() {
        match c {
            JOIN => out.extend([ESCAPE, 'j']),
            SPACE => out.extend([ESCAPE, 's']),
            ESCAPE => out.extend([ESCAPE, 'e']),
            _ => out.push(c),
        }
    }
}

/// Writes what [`escape`] was given. Letters in capitals count, too, as text may have been cased on its way.
pub fn unescape(text: &str, out: &mut String) {
    if has_none(text) {
        out.push_str(text);
        return;
    }
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let meant = match (c, rest.clone().next()) {
            (ESCAPE, Some('j' | 'J')) => Some(JOIN),
            (ESCAPE, Some('s' | 'S')) => Some(SPACE),
            (ESCAPE, Some('e' | 'E')) => Some(ESCAPE),
            _ => None,
        };
        if meant.is_some() {
            rest.next();
        }
        out.push(meant.unwrap_or(c));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_come_off() {
        assert_eq!(split("￭x￮"), (Mark::Join, "x", Mark::Space));
        assert_eq!(split("x"), (Mark::None, "x", Mark::None));
        assert_eq!(split("￭"), (Mark::Join, "", Mark::None));
        assert_eq!(split("ﬁ"), (Mark::None, "ﬁ", Mark::None));
    }

    #[test]
    fn escapes_are_undone() {
        let text = "￭￮￬jﬁ￬￬";
        let (mut there, mut back) = (String::new(), String::new());
        escape(text, &mut there);
        assert!(!there.contains([JOIN, SPACE]));
        unescape(&there, &mut back);
        assert_eq!(back, text);
    }
}
