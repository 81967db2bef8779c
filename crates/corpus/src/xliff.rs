//! Translation files (XLIFF 1.2 and 2.x), read as a stream. A pair is a `<trans-unit>` of 1.2, and a `<segment>` of 2.x.

use crate::language::Tag;
use crate::read::{Languages, Pair, Source, State};
use crate::xml::{Handler, Xml, attribute};
use dragoman_base::Result;
use quick_xml::events::BytesStart;

/// Elements inside text whose content is formatting code; `x`, `bx`, `ex`, `sc` and `ec` are empty.
const CODE: [&[u8]; 4] = [b"bpt", b"ept", b"ph", b"it"];
/// Elements whose text is no translation: suggestions, notes, the source cut in sentences once more.
const ASIDE: [&[u8]; 4] = [b"alt-trans", b"seg-source", b"note", b"matches"];

/// The pairs of an XLIFF file.
pub struct Xliff {
    xml: Xml,
    unit: Unit,
    units: usize,
}

struct Unit {
    asked: [Option<Tag>; 2],
    /// Which side of the pair `<source>` and `<target>` are; none if the languages are others.
    order: Option<[usize; 2]>,
    /// The languages of the file, or of the part of it that is being read.
    languages: [String; 2],
    sides: [Option<String>; 2],
    /// The element whose text is read: 0 for `<source>`, 1 for `<target>`.
    side: Option<usize>,
    /// Depth in elements whose content is not text, and in elements that are put aside.
    code: usize,
    aside: usize,
    found: Languages,
}

impl Unit {
    fn new(asked: [Option<Tag>; 2]) -> Self {
        let languages = [String::new(), String::new()];
        let (order, sides, found) = (Some([0, 1]), [None, None], Languages::default());
        Self { asked, order, languages, sides, side: None, code: 0, aside: 0, found }
    }

    /// Takes the languages that an element declares, and decides which side is which.
    fn declare(&mut self, element: &BytesStart<'_>) -> std::result::Result<(), (String, String)> {
        let names: [[&[u8]; 2]; 2] = [[b"source-language", b"srcLang"], [b"target-language", b"trgLang"]];
        for (language, names) in self.languages.iter_mut().zip(names) {
            if let Some(found) = attribute(element, &names)? {
                *language = found;
            }
        }
        if self.found.source.is_empty() {
            self.found.source.clone_from(&self.languages[0]);
        }
        let [source, target] = [0, 1].map(|side| Tag::parse(&self.languages[side]));
        // A file that does not name its target language is taken for the one that was asked for.
        let fits = |asked: &Option<Tag>, found: &Tag| {
            found.language.is_empty() || asked.as_ref().is_none_or(|asked| asked.fit(found) > 0)
        };
        self.order = if fits(&self.asked[0], &source) && fits(&self.asked[1], &target) {
            Some([0, 1])
        } else if fits(&self.asked[0], &target) && fits(&self.asked[1], &source) {
            Some([1, 0])
        } else {
            None
        };
        Ok(())
    }
}

