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

#[cfg(test)]
mod tests {
    use super::*;

    fn row(metric: Ter, hyp: &str, refs: &[&str]) -> [f64; 2] {
        let mut row = [0.0; 2];
        metric.digest(refs).statistics(hyp, &mut row);
        row
    }

    /// Hypothesis, reference, edits: what sacreBLEU 2.6.0 counts.
    const GOLDEN: [(&str, &str, f64); 22] = [
        ("", "", 0.0),
        ("a b", "", 2.0),
        ("", "a b c", 3.0),
        ("a b c d", "a b c d", 0.0),
        ("d a b c", "a b c d", 1.0),
        ("c d a b", "a b c d", 1.0),
        ("d c b a", "a b c d", 3.0),
        ("the cat sat on mat the", "on the mat sat the cat", 3.0),
        ("a a a b", "b a a a", 1.0),
        ("a b a b a b", "b a b a b a x", 2.0),
        ("e c c e a d a b", "e c c e a d b a", 1.0),
        ("e a e b a b b d c", "e a e b a b d c", 1.0),
        ("a d b b b a e e", "a b e e d b b a", 2.0),
        ("c c c d c b d d b a", "c c c d c b d d b a", 0.0),
        ("e d d e a d a b e c", "e d c d e a d a b e", 1.0),
        ("e b c a a e c e c d c", "e c e c d a e c c a", 3.0),
        ("c c b a b d b a a e e d a", "c c b a b c d b a a e e d a", 1.0),
        ("c d b a a d c b b e b d a d", "c d d b a a d c b b e b d a", 1.0),
        ("d d c b d e b e d c d d c c d", "d c b d e b e d d c d c c d", 2.0),
        ("c b a d c e e e c e c a c e a c c d a c", "c b a d c e e e c a c e a c c e c d c c", 2.0),
        ("b c e d c c c c c c d d e b e b b c c", "c d c e c c c c d c b d c c e b e b b c", 5.0),
        ("d b b a b a c b d b e d d c d e a e b", "d b b a b a c b d b e a d d c d e a e b", 1.0),
    ];

    #[test]
    fn golden_edits() {
        for (hyp, reference, edits) in GOLDEN {
            let words = reference.split_whitespace().count() as f64;
            assert_eq!(row(Ter::default(), hyp, &[reference]), [edits, words], "{hyp} / {reference}");
        }
    }

    /// Long enough for the band, the greatest shift and the end of the search to matter; sacreBLEU counts the same.
    #[test]
    fn golden_edits_at_the_limits() {
        let line = |words: &mut dyn Iterator<Item = usize>| {
            words.map(|w| w.to_string()).collect::<Vec<_>>().join(" ")
        };
        let edits = |hyp: &str, reference: &str| row(Ter::default(), hyp, &[reference])[EDITS];
        let scattered = line(&mut (0..60).map(|i| i * 7 % 60));
        assert_eq!(edits(&scattered, &line(&mut (0..60))), 54.0);
        let (twos, threes) = (line(&mut (0..70).map(|i| i % 2)), line(&mut (0..62).map(|i| i % 3 % 2)));
        assert_eq!(edits(&twos, &threes), 20.0);
        assert_eq!(
            edits(&line(&mut (40..100)), &line(&mut (60..100).chain(0..60))),
            91.0,
            "ten words at most"
        );
        assert_eq!(
            edits(&line(&mut (100..160).chain(0..1)), &line(&mut (0..1).chain(100..160))),
            2.0,
            "too far"
        );
        assert_eq!(
            edits(&line(&mut (100..148).chain(0..1)), &line(&mut (0..1).chain(100..148))),
            1.0,
            "not too far"
        );
        assert_eq!(edits(&line(&mut (0..90)), &line(&mut (30..120))), 90.0, "beyond the band");
        assert_eq!(edits(&line(&mut (0..3)), &line(&mut (0..200))), 200.0, "a wider band");
    }

    #[test]
    fn fewest_edits_and_mean_length() {
        let refs = ["a b c d e f", "a x", "a b c"];
        assert_eq!(row(Ter::default(), "a b d", &refs), [1.0, 11.0 / 3.0]);
        assert_eq!(row(Ter::default(), "a b d", &["", "q r"]), [3.0, 1.0]);
    }

    #[test]
    fn options_reach_the_tokeniser() {
        assert_eq!(row(Ter::default(), "A b.", &["a b ."])[EDITS], 2.0);
        let normalized = Tercom { normalized: true, ..Tercom::default() };
        assert_eq!(row(Ter { tokenizer: normalized }, "A b.", &["a b ."])[EDITS], 0.0);
        let cased = Tercom { case_sensitive: true, ..normalized };
        assert_eq!(row(Ter { tokenizer: cased }, "A b.", &["a b ."])[EDITS], 1.0);
    }

    #[test]
    fn scores_of_sums() {
        let ter = Ter::default();
        assert_eq!(ter.score(&[3.0, 12.0]), 25.0);
        assert_eq!((ter.score(&[0.0, 0.0]), ter.score(&[2.0, 0.0])), (0.0, 100.0));
    }
}
