//! Batches in, a file out: whole or not at all.

use crate::batch::View;
use crate::encode::Encoder;
use crate::format::Format;
use dragoman_base::io::Output;
use dragoman_base::{Error, Names, Result};

/// Writes an n-best list that appears under its name only when it is finished.
pub struct Writer {
    encoder: Encoder,
    out: Output,
    failed: bool,
}

impl Writer {
    /// Starts writing `path`, packed as its name says (`-` for standard output).
    pub fn create(path: &str, format: Format) -> Result<Self> {
        Ok(Self { encoder: Encoder::new(format), out: Output::create(path)?, failed: false })
    }

    /// Writes the candidates of some sentences. After an error, only dropping the writer makes sense.
    pub fn write(&mut self, view: &View<'_>, names: &Names) -> Result<()> {
        let out = &mut self.out;
        let result = self.encoder.encode(view, names, &mut |bytes| out.write(bytes));
        self.failed |= result.is_err();
        result
    }

    /// Completes the list and gives it its name; refuses one that is broken off or has no candidate.
    pub fn finish(self) -> Result<()> {
        if self.failed {
            return Err(Error::Invalid("this list is not whole: an earlier write failed".to_owned()));
        }
        if self.encoder.count() == 0 {
            return Err(Error::Invalid("an n-best list needs at least one candidate".to_owned()));
        }
        self.out.finish()
    }
}
