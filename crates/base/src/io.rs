//! Lines in, bytes out: plain, gz, zst or xz by file name, `-` for the standard streams.

use crate::error::{Error, Result};
use crate::texts::Texts;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

const BUFFER: usize = 1 << 18;

/// How a file is packed, told from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    Plain,
    Gzip,
    Zstd,
    Xz,
}

impl Packing {
    fn of(path: &str) -> Self {
        match Path::new(path).extension().and_then(|e| e.to_str()) {
            Some("gz") => Self::Gzip,
            Some("zst") => Self::Zstd,
            Some("xz") => Self::Xz,
            _ => Self::Plain,
        }
    }
}

fn io_error(path: &str) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { path, source }
}

/// Opens `path` for reading and unpacks it on the way.
pub fn open(path: &str) -> Result<Box<dyn Read + Send>> {
    let raw: Box<dyn Read + Send> = if path == "-" {
        Box::new(io::stdin())
    } else {
        let file = File::open(path).map_err(io_error(path))?;
        if file.metadata().map_err(io_error(path))?.is_dir() {
            let source = io::Error::new(ErrorKind::IsADirectory, "is a directory, not a file");
            return Err(Error::Io { path: path.to_owned(), source });
        }
        Box::new(file)
    };
    Ok(match Packing::of(path) {
        Packing::Plain => raw,
        Packing::Gzip => {
            Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(BUFFER, raw)))
        }
        Packing::Zstd => Box::new(zstd::Decoder::new(raw).map_err(io_error(path))?),
        Packing::Xz => Box::new(liblzma::read::XzDecoder::new_multi_decoder(raw)),
    })
}

/// Reads a text file line by line; knows where it is, so that errors can say so.
pub struct Lines {
    path: String,
    reader: BufReader<Box<dyn Read + Send>>,
    buffer: Vec<u8>,
    number: usize,
}

impl Lines {
    /// Opens `path` (unpacked by its name, `-` for standard input).
    pub fn open(path: &str) -> Result<Self> {
        Ok(Self::new(path, open(path)?))
    }

    /// Reads from any reader; `path` is what errors call it.
    pub fn new(path: &str, reader: Box<dyn Read + Send>) -> Self {
        let reader = BufReader::with_capacity(BUFFER, reader);
        Self { path: path.to_owned(), reader, buffer: Vec::new(), number: 0 }
    }

    /// The file as errors call it.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Number of the line last returned, from 1.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The next line without its end (`\n` or `\r\n`; a byte-order mark at the start of the file is dropped).
    #[allow(clippy::should_implement_trait)] // the line borrows the reader, which `Iterator` cannot say
    pub fn next(&mut self) -> Result<Option<&str>> {
        self.buffer.clear();
        let count = self.reader.read_until(b'\n', &mut self.buffer).map_err(|e| self.read_error(e))?;
        if count == 0 {
            return Ok(None);
        }
        self.number += 1;
        let mut line = self.buffer.as_slice();
        if self.number == 1 {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        line = line.strip_suffix(b"\n").unwrap_or(line);
        line = line.strip_suffix(b"\r").unwrap_or(line);
        match std::str::from_utf8(line) {
            Ok(text) => Ok(Some(text)),
            Err(e) => Err(Error::Encoding {
                path: self.path.clone(),
                line: self.number,
                column: e.valid_up_to() + 1,
                byte: line[e.valid_up_to()],
            }),
        }
    }

    fn read_error(&self, error: io::Error) -> Error {
        let packed = Packing::of(&self.path) != Packing::Plain;
        let what = match error.kind() {
            ErrorKind::UnexpectedEof if packed => {
                "the compressed file is truncated: it ends in the middle".to_owned()
            }
            _ if packed => format!("the compressed file is corrupt, or not what its name says ({error})"),
            _ => return Error::Io { path: self.path.clone(), source: error },
        };
        Error::Damaged { path: self.path.clone(), line: self.number + 1, what }
    }
}

/// All lines of a text file.
pub fn read_lines(path: &str) -> Result<Texts> {
    let mut lines = Lines::open(path)?;
    let mut texts = Texts::new();
    while let Some(line) = lines.next()? {
        texts.push(line);
    }
    Ok(texts)
}

/// What the packed bytes are written to.
enum Sink {
    Plain(Box<dyn Write + Send>),
    Gzip(flate2::write::GzEncoder<Box<dyn Write + Send>>),
    Zstd(zstd::Encoder<'static, Box<dyn Write + Send>>),
    Xz(liblzma::write::XzEncoder<Box<dyn Write + Send>>),
}

impl Sink {
    fn new(packing: Packing, raw: Box<dyn Write + Send>) -> io::Result<Self> {
        Ok(match packing {
            Packing::Plain => Self::Plain(raw),
            Packing::Gzip => Self::Gzip(flate2::write::GzEncoder::new(raw, flate2::Compression::default())),
            Packing::Zstd => Self::Zstd(zstd::Encoder::new(raw, 3)?),
            Packing::Xz => Self::Xz(liblzma::write::XzEncoder::new(raw, 6)),
        })
    }

    fn get(&mut self) -> &mut dyn Write {
        match self {
            Self::Plain(w) => w,
            Self::Gzip(w) => w,
            Self::Zstd(w) => w,
            Self::Xz(w) => w,
        }
    }

