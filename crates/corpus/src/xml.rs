//! XML as a stream, for the readers of translation memories and translation files. Documents that define entities are
//! refused: an entity that expands to entities could fill any memory.

use dragoman_base::io::open;
use dragoman_base::{Error, Result};
use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};
use std::io::{BufRead, BufReader, Read};

/// Counts line ends on the way, so that errors can name the line.
struct Counting {
    inner: BufReader<Box<dyn Read + Send>>,
    lines: usize,
}

impl Read for Counting {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(bytes)?;
        self.lines += memchr::memchr_iter(b'\n', &bytes[..count]).count();
        Ok(count)
    }
}

impl BufRead for Counting {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        let seen = &self.inner.buffer()[..count];
        self.lines += memchr::memchr_iter(b'\n', seen).count();
        self.inner.consume(count);
    }
}

/// UTF-16, in which some programs write translation memories, as UTF-8.
struct Utf16 {
    inner: BufReader<Box<dyn Read + Send>>,
    big: bool,
    /// The first half of a pair whose second half is still to come.
    half: Option<u16>,
    ready: Vec<u8>,
    at: usize,
}

impl Utf16 {
    /// One more unit; none at the end.
    fn unit(&mut self) -> std::io::Result<Option<u16>> {
        let mut pair = [0; 2];
        let count = self.inner.read(&mut pair[..1])?;
        if count == 0 {
            return Ok(None);
        }
        self.inner.read_exact(&mut pair[1..])?;
        Ok(Some(if self.big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }))
    }

    fn refill(&mut self) -> std::io::Result<()> {
        const UNITS: usize = 1 << 14;
        (self.at, self.ready) = (0, Vec::with_capacity(3 * UNITS));
        let mut units: Vec<u16> = self.half.take().into_iter().collect();
        while units.len() < UNITS {
            let Some(unit) = self.unit()? else { break };
            units.push(unit);
        }
        // A pair must not be cut in two.
        if units.len() == UNITS && units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit)) {
            self.half = units.pop();
        }
        for c in char::decode_utf16(units) {
            let c = c.map_err(|_| std::io::Error::other("is not valid UTF-16"))?;
            self.ready.extend(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
        Ok(())
    }
}

impl Read for Utf16 {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.ready.len() {
            self.refill()?;
        }
        let count = bytes.len().min(self.ready.len() - self.at);
        bytes[..count].copy_from_slice(&self.ready[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// A document as UTF-8: UTF-16 is known by its byte-order mark.
pub fn open_text(path: &str) -> Result<Box<dyn Read + Send>> {
    let mut inner = BufReader::with_capacity(1 << 18, open(path)?);
    let failed = |source| Error::Io { path: path.to_owned(), source };
    let mark = inner.fill_buf().map_err(failed)?;
    let big = match mark {
        [0xff, 0xfe, ..] => false,
        [0xfe, 0xff, ..] => true,
        _ => return Ok(Box::new(inner)),
    };
    inner.consume(2);
    Ok(Box::new(Utf16 { inner, big, half: None, ready: Vec::new(), at: 0 }))
}

/// What a reader makes of the elements of a document.
pub trait Handler {
    /// An element begins; the error says what was expected and what was found.
    fn start(&mut self, element: &BytesStart<'_>) -> std::result::Result<(), (String, String)>;
    /// Text inside the innermost element.
    fn text(&mut self, text: &str);
    /// An element ends; true if a pair is complete.
    fn end(&mut self, name: &[u8]) -> bool;
}

/// An attribute of an element, by one of its names.
pub fn attribute(
    element: &BytesStart<'_>,
    names: &[&[u8]],
) -> std::result::Result<Option<String>, (String, String)> {
    let mut found = None;
    for attribute in element.attributes() {
        let attribute = attribute.map_err(|e| ("attributes name=\"value\"".to_owned(), e.to_string()))?;
        if names.contains(&attribute.key.as_ref()) {
            found = Some(String::from_utf8_lossy(&attribute.value).into_owned());
        }
    }
    Ok(found)
}

/// A document that is being read.
pub struct Xml {
    path: String,
    /// What the document should be, for errors.
    what: &'static str,
    reader: Reader<Counting>,
    buffer: Vec<u8>,
    /// Elements that are open, and whether there was one at all.
    depth: usize,
    begun: bool,
}

impl Xml {
    /// Opens a document; `what` is its kind as errors call it.
    pub fn open(path: &str, what: &'static str) -> Result<Self> {
        let inner = BufReader::with_capacity(1 << 18, open_text(path)?);
        let mut reader = Reader::from_reader(Counting { inner, lines: 0 });
        reader.config_mut().expand_empty_elements = true;
        Ok(Self { path: path.to_owned(), what, reader, buffer: Vec::new(), depth: 0, begun: false })
    }

    fn wrong(&self, want: &str, found: &str) -> Error {
        let line = self.reader.get_ref().lines + 1;
        Error::Format { path: self.path.clone(), line, want: want.to_owned(), found: found.to_owned() }
    }

    fn reference(&self, reference: &BytesRef<'_>) -> Result<char> {
        let name = reference.decode().map_err(|_| self.wrong("UTF-8 text", "other bytes"))?;
        let number = reference.resolve_char_ref();
        let wrong =
            || self.wrong("characters or the entities lt, gt, amp, apos, quot", &format!("`&{name};`"));
        Ok(match (number, name.as_ref()) {
            (Ok(Some(c)), _) => c,
            (Err(_), _) => return Err(wrong()),
            (_, "lt") => '<',
            (_, "gt") => '>',
            (_, "amp") => '&',
            (_, "apos") => '\'',
            (_, "quot") => '"',
            _ => return Err(wrong()),
        })
    }

    /// Reads until a pair is complete; false at the end of the document.
    pub fn next(&mut self, handler: &mut dyn Handler) -> Result<bool> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let found = loop {
            buffer.clear();
            let event = self.reader.read_event_into(&mut buffer);
            let event = event.map_err(|e| self.wrong("well-formed XML", &e.to_string()))?;
            match event {
                Event::Start(_) => (self.begun, self.depth) = (true, self.depth + 1),
                Event::End(_) => self.depth -= 1, // the reader checks that ends match
                _ => {}
            }
            match self.event(&event, handler)? {
                Some(true) => break true,
                Some(false) => {}
                None if !self.begun => return Err(self.wrong(self.what, "none")),
                None if self.depth > 0 => {
                    return Err(self.wrong("the end of the document", "the end of the file"));
                }
                None => break false,
            }
        };
        self.buffer = buffer;
        Ok(found)
    }

    /// Deals with an event; true at the end of a pair, none at the end of the file.
    fn event(&self, event: &Event<'_>, handler: &mut dyn Handler) -> Result<Option<bool>> {
        let text = |bytes: &[u8]| {
            std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| self.wrong("UTF-8 text", "other bytes"))
        };
        match event {
            Event::Start(element) => {
                handler.start(element).map_err(|(want, found)| self.wrong(&want, &found))?;
            }
            Event::Text(content) => handler.text(&text(content)?),
            Event::CData(content) => handler.text(&text(content)?),
            Event::GeneralRef(reference) => {
                handler.text(self.reference(reference)?.encode_utf8(&mut [0; 4]));
            }
            Event::DocType(content) if content.contains(&b'[') => {
                return Err(self.wrong(
                    "a document without definitions of its own",
                    "entities or elements in <!DOCTYPE>",
                ));
            }
            Event::End(element) => return Ok(Some(handler.end(element.name().local_name().as_ref()))),
            Event::Eof => return Ok(None),
            _ => {}
        }
        Ok(Some(false))
    }
}
