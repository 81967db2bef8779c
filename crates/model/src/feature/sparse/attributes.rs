//! Attributes of a rule: numbers that follow from the rule and its row of the table alone, whatever sentence it is
//! applied to. Boosted trees ask about them.

use super::View;
use crate::rule::Symbol;
use dragoman_base::Names;
use dragoman_rules::RuleSource;
use std::sync::Arc;

/// Before the name of a column: the rule's score there.
pub const SCORE: &str = "score:";

/// A number of a rule; `frequent` are the frequent words of the source and of the target.
type Own = fn(&View<'_>, frequent: &[Names; 2]) -> f32;

/// All attributes besides the scores: their names, what they are, and how they are worked out.
pub const OWN: &[(&str, &str, Own)] = &[
    ("source-words", "source words", |rule, _| rule.source_words().count() as f32),
    ("target-words", "target words", |rule, _| rule.target_words().count() as f32),
    ("gaps", "gaps of a side", |rule, _| (rule.source.len() - rule.source_words().count()) as f32),
    ("length-ratio", "target words for each source word", |rule, _| {
        rule.target_words().count() as f32 / rule.source_words().count().max(1) as f32
    }),
    ("links", "links between words", |rule, _| pairs(rule) as f32),
    ("source-unlinked", "source words without a link", |rule, _| {
        let linked = |at| rule.links.iter().any(|&[source, _]| usize::from(source) == at);
        rule.source_words().filter(|&(at, _)| !linked(at)).count() as f32
    }),
    ("target-unlinked", "target words without a link", |rule, _| {
        rule.target_words().filter(|&(at, _)| rule.unlinked(at)).count() as f32
    }),
    ("crossings", "pairs of links that cross", |rule, _| crossings(rule.links) as f32),
    ("copied", "target words that are source words, too", |rule, _| {
        let source = |word| rule.source_words().any(|(_, one)| one == word);
        rule.target_words().filter(|&(_, word)| source(word)).count() as f32
    }),
    ("source-frequent", "share of the source words that are frequent", |rule, frequent| {
        mean(rule.source, |word| f32::from(frequent[0].get(word).is_some()))
    }),
    ("target-frequent", "share of the target words that are frequent", |rule, frequent| {
        mean(rule.target, |word| f32::from(frequent[1].get(word).is_some()))
    }),
    ("source-letters", "characters of a source word, on average", |rule, _| mean(rule.source, letters)),
    ("target-letters", "characters of a target word, on average", |rule, _| mean(rule.target, letters)),
    ("source-marks", "source words without letters and digits", |rule, _| count(rule.source, is_mark)),
    ("target-marks", "target words without letters and digits", |rule, _| count(rule.target, is_mark)),
    ("source-numbers", "source words with a digit", |rule, _| count(rule.source, has_digit)),
    ("target-numbers", "target words with a digit", |rule, _| count(rule.target, has_digit)),
];

fn pairs(rule: &View<'_>) -> usize {
    rule.links.iter().filter(|link| rule.pair(link).is_some()).count()
}

fn crossings(links: &[[u8; 2]]) -> usize {
    let after = |at: usize| &links[at + 1..];
    let cross = |a: &[u8; 2], b: &[u8; 2]| (a[0] < b[0] && a[1] > b[1]) || (a[0] > b[0] && a[1] < b[1]);
    links.iter().enumerate().map(|(at, one)| after(at).iter().filter(|other| cross(one, other)).count()).sum()
}

fn words<'a>(side: &[Symbol<&'a str>]) -> impl Iterator<Item = &'a str> {
    side.iter().filter_map(Symbol::word)
}

fn count(side: &[Symbol<&str>], what: fn(&str) -> bool) -> f32 {
    words(side).filter(|word| what(word)).count() as f32
}

/// The mean over the words of a side; 0 where there is none.
fn mean(side: &[Symbol<&str>], what: impl Fn(&str) -> f32) -> f32 {
    words(side).map(what).sum::<f32>() / words(side).count().max(1) as f32
}

