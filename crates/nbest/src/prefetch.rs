//! Unpacking on a second thread, so that parsing need not wait for it.

use dragoman_base::{Result, io};
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};

const CHUNK: usize = 1 << 18;
/// Chunks that may wait: enough to even out both sides' pace, at most 1 MB.
const WAITING: usize = 4;

/// Opens `path`; a packed file is unpacked on a thread of its own, which ends with the file or the reader.
pub fn open(path: &str) -> Result<Box<dyn Read + Send>> {
    let reader = io::open(path)?;
    let packed = Path::new(path).extension().is_some_and(|e| e == "gz" || e == "zst" || e == "xz");
    Ok(if packed { Box::new(Prefetch::new(reader)) } else { reader })
}

/// A reader whose bytes another thread fetches.
struct Prefetch {
    chunks: Receiver<std::io::Result<Vec<u8>>>,
    current: Vec<u8>,
    at: usize,
    ended: bool,
}

impl Prefetch {
    fn new(mut reader: Box<dyn Read + Send>) -> Self {
        let (sender, chunks) = sync_channel(WAITING);
        std::thread::spawn(move || {
            loop {
                let chunk = fill(reader.as_mut());
                let last = !matches!(&chunk, Ok(bytes) if !bytes.is_empty());
                if sender.send(chunk).is_err() || last {
                    return;
                }
            }
        });
        Self { chunks, current: Vec::new(), at: 0, ended: false }
    }
}

/// The next bytes, up to a chunk of them; empty at the end.
fn fill(reader: &mut dyn Read) -> std::io::Result<Vec<u8>> {
    let mut chunk = vec![0; CHUNK];
    loop {
        match reader.read(&mut chunk) {
            Ok(count) => {
                chunk.truncate(count);
                return Ok(chunk);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

impl Read for Prefetch {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.current.len() && !self.ended {
            // The other side hangs up only after an end or an error, both of which arrive first.
            self.current = self.chunks.recv().unwrap_or_else(|_| Ok(Vec::new()))?;
            self.at = 0;
            self.ended = self.current.is_empty();
        }
        let count = out.len().min(self.current.len() - self.at);
        out[..count].copy_from_slice(&self.current[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}
