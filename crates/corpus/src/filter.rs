//! What is kept, what is dropped and why.

use crate::normalise::hash;
use dragoman_base::{Error, Result, words};

/// Why a pair was dropped. A pair counts for the first reason that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A side is not UTF-8.
    Invalid,
    /// A side is missing from its unit.
    Missing,
    /// A side has no words.
    Empty,
    /// A side is a sentence of a test set.
    Overlap,
    /// Tokens do not all have the same number of factors.
    Factors,
    /// A side has `|`, and such pairs are to be dropped.
    Bars,
    /// A side has too few words.
    Short,
    /// A side has too many words.
    Long,
    /// A side has too many characters.
    Characters,
    /// One side has too many times the words of the other.
    Ratio,
    /// The pair was there before.
    Duplicate,
}

impl Reason {
    /// All reasons, in order.
    pub const ALL: [Self; 11] = [
        Self::Invalid,
        Self::Missing,
        Self::Empty,
        Self::Overlap,
        Self::Factors,
        Self::Bars,
        Self::Short,
        Self::Long,
        Self::Characters,
        Self::Ratio,
        Self::Duplicate,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Missing => "missing",
            Self::Empty => "empty",
            Self::Overlap => "overlap",
            Self::Factors => "factors",
            Self::Bars => "bars",
            Self::Short => "short",
            Self::Long => "long",
            Self::Characters => "characters",
            Self::Ratio => "ratio",
            Self::Duplicate => "duplicate",
        }
    }
}

/// What happens to `|`, which phrase tables reserve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bars {
    /// It becomes `&#124;`, as Moses does it.
    Escape,
    /// The pair is dropped.
    Drop,
    /// It stays.
    Keep,
}

impl Bars {
    /// The choice called `name`.
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "escape" => Ok(Self::Escape),
            "drop" => Ok(Self::Drop),
            "keep" => Ok(Self::Keep),
            _ => Err(Error::Invalid(format!("expected escape, drop or keep for bars, found {name}"))),
        }
    }
}

/// What a pair must be like to be kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Fewest words of a side.
    pub shortest: usize,
    /// Most words of a side.
    pub longest: usize,
    /// Most characters of a side; 0 for any number.
    pub characters: usize,
    /// Most words of one side for each word of the other.
    pub ratio: f64,
    /// Whether letters become small.
    pub lower: bool,
    /// Whether tokens are `word|factor|...`.
    pub factored: bool,
    /// What happens to `|` in text without factors.
    pub bars: Bars,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            shortest: 1,
            longest: 80,
            characters: 0,
            ratio: 9.0,
            lower: false,
            factored: false,
            bars: Bars::Escape,
        }
    }
}

impl Limits {
    /// Refuses limits that nothing can satisfy.
    pub fn check(&self) -> Result<()> {
        if self.longest < self.shortest.max(1) || !self.ratio.is_finite() || self.ratio < 1.0 {
            let (shortest, longest, ratio) = (self.shortest, self.longest, self.ratio);
            return Err(Error::Invalid(format!(
                "expected a longest length of at least the shortest and 1, and a ratio of at least 1, found lengths \
                 {shortest} to {longest} and ratio {ratio}"
            )));
        }
        Ok(())
    }
}

/// A pair in its final form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// Both sides.
    pub sides: [String; 2],
    /// Why it cannot be kept, as far as the pair alone can tell.
    pub reason: Option<Reason>,
    /// Whether `|` was escaped.
    pub escaped: bool,
    /// Equal pairs have equal hashes.
    pub hash: u128,
}

/// Brings a pair into its final form and judges it.
pub fn judge(source: &str, target: &str, limits: &Limits) -> Judged {
    let texts = [source, target];
    let bars = !limits.factored && texts.iter().any(|text| text.contains('|'));
    let sides = texts.map(|text| finish(text, limits));
    let reason = reason(&sides, bars, limits);
    let hash = if reason.is_none() { hash(&[&sides[0], &sides[1]]) } else { 0 };
    Judged { sides, reason, escaped: bars && limits.bars == Bars::Escape, hash }
}

fn finish(text: &str, limits: &Limits) -> String {
    let mut out = String::with_capacity(text.len());
    for word in words(text) {
        if !out.is_empty() {
            out.push(' ');
        }
        let cut = if limits.factored { word.find('|').unwrap_or(word.len()) } else { word.len() };
        let (surface, factors) = word.split_at(cut);
        if limits.lower && surface.chars().any(|c| !c.is_lowercase()) {
            out.push_str(&surface.to_lowercase());
        } else {
            out.push_str(surface);
        }
        out.push_str(factors);
    }
    if !limits.factored && limits.bars == Bars::Escape && out.contains('|') {
        return out.replace('|', "&#124;");
    }
    out
}

