//! What a word is, for corpus, alignment, rules, language models and decoder alike: what is between spaces. Tabs and all
//! other ASCII control characters count as spaces.
//!
//! Unicode's other spaces, such as U+00A0, are parts of words here, as they are for Moses, `fast_align` and KenLM; metrics
//! cut there, as sacreBLEU does. `corpus::normalise` leaves none, nor control characters, so that both see the same words
//! in text that was cleaned.

fn separates(byte: u8) -> bool {
    byte <= b' ' || byte == 0x7f
}

/// The words of a line, in order.
pub fn words(line: &str) -> impl Iterator<Item = &str> {
    let bytes = line.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() && separates(bytes[at]) {
            at += 1;
        }
        let from = at;
        while at < bytes.len() && !separates(bytes[at]) {
            at += 1;
        }
        // Separators are single ASCII bytes, so that both ends are between characters.
        line.get(from..at).filter(|word| !word.is_empty())
    })
}

/// How many control characters a line has, tab and carriage return aside.
pub fn controls(line: &str) -> u64 {
    line.bytes().filter(|&b| (b < b' ' && b != b'\t' && b != b'\r') || b == 0x7f).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_and_control_characters_separate() {
        let line = " a\tb\u{1}c é\u{a0}d \u{7f}\r";
        assert_eq!(words(line).collect::<Vec<_>>(), ["a", "b", "c", "é\u{a0}d"]);
        assert_eq!(controls(line), 2);
        assert_eq!(words(" \t ").count(), 0);
    }
}
