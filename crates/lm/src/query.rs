//! Scoring text, sentence by sentence, on all cores.

use crate::model::{Model, Score, State};
use crate::words::{EOS, UNK};
use dragoman_base::words::{controls, words};
use dragoman_base::{Error, Result, Texts};
use rayon::prelude::*;
use std::io::{ErrorKind, Read, Write};

/// What scoring needs: a [`Model`] or a mixture of several.
pub trait Scorer: Sync {
    /// What of the words so far can still matter.
    type State: Copy + Send + Sync;
    /// The scorer for a text that will ask much of it, see [`Model::in_use`]; its states are the same.
    fn in_use(&self) -> &Self {
        self
    }
    /// The state at the start of a sentence.
    fn start(&self) -> Self::State;
    /// The id of a word; [`UNK`] for an unknown one.
    fn word(&self, text: &str) -> u32;
    /// Natural log probability, next state, and length of the n-gram behind it.
    fn step(&self, state: Self::State, word: u32) -> (f32, Self::State, u8);
}

impl Scorer for Model {
    type State = State;

    fn in_use(&self) -> &Self {
        Self::in_use(self)
    }

    fn start(&self) -> State {
        Self::start(self)
    }

    fn word(&self, text: &str) -> u32 {
        Self::word(self, text)
    }

    fn step(&self, state: State, word: u32) -> (f32, State, u8) {
        let Score { log, state, length } = self.score_full(&state, word);
        (log, state, length)
    }
}

/// Sums over a text. Logarithms are natural.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Totals {
    /// Lines.
    pub sentences: u64,
    /// Words and sentence ends.
    pub tokens: u64,
    /// Words that the model does not know.
    pub unknown: u64,
    /// Control characters, which were taken for blanks.
    pub controls: u64,
    /// Log probability of all tokens.
    pub log: f64,
    /// Log probability of the unknown ones among them.
    pub log_unknown: f64,
}

impl Totals {
    fn add(&mut self, other: &Self) {
        self.sentences += other.sentences;
        self.tokens += other.tokens;
        self.unknown += other.unknown;
        self.controls += other.controls;
        self.log += other.log;
        self.log_unknown += other.log_unknown;
    }

    /// Inverse of the geometric mean probability of a token.
    pub fn perplexity(&self) -> f64 {
        (-self.log / self.tokens as f64).exp()
    }

    /// The same without unknown words.
    pub fn perplexity_known(&self) -> f64 {
        (-(self.log - self.log_unknown) / (self.tokens - self.unknown) as f64).exp()
    }
}

/// Scores one sentence and its end; `each` sees every token.
#[inline]
pub fn sentence<S: Scorer>(
    scorer: &S,
    start: S::State,
    line: &str,
    mut each: impl FnMut(&str, u32, f32, u8),
) -> Totals {
    let mut totals = Totals { sentences: 1, ..Totals::default() };
    let mut state = start;
    for word in words(line) {
        let id = scorer.word(word);
        let (log, next, length) = scorer.step(state, id);
        state = next;
        totals.tokens += 1;
        totals.log += f64::from(log);
        if id == UNK {
            totals.unknown += 1;
            totals.log_unknown += f64::from(log);
        }
        each(word, id, log, length);
    }
    let (log, _, length) = scorer.step(state, EOS);
    totals.tokens += 1;
    totals.log += f64::from(log);
    each("</s>", EOS, log, length);
    totals
}

/// Columns of scored sentences: one entry a token, sentence ends included.
#[derive(Debug, Default)]
pub struct Scored {
    /// Where each sentence begins; one more entry than sentences.
    pub starts: Vec<i64>,
    /// Natural log probabilities.
    pub logs: Vec<f32>,
    /// Lengths of the n-grams behind them.
    pub lengths: Vec<u8>,
    /// Whether the word is unknown.
    pub unknown: Vec<bool>,
}

/// Scores lines in memory.
pub fn lines<S: Scorer>(scorer: &S, texts: &Texts) -> Scored {
    let start = scorer.start();
    let score = |i: usize| {
        let mut rows = Vec::new();
        sentence(scorer.in_use(), start, texts.get(i), |_, id, log, length| {
            rows.push((log, length, id == UNK));
        });
        rows
    };
    let all: Vec<Vec<(f32, u8, bool)>> =
        (0..texts.len()).into_par_iter().with_min_len(64).map(score).collect();
    let mut scored = Scored { starts: vec![0], ..Scored::default() };
    for rows in all {
        for (log, length, unknown) in rows {
            scored.logs.push(log);
            scored.lengths.push(length);
            scored.unknown.push(unknown);
        }
        scored.starts.push(scored.logs.len() as i64);
    }
    scored
}

