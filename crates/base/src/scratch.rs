//! Temporary files without a name, so that nothing is left behind however the process ends.

use crate::io::read_at;
use crate::{Error, Result};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes that one write or read moves.
pub const CHUNK: usize = 1 << 18;

/// Where temporary files go.
#[derive(Debug, Clone)]
pub struct Scratch(Arc<PathBuf>);

impl Scratch {
    /// Temporary files in `folder`, or in the system's place for them.
    pub fn new(folder: Option<&str>) -> Self {
        Self(Arc::new(folder.map_or_else(std::env::temp_dir, PathBuf::from)))
    }

    /// Temporary files in the folder of the file `out`.
    pub fn beside(out: &Path) -> Self {
        let folder = out.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Self(Arc::new(folder.to_owned()))
    }

    /// A new temporary file.
    pub fn file(&self) -> Result<File> {
        tempfile::tempfile_in(self.0.as_path()).map_err(|e| self.error(e))
    }

    /// What a failure in this folder is.
    pub fn error(&self, source: io::Error) -> Error {
        Error::Io { path: format!("{} (temporary files)", Path::display(&self.0)), source }
    }
}

/// Bytes that are written once and then read once from the start.
#[derive(Debug)]
pub struct Spool {
    scratch: Scratch,
    file: BufWriter<File>,
    length: u64,
}

impl Spool {
    /// An empty spool.
    pub fn new(scratch: &Scratch) -> Result<Self> {
        let file = BufWriter::with_capacity(CHUNK, scratch.file()?);
        Ok(Self { scratch: scratch.clone(), file, length: 0 })
    }

    /// Number of bytes.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Appends bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.length += bytes.len() as u64;
        self.file.write_all(bytes).map_err(|e| self.scratch.error(e))
    }

    /// A reader of all bytes from the start, and where they are.
    pub fn read(self) -> Result<(BufReader<File>, Scratch)> {
        let scratch = self.scratch;
        let mut file = self.file.into_inner().map_err(|e| scratch.error(e.into_error()))?;
        file.rewind().map_err(|e| scratch.error(e))?;
        Ok((BufReader::with_capacity(CHUNK, file), scratch))
    }

    /// All bytes, in memory.
    pub fn into_bytes(self) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(self.length as usize);
        let (mut file, scratch) = self.read()?;
        file.read_to_end(&mut bytes).map_err(|e| scratch.error(e))?;
        Ok(bytes)
    }

    /// Hands all bytes to `take`, in pieces whose lengths are multiples of 64 but for the last.
    pub fn drain(self, mut take: impl FnMut(&mut [u8]) -> Result<()>) -> Result<()> {
        let mut left = self.length;
        let (mut file, scratch) = self.read()?;
        let mut buffer = vec![0; CHUNK];
        while left > 0 {
            let count = left.min(CHUNK as u64) as usize;
            file.read_exact(&mut buffer[..count]).map_err(|e| scratch.error(e))?;
            take(&mut buffer[..count])?;
            left -= count as u64;
        }
        Ok(())
    }
}

/// Byte strings that come in any order, by number, and are read by number.
#[derive(Debug)]
pub struct Kept {
    scratch: Scratch,
    file: File,
    length: u64,
    places: Vec<Option<Range<u64>>>,
}

impl Kept {
    /// Room for so many; none is there yet.
    pub fn new(scratch: &Scratch, count: usize) -> Result<Self> {
        Ok(Self { scratch: scratch.clone(), file: scratch.file()?, length: 0, places: vec![None; count] })
    }

    /// Keeps one; each comes once.
    pub fn put(&mut self, number: usize, bytes: &[u8]) -> Result<()> {
        let place = self.places.get_mut(number).filter(|place| place.is_none());
        let place = place.ok_or_else(|| Error::Invalid(format!("part {number} of the work came twice")))?;
        self.file.write_all(bytes).map_err(|e| self.scratch.error(e))?;
        let end = self.length + bytes.len() as u64;
        *place = Some(self.length..end);
        self.length = end;
        Ok(())
    }

    /// Whether one is there.
    pub fn has(&self, number: usize) -> bool {
        self.places.get(number).is_some_and(Option::is_some)
    }

    /// One of them.
    pub fn get(&self, number: usize) -> Result<Vec<u8>> {
        let lost = || Error::Invalid(format!("part {number} of the work did not come back"));
        let place = self.places.get(number).and_then(Clone::clone).ok_or_else(lost)?;
        let mut bytes = vec![0; (place.end - place.start) as usize];
        read_at(&self.file, &mut bytes, place.start).map_err(|e| self.scratch.error(e))?;
        Ok(bytes)
    }

    /// How many there is room for.
    pub fn count(&self) -> usize {
        self.places.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_by_number_and_comes_once() {
        let mut kept = Kept::new(&Scratch::new(None), 3).unwrap();
        kept.put(2, b"two").unwrap();
        kept.put(0, b"").unwrap();
        assert_eq!((kept.get(0).unwrap(), kept.get(2).unwrap()), (Vec::new(), b"two".to_vec()));
        assert!(kept.has(0) && !kept.has(1) && !kept.has(3));
        assert!(kept.get(1).is_err() && kept.put(2, b"two").is_err() && kept.put(3, b"").is_err());
    }
}
