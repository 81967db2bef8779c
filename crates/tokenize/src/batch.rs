//! Whole columns of lines, on all cores.

use dragoman_base::Texts;
use rayon::prelude::*;

/// Where the words of each line are in another text of that line, in characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spans {
    /// The first word of each line, and the number of all words.
    pub lines: Vec<i64>,
    /// Where each word starts.
    pub starts: Vec<i64>,
    /// Where each word ends.
    pub ends: Vec<i64>,
}

impl Default for Spans {
    fn default() -> Self {
        Self { lines: vec![0], starts: Vec::new(), ends: Vec::new() }
    }
}

impl Spans {
    /// Adds a word.
    pub fn push(&mut self, start: usize, end: usize) {
        self.starts.push(start as i64);
        self.ends.push(end as i64);
    }

    /// Ends the line.
    pub fn end_line(&mut self) {
        self.lines.push(self.starts.len() as i64);
    }

    fn append(&mut self, other: Self) {
        let before = self.starts.len() as i64;
        self.lines.extend(other.lines[1..].iter().map(|&at| before + at));
        self.starts.extend(other.starts);
        self.ends.extend(other.ends);
    }
}

/// Lines that one task takes on: enough to hide the cost of a task.
const PART: usize = 512;

/// Each line changed, on all cores: `change` appends to the text and, if they are wanted, to the spans.
pub fn each(
    texts: &Texts,
    wanted: bool,
    change: impl Fn(&str, &mut String, Option<&mut Spans>) + Sync,
) -> (Texts, Option<Spans>) {
    let part = |first: usize| {
        let (mut bytes, mut ends) = (String::new(), Vec::with_capacity(PART));
        let mut spans = wanted.then(Spans::default);
        for index in first..texts.len().min(first + PART) {
            change(texts.get(index), &mut bytes, spans.as_mut());
            ends.push(bytes.len() as i64);
        }
        (bytes, ends, spans)
    };
    let starts: Vec<usize> = (0..texts.len()).step_by(PART).collect();
    let parts: Vec<_> = starts.into_par_iter().map(part).collect();
    let mut bytes = String::with_capacity(parts.iter().map(|part| part.0.len()).sum());
    let (mut offsets, mut all) = (vec![0], wanted.then(Spans::default));
    for (text, ends, spans) in parts {
        let before = bytes.len() as i64;
        offsets.extend(ends.into_iter().map(|end| before + end));
        bytes.push_str(&text);
        if let (Some(all), Some(spans)) = (all.as_mut(), spans) {
            all.append(spans);
        }
    }
    (Texts::from_parts(bytes, offsets).expect("lines end where characters do"), all)
}
