//! MIRA on fixed lists: 1-best passive-aggressive updates with every choice of oracle and prediction
//! (Eidelman 2012), and k-best batch MIRA (Cherry & Foster 2012).

use crate::lists::{Lists, first_max, largest};
pub use crate::mira_gain::{Context, Judged, Scorer, Unit};
use crate::mira_rough::Rough;
use dragoman_optim::{Average, Learner, Memory, Rule};
use std::sync::Arc;

/// Which candidate the weights should move towards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oracle {
    /// Largest gain among this many best candidates under the model (local update).
    Local(usize),
    /// Largest gain of the whole list (max-BLEU).
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

/// The options of a run.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// Where to.
    pub oracle: Oracle,
    /// Where from.
    pub prediction: Prediction,
    /// What is left of the background when a candidate is added.
    pub decay: f64,
    /// Which candidate that is.
    pub feed: Feed,
}

/// Where the statistics that gains are scored with come from.
#[derive(Debug, Clone)]
pub enum Surroundings {
    /// There are none: gains are given.
    None,
    /// A decaying sum of earlier oracles.
    Background(Context),
    /// The previous pass's 1-best candidates (one index for each sentence, −1 for none) and their sum.
    Corpus(Context, Vec<i64>),
}

/// The lowest and the highest value of each weight.
pub type Bounds = (Vec<f64>, Vec<f64>);

/// A learner of passive-aggressive steps no longer than `cap` inside the bounds, with the average of all weights
/// on its way. It goes on from weights, the sums of the average and the number of updates.
pub fn learner(
    cap: f64,
    (lower, upper): &Bounds,
    (weights, sums, time): (Vec<f64>, Vec<f64>, u64),
) -> Learner {
    let memory = Memory { weights, sums, time, ..Memory::default() };
    let mut learner = Learner::new(Rule::PassiveAggressive { cap }, Average::Updates, memory);
    for (j, (&lower, &upper)) in lower.iter().zip(upper).enumerate() {
        if lower > f64::NEG_INFINITY || upper < f64::INFINITY {
            learner.bound(j as u32, lower, upper);
        }
    }
    learner
}

/// A pass over sentences, one at a time.
pub struct Run {
    lists: Arc<Lists>,
    judged: Arc<Judged>,
    rules: Rules,
    /// The weights on their way.
    pub learner: Learner,
    /// What gains depend on.
    pub around: Surroundings,
    /// The 1-best candidate of each sentence when it was visited, −1 if it was not.
    pub seen: Vec<i64>,
    room: Room,
}

#[derive(Default)]
struct Room {
    model: Vec<f64>,
    gains: Vec<f64>,
    values: Vec<f64>,
    sum: Vec<f64>,
    difference: Vec<(u32, f64)>,
    rough: Rough,
    few: Vec<u32>,
}

/// A chosen candidate: its place in the list, model score and gain.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Chosen {
    at: usize,
    model: f64,
    gain: f64,
}

/// Oracle and prediction, and the place of the 1-best candidate.
type Found = ((Chosen, Chosen), usize);

impl Run {
    /// Goes on with a learner as [`learner`] makes it.
    pub fn new(
        (lists, judged): (Arc<Lists>, Arc<Judged>),
        rules: Rules,
        learner: Learner,
        around: Surroundings,
    ) -> Self {
        let seen = vec![-1; lists.sentences()];
        Self { lists, judged, rules, learner, around, seen, room: Room::default() }
    }

    /// What the statistics of a candidate of sentence `s` are added to.
    pub fn context(&self, s: usize) -> Context {
        match &self.around {
            Surroundings::None => Context { row: vec![0.0; self.judged.width()], count: 0.0 },
            Surroundings::Background(context) => context.clone(),
            Surroundings::Corpus(total, choice) => {
                let mut context = total.clone();
                if choice[s] >= 0 {
                    let offset = choice[s] as usize - self.lists.group(s).start;
                    self.judged.add(&self.lists, s, offset, -1.0, &mut context.row);
                    context.count -= 1.0;
                }
                context
            }
        }
    }

    /// Visits a sentence whose candidates have these gains.
    pub fn visit(&mut self, s: usize, gains: &[f64]) {
        let mut room = std::mem::take(&mut self.room);
        self.lists.scores(s, self.learner.weights(), &mut room.model);
        if let Some(best) = first_max(&room.model) {
            let pair = choose(&self.rules, &room.model, gains, 0.0, &mut room.values, |at| gains[at]);
            self.learn(s, pair, best, &mut room.difference);
        }
        self.room = room;
    }

