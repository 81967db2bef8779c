//! A system of either kind, behind one interface.

use crate::decode::PySettings;
use crate::own;
use dragoman_base::{Error, Names, Result};
use dragoman_chart::Reach;
use dragoman_forest::Forest;
use dragoman_model::feature::{Part, StateFeature};
use dragoman_model::found::{Explained, Filing, Translation, explained};
use dragoman_model::{Input, OWN, Weights};
use dragoman_phrase::Lattice;
use std::ops::Deref;
use std::sync::Arc;

/// A phrase-based or a hierarchical system, shared by all threads.
#[derive(Clone)]
pub enum System {
    Phrase(Arc<dragoman_phrase::System>),
    Hiero(Arc<dragoman_chart::System>),
}

impl Deref for System {
    type Target = dragoman_model::System;

    #[inline]
    fn deref(&self) -> &Self::Target {
        match self {
            Self::Phrase(system) => system,
            Self::Hiero(system) => system,
        }
    }
}

impl System {
    /// Opens tables and builds features; `kind` is `phrase` or `hiero`.
    pub fn open(
        kind: &str,
        tables: &[String],
        parts: &[Part],
        rules: Vec<own::RuleParts>,
        states: Vec<own::StateParts>,
    ) -> Result<Self> {
        match kind {
            "phrase" => {
                let more = |to: &mut _| own::add(rules, states, tables.len(), to);
                dragoman_phrase::System::open_with(tables, parts, more)
                    .map(|made| Self::Phrase(Arc::new(made)))
            }
            "hiero" => {
                if let Some((name, ..)) = states.first() {
                    return Err(Error::Invalid(format!(
                        "the feature `{name}` goes from phrase to phrase, which a hierarchical system does not do; use a \
                         rule feature"
                    )));
                }
                let more = |to: &mut _| own::add(rules, states, tables.len(), to).map(|_| ());
                dragoman_chart::System::open_with(tables, parts, more).map(|made| Self::Hiero(Arc::new(made)))
            }
            other => Err(Error::Invalid(format!("expected the system phrase or hiero, found {other}"))),
        }
    }

    /// The phrase-based system, or a sentence that says that `what` needs one.
    pub fn phrase(&self, what: &str) -> Result<&Arc<dragoman_phrase::System>> {
        match self {
            Self::Phrase(system) => Ok(system),
            Self::Hiero(_) => Err(Error::Invalid(format!(
                "{what} needs a phrase-based system, and this one is hierarchical"
            ))),
        }
    }

    /// Translates a sentence; `target` is a feature that only this sentence has.
    pub fn translate(
        &self,
        input: &Input,
        weights: &Weights,
        settings: &PySettings,
        target: Option<&dyn StateFeature>,
    ) -> Result<Translation> {
        match self {
            Self::Phrase(system) => {
                dragoman_phrase::translate(system, input, weights, &settings.phrase(), target)
            }
            Self::Hiero(system) => {
                dragoman_chart::translate(system, input, weights, &settings.hiero(), target)
            }
        }
    }

    /// The best derivation of a sentence: its score, its text, and its rules with features as the system numbers them.
    pub fn explain(
        &self,
        input: &Input,
        weights: &Weights,
        settings: &PySettings,
    ) -> Result<(f64, String, Vec<Explained>)> {
        match self {
            Self::Phrase(system) => {
                let plan =
                    dragoman_phrase::Settings { explain: true, features: true, size: 1, ..settings.phrase() };
                let found = dragoman_phrase::translate(system, input, weights, &plan, None)?;
                let own = self.file(&found.own);
                let Some(best) = found.hypotheses.first() else {
                    return Err(Error::Invalid("this sentence has no derivation".to_owned()));
                };
                let steps = explained(input, best, Filing { dense: self.dense(), own: &own });
                Ok((best.score, best.text.clone(), steps))
            }
            Self::Hiero(system) => {
                let plan = settings.hiero();
                let (score, text, mut steps, own) = dragoman_chart::explain(system, input, weights, &plan)?;
                let own = self.file(&own);
                let filing = Filing { dense: self.dense(), own: &own };
                for step in &mut steps {
                    step.features = filing.rows(&step.features);
                }
                Ok((score, text, steps))
            }
        }
    }

    /// The forest of a sentence, `density` edges for each source word or all, and names that the system lacks.
    pub fn forest(
        &self,
        input: &Input,
        weights: &Weights,
        settings: &PySettings,
        density: f64,
    ) -> Result<(Forest, Names)> {
        match self {
            Self::Phrase(system) => {
                let mut plan = settings.phrase();
                plan.limits.keep = true;
                let most = (density > 0.0).then(|| (density * input.words.len() as f64).ceil() as usize);
                let lattice =
                    dragoman_phrase::search(system, input, weights, &plan, None, |ready, graph| {
                        Lattice::new(ready, graph, plan.features, most)
                    })?;
                Ok((lattice.forest, lattice.own))
            }
            Self::Hiero(system) => {
                dragoman_chart::forest_of(system, input, weights, &settings.hiero(), density)
            }
        }
    }

    /// A forest with features as the system numbers them, which gets the names that it lacks.
    pub fn filed(&self, (mut forest, own): (Forest, Names)) -> Forest {
        let own = self.file(&own);
        for column in forest.rows.columns.iter_mut().filter(|column| **column >= OWN) {
            *column = own[(*column - OWN) as usize];
        }
        forest
    }
}

impl PySettings {
    /// As a chart wants it.
    fn hiero(&self) -> dragoman_chart::Settings {
        let limits = dragoman_chart::Limits {
            nodes: self.cell_limit,
            pops: self.pop_limit,
            threshold: self.threshold,
            deadline: self.time(),
            stop: self.stop(),
            memory: self.memory,
            keep: self.size > 1,
        };
        dragoman_chart::Settings {
            limits,
            choice: dragoman_chart::Choice { limit: self.table_limit, drop_unknown: self.drop_unknown },
            reach: Reach { span: self.span_limit, pass_through: self.pass_through },
            size: self.size,
            distinct: self.distinct,
            features: self.features,
        }
    }
}
