//! A model that answers queries, opened in milliseconds.

use crate::arpa;
use crate::ngrams::Ngrams;
use crate::table::{
    Automaton, Bytes, Compact, Hash, Head, Kind, ROOT, Vocabulary, assemble, is_table, parse,
};
use crate::words::{BOS, SPECIAL};
use dragoman_base::io::Output;
use dragoman_base::{Error, Result};
use std::fs::File;
use std::io::Read;

/// Files up to this size are checked whole when they are opened; larger ones by [`Model::verify`] on request.
const CHECKED: usize = 256 << 20;

/// What of the words so far can still matter: equal states have equal futures.
///
/// Four bytes, comparable as such; it means something only to the model that gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[repr(transparent)]
pub struct State(pub(crate) u32);

impl State {
    /// The state as bytes, for recombination.
    pub fn to_bytes(self) -> [u8; 4] {
        self.0.to_le_bytes()
    }

    /// The state that [`State::to_bytes`] gave.
    pub fn from_bytes(bytes: [u8; 4]) -> Self {
        Self(u32::from_le_bytes(bytes))
    }
}

/// How well a word fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// Natural logarithm of the probability.
    pub log: f32,
    /// The state after the word.
    pub state: State,
    /// Number of words of the n-gram that the probability comes from.
    pub length: u8,
}

