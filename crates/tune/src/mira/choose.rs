//! Oracle, prediction, and what is to be learned from them.

use crate::lists::largest;

/// Which candidate the weights should move towards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oracle {
    /// Largest gain among this many best candidates under the model (local update).
    Local(usize),
    /// Largest gain of all (max-BLEU).
    MaxGain,
    /// Largest model score plus gain.
    Hope,
}

/// Which candidate the weights should move away from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prediction {
    /// Largest model score.
    Model,
    /// Smallest gain (max-cost).
    MaxCost,
    /// Largest model score minus gain.
    Fear,
}

/// Whose statistics enter the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feed {
    /// The oracle's.
    Oracle,
    /// The 1-best candidate's under the model.
    Model,
}

/// Which pairs are told apart.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// Where to.
    pub oracle: Oracle,
    /// Where from.
    pub prediction: Prediction,
    /// How many of the model's best candidates hope and the predictions look at; 0 is all.
    pub near: usize,
}

/// What is maximised: `model` times the model score plus `gain` times the gain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wish {
    /// 0 or 1.
    pub model: f64,
    /// 1 for hope, −1 for fear, 0 for the 1-best.
    pub gain: f64,
}

impl Wish {
    /// The 1-best.
    pub const MODEL: Self = Self { model: 1.0, gain: 0.0 };

    /// The value of a model score and a gain.
    pub fn value(self, model: f64, gain: f64) -> f64 {
        self.model * model + self.gain * gain
    }
}

impl Rules {
    /// What oracle and prediction maximise.
    pub fn wishes(&self) -> (Wish, Wish) {
        let plus = match self.oracle {
            Oracle::Local(_) | Oracle::MaxGain => Wish { model: 0.0, gain: 1.0 },
            Oracle::Hope => Wish { model: 1.0, gain: 1.0 },
        };
        let minus = match self.prediction {
            Prediction::Model => Wish::MODEL,
            Prediction::MaxCost => Wish { model: 0.0, gain: -1.0 },
            Prediction::Fear => Wish { model: 1.0, gain: -1.0 },
        };
        (plus, minus)
    }

    /// Among how many of the model's best candidates oracle and prediction are looked for; 0 is all.
    pub fn reach(&self) -> (usize, usize) {
        let plus = match self.oracle {
            Oracle::Local(count) => count,
            Oracle::MaxGain => 0,
            Oracle::Hope => self.near,
        };
        (plus, self.near)
    }

    /// Oracle and prediction of a list that is not empty. `gains` may be off by `slack`; `exact` gives the true one.
    pub(crate) fn choose(
        &self,
        model: &[f64],
        (gains, slack): (&[f64], f64),
        values: &mut Vec<f64>,
        mut exact: impl FnMut(usize) -> f64,
    ) -> (Chosen, Chosen) {
        let mut pick = |wish: Wish, reach: usize| {
            values.clear();
            values.extend(model.iter().zip(gains).map(|(model, gain)| wish.value(*model, *gain)));
            for at in far(model, reach) {
                values[at] = f64::NEG_INFINITY;
            }
            best_of(values, if wish.gain == 0.0 { 0.0 } else { slack }, |at| {
                let gain = exact(at);
                (wish.value(model[at], gain), Chosen { at, model: model[at], gain })
            })
        };
        let ((plus, minus), reach) = (self.wishes(), self.reach());
        (pick(plus, reach.0), pick(minus, reach.1))
    }
}

/// A chosen candidate: its place in the list, model score and gain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chosen {
    /// Its place.
    pub at: usize,
    /// Its model score.
    pub model: f64,
    /// Its gain.
    pub gain: f64,
}

/// What is to be learned from an oracle and a prediction: None if the oracle has no larger gain, else the loss
/// [M(y-) − M(y+)] + [G(y+) − G(y-)], or 0 where the margin is met.
pub fn lesson(plus: &Chosen, minus: &Chosen) -> Option<f64> {
    if plus.gain <= minus.gain {
        return None;
    }
    let loss = (minus.model - plus.model) + (plus.gain - minus.gain);
    // A margin that an earlier step made exact leaves a loss of a few bits, which is none: it would be no step, but
    // count as an update in the average.
    let size = minus.model.abs() + plus.model.abs() + plus.gain.abs() + minus.gain.abs();
    Some(if loss > 1e-12 * size { loss } else { 0.0 })
}

/// The first candidate with the largest true value. All within reach of the approximate maximum are asked for
/// their true value, so that approximate gains never change a choice.
fn best_of(values: &[f64], slack: f64, mut exact: impl FnMut(usize) -> (f64, Chosen)) -> Chosen {
    let top = largest(values);
    let floor = top - 2.0 * slack - 1e-14 * top.abs();
    let mut best: Option<(f64, Chosen)> = None;
    for (at, _) in values.iter().enumerate().filter(|e| *e.1 >= floor) {
        let (value, chosen) = exact(at);
        if best.is_none_or(|(most, _)| value > most) {
            best = Some((value, chosen));
        }
    }
    best.map_or(Chosen { at: 0, model: f64::NAN, gain: f64::NAN }, |(_, chosen)| chosen)
}

