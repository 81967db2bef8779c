//! Translation edit rate (Snover et al. 2006): edits and shifts of blocks of words per reference word.

mod distance;
mod shift;

use crate::ngrams::Words;
use crate::tokenize::{Tercom, is_space, split};
use crate::{Metric, Reference};

/// TER, the same number as sacreBLEU's (which follows Tercom but for extreme inputs).
///
/// A row is (edits, reference words): the fewest edits against any reference, and the mean length of the
/// references. Lower is better, and a score may pass 100. If a sum has no reference words, its score is 0
/// without edits and 100 with.
#[derive(Debug, Clone, Default)]
pub struct Ter {
    /// How lines become words; see [`Tercom`] for its four switches.
    pub tokenizer: Tercom,
}

const EDITS: usize = 0;
const WORDS: usize = 1;

/// A hypothesis's word that no reference has.
const UNKNOWN: u32 = u32::MAX;

impl Ter {
    fn prepare(&self, line: &str) -> String {
        self.tokenizer.apply(line.trim_end_matches(is_space))
    }
}

impl Metric for Ter {
    fn width(&self) -> usize {
        2
    }

    fn digest(&self, references: &[&str]) -> Box<dyn Reference> {
        let mut vocabulary = Words::default();
        let references = references
            .iter()
            .map(|reference| split(&self.prepare(reference)).map(|word| vocabulary.intern(word)).collect())
            .collect();
        Box::new(Digest { ter: self.clone(), vocabulary, references })
    }

    fn score(&self, row: &[f64]) -> f64 {
        if row[WORDS] > 0.0 {
            100.0 * (row[EDITS] / row[WORDS])
        } else if row[EDITS] > 0.0 {
            100.0
        } else {
            0.0
        }
    }
}

struct Digest {
    ter: Ter,
    vocabulary: Words,
    references: Vec<Vec<u32>>,
}

impl Reference for Digest {
    fn statistics(&self, hypothesis: &str, row: &mut [f64]) {
        let line = self.ter.prepare(hypothesis);
        let hyp: Vec<u32> = split(&line).map(|word| self.vocabulary.get(word).unwrap_or(UNKNOWN)).collect();
        let edits = self.references.iter().map(|reference| shift::edits(&hyp, reference)).min();
        let words: usize = self.references.iter().map(Vec::len).sum();
        row[EDITS] = f64::from(edits.unwrap_or(0));
        row[WORDS] = words as f64 / self.references.len().max(1) as f64;
    }
}
