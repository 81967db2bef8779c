//! The scores of a rule table as features.

use super::{Builder, Part, RuleFeature};
use crate::rule::{Origin, Rule};
use crate::sentence::Sentence;
use crate::sink::Sink;
use dragoman_base::{Error, Result};
use dragoman_rules::RuleSource;
use std::sync::Arc;

struct Scores {
    table: usize,
    rules: Arc<dyn RuleSource>,
    /// Column of the table, feature.
    columns: Vec<(usize, u32)>,
}

impl RuleFeature for Scores {
    fn score(&self, _: &Sentence<'_>, rule: &Rule<'_>, out: &mut Sink<'_>) {
        if rule.origin == Origin::Table(self.table) {
            let row = self.rules.scores(rule.number);
            for &(column, feature) in &self.columns {
                out.add(feature, row[column]);
            }
        }
    }
}

/// `scores`, with `table` (its number), `columns` (names after commas) and `names` for them (the columns' own unless
/// told; `TM[]` gives `TM[0]`, `TM[1]` and so on).
pub fn scores(part: &Part, to: &mut Builder) -> Result<()> {
    let table = part.number("table", 0.0)? as usize;
    let rules = to.table(table)?;
    let wanted = part.list("columns");
    let known = rules.columns().to_vec();
    let mut columns = Vec::new();
    for (i, name) in wanted.iter().enumerate() {
        let Some(column) = known.iter().position(|column| column == name) else {
            let known = known.join(", ");
            return Err(Error::Invalid(format!("the rule table has no column `{name}`; it has {known}")));
        };
        let feature = match part.get("group") {
            Some(group) if wanted.len() == 1 => group.to_owned(),
            Some(group) => format!("{group}[{i}]"),
            None => name.replace(' ', "-"),
        };
        columns.push((column, to.dense(&feature)?));
    }
    to.add_rule(Scores { table, rules, columns });
    Ok(())
}
