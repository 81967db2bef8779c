//! Gaps: the places of a rule where the translation of another span stands.
//!
//! A gap is a word of the vocabularies whose text no word of a text can have, since control characters separate words.
//! All gaps of a source side are one symbol, so that look-ups need no numbers: they are counted from left to right. A gap
//! of the target side says which source gap stands there.

/// Every gap of a source side.
pub const SOURCE: &str = "\u{1}X";
/// The places of the first and of the second source gap in a target side.
pub const TARGET: [&str; 2] = ["\u{1}X1", "\u{1}X2"];
/// Gaps of a rule at most.
pub const MOST: usize = TARGET.len();

/// Which source gap a target symbol stands for, counted from 0.
pub fn of_target(symbol: &str) -> Option<usize> {
    TARGET.iter().position(|&gap| gap == symbol)
}
