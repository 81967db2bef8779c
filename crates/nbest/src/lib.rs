//! N-best lists in columns: Moses, cdec, Travatar and JSONL, streaming both ways.
//!
//! A [`Reader`] gives batches of whole sentences, a [`Writer`] takes them; memory does not grow with the
//! number of lines. What is read can be written and read again without a change in any value.

mod batch;
mod encode;
mod encode_bars;
mod encode_json;
mod features;
mod format;
mod json;
mod jsonl;
mod layout;
mod members;
mod moses;
mod order;
mod prefetch;
mod reader;
mod stat;
mod writer;

pub use batch::{Batch, View};
pub use encode::Encoder;
pub use format::Format;
pub use members::{Column, Member};
pub use reader::Reader;
pub use stat::{FeatureStat, Stat};
pub use writer::Writer;

use dragoman_base::error::quote;
use dragoman_base::number;

/// What is wrong in a line; the reader adds file and line number.
#[derive(Debug)]
pub(crate) struct Fault {
    want: String,
    found: String,
}

impl Fault {
    /// A fault with the found text quoted and cut to a readable length.
    fn new(want: impl Into<String>, found: &str) -> Self {
        Self { want: want.into(), found: quote(found) }
    }

    /// A fault whose finding is already in words.
    fn words(want: impl Into<String>, found: impl Into<String>) -> Self {
        Self { want: want.into(), found: found.into() }
    }
}

/// Whether a byte is one of the blanks that separate words and columns.
pub(crate) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// `text` without the blanks around it.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}
