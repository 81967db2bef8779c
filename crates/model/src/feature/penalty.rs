//! Counts: target words, phrases, unknown words, terms of a glossary.

use super::{Builder, Part, RuleFeature};
use crate::rule::{Origin, Rule};
use crate::sentence::Sentence;
use crate::sink::Sink;
use dragoman_base::Result;

/// Minus one for each target word, as Moses counts.
struct Words(u32);

impl RuleFeature for Words {
    fn score(&self, _: &Sentence<'_>, rule: &Rule<'_>, out: &mut Sink<'_>) {
        out.add(self.0, -(rule.words().count() as f32));
    }
}

/// One for each phrase.
struct Phrases(u32);

impl RuleFeature for Phrases {
    fn score(&self, _: &Sentence<'_>, _: &Rule<'_>, out: &mut Sink<'_>) {
        out.add(self.0, 1.0);
    }
}

/// A constant for each source word that no table knows.
struct Unknown {
    feature: u32,
    value: f32,
}

impl RuleFeature for Unknown {
    fn score(&self, _: &Sentence<'_>, rule: &Rule<'_>, out: &mut Sink<'_>) {
        if rule.origin == Origin::Unknown {
            out.add(self.feature, self.value);
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

/// `word-penalty`.
pub fn words(part: &Part, to: &mut Builder) -> Result<()> {
    let feature = to.dense(&part.name)?;
    to.add_rule(Words(feature));
    Ok(())
}

/// `phrase-penalty`.
pub fn phrases(part: &Part, to: &mut Builder) -> Result<()> {
    let feature = to.dense(&part.name)?;
    to.add_rule(Phrases(feature));
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
