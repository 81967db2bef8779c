//! Counts: target words, phrases, unknown words, terms of a glossary.

use super::{Builder, Part, RuleFeature};
use crate::rule::top::{END, FIRST, NEXT};
use crate::rule::{KNOWN, Origin, Rule};
use crate::sentence::Sentence;
use crate::sink::Sink;
use dragoman_base::Result;

/// Minus one for each target word, as Moses counts.
struct Words {
    feature: u32,
    /// Words that the ends of a sentence count as, in a chart.
    ends: f32,
}

impl RuleFeature for Words {
    fn score(&self, _: &Sentence<'_>, rule: &Rule<'_>, out: &mut Sink<'_>) {
        match (rule.origin, rule.number) {
            (Origin::Glue, END) if self.ends != 0.0 => out.add(self.feature, -self.ends),
            (Origin::Glue, _) => {}
            _ => out.add(self.feature, -(rule.words().count() as f32)),
        }
    }
}

/// Minus one for each source word. All translations of a sentence have the same sum: published systems list this
/// feature, and their sets of features can be had whole.
struct SourceWords(u32);

impl RuleFeature for SourceWords {
    fn score(&self, _: &Sentence<'_>, rule: &Rule<'_>, out: &mut Sink<'_>) {
        let words = rule.source().filter(|symbol| symbol.word().is_some()).count();
        if rule.origin != Origin::Glue && words > 0 {
            out.add(self.0, -(words as f32));
        }
    }
}

/// One for each phrase, or rule with gaps.
struct Phrases {
    feature: u32,
    /// Phrases that a rule of the start symbol counts as.
    glue: f32,
    /// Phrases that the ends of a sentence count as.
    ends: f32,
}

impl RuleFeature for Phrases {
    fn score(&self, _: &Sentence<'_>, rule: &Rule<'_>, out: &mut Sink<'_>) {
        let count = match (rule.origin, rule.number) {
            (Origin::Glue, END) => self.ends,
            (Origin::Glue, _) => self.glue,
            _ => 1.0,
        };
        if count != 0.0 {
            out.add(self.feature, count);
        }
    }
}

/// Rules of the start symbol of a chart: a value for the first span of a sentence, and one for each further span.
struct Glue {
    feature: u32,
    first: f32,
    next: f32,
}

impl RuleFeature for Glue {
    fn score(&self, _: &Sentence<'_>, rule: &Rule<'_>, out: &mut Sink<'_>) {
        let value = match (rule.origin, rule.number) {
            (Origin::Glue, FIRST) => self.first,
            (Origin::Glue, NEXT) => self.next,
            _ => return,
        };
        if value != 0.0 {
            out.add(self.feature, value);
        }
    }
}

/// Gaps of rules.
struct Gaps(u32);

impl RuleFeature for Gaps {
    fn score(&self, _: &Sentence<'_>, rule: &Rule<'_>, out: &mut Sink<'_>) {
        if !rule.gaps.is_empty() {
            out.add(self.0, rule.gaps.len() as f32);
        }
    }
}

/// A constant for each source word that no table knows.
struct Unknown {
    feature: u32,
    value: f32,
}

impl RuleFeature for Unknown {
    fn score(&self, _: &Sentence<'_>, rule: &Rule<'_>, out: &mut Sink<'_>) {
        if rule.origin == Origin::Unknown && rule.number != KNOWN {
            out.add(self.feature, self.value);
        }
    }
}

/// One for each source word that is passed through, known or not.
struct Passed(u32);

impl RuleFeature for Passed {
    fn score(&self, _: &Sentence<'_>, rule: &Rule<'_>, out: &mut Sink<'_>) {
        if rule.origin == Origin::Unknown {
            out.add(self.0, 1.0);
        }
    }
}

/// One for each term of a glossary that is used.
struct Terms(u32);

impl RuleFeature for Terms {
    fn score(&self, sentence: &Sentence<'_>, rule: &Rule<'_>, out: &mut Sink<'_>) {
        if rule.origin == Origin::Given && sentence.input.forced[rule.number as usize].term {
            out.add(self.0, 1.0);
        }
    }
}

/// `word-penalty`; in a chart with `ends`, words that the sentence's ends count as (0 unless told).
pub fn words(part: &Part, to: &mut Builder) -> Result<()> {
    let ends = part.number("ends", 0.0)?;
    let feature = to.dense(&part.name)?;
    to.add_rule(Words { feature, ends });
    Ok(())
}

/// `source-word-penalty`.
pub fn source_words(part: &Part, to: &mut Builder) -> Result<()> {
    let feature = to.dense(&part.name)?;
    to.add_rule(SourceWords(feature));
    Ok(())
}

/// `phrase-penalty`; in a chart with `glue` and `ends`, phrases that a rule of the start symbol and the sentence's ends
/// count as (0 unless told).
pub fn phrases(part: &Part, to: &mut Builder) -> Result<()> {
    let (glue, ends) = (part.number("glue", 0.0)?, part.number("ends", 0.0)?);
    let feature = to.dense(&part.name)?;
    to.add_rule(Phrases { feature, glue, ends });
    Ok(())
}

/// `pass-through`.
pub fn passed(part: &Part, to: &mut Builder) -> Result<()> {
    let feature = to.dense(&part.name)?;
    to.add_rule(Passed(feature));
    Ok(())
}

/// `glue`, with `first` (0 unless told) and `next` (1 unless told).
pub fn glue(part: &Part, to: &mut Builder) -> Result<()> {
    let (first, next) = (part.number("first", 0.0)?, part.number("next", 1.0)?);
    let feature = to.dense(&part.name)?;
    to.add_rule(Glue { feature, first, next });
    Ok(())
}

/// `arity`.
pub fn arity(part: &Part, to: &mut Builder) -> Result<()> {
    let feature = to.dense(&part.name)?;
    to.add_rule(Gaps(feature));
    Ok(())
}

/// `unknown-penalty`, with `value` (-100 unless told).
pub fn unknown(part: &Part, to: &mut Builder) -> Result<()> {
    let value = part.number("value", -100.0)?;
    let feature = to.dense(&part.name)?;
    to.add_rule(Unknown { feature, value });
    Ok(())
}

/// `glossary`.
pub fn glossary(part: &Part, to: &mut Builder) -> Result<()> {
    let feature = to.dense(&part.name)?;
    to.add_rule(Terms(feature));
    Ok(())
}
