//! Features that users bring: rule features that see all rules that apply to a sentence at once.

use crate::rule::Applied;
use crate::sentence::Sentence;
use crate::sink::{OWN, Sink};
use crate::weights::Weights;
use dragoman_base::{Names, Result};
use std::sync::RwLock;

/// A rule feature that is asked once for all rules that apply to a sentence, before any is cut.
pub trait BatchFeature: Send + Sync {
    /// Says what fires, on any rule, in any order.
    fn score(&self, sentence: &Sentence<'_>, rules: &dyn Applied, out: &mut Fired<'_>) -> Result<()>;
}

/// Takes what features say that see all rules at once.
#[derive(Debug)]
pub struct Fired<'a> {
    names: &'a RwLock<Names>,
    /// Rule, feature, value; features from [`OWN`] on are of `own`.
    rows: Vec<(u32, u32, f32)>,
    /// Names that the system lacks: no weight knows them.
    own: Names,
}

impl<'a> Fired<'a> {
    /// For one sentence; `names` are the system's.
    pub fn new(names: &'a RwLock<Names>) -> Self {
        Self { names, rows: Vec::new(), own: Names::new() }
    }

    /// A feature fires on a rule.
    pub fn add(&mut self, rule: u32, feature: u32, value: f32) {
        self.rows.push((rule, feature, value));
    }

    /// Features fire that are known by name. The system's table is looked at and never added to.
    pub fn named<'n>(&mut self, rows: impl Iterator<Item = (u32, &'n str, f32)>) {
        let names = self.names.read().expect("no panic while locked");
        for (rule, name, value) in rows {
            let feature = names.get(name).unwrap_or_else(|| OWN + self.own.intern(name));
            self.rows.push((rule, feature, value));
        }
    }

    /// Sorts by rule, of which there are `count`; what several features say of one keeps their order.
    pub fn sorted(mut self, count: usize) -> Said {
        self.rows.sort_by_key(|&(rule, _, _)| rule);
        let mut made = Said { starts: vec![0], fired: Vec::with_capacity(self.rows.len()), own: self.own };
        let mut rest = self.rows.as_slice();
        for number in 0..count {
            let mine = rest.iter().take_while(|&&(rule, _, _)| rule as usize == number).count();
            made.fired.extend(rest[..mine].iter().map(|&(_, feature, value)| (feature, value)));
            made.starts.push(made.fired.len() as u32);
            rest = &rest[mine..];
        }
        made
    }
}

/// What these features said of each rule.
#[derive(Debug, Default)]
pub struct Said {
    /// `fired[starts[i]..starts[i + 1]]` of rule i.
    starts: Vec<u32>,
    fired: Vec<(u32, f32)>,
    /// Names that the system lacks.
    own: Names,
}

impl Said {
    /// Of one rule; nothing if it was not there.
    fn of(&self, rule: u32) -> &[(u32, f32)] {
        let at = rule as usize;
        let Some(&[from, to]) = self.starts.get(at..at + 2) else { return &[] };
        &self.fired[from as usize..to as usize]
    }

    /// The weighted sum of what was said of a rule.
    pub fn sum(&self, rule: u32, weights: &Weights) -> f32 {
        let mut out = Sink::scoring(weights);
        for &(feature, value) in self.of(rule) {
            out.add(feature, value);
        }
        out.score()
    }

    /// Lists what was said of a rule; `names` are the system's.
    pub fn list(&self, rule: u32, names: &RwLock<Names>, out: &mut Sink<'_>) {
        for &(feature, value) in self.of(rule) {
            if feature >= OWN {
                let names = names.read().expect("no panic while locked");
                out.named(&names, self.own.name(feature - OWN), value);
            } else {
                out.add(feature, value);
            }
        }
    }
}
