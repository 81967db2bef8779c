//! Translation memories (TMX 1.x), read as a stream.

use crate::language::Tag;
use crate::read::{Languages, Pair, Source, State};
use crate::xml::{Handler, Xml, attribute};
use dragoman_base::Result;
use quick_xml::events::BytesStart;

/// The pairs of two languages in a TMX file.
pub struct Tmx {
    xml: Xml,
    unit: Unit,
    units: usize,
}

/// Elements inside segments whose content is formatting code of some program, not text.
const CODE: [&[u8]; 5] = [b"bpt", b"ept", b"ph", b"it", b"ut"];

/// What is known of the unit that is being read.
struct Unit {
    languages: [Tag; 2],
    /// The text of both sides, and how well its language fits.
    sides: [Option<(String, usize)>; 2],
    /// The side that the variant is for, and how well it fits.
    side: Option<(usize, usize)>,
    inside: bool,
    /// Depth in elements whose content is not text.
    code: usize,
}

impl Unit {
    fn new(languages: [Tag; 2]) -> Self {
        Self { languages, sides: [None, None], side: None, inside: false, code: 0 }
    }

    /// The side that a variant is for. If it fits both, the better, else the first.
    fn side(&self, language: &str) -> Option<(usize, usize)> {
        let found = Tag::parse(language);
        let [first, second] = [0, 1].map(|side| self.languages[side].fit(&found));
        let best = if second > first { (1, second) } else { (0, first) };
        (best.1 > 0).then_some(best)
    }
}

fn language_of(element: &BytesStart<'_>) -> std::result::Result<String, (String, String)> {
    attribute(element, &[b"xml:lang", b"lang"])?
        .ok_or_else(|| ("the attribute xml:lang".to_owned(), "<tuv> without it".to_owned()))
}

impl Handler for Unit {
    fn start(&mut self, element: &BytesStart<'_>) -> std::result::Result<(), (String, String)> {
        match element.name().local_name().as_ref() {
            b"tu" => {
                (self.sides, self.side) = ([None, None], None);
                (self.inside, self.code) = (false, 0);
            }
            b"tuv" => self.side = self.side(&language_of(element)?),
            b"seg" => {
                self.inside = true;
                // Of the variants of a language that fit equally well, the first counts.
                self.side =
                    self.side.filter(|&(side, fit)| self.sides[side].as_ref().is_none_or(|old| old.1 < fit));
                if let Some((side, fit)) = self.side {
                    self.sides[side] = Some((String::new(), fit));
                }
            }
            name if self.inside && CODE.contains(&name) => self.code += 1,
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if !self.inside || self.code > 0 {
            return;
        }
        if let Some((side, _)) = self.side.and_then(|(side, _)| self.sides[side].as_mut()) {
            side.push_str(text);
        }
    }

    fn end(&mut self, name: &[u8]) -> bool {
        match name {
            b"tu" => return true,
            b"seg" => self.inside = false,
            _ if self.inside && CODE.contains(&name) => self.code = self.code.saturating_sub(1),
            _ => {}
        }
        false
    }
}

impl Tmx {
    /// Opens a file for two languages.
    pub fn open(path: &str, source: &str, target: &str) -> Result<Self> {
        let unit = Unit::new([Tag::parse(source), Tag::parse(target)]);
        Ok(Self { xml: Xml::open(path, "a TMX document")?, unit, units: 0 })
    }
}

impl Source for Tmx {
    fn next(&mut self, pair: &mut Pair) -> Result<bool> {
        if !self.xml.next(&mut self.unit)? {
            return Ok(false);
        }
        self.units += 1;
        pair.at = self.units;
        let [source, target] = self.unit.sides.each_mut().map(|side| side.take().map(|(text, _)| text));
        pair.state = if source.is_some() && target.is_some() { State::Good } else { State::Missing };
        pair.source = source.unwrap_or_default();
        pair.target = target.unwrap_or_default();
        Ok(true)
    }
}

/// Counts the languages of a memory.
#[derive(Default)]
struct Survey {
    found: Languages,
}

impl Handler for Survey {
    fn start(&mut self, element: &BytesStart<'_>) -> std::result::Result<(), (String, String)> {
        match element.name().local_name().as_ref() {
            b"header" => self.found.source = attribute(element, &[b"srclang"])?.unwrap_or_default(),
            b"tuv" => self.found.add(&language_of(element)?),
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, _: &str) {}

    fn end(&mut self, _: &[u8]) -> bool {
        false
    }
}

/// The languages of a memory: how many variants each has, and the one that the header calls the source.
pub fn languages(path: &str) -> Result<Languages> {
    let mut survey = Survey::default();
    while Xml::open(path, "a TMX document")?.next(&mut survey)? {}
    Ok(survey.found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Pair>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tmx");
        std::fs::write(&path, text).unwrap();
        let mut tmx = Tmx::open(path.to_str().unwrap(), "de", "EN")?;
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
