//! A weighted sum of metrics, on their statistics side by side; and the mean of numbers that came with hypotheses.

use crate::{Metric, Reference};
use std::sync::Arc;

/// `Σ factor · score` over the parts.
pub struct Combined {
    /// What each part's score is multiplied with.
    pub parts: Vec<(f64, Arc<dyn Metric>)>,
}

impl Metric for Combined {
    fn width(&self) -> usize {
        self.parts.iter().map(|(_, part)| part.width()).sum()
    }

    fn digest(&self, references: &[&str]) -> Box<dyn Reference> {
        let digest = |(_, part): &(f64, Arc<dyn Metric>)| (part.width(), part.digest(references));
        Box::new(SideBySide(self.parts.iter().map(digest).collect()))
    }

    fn score(&self, row: &[f64]) -> f64 {
        let mut rest = row;
        let mut sum = 0.0;
        for (factor, part) in &self.parts {
            let (own, others) = rest.split_at(part.width());
            sum += factor * part.score(own);
            rest = others;
        }
        sum
    }

    fn parts(&self) -> &[(f64, Arc<dyn Metric>)] {
        &self.parts
    }
}

/// The references of each part, with its width.
struct SideBySide(Vec<(usize, Box<dyn Reference>)>);

impl Reference for SideBySide {
    fn statistics(&self, hypothesis: &str, row: &mut [f64]) {
        let mut rest = row;
        for (width, part) in &self.0 {
            let (own, others) = rest.split_at_mut(*width);
            part.statistics(hypothesis, own);
            rest = others;
        }
    }
}

/// The mean of a number that came with each hypothesis. A row is: the number, and 1.
pub struct Mean;

impl Metric for Mean {
    fn width(&self) -> usize {
        2
    }

    fn digest(&self, _references: &[&str]) -> Box<dyn Reference> {
        Box::new(Unknown)
    }

    fn score(&self, row: &[f64]) -> f64 {
        if row[1] > 0.0 { row[0] / row[1] } else { 0.0 }
    }
}

/// Texts do not tell the numbers that came with them.
struct Unknown;

impl Reference for Unknown {
    fn statistics(&self, _hypothesis: &str, row: &mut [f64]) {
        row.fill(f64::NAN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenize::Tokenizer;
    use crate::wer::Wer;

    #[test]
    fn parts_lie_side_by_side() {
        let wer: Arc<dyn Metric> = Arc::new(Wer { tokenizer: Tokenizer::None, lowercase: false });
        let twice = Combined { parts: vec![(0.25, wer.clone()), (-2.0, wer.clone()), (3.0, Arc::new(Mean))] };
        let (reference, text) = ("a b c d", "a c d e");
        let mut alone = vec![0.0; wer.width()];
        wer.digest(&[reference]).statistics(text, &mut alone);
        let mut row = vec![0.0; twice.width()];
        twice.digest(&[reference]).statistics(text, &mut row);
        let width = wer.width();
        assert_eq!(row[..width], alone);
        assert_eq!(row[width..2 * width], alone);
        assert!(row[2 * width..].iter().all(|number| number.is_nan()));
        row[2 * width..].copy_from_slice(&[1.5, 3.0]);
        assert!((twice.score(&row) - (-1.75 * wer.score(&alone) + 1.5)).abs() < 1e-12);
        row[2 * width..].fill(0.0);
        assert!((twice.score(&row) - (-1.75 * wer.score(&alone))).abs() < 1e-12);
    }
}
