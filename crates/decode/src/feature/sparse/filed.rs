//! What the names of a set mean, worked out once for each name and not for each of the weights that tuning tries.

use super::Common;
use crate::feature::Sink;
use crate::weights::Weights;
use std::sync::{Arc, Mutex};

/// A map from what names of a set mean to their numbers. It grows with the system's table of names and does not
/// depend on weights.
#[derive(Debug, Default)]
pub struct Filed<T>(Mutex<(usize, Arc<T>)>);

impl<T: Clone> Filed<T> {
    /// The map of at least the first `count` names; `add` takes the number of a name and what follows its prefix.
    /// Names that may not fire are left out.
    pub fn up_to(&self, common: &Common, count: usize, add: impl Fn(&mut T, u32, &str)) -> Arc<T> {
        let mut known = self.0.lock().expect("no panic while locked");
        if known.0 < count {
            let names = common.names.read().expect("no panic while locked");
            for id in known.0 as u32..names.len() as u32 {
                let name = names.name(id);
                if let Some(rest) = name.strip_prefix(&common.prefix)
                    && common.allows(name)
                {
                    add(Arc::make_mut(&mut known.1), id, rest);
                }
            }
            known.0 = names.len();
        }
        Arc::clone(&known.1)
    }
}

/// A name as lists carry it, looked up once in a sentence.
#[derive(Debug, Clone, PartialEq)]
pub enum Listed {
    /// One that may not fire.
    Nothing,
    /// The system has it.
    Filed(u32),
    /// The list has to bring it along.
    Own(Box<str>),
}

impl Listed {
    /// Looks a name up.
    pub fn new(common: &Common, name: &str) -> Self {
        if !common.allows(name) {
            return Self::Nothing;
        }
        let filed = common.names.read().expect("no panic while locked").get(name);
        filed.map_or_else(|| Self::Own(name.into()), Self::Filed)
    }

    /// Fires once.
    pub fn fire(&self, out: &mut Sink<'_>) {
        match self {
            Self::Nothing => {}
            Self::Filed(id) => out.add(*id, 1.0),
            Self::Own(name) => out.own(name, 1.0),
        }
    }

    /// What it weighs; a name that the system lacks weighs nothing.
    pub fn weight(&self, weights: &Weights) -> f32 {
        match self {
            Self::Filed(id) => weights.weight(*id),
            Self::Nothing | Self::Own(_) => 0.0,
        }
    }
}
