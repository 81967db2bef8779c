//! Demands inside a line, in Moses' inline markup: given translations, walls and zones.
//!
//! `das <n translation="small house||cottage" prob="0.8||0.2">kleine haus</n>`, `ja <wall/> nein`, `<zone>a b</zone>`.
//! Plain input does not come here, so that `<` in a text is just text.

use crate::sentence::{Forced, Input};
use dragoman_base::error::quote;
use dragoman_base::{Error, Result, words};

/// A line without its tags, and what they demand. Places are bytes of the text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Marked {
    /// The text.
    pub text: String,
    /// Translations of spans: from, up to, text, log probability.
    pub given: Vec<(usize, usize, String, f32)>,
    /// Walls.
    pub walls: Vec<usize>,
    /// Zones: from, up to.
    pub zones: Vec<(usize, usize)>,
}

/// Where an open element began, and what it gives.
struct Open {
    name: String,
    from: usize,
    given: Vec<(String, f32)>,
}

fn fail<T>(want: &str, found: &str) -> Result<T> {
    Err(Error::Invalid(format!("markup: expected {want}, found {}", quote(found))))
}

/// Reads a line of words with markup; a tag ends a word.
pub fn parse(line: &str) -> Result<Input> {
    let Marked { text, given, walls, zones } = read(line, false)?;
    let word = |at: usize| words(&text[..at]).count();
    let forced = given.into_iter().map(|(from, to, target, log)| Forced {
        from: word(from),
        to: word(to),
        target: words(&target).map(str::to_owned).collect(),
        log,
        exclusive: true,
        term: false,
    });
    Ok(Input {
        words: words(&text).map(str::to_owned).collect(),
        forced: forced.collect(),
        walls: walls.into_iter().map(word).collect(),
        zones: zones.into_iter().map(|(from, to)| (word(from), word(to))).collect(),
    })
}

/// Reads a line with markup. In `plain` text tags take no room, and `&lt; &gt; &quot; &apos; &amp;` are characters, as
/// in XML; else there is a space for each tag, and nothing is escaped.
pub fn read(line: &str, plain: bool) -> Result<Marked> {
    let mut made = Marked::default();
    let mut open: Vec<Open> = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find('<') {
        made.push(&rest[..at], plain);
        let tag = &rest[at + 1..];
        let Some(end) = tag_end(tag) else { return fail("`>` at the end of a tag", &rest[at..]) };
        element(&mut made, &mut open, &tag[..end], plain)?;
        rest = &tag[end + 1..];
        if !plain {
            made.text.push(' ');
        }
    }
    made.push(rest, plain);
    match open.last() {
        Some(left) => fail(&format!("</{}>", left.name), "the end of the line"),
        None => Ok(made),
    }
}

impl Marked {
    fn push(&mut self, text: &str, plain: bool) {
        self.text.push_str(&unescaped(text, plain));
    }
}

/// Text with characters for XML's five names of them.
fn unescaped(text: &str, plain: bool) -> String {
    if !plain || !text.contains('&') {
        return text.to_owned();
    }
    // `&amp;` last: `&amp;lt;` is `&lt;`.
    let names = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    names.iter().fold(text.to_owned(), |text, (name, character)| text.replace(name, character))
}

/// Where a tag ends: at the first `>` that does not stand in quotes.
fn tag_end(tag: &str) -> Option<usize> {
    let mut quoted = false;
    tag.char_indices().find_map(|(at, c)| {
        quoted ^= c == '"';
        (c == '>' && !quoted).then_some(at)
    })
}

fn element(made: &mut Marked, open: &mut Vec<Open>, tag: &str, plain: bool) -> Result<()> {
    let here = made.text.len();
    if let Some(name) = tag.strip_prefix('/') {
        let name = name.trim();
        return match open.pop() {
            Some(last) if last.name == name => close(made, last),
            Some(last) => fail(&format!("</{}>", last.name), &format!("</{name}>")),
            None => fail("an opening tag", &format!("</{name}>")),
        };
    }
    let (body, alone) = tag.strip_suffix('/').map_or((tag, false), |body| (body, true));
    let (name, attributes) = body.trim().split_once(char::is_whitespace).unwrap_or((body.trim(), ""));
    if name.is_empty() {
        return fail("the name of a tag", tag);
    }
    if name == "wall" {
        if !alone {
            return fail("<wall/>", tag);
        }
        made.walls.push(here);
        return Ok(());
    }
    if alone {
        return fail(&format!("<{name}> with words in it"), &format!("<{tag}>"));
    }
    open.push(Open { name: name.to_owned(), from: here, given: translations(attributes, plain)? });
    Ok(())
}

