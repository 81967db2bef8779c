//! Word translation probabilities by counting links, and the lexical weights of phrase pairs (Koehn, Och and Marcu
//! 2003, equation 4).

use super::bitext::Sentence;
use dragoman_base::frames::{damaged, open_all, seal};
use dragoman_base::io::Output;
use dragoman_base::{Names, Result};
use rustc_hash::FxHashMap;

/// The word that unaligned words are linked to.
const NULL: u32 = u32::MAX;

/// cdec's cost of a word without any translation.
const MOST_COST: f64 = 99.0;

/// How often words are linked.
#[derive(Debug, Default)]
pub struct Lexicon {
    pairs: FxHashMap<(u32, u32), u32>,
    source: Vec<u64>,
    target: Vec<u64>,
    /// Unaligned target words and unaligned source words.
    null: [u64; 2],
    /// Symbols of source and target with smaller ids are gaps, which weigh nothing.
    gaps: (u32, u32),
}

fn count(counts: &mut Vec<u64>, word: u32) {
    let word = word as usize;
    if word >= counts.len() {
        counts.resize(word + 1, 0);
    }
    counts[word] += 1;
}

impl Lexicon {
    /// An empty lexicon; the first ids of source and target are those of gaps.
    pub fn new(gaps: (u32, u32)) -> Self {
        Self { gaps, ..Self::default() }
    }

    /// As bytes, for another process.
    pub fn to_bytes(&self) -> Vec<u8> {
        let pairs = self.pairs.iter().flat_map(|(&(source, target), &count)| [source, target, count]);
        let pairs: Vec<u8> = pairs.flat_map(u32::to_le_bytes).collect();
        let gaps = [self.gaps.0, self.gaps.1].map(u64::from);
        let counts = [&self.source[..], &self.target, &self.null, &gaps];
        let counts = counts.map(|counts| counts.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>());
        seal(&[&[pairs][..], &counts].concat())
    }

