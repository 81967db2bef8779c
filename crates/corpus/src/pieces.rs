//! Words cut into pieces by byte-pair encoding (Sennrich, Haddow and Birch 2016), learnt from a text.
//!
//! A word starts as its characters, each with the combining marks that follow it. The pair of neighbours that is most
//! frequent in the text is joined, again and again, until there are as many different pieces as were asked for. A piece
//! that the word goes on after ends with [`MARK`]: `aka@@ tenga@@ nisha`. Only words of letters, apostrophes and hyphens
//! are cut: numbers, dates and addresses stay whole. So do names that the text had not, where capitals tell names.
//!
//! The file says `#pieces names=whole`, or `cut`; then it has a line for each join, in order, as subword-nmt writes them:
//! `te nga`, and `ni sha</w>` where a word ends; then, alone on a line each, the names that were cut in the text.

use crate::truecase::walk;
use dragoman_base::io::{Lines, Output};
use dragoman_base::{Error, Result, words};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use unicode_normalization::char::is_combining_mark;

/// What a piece ends with if its word goes on.
pub const MARK: &str = "@@";
/// What a piece at the end of a word has in files.
const END: &str = "</w>";
/// The first line of a file: what happens to names that the text had not.
const WHOLE: &str = "#pieces names=whole";
const CUT: &str = "#pieces names=cut";
/// Pairs that are less frequent are not joined.
const RARE: u64 = 2;
/// Share of words with a capital inside sentences from which on capitals do not tell names: German writes nouns so.
const MANY_CAPITALS: f64 = 0.2;

type Pair = (u32, u32);

/// Whether a word may be cut.
fn is_cuttable(word: &str) -> bool {
    word.chars().all(|c| c.is_alphabetic() || is_combining_mark(c) || matches!(c, '\'' | '’' | '-'))
}

fn is_capital(word: &str) -> bool {
    word.chars().next().is_some_and(char::is_uppercase)
}

/// Where the characters of a word end, each with the marks that follow it.
fn ends(word: &str) -> Vec<usize> {
    let mut found: Vec<usize> =
        word.char_indices().filter(|&(at, c)| at > 0 && !is_combining_mark(c)).map(|(at, _)| at).collect();
    found.push(word.len());
    found
}

/// Counts of words that may be cut.
#[derive(Debug, Clone, Default)]
pub struct PieceCounter {
    counts: FxHashMap<String, u64>,
    inside: u64,
    capitals: u64,
}

