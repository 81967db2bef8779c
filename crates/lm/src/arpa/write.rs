//! Writing, n-gram by n-gram.

use crate::estimate::Target;
use dragoman_base::io::Output;
use dragoman_base::{Result, Texts};
use rayon::prelude::*;
use std::io::Write;

/// N-grams that are turned to text at a time, on all cores.
const BATCH: usize = 1 << 15;
/// N-grams that one task turns to text.
const TASK: usize = 1 << 11;

/// Writes an ARPA file, which appears under its name when it is finished.
pub struct Writer {
    out: Option<Output>,
    words: Texts,
    orders: usize,
    order: usize,
    /// Waiting n-grams, last word first, and their two numbers.
    grams: Vec<u32>,
    numbers: Vec<(f32, f32)>,
}

impl Writer {
    /// Starts writing `path`, packed as its name says.
    pub fn create(path: &str) -> Result<Self> {
        let (out, words) = (Some(Output::create(path)?), Texts::new());
        Ok(Self { out, words, orders: 0, order: 0, grams: Vec::new(), numbers: Vec::new() })
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.as_mut().map_or(Ok(()), |out| out.write(bytes))
    }

    fn flush(&mut self) -> Result<()> {
        if self.numbers.is_empty() {
            return Ok(());
        }
        let (order, last) = (self.order, self.order == self.orders);
        let tasks = self.grams.par_chunks(TASK * order).zip(self.numbers.par_chunks(TASK));
        let words = &self.words;
        let texts: Vec<Vec<u8>> =
            tasks.map(|(grams, numbers)| lines(words, order, last, grams, numbers)).collect();
        self.grams.clear();
        self.numbers.clear();
        texts.iter().try_for_each(|text| self.put(text))
    }
}

fn lines(words: &Texts, order: usize, last: bool, grams: &[u32], numbers: &[(f32, f32)]) -> Vec<u8> {
    let mut text = Vec::with_capacity(numbers.len() * (order * 8 + 24));
    for (gram, (probability, backoff)) in grams.chunks_exact(order).zip(numbers) {
        // Writing to a vector cannot fail. The shortest digits that read back to the same number, no exponents.
        let _ = write!(text, "{probability}");
        for (i, &word) in gram.iter().rev().enumerate() {
            text.push(if i == 0 { b'\t' } else { b' ' });
            text.extend_from_slice(words.get(word as usize).as_bytes());
        }
        if !last {
            let _ = write!(text, "\t{backoff}");
        }
        text.push(b'\n');
    }
    text
}

impl Target for Writer {
    fn start(&mut self, words: &Texts, counts: &[u64]) -> Result<()> {
        self.words = words.clone();
        self.orders = counts.len();
        let mut head = b"\\data\\\n".to_vec();
        for (order, count) in (1..).zip(counts) {
            let _ = writeln!(head, "ngram {order}={count}");
        }
        self.put(&head)
    }

    fn gram(&mut self, reversed: &[u32], probability: f32, backoff: f32) -> Result<()> {
        while reversed.len() > self.order {
            self.flush()?;
            self.order += 1;
            let head = format!("\n\\{}-grams:\n", self.order);
            self.put(head.as_bytes())?;
        }
        self.grams.extend_from_slice(reversed);
        self.numbers.push((probability, backoff));
        if self.numbers.len() == BATCH { self.flush() } else { Ok(()) }
    }

    fn finish(&mut self) -> Result<()> {
        self.flush()?;
        while self.order < self.orders {
            self.order += 1;
            let head = format!("\n\\{}-grams:\n", self.order);
            self.put(head.as_bytes())?;
        }
        self.put(b"\n\\end\\\n")?;
        self.out.take().map_or(Ok(()), Output::finish)
    }
}
