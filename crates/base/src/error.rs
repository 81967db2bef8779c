//! The one error type of the Rust side. Bad input is an `Err` that names the place; it never panics.

/// Shorthand for results of this workspace.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, where, and what was expected instead.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused: missing file, no permission, full disk.
    #[error("{path}: {source}")]
    Io {
        /// The file as the caller named it.
        path: String,
        /// The system's own words.
        source: std::io::Error,
    },
    /// A line that is not in the form it should have. Lines count from 1.
    #[error("{path}:{line}: expected {want}, found {found}")]
    Format {
        /// The file as the caller named it.
        path: String,
        /// Line number, from 1.
        line: usize,
        /// What a correct line has here.
        want: String,
        /// What this line has.
        found: String,
    },
    /// A line that is not UTF-8.
    #[error("{path}:{line}: expected UTF-8 text, found an invalid byte 0x{byte:02x} at column {column}")]
    Encoding {
        /// The file as the caller named it.
        path: String,
        /// Line number, from 1.
        line: usize,
        /// Byte column of the offending byte, from 1.
        column: usize,
        /// The byte itself.
        byte: u8,
    },
    /// A compressed file that ends in the middle, or is not what its name says.
    #[error("{path}:{line}: {what}")]
    Damaged {
        /// The file as the caller named it.
        path: String,
        /// The line that was being read, from 1.
        line: usize,
        /// "truncated" or "corrupt", in words.
        what: String,
    },
    /// An argument that makes no sense, whatever the data.
    #[error("{0}")]
    Invalid(String),
}

impl Error {
    /// A [`Error::Format`] with the found text quoted and cut to a readable length.
    pub fn format(path: &str, line: usize, want: impl Into<String>, found: &str) -> Self {
        Self::Format { path: path.to_owned(), line, want: want.into(), found: quote(found) }
    }

    /// A [`Error::Damaged`] about a file without lines.
    pub fn damaged(path: &str, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), line: 1, what: what.into() }
    }
}

/// Quotes `text` for a message: at most 60 characters, control characters escaped.
pub fn quote(text: &str) -> String {
    if text.is_empty() {
        return "nothing".to_owned();
    }
    let mut short: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    if text.chars().nth(60).is_some() {
        short.push('…');
    }
    format!("`{short}`")
}
