//! Translation memories (TMX 1.x), read as a stream. Documents that define entities are refused: an entity that
//! expands to entities could fill any memory.

use crate::read::{Pair, Source, State};
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

/// The pairs of two languages in a TMX file.
pub struct Tmx {
    path: String,
    reader: Reader<Counting>,
    buffer: Vec<u8>,
    languages: [String; 2],
    units: usize,
    /// Elements that are open, and whether there was one at all.
    depth: usize,
    begun: bool,
}

/// Elements inside segments whose content is formatting code of some program, not text.
const CODE: [&[u8]; 5] = [b"bpt", b"ept", b"ph", b"it", b"ut"];

/// What is known of the unit that is being read.
#[derive(Default)]
struct Unit {
    sides: [Option<String>; 2],
    /// The side that the variant is for.
    side: Option<usize>,
    inside: bool,
    /// Depth in elements whose content is not text.
    code: usize,
}

impl Tmx {
    /// Opens a file for two languages.
    pub fn open(path: &str, source: String, target: String) -> Result<Self> {
        let inner = BufReader::with_capacity(1 << 18, open(path)?);
        let reader = Reader::from_reader(Counting { inner, lines: 0 });
        Ok(Self {
            path: path.to_owned(),
            reader,
            buffer: Vec::new(),
            languages: [source, target],
            units: 0,
            depth: 0,
            begun: false,
        })
    }

    fn wrong(&self, want: &str, found: &str) -> Error {
        let line = self.reader.get_ref().lines + 1;
        Error::Format { path: self.path.clone(), line, want: want.to_owned(), found: found.to_owned() }
    }

    /// The side that an element `<tuv>` is for, by its language.
    fn side(&self, element: &BytesStart<'_>) -> Result<Option<usize>> {
        let mut language = None;
        for attribute in element.attributes() {
            let attribute = attribute.map_err(|e| self.wrong("attributes name=\"value\"", &e.to_string()))?;
            if matches!(attribute.key.as_ref(), b"xml:lang" | b"lang") {
                language = Some(String::from_utf8_lossy(&attribute.value).to_lowercase());
            }
        }
        let found = language.ok_or_else(|| self.wrong("the attribute xml:lang", "<tuv> without it"))?;
        let matches = |want: &String| {
            let rest = found.strip_prefix(&want.to_lowercase());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
        };
        Ok(self.languages.iter().position(matches))
    }

    fn start(&self, element: &BytesStart<'_>, unit: &mut Unit) -> Result<()> {
        match element.name().as_ref() {
            b"tu" => *unit = Unit::default(),
            b"tuv" => unit.side = self.side(element)?,
            b"seg" => {
                unit.inside = true;
                // The first variant of a language counts.
                unit.side = unit.side.filter(|&side| unit.sides[side].is_none());
                if let Some(side) = unit.side {
                    unit.sides[side] = Some(String::new());
                }
            }
            name if unit.inside && CODE.contains(&name) => unit.code += 1,
            _ => {}
        }
        Ok(())
    }