fn reason(sides: &[String; 2], bars: bool, limits: &Limits) -> Option<Reason> {
    let lengths = [0, 1].map(|side| words(&sides[side]).count());
    let (fewest, most) = (lengths[0].min(lengths[1]), lengths[0].max(lengths[1]));
    let large = |side: &String| limits.characters > 0 && side.chars().count() > limits.characters;
    if fewest == 0 {
        Some(Reason::Empty)
    } else if limits.factored && !sides.iter().all(|side| even_factors(side)) {
        Some(Reason::Factors)
    } else if bars && limits.bars == Bars::Drop {
        Some(Reason::Bars)
    } else if fewest < limits.shortest {
        Some(Reason::Short)
    } else if most > limits.longest {
        Some(Reason::Long)
    } else if sides.iter().any(large) {
        Some(Reason::Characters)
    } else if most as f64 > limits.ratio * fewest as f64 {
        Some(Reason::Ratio)
    } else {
        None
    }
}

/// Whether all tokens of a line have the same number of factors, none of them empty.
fn even_factors(line: &str) -> bool {
    let mut number = None;
    words(line).all(|word| {
        let count = word.split('|').count();
        word.split('|').all(|factor| !factor.is_empty()) && *number.get_or_insert(count) == count
    })
}

/// How many places a report remembers for each reason.
pub const PLACES: usize = 5;

/// What became of the pairs of a bitext.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Pairs that were read.
    pub read: u64,
    /// Pairs that were kept.
    pub kept: u64,
    /// Pairs dropped for each reason.
    pub dropped: [u64; Reason::ALL.len()],
    /// The first places of each reason: input and line, both from the start, lines from 1.
    pub places: [Vec<(usize, usize)>; Reason::ALL.len()],
    /// Pairs from which invisible characters were removed.
    pub invisible: u64,
    /// Pairs in which `|` was escaped.
    pub escaped: u64,
}

impl Report {
    /// Counts a dropped pair.
    pub fn drop_pair(&mut self, reason: Reason, place: (usize, usize)) {
        let index = reason as usize;
        self.dropped[index] += 1;
        if self.places[index].len() < PLACES {
            self.places[index].push(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(source: &str, target: &str, limits: &Limits) -> (String, String, Option<Reason>) {
        let Judged { sides: [source, target], reason, .. } = judge(source, target, limits);
        (source, target, reason)
    }

    #[test]
    fn limits_hold_at_their_edges() {
        let limits = Limits { shortest: 2, longest: 6, characters: 12, ratio: 2.0, ..Limits::default() };
        let reason = |source: &str, target: &str| judge(source, target, &limits).reason;
        assert_eq!(reason("a b", "a b c d"), None);
        assert_eq!(reason("a b", "a b c d e"), Some(Reason::Ratio));
        assert_eq!(reason("a b c d e", "a b"), Some(Reason::Ratio));
        assert_eq!(reason("a b c d e f", "a b c"), None);
        assert_eq!(reason("a b c d e f g", "a b c d"), Some(Reason::Long));
        assert_eq!(reason("a b", "a"), Some(Reason::Short));
        assert_eq!(reason("a b", " "), Some(Reason::Empty));
        assert_eq!(reason("é é", "é2345 789é12"), None);
        assert_eq!(reason("é é", "é2345 789é123"), Some(Reason::Characters));
    }

    #[test]
    fn bars_and_factors() {
        let with = |bars| Limits { bars, ..Limits::default() };
        let escaped = ("a &#124;&#124;&#124; b".to_owned(), "c".to_owned(), None);
        assert_eq!(verdict("a ||| b", "c", &with(Bars::Escape)), escaped);
        assert_eq!(verdict("c", "a|b", &with(Bars::Drop)).2, Some(Reason::Bars));
        assert_eq!(verdict("c", "a|b", &with(Bars::Keep)), ("c".to_owned(), "a|b".to_owned(), None));
        assert!(
            judge("c|", "d", &with(Bars::Escape)).escaped && !judge("c", "d", &with(Bars::Escape)).escaped
        );
        let factored = Limits { factored: true, lower: true, ..Limits::default() };
        let found = verdict("Das|DET Haus|NN", "The|DT HOUSE|NN", &factored);
        assert_eq!(found, ("das|DET haus|NN".to_owned(), "the|DT house|NN".to_owned(), None));
        for bad in ["Das|DET Haus", "Das|", "|DET", "|||", "a|b c|d|e"] {
            assert_eq!(verdict("x|y", bad, &factored).2, Some(Reason::Factors), "{bad}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for (shortest, longest, ratio) in [(5, 4, 9.0), (0, 0, 9.0), (1, 80, 0.5), (1, 80, f64::NAN)] {
            assert!(Limits { shortest, longest, ratio, ..Limits::default() }.check().is_err());
        }
        assert!(Limits::default().check().is_ok() && Bars::parse("x").is_err());
    }
}
