//! Boosted trees (Toutanova & Ahn 2013): regression trees over attributes of rules, induced by gradient boosting.
//!
//! Tree k is the feature `boosted:k`: the sum over a derivation's rules of the leaves that they come to.

use super::attributes::Attributes;
use super::local::{Firing, ValuedSet};
use super::trees::Trees;
use super::{Common, LocalSet, View};
use crate::feature::{Builder, Part};
use dragoman_base::{Error, Names, Result};
use std::cell::RefCell;
use std::fmt::Write;

struct Boosted {
    attributes: Attributes,
    trees: Trees,
}

thread_local! {
    /// The attributes of the rule at hand: their room is used again.
    static ROOM: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

impl ValuedSet for Boosted {
    fn each(&self, view: &View<'_>, take: &mut dyn FnMut(u32, f32)) {
        ROOM.with_borrow_mut(|values| {
            self.attributes.fill(view, values);
            for tree in 0..self.trees.len() {
                take(tree as u32, self.trees.value(tree, values));
            }
        });
    }
}

/// Attributes of a rule as a name, for those who induce trees: `attributes:3F800000...`, eight hexadecimal digits for
/// each. So the features of a derivation tell what rules it has, as far as trees can see.
struct Named(Attributes);

impl LocalSet for Named {
    fn fire(&self, view: &View<'_>, out: &mut Firing<'_>) {
        ROOM.with_borrow_mut(|values| {
            self.0.fill(view, values);
            out.fire(|name| {
                for value in values.iter() {
                    // Zero has one sign only, so that equal attributes have equal names.
                    write!(name, "{:08X}", (value + 0.0).to_bits()).expect("memory takes all");
                }
            });
        });
    }
}

/// Finds the attributes of trees in the tables.
fn ready(path: &str, trees: &mut Trees, to: &Builder) -> Result<Attributes> {
    let frequent = std::mem::replace(&mut trees.frequent, [Names::new(), Names::new()]);
    let made = Attributes::new(trees.attributes.iter().map(String::as_str), frequent, to.tables());
    made.map_err(|(want, found)| {
        Error::Invalid(format!("{path}: attributes: expected {want}, found `{found}`"))
    })
}

/// `boosted`, with the file of trees as `path`.
pub fn boosted(part: &Part, to: &mut Builder) -> Result<()> {
    let path = part.need("path")?;
    let mut trees = Trees::read(path)?.without_idle();
    if trees.is_empty() {
        return Err(Error::Invalid(format!("{path}: trees: expected at least one, found none")));
    }
    let attributes = ready(path, &mut trees, to)?;
    let common = Common::new(part, to, false)?;
    let base = common.file((1..=trees.len()).map(|number| number.to_string()));
    to.add_valued(common, base, Boosted { attributes, trees });
    Ok(())
}

/// `attributes`, with a file of trees, or of none yet, as `path`.
pub fn attributes(part: &Part, to: &mut Builder) -> Result<()> {
    let path = part.need("path")?;
    let mut trees = Trees::read(path)?;
    let attributes = ready(path, &mut trees, to)?;
    let common = Common::new(part, to, true)?;
    to.add_local(common, Named(attributes));
    Ok(())
}