    /// The lexicon of these bytes.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self> {
        let [pairs, counts @ ..] = open_all::<5>(bytes)?;
        let read = |bytes: &[u8]| -> Vec<u64> {
            bytes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect()
        };
        let [source, target, null, gaps] = counts.map(read);
        let (&[null_source, null_target], &[a, b]) = (&null[..], &gaps[..]) else { return Err(damaged()) };
        let pairs = pairs.as_chunks::<12>().0.iter().map(|bytes| {
            let [source, target, count] = [0, 4, 8]
                .map(|at| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]));
            ((source, target), count)
        });
        let null = [null_source, null_target];
        Ok(Self { pairs: pairs.collect(), source, target, null, gaps: (a as u32, b as u32) })
    }

    fn link(&mut self, source: u32, target: u32) {
        *self.pairs.entry((source, target)).or_default() += 1;
        match source {
            NULL => self.null[0] += 1,
            _ => count(&mut self.source, source),
        }
        match target {
            NULL => self.null[1] += 1,
            _ => count(&mut self.target, target),
        }
    }

    /// Counts the links of a sentence pair; unaligned words are linked to the null word of the other side.
    pub fn add(&mut self, sentence: Sentence<'_>) {
        let mut linked = (vec![false; sentence.source.len()], vec![false; sentence.target.len()]);
        for &[i, j] in sentence.links {
            let (i, j) = (usize::from(i), usize::from(j));
            (linked.0[i], linked.1[j]) = (true, true);
            self.link(sentence.source[i], sentence.target[j]);
        }
        let free = |words: &[u32], linked: &[bool]| -> Vec<u32> {
            words.iter().zip(linked).filter(|(_, linked)| !**linked).map(|(word, _)| *word).collect()
        };
        for word in free(sentence.source, &linked.0) {
            self.link(word, NULL);
        }
        for word in free(sentence.target, &linked.1) {
            self.link(NULL, word);
        }
    }

    fn count(&self, source: u32, target: u32) -> f64 {
        self.pairs.get(&(source, target)).copied().map_or(0.0, f64::from)
    }

    /// Probability of the target word given the source word, by relative frequency.
    fn forward(&self, source: u32, target: u32) -> f64 {
        let total = if source == NULL { self.null[0] } else { self.source[source as usize] };
        self.count(source, target) / total as f64
    }

    /// Probability of the source word given the target word.
    fn backward(&self, source: u32, target: u32) -> f64 {
        let total = if target == NULL { self.null[1] } else { self.target[target as usize] };
        self.count(source, target) / total as f64
    }

    /// Lexical weight of the target phrase given the source phrase: for each target word the mean over its links.
    pub fn weigh_target(&self, source: &[u32], target: &[u32], links: &[[u8; 2]]) -> f64 {
        let words = target.iter().enumerate().filter(|(_, word)| **word >= self.gaps.1);
        let each = words.map(|(j, &word)| {
            let linked = links.iter().filter(|link| usize::from(link[1]) == j);
            let (sum, count) = linked
                .fold((0.0, 0.0), |(s, n), l| (s + self.forward(source[usize::from(l[0])], word), n + 1.0));
            if count == 0.0 { self.forward(NULL, word) } else { sum / count }
        });
        each.product()
    }

    /// Lexical weight of the source phrase given the target phrase.
    pub fn weigh_source(&self, source: &[u32], target: &[u32], links: &[[u8; 2]]) -> f64 {
        let words = source.iter().enumerate().filter(|(_, word)| **word >= self.gaps.0);
        let each = words.map(|(i, &word)| {
            let linked = links.iter().filter(|link| usize::from(link[0]) == i);
            let (sum, count) = linked
                .fold((0.0, 0.0), |(s, n), l| (s + self.backward(word, target[usize::from(l[1])]), n + 1.0));
            if count == 0.0 { self.backward(word, NULL) } else { sum / count }
        });
        each.product()
    }

    /// cdec's lexical costs, of the source given the target and of the target given the source: for each word the best
    /// translation, the null word among them; negative decimal logarithms.
    pub fn best_costs(&self, source: &[u32], target: &[u32]) -> (f64, f64) {
        let words = |side: &[u32], gaps: u32| -> Vec<u32> {
            side.iter().copied().filter(|word| *word >= gaps).chain([NULL]).collect()
        };
        let (source, target) = (words(source, self.gaps.0), words(target, self.gaps.1));
        let cost = |best: f64| if best > 0.0 { -best.log10() } else { MOST_COST };
        let of_source = source[..source.len() - 1].iter().map(|&word| {
            cost(
                target
                    .iter()
                    .map(|&given| self.backward(word, given))
                    .filter(|p| p.is_finite())
                    .fold(0.0, f64::max),
            )
        });
        let of_target = target[..target.len() - 1].iter().map(|&word| {
            cost(
                source
                    .iter()
                    .map(|&given| self.forward(given, word))
                    .filter(|p| p.is_finite())
                    .fold(0.0, f64::max),
            )
        });
        (of_source.sum(), of_target.sum())
    }

    /// Writes Moses' two files: `<prefix>.f2e` with lines `target source p(target|source)`, and `<prefix>.e2f` with
    /// lines `source target p(source|target)`; packed if the ending says so.
    pub fn write(&self, prefix: &str, ending: &str, source: &Names, target: &Names) -> Result<()> {
        let mut pairs: Vec<(u32, u32)> = self.pairs.keys().copied().collect();
        pairs.sort_unstable();
        let name =
            |names: &Names, id: u32| if id == NULL { "NULL".to_owned() } else { names.name(id).to_owned() };
        for forward in [true, false] {
            let mut out =
                Output::create(&format!("{prefix}.{}{ending}", if forward { "f2e" } else { "e2f" }))?;
            for &(s, t) in &pairs {
                let (f, e) = (name(source, s), name(target, t));
                let line = if forward {
                    format!("{e} {f} {:.7}\n", self.forward(s, t))
                } else {
                    format!("{f} {e} {:.7}\n", self.backward(s, t))
                };
                out.write(line.as_bytes())?;
            }
            out.finish()?;
        }
        Ok(())
    }
}
