//! Word error rate: insertions, deletions and substitutions per reference word (Levenshtein 1966).

use crate::ngrams::Words;
use crate::tokenize::{Tokenizer, split};
use crate::{Metric, Reference};

/// Word error rate and its options.
///
/// A row is (edits, reference words), both of the reference with the lowest edit rate; of equals, the first.
/// Lower is better, and a score may pass 100.
///
/// An empty reference has no rate. It counts no words in the row, so that its edits weigh on the words of the
/// other sentences. To compare rates, and if a whole sum has no words, it counts as one word: an empty
/// hypothesis then scores 0, any other 100 for each of its words.
#[derive(Debug, Clone)]
pub struct Wer {
    /// How lines become words.
    pub tokenizer: Tokenizer,
    /// Compare lower-cased text.
    pub lowercase: bool,
}

const EDITS: usize = 0;
const WORDS: usize = 1;

impl Metric for Wer {
    fn width(&self) -> usize {
        2
    }

    fn digest(&self, references: &[&str]) -> Box<dyn Reference> {
        let mut vocabulary = Words::default();
        let references = references
            .iter()
            .map(|reference| {
                let line = self.tokenizer.prepare(reference, self.lowercase);
                split(&line).map(|word| Some(vocabulary.intern(word))).collect()
            })
            .collect();
        Box::new(Digest { wer: self.clone(), vocabulary, references })
    }

    fn score(&self, row: &[f64]) -> f64 {
        100.0 * row[EDITS] / if row[WORDS] > 0.0 { row[WORDS] } else { 1.0 }
    }
}

struct Digest {
    wer: Wer,
    vocabulary: Words,
    references: Vec<Vec<Option<u32>>>,
}

impl Reference for Digest {
    fn statistics(&self, hypothesis: &str, row: &mut [f64]) {
        let line = self.wer.tokenizer.prepare(hypothesis, self.wer.lowercase);
        let hyp: Vec<Option<u32>> = split(&line).map(|word| self.vocabulary.get(word)).collect();
        let mut best = None;
        for reference in &self.references {
            let edits = distance(&hyp, reference);
            let words = reference.len().max(1);
            // edits / words < e / w, without rounding
            if best.is_none_or(|(e, w)| edits * w < e * words) {
                best = Some((edits, words));
                row[EDITS] = edits as f64;
                row[WORDS] = reference.len() as f64;
            }
        }
    }
}

/// The least number of words to insert, delete or substitute to turn `a` into `b`.
///
/// `None` is a word that no reference has, which only ever stands in `a` and equals nothing.
fn distance(a: &[Option<u32>], b: &[Option<u32>]) -> usize {
    let start = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[start..], &b[start..]);
    let end = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[..a.len() - end], &b[..b.len() - end]);
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WER: Wer = Wer { tokenizer: Tokenizer::None, lowercase: false };

    fn row(metric: &Wer, hyp: &str, refs: &[&str]) -> [f64; 2] {
        let mut row = [0.0; 2];
        metric.digest(refs).statistics(hyp, &mut row);
        row
    }

    /// The definition: the last word is kept, substituted, deleted or inserted.
    fn slow(a: &[String], b: &[String]) -> usize {
        let (Some((x, a_rest)), Some((y, b_rest))) = (a.split_last(), b.split_last()) else {
            return a.len() + b.len();
        };
        let pair = slow(a_rest, b_rest) + usize::from(x != y);
        pair.min(slow(a_rest, b) + 1).min(slow(a, b_rest) + 1)
    }

    proptest! {
        #[test]
        fn statistics_equal_the_definition(
            hyp in prop::collection::vec("[a-c]", 0..6),
            refs in prop::collection::vec(prop::collection::vec("[a-c]", 0..6), 1..4),
        ) {
            let rate = |r: &Vec<String>| slow(&hyp, r) as f64 / r.len().max(1) as f64;
            let best = refs.iter().fold(&refs[0], |best, r| if rate(r) < rate(best) { r } else { best });
            let lines: Vec<String> = refs.iter().map(|r| r.join(" ")).collect();
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            prop_assert_eq!(row(&WER, &hyp.join(" "), &lines), [slow(&hyp, best) as f64, best.len() as f64]);
        }
    }

    #[test]
    fn options_and_ends() {
        assert_eq!(row(&WER, "A b x c", &["a b c d"]), [3.0, 4.0]);
        assert_eq!(row(&Wer { lowercase: true, ..WER }, "A b x c", &["a b c d"]), [2.0, 4.0]);
        assert_eq!(row(&Wer { tokenizer: Tokenizer::V13a, ..WER }, "a, b.", &["a , b !"]), [1.0, 4.0]);
        assert_eq!(row(&WER, "a b", &["a b c", "x y", "c b"]), [1.0, 3.0], "lowest rate, not fewest edits");
        assert_eq!(WER.score(&[3.0, 4.0]), 75.0);
    }

    #[test]
    fn empty_references() {
        assert_eq!(row(&WER, "", &[""]), [0.0, 0.0]);
        assert_eq!(row(&WER, "a b", &[""]), [2.0, 0.0]);
        assert_eq!(row(&WER, "a b", &["", "x y z"]), [3.0, 3.0], "a rate of 1 beats 2 words for none");
        assert_eq!((WER.score(&[0.0, 0.0]), WER.score(&[2.0, 0.0])), (0.0, 200.0));
    }
}
