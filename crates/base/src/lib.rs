//! What every other crate stands on: texts in columns, interned names, sparse rows, vectors that share
//! what they do not change, compressed line-by-line I/O with errors that name file and line, files that are mapped, sorting
//! in bounded memory, and reproducible random streams.

pub mod blocks;
pub mod container;
pub mod end;
pub mod error;
pub mod frames;
pub mod frozen;
pub mod hash;
pub mod io;
pub mod names;
pub mod number;
pub mod random;
pub mod scratch;
pub mod size;
pub mod sort;
pub mod sparse;
pub mod texts;
pub mod vocabulary;
pub mod words;

pub use blocks::Blocks;
pub use end::{End, Stop};
pub use error::{Error, Result};
pub use frozen::Frozen;
pub use names::Names;
pub use scratch::Scratch;
pub use size::parse_size;
pub use sparse::Rows;
pub use texts::Texts;
pub use words::words;
