//! A model that answers queries, opened in milliseconds.

use crate::arpa;
use crate::ngrams::Ngrams;
use crate::table::{Automaton, Compact, FORM, Hash, Head, Kind, ROOT, assemble, parse};
use crate::words::{BOS, SPECIAL, UNK};
use dragoman_base::Result;
use dragoman_base::container::{Bytes, start};
use dragoman_base::io::Output;
use dragoman_base::vocabulary::Vocabulary;
use rayon::prelude::*;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Files up to this size are copied to large pages when they are used much.
const COPIED: usize = 256 << 20;
/// Sentences, or pieces of text, that make a model one that is used much.
const MUCH: u32 = 16;
/// Whether copies are made: processes that serve the same model share the pages of its file instead.
static COPIES: AtomicBool = AtomicBool::new(true);

/// Says whether this process may copy models that are used much; copies that there are stay.
pub fn copies(wanted: bool) {
    COPIES.store(wanted, Ordering::Relaxed);
}

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
    // The views below point into `bytes`. They never leave with this lifetime.
    vocabulary: Vocabulary<'static>,
    table: Table,
    starts: Vec<u32>,
    bytes: Bytes,
    head: Head,
    path: String,
    /// Calls of [`Model::in_use`] so far.
    uses: AtomicU32,
    /// The same model in large pages, if there was room.
    copy: OnceLock<Option<Box<Model>>>,
}

impl Model {
    /// Opens a binary model or an ARPA file (packed or not, built into tables in memory).
    ///
    /// Of a binary model only the head is read and checked; pages come in as look-ups need them. A file that was damaged
    /// behind its head gives wrong probabilities, never a crash, and [`Model::verify`] finds the damage.
    pub fn open(path: &str) -> Result<Self> {
        let start = start(path)?;
        let binary = start.contains(&0) || FORM.begins(&start);
        let packed = [".gz", ".zst", ".xz"].iter().any(|ending| path.ends_with(ending));
        if packed || !binary {
            return Self::from_ngrams(&arpa::read(path)?, Kind::Hash, "");
        }
        Self::from_bytes(Bytes::map(path)?, path)
    }

    /// Builds a model in memory.
    pub fn from_ngrams(ngrams: &Ngrams, kind: Kind, options: &str) -> Result<Self> {
        let automaton = Automaton::new(ngrams)?;
        let bytes = assemble(&automaton, ngrams.names.texts(), &ngrams.counts(), kind, options)?;
        Self::from_bytes(Bytes::Owned(bytes), &ngrams.path)
    }

    fn from_bytes(bytes: Bytes, path: &str) -> Result<Self> {
        let head = parse(&bytes, path)?;
        // SAFETY: the bytes live in a map or a vector that is never changed, moved or freed before the model is;
        // the slice is used for private fields of the model only.
        let all: &'static [u8] = unsafe { std::slice::from_raw_parts(bytes.as_ptr(), bytes.len()) };
        let views = Self::views(all, &head);
        let Some((vocabulary, table, starts)) = views else {
            return Err(FORM.damaged(path, "corrupt: its sections do not fit together"));
        };
        let path = path.to_owned();
        let (uses, copy) = (AtomicU32::new(0), OnceLock::new());
        Ok(Self { vocabulary, table, starts, bytes, head, path, uses, copy })
    }

    /// The model for a sentence that is searched, or a text: this one or, after [`MUCH`] of these, a copy in large pages.
    /// Both answer alike; other threads go on while the copy is made.
    pub fn in_use(&self) -> &Self {
        if let Some(made) = self.copy.get() {
            return made.as_deref().unwrap_or(self);
        }
        let uses = self.uses.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        let wanted = uses == MUCH && COPIES.load(Ordering::Relaxed);
        if wanted && matches!(self.bytes, Bytes::Mapped(_)) && self.bytes.len() <= COPIED {
            let copy = self.bytes.in_large_pages();
            let made = copy.and_then(|bytes| Self::from_bytes(bytes, &self.path).ok());
            return self.copy.get_or_init(|| made.map(Box::new)).as_deref().unwrap_or(self);
        }
        self
    }

    /// The model as [`Model::in_use`] gives it, without counting.
    #[inline]
    pub fn as_used(&self) -> &Self {
        self.copy.get().and_then(Option::as_deref).unwrap_or(self)
    }

