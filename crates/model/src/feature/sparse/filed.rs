//! What the names of a set mean, worked out once for each name and not for each of the weights that tuning tries.

use super::Common;
use crate::sink::Sink;
use crate::weights::Weights;
use std::sync::{Arc, Mutex};

/// A map that can take in another one, of names that were filed later.
pub trait Absorb: Clone + Default {
    /// Takes in all that the other one has.
    fn absorb(&mut self, other: &Self);
}

/// Maps from what names of a set mean to their numbers, the oldest names first. What is looked for may be in any.
pub type Layers<T> = Vec<Arc<T>>;

/// A map from what names of a set mean to their numbers. It grows with the system's table of names and does not
/// depend on weights.
///
/// Sentences that are under way hold on to what they have seen, so that a map which is in use cannot grow. Then new names
/// go to a map of their own, and a large one is copied only when about as many names have come since.
#[derive(Debug, Default)]
pub struct Filed<T>(Mutex<Known<T>>);

#[derive(Debug, Default)]
struct Known<T> {
    /// How many of the system's names are taken into account.
    seen: usize,
    /// Maps and the names in them.
    layers: Vec<(usize, Arc<T>)>,
}

/// A map is copied when those behind it have at least one part in so many of its names.
const SHARE: usize = 4;

impl<T: Absorb> Filed<T> {
    /// The map of at least the first `count` names; `add` takes the number of a name and what follows its prefix.
    /// Names that may not fire are left out.
    pub fn up_to(&self, common: &Common, count: usize, add: impl Fn(&mut T, u32, &str)) -> Layers<T> {
        let mut known = self.0.lock().expect("no panic while locked");
        if known.seen < count {
            let names = common.names.read().expect("no panic while locked");
            let (mut more, mut size) = (T::default(), 0);
            for id in known.seen as u32..names.len() as u32 {
                let name = names.name(id);
                if let Some(rest) = name.strip_prefix(&common.prefix)
                    && common.allows(name)
                {
                    add(&mut more, id, rest);
                    size += 1;
                }
            }
            known.seen = names.len();
            if size > 0 {
                known.push(size, more);
            }
        }
        known.layers.iter().map(|(_, layer)| Arc::clone(layer)).collect()
    }
}

impl<T: Absorb> Known<T> {
    fn push(&mut self, mut size: usize, mut more: T) {
        while let Some((before, layer)) = self.layers.last_mut() {
            if Arc::get_mut(layer).is_none() && size * SHARE < *before {
                break;
            }
            Arc::make_mut(layer).absorb(&more);
            let (before, layer) = self.layers.pop().expect("there is one");
            size += before;
            more = Arc::unwrap_or_clone(layer);
        }
        self.layers.push((size, Arc::new(more)));
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    impl Absorb for BTreeMap<u32, u32> {
        fn absorb(&mut self, other: &Self) {
            self.extend(other);
        }
    }

    proptest! {
        /// Whoever holds on to what: each sees the names that there were, and no name is copied again and again.
        #[test]
        fn layers_have_all_names_once(steps in prop::collection::vec((1usize..50, 0usize..4), 1..60)) {
            let mut known = Known::<BTreeMap<u32, u32>>::default();
            let (mut held, mut next) = (Vec::new(), 0u32);
            for (count, keep) in steps {
                let more: BTreeMap<u32, u32> = (next..next + count as u32).map(|id| (id, id + 1)).collect();
                next += count as u32;
                known.push(count, more);
                let layers: Layers<_> = known.layers.iter().map(|(_, layer)| Arc::clone(layer)).collect();
                for (size, layer) in &known.layers {
                    prop_assert_eq!(*size, layer.len());
                }
                prop_assert!(known.layers.windows(2).all(|two| two[1].0 * SHARE < two[0].0));
                held.push((next, layers));
                if keep == 0 {
                    held.clear();
                }
            }
            for (count, layers) in &held {
                let all: Vec<u32> = layers.iter().flat_map(|layer| layer.keys().copied()).collect();
                prop_assert_eq!(all, (0..*count).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn what_nobody_holds_grows_in_place() {
        let mut known = Known::<BTreeMap<u32, u32>>::default();
        for id in 0..1000 {
            known.push(1, BTreeMap::from([(id, id)]));
            assert_eq!(known.layers.len(), 1);
        }
        let held = Arc::clone(&known.layers[0].1);
        known.push(1, BTreeMap::from([(1000, 0)]));
        assert_eq!((held.len(), known.layers.len()), (1000, 2));
        drop(held);
        known.push(1, BTreeMap::from([(1001, 0)]));
        assert_eq!((known.layers.len(), known.layers[0].1.len()), (1, 1002));
    }
}
