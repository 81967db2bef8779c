//! What a sentence's translation is judged together with, and what its gain is counted in.
//!
//! One sentence's BLEU says little about a corpus's: whether a word more or less helps depends on how long the other
//! translations are. So candidates are put in the place of a sentence in the corpus, or on top of a decaying sum.

use super::choose::Feed;

/// What a candidate's statistics are added to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Context {
    /// Sum of statistics.
    pub row: Vec<f64>,
    /// Number of sentences in it.
    pub count: f64,
}

impl Context {
    /// Nothing: candidates are judged alone.
    pub fn nothing(width: usize) -> Self {
        Self { row: vec![0.0; width], count: 0.0 }
    }

    /// Adds `factor` times a row.
    pub fn add(&mut self, row: &[f64], factor: f64) {
        self.row.iter_mut().zip(row).for_each(|(total, x)| *total += factor * x);
    }
}

/// What scores are multiplied by, so that a change in one sentence has a fixed size. It is one factor for all candidates
/// of a sentence: with several references the closest length is not the same for all of them, and a candidate is worth
/// no more for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// 1: the score of the whole context.
    Score,
    /// The number of sentences in the context, this one included: a gain between 0 and 1 for each sentence.
    Sentence,
    /// This statistic of the context and the 1-best candidate, e.g. the reference length in words (Cherry & Foster 2012).
    Statistic(usize),
}

impl Unit {
    /// The factor for a context, where `best` are the statistics of the sentence's 1-best candidate.
    pub fn factor(self, context: &Context, best: &[f64]) -> f64 {
        self.of(context.count, |k| context.row[k] + best[k])
    }

    /// The factor for so many other sentences and the statistics of them and the 1-best candidate.
    pub fn of(self, others: f64, total: impl Fn(usize) -> f64) -> f64 {
        match self {
            Self::Score => 1.0,
            Self::Sentence => others + 1.0,
            Self::Statistic(k) => total(k),
        }
    }
}

/// Where the contexts of sentences come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Around {
    /// There are none: every sentence is judged alone.
    Alone {
        /// Number of statistics.
        width: usize,
    },
    /// A decaying sum of earlier oracles.
    Background {
        /// The sum.
        sum: Context,
        /// What is left of it when a candidate is added.
        decay: f64,
        /// Which candidate that is.
        feed: Feed,
    },
    /// The sentences' latest 1-best candidates, of which one is replaced.
    Corpus {
        /// Their sum.
        total: Context,
        /// The statistics of each; a sentence that is not in the sum has none.
        rows: Vec<Option<Vec<f64>>>,
        /// Whether a new one takes the place of the old at once, or when the pass is over.
        latest: bool,
    },
}

impl Around {
    /// A corpus of some rows.
    pub fn corpus(rows: Vec<Option<Vec<f64>>>, width: usize, latest: bool) -> Self {
        let mut total = Context::nothing(width);
        for row in rows.iter().flatten() {
            total.add(row, 1.0);
            total.count += 1.0;
        }
        Self::Corpus { total, rows, latest }
    }

    /// Whether sentences are judged alone.
    pub fn alone(&self) -> bool {
        matches!(self, Self::Alone { .. })
    }

    /// What the statistics of a candidate of sentence `s` are added to.
    pub fn others(&self, s: usize) -> Context {
        match self {
            Self::Alone { width } => Context::nothing(*width),
            Self::Background { sum, .. } => sum.clone(),
            Self::Corpus { total, rows, .. } => {
                let mut others = total.clone();
                if let Some(row) = &rows[s] {
                    others.add(row, -1.0);
                    others.count -= 1.0;
                }
                others
            }
        }
    }

    /// Takes in the statistics of a sentence's 1-best candidate, and of its oracle if that had a larger gain.
    pub fn saw(&mut self, s: usize, best: &[f64], oracle: Option<&[f64]>) {
        match self {
            Self::Background { sum, decay, feed } => {
                let Some(oracle) = oracle else { return };
                sum.row.iter_mut().for_each(|x| *x *= *decay);
                sum.add(if *feed == Feed::Oracle { oracle } else { best }, 1.0);
                sum.count = sum.count * *decay + 1.0;
            }
            Self::Corpus { total, rows, latest: true } => {
                match &mut rows[s] {
                    Some(row) => total.add(row, -1.0),
                    None => total.count += 1.0,
                }
                total.add(best, 1.0);
                rows[s] = Some(best.to_vec());
            }
            Self::Alone { .. } | Self::Corpus { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corpus_without_one_sentence() {
        let rows = vec![Some(vec![3.0, 4.0]), None, Some(vec![5.0, 6.0]), Some(vec![1.0, 2.0])];
        let mut around = Around::corpus(rows, 2, true);
        assert_eq!(around.others(0), Context { row: vec![6.0, 8.0], count: 2.0 });
        assert_eq!(around.others(1), Context { row: vec![9.0, 12.0], count: 3.0 });
        assert_eq!(Unit::Statistic(1).factor(&around.others(0), &[9.0, 7.0]), 15.0);
        assert_eq!(Unit::Sentence.factor(&around.others(0), &[9.0, 7.0]), 3.0);
        around.saw(0, &[9.0, 7.0], None);
        assert_eq!(around.others(2).row, [10.0, 9.0]);
        around.saw(1, &[1.0, 1.0], None);
        assert_eq!(around.others(2), Context { row: vec![11.0, 10.0], count: 3.0 });
        let mut frozen = Around::corpus(vec![Some(vec![1.0])], 1, false);
        frozen.saw(0, &[5.0], Some(&[7.0]));
        assert_eq!(frozen, Around::corpus(vec![Some(vec![1.0])], 1, false));
    }

    #[test]
    fn a_background_takes_in_oracles() {
        let sum = Context { row: vec![1.0], count: 0.0 };
        let mut around = Around::Background { sum, decay: 0.5, feed: Feed::Oracle };
        around.saw(2, &[9.0], None);
        assert_eq!(around.others(0).row, [1.0], "no oracle, nothing is added");
        around.saw(0, &[9.0], Some(&[8.0]));
        assert_eq!(around.others(0), Context { row: vec![8.5], count: 1.0 });
        let sum = Context { row: vec![1.0], count: 2.0 };
        let mut model = Around::Background { sum, decay: 0.5, feed: Feed::Model };
        model.saw(0, &[9.0], Some(&[8.0]));
        assert_eq!(model.others(0), Context { row: vec![9.5], count: 2.0 });
    }
}
