//! Truecasing: a word at the start of a sentence gets the form that it most often has elsewhere.
//!
//! Models are written as Moses writes them: a line for each word with its forms, the most frequent first, and how
//! often each was seen inside sentences, `Haus (12/13) HAUS (1)`.

use dragoman_base::io::{Lines, Output};
use dragoman_base::{Error, Result, words};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write;

/// Tokens after which a sentence starts.
const ENDS: [&str; 3] = [".", "!", "?"];
/// Tokens that do not change whether a sentence starts: quotation marks and brackets.
const OPENERS: [&str; 18] =
    ["\"", "'", "(", "[", "{", "«", "»", "‹", "›", "“", "”", "„", "‘", "‚", "’", "¿", "&quot;", "&apos;"];

/// The surface of a token and the rest of it.
fn split(token: &str, factored: bool) -> (&str, &str) {
    match token.find('|') {
        Some(at) if factored => token.split_at(at),
        _ => (token, ""),
    }
}

/// Calls `f` with each token, its surface, the factors after it, and whether a sentence starts there.
pub(crate) fn walk<'a>(line: &'a str, factored: bool, mut f: impl FnMut(&'a str, &'a str, bool)) {
    let mut start = true;
    for token in words(line) {
        let (surface, factors) = split(token, factored);
        f(surface, factors, start);
        // Signs are short and do not begin with an ASCII letter or digit: most words are told by that.
        let sign = surface.len() <= 6 && !surface.starts_with(|c: char| c.is_ascii_alphanumeric());
        if sign && ENDS.contains(&surface) {
            start = true;
        } else if !(sign && OPENERS.contains(&surface)) {
            start = false;
        }
    }
}

/// Counts of forms inside sentences.
#[derive(Debug, Clone, Default)]
pub struct Counter {
    factored: bool,
    forms: FxHashMap<String, u64>,
}

impl Counter {
    /// Nothing counted yet. With `factored`, tokens are `word|factor|...` and only words count.
    pub fn new(factored: bool) -> Self {
        Self { factored, ..Self::default() }
    }

    /// Counts the words of a line that have letters of a case, except where a sentence starts.
    pub fn line(&mut self, line: &str) {
        let forms = &mut self.forms;
        walk(line, self.factored, |surface, _, start| {
            if start || !surface.chars().any(|c| c.is_lowercase() || c.is_uppercase()) {
                return;
            }
            match forms.get_mut(surface) {
                Some(count) => *count += 1,
                None => {
                    forms.insert(surface.to_owned(), 1);
                }
            }
        });
    }

    /// Adds all lines of a file.
    pub fn file(&mut self, path: &str) -> Result<()> {
        let mut lines = Lines::open(path)?;
        while let Some(line) = lines.next()? {
            self.line(line);
        }
        Ok(())
    }

    /// The model.
    pub fn finish(self) -> Truecaser {
        let mut model = Truecaser::default();
        for (form, count) in self.forms {
            model.add(form, count);
        }
        model.sort();
        model
    }
}

/// The forms of words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Truecaser {
    /// For a word in small letters, its forms and their counts, the most frequent first, equals in byte order.
    forms: FxHashMap<String, Vec<(String, u64)>>,
    /// All forms.
    known: FxHashSet<String>,
}

impl Truecaser {
    fn add(&mut self, form: String, count: u64) {
        self.known.insert(form.clone());
        self.forms.entry(form.to_lowercase()).or_default().push((form, count));
    }

    fn sort(&mut self) {
        for forms in self.forms.values_mut() {
            forms.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        }
    }

    /// Number of words.
    pub fn len(&self) -> usize {
        self.forms.len()
    }

    /// Whether no word is known.
    pub fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// The most frequent form of a word, whatever case it is given in.
    pub fn best(&self, word: &str) -> Option<&str> {
        self.forms.get(&word.to_lowercase()).map(|forms| forms[0].0.as_str())
    }

    /// The form that a word gets: its best one at the start of a sentence; elsewhere only if its own is unknown.
    fn form<'a>(&'a self, word: &'a str, start: bool) -> &'a str {
        if !start && self.known.contains(word) {
            return word;
        }
        self.best(word).unwrap_or(word)
    }

    /// Truecases a line; words come out with one blank between them.
    pub fn apply(&self, line: &str, factored: bool) -> String {
        let mut out = String::with_capacity(line.len());
        walk(line, factored, |surface, factors, start| {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(self.form(surface, start));
            out.push_str(factors);
        });
        out
    }