fn close(made: &mut Marked, last: Open) -> Result<()> {
    let (from, to) = (last.from, made.text.len());
    if words(&made.text[from..]).next().is_none() {
        return fail(&format!("words in <{}>", last.name), "none");
    }
    if last.name == "zone" {
        made.zones.push((from, to));
    }
    made.given.extend(last.given.into_iter().map(|(target, log)| (from, to, target, log)));
    Ok(())
}

/// The translations that attributes give, with their log probabilities.
fn translations(attributes: &str, plain: bool) -> Result<Vec<(String, f32)>> {
    let (mut texts, mut logs) = (Vec::new(), Vec::new());
    let mut rest = attributes.trim();
    while !rest.is_empty() {
        let Some((key, value)) = rest.split_once("=\"") else { return fail("name=\"value\"", rest) };
        let Some((value, after)) = value.split_once('"') else { return fail("a closing quote", rest) };
        match key.trim() {
            "translation" | "english" => {
                texts = value.split("||").map(|text| unescaped(text, plain)).collect();
            }
            "prob" => logs = value.split("||").map(logarithm).collect::<Result<_>>()?,
            _ => {}
        }
        rest = after.trim_start();
    }
    if !logs.is_empty() && logs.len() != texts.len() {
        return fail(&format!("{} probabilities", texts.len()), &logs.len().to_string());
    }
    logs.resize(texts.len(), 0.0);
    Ok(texts.into_iter().zip(logs).collect())
}

fn logarithm(text: &str) -> Result<f32> {
    match text.trim().parse::<f32>() {
        Ok(probability) if probability > 0.0 && probability <= 1.0 => Ok(probability.ln()),
        _ => fail("a probability above 0 and up to 1", text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_become_demands() {
        let line = r#"das <n translation="small house||cottage" prob="0.5||1">kleine haus</n> <wall/> <zone>a <x translation="">b</x></zone>"#;
        let input = parse(line).unwrap();
        assert_eq!(input.words, ["das", "kleine", "haus", "a", "b"]);
        assert_eq!((input.walls, input.zones), (vec![3], vec![(3, 5)]));
        assert!(input.forced.iter().all(|f| f.exclusive && !f.term));
        let seen: Vec<_> = input.forced.iter().map(|f| (f.from, f.to, f.target.join(" "), f.log)).collect();
        let want = [(1, 3, "small house", 0.5f32.ln()), (1, 3, "cottage", 0.0), (4, 5, "", 0.0)];
        assert_eq!(seen, want.map(|(a, b, text, log)| (a, b, text.to_owned(), log)));
    }

    #[test]
    fn plain_text_keeps_its_places_and_has_its_characters() {
        let line = r#"A<wall/>b <n translation="&lt;x&gt; &amp;lt; é||&quot;">é &lt; &amp;lt;</n>. <zone>AT&T;</zone>"#;
        let made = read(line, true).unwrap();
        assert_eq!(made.text, "Ab é < &lt;. AT&T;");
        assert_eq!((made.walls, made.zones), (vec![1], vec![(14, 19)]));
        let given = [(3, 12, "<x> &lt; é".to_owned(), 0.0), (3, 12, "\"".to_owned(), 0.0)];
        assert_eq!(made.given, given);
    }

    #[test]
    fn broken_markup_is_named() {
        for (line, word) in [
            ("a <n translation=\"x\">b", "</n>"),
            ("a </n>", "opening"),
            ("a <zone>b</n>", "</zone>"),
            ("a < b", "`>`"),
            ("<n translation=\"x||y\" prob=\"1\">b</n>", "2 probabilities"),
            ("<n prob=\"2\" translation=\"x\">b</n>", "probability"),
            ("<zone></zone>", "words"),
            ("<wall>", "<wall/>"),
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(word), "{line}: {error}");
            assert_eq!(read(line, true).unwrap_err().to_string(), error);
        }
    }
}
