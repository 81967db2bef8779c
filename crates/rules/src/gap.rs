//! Gaps: the places of a rule where the translation of another span stands.
//!
//! A gap is a word of the vocabularies whose text no word of a text can have, since control characters separate words.
//! All gaps of a source side are one symbol, so that look-ups need no numbers: they are counted from left to right. A gap
//! of the target side says which source gap stands there.

use dragoman_base::Names;

/// Every gap of a source side.
pub const SOURCE: &str = "\u{1}X";
/// The places of the first and of the second source gap in a target side.
pub const TARGET: [&str; 2] = ["\u{1}X1", "\u{1}X2"];
/// Gaps of a rule at most.
pub const MOST: usize = TARGET.len();

/// The id of [`SOURCE`] in the vocabularies that extraction and imports make; of [`TARGET`], 0 and 1.
pub(crate) const ID: u32 = 0;

/// Empty vocabularies of source and target, with the gaps in front.
pub(crate) fn vocabularies() -> (Names, Names) {
    let (mut source, mut target) = (Names::new(), Names::new());
    source.intern(SOURCE);
    for gap in TARGET {
        target.intern(gap);
    }
    (source, target)
}

/// The number of gaps in a source side, given its symbols.
pub fn count<'a>(source: impl Iterator<Item = &'a str>) -> usize {
    source.filter(|&symbol| symbol == SOURCE).count()
}

/// Which source gap a target symbol stands for, counted from 0.
pub fn of_target(symbol: &str) -> Option<usize> {
    TARGET.iter().position(|&gap| gap == symbol)
}

/// How people read and write gaps, as in cdec's grammars; on both sides.
pub const SHOWN: [&str; MOST] = ["[X,1]", "[X,2]"];

/// A side of a rule as people read it.
pub fn shown<'a>(symbols: impl Iterator<Item = &'a str>) -> String {
    let (mut text, mut gaps) = (String::new(), 0);
    for symbol in symbols {
        let number = of_target(symbol).or_else(|| {
            gaps += usize::from(symbol == SOURCE);
            (symbol == SOURCE).then(|| gaps - 1)
        });
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(number.and_then(|number| SHOWN.get(number).copied()).unwrap_or(symbol));
    }
    text
}

/// The symbol that a word of a source side stands for, as people write it.
pub fn read_source(word: &str) -> &str {
    if SHOWN.contains(&word) { SOURCE } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_shown_with_numbers() {
        assert_eq!(shown([SOURCE, "a", SOURCE].into_iter()), "[X,1] a [X,2]");
        assert_eq!(shown([TARGET[1], "b", TARGET[0]].into_iter()), "[X,2] b [X,1]");
        assert_eq!(shown([].into_iter()), "");
        assert_eq!(count(["a", SOURCE].into_iter()), 1);
        assert_eq!(read_source("[X,2]"), SOURCE);
    }
}
