//! The features of table 1: bias; the pair, its source, its target; first and last words of both, and their classes.

use crate::counts::Counts;
use dragoman_classes::Classes;
use dragoman_classes::file::UNKNOWN;

/// What features are of: the pair, its source, its target; words at the corners, and their classes. The bias is always
/// there.
pub const TEMPLATES: [&str; 5] = ["pair", "source", "target", "words", "classes"];

/// No feature: seen too rarely.
pub const NONE: u32 = u32::MAX;
/// Features that a phrase pair has at most.
pub const MOST: usize = 12;

/// Which corner of a phrase pair: source first, source last, target first, target last.
const CORNERS: usize = 4;

/// A phrase pair as features see it; parts that training has not seen are none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pair {
    /// Number of the rule.
    pub rule: Option<u32>,
    /// Number of the source phrase.
    pub source: Option<u32>,
    /// Number of the target phrase.
    pub target: Option<u32>,
    /// The words at the corners.
    pub words: [Option<u32>; CORNERS],
    /// The classes at the corners; none where there is no word.
    pub classes: [Option<u32>; CORNERS],
}

/// Numbers of features, one table for each template.
#[derive(Debug)]
pub struct Features {
    rules: Vec<u32>,
    sources: Vec<u32>,
    targets: Vec<u32>,
    words: [Vec<u32>; CORNERS],
    classes: [Vec<u32>; CORNERS],
    count: usize,
    /// Class of each source word, of each target word.
    word_classes: [Vec<u32>; 2],
}

/// Class of each word of a vocabulary.
fn classes_of<'a>(words: impl Iterator<Item = &'a str>, classes: &Classes) -> Vec<u32> {
    words.map(|word| classes.get(word).unwrap_or(UNKNOWN)).collect()
}

/// Forgets the counts of all words but those of a list.
fn keep(counts: &mut [f64], list: &[String], id: impl Fn(&str) -> Option<u32>) {
    let mut kept = vec![0.0; counts.len()];
    for at in list.iter().filter_map(|word| id(word)).map(|id| id as usize) {
        kept[at] = counts[at];
    }
    counts.copy_from_slice(&kept);
}

/// Numbers those that were seen often enough, from `next` on.
fn number(counts: &[f64], least: f64, next: &mut u32) -> Vec<u32> {
    let ids = counts.iter().map(|&count| {
        if count < least || count == 0.0 {
            return NONE;
        }
        *next += 1;
        *next - 1
    });
    ids.collect()
}

impl Features {
    /// Counts every feature of some [`TEMPLATES`] in phrase-pair tokens and numbers those seen at least `least` times.
    /// Of words only those of two lists, if there are any: of the source and of the target.
    pub fn new(
        counts: &Counts<'_>,
        classes: [&Classes; 2],
        least: f64,
        templates: &[String],
        listed: Option<&[Vec<String>; 2]>,
    ) -> Self {
        let table = counts.table;
        let source = (0..table.source_words() as u32).map(|id| table.source_text(id));
        let target = (0..table.target_words() as u32).map(|id| table.target_text(id));
        let word_classes = [classes_of(source, classes[0]), classes_of(target, classes[1])];
        let sizes = [word_classes[0].len(), word_classes[1].len()];
        let groups = [0, 1].map(|side| word_classes[side].iter().max().map_or(0, |&c| c as usize + 1));
        let mut made = Self {
            rules: Vec::new(),
            sources: Vec::new(),
            targets: Vec::new(),
            words: Default::default(),
            classes: Default::default(),
            count: 0,
            word_classes,
        };
        let mut rules = vec![0.0; table.len()];
        let (mut sources, mut targets) = (vec![0.0; counts.ends.len()], vec![0.0; counts.targets.len()]);
        let mut words = [0, 0, 1, 1].map(|side| vec![0.0; sizes[side]]);
        let mut grouped = [0, 0, 1, 1].map(|side| vec![0.0; groups[side]]);
        for rule in counts.rules() {
            let (tokens, pair) = (counts.tokens(rule), made.pair(counts, rule));
            rules[rule as usize] = tokens;
            sources[counts.source[rule as usize] as usize] += tokens;
            targets[counts.target[rule as usize] as usize] += tokens;
            for corner in 0..CORNERS {
                if let Some((word, class)) = pair.words[corner].zip(pair.classes[corner]) {
                    words[corner][word as usize] += tokens;
                    grouped[corner][class as usize] += tokens;
                }
            }
        }
        for (corner, tokens) in words.iter_mut().enumerate() {
            if let Some(lists) = listed {
                keep(tokens, &lists[corner / 2], |word| match corner / 2 {
                    0 => table.source_word(word),
                    _ => table.target_word(word),
                });
            }
        }
        let mut next = 1; // 0 is the bias
        let mut numbered = |template: &str, counts: &[f64]| {
            let wanted = templates.iter().any(|name| name == template);
            number(if wanted { counts } else { &[] }, least, &mut next)
        };
        made.classes = grouped.map(|counts| numbered("classes", &counts));
        made.words = words.map(|counts| numbered("words", &counts));
        made.sources = numbered("source", &sources);
        made.targets = numbered("target", &targets);
        made.rules = numbered("pair", &rules);
        made.count = next as usize;
        made
    }

    /// A rule of the table that was trained on.
    pub fn pair(&self, counts: &Counts<'_>, rule: u32) -> Pair {
        let (source, target) = (counts.source[rule as usize], counts.table.target(rule));
        let [first, last] = counts.ends[source as usize];
        let words = [Some(first), Some(last), target.first().copied(), target.last().copied()];
        let target = Some(counts.target[rule as usize]);
        Pair { rule: Some(rule), source: Some(source), target, words, classes: self.classes_at(words) }
    }

    /// A pair of another table, by the numbers that its parts have in ours. Of the corners, none is no word at all,
    /// and a word without a number is one of unknown class.
    pub fn foreign(
        &self,
        rule: Option<u32>,
        source: Option<u32>,
        target: Option<u32>,
        corners: [Option<Option<u32>>; CORNERS],
    ) -> Pair {
        let words = corners.map(Option::flatten);
        let known = self.classes_at(words);
        let class = |corner: usize| corners[corner].map(|_| known[corner].unwrap_or(UNKNOWN));
        Pair { rule, source, target, words, classes: [0, 1, 2, 3].map(class) }
    }

    fn classes_at(&self, words: [Option<u32>; CORNERS]) -> [Option<u32>; CORNERS] {
        let class = |corner: usize| words[corner].map(|word| self.word_classes[corner / 2][word as usize]);
        [0, 1, 2, 3].map(class)
    }

    /// The features of a pair, each once.
    pub fn active(&self, pair: &Pair, take: &mut Vec<u32>) {
        let of = |ids: &[u32], at: Option<u32>| {
            at.and_then(|at| ids.get(at as usize)).copied().filter(|&id| id != NONE)
        };
        take.push(0);
        take.extend(of(&self.rules, pair.rule));
        take.extend(of(&self.sources, pair.source));
        take.extend(of(&self.targets, pair.target));
        for corner in 0..CORNERS {
            take.extend(of(&self.words[corner], pair.words[corner]));
            take.extend(of(&self.classes[corner], pair.classes[corner]));
        }
    }

    /// Number of features, before they are multiplied with the orientations.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Never: there is always a bias.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}