#[derive(Debug, Clone, Copy)]
enum Table {
    Hash(Hash<'static>),
    Compact(Compact<'static>),
}

/// A language model: mapped from its file, shared by all threads.
#[derive(Debug)]
pub struct Model {
    // The views below point into `bytes`. They must go first, and never leave with this lifetime.
    vocabulary: Vocabulary<'static>,
    table: Table,
    starts: Vec<u32>,
    bytes: Bytes,
    head: Head,
    path: String,
}

impl Model {
    /// Opens a binary model or an ARPA file (packed or not, built into tables in memory).
    pub fn open(path: &str) -> Result<Self> {
        let fail = |source| Error::Io { path: path.to_owned(), source };
        let mut start = [0; 8];
        let mut file = File::open(path).map_err(fail)?;
        if file.metadata().map_err(fail)?.is_dir() {
            return Err(fail(std::io::Error::other("is a directory, not a file")));
        }
        let seen = file.read(&mut start).map_err(fail)?;
        let binary = start[..seen].contains(&0) || is_table(&start[..seen]);
        let packed = [".gz", ".zst", ".xz"].iter().any(|ending| path.ends_with(ending));
        if packed || !binary {
            return Self::from_ngrams(&arpa::read(path)?, Kind::Hash, "");
        }
        // SAFETY: the map is read only, and everything read from it is checked against its length. Whoever changes
        // the file under a running program gets wrong probabilities; our own writer never does (it renames).
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(fail)?;
        Self::from_bytes(Bytes::Mapped(map), path)
    }

    /// Builds a model in memory.
    pub fn from_ngrams(ngrams: &Ngrams, kind: Kind, options: &str) -> Result<Self> {
        let automaton = Automaton::new(ngrams)?;
        let bytes = assemble(&automaton, ngrams.names.texts(), &ngrams.counts(), kind, options)?;
        Self::from_bytes(Bytes::Owned(bytes), &ngrams.path)
    }

    fn from_bytes(bytes: Bytes, path: &str) -> Result<Self> {
        let head = parse(&bytes, path, bytes.len() <= CHECKED)?;
        // SAFETY: the bytes live in a map or a vector that is never changed, moved or freed before the model is;
        // the slice is used for private fields of the model only.
        let all: &'static [u8] = unsafe { std::slice::from_raw_parts(bytes.as_ptr(), bytes.len()) };
        let views = Self::views(all, &head);
        let Some((vocabulary, table, starts)) = views else {
            let what = "the language model is corrupt: its sections do not fit together".to_owned();
            return Err(Error::Damaged { path: path.to_owned(), line: 1, what });
        };
        Ok(Self { vocabulary, table, starts, bytes, head, path: path.to_owned() })
    }

    fn views(all: &'static [u8], head: &Head) -> Option<(Vocabulary<'static>, Table, Vec<u32>)> {
        let sections: Vec<&'static [u8]> = head.sections.iter().map(|range| &all[range.clone()]).collect();
        let [text, ends, slots, starts, rest @ ..] = sections.as_slice() else { return None };
        let vocabulary = Vocabulary::new(text, ends, slots)?;
        let words = vocabulary.len();
        if starts.len() != (head.counts.len() + 1) * 4 || words < SPECIAL.len() {
            return None;
        }
        let edges = head.counts[1..].iter().sum::<u64>() as usize;
        let table = match (head.kind, rest) {
            (Kind::Hash, [unigrams, nodes, slots]) => Table::Hash(Hash::new(unigrams, nodes, slots, words)?),
            (Kind::Compact(bits), &[a, b, c, d]) => {
                Table::Compact(Compact::new([a, b, c, d], starts, usize::from(bits), words, edges)?)
            }
            _ => return None,
        };
        Some((vocabulary, table, starts.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect()))
    }

    /// Writes the tables to a file that appears when it is whole.
    pub fn save(&self, path: &str) -> Result<()> {
        let mut out = Output::create(path)?;
        out.write(&self.bytes)?;
        out.finish()
    }

    /// Checks the hash of all contents, which opening does for files up to 256 MB.
    pub fn verify(&self) -> Result<()> {
        parse(&self.bytes, &self.path, true).map(|_| ())
    }

    /// The file it came from.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Number of words in the longest n-grams.
    pub fn order(&self) -> usize {
        self.head.counts.len()
    }

    /// N-grams of each order.
    pub fn counts(&self) -> &[u64] {
        &self.head.counts
    }

    /// How the tables are laid out.
    pub fn kind(&self) -> Kind {
        self.head.kind
    }

    /// The options that the model was made with.
    pub fn options(&self) -> &str {
        &self.head.options
    }

    /// Hash of the contents, for signatures.
    pub fn hash(&self) -> u64 {
        self.head.hash
    }

    /// Size of the tables in bytes.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Number of words, the special ones included. Ids are below it.
    pub fn words(&self) -> usize {
        self.vocabulary.len()
    }

    /// The id of a word; [`crate::UNK`] for a word that the model does not know.
    #[inline]
    pub fn word(&self, text: &str) -> u32 {
        self.vocabulary.id(text.as_bytes())
    }

    /// The word behind an id below [`Model::words`].
    pub fn name(&self, id: u32) -> &str {
        self.vocabulary.name(id)
    }

    /// The state at the start of a sentence, after `<s>`.
    pub fn start(&self) -> State {
        self.score(&State(ROOT), BOS).1
    }

    /// The state that knows nothing of what came before.
    pub fn empty(&self) -> State {
        State(ROOT)
    }

    /// Natural log probability of `word` (an id below [`Model::words`]) after `state`, and the state after it.
    #[inline]
    pub fn score(&self, state: &State, word: u32) -> (f32, State) {
        let (log, next, _) = self.step(*state, word);
        (log, State(next))
    }

    /// As [`Model::score`], and how long the n-gram is that the probability comes from.
    pub fn score_full(&self, state: &State, word: u32) -> Score {
        let (log, next, from) = self.step(*state, word);
        let length = self.starts[1..].iter().take_while(|&&start| start <= from).count() + 1;
        Score { log, state: State(next), length: length as u8 }
    }

    #[inline]
    fn step(&self, state: State, word: u32) -> (f32, u32, u32) {
        match &self.table {
            Table::Hash(table) => table.step(state.0, word),
            Table::Compact(table) => table.step(state.0, word),
        }
    }

    /// An estimate for future cost: the words' log probability when nothing is known of what stands before them.
    pub fn estimate(&self, words: &[u32]) -> f32 {
        let mut state = self.empty();
        let mut sum = 0.0;
        for &word in words {
            let (log, next) = self.score(&state, word);
            sum += log;
            state = next;
        }
        sum
    }
}
