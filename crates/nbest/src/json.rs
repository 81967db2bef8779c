//! A strict JSON reader for one line, without a tree: the caller walks.

use crate::{Fault, number};
use memchr::memchr2;

/// Arrays and objects inside each other that are read.
const DEEPEST: usize = 64;

/// A place in a line of JSON.
#[derive(Debug)]
pub struct Cursor<'l> {
    line: &'l str,
    at: usize,
}

impl<'l> Cursor<'l> {
    pub fn new(line: &'l str) -> Self {
        Self { line, at: 0 }
    }

    /// The next byte after white space, which is not consumed.
    pub fn peek(&mut self) -> Option<u8> {
        let bytes = self.line.as_bytes();
        while matches!(bytes.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    /// A fault here: the rest of the line is not `want`.
    pub fn fault(&self, want: impl Into<String>) -> Fault {
        match &self.line[self.at..] {
            "" => Fault::words(want, "the end of the line"),
            rest => Fault::new(want, rest),
        }
    }

    /// Takes `byte`, or says that `want` was expected.
    pub fn take(&mut self, byte: u8, want: &str) -> Result<(), Fault> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        Err(self.fault(want))
    }

    /// Within an object or array, after `count` members: whether another follows. Takes the comma or the `close`.
    pub fn more(&mut self, count: usize, close: u8) -> Result<bool, Fault> {
        match self.peek() {
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            Some(b',') if count > 0 => {
                self.at += 1;
                Ok(true)
            }
            _ if count == 0 => Ok(true),
            _ => Err(self.fault(format!("`,` or `{}`", close as char))),
        }
    }

    /// A member's name and the colon after it.
    pub fn key<'s>(&mut self, scratch: &'s mut String) -> Result<&'s str, Fault>
    where
        'l: 's,
    {
        let key = self.string("a name in double quotes", scratch)?;
        self.take(b':', "`:`")?;
        Ok(key)
    }

    /// A finite number.
    pub fn number(&mut self, want: &str) -> Result<f64, Fault> {
        self.peek();
        let rest = &self.line.as_bytes()[self.at..];
        match number::prefix(rest) {
            Some((value, length)) if number::is_json(&rest[..length]) => {
                self.at += length;
                Ok(value)
            }
            _ => Err(self.fault(want)),
        }
    }

    /// A non-negative integer.
    pub fn integer(&mut self, want: &str) -> Result<u64, Fault> {
        self.peek();
        let rest = &self.line[self.at..];
        let length =
            rest.bytes().take_while(|b| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')).count();
        let value = crate::order::as_number(&rest[..length]).ok_or_else(|| self.fault(want))?;
        self.at += length;
        Ok(value)
    }

    /// Any value, as it is written.
    pub fn value(&mut self, want: &str) -> Result<&'l str, Fault> {
        self.peek();
        let start = self.at;
        self.skip(want, 0)?;
        Ok(&self.line[start..self.at])
    }

    /// Goes past a value that stands inside `depth` others.
    fn skip(&mut self, want: &str, depth: usize) -> Result<(), Fault> {
        if depth > DEEPEST {
            return Err(self.fault(format!("at most {DEEPEST} arrays and objects inside each other")));
        }
        match self.peek() {
            Some(b'"') => self.string(want, &mut String::new()).map(|_| ()),
            Some(open @ (b'[' | b'{')) => {
                self.at += 1;
                let (close, mut count) = (if open == b'[' { b']' } else { b'}' }, 0);
                while self.more(count, close)? {
                    if open == b'{' {
                        self.key(&mut String::new())?;
                    }
                    self.skip(want, depth + 1)?;
                    count += 1;
                }
                Ok(())
            }
            Some(b't' | b'f' | b'n') => {
                let rest = &self.line[self.at..];
                let word = ["true", "false", "null"].into_iter().find(|word| rest.starts_with(word));
                self.at += word.ok_or_else(|| self.fault(want))?.len();
                Ok(())
            }
            _ => self.number(want).map(|_| ()),
        }
    }

    /// Checks that the line ends here.
    pub fn end(&mut self) -> Result<(), Fault> {
        if self.peek().is_none() { Ok(()) } else { Err(self.fault("the end of the line after `}`")) }
    }

