//! Bitext on its way to training: read in several forms, normalised, filtered, without duplicates and without the
//! sentences of test sets; truecasing, cutting words into pieces, splitting compounds. Streams in bounded memory: a batch of pairs, and 16 bytes for each pair kept.

pub mod clean;
pub mod compounds;
pub mod filter;
pub mod language;
pub mod normalise;
pub mod pieces;
pub mod read;
pub mod sniff;
pub mod tags;
mod tmx;
pub mod truecase;
mod xliff;
mod xml;

pub use clean::{Cleaner, Options};
pub use compounds::{Compounds, WordCounter};
pub use filter::{Bars, Limits, Reason, Report};
pub use language::Tag;
pub use normalise::{Form, key, normalise, traced};
pub use pieces::{MARK, PieceCounter, Pieces, join_pieces};
pub use read::{Form as FileForm, Input, Languages, Source, sample};
pub use sniff::{Content, sniff};
pub use tags::TagCounts;
pub use truecase::{Counter, Truecaser, undo};
