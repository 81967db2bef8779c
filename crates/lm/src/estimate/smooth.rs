//! Probabilities from adjusted counts: discounted within each context, then interpolated with the next lower order.
//!
//! p(w | h) = (a(h w) - D(a(h w))) / sum a(h .) + gamma(h) p(w | h'), with h' = h without its first word
//! (Chen and Goodman 1998, equations 24 and 25); the unigrams are interpolated with the uniform distribution.

use super::Target;
use super::adjust::unpack;
use super::discount::{Discounts, apply};
use super::store::{Records, Store};
use crate::words::{BOS, SPECIAL};
use dragoman_base::sort::{Numbers, Sorted, Sorter};
use dragoman_base::{Result, Scratch};

/// One order on its way: its n-grams with discounted estimate and gamma, last word first, and the gammas of contexts.
#[derive(Debug)]
pub struct Weighed {
    pub grams: Sorted<Numbers>,
    pub gammas: Records,
}

/// One context: what may follow it, how often, and whether it is pruned.
#[derive(Default)]
struct Group {
    context: Vec<u32>,
    words: Vec<(u32, u64, bool)>,
}

impl Group {
    /// Sum of all counts, and gamma: the mass that discounting and pruning leave for the lower order.
    fn mass(&self, discounts: &Discounts) -> (f64, f64) {
        let (mut total, mut free) = (0u64, 0.0);
        for &(_, count, pruned) in &self.words {
            total += count;
            free += if pruned { count as f64 } else { count as f64 - apply(discounts, count) };
        }
        (total as f64, free / total as f64)
    }

    fn close(
        &mut self,
        discounts: &Discounts,
        grams: &mut Sorter<Numbers>,
        gammas: &mut Store,
    ) -> Result<()> {
        if self.words.is_empty() {
            return Ok(());
        }
        let (total, gamma) = self.mass(discounts);
        let gamma = (gamma as f32).to_bits();
        gammas.push(&self.context, &[gamma])?;
        for &(word, count, pruned) in &self.words {
            if !pruned {
                let share = (apply(discounts, count) / total) as f32;
                self.context.insert(0, word);
                let pushed = grams.push(&self.context, &[share.to_bits(), gamma]);
                self.context.remove(0);
                pushed?;
            }
        }
        self.words.clear();
        Ok(())
    }
}

/// Discounts the n-grams of one order (2 or more), which come context by context.
pub fn weigh(
    mut sorted: Sorted<Numbers>,
    order: usize,
    discounts: &Discounts,
    scratch: &Scratch,
    bytes: usize,
) -> Result<Weighed> {
    let mut grams = Sorter::new(Numbers::new(order + 2), scratch, bytes / 4 * 3);
    let mut gammas = Store::new(scratch, order, bytes / 4);
    let mut group = Group::default();
    while let Some(record) = sorted.next()? {
        let (count, pruned) = unpack(&record[order..]);
        if record[..order - 1] != group.context[..] {
            group.close(discounts, &mut grams, &mut gammas)?;
            group.context.clear();
            group.context.extend_from_slice(&record[..order - 1]);
        }
        group.words.push((record[order - 1], count, pruned));
    }
    group.close(discounts, &mut grams, &mut gammas)?;
    drop(sorted);
    Ok(Weighed { grams: grams.finish()?, gammas: gammas.read()? })
}

/// Probability of each word; pruned words have none. `<s>` has 1 as lmplz writes it, so that scoring it costs nothing.
pub fn unigrams(counts: &[(u64, bool)], discounts: &Discounts) -> Vec<Option<f32>> {
    let words = counts.iter().enumerate().map(|(i, &(count, pruned))| (i as u32, count, pruned)).collect();
    let (total, gamma) = Group { context: Vec::new(), words }.mass(discounts);
    let kept = counts.iter().filter(|(_, pruned)| !pruned).count();
    let uniform = gamma / (kept - 1) as f64;
    let probability = |(id, &(count, pruned)): (usize, &(u64, bool))| match id as u32 {
        BOS => Some(1.0),
        _ if pruned && id >= SPECIAL.len() => None,
        _ => Some((apply(discounts, count) / total + uniform) as f32),
    };
    counts.iter().enumerate().map(probability).collect()
}

/// The gammas of the next order's contexts, met in the same order as this order's n-grams.
struct Backoffs(Option<Records>);

impl Backoffs {
    fn new(records: Option<Records>) -> Result<Self> {
        let mut records = records;
        if let Some(records) = &mut records {
            records.advance()?;
        }
        Ok(Self(records))
    }

    /// log10 of the back-off weight of `gram` (last word first); 0 for what is no context.
    fn of(&mut self, gram: &[u32]) -> Result<f32> {
        let Some(records) = &mut self.0 else { return Ok(0.0) };
        loop {
            let record = records.current();
            if record.is_empty() || &record[..gram.len()] > gram {
                return Ok(0.0);
            }
            if &record[..gram.len()] == gram {
                return Ok(log10(f32::from_bits(record[gram.len()])));
            }
            records.advance()?;
        }
    }
}

fn log10(value: f32) -> f32 {
    // Rounding may take a probability above 1. Adding 0 makes a negative zero positive.
    (f64::from(value).log10() as f32).min(0.0) + 0.0
}

/// The next lower order's probabilities, met in the same order as this order's n-grams.
enum Lower {
    Words(Vec<Option<f32>>),
    Grams(Records),
}

impl Lower {
    /// Probability of `gram` (last word first), which is there because thresholds grow with the order.
    fn of(&mut self, gram: &[u32]) -> Result<f64> {
        let found = match self {
            Self::Words(words) => words[gram[0] as usize],
            Self::Grams(records) => loop {
                let record = records.current();
                if !record.is_empty() && &record[..gram.len()] == gram {
                    break Some(f32::from_bits(record[gram.len()]));
                }
                if !records.advance()? {
                    break None;
                }
            },
        };
        Ok(f64::from(found.expect("every kept n-gram's ending is kept")))
    }
}

/// Interpolates order by order and hands every n-gram to `target`.
pub fn interpolate(
    words: Vec<Option<f32>>,
    mut orders: Vec<Weighed>,
    scratch: &Scratch,
    bytes: usize,
    target: &mut dyn Target,
) -> Result<()> {
    orders.reverse();
    let mut current = orders.pop();
    let (mut grams, gammas) = current.take().map_or((None, None), |w| (Some(w.grams), Some(w.gammas)));
    let mut backoffs = Backoffs::new(gammas)?;
    for (id, probability) in words.iter().enumerate() {
        if let Some(p) = *probability {
            target.gram(&[id as u32], log10(p), backoffs.of(&[id as u32])?)?;
        }
    }
    let mut lower = Lower::Words(words);
    let mut order = 1;
    while let Some(mut sorted) = grams {
        order += 1;
        let (next, gammas) = orders.pop().map_or((None, None), |w| (Some(w.grams), Some(w.gammas)));
        let mut backoffs = Backoffs::new(gammas)?;
        let mut store = Store::new(scratch, order + 1, bytes / 2);
        while let Some(record) = sorted.next()? {
            let (gram, rest) = record.split_at(order);
            let (share, gamma) = (f64::from(f32::from_bits(rest[0])), f64::from(f32::from_bits(rest[1])));
            let p = (share + gamma * lower.of(&gram[..order - 1])?) as f32;
            if next.is_some() {
                store.push(gram, &[p.to_bits()])?;
            }
            target.gram(gram, log10(p), backoffs.of(gram)?)?;
        }
        lower = Lower::Grams(store.read()?);
        grams = next;
    }
    Ok(())
}