impl Handler for Unit {
    fn start(&mut self, element: &BytesStart<'_>) -> std::result::Result<(), (String, String)> {
        match element.name().local_name().as_ref() {
            b"xliff" | b"file" => self.declare(element)?,
            b"trans-unit" | b"segment" => {
                (self.sides, self.side, self.code, self.aside) = ([None, None], None, 0, 0);
            }
            name if ASIDE.contains(&name) => self.aside += 1,
            b"source" if self.aside == 0 => self.side = Some(0),
            b"target" if self.aside == 0 => self.side = Some(1),
            b"cp" if self.side.is_some() => {
                let number =
                    attribute(element, &[b"hex"])?.and_then(|hex| u32::from_str_radix(&hex, 16).ok());
                if let Some(c) = number.and_then(char::from_u32) {
                    self.text(c.encode_utf8(&mut [0; 4]));
                }
            }
            name if self.side.is_some() && CODE.contains(&name) => self.code += 1,
            _ => {}
        }
        if let Some(side) = self.side.filter(|&side| self.sides[side].is_none()) {
            self.sides[side] = Some(String::new());
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if self.code > 0 || self.aside > 0 {
            return;
        }
        if let Some(side) = self.side.and_then(|side| self.sides[side].as_mut()) {
            side.push_str(text);
        }
    }

    fn end(&mut self, name: &[u8]) -> bool {
        match name {
            b"trans-unit" | b"segment" => {
                for side in [0, 1] {
                    if self.sides[side].is_some() {
                        self.found.add(&self.languages[side]);
                    }
                }
                return true;
            }
            b"source" | b"target" if self.aside == 0 => self.side = None,
            _ if ASIDE.contains(&name) => self.aside = self.aside.saturating_sub(1),
            _ if self.side.is_some() && CODE.contains(&name) => self.code = self.code.saturating_sub(1),
            _ => {}
        }
        false
    }
}

impl Xliff {
    /// Opens a file for two languages, in either direction.
    pub fn open(path: &str, source: &str, target: &str) -> Result<Self> {
        let unit = Unit::new([Some(Tag::parse(source)), Some(Tag::parse(target))]);
        Ok(Self { xml: Xml::open(path, "an XLIFF document")?, unit, units: 0 })
    }
}

impl Source for Xliff {
    fn next(&mut self, pair: &mut Pair) -> Result<bool> {
        if !self.xml.next(&mut self.unit)? {
            return Ok(false);
        }
        self.units += 1;
        pair.at = self.units;
        let mut sides = self.unit.sides.each_mut().map(Option::take);
        let good = self.unit.order.is_some() && sides.iter().all(Option::is_some);
        pair.state = if good { State::Good } else { State::Missing };
        let [source, target] = self.unit.order.unwrap_or([0, 1]);
        pair.source = sides[source].take().unwrap_or_default();
        pair.target = sides[target].take().unwrap_or_default();
        Ok(true)
    }
}

/// The languages of a file: how many texts each has, and the source of its first part.
pub fn languages(path: &str) -> Result<Languages> {
    let (mut xml, mut unit) = (Xml::open(path, "an XLIFF document")?, Unit::new([None, None]));
    while xml.next(&mut unit)? {}
    Ok(unit.found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(dir: &tempfile::TempDir, text: &[u8]) -> String {
        let path = dir.path().join("a.xlf");
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn read(text: &[u8], languages: [&str; 2]) -> Vec<(String, String, State)> {
        let dir = tempfile::tempdir().unwrap();
        let mut xliff = Xliff::open(&write(&dir, text), languages[0], languages[1]).unwrap();
        let (mut pairs, mut pair) = (Vec::new(), Pair::default());
        while xliff.next(&mut pair).unwrap() {
            pairs.push((pair.source.clone(), pair.target.clone(), pair.state));
        }
        pairs
    }

    const OLD: &str = "<?xml version='1.0'?>\n<xliff version='1.2' xmlns='urn:oasis:names:tc:xliff:document:1.2'>\n\
        <file source-language='sn-ZW' target-language='en-US' datatype='x' original='a'><body><group>\n\
        <trans-unit id='1'><source>Imba <bpt id='1'>&lt;b></bpt><g id='2'>huru</g><x id='3'/> &amp; x</source>\n\
        <seg-source><mrk mtype='seg'>Imba</mrk></seg-source><target state='final'>The <mrk mtype='seg'>house</mrk></target>\n\
        <note>n</note><alt-trans><source>o</source><target>other</target></alt-trans></trans-unit>\n\
        <trans-unit id='2'><source>Rega</source></trans-unit></group></body></file></xliff>";
    const NEW: &str = "<xliff xmlns='urn:oasis:names:tc:xliff:document:2.0' version='2.0' srcLang='de' trgLang='en'>\n\
        <file id='f'><unit id='1'><notes><note>n</note></notes><originalData><data id='d'>{b}</data></originalData>\n\
        <segment><source>Ein <pc id='1'>Haus</pc><ph id='2' dataRef='d'/></source><target>A<cp hex='0021'/></target></segment>\n\
        <ignorable><source> </source></ignorable><segment state='initial'><source>Zwei</source><target/></segment></unit></file></xliff>";

    #[test]
    fn both_versions() {
        let pairs = read(OLD.as_bytes(), ["sna", "en"]);
        assert_eq!(pairs[0], ("Imba huru & x".to_owned(), "The house".to_owned(), State::Good));
        assert_eq!((pairs.len(), pairs[1].2), (2, State::Missing));
        let pairs = read(NEW.as_bytes(), ["de", "en"]);
        assert_eq!(pairs[0], ("Ein Haus".to_owned(), "A!".to_owned(), State::Good));
        assert_eq!(
            pairs[1],
            ("Zwei".to_owned(), String::new(), State::Good),
            "an empty side is dropped later"
        );
        assert_eq!(pairs.len(), 2);
    }

    #[test]
    fn the_other_direction_and_other_languages() {
        let pairs = read(OLD.as_bytes(), ["en", "sn"]);
        assert_eq!((pairs[0].0.as_str(), pairs[0].1.as_str()), ("The house", "Imba huru & x"));
        assert!(read(OLD.as_bytes(), ["en", "fr"]).iter().all(|pair| pair.2 == State::Missing));
    }

    #[test]
    fn languages_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let found = languages(&write(&dir, OLD.as_bytes())).unwrap();
        assert_eq!(found.source, "sn-ZW");
        assert_eq!(found.counts, [("sn-ZW".to_owned(), 2), ("en-US".to_owned(), 1)]);
    }

    #[test]
    fn utf_16_with_a_byte_order_mark() {
        for (mark, bytes) in
            [([0xff, 0xfe], u16::to_le_bytes as fn(u16) -> [u8; 2]), ([0xfe, 0xff], u16::to_be_bytes)]
        {
            let text = NEW.replace("Ein", &"😀ü".repeat(20_001));
            let mut whole = mark.to_vec();
            whole.extend(text.encode_utf16().flat_map(bytes));
            let pairs = read(&whole, ["de", "en"]);
            assert_eq!(pairs[0].0, format!("{} Haus", "😀ü".repeat(20_001)));
        }
    }
}