    /// Writes a model, sorted by words, which appears when it is whole.
    pub fn write(&self, path: &str) -> Result<()> {
        let mut order: Vec<&String> = self.forms.keys().collect();
        order.sort_unstable();
        let mut out = Output::create(path)?;
        for word in order {
            let forms = &self.forms[word];
            let total: u64 = forms.iter().map(|form| form.1).sum();
            let mut line = format!("{} ({}/{total})", forms[0].0, forms[0].1);
            for (form, count) in &forms[1..] {
                write!(line, " {form} ({count})").expect("memory can be written to");
            }
            line.push('\n');
            out.write(line.as_bytes())?;
        }
        out.finish()
    }

    /// Reads a model, ours or Moses'.
    pub fn read(path: &str) -> Result<Self> {
        let mut lines = Lines::open(path)?;
        let mut model = Self::default();
        let mut number = 0;
        while let Some(line) = lines.next()? {
            number += 1;
            let wrong =
                || Error::format(path, number, "forms and their counts, `Haus (12/13) HAUS (1)`", line);
            let parts: Vec<&str> = words(line).collect();
            if parts.is_empty() || parts.len() % 2 == 1 {
                return Err(wrong());
            }
            for pair in parts.chunks(2) {
                let count = pair[1].strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
                let count = count.map(|text| text.split_once('/').map_or(text, |(count, _)| count));
                model.add(pair[0].to_owned(), count.and_then(|text| text.parse().ok()).ok_or_else(wrong)?);
            }
        }
        model.sort();
        Ok(model)
    }
}

/// Makes the first letter of each sentence of a line a capital, but for words that have capitals inside: `iPhone`.
pub fn undo(line: &str, factored: bool) -> String {
    let mut out = String::with_capacity(line.len());
    walk(line, factored, |surface, factors, start| {
        if !out.is_empty() {
            out.push(' ');
        }
        let mut chars = surface.chars();
        match chars.next().filter(|_| start) {
            Some(first) if !chars.as_str().chars().any(char::is_uppercase) => {
                out.extend(first.to_uppercase());
                out.push_str(chars.as_str());
            }
            _ => out.push_str(surface),
        }
        out.push_str(factors);
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn train(lines: &[&str], factored: bool) -> Truecaser {
        let mut counter = Counter::new(factored);
        for line in lines {
            counter.line(line);
        }
        counter.finish()
    }

    #[test]
    fn learns_inside_sentences_and_applies_at_their_starts() {
        let model = train(
            &["Das ist das Haus .", "Ein HAUS und das Haus", "\" Nie das ! Ein ein ein", "a É É é 3 ."],
            false,
        );
        assert_eq!(model.best("haus"), Some("Haus"));
        assert_eq!((model.best("DAS"), model.best("nie"), model.best("É")), (Some("das"), None, Some("É")));
        assert_eq!(model.best("3"), None);
        assert_eq!(
            model.apply("Das HAUS ist Das . \"  Ein haus ! Neu", false),
            "das HAUS ist das . \" ein Haus ! Neu"
        );
        assert_eq!(undo("das Haus . ( ein Haus ) ? é ist", false), "Das Haus . ( Ein Haus ) ? É ist");
        assert_eq!(undo("iPhone . eBay ! a|B", false), "iPhone . eBay ! a|B", "capitals inside are meant");
    }

    #[test]
    fn factors_are_left_alone() {
        let model = train(&["x|X das|Das", "x|X .|. Das|A y|B Das|C"], true);
        assert_eq!(model.apply("Das|Das DAS|DAS", true), "Das|Das Das|DAS");
        assert_eq!(undo("das|a das|b", true), "Das|a das|b");
        assert_eq!(undo("das|a", false), "Das|a");
    }

    #[test]
    fn files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model.gz").to_str().unwrap().to_owned();
        let model = train(&["x Haus haus Haus a b HAUS"], false);
        model.write(&path).unwrap();
        let lines = dragoman_base::io::read_lines(&path).unwrap();
        assert_eq!(lines.iter().collect::<Vec<_>>(), ["a (1/1)", "b (1/1)", "Haus (2/4) HAUS (1) haus (1)"]);
        assert_eq!(Truecaser::read(&path).unwrap(), model);
        let bad = dir.path().join("bad").to_str().unwrap().to_owned();
        for text in ["a (1/1)\nb\n", "a (1/1)\nb (x)\n", "a (1/1)\n\n", "a (1/1)\nb (2) c\n"] {
            std::fs::write(&bad, text).unwrap();
            assert!(Truecaser::read(&bad).unwrap_err().to_string().contains("bad:2: expected forms"));
        }
    }
}
