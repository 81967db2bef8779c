//! Sets named by a rule or by pairs of its words: rules themselves (PT), linked words, inserted words.

use super::local::Firing;
use super::{Common, LocalSet, View, push_rule, push_word};
use crate::feature::{Builder, Part};
use dragoman_base::Result;

/// PT (Green et al. 2013): `pt:f1_f2>e1_e2`, one for each rule.
struct Rules;

impl LocalSet for Rules {
    fn fire(&self, view: &View<'_>, out: &mut Firing<'_>) {
        out.fire(|name| push_rule(name, view));
    }
}

/// Word pairs (Eidelman 2012): `wp:f>e`, one for each link.
struct Pairs;

impl LocalSet for Pairs {
    fn fire(&self, view: &View<'_>, out: &mut Firing<'_>) {
        for (f, e) in view.links.iter().filter_map(|link| view.pair(link)) {
            out.fire(|name| push_pair(name, f, e));
        }
    }
}

/// Insertions (Eidelman 2012): `ins:f>e`, for each target word without a link and every source word of the rule.
struct Insertions;

impl LocalSet for Insertions {
    fn fire(&self, view: &View<'_>, out: &mut Firing<'_>) {
        for (_, e) in view.target_words().filter(|&(at, _)| view.unlinked(at)) {
            for (_, f) in view.source_words() {
                out.fire(|name| push_pair(name, f, e));
            }
        }
    }
}

/// Appends `f>e`.
pub fn push_pair(name: &mut String, f: &str, e: &str) {
    push_word(name, f);
    name.push('>');
    push_word(name, e);
}

/// `pt`.
pub fn rules(part: &Part, to: &mut Builder) -> Result<()> {
    let common = Common::new(part, to, true)?;
    to.add_local(common, Rules);
    Ok(())
}

/// `wp`.
pub fn pairs(part: &Part, to: &mut Builder) -> Result<()> {
    let common = Common::new(part, to, true)?;
    to.add_local(common, Pairs);
    Ok(())
}

/// `ins`.
pub fn insertions(part: &Part, to: &mut Builder) -> Result<()> {
    let common = Common::new(part, to, true)?;
    to.add_local(common, Insertions);
    Ok(())
}
