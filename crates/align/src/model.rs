//! A trained aligner: expected counts of both directions, and their file.

use crate::bitext::Spelling;
use crate::sampler::{FERTILITIES, Priors};
use dragoman_base::Names;

/// Expected counts of word pairs, a row for each given type.
#[derive(Debug, Clone, PartialEq)]
pub struct Lexicon {
    /// First entry of each given type, and the end of the last.
    pub starts: Vec<u64>,
    /// Made type of each entry, rising within a row.
    pub made: Vec<u32>,
    /// Expected number of links of the pair.
    pub counts: Vec<f32>,
    /// Expected number of links of each given type.
    pub totals: Vec<f32>,
    /// With how many made types each given type shared a sentence pair.
    pub partners: Vec<u32>,
    /// For each made type, the expected number of tokens without link.
    pub nulls: Vec<f32>,
}

impl Lexicon {
    /// Sums up entries `(given, made, probability)` in any order.
    pub fn new(types: usize, mut entries: Vec<(u32, u32, f32)>, nulls: Vec<f32>, partners: Vec<u32>) -> Self {
        entries.sort_by_key(|&(e, f, _)| (e, f)); // stable: sums do not depend on the number of threads
        let mut starts = vec![0; types + 1];
        let (mut made, mut counts): (Vec<u32>, Vec<f32>) = (Vec::new(), Vec::new());
        let mut totals = vec![0.0; types];
        let mut last = None;
        for (e, f, p) in entries {
            if last != Some((e, f)) {
                made.push(f);
                counts.push(0.0);
                last = Some((e, f));
            }
            *counts.last_mut().expect("just pushed") += p;
            totals[e as usize] += p;
            starts[e as usize + 1] = made.len() as u64;
        }
        for k in 1..starts.len() {
            starts[k] = starts[k].max(starts[k - 1]);
        }
        Self { starts, made, counts, totals, partners, nulls }
    }

    /// Adds up the lexicons of parts of a text, which know the same types.
    pub fn sum(parts: Vec<Self>) -> Self {
        let mut parts = parts.into_iter();
        let Some(mut sum) = parts.next() else { return Self::new(0, Vec::new(), Vec::new(), Vec::new()) };
        for part in parts {
            let mut entries = sum.entries();
            entries.extend(part.entries());
            let add = |mut one: Vec<f32>, other: &[f32]| {
                one.iter_mut().zip(other).for_each(|(sum, n)| *sum += n);
                one
            };
            let (totals, nulls) = (add(sum.totals, &part.totals), add(sum.nulls, &part.nulls));
            let types = totals.len();
            sum = Self { totals, ..Self::new(types, entries, nulls, sum.partners) };
        }
        sum
    }

    fn entries(&self) -> Vec<(u32, u32, f32)> {
        let rows = self.starts.windows(2).enumerate();
        rows.flat_map(|(e, w)| {
            (w[0] as usize..w[1] as usize).map(move |at| (e as u32, self.made[at], self.counts[at]))
        })
        .collect()
    }

    /// Expected number of links between a given and a made type.
    pub fn count(&self, e: u32, f: u32) -> f32 {
        let (from, to) = (self.starts[e as usize] as usize, self.starts[e as usize + 1] as usize);
        self.made[from..to].binary_search(&f).map_or(0.0, |at| self.counts[from + at])
    }
}

/// All counts of one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Word pairs.
    pub lexicon: Lexicon,
    /// Probability of each jump from -(L + 1) to L + 1, L being the longest sentence in training.
    pub jumps: Vec<f32>,
    /// Expected number of tokens of each given type with 0, 1, ... links.
    pub fertility: Vec<f32>,
}

impl Table {
    /// Whether all arrays have the sizes that the vocabularies ask for, and only numbers that make sense.
    pub(crate) fn is_sound(&self, given: usize, made: usize) -> bool {
        let lexicon = &self.lexicon;
        let ends = (lexicon.starts.first(), lexicon.starts.last());
        let rising = lexicon.starts.windows(2).all(|w| w[0] <= w[1]);
        let rows = lexicon.starts.len() == given + 1
            && ends == (Some(&0), Some(&(lexicon.made.len() as u64)))
            && rising
            && lexicon.starts.windows(2).all(|w| {
                let row = &lexicon.made[w[0] as usize..w[1] as usize];
                row.windows(2).all(|pair| pair[0] < pair[1])
                    && row.last().is_none_or(|&f| (f as usize) < made)
            });
        let numbers = [&lexicon.counts, &lexicon.totals, &lexicon.nulls, &self.jumps, &self.fertility];
        rows && lexicon.counts.len() == lexicon.made.len()
            && lexicon.totals.len() == given
            && lexicon.partners.len() == given
            && lexicon.nulls.len() == made
            && self.jumps.len() % 2 == 1
            && self.fertility.len() == given * FERTILITIES
            && numbers.iter().all(|values| values.iter().all(|v| v.is_finite() && *v >= 0.0))
    }
}

/// A trained aligner.
#[derive(Debug, Clone)]
pub struct Model {
    /// How words become types.
    pub spelling: Spelling,
    /// Priors of the model.
    pub priors: Priors,
    /// Types of source and target.
    pub words: [Names; 2],
    /// Forward (made: target) and reverse (made: source).
    pub tables: [Table; 2],
}