    /// Visits a sentence, with gains from a native metric.
    pub fn visit_native(&mut self, s: usize, scorer: &Scorer) {
        let mut room = std::mem::take(&mut self.room);
        let context = self.context(s);
        let few = self.few(s, scorer, &context, &mut room);
        let found = few.or_else(|| self.all(s, scorer, &context, &mut room));
        if let Some((pair, best)) = found {
            self.learn(s, pair, best, &mut room.difference);
        }
        self.room = room;
    }

    /// Oracle, prediction and 1-best by looking at all candidates; None if there are none.
    fn all(&self, s: usize, scorer: &Scorer, context: &Context, room: &mut Room) -> Option<Found> {
        let Room { model, gains, values, sum, .. } = room;
        self.lists.scores(s, self.learner.weights(), model);
        let best = first_max(model)?;
        let slack = scorer.all(&self.lists, &self.judged, s, context, gains);
        let exact = |at| scorer.exact(&self.lists, &self.judged, s, at, context, sum);
        Some((choose(&self.rules, model, gains, slack, values, exact), best))
    }

    /// The same by looking only at those that rough scores and gains leave; None if these leave too many, or
    /// cannot tell.
    fn few(&self, s: usize, scorer: &Scorer, context: &Context, room: &mut Room) -> Option<Found> {
        let (screen, counts) = (self.lists.screen()?, self.judged.counts()?);
        let plus = match self.rules.oracle {
            Oracle::Local(_) => return None,
            Oracle::MaxGain => (0.0, 1.0),
            Oracle::Hope => (1.0, 1.0),
        };
        let minus = match self.rules.prediction {
            Prediction::Model => (1.0, 0.0),
            Prediction::MaxCost => (0.0, -1.0),
            Prediction::Fear => (1.0, -1.0),
        };
        let Room { rough, few, sum, .. } = room;
        rough.slack = (
            screen.scores(s, self.learner.weights(), &mut rough.factors, &mut rough.model)?,
            scorer.rough(counts, s, context, &mut rough.gains)?,
        );
        let span = self.lists.group(s);
        let most = span.len() / 8 + 8;
        let gain = |at, sum: &mut Vec<f64>| scorer.exact(&self.lists, &self.judged, s, at, context, sum);
        let model = |at| self.lists.score(s, span.start + at, self.learner.weights());
        rough.contenders((1.0, 0.0), span.len(), few);
        let best = match few[..] {
            [only] => only as usize,
            _ if few.len() > most => return None,
            _ => first_best(few, |at| (model(at), at))?,
        };
        let mut pick = |(m, g): (f64, f64)| {
            if (m, g) == (1.0, 0.0) {
                return Some(Chosen { at: best, model: model(best), gain: gain(best, sum) });
            }
            rough.contenders((m as f32, g as f32), span.len(), few);
            let exact = |at| {
                let chosen = Chosen { at, model: model(at), gain: gain(at, sum) };
                (m * chosen.model + g * chosen.gain, chosen)
            };
            if few.len() > most { None } else { first_best(few, exact) }
        };
        Some(((pick(plus)?, pick(minus)?), best))
    }

    /// The passive-aggressive step (Eidelman 2012, algorithm 1, lines 7 to 10), if the gains differ. `best` is the
    /// 1-best candidate.
    fn learn(
        &mut self,
        s: usize,
        (plus, minus): (Chosen, Chosen),
        best: usize,
        difference: &mut Vec<(u32, f64)>,
    ) {
        self.seen[s] = (self.lists.group(s).start + best) as i64;
        if plus.at == minus.at || plus.gain <= minus.gain {
            return;
        }
        let loss = (minus.model - plus.model) + (plus.gain - minus.gain);
        // A margin that an earlier step made exact leaves a loss of a few bits, which is none: it would be no
        // step, but count as an update in the average.
        let size = minus.model.abs() + plus.model.abs() + plus.gain.abs() + minus.gain.abs();
        if loss > 1e-12 * size {
            let first = self.lists.group(s).start;
            self.lists.difference(s, first + minus.at, first + plus.at, difference);
            self.learner.step(difference, loss);
        }
        if let Surroundings::Background(context) = &mut self.around {
            let fed = if self.rules.feed == Feed::Oracle { plus.at } else { best };
            context.row.iter_mut().for_each(|x| *x *= self.rules.decay);
            self.judged.add(&self.lists, s, fed, 1.0, &mut context.row);
            context.count = context.count * self.rules.decay + 1.0;
        }
    }
}

/// The first of some candidates with the largest true value.
fn first_best<T>(few: &[u32], mut exact: impl FnMut(usize) -> (f64, T)) -> Option<T> {
    let mut best: Option<(f64, T)> = None;
    for &at in few {
        let (value, found) = exact(at as usize);
        if best.as_ref().is_none_or(|(most, _)| value > *most) {
            best = Some((value, found));
        }
    }
    best.map(|best| best.1)
}

