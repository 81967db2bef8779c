//! Sentence pairs as the aligner sees them: word ids in flat arrays.

use dragoman_base::{Error, Names, Result, Texts, words};
use std::sync::Arc;

/// How words become the types that alignment statistics are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spelling {
    /// Lower-case every word first.
    pub lower: bool,
    /// Keep only the first so many characters of a word; 0 keeps all.
    pub prefix: usize,
    /// A pair with more words than this on a side is left out (counted, and without links).
    pub longest: usize,
}

impl Default for Spelling {
    fn default() -> Self {
        Self { lower: true, prefix: 0, longest: 500 }
    }
}

/// One side of a bitext.
#[derive(Debug, Clone)]
pub struct Side {
    /// The types by name; those of a shard have none.
    pub words: Names,
    /// How many types there are.
    pub types: usize,
    /// Type of every token, sentence after sentence.
    pub tokens: Vec<u32>,
    /// First token of each sentence, and the end of the last.
    pub starts: Vec<usize>,
}

impl Default for Side {
    fn default() -> Self {
        Self { words: Names::new(), types: 0, tokens: Vec::new(), starts: vec![0] }
    }
}

impl Side {
    /// The tokens of a sentence.
    pub fn sentence(&self, index: usize) -> &[u32] {
        &self.tokens[self.starts[index]..self.starts[index + 1]]
    }

    /// Number of sentences.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are no sentences.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What was odd about a bitext; counts of sentence pairs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    /// All pairs.
    pub pairs: usize,
    /// Pairs with an empty side: they have no links.
    pub empty: usize,
    /// Pairs left out because a side is too long: they have no links.
    pub long: usize,
    /// Pairs with a control character other than the tab, which counts as part of its word.
    pub control: usize,
    /// Pairs with `|` in a word, which phrase tables reserve.
    pub bar: usize,
}

/// Two sides with the same number of sentences.
#[derive(Debug, Clone, Default)]
pub struct Bitext {
    /// The source side.
    pub source: Arc<Side>,
    /// The target side.
    pub target: Arc<Side>,
    /// What was odd.
    pub report: Report,
}

/// Number of words of a line.
pub fn count_words(line: &str) -> usize {
    words(line).count()
}

/// The type of a word, by way of a buffer where the spelling changes it.
pub(crate) fn spell<'a>(word: &'a str, how: Spelling, buffer: &'a mut String) -> &'a str {
    if !how.lower && how.prefix == 0 {
        return word;
    }
    let end = match how.prefix {
        0 => word.len(),
        count => word.char_indices().nth(count).map_or(word.len(), |(at, _)| at),
    };
    if !how.lower || !word[..end].chars().any(char::is_uppercase) {
        return &word[..end];
    }
    buffer.clear();
    buffer.extend(word[..end].chars().flat_map(char::to_lowercase));
    buffer
}

impl Bitext {
    /// Splits and interns the lines of both sides.
    pub fn new(source: &Texts, target: &Texts, how: Spelling) -> Result<Self> {
        if source.len() != target.len() {
            return Err(Error::Invalid(format!(
                "expected as many target lines as source lines, found {} and {}",
                target.len(),
                source.len()
            )));
        }
        let mut report = Report::default();
        let mut sides = [Side::default(), Side::default()];
        for (from, to) in source.iter().zip(target.iter()) {
            let takes_part = report.look(from, to, how.longest);
            sides[0].push(if takes_part { from } else { "" }, how);
            sides[1].push(if takes_part { to } else { "" }, how);
        }
        let [source, target] = sides.map(Arc::new);
        Ok(Self { source, target, report })
    }
}

impl Report {
    /// Adds the counts of other pairs.
    pub(crate) fn add(&mut self, other: &Self) {
        self.pairs += other.pairs;
        self.empty += other.empty;
        self.long += other.long;
        self.control += other.control;
        self.bar += other.bar;
    }

    /// Counts a pair and says whether it takes part.
    pub(crate) fn look(&mut self, source: &str, target: &str, longest: usize) -> bool {
        let (from, to) = (count_words(source), count_words(target));
        let odd = |test: fn(char) -> bool| usize::from(source.contains(test) || target.contains(test));
        self.pairs += 1;
        self.control += odd(|c| c.is_control() && c != '\t');
        self.bar += odd(|c| c == '|');
        self.empty += usize::from(from == 0 || to == 0);
        self.long += usize::from(from.max(to) > longest);
        from > 0 && to > 0 && from.max(to) <= longest
    }
}

impl Side {
    fn push(&mut self, line: &str, how: Spelling) {
        let mut buffer = String::new();
        for word in words(line) {
            self.tokens.push(self.words.intern(spell(word, how, &mut buffer)));
        }
        self.types = self.words.len();
        self.starts.push(self.tokens.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(lines: &[&str]) -> Texts {
        lines.iter().collect()
    }

    #[test]
    fn interns_and_counts_what_is_odd() {
        let source = texts(&["Das  Haus\t.", "", "a | b", "x\u{1}y", "1 2 3 4 5 6"]);
        let target = texts(&["das haus .", "x", "c", "d", "e"]);
        let how = Spelling { longest: 5, ..Spelling::default() };
        let bitext = Bitext::new(&source, &target, how).unwrap();
        assert_eq!(bitext.report, Report { pairs: 5, empty: 1, long: 1, control: 1, bar: 1 });
        assert_eq!(bitext.source.starts, [0, 3, 3, 6, 8, 8], "control characters separate words");
        assert_eq!(bitext.target.starts, [0, 3, 3, 4, 5, 5]);
        assert_eq!(bitext.source.words.name(0), "das");
        assert_eq!(bitext.source.sentence(0).len(), 3);
        assert!(Bitext::new(&source, &texts(&["x"]), how).is_err());
    }

    #[test]
    fn spelling_cuts_and_lowers_characters() {
        let mut buffer = String::new();
        let mut spelled = |word: &str, lower, prefix| {
            spell(word, Spelling { lower, prefix, longest: 9 }, &mut buffer).to_owned()
        };
        assert_eq!(spelled("Élève", true, 3), "élè");
        assert_eq!(spelled("Élève", false, 3), "Élè");
        assert_eq!(spelled("Élève", false, 0), "Élève");
        assert_eq!(spelled("é", true, 4), "é");
    }
}
