//! A whole model in columns, as an ARPA file lists it.

use crate::estimate::Target;
use crate::words::SPECIAL;
use dragoman_base::{Names, Result, Texts};

/// The n-grams of one order.
#[derive(Debug, Clone, Default)]
pub struct Grams {
    /// Word ids, `order` for each n-gram, in the order of the text.
    pub words: Vec<u32>,
    /// log10 of each probability.
    pub probabilities: Vec<f32>,
    /// log10 of each back-off weight; 0 for what is no context.
    pub backoffs: Vec<f32>,
    /// Line of the first n-gram in the file it was read from; 0 if there is none.
    pub line: usize,
}

/// All n-grams of a model. Word ids 0, 1 and 2 are `<unk>`, `<s>` and `</s>`, whether the model has them or not.
#[derive(Debug, Clone)]
pub struct Ngrams {
    /// The words.
    pub names: Names,
    /// The n-grams of order 1, 2 and so on.
    pub orders: Vec<Grams>,
    /// N-grams below the highest order that the file gives no back-off weight, which means log10 0.
    pub without_backoff: u64,
    /// The file, for messages.
    pub path: String,
}

impl Default for Ngrams {
    fn default() -> Self {
        let mut names = Names::new();
        for special in SPECIAL {
            names.intern(special);
        }
        Self { names, orders: Vec::new(), without_backoff: 0, path: "model".to_owned() }
    }
}

impl Ngrams {
    /// Number of words in the longest n-grams.
    pub fn order(&self) -> usize {
        self.orders.len()
    }

    /// N-grams of each order.
    pub fn counts(&self) -> Vec<u64> {
        self.orders.iter().map(|grams| grams.probabilities.len() as u64).collect()
    }

    /// Hands all n-grams to a target, in the order they stand in.
    pub fn send(&self, target: &mut dyn Target) -> Result<()> {
        target.start(self.names.texts(), &self.counts())?;
        let mut reversed = Vec::new();
        for (order, grams) in (1..).zip(&self.orders) {
            for (i, words) in grams.words.chunks_exact(order).enumerate() {
                reversed.clear();
                reversed.extend(words.iter().rev());
                target.gram(&reversed, grams.probabilities[i], grams.backoffs[i])?;
            }
        }
        target.finish()
    }
}

impl Target for Ngrams {
    fn start(&mut self, words: &Texts, counts: &[u64]) -> Result<()> {
        for word in words.iter() {
            self.names.intern(word);
        }
        self.orders = vec![Grams::default(); counts.len()];
        for (order, (grams, &count)) in (1..).zip(self.orders.iter_mut().zip(counts)) {
            grams.words.reserve(count as usize * order);
            grams.probabilities.reserve(count as usize);
            grams.backoffs.reserve(count as usize);
        }
        Ok(())
    }

    fn gram(&mut self, reversed: &[u32], probability: f32, backoff: f32) -> Result<()> {
        let grams = &mut self.orders[reversed.len() - 1];
        grams.words.extend(reversed.iter().rev());
        grams.probabilities.push(probability);
        grams.backoffs.push(backoff);
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}