/// The candidates beyond the `count` with the best model scores, of equals those that come later; none if `count` is 0.
fn far(model: &[f64], count: usize) -> Vec<usize> {
    if count == 0 || count >= model.len() {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..model.len()).collect();
    order.select_nth_unstable_by(count - 1, |&a, &b| model[b].total_cmp(&model[a]).then(a.cmp(&b)));
    order.split_off(count)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(in super::super) const ORACLES: [Oracle; 3] = [Oracle::Local(2), Oracle::MaxGain, Oracle::Hope];
    pub(in super::super) const PREDICTIONS: [Prediction; 3] =
        [Prediction::Model, Prediction::MaxCost, Prediction::Fear];

    #[test]
    fn the_nine_pairs_by_hand() {
        let (model, gains) = ([3.0, 2.0, 0.0, 2.5], [0.1, 0.9, 1.8, 0.0]);
        let places = |oracle, prediction, near| {
            let rules = Rules { oracle, prediction, near };
            let (plus, minus) = rules.choose(&model, (&gains, 0.0), &mut Vec::new(), |at| gains[at]);
            assert!(plus.gain == gains[plus.at] && minus.gain == gains[minus.at]);
            (plus.at, minus.at)
        };
        let found: Vec<_> = ORACLES.iter().flat_map(|&o| PREDICTIONS.map(|p| places(o, p, 0))).collect();
        let want = [(0, 0), (0, 3), (0, 0), (2, 0), (2, 3), (2, 0), (0, 0), (0, 3), (0, 0)];
        assert_eq!(found, want);
        assert_eq!(places(Oracle::MaxGain, Prediction::MaxCost, 1), (2, 0), "max-BLEU looks at all");
    }

    #[test]
    fn the_first_of_equals_is_chosen() {
        for slack in [0.0, 0.1] {
            let exact = |at| ([0.5, 1.0, 1.0, 1.0][at], Chosen { at, model: 0.0, gain: at as f64 });
            let chosen = best_of(&[0.5, 1.0, 1.0, 0.9], slack, exact);
            assert_eq!(chosen, Chosen { at: 1, model: 0.0, gain: 1.0 });
        }
    }

    #[test]
    fn of_equal_model_scores_the_first_are_near() {
        let mut beyond = far(&[1.0, 2.0, 1.0, 1.0, 0.0], 3);
        beyond.sort_unstable();
        assert_eq!(beyond, [3, 4]);
        assert!(far(&[1.0, 2.0], 2).is_empty() && far(&[1.0, 2.0], 0).is_empty());
    }

    #[test]
    fn a_loss_of_a_few_bits_is_none() {
        let chosen = |model, gain| Chosen { at: 0, model, gain };
        assert_eq!(lesson(&chosen(0.0, 1.0), &chosen(0.0, 1.0)), None);
        assert_eq!(lesson(&chosen(0.0, 1.0), &chosen(2.0, 0.5)), Some(2.5));
        assert_eq!(lesson(&chosen(100.5, 1.0), &chosen(100.0 + 1e-11, 0.5)), Some(0.0));
        assert_eq!(lesson(&chosen(9.0, 1.0), &chosen(2.0, 0.5)), Some(0.0), "the margin is met");
    }

    proptest! {
        /// Whatever the approximation does within its slack, the choice is that of the true gains.
        #[test]
        fn approximate_gains_never_change_a_choice(
            rows in prop::collection::vec((0u8..4, 0u8..4, -1.0..1.0f64), 1..30), slack in 0.0..0.5f64, near in 0usize..9,
        ) {
            let model: Vec<f64> = rows.iter().map(|r| f64::from(r.0) / 2.0).collect();
            let gains: Vec<f64> = rows.iter().map(|r| f64::from(r.1) / 2.0).collect();
            let rough: Vec<f64> = rows.iter().zip(&gains).map(|(r, g)| g + slack * r.2).collect();
            let mut room = Vec::new();
            for oracle in ORACLES {
                for prediction in PREDICTIONS {
                    let rules = Rules { oracle, prediction, near };
                    let exact = rules.choose(&model, (&gains, 0.0), &mut room, |at| gains[at]);
                    let fast = rules.choose(&model, (&rough, slack), &mut room, |at| gains[at]);
                    prop_assert_eq!(exact, fast);
                    // By the definition: sorted by score, cut, the first of the largest.
                    let mut order: Vec<usize> = (0..model.len()).collect();
                    order.sort_by(|&a, &b| model[b].total_cmp(&model[a]));
                    let best = |wish: Wish, reach: usize| {
                        let mut seen = order[..if reach == 0 { order.len() } else { reach.min(order.len()) }].to_vec();
                        seen.sort_unstable();
                        seen.into_iter().reduce(|a, b| {
                            if wish.value(model[b], gains[b]) > wish.value(model[a], gains[a]) { b } else { a }
                        })
                    };
                    let ((plus, minus), reach) = (rules.wishes(), rules.reach());
                    prop_assert_eq!(Some(exact.0.at), best(plus, reach.0));
                    prop_assert_eq!(Some(exact.1.at), best(minus, reach.1));
                }
            }
        }
    }
}
