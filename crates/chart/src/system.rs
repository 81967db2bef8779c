//! A hierarchical system: tables, features and weights of every system, without those that need an order of phrases.

use dragoman_base::{Error, Result};
use dragoman_model::feature::{Builder, Kinds, Part};
use std::convert::Infallible;
use std::ops::Deref;

/// Kinds that other decoders have and this one cannot.
const KINDS: Kinds<Infallible> = Kinds {
    dense: &[("distortion", refuse), ("reordering", refuse)],
    sparse: &[("lo", refuse), ("pb", refuse), ("sparse-hrm", refuse)],
};

fn refuse(part: &Part, _: &mut Builder) -> Result<Box<Infallible>> {
    let Part { kind, name, .. } = part;
    Err(Error::Invalid(format!(
        "{kind} {name}: it looks at the order in which phrases are translated, which a hierarchical system does not have"
    )))
}

/// Tables and features, shared by all threads, without weights.
pub struct System {
    model: dragoman_model::System,
}

impl Deref for System {
    type Target = dragoman_model::System;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.model
    }
}

impl System {
    /// Opens tables and builds features from their descriptions.
    pub fn open(tables: &[String], parts: &[Part]) -> Result<Self> {
        Self::open_with(tables, parts, |_| Ok(()))
    }

    /// The same with features that no description names, which `more` adds after the dense ones and before the sparse.
    pub fn open_with(
        tables: &[String],
        parts: &[Part],
        more: impl FnOnce(&mut Builder) -> Result<()>,
    ) -> Result<Self> {
        let (model, _) =
            dragoman_model::System::open(tables, parts, &KINDS, |to| more(to).map(|()| Vec::new()))?;
        let path = tables.iter().zip(model.tables()).find_map(|(path, t)| (!t.has_gaps()).then_some(path));
        if let Some(path) = path {
            return Err(Error::Invalid(format!(
                "{path}: its rules have no gaps, so it belongs to a phrase-based system; a hierarchical one needs rules \
                 with gaps"
            )));
        }
        Ok(Self { model })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_of_another_order_are_refused() {
        for kind in ["distortion", "reordering", "lo", "pb", "sparse-hrm"] {
            let part = Part { kind: kind.to_owned(), name: "it".to_owned(), options: Vec::new() };
            let error = System::open(&[], &[part]).err().unwrap().to_string();
            assert!(error.contains("order in which phrases") && error.contains(kind), "{error}");
        }
    }
}