    fn views(all: &'static [u8], head: &Head) -> Option<(Vocabulary<'static>, Table, Vec<u32>)> {
        let sections: Vec<&'static [u8]> =
            head.sections.places.iter().map(|place| &all[place.clone()]).collect();
        let [text, ends, slots, starts, rest @ ..] = sections.as_slice() else { return None };
        let vocabulary = Vocabulary::new([text, ends, slots])?;
        let words = vocabulary.len();
        if starts.len() != (head.counts.len() + 1) * 4 || words < SPECIAL.len() || head.counts.is_empty() {
            return None;
        }
        let edges = head.counts[1..].iter().try_fold(0u64, |sum, &count| sum.checked_add(count))? as usize;
        let table = match (head.kind, rest) {
            (Kind::Hash, [unigrams, nodes, slots]) => Table::Hash(Hash::new(unigrams, nodes, slots, words)?),
            (Kind::Compact(bits), &[a, b, c, d]) => {
                Table::Compact(Compact::new([a, b, c, d], starts, usize::from(bits), words, edges)?)
            }
            _ => return None,
        };
        let starts: Vec<u32> = starts.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
        // The empty context is the only one of its length; lengths of nodes are found by these bounds.
        let sound = starts[0] == ROOT && starts[1] == 1 && starts.is_sorted();
        let whole = match &table {
            Table::Hash(table) => table.nodes() == starts[starts.len() - 1] as usize,
            Table::Compact(_) => true,
        };
        (sound && whole).then_some((vocabulary, table, starts))
    }

    /// Writes the tables to a file that appears when it is whole.
    pub fn save(&self, path: &str) -> Result<()> {
        let mut out = Output::create(path)?;
        out.write(&self.bytes)?;
        out.finish()
    }