/// Oracle and prediction. `gains` may be off by `slack`; `exact` gives the true one.
fn choose(
    rules: &Rules,
    model: &[f64],
    gains: &[f64],
    slack: f64,
    values: &mut Vec<f64>,
    mut exact: impl FnMut(usize) -> f64,
) -> (Chosen, Chosen) {
    let mut pick = |m: f64, g: f64, floor: f64| {
        values.clear();
        values.extend(model.iter().zip(gains).map(|(model, gain)| m * model + g * gain));
        if floor > f64::NEG_INFINITY {
            for (value, _) in values.iter_mut().zip(model).filter(|e| *e.1 < floor) {
                *value = f64::NEG_INFINITY;
            }
        }
        best_of(values, if g == 0.0 { 0.0 } else { slack }, |at| {
            let gain = exact(at);
            (m * model[at] + g * gain, Chosen { at, model: model[at], gain })
        })
    };
    let plus = match rules.oracle {
        Oracle::Local(k) => pick(0.0, 1.0, kth_largest(model, k)),
        Oracle::MaxGain => pick(0.0, 1.0, f64::NEG_INFINITY),
        Oracle::Hope => pick(1.0, 1.0, f64::NEG_INFINITY),
    };
    let minus = match rules.prediction {
        Prediction::Model => pick(1.0, 0.0, f64::NEG_INFINITY),
        Prediction::MaxCost => pick(0.0, -1.0, f64::NEG_INFINITY),
        Prediction::Fear => pick(1.0, -1.0, f64::NEG_INFINITY),
    };
    (plus, minus)
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

fn kth_largest(numbers: &[f64], k: usize) -> f64 {
    if k == 0 || k >= numbers.len() {
        return f64::NEG_INFINITY;
    }
    *numbers.to_vec().select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a)).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lists::tests::packed;
    use dragoman_metric::bleu::{Bleu, Smoothing};
    use proptest::prelude::*;

    const ORACLES: [Oracle; 3] = [Oracle::Local(2), Oracle::MaxGain, Oracle::Hope];
    const PREDICTIONS: [Prediction; 3] = [Prediction::Model, Prediction::MaxCost, Prediction::Fear];

    fn rules(oracle: Oracle, prediction: Prediction) -> Rules {
        Rules { oracle, prediction, decay: 0.999, feed: Feed::Oracle }
    }

    #[test]
    fn the_nine_pairs_by_hand() {
        let (model, gains) = ([3.0, 2.0, 0.0, 2.5], [0.1, 0.9, 1.8, 0.0]);
        let places = |oracle, prediction| {
            let mut room = Vec::new();
            let rules = rules(oracle, prediction);
            let (plus, minus) = choose(&rules, &model, &gains, 0.0, &mut room, |at| gains[at]);
            assert!(plus.gain == gains[plus.at] && minus.gain == gains[minus.at]);
            (plus.at, minus.at)
        };
        let found: Vec<_> = ORACLES.iter().flat_map(|&o| PREDICTIONS.map(|p| places(o, p))).collect();
        let want = [(0, 0), (0, 3), (0, 0), (2, 0), (2, 3), (2, 0), (0, 0), (0, 3), (0, 0)];
        assert_eq!(found, want);
    }

    #[test]
    fn the_first_of_equals_is_chosen() {
        for slack in [0.0, 0.1] {
            let exact = |at| ([0.5, 1.0, 1.0, 1.0][at], Chosen { at, model: 0.0, gain: at as f64 });
            let chosen = best_of(&[0.5, 1.0, 1.0, 0.9], slack, exact);
            assert_eq!(chosen, Chosen { at: 1, model: 0.0, gain: 1.0 });
        }
    }

    proptest! {
        /// Whatever the approximation does within its slack, the choice is that of the true gains.
        #[test]
        fn approximate_gains_never_change_a_choice(
            rows in prop::collection::vec((0u8..4, 0u8..4, -1.0..1.0f64), 1..30), slack in 0.0..0.5f64,
        ) {
            let model: Vec<f64> = rows.iter().map(|r| f64::from(r.0) / 2.0).collect();
            let gains: Vec<f64> = rows.iter().map(|r| f64::from(r.1) / 2.0).collect();
            let rough: Vec<f64> = rows.iter().zip(&gains).map(|(r, g)| g + slack * r.2).collect();
            let mut room = Vec::new();
            for oracle in ORACLES {
                for prediction in PREDICTIONS {
                    let rules = rules(oracle, prediction);
                    let exact = choose(&rules, &model, &gains, 0.0, &mut room, |at| gains[at]);
                    let fast = choose(&rules, &model, &rough, slack, &mut room, |at| gains[at]);
                    prop_assert_eq!(exact, fast);
                }
            }
        }
    }

    proptest! {
        /// The short forms leave the true oracle, prediction and 1-best candidate among the contenders.
        #[test]
        fn few_candidates_decide_as_all_do(
            rows in prop::collection::vec((-3i8..4, -3i8..4, 0u8..9, 0u8..5, 18u8..23), 1..90),
            w in (-2.0..2.0f64, -2.0..2.0f64), background in 5.0..3e4f64,
        ) {
            let list = rows.iter().map(|r| vec![(0, 0.3 * f64::from(r.0) + 7.0), (1, f64::from(r.1) - 9.0)]);
            let lists = Arc::new(packed(&[list.collect()], 2));
            let statistics: Vec<f64> = rows.iter().flat_map(|r| {
                let (a, b, n) = (f64::from(r.2), f64::from(r.3), f64::from(r.4));
                [n, 20.0, a + b, a, a.min(b), b / 2.0 - (b / 2.0).fract(), n, n - 1.0, n - 2.0, n - 3.0]
            }).collect();
            let judged = Arc::new(Judged::pack(&lists, &statistics, 10).unwrap());
            let bleu = Bleu { smoothing: Smoothing::Exp, ..Bleu::default() };
            let scorer = Scorer { metric: &bleu, sign: 1.0, scale: 100.0, unit: Unit::Statistic(1) };
            let context = Context { row: vec![background; 10], count: 3.0 };
            for oracle in ORACLES {
                for prediction in PREDICTIONS {
                    let bounds = (vec![-9.0; 2], vec![9.0; 2]);
                    let start = learner(0.01, &bounds, (vec![w.0, w.1], vec![0.0; 2], 0));
                    let pool = (Arc::clone(&lists), Arc::clone(&judged));
                    let run = Run::new(pool, rules(oracle, prediction), start, Surroundings::None);
                    let mut room = Room::default();
                    let all = run.all(0, &scorer, &context, &mut room);
                    let few = run.few(0, &scorer, &context, &mut room);
                    prop_assert!(few.is_none() || few == all, "{:?} {:?}", few, all);
                    prop_assert!(few.is_some() || room.few.len() > 8 || matches!(oracle, Oracle::Local(_)));
                }
            }
        }
    }

    #[test]
    fn one_update_by_hand() {
        let lists =
            Arc::new(packed(&[vec![vec![(0, 1.0), (1, 2.0)], vec![(0, 3.0), (1, 2.0), (2, 1.0)]]], 3));
        let judged = Arc::new(Judged::pack(&lists, &[1.0, 1.0, 2.0, 1.0], 2).unwrap());
        let bounds = (vec![f64::NEG_INFINITY; 3], vec![f64::INFINITY, f64::INFINITY, 0.05]);
        let rules = rules(Oracle::Hope, Prediction::MaxCost);
        let around = Surroundings::Background(Context { row: vec![1.0; 2], count: 0.0 });
        let start = learner(0.1, &bounds, (vec![0.0; 3], vec![0.0; 3], 0));
        let mut run = Run::new((lists, judged), rules, start, around);
        run.visit(0, &[0.0, 1.0]);
        // Loss 1, |d|² = 4 + 1: the step is min(0.1, 0.2), and the bound holds the third weight at 0.05.
        let Memory { weights, sums, time, .. } = run.learner.memory().clone();
        assert_eq!((weights, time), (vec![0.2, 0.0, 0.05], 1));
        assert_eq!(sums, [0.2, 0.0, 0.05]);
        assert_eq!(run.seen, [0]);
        let Surroundings::Background(context) = &run.around else { panic!() };
        assert_eq!((context.row.clone(), context.count), (vec![2.999, 1.999], 1.0));
        run.visit(0, &[0.5, 0.5]);
        assert_eq!(run.learner.memory().time, 1, "equal gains teach nothing");
        run.visit(0, &[0.0, 0.1]);
        assert_eq!(run.learner.memory().time, 1, "the margin is wide enough");
        let Surroundings::Background(context) = &run.around else { panic!() };
        assert_eq!(context.count, 1.999, "yet the background grows");
        let before = run.learner.weights().to_vec();
        run.visit(0, &[0.0, 9.0]);
        let Memory { weights, sums, time, .. } = run.learner.memory().clone();
        assert_eq!((time, sums[0]), (2, 0.2 + 2.0 * (weights[0] - before[0])), "the second of two");
    }
}
