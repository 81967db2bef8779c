//! ARPA files, both ways: the text form that all language-model tools read. Logarithms are to base 10.

mod read;
mod write;

pub use read::read;
pub use write::Writer;