    /// Reads all of the file and checks its hash, which opening does not.
    pub fn verify(&self) -> Result<()> {
        FORM.verify(&self.bytes, &self.head.sections, &self.path)
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
        self.head.sections.hashes[0]
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
        self.vocabulary.id(text).unwrap_or(UNK)
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

    /// Number of nodes.
    pub(crate) fn nodes(&self) -> usize {
        self.starts[self.starts.len() - 1] as usize
    }

    /// Number of words of a node.
    pub(crate) fn length(&self, node: State) -> usize {
        self.starts[1..].iter().take_while(|&&start| start <= node.0).count()
    }

    /// Back-off weight of a node, and the longest ending that is a node.
    #[inline]
    pub(crate) fn fall(&self, node: State) -> (f32, State) {
        let (backoff, suffix) = match &self.table {
            Table::Hash(table) => table.fall(node.0),
            Table::Compact(table) => table.fall(node.0),
        };
        (backoff, State(suffix))
    }

    /// The place of the n-gram of a node (not that of the empty context) and a word, if there is one.
    pub(crate) fn edge(&self, node: State, word: u32) -> Option<usize> {
        match &self.table {
            Table::Hash(table) => table.edge(node.0, word).map(|(place, _, _)| place),
            Table::Compact(table) => table.edge(node.0, word),
        }
    }

    /// Places that n-grams of two words and more may have.
    pub(crate) fn edge_places(&self) -> usize {
        match &self.table {
            Table::Hash(table) => table.places(),
            Table::Compact(table) => table.places(),
        }
    }

    /// What `see` makes of node, word and next node of every n-gram of two words and more, on all cores, in an order that
    /// does not depend on them. Those that a damaged table has of words or nodes that it lacks are left out.
    pub(crate) fn each_edge<T: Send>(&self, see: impl Fn(State, u32, State) -> Option<T> + Sync) -> Vec<T> {
        let (nodes, words) = (self.nodes(), self.words());
        let see = |node: State, word: u32, next: State| {
            let sound = (node.0 as usize) < nodes && (next.0 as usize) < nodes && (word as usize) < words;
            if sound && node.0 != ROOT { see(node, word, next) } else { None }
        };
        match &self.table {
            Table::Hash(table) => (0..table.places())
                .into_par_iter()
                .with_min_len(1 << 14)
                .filter_map(|place| table.at(place))
                .filter_map(|(node, word, next)| see(State(node), word, State(next)))
                .collect(),
            Table::Compact(table) => (1..self.nodes() as u32)
                .into_par_iter()
                .with_min_len(1 << 12)
                .flat_map_iter(|node| table.each(node).map(move |(word, next)| (node, word, next)))
                .filter_map(|(node, word, next)| see(State(node), word, State(next)))
                .collect(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::{Options, Source, estimate};
    use crate::words::{EOS, UNK};
    use dragoman_base::Texts;

    fn ngrams() -> Ngrams {
        let lines: Texts = ["a b c", "a b d", "b c a b", "c", "a b c d", "d a b"].into_iter().collect();
        let options = Options {
            order: 3,
            memory: 1 << 20,
            scratch: None,
            prune: vec![0, 0, 1],
            fallback: Some([0.5, 1.0, 1.5]),
            skip_symbols: false,
        };
        let mut ngrams = Ngrams::default();
        estimate(Source::Lines(&lines), &options, &mut ngrams).unwrap();
        ngrams
    }

    fn after(model: &Model, text: &str) -> State {
        let words = dragoman_base::words(text).map(|word| model.word(word));
        words.fold(model.empty(), |state, word| model.score(&state, word).1)
    }

    #[test]
    fn a_state_is_the_shortest_context_that_matters() {
        let model = Model::from_ngrams(&ngrams(), Kind::Hash, "").unwrap();
        // No trigram begins with `c d` or `d d`, and nothing follows an unknown word.
        assert_eq!(after(&model, "c d").to_bytes(), after(&model, "d d").to_bytes());
        assert_eq!(after(&model, "a x"), model.empty());
        assert_ne!(after(&model, "a b"), after(&model, "d b"));
        assert_ne!(model.start(), model.empty());
        let state = after(&model, "a b");
        assert_eq!(State::from_bytes(state.to_bytes()), state);
        assert_eq!((model.word("x"), model.name(EOS), model.name(UNK)), (UNK, "</s>", "<unk>"));
    }

    #[test]
    fn forms_agree_and_probabilities_sum_to_one() {
        let hash = Model::from_ngrams(&ngrams(), Kind::Hash, "made by a test").unwrap();
        let compact = Model::from_ngrams(&ngrams(), Kind::Compact(12), "").unwrap();
        assert_eq!((hash.options(), hash.order()), ("made by a test", 3));
        for context in ["", "a", "a b", "b c", "d d", "x"] {
            let (h, c) = (after(&hash, context), after(&compact, context));
            let mut sum = 0.0;
            for word in (0..hash.words() as u32).filter(|&word| word != BOS) {
                let (fast, small) = (hash.score_full(&h, word), compact.score_full(&c, word));
                assert!((fast.log - small.log).abs() < 1e-5 && fast.length == small.length);
                sum += f64::from(fast.log).exp();
            }
            assert!((sum - 1.0).abs() < 1e-5, "{context}: {sum}");
        }
        let phrase = ["a", "b", "c"].map(|word| hash.word(word));
        let first = hash.score(&hash.empty(), phrase[0]);
        let (second, state) = hash.score(&first.1, phrase[1]);
        assert_eq!(hash.estimate(&phrase), first.0 + second + hash.score(&state, phrase[2]).0);
    }

    #[test]
    fn a_model_that_is_used_much_answers_alike() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lm").display().to_string();
        Model::from_ngrams(&ngrams(), Kind::Hash, "").unwrap().save(&path).unwrap();
        let model = Model::open(&path).unwrap();
        let places: Vec<*const Model> = (0..MUCH + 2).map(|_| std::ptr::from_ref(model.in_use())).collect();
        let here = std::ptr::from_ref(&model);
        assert!(places[..MUCH as usize - 1].iter().all(|&place| place == here));
        assert!(places[MUCH as usize - 1..].iter().all(|&place| place != here && place == model.as_used()));
        for context in ["", "a", "a b", "x"] {
            let state = after(&model, context);
            for word in 0..model.words() as u32 {
                assert_eq!(model.as_used().score_full(&state, word), model.score_full(&state, word));
            }
        }
    }

    #[test]
    fn no_damage_goes_unseen() {
        for kind in [Kind::Hash, Kind::Compact(8)] {
            let model = Model::from_ngrams(&ngrams(), kind, "options").unwrap();
            let whole = model.bytes.to_vec();
            for at in 0..whole.len() {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << (at % 8);
                let opened = Model::from_bytes(Bytes::Owned(bytes), "m");
                assert!(opened.and_then(|model| model.verify()).is_err(), "byte {at}");
                assert!(Model::from_bytes(Bytes::Owned(whole[..at].to_vec()), "m").is_err(), "cut at {at}");
            }
        }
    }
}
