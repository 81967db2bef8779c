//! Bitext on its way to training: read in several forms, normalised, filtered, without duplicates and without the
//! sentences of test sets; truecasing. Streams in bounded memory: a batch of pairs, and 16 bytes for each pair kept.

pub mod clean;
pub mod filter;
pub mod normalise;
pub mod read;
pub mod tags;
mod tmx;
pub mod truecase;

pub use clean::{Cleaner, Options};
pub use filter::{Bars, Limits, Reason, Report};
pub use normalise::{Form, key, normalise};
pub use read::{Form as FileForm, Input, Source};
pub use tags::TagCounts;
pub use truecase::{Counter, Truecaser, undo};

/// The words of a line: apart by blanks and tabs, as everywhere in dragoman.
pub fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split([' ', '\t']).filter(|word| !word.is_empty())
}
