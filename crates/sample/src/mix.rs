//! What several chains have learned side by side, as one.

use super::rank::Epoch;
use dragoman_phrase::System;
use std::collections::BTreeMap;

/// Chains as one; weights are numbered as the system has them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Mixed {
    /// The mean of the chains' weights.
    pub weights: Vec<f64>,
    /// The sum of all weights that they collected.
    pub sum: Vec<f64>,
    /// The mean of their sums of squares.
    pub squares: Vec<f64>,
    /// The sum of their information of the dense features, row by row.
    pub information: Vec<f64>,
    /// Figures by name: sums over chains, but the mean of the energy.
    pub figures: BTreeMap<&'static str, f64>,
}

impl Mixed {
    /// Mixes chains that come with their numbers, in any order: they are filed and summed in order of these.
    pub fn of(chains: impl IntoIterator<Item = (usize, Epoch)>, system: &System) -> Self {
        let mut chains: Vec<(usize, Epoch)> = chains.into_iter().collect();
        chains.sort_by_key(|&(number, _)| number);
        let chains: Vec<Epoch> = chains.into_iter().map(|(_, epoch)| epoch).collect();
        let filed: Vec<Vec<u32>> = chains.iter().map(|epoch| system.file(&epoch.learned.own)).collect();
        let width = system.names().read().expect("no panic while locked").len();
        Self::filed(&chains, &filed, width, system.dense())
    }

    /// The same with the numbers of each chain's own names.
    fn filed(chains: &[Epoch], filed: &[Vec<u32>], width: usize, dense: usize) -> Self {
        let [mut weights, mut sum, mut squares] = [(); 3].map(|()| vec![0.0; width]);
        let mut information = vec![0.0; dense * dense];
        let share = 1.0 / chains.len() as f64;
        let at = |list: &[f64], i: usize| list.get(i).copied().unwrap_or(0.0);
        for (epoch, filed) in chains.iter().zip(filed) {
            let count = epoch.collected as f64;
            let mut add = |id: usize, weight: f64, drift: f64, square: f64| {
                weights[id] += share * weight;
                sum[id] += count * weight - drift;
                squares[id] += share * square;
            };
            for (id, &weight) in epoch.learned.weights.iter().enumerate() {
                add(id, weight, at(&epoch.drift.0, id), at(&epoch.pace.squares.0, id));
            }
            for (own, &weight) in epoch.learned.own_weights.iter().enumerate() {
                add(filed[own] as usize, weight, at(&epoch.drift.1, own), at(&epoch.pace.squares.1, own));
            }
            information.iter_mut().zip(&epoch.pace.information).for_each(|(all, one)| *all += one);
        }
        Self { weights, sum, squares, information, figures: figures(chains) }
    }
}

fn figures(chains: &[Epoch]) -> BTreeMap<&'static str, f64> {
    let sum = |part: fn(&Epoch) -> f64| chains.iter().map(part).sum::<f64>();
    BTreeMap::from([
        ("collected", sum(|e| e.collected as f64)),
        ("samples", sum(|e| e.samples as f64)),
        ("moves", sum(|e| e.moves as f64)),
        ("updates", sum(|e| e.updates as f64)),
        ("capped", sum(|e| e.capped as f64)),
        ("gain", sum(|e| e.gain)),
        ("oracle", sum(|e| e.oracle)),
        ("learned_from", sum(|e| e.learned_from as f64)),
        ("energy", sum(|e| e.pace.energy) / chains.len() as f64),
        ("probed", sum(|e| e.probed.0 as f64)),
        ("members", sum(|e| e.probed.1 as f64)),
        ("gain_time", sum(|e| e.gain_time.as_secs_f64())),
        ("time", sum(|e| e.time.as_secs_f64())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Learned, Pace};
    use dragoman_base::Names;
    use proptest::prelude::*;
    use std::time::Duration;

    /// A chain with weights of the system's features and of its own, which have these names.
    fn chain(weights: &[f64], own: &[(&str, f64)], collected: u64) -> Epoch {
        let mut learned = Learned::new(weights.to_vec());
        learned.own = Names::new();
        for (name, _) in own {
            learned.own.intern(name);
        }
        learned.own_weights = own.iter().map(|&(_, weight)| weight).collect();
        let mut pace = Pace::new(1, vec![2.0; weights.len()], Vec::new(), 3.0);
        pace.information = vec![0.5];
        let drift = (vec![0.25; weights.len()], vec![]);
        let (samples, time) = (2 * collected, Duration::from_secs(1));
        Epoch { learned, drift, pace, collected, samples, time, ..Epoch::default() }
    }

    #[test]
    fn two_chains_by_hand() {
        let mut second = chain(&[3.0], &[("pt:y", 5.0)], 1);
        second.pace.energy = 4.0;
        second.pace.squares.1 = vec![6.0];
        second.drift.1 = vec![1.0];
        let chains = [chain(&[1.0, 2.0], &[("pt:x", 4.0), ("pt:y", 1.0)], 3), second];
        let mixed = Mixed::filed(&chains, &[vec![2, 3], vec![3]], 5, 1);
        assert_eq!(mixed.weights, [2.0, 1.0, 2.0, 3.0, 0.0]);
        // Collected times weight less drift: 3·1 - .25 + 1·3 - .25; 3·2 - .25; 3·4; 3·1 + 1·5 - 1.
        assert_eq!(mixed.sum, [5.5, 5.75, 12.0, 7.0, 0.0]);
        assert_eq!(mixed.squares, [2.0, 1.0, 0.0, 3.0, 0.0]);
        assert_eq!(mixed.information, [1.0]);
        let figure = |name| mixed.figures[name];
        assert_eq!((figure("collected"), figure("samples"), figure("time")), (4.0, 8.0, 2.0));
        assert_eq!(figure("energy"), 3.5);
    }

    proptest! {
        /// Whoever ends first: the same weights to the last bit, and the same numbers for names.
        #[test]
        fn the_order_in_which_chains_end_is_nothing(
            weights in prop::collection::vec(prop::collection::vec(-1.0f64..1.0, 3), 1..6),
            places in prop::collection::vec(any::<prop::sample::Index>(), 6),
        ) {
            let made = |order: &[usize]| {
                let system = System::open(&[], &[]).unwrap();
                let one = |&number: &usize| {
                    let own = [("pt:a", weights[number][0]), (["pt:b", "pt:c"][number % 2], 0.1 * number as f64)];
                    (number, chain(&weights[number][1..2], &own, number as u64))
                };
                // A system without features has room for its names only when they are filed.
                system.names().write().unwrap().intern("dense");
                let mixed = Mixed::of(order.iter().map(one), &system);
                let names: Vec<String> = system.names().read().unwrap().iter().map(str::to_owned).collect();
                (mixed, names)
            };
            let straight: Vec<usize> = (0..weights.len()).collect();
            let mut order = straight.clone();
            for (i, place) in places.iter().enumerate().take(order.len()) {
                let other = place.index(order.len());
                order.swap(i, other);
            }
            prop_assert_eq!(made(&order), made(&straight));
        }
    }
}