impl PieceCounter {
    /// Counts the words of a line.
    pub fn line(&mut self, line: &str) {
        walk(line, false, |word, _, start| {
            if !is_cuttable(word) {
                return;
            }
            self.inside += u64::from(!start);
            self.capitals += u64::from(!start && is_capital(word));
            match self.counts.get_mut(word) {
                Some(count) => *count += 1,
                None => {
                    self.counts.insert(word.to_owned(), 1);
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

    /// Joins pairs until there are `size` different pieces, or none is frequent enough.
    pub fn finish(self, size: usize) -> Pieces {
        let mut pieces = Pieces::default();
        let mut order: Vec<(&String, u64)> = self.counts.iter().map(|(word, &count)| (word, count)).collect();
        order.sort_unstable();
        let rows = order.iter().map(|&(word, count)| (pieces.characters(word), count)).collect();
        Joins::new(rows).run(&mut pieces, size);
        if (self.capitals as f64) < MANY_CAPITALS * self.inside as f64 {
            let cut = |word: &&String| is_capital(word) && pieces.cut(word).len() > 1;
            pieces.names = Some(self.counts.keys().filter(cut).cloned().collect());
        }
        pieces
    }
}

/// The pairs of neighbours in a list of words, with what is needed to join the most frequent one fast.
struct Joins {
    rows: Vec<(Vec<u32>, u64)>,
    counts: FxHashMap<Pair, u64>,
    /// Words that have, or had, a pair.
    places: FxHashMap<Pair, Vec<u32>>,
    /// Pairs with counts that may have become smaller since; of equals, the oldest pieces come first.
    heap: BinaryHeap<(u64, Reverse<Pair>)>,
}

impl Joins {
    fn new(rows: Vec<(Vec<u32>, u64)>) -> Self {
        let (mut counts, mut places) = (FxHashMap::default(), FxHashMap::default());
        for (row, (symbols, count)) in rows.iter().enumerate() {
            for pair in symbols.windows(2).map(|two| (two[0], two[1])) {
                *counts.entry(pair).or_insert(0) += count;
                let known: &mut Vec<u32> = places.entry(pair).or_default();
                if known.last() != Some(&(row as u32)) {
                    known.push(row as u32);
                }
            }
        }
        let heap = counts.iter().map(|(&pair, &count)| (count, Reverse(pair))).collect();
        Self { rows, counts, places, heap }
    }

    fn run(mut self, pieces: &mut Pieces, size: usize) {
        while pieces.symbols.len() < size {
            let Some((count, Reverse(pair))) = self.heap.pop() else { break };
            let now = self.counts.get(&pair).copied().unwrap_or(0);
            if now < RARE {
                continue;
            }
            if now < count {
                self.heap.push((now, Reverse(pair)));
                continue;
            }
            let made = pieces.add(pair);
            self.join(pair, made);
        }
    }

    fn join(&mut self, pair: Pair, made: u32) {
        let mut fresh = FxHashSet::default();
        for row in self.places.remove(&pair).unwrap_or_default() {
            let (symbols, count) = &mut self.rows[row as usize];
            let after = joined(symbols, pair, made);
            if after.len() == symbols.len() {
                continue;
            }
            for two in symbols.windows(2) {
                *self.counts.get_mut(&(two[0], two[1])).expect("all pairs are counted") -= *count;
            }
            for two in after.windows(2) {
                let pair = (two[0], two[1]);
                *self.counts.entry(pair).or_insert(0) += *count;
                if pair.0 == made || pair.1 == made {
                    self.places.entry(pair).or_default().push(row);
                    fresh.insert(pair);
                }
            }
            *symbols = after;
        }
        self.heap.extend(fresh.into_iter().map(|pair| (self.counts[&pair], Reverse(pair))));
    }
}

/// Symbols with every occurrence of a pair joined, from left to right.
fn joined(symbols: &[u32], pair: Pair, made: u32) -> Vec<u32> {
    let (mut out, mut at) = (Vec::with_capacity(symbols.len()), 0);
    while at < symbols.len() {
        let here = symbols[at] == pair.0 && symbols.get(at + 1) == Some(&pair.1);
        out.push(if here { made } else { symbols[at] });
        at += if here { 2 } else { 1 };
    }
    out
}

/// What was learnt: which pieces are joined, and in what order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pieces {
    /// Pieces as files have them.
    symbols: Vec<String>,
    ids: FxHashMap<String, u32>,
    /// In the order of joining.
    pairs: Vec<Pair>,
    /// For a pair, its place in the order and what it becomes.
    made: FxHashMap<Pair, (u32, u32)>,
    /// Words with a capital that were cut in the text; others that are not at the start of a sentence are names, and stay
    /// whole. None where capitals tell nothing.
    names: Option<FxHashSet<String>>,
}

impl Pieces {
    fn id(&mut self, symbol: &str) -> u32 {
        if let Some(&id) = self.ids.get(symbol) {
            return id;
        }
        let id = self.symbols.len() as u32;
        self.symbols.push(symbol.to_owned());
        self.ids.insert(symbol.to_owned(), id);
        id
    }

    /// The numbers of a word's characters, which become known.
    fn characters(&mut self, word: &str) -> Vec<u32> {
        let mut start = 0;
        let found = ends(word).into_iter().map(|end| {
            let text = &word[std::mem::replace(&mut start, end)..end];
            if end < word.len() { self.id(text) } else { self.id(&format!("{text}{END}")) }
        });
        found.collect()
    }

    /// Adds a join, and tells the number of what it makes. A pair is joined once: what could come about in another way has
    /// been joined in the first one everywhere.
    fn add(&mut self, pair: Pair) -> u32 {
        let text = format!("{}{}", self.symbols[pair.0 as usize], self.symbols[pair.1 as usize]);
        let made = self.id(&text);
        self.made.insert(pair, (self.pairs.len() as u32, made));
        self.pairs.push(pair);
        made
    }

    /// Number of joins.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether nothing is joined.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The pieces of a word that may be cut.
    fn cut<'a>(&self, word: &'a str) -> Vec<&'a str> {
        let known = |symbol: &str| self.ids.get(symbol).copied();
        let mut start = 0;
        let mut parts: Vec<(Option<u32>, usize)> = Vec::new();
        for end in ends(word) {
            let text = &word[std::mem::replace(&mut start, end)..end];
            parts.push((if end < word.len() { known(text) } else { known(&format!("{text}{END}")) }, end));
        }
        let join = |two: &[(Option<u32>, usize)]| {
            two[0]
                .0
                .zip(two[1].0)
                .and_then(|pair| self.made.get(&pair).map(|&(rank, made)| (rank, pair, made)))
        };
        while let Some((_, pair, made)) = parts.windows(2).filter_map(join).min() {
            let mut at = 0;
            while at + 1 < parts.len() {
                if (parts[at].0, parts[at + 1].0) == (Some(pair.0), Some(pair.1)) {
                    parts[at] = (Some(made), parts[at + 1].1);
                    parts.remove(at + 1);
                }
                at += 1;
            }
        }
        let mut start = 0;
        parts.into_iter().map(|(_, end)| &word[std::mem::replace(&mut start, end)..end]).collect()
    }

    /// Cuts the words of a line. `each` is called for every piece with the number of its word.
    pub fn apply(&self, line: &str, out: &mut String, mut each: impl FnMut(usize)) {
        let (mut number, begin) = (0, out.len());
        walk(line, false, |word, _, start| {
            let mut push = |text: &str, more: bool| {
                if out.len() > begin {
                    out.push(' ');
                }
                out.push_str(text);
                out.push_str(if more { MARK } else { "" });
                each(number);
            };
            if let Some(head) = word.strip_suffix(MARK).map(|head| head.len() + 1) {
                // Not to be taken for a piece.
                push(&word[..head], true);
                push(&word[head..], false);
            } else if !is_cuttable(word) || self.is_name(word, start) {
                push(word, false);
            } else {
                let parts = self.cut(word);
                for (at, part) in parts.iter().enumerate() {
                    push(part, at + 1 < parts.len());
                }
            }
            number += 1;
        });
    }

    /// Whether a word is a name that the text had not.
    fn is_name(&self, word: &str, start: bool) -> bool {
        !start && is_capital(word) && self.names.as_ref().is_some_and(|names| !names.contains(word))
    }

    /// Writes the joins and the names to a file that appears when it is whole.
    pub fn write(&self, path: &str) -> Result<()> {
        let mut out = Output::create(path)?;
        out.write(if self.names.is_some() { WHOLE } else { CUT }.as_bytes())?;
        out.write(b"\n")?;
        for &(left, right) in &self.pairs {
            let line = format!("{} {}\n", self.symbols[left as usize], self.symbols[right as usize]);
            out.write(line.as_bytes())?;
        }
        let mut names: Vec<&String> = self.names.iter().flatten().collect();
        names.sort_unstable();
        for name in names {
            out.write(name.as_bytes())?;
            out.write(b"\n")?;
        }
        out.finish()
    }

    /// Reads what `write` wrote, or the codes of subword-nmt.
    pub fn read(path: &str) -> Result<Self> {
        let mut lines = Lines::open(path)?;
        let (mut pieces, mut number) = (Self::default(), 0);
        while let Some(line) = lines.next()? {
            number += 1;
            if number == 1 && line.starts_with('#') {
                pieces.names = (line == WHOLE).then(FxHashSet::default);
                if line == WHOLE || line == CUT || line.starts_with("#version") {
                    continue;
                }
            }
            let wrong = || Error::format(path, number, "two pieces that are joined, or a name", line);
            let parts: Vec<&str> = words(line).collect();
            match parts[..] {
                [left, right] if !left.ends_with(END) && right != END => {
                    let pair = (pieces.id(left), pieces.id(right));
                    if pieces.made.contains_key(&pair) {
                        return Err(wrong());
                    }
                    pieces.add(pair);
                }
                [name] => {
                    pieces.names.as_mut().ok_or_else(wrong)?.insert(name.to_owned());
                }
                _ => return Err(wrong()),
            }
        }
        Ok(pieces)
    }
}

/// Joins the pieces of a line.
pub fn join_pieces(line: &str, out: &mut String) {
    let mut gap = "";
    for piece in words(line) {
        out.push_str(gap);
        let head = piece.strip_suffix(MARK);
        out.push_str(head.unwrap_or(piece));
        gap = if head.is_some() { "" } else { " " };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn learnt(lines: &[&str], size: usize) -> Pieces {
        let mut counter = PieceCounter::default();
        for line in lines {
            counter.line(line);
        }
        counter.finish(size)
    }

    fn cut(pieces: &Pieces, line: &str) -> String {
        let mut out = String::new();
        pieces.apply(line, &mut out, |_| ());
        out
    }

    fn join(line: &str) -> String {
        let mut out = String::new();
        join_pieces(line, &mut out);
        out
    }

    /// The first join that can be made, until there is none.
    fn slow_cut(row: &mut Vec<String>, joins: &[(String, String)]) {
        let there = |row: &[String], join: &(String, String)| {
            row.windows(2).any(|two| two[0] == join.0 && two[1] == join.1)
        };
        while let Some((left, right)) = joins.iter().find(|join| there(row, join)) {
            let mut at = 0;
            while at + 1 < row.len() {
                if row[at] == *left && row[at + 1] == *right {
                    row[at] = format!("{left}{right}");
                    row.remove(at + 1);
                }
                at += 1;
            }
        }
    }

    /// Joins by counting everything anew each time, over strings: slow, and plain to read.
    fn slow(lines: &[&str], size: usize) -> Vec<(String, String)> {
        let mut rows: Vec<Vec<String>> = Vec::new();
        let mut seen: Vec<String> = Vec::new();
        let mut all: Vec<&str> = lines.iter().flat_map(|line| line.split(' ')).collect();
        all.sort_unstable();
        for word in all.into_iter().filter(|word| is_cuttable(word)) {
            let mut row: Vec<String> = word.chars().map(String::from).collect();
            *row.last_mut().unwrap() += END;
            seen.extend(row.iter().cloned());
            rows.push(row);
        }
        let mut order: Vec<String> = Vec::new();
        for symbol in seen {
            if !order.contains(&symbol) {
                order.push(symbol);
            }
        }
        let mut joins = Vec::new();
        while order.len() < size {
            let place = |symbol: &String| order.iter().position(|known| known == symbol).unwrap();
            let mut counts = std::collections::BTreeMap::<(usize, usize), u64>::new();
            for two in rows.iter().flat_map(|row| row.windows(2)) {
                *counts.entry((place(&two[0]), place(&two[1]))).or_default() += 1;
            }
            let Some((&(a, b), &count)) =
                counts.iter().max_by(|x, y| x.1.cmp(y.1).then_with(|| y.0.cmp(x.0)))
            else {
                break;
            };
            if count < RARE {
                break;
            }
            joins.push((order[a].clone(), order[b].clone()));
            let made = format!("{}{}", order[a], order[b]);
            if !order.contains(&made) {
                order.push(made);
            }
            for row in &mut rows {
                slow_cut(row, &joins);
            }
        }
        joins
    }

    #[test]
    fn by_hand() {
        // The words of the paper: e s and es t 9 times, l o 7, then w est, e west and n ewest 6, lo w 5.
        let text =
            [["low"; 5].join(" "), ["lower"; 2].join(" "), ["newest"; 6].join(" "), ["widest"; 3].join(" ")];
        let lines: Vec<&str> = text.iter().map(String::as_str).collect();
        let pieces = learnt(&lines, 18);
        let shown: Vec<String> = pieces
            .pairs
            .iter()
            .map(|&(a, b)| format!("{} {}", pieces.symbols[a as usize], pieces.symbols[b as usize]))
            .collect();
        assert_eq!(shown, ["e s", "es t</w>", "l o", "w est</w>", "e west</w>", "n ewest</w>", "lo w</w>"]);
        assert_eq!(
            cut(&pieces, "lowest newer low 3.5 x@@ @@"),
            "lo@@ west n@@ e@@ w@@ e@@ r low 3.5 x@@@ @ @@@ @"
        );
        assert_eq!(join("lo@@ west n@@ e@@ w@@ e@@ r low 3.5 x@@@ @ @@@ @"), "lowest newer low 3.5 x@@ @@");
        assert_eq!(join("a@@"), "a");
    }

    #[test]
    fn numbers_and_new_names_stay_whole() {
        let text = "er aß mit Anna und ging mit Anna und aß und ging und nahm mit ihm und aß mit ihm .";
        let pieces = learnt(&[text, text], 20);
        assert!(pieces.names.as_ref().unwrap().contains("Anna"));
        let line = cut(&pieces, "mit Hannan und 3.14 und 12.5.2010 a@b.de Xaver . Mitunter");
        assert!(line.contains("Hannan und 3.14 und 12.5.2010 a@b.de Xaver . M"), "{line}");
        assert!(line.ends_with('r') && line.contains("@@ "), "{line}");
        assert!(!cut(&pieces, "und Anna").ends_with(" Anna"));
        // Where many words have capitals, these say nothing.
        let german = learnt(&["der Mann sah den Hund und den Ball"], 14);
        assert!(german.names.is_none() && cut(&german, "der Manndund").contains("@@"));
    }

    #[test]
    fn marks_stay_with_their_letters() {
        let pieces = learnt(&["a"], 1);
        assert_eq!(cut(&pieces, "e\u{301}te\u{301}"), "e\u{301}@@ t@@ e\u{301}");
    }

    #[test]
    fn files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pieces").to_str().unwrap().to_owned();
        let text = "wir sahen Anna und Hanna und sahen wir und er und sie und man und wir";
        let pieces = learnt(&[text], 30);
        assert!(!pieces.is_empty() && !pieces.names.as_ref().unwrap().is_empty());
        pieces.write(&path).unwrap();
        let read = Pieces::read(&path).unwrap();
        assert_eq!((read.len(), &read.names), (pieces.len(), &pieces.names));
        assert_eq!(cut(&read, "wir und Hanna sahen Annas"), cut(&pieces, "wir und Hanna sahen Annas"));
        for bad in [
            "a b\na b c\n",
            "a b\n\n",
            "a b\na b\n",
            "a b\na</w> b\n",
            "a b\na </w>\n",
            "#pieces names=cut\na\n",
        ] {
            std::fs::write(&path, bad).unwrap();
            assert!(
                Pieces::read(&path).unwrap_err().to_string().contains("pieces:2: expected two pieces"),
                "{bad}"
            );
        }
        std::fs::write(&path, "#version: 0.2\na b</w>\n").unwrap();
        assert_eq!(cut(&Pieces::read(&path).unwrap(), "ab aab"), "ab a@@ ab");
    }

    proptest! {
        #[test]
        fn as_the_slow_version(
            lines in prop::collection::vec("([ab]{1,9} ){1,6}[abc]{1,9}", 1..6),
            size in 0..60_usize,
            others in prop::collection::vec("[abcd]{1,12}", 5),
        ) {
            let lines: Vec<String> =
                lines.iter().map(|line| words(line).collect::<Vec<_>>().join(" ")).filter(|l| !l.is_empty()).collect();
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let pieces = learnt(&lines, size);
            let name = |id: u32| pieces.symbols[id as usize].clone();
            let found: Vec<_> = pieces.pairs.iter().map(|&(a, b)| (name(a), name(b))).collect();
            prop_assert_eq!(&found, &slow(&lines, size));
            for word in others {
                let mut row: Vec<String> = word.chars().map(String::from).collect();
                *row.last_mut().unwrap() += END;
                slow_cut(&mut row, &found);
                let last = row.last_mut().unwrap();
                last.truncate(last.len() - END.len());
                prop_assert_eq!(pieces.cut(&word), row);
            }
        }

        #[test]
        fn every_line_comes_back(line in "([a-cA-B@'.é-]{1,6} ?){0,8}", text in "([a-c ]{1,30})") {
            let pieces = learnt(&[&text], 12);
            let plain: Vec<&str> = words(&line).collect();
            let mut owners = Vec::new();
            let mut out = String::new();
            pieces.apply(&line, &mut out, |word| owners.push(word));
            prop_assert_eq!(join(&out), plain.join(" "));
            // Each piece says whose it is.
            prop_assert_eq!(owners.len(), words(&out).count());
            let mut back = vec![String::new(); plain.len()];
            for (&owner, piece) in owners.iter().zip(words(&out)) {
                let goes_on = owners.iter().filter(|&&other| other == owner).count() > 1;
                back[owner] += if goes_on { piece.strip_suffix(MARK).unwrap_or(piece) } else { piece };
            }
            prop_assert_eq!(back, plain);
        }
    }
}