    fn finish(self) -> io::Result<()> {
        let mut raw = match self {
            Self::Plain(w) => w,
            Self::Gzip(w) => w.finish()?,
            Self::Zstd(w) => w.finish()?,
            Self::Xz(w) => w.finish()?,
        };
        raw.flush()
    }
}

/// A file that appears under its name only when it is whole.
///
/// Bytes go to a temporary file in the same folder; [`Output::finish`] syncs and renames it. If the writer is
/// dropped before that (an error, a panic), the temporary file is removed and nothing is left behind.
/// Standard output (`-`), pipes and devices are written directly.
pub struct Output {
    path: String,
    sink: Option<BufWriter<SinkWriter>>,
    /// The temporary file and a second handle on it for syncing; none for streams.
    temporary: Option<(PathBuf, File)>,
}

struct SinkWriter(Sink);

impl Write for SinkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.get().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.get().flush()
    }
}

impl Output {
    /// Starts writing `path`, packed as its name says.
    pub fn create(path: &str) -> Result<Self> {
        let (raw, temporary) = Self::target(path).map_err(io_error(path))?;
        let sink = Sink::new(Packing::of(path), raw).map_err(io_error(path))?;
        let sink = Some(BufWriter::with_capacity(BUFFER, SinkWriter(sink)));
        Ok(Self { path: path.to_owned(), sink, temporary })
    }

    #[allow(clippy::type_complexity)] // the pair is named by the fields it goes to
    fn target(path: &str) -> io::Result<(Box<dyn Write + Send>, Option<(PathBuf, File)>)> {
        if path == "-" {
            return Ok((Box::new(io::stdout()), None));
        }
        let path = Path::new(path);
        if path.metadata().is_ok_and(|m| !m.is_file()) {
            return Ok((Box::new(fs::OpenOptions::new().write(true).open(path)?), None));
        }
        let name = path.file_name().ok_or_else(|| io::Error::other("is not a file name"))?;
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.partial", std::process::id()));
        let temporary = path.with_file_name(hidden);
        let file = File::create(&temporary)?;
        let handle = file.try_clone()?;
        Ok((Box::new(file), Some((temporary, handle))))
    }

    /// Writes all of `bytes`.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let sink = self.sink.as_mut().expect("not finished yet");
        sink.write_all(bytes).map_err(io_error(&self.path))
    }

    /// Completes the file and gives it its name.
    pub fn finish(mut self) -> Result<()> {
        let sink = self.sink.take().expect("not finished yet");
        let result = sink.into_inner().map_err(io::IntoInnerError::into_error).and_then(|s| s.0.finish());
        result.and_then(|()| self.publish()).map_err(io_error(&self.path))
    }

    fn publish(&mut self) -> io::Result<()> {
        if let Some((temporary, file)) = &self.temporary {
            file.sync_all()?;
            fs::rename(temporary, &self.path)?;
            self.temporary = None;
        }
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some((temporary, _)) = &self.temporary {
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Reads from part of a file, whoever else reads it at the same time.
pub fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_exact_at(file, bytes, at);
    #[cfg(windows)]
    {
        let (mut bytes, mut at) = (bytes, at);
        while !bytes.is_empty() {
            let count = std::os::windows::fs::FileExt::seek_read(file, bytes, at)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            bytes = &mut bytes[count..];
            at += count as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(dir: &tempfile::TempDir, name: &str) -> String {
        dir.path().join(name).to_str().unwrap().to_owned()
    }

    #[test]
    fn round_trips_in_every_packing() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a.txt", "a.gz", "a.zst", "a.xz"] {
            let path = path(&dir, name);
            let mut out = Output::create(&path).unwrap();
            for i in 0..10_000 {
                out.write(format!("line {i} é\n").as_bytes()).unwrap();
            }
            assert!(!Path::new(&path).exists(), "nothing under the final name before the end");
            out.finish().unwrap();
            let texts = read_lines(&path).unwrap();
            assert_eq!((texts.len(), texts.get(9_999)), (10_000, "line 9999 é"));
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 4, "no temporary file stays");
    }

    #[test]
    fn an_abandoned_output_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut out = Output::create(&path(&dir, "b.gz")).unwrap();
        out.write(b"half").unwrap();
        drop(out);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn line_ends_and_marks() {
        let dir = tempfile::tempdir().unwrap();
        let path = path(&dir, "c");
        fs::write(&path, b"\xef\xbb\xbfone\r\n\ntwo\rtoo\nlast").unwrap();
        assert_eq!(read_lines(&path).unwrap().iter().collect::<Vec<_>>(), ["one", "", "two\rtoo", "last"]);
    }

    #[test]
    fn errors_name_file_and_line() {
        let dir = tempfile::tempdir().unwrap();
        let bad = path(&dir, "bad.txt");
        fs::write(&bad, b"good\nb\xffd\n").unwrap();
        let message = read_lines(&bad).unwrap_err().to_string();
        assert!(message.ends_with("bad.txt:2: expected UTF-8 text, found an invalid byte 0xff at column 2"));

        for name in ["t.gz", "t.zst", "t.xz"] {
            let path = path(&dir, name);
            let mut out = Output::create(&path).unwrap();
            // Incompressible enough that half of the file holds some whole lines.
            let mut rng = crate::random::stream(1, 1);
            for _ in 0..20_000 {
                out.write(format!("{}\n", crate::random::below(&mut rng, 1 << 40)).as_bytes()).unwrap();
            }
            out.finish().unwrap();
            let whole = fs::read(&path).unwrap();
            fs::write(&path, &whole[..whole.len() / 2]).unwrap();
            let message = read_lines(&path).unwrap_err().to_string();
            assert!(message.contains("truncated"), "{name}: {message}");
            fs::write(&path, b"this is no archive").unwrap();
            let message = read_lines(&path).unwrap_err().to_string();
            assert!(message.contains("corrupt") || message.contains("truncated"), "{name}: {message}");
        }
        assert!(read_lines(dir.path().to_str().unwrap()).unwrap_err().to_string().contains("directory"));
        assert!(read_lines(&path(&dir, "missing")).unwrap_err().to_string().contains("missing"));
    }
}
