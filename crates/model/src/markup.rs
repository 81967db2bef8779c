//! Demands inside a line, in Moses' inline markup: given translations, walls and zones.
//!
//! `das <n translation="small house||cottage" prob="0.8||0.2">kleine haus</n>`, `ja <wall/> nein`, `<zone>a b</zone>`.
//! Plain input does not come here, so that `<` in a text is just text.

use crate::sentence::{Forced, Input};
use dragoman_base::error::quote;
use dragoman_base::{Error, Result};

/// Where an open element began, and what it gives.
struct Open {
    name: String,
    from: usize,
    given: Vec<(Vec<String>, f32)>,
}

fn fail<T>(want: &str, found: &str) -> Result<T> {
    Err(Error::Invalid(format!("markup: expected {want}, found {}", quote(found))))
}

/// Reads a line with markup.
pub fn parse(line: &str) -> Result<Input> {
    let mut input = Input { exclusive: true, ..Input::default() };
    let mut open: Vec<Open> = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find('<') {
        push_words(&mut input, &rest[..at]);
        let tag = &rest[at + 1..];
        let Some(end) = tag_end(tag) else { return fail("`>` at the end of a tag", &rest[at..]) };
        element(&mut input, &mut open, &tag[..end])?;
        rest = &tag[end + 1..];
    }
    push_words(&mut input, rest);
    match open.last() {
        Some(left) => fail(&format!("</{}>", left.name), "the end of the line"),
        None => Ok(input),
    }
}

fn push_words(input: &mut Input, text: &str) {
    input.words.extend(dragoman_base::words(text).map(str::to_owned));
}

/// Where a tag ends: at the first `>` that does not stand in quotes.
fn tag_end(tag: &str) -> Option<usize> {
    let mut quoted = false;
    tag.char_indices().find_map(|(at, c)| {
        quoted ^= c == '"';
        (c == '>' && !quoted).then_some(at)
    })
}

fn element(input: &mut Input, open: &mut Vec<Open>, tag: &str) -> Result<()> {
    let here = input.words.len();
    if let Some(name) = tag.strip_prefix('/') {
        let name = name.trim();
        return match open.pop() {
            Some(last) if last.name == name => close(input, last),
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
        input.walls.push(here);
        return Ok(());
    }
    if alone {
        return fail(&format!("<{name}> with words in it"), &format!("<{tag}>"));
    }
    open.push(Open { name: name.to_owned(), from: here, given: translations(attributes)? });
    Ok(())
}

fn close(input: &mut Input, last: Open) -> Result<()> {
    let (from, to) = (last.from, input.words.len());
    if from == to {
        return fail(&format!("words in <{}>", last.name), "none");
    }
    if last.name == "zone" {
        input.zones.push((from, to));
    }
    let given = last.given.into_iter().map(|(target, log)| Forced { from, to, target, log });
    input.forced.extend(given);
    Ok(())
}

/// The translations that attributes give, with their log probabilities.
fn translations(attributes: &str) -> Result<Vec<(Vec<String>, f32)>> {
    let (mut texts, mut logs) = (Vec::new(), Vec::new());
    let mut rest = attributes.trim();
    while !rest.is_empty() {
        let Some((key, value)) = rest.split_once("=\"") else { return fail("name=\"value\"", rest) };
        let Some((value, after)) = value.split_once('"') else { return fail("a closing quote", rest) };
        match key.trim() {
            "translation" | "english" => {
                let words = |text: &str| dragoman_base::words(text).map(str::to_owned).collect::<Vec<_>>();
                texts = value.split("||").map(words).collect();
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
        assert_eq!((input.walls, input.zones, input.exclusive), (vec![3], vec![(3, 5)], true));
        let seen: Vec<_> = input.forced.iter().map(|f| (f.from, f.to, f.target.join(" "), f.log)).collect();
        let want = [(1, 3, "small house", 0.5f32.ln()), (1, 3, "cottage", 0.0), (4, 5, "", 0.0)];
        assert_eq!(seen, want.map(|(a, b, text, log)| (a, b, text.to_owned(), log)));
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
        }
    }
}
