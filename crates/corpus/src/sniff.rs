//! What a file is, by its first bytes.

use crate::xml::open_text;
use dragoman_base::{Error, Result};
use std::io::Read;

/// How archives and documents of other programs begin.
const MAGIC: [&[u8]; 4] = [b"PK\x03\x04", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"%PDF-"];
/// How much of a file is looked at.
const HEAD: u64 = 1 << 16;

/// What is in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A document of this root element.
    Xml(String),
    /// A JSON object a line.
    Json,
    /// Lines that all have a tab.
    Tabs,
    /// Lines of text.
    Text,
    /// Neither text nor anything we know, such as an archive.
    Binary,
    /// Nothing.
    Empty,
}

impl Content {
    /// The name, for Python: `xml:tmx`, `json`, `tabs`, `text`, `binary`, `empty`.
    pub fn name(&self) -> String {
        match self {
            Self::Xml(root) => format!("xml:{root}"),
            Self::Json => "json".to_owned(),
            Self::Tabs => "tabs".to_owned(),
            Self::Text => "text".to_owned(),
            Self::Binary => "binary".to_owned(),
            Self::Empty => "empty".to_owned(),
        }
    }
}

/// Looks at the first bytes of a file, uncompressed by its name.
pub fn sniff(path: &str) -> Result<Content> {
    let mut head = Vec::new();
    let read = open_text(path)?.take(HEAD).read_to_end(&mut head);
    match read {
        Ok(_) => Ok(content(&head)),
        Err(_) if !head.is_empty() => Ok(content(&head)), // a damaged end is for the reader to name
        Err(source) => Err(Error::Io { path: path.to_owned(), source }),
    }
}

/// What the first bytes of a file are.
pub fn content(head: &[u8]) -> Content {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    if head.is_empty() {
        return Content::Empty;
    }
    // A few stray zeros are for cleaning to remove; UTF-16 without a mark has one in nearly every second byte.
    let zeros = memchr::memchr_iter(0, head).count();
    if MAGIC.iter().any(|magic| head.starts_with(magic)) || (zeros >= 16 && 10 * zeros > head.len()) {
        return Content::Binary;
    }
    let text = String::from_utf8_lossy(head);
    if let Some(root) = root(&text) {
        return Content::Xml(root);
    }
    // The last line may be cut, unless it is all there is.
    let mut lines: Vec<&str> = text.lines().collect();
    if lines.len() > 1 && !text.ends_with('\n') {
        lines.pop();
    }
    lines.retain(|line| !line.trim().is_empty());
    let object =
        |line: &&str| serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(line).is_ok();
    // A pretty-printed document is JSON, too, though not one that can be read line by line.
    let printed = matches!(text.trim_start().as_bytes(), [b'{' | b'[', rest @ ..]
        if matches!(rest.trim_ascii_start(), [b'"' | b'{', ..]) && text.contains("\":"));
    if lines.first().is_some_and(object) || printed {
        return Content::Json;
    }
    if !lines.is_empty() && lines.iter().all(|line| line.contains('\t')) {
        Content::Tabs
    } else {
        Content::Text
    }
}

/// The root element of an XML or SGML document; none for text, though it may begin with `<`.
fn root(text: &str) -> Option<String> {
    const KNOWN: [&str; 7] = ["tmx", "xliff", "srcset", "refset", "tstset", "html", "doc"];
    let mut rest = text.trim_start();
    let declared =
        rest.starts_with("<?xml") || rest.get(..9).is_some_and(|s| s.eq_ignore_ascii_case("<!doctype"));
    while rest.starts_with("<?") || rest.starts_with("<!") {
        let end = if rest.starts_with("<!--") { "-->" } else { ">" };
        let Some(at) = rest.find(end) else { break };
        rest = rest[at + end.len()..].trim_start();
    }
    let name: String = rest
        .strip_prefix('<')
        .unwrap_or_default()
        .chars()
        .take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '.'))
        .collect();
    let local = name.rsplit(':').next().unwrap_or_default().to_lowercase();
    (declared || KNOWN.contains(&local.as_str())).then_some(local)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_files_are() {
        let is = |bytes: &[u8]| content(bytes).name();
        assert_eq!(is(b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- a > b -->\n<tmx version='1.4'>"), "xml:tmx");
        assert_eq!(is(b"<xliff/>"), "xml:xliff");
        assert_eq!(is(b"<!DOCTYPE html><html>"), "xml:html");
        assert_eq!(is(b"<?xml version='1.0'?><a"), "xml:a");
        assert_eq!(is(b"<srcset setid='x' srclang='any'>"), "xml:srcset");
        assert_eq!(is(b"<b> is a tag\nand this is text\n"), "text");
        assert_eq!(is(b"{\"de\": \"x\"}\n{\"de\": \"y"), "json");
        assert_eq!(is(b"{\n \"de\": \"x\",\n"), "json");
        assert_eq!(is(b"[{\"de\": \"x\"}]"), "json");
        assert_eq!(is(b"{ in braces }\n"), "text");
        assert_eq!(is(b"[ Applause ]\n"), "text");
        assert_eq!(is(b"a\tb\n\nc\td\ne"), "tabs");
        assert_eq!(is(b"a\tb\nno tab\n"), "text");
        assert_eq!(is(b"a\0b"), "text");
        assert_eq!(is(&b"a\0".repeat(20)), "binary");
        assert_eq!(is(b"PK\x03\x04"), "binary");
        assert_eq!(is(b""), "empty");
        assert_eq!(is(b"\n"), "text");
        assert_eq!(is(b"caf\xe9\n"), "text");
    }
}