/// Bytes that are read at a time, and bytes that one task scores.
const BLOCK: usize = 1 << 22;
const TASK: usize = 1 << 16;

/// Whole lines of a stream, a block at a time.
struct Blocks {
    reader: Box<dyn Read + Send>,
    path: String,
    rest: Vec<u8>,
    /// Lines given out so far.
    lines: usize,
}

impl Blocks {
    /// The next lines, each with its end; empty at the end of the stream.
    fn next(&mut self) -> Result<String> {
        let mut block = std::mem::take(&mut self.rest);
        loop {
            let from = block.len();
            block.resize(from + BLOCK, 0);
            let count = self.fill(&mut block[from..])?;
            block.truncate(from + count);
            if count < BLOCK {
                break;
            }
            if let Some(end) = block.iter().rposition(|&b| b == b'\n') {
                self.rest = block.split_off(end + 1);
                break;
            }
        }
        let text = String::from_utf8(block).map_err(|e| self.encoding(&e))?;
        self.lines += text.bytes().filter(|&b| b == b'\n').count();
        Ok(text)
    }

    fn fill(&mut self, mut space: &mut [u8]) -> Result<usize> {
        let whole = space.len();
        while !space.is_empty() {
            match self.reader.read(space) {
                Ok(0) => break,
                Ok(count) => space = &mut space[count..],
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(source) => return Err(Error::Io { path: self.path.clone(), source }),
            }
        }
        Ok(whole - space.len())
    }

    fn encoding(&self, error: &std::string::FromUtf8Error) -> Error {
        let (bytes, at) = (error.as_bytes(), error.utf8_error().valid_up_to());
        let line = self.lines + bytes[..at].split(|&b| b == b'\n').count();
        let begin = bytes[..at].iter().rposition(|&b| b == b'\n').map_or(0, |p| p + 1);
        Error::Encoding { path: self.path.clone(), line, column: at - begin + 1, byte: bytes[at] }
    }
}

/// Cuts a text into pieces of whole lines.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while rest.len() > TASK {
        let end =
            rest.as_bytes()[TASK..].iter().position(|&b| b == b'\n').map_or(rest.len(), |p| TASK + p + 1);
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}

/// Scores a text file (packed or not, `-` for standard input). With `out`, every token is written: for each line its
/// `word=id length log10` between tabs, then the line's total and unknown words, as KenLM's query does.
pub fn file<S: Scorer>(scorer: &S, path: &str, mut out: Option<&mut dyn Write>) -> Result<Totals> {
    let reader = dragoman_base::io::open(path)?;
    let mut blocks = Blocks { reader, path: path.to_owned(), rest: Vec::new(), lines: 0 };
    let mut totals = Totals::default();
    let mut block = blocks.next()?;
    if let Some(stripped) = block.strip_prefix('\u{feff}') {
        block = stripped.to_owned();
    }
    while !block.is_empty() {
        let tokens = out.is_some();
        let work = || {
            pieces(&block).into_par_iter().map(|piece| score_piece(scorer, piece, tokens)).collect::<Vec<_>>()
        };
        let (scored, next) = rayon::join(work, || blocks.next());
        for (sums, text) in scored {
            totals.add(&sums);
            if let Some(out) = &mut out {
                out.write_all(&text).map_err(|source| Error::Io { path: "-".to_owned(), source })?;
            }
        }
        block = next?;
    }
    if totals.sentences == 0 {
        let (want, found) = ("at least one line".to_owned(), "an empty file".to_owned());
        return Err(Error::Format { path: path.to_owned(), line: 1, want, found });
    }
    Ok(totals)
}

/// Scores whole lines; the text of all tokens, if wanted.
fn score_piece<S: Scorer>(scorer: &S, piece: &str, tokens: bool) -> (Totals, Vec<u8>) {
    let mut text = Vec::new();
    let scorer = scorer.in_use();
    let start = scorer.start();
    let mut all = Totals::default();
    for line in piece.strip_suffix('\n').unwrap_or(piece).split('\n') {
        let mut sums = if tokens {
            let sums = sentence(scorer, start, line, |word, id, log, length| {
                let log10 = log * std::f32::consts::LOG10_E;
                // Writing to a vector cannot fail.
                let _ = write!(text, "{word}={id} {length} {log10}\t");
            });
            let total = sums.log * std::f64::consts::LOG10_E;
            let _ = writeln!(text, "Total: {} OOV: {}", total as f32, sums.unknown);
            sums
        } else {
            sentence(scorer, start, line, |_, _, _, _| {})
        };
        sums.controls = controls(line);
        all.add(&sums);
    }
    (all, text)
}