    fn reference(&self, reference: &BytesRef<'_>, unit: &mut Unit) -> Result<()> {
        let name = reference.decode().map_err(|_| self.wrong("UTF-8 text", "other bytes"))?;
        let number = reference.resolve_char_ref();
        let wrong =
            || self.wrong("characters or the entities lt, gt, amp, apos, quot", &format!("`&{name};`"));
        let c = match (number, name.as_ref()) {
            (Ok(Some(c)), _) => c,
            (Err(_), _) => return Err(wrong()),
            (_, "lt") => '<',
            (_, "gt") => '>',
            (_, "amp") => '&',
            (_, "apos") => '\'',
            (_, "quot") => '"',
            _ => return Err(wrong()),
        };
        unit.add(c.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    /// Deals with an event; true at the end of a unit, none at the end of the file.
    fn event(&self, event: &Event<'_>, unit: &mut Unit) -> Result<Option<bool>> {
        let text = |bytes: &[u8]| {
            std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| self.wrong("UTF-8 text", "other bytes"))
        };
        match event {
            Event::Start(element) => self.start(element, unit)?,
            Event::Text(content) => unit.add(&text(content)?),
            Event::CData(content) => unit.add(&text(content)?),
            Event::GeneralRef(reference) => self.reference(reference, unit)?,
            Event::DocType(content) if content.contains(&b'[') => {
                return Err(self.wrong(
                    "a document without definitions of its own",
                    "entities or elements in <!DOCTYPE>",
                ));
            }
            Event::End(element) => match element.name().as_ref() {
                b"tu" => return Ok(Some(true)),
                b"seg" => unit.inside = false,
                name if unit.inside && CODE.contains(&name) => unit.code = unit.code.saturating_sub(1),
                _ => {}
            },
            Event::Eof => return Ok(None),
            _ => {}
        }
        Ok(Some(false))
    }
}

impl Unit {
    fn add(&mut self, text: &str) {
        if !self.inside || self.code > 0 {
            return;
        }
        if let Some(side) = self.side.and_then(|side| self.sides[side].as_mut()) {
            side.push_str(text);
        }
    }
}

impl Source for Tmx {
    fn next(&mut self, pair: &mut Pair) -> Result<bool> {
        let (mut unit, mut buffer) = (Unit::default(), std::mem::take(&mut self.buffer));
        loop {
            buffer.clear();
            let event = self.reader.read_event_into(&mut buffer);
            let event = event.map_err(|e| self.wrong("well-formed XML", &e.to_string()))?;
            match event {
                Event::Start(_) => (self.begun, self.depth) = (true, self.depth + 1),
                Event::End(_) => self.depth -= 1, // the reader checks that ends match
                _ => {}
            }
            match self.event(&event, &mut unit)? {
                Some(true) => break,
                Some(false) => {}
                None if !self.begun => return Err(self.wrong("a TMX document", "none")),
                None if self.depth > 0 => {
                    return Err(self.wrong("the end of the document", "the end of the file"));
                }
                None => return Ok(false),
            }
        }
        self.buffer = buffer;
        self.units += 1;
        pair.at = self.units;
        let [source, target] = unit.sides;
        pair.state = if source.is_some() && target.is_some() { State::Good } else { State::Missing };
        pair.source = source.unwrap_or_default();
        pair.target = target.unwrap_or_default();
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Pair>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tmx");
        std::fs::write(&path, text).unwrap();
        let mut tmx = Tmx::open(path.to_str().unwrap(), "de".to_owned(), "EN".to_owned())?;
        let (mut pairs, mut pair) = (Vec::new(), Pair::default());
        while tmx.next(&mut pair)? {
            pairs.push(pair.clone());
        }
        Ok(pairs)
    }

    const HEAD: &str =
        "<?xml version=\"1.0\"?>\n<!DOCTYPE tmx SYSTEM \"tmx14.dtd\">\n<tmx version=\"1.4\"><body>\n";

    #[test]
    fn units_languages_and_code() {
        let text = format!(
            "{HEAD}<tu><note>x</note><tuv xml:lang='de-AT'><seg>Ein <bpt i='1'>{{\\b <sub>c</sub></bpt><hi>Haus</hi> &amp; H&#xf6;f&#10;e</seg></tuv>\n\
             <tuv xml:lang='den'><seg>no</seg></tuv><tuv lang='en_GB'><seg>A <![CDATA[<house>]]></seg></tuv>\n\
             <tuv xml:lang='en'><seg>second</seg></tuv></tu>\n<tu><tuv xml:lang='de'><seg>nur</seg></tuv></tu></body></tmx>"
        );
        let pairs = read(&text).unwrap();
        assert_eq!((pairs[0].source.as_str(), pairs[0].target.as_str()), ("Ein Haus & Höf\ne", "A <house>"));
        assert_eq!(
            (pairs.len(), pairs[0].state, pairs[1].state, pairs[1].at),
            (2, State::Good, State::Missing, 2)
        );
    }

    #[test]
    fn says_where_a_document_is_wrong() {
        for (text, message) in [
            (
                "<!DOCTYPE t [<!ENTITY a \"b\">]><t/>",
                "a.tmx:1: expected a document without definitions of its own",
            ),
            ("<t>\n<tu><tuv xml:lang='de'><seg>&lol;</seg>", "a.tmx:2: expected characters or the entities"),
            ("<t>\n<tu><tuv><seg>x</seg>", "a.tmx:2: expected the attribute xml:lang"),
            ("<t>\n\n<tu></t>", "a.tmx:3: expected well-formed XML"),
            ("", "a.tmx:1: expected a TMX document, found none"),
            ("ein Haus\n", "a.tmx:2: expected a TMX document, found none"),
            ("<t>\n<tu></tu>\n", "a.tmx:3: expected the end of the document, found the end of the file"),
        ] {
            let found = read(text).unwrap_err().to_string();
            assert!(found.contains(message), "{found}");
        }
    }
}