fn letters(word: &str) -> f32 {
    word.chars().count() as f32
}

fn is_mark(word: &str) -> bool {
    !word.chars().any(char::is_alphanumeric)
}

fn has_digit(word: &str) -> bool {
    word.chars().any(char::is_numeric)
}

/// Where an attribute comes from.
enum Place {
    /// A score: its column in each table.
    Score(Vec<usize>),
    Own(Own),
}

/// Some attributes, in order.
pub struct Attributes {
    places: Vec<Place>,
    frequent: [Names; 2],
}

impl Attributes {
    /// By name, for the tables of a system; what is wrong is told as "expected, found".
    pub fn new<'n>(
        names: impl Iterator<Item = &'n str>,
        frequent: [Names; 2],
        tables: &[Arc<dyn RuleSource>],
    ) -> Result<Self, (String, String)> {
        let places = names.map(|name| place(name, tables)).collect::<Result<_, _>>()?;
        Ok(Self { places, frequent })
    }

    /// Works them out for a rule.
    pub fn fill(&self, rule: &View<'_>, values: &mut Vec<f32>) {
        values.clear();
        values.extend(self.places.iter().map(|place| match place {
            Place::Score(columns) => rule.scores[columns[rule.table]],
            Place::Own(own) => own(rule, &self.frequent),
        }));
    }
}

fn place(name: &str, tables: &[Arc<dyn RuleSource>]) -> Result<Place, (String, String)> {
    if let Some(column) = name.strip_prefix(SCORE) {
        let find = |table: &Arc<dyn RuleSource>| {
            table.columns().iter().position(|one| one == column).ok_or_else(|| {
                (
                    format!("a column of the rule table, which has {}", table.columns().join(", ")),
                    column.to_owned(),
                )
            })
        };
        return Ok(Place::Score(tables.iter().map(find).collect::<Result<_, _>>()?));
    }
    let own = OWN.iter().find(|(one, ..)| *one == name).map(|&(.., own)| Place::Own(own));
    own.ok_or_else(|| {
        let known: Vec<&str> = OWN.iter().map(|(one, ..)| *one).collect();
        (format!("an attribute: {SCORE} and a column, {}", known.join(", ")), name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use Symbol::{Gap, Word};

    #[test]
    fn attributes_by_hand() {
        let source = [Word("der"), Gap(0), Word("3"), Word("Häuser")];
        let target = [Word("3"), Word(","), Word("houses"), Gap(0)];
        let links = [[1, 3], [2, 0], [3, 2]];
        let rule =
            View { source: &source, target: &target, links: &links, count: 2.0, table: 0, scores: &[-1.0] };
        let names = |words: &[&str]| {
            let mut made = Names::new();
            for word in words {
                made.intern(word);
            }
            made
        };
        let frequent = [names(&["der", "die"]), names(&[","])];
        let value = |name: &str| (OWN.iter().find(|(one, ..)| *one == name).unwrap().2)(&rule, &frequent);
        let want = [
            ("source-words", 3.0),
            ("target-words", 3.0),
            ("gaps", 1.0),
            ("length-ratio", 1.0),
            ("links", 2.0),
            ("source-unlinked", 1.0),
            ("target-unlinked", 1.0),
            ("crossings", 2.0),
            ("copied", 1.0),
            ("source-frequent", 1.0 / 3.0),
            ("target-frequent", 1.0 / 3.0),
            ("source-letters", 10.0 / 3.0),
            ("target-letters", 8.0 / 3.0),
            ("source-marks", 0.0),
            ("target-marks", 1.0),
            ("source-numbers", 1.0),
            ("target-numbers", 1.0),
        ];
        assert_eq!(
            want.map(|(name, _)| name).to_vec(),
            OWN.iter().map(|(name, ..)| *name).collect::<Vec<_>>()
        );
        for (name, number) in want {
            assert_eq!(value(name), number, "{name}");
        }
    }
}
