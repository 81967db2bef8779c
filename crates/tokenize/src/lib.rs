//! Plain text to words apart by single spaces, and back.
//!
//! [`Unicode`] cuts by classes of characters, with a little knowledge of languages. What [`Unicode::detokenize`] would
//! space otherwise than the text had it is marked at the word, so that the way back is exact. [`Moses`] follows Moses'
//! rules, with the lists that its caller brings.

pub mod batch;
mod classes;
mod cut;
mod follow;
mod join;
mod language;
mod marks;
pub mod moses;
pub mod unicode;

pub use batch::{Spans, each};
pub use classes::is_space;
pub use follow::follow;
pub use marks::{ESCAPE, JOIN, SPACE};
pub use moses::{Lists, Moses};
pub use unicode::Unicode;
