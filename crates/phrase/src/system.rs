//! A phrase-based system: tables, features and weights of every system, and the features that only this decoder has.

use crate::feature::{KINDS, OrderFeature};
use dragoman_base::{Error, Result};
use dragoman_model::feature::{Builder, Part, StateFeature};
use dragoman_model::{Rule, Sentence, State};
use std::ops::Deref;

/// Tables and features, shared by all threads, without weights.
pub struct System {
    model: dragoman_model::System,
    /// All state features, in the order in which they are asked.
    states: Vec<State<dyn OrderFeature>>,
}

impl Deref for System {
    type Target = dragoman_model::System;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.model
    }
}

/// A state feature of any kind.
pub(crate) enum Stateful<'a> {
    /// It looks at target words alone.
    Words(&'a dyn StateFeature),
    /// It looks at the order of the source, too.
    Order(&'a dyn OrderFeature),
}

impl Stateful<'_> {
    /// A guess of what a rule will score.
    #[inline]
    pub fn estimate(&self, sentence: &Sentence<'_>, rule: &Rule<'_>, weights: &[f32]) -> f32 {
        match self {
            Self::Words(feature) => feature.estimate(sentence, rule, weights),
            Self::Order(feature) => feature.estimate(sentence, rule, weights),
        }
    }
}

impl System {
    /// Opens tables and builds features from their descriptions.
    pub fn open(tables: &[String], parts: &[Part]) -> Result<Self> {
        Self::open_with(tables, parts, |_| Ok(Vec::new()))
    }

    /// The same with features that no description names, which `more` adds after the dense ones and before the sparse;
    /// it gives those that look at the order of the source.
    pub fn open_with(
        tables: &[String],
        parts: &[Part],
        more: impl FnOnce(&mut Builder) -> Result<Vec<Box<dyn OrderFeature>>>,
    ) -> Result<Self> {
        let (model, states) = dragoman_model::System::open(tables, parts, &KINDS, more)?;
        if let Some(path) =
            tables.iter().zip(model.tables()).find_map(|(path, t)| t.has_gaps().then_some(path))
        {
            return Err(Error::Invalid(format!(
                "{path}: its rules have gaps, so it belongs to a hierarchical system; a phrase-based one needs a table \
                 of phrases"
            )));
        }
        Ok(Self { model, states })
    }

    /// All state features, in the order in which they are asked.
    #[inline]
    pub(crate) fn states(&self) -> impl Iterator<Item = Stateful<'_>> {
        self.states.iter().map(|state| match state {
            State::Shared(number) => Stateful::Words(&*self.model.state_features()[*number]),
            State::Own(feature) => Stateful::Order(&**feature),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dragoman_base::Texts;
    use dragoman_rules::table::Rule;
    use dragoman_rules::{Builder, gap};

    #[test]
    fn tables_with_gaps_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rules");
        let mut builder = Builder::create(&path, &[], "{}").unwrap();
        builder.push(Rule { source: &[1, 0], target: &[0], links: &[], scores: &[] }).unwrap();
        let (source, target): (Texts, Texts) =
            ([gap::SOURCE, "a"].into_iter().collect(), [gap::TARGET[0]].into_iter().collect());
        builder.finish(&source, &target).unwrap();
        let error = System::open(&[path.display().to_string()], &[]).err().unwrap().to_string();
        assert!(error.contains("rules have gaps") && error.contains("rules"), "{error}");
    }
}
