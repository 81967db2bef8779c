//! How well orientations of held-out text are foreseen, beside relative frequencies with recursive smoothing.

use crate::counts::{Counts, Six};
use crate::features::{Features, Pair};
use crate::objective::log_probabilities;
use dragoman_rules::extract::{ReorderingSmoothing, orientations};

/// Perplexities of the orientations of held-out phrase-pair tokens, towards the previous phrase and towards the next.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Heldout {
    /// Phrase pairs, each occurrence counted.
    pub tokens: f64,
    /// Those whose pair training has not seen.
    pub unseen: f64,
    /// The model.
    pub maxent: [f64; 2],
    /// Relative frequencies (equations 1 and 2).
    pub relative: [f64; 2],
    /// The model, for pairs that training has seen.
    pub maxent_seen: [f64; 2],
    /// Relative frequencies, for these.
    pub relative_seen: [f64; 2],
}

/// Relative frequencies with recursive smoothing, for any pair.
struct Relative {
    alpha: f64,
    sources: Vec<Six>,
    targets: Vec<Six>,
    all: Six,
}

fn add(to: &mut Six, more: &Six) {
    to.iter_mut().zip(more).for_each(|(to, more)| *to += more);
}

impl Relative {
    fn new(counts: &Counts<'_>, alpha: f64) -> Self {
        let zero = [0.0; 6];
        let mut made = Self {
            alpha,
            sources: vec![zero; counts.ends.len()],
            targets: vec![zero; counts.targets.len()],
            all: zero,
        };
        for rule in counts.rules() {
            let six = counts.of(rule);
            add(&mut made.sources[counts.source[rule as usize] as usize], &six);
            add(&mut made.targets[counts.target[rule as usize] as usize], &six);
            add(&mut made.all, &six);
        }
        made
    }

    fn logs(&self, counts: &Counts<'_>, pair: &Pair, side: usize) -> [f64; 3] {
        let three = |six: Six| [six[3 * side], six[3 * side + 1], six[3 * side + 2]];
        let rule = pair.rule.map_or([0.0; 6], |rule| counts.of(rule));
        let source = pair.source.map_or([0.0; 6], |number| self.sources[number as usize]);
        let target = pair.target.map_or([0.0; 6], |number| self.targets[number as usize]);
        let smoothing = ReorderingSmoothing::Recursive(self.alpha);
        orientations(smoothing, three(rule), three(source), three(target), three(self.all)).map(f64::ln)
    }
}

/// The words of another table by the numbers of this one.
fn translate<'a>(words: impl Iterator<Item = &'a str>, id: impl Fn(&str) -> Option<u32>) -> Vec<Option<u32>> {
    words.map(id).collect()
}

/// Looks up the rules of a held-out table and sums up what both models say of them.
pub fn evaluate(
    counts: &Counts<'_>,
    features: &Features,
    weights: &[Vec<f64>; 2],
    held: &Counts<'_>,
    alpha: f64,
) -> Heldout {
    let (table, other) = (counts.table, held.table);
    let source_words = translate((0..other.source_words() as u32).map(|id| other.source_text(id)), |word| {
        table.source_word(word)
    });
    let target_words = translate((0..other.target_words() as u32).map(|id| other.target_text(id)), |word| {
        table.target_word(word)
    });
    let relative = Relative::new(counts, alpha);
    let (mut made, mut sums, mut seen) = (Heldout::default(), [[0.0; 2]; 4], 0.0);
    let mut active = Vec::new();
    let mut phrase = Vec::new();
    let walked = other.walk(|words, rules| {
        phrase.clear();
        phrase.extend(words.iter().map_while(|&word| source_words[word as usize]));
        let known = phrase.len() == words.len();
        let node = known.then(|| table.find(&phrase)).flatten();
        let own = node.map_or(0..0, |node| table.rules(node));
        let source = own.clone().next().map(|rule| counts.source[rule as usize]);
        for rule in rules {
            let target: Option<Vec<u32>> =
                other.target(rule).iter().map(|&word| target_words[word as usize]).collect();
            let number = target.as_ref().and_then(|words| counts.targets.get(words.as_slice())).copied();
            let found = own.clone().find(|&r| target.as_deref() == Some(table.target(r)));
            let ends = (other.target(rule).first(), other.target(rule).last());
            let at = |word: Option<&u32>| word.map(|&word| target_words[word as usize]);
            let (first, last) = (words[0] as usize, words[words.len() - 1] as usize);
            let corners = [Some(source_words[first]), Some(source_words[last]), at(ends.0), at(ends.1)];
            let pair = features.foreign(found, source, number, corners);
            active.clear();
            features.active(&pair, &mut active);
            let six = held.of(rule);
            let tokens: f64 = six[..3].iter().sum();
            made.tokens += tokens;
            made.unseen += if found.is_none() { tokens } else { 0.0 };
            seen += if found.is_some() { tokens } else { 0.0 };
            for side in 0..2 {
                let logs = [log_probabilities(&weights[side], &active), relative.logs(counts, &pair, side)];
                for (which, logs) in logs.iter().enumerate() {
                    let loss: f64 = (0..3).map(|o| -six[3 * side + o] * logs[o]).sum();
                    sums[which][side] += loss;
                    sums[2 + which][side] += if found.is_some() { loss } else { 0.0 };
                }
            }
        }
        Ok(())
    });
    debug_assert!(walked.is_ok());
    let mean = |sums: [f64; 2], tokens: f64| sums.map(|sum| (sum / tokens.max(1.0)).exp());
    made.maxent = mean(sums[0], made.tokens);
    made.relative = mean(sums[1], made.tokens);
    made.maxent_seen = mean(sums[2], seen);
    made.relative_seen = mean(sums[3], seen);
    made
}