    /// A string: a part of the line if it has no escapes, else decoded into `scratch`.
    pub fn string<'s>(&mut self, want: &str, scratch: &'s mut String) -> Result<&'s str, Fault>
    where
        'l: 's,
    {
        self.take(b'"', want)?;
        let start = self.at;
        if self.run()? == b'"' {
            return Ok(&self.line[start..self.at - 1]);
        }
        scratch.clear();
        scratch.push_str(&self.line[start..self.at - 1]);
        loop {
            scratch.push(self.escape()?);
            let from = self.at;
            let stop = self.run()?;
            scratch.push_str(&self.line[from..self.at - 1]);
            if stop == b'"' {
                return Ok(scratch);
            }
        }
    }

    /// Goes past the next `"` or `\` and returns it; control characters before it are a fault.
    fn run(&mut self) -> Result<u8, Fault> {
        let bytes = &self.line.as_bytes()[self.at..];
        let length = memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len());
        if let Some(control) = bytes[..length].iter().position(|&b| b < 0x20) {
            self.at += control;
            return Err(self.fault("control characters in a string as escapes"));
        }
        self.at += length;
        let Some(&stop) = bytes.get(length) else { return Err(self.fault("`\"` at the end of a string")) };
        self.at += 1;
        Ok(stop)
    }

    /// The character of the escape whose backslash has just been taken.
    fn escape(&mut self) -> Result<char, Fault> {
        let want = "an escape such as \\n or \\u00e9";
        let Some(&byte) = self.line.as_bytes().get(self.at) else { return Err(self.fault(want)) };
        let plain = match byte {
            b'"' | b'\\' | b'/' => byte as char,
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return Err(self.fault(want)),
        };
        self.at += 1;
        Ok(plain)
    }

    /// `u00e9`, or the surrogate pair `ud83d\ude00`.
    fn unicode(&mut self) -> Result<char, Fault> {
        let want = "four hexadecimal digits (two escapes for a surrogate pair)";
        let high = self.hex().ok_or_else(|| self.fault(want))?;
        let code = if (0xd800..0xdc00).contains(&high) {
            let low = if self.line.as_bytes().get(self.at) == Some(&b'\\') {
                self.at += 1;
                self.hex().filter(|low| (0xdc00..0xe000).contains(low))
            } else {
                None
            };
            0x10000 + ((high - 0xd800) << 10) + (low.ok_or_else(|| self.fault(want))? - 0xdc00)
        } else {
            high
        };
        char::from_u32(code).ok_or_else(|| self.fault(want))
    }

    /// The value of `uXXXX`, which is taken.
    fn hex(&mut self) -> Option<u32> {
        let digits = self.line.get(self.at..self.at + 5)?.strip_prefix('u')?;
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 5;
        u32::from_str_radix(digits, 16).ok()
    }
}

/// Appends `text` as a JSON string.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&text.as_bytes()[from..at]);
        from = at + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
    }
    out.extend_from_slice(&text.as_bytes()[from..]);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn string(line: &str) -> Result<String, String> {
        let mut scratch = String::new();
        let mut cursor = Cursor::new(line);
        let text = cursor.string("a string", &mut scratch).map(str::to_owned).map_err(|f| f.want)?;
        cursor.end().map(|()| text).map_err(|f| f.want)
    }

    #[test]
    fn escapes() {
        assert_eq!(string(r#""a\"\\\/\b\f\n\r\tz""#).unwrap(), "a\"\\/\u{8}\u{c}\n\r\tz");
        assert_eq!(string(r#""\u00e9\uD83D\ude00é""#).unwrap(), "é😀é");
        for bad in [
            r#""\ud83d""#,
            r#""\ud83dx""#,
            r#""\ud83d\u0041""#,
            r#""\ude00""#,
            r#""\u12""#,
            r#""\u+123""#,
            r#""\x""#,
            r#""\"#,
            r#""a"#,
            "\"\u{1}\"",
            "\"\\ué12\"",
        ] {
            assert!(string(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn values_are_kept_as_they_are_written() {
        let value = |line: &str| {
            let mut cursor = Cursor::new(line);
            let raw = cursor.value("a value").map_err(|f| f.want)?.to_owned();
            cursor.end().map(|()| raw).map_err(|f| f.want)
        };
        for good in ["1", "-0.50", "\"a\\\"b\"", "true", "null", "[]", "{}", "[1, [\"x\"], {\"k\": false}]"] {
            assert_eq!(value(&format!("  {good} ")).unwrap(), good);
        }
        for bad in ["", "tru", "[1", "[1,]", "{1:2}", "{\"k\"}", "1 2", "+1", "\"a", "[1]]"] {
            assert!(value(bad).is_err(), "{bad}");
        }
        assert!(value(&"[".repeat(100_000)).unwrap_err().contains("at most 64"));
    }

    proptest! {
        #[test]
        fn any_string_comes_back(text in "\\PC{0,8}|[\u{0}-\u{7f}]{0,8}") {
            let mut out = Vec::new();
            write_string(&text, &mut out);
            prop_assert_eq!(string(std::str::from_utf8(&out).unwrap()).unwrap(), text);
        }
    }
}
