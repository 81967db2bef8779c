//! Passes of MIRA over fixed lists.

use super::choose::{Chosen, Rules, Wish, lesson};
use super::context::{Around, Context, Unit};
use super::counts::Rough;
use super::gain::{Judged, Pool, Scorer, Worth};
use crate::lists::{Lists, first_max};
use dragoman_optim::Learner;
use std::sync::Arc;

/// A pass over sentences, one at a time.
pub struct Run {
    lists: Arc<Lists>,
    judged: Arc<Judged>,
    rules: Rules,
    unit: Unit,
    /// The weights on their way.
    pub learner: Learner,
    /// What gains depend on.
    pub around: Around,
    /// The 1-best candidate of each sentence when it was visited, −1 if it was not.
    pub seen: Vec<i64>,
    /// The sums of the statistics of the oracles and of the predictions that were visited.
    pub met: (Context, Context),
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
    /// Statistics of the 1-best candidate and of the oracle.
    best: Vec<f64>,
    good: Vec<f64>,
}

/// Oracle and prediction, and the place of the 1-best candidate.
type Found = ((Chosen, Chosen), usize);

impl Run {
    /// Goes on with a learner as [`super::learner`] makes it.
    pub fn new(
        (lists, judged): (Arc<Lists>, Arc<Judged>),
        (rules, unit): (Rules, Unit),
        learner: Learner,
        around: Around,
    ) -> Self {
        let seen = vec![-1; lists.sentences()];
        let nothing = Context::nothing(judged.width());
        let met = (nothing.clone(), nothing);
        Self { lists, judged, rules, unit, learner, around, seen, met, room: Room::default() }
    }

    fn pool(&self) -> Pool<'_> {
        (&self.lists, &self.judged)
    }

    /// Visits a sentence whose candidates have these scores, which are still to be multiplied by the unit.
    pub fn visit(&mut self, s: usize, scores: &[f64]) {
        let mut room = std::mem::take(&mut self.room);
        self.lists.scores(s, self.learner.weights(), &mut room.model);
        if let Some(best) = first_max(&room.model) {
            self.judged.fill(&self.lists, s, best, &mut room.best);
            let unit = self.unit.factor(&self.around.others(s), &room.best);
            room.gains.clear();
            room.gains.extend(scores.iter().map(|score| score * unit));
            let Room { model, gains, values, .. } = &mut room;
            let pair = self.rules.choose(model, (gains, 0.0), values, |at| gains[at]);
            self.learn(s, pair, best, &mut room);
        }
        self.room = room;
    }

    /// Visits a sentence, with gains from a native metric.
    pub fn visit_native(&mut self, s: usize, scorer: Scorer<'_>) {
        let mut room = std::mem::take(&mut self.room);
        let context = self.around.others(s);
        let few = self.few(s, scorer, &context, &mut room);
        let found = few.or_else(|| self.all(s, scorer, &context, &mut room));
        if let Some((pair, best)) = found {
            self.learn(s, pair, best, &mut room);
        }
        self.room = room;
    }

    /// Oracle, prediction and 1-best by looking at all candidates; None if there are none.
    fn all(&self, s: usize, scorer: Scorer<'_>, context: &Context, room: &mut Room) -> Option<Found> {
        let Room { model, gains, values, sum, best: row, .. } = room;
        self.lists.scores(s, self.learner.weights(), model);
        let best = first_max(model)?;
        self.judged.fill(&self.lists, s, best, row);
        let worth = Worth { scorer, base: &context.row, unit: self.unit.factor(context, row) };
        let slack = worth.all(self.pool(), s, gains);
        let exact = |at| worth.exact(self.pool(), s, at, sum);
        Some((self.rules.choose(model, (gains, slack), values, exact), best))
    }

    /// The same by looking only at those that rough scores and gains leave; None if these leave too many, or
    /// cannot tell.
    fn few(&self, s: usize, scorer: Scorer<'_>, context: &Context, room: &mut Room) -> Option<Found> {
        let (screen, counts) = (self.lists.screen()?, self.judged.counts()?);
        if self.rules.reach() != (0, 0) {
            return None;
        }
        let Room { rough, few, sum, best: row, .. } = room;
        rough.slack.0 = screen.scores(s, self.learner.weights(), &mut rough.factors, &mut rough.model)?;
        let span = self.lists.group(s);
        let most = span.len() / 8 + 8;
        let model = |at| self.lists.score(s, span.start + at, self.learner.weights());
        rough.model_contenders(span.len(), few);
        let best = match few[..] {
            [only] => only as usize,
            _ if few.len() > most => return None,
            _ => first_best(few, |at| (model(at), at))?,
        };
        self.judged.fill(&self.lists, s, best, row);
        let worth = Worth { scorer, base: &context.row, unit: self.unit.factor(context, row) };
        rough.slack.1 = worth.rough(counts, s, &mut rough.gains)?;
        let gain = |at, sum: &mut Vec<f64>| worth.exact(self.pool(), s, at, sum);
        let mut pick = |wish: Wish| {
            if wish == Wish::MODEL {
                return Some(Chosen { at: best, model: model(best), gain: gain(best, sum) });
            }
            rough.contenders((wish.model as f32, wish.gain as f32), span.len(), few);
            let exact = |at| {
                let chosen = Chosen { at, model: model(at), gain: gain(at, sum) };
                (wish.value(chosen.model, chosen.gain), chosen)
            };
            if few.len() > most { None } else { first_best(few, exact) }
        };
        let (plus, minus) = self.rules.wishes();
        Some(((pick(plus)?, pick(minus)?), best))
    }

    /// The passive-aggressive step (Eidelman 2012, algorithm 1, lines 7 to 10), if the gains differ. `best` is the
    /// 1-best candidate, whose statistics the room has.
    fn learn(&mut self, s: usize, (plus, minus): (Chosen, Chosen), best: usize, room: &mut Room) {
        let first = self.lists.group(s).start;
        self.seen[s] = (first + best) as i64;
        self.judged.fill(&self.lists, s, plus.at, &mut room.good);
        self.met.0.add(&room.good, 1.0);
        self.judged.add(&self.lists, s, minus.at, 1.0, &mut self.met.1.row);
        let lesson = lesson(&plus, &minus);
        if let Some(loss) = lesson.filter(|loss| *loss > 0.0) {
            self.lists.difference(s, first + minus.at, first + plus.at, &mut room.difference);
            self.learner.step(&room.difference, loss);
        }
        self.around.saw(s, &room.best, lesson.map(|_| &room.good[..]));
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

#[cfg(test)]
mod tests {
    use super::super::choose::tests::{ORACLES, PREDICTIONS};
    use super::super::{Feed, Oracle, Prediction, learner};
    use super::*;
    use crate::lists::tests::packed;
    use dragoman_metric::bleu::{Bleu, Smoothing};
    use dragoman_optim::Memory;
    use proptest::prelude::*;

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
            let scorer = Scorer { metric: &bleu, sign: 1.0, scale: 100.0 };
            let context = Context { row: vec![background; 10], count: 3.0 };
            for oracle in ORACLES {
                for prediction in PREDICTIONS {
                    let bounds = (vec![-9.0; 2], vec![9.0; 2]);
                    let start = learner(0.01, &bounds, (vec![w.0, w.1], vec![0.0; 2], 0));
                    let pool = (Arc::clone(&lists), Arc::clone(&judged));
                    let run = Run::new(pool, (Rules { oracle, prediction, near: 0 }, Unit::Statistic(1)), start, Around::Alone { width: 10 });
                    let mut room = Room::default();
                    let all = run.all(0, scorer, &context, &mut room);
                    let few = run.few(0, scorer, &context, &mut room);
                    prop_assert!(few.is_none() || few == all, "{:?} {:?}", few, all);
                    prop_assert!(few.is_some() || room.few.len() > 8 || matches!(oracle, Oracle::Local(_)));
                }
            }
        }
    }

    /// Gains that are left over from another list must not matter, and the short way must be taken.
    #[test]
    fn few_candidates_are_found_in_lists_of_any_length() {
        let list = |n: usize| (0..n).map(|i| vec![(0, i as f64), (1, ((i * 37) % 101) as f64)]).collect();
        let sizes = [3, 90, 20];
        let lists = Arc::new(packed(&sizes.map(list), 2));
        let row = |i: usize| {
            let (n, m) = (18.0 + (i % 5) as f64, (i % 7) as f64);
            [n, 20.0, m + 4.0, m + 2.0, m + 1.0, m, n, n - 1.0, n - 2.0, n - 3.0]
        };
        let statistics: Vec<f64> = sizes.iter().flat_map(|&n| (0..n).flat_map(row)).collect();
        let judged = Arc::new(Judged::pack(&lists, &statistics, 10).unwrap());
        let bleu = Bleu { smoothing: Smoothing::Exp, ..Bleu::default() };
        let scorer = Scorer { metric: &bleu, sign: 1.0, scale: 100.0 };
        let context = Context { row: vec![50.0; 10], count: 3.0 };
        let free = (vec![f64::NEG_INFINITY; 2], vec![f64::INFINITY; 2]);
        let start = learner(0.01, &free, (vec![0.3, 0.1], vec![0.0; 2], 0));
        let rules = Rules { oracle: Oracle::Hope, prediction: Prediction::Fear, near: 0 };
        let run = Run::new((lists, judged), (rules, Unit::Statistic(1)), start, Around::Alone { width: 10 });
        let mut room = Room::default();
        for s in 0..sizes.len() {
            let few = run.few(s, scorer, &context, &mut room);
            assert!(few.is_some() && few == run.all(s, scorer, &context, &mut room), "{s}");
        }
    }

    #[test]
    fn one_update_by_hand() {
        let lists =
            Arc::new(packed(&[vec![vec![(0, 1.0), (1, 2.0)], vec![(0, 3.0), (1, 2.0), (2, 1.0)]]], 3));
        let judged = Arc::new(Judged::pack(&lists, &[1.0, 1.0, 2.0, 1.0], 2).unwrap());
        let bounds = (vec![f64::NEG_INFINITY; 3], vec![f64::INFINITY, f64::INFINITY, 0.05]);
        let rules = Rules { oracle: Oracle::Hope, prediction: Prediction::MaxCost, near: 0 };
        let sum = Context { row: vec![1.0; 2], count: 0.0 };
        let around = Around::Background { sum, decay: 0.999, feed: Feed::Oracle };
        let start = learner(0.1, &bounds, (vec![0.0; 3], vec![0.0; 3], 0));
        let mut run = Run::new((lists, judged), (rules, Unit::Score), start, around);
        run.visit(0, &[0.0, 1.0]);
        // Loss 1, |d|² = 4 + 1: the step is min(0.1, 0.2), and the bound holds the third weight at 0.05.
        let Memory { weights, sums, time, .. } = run.learner.memory().clone();
        assert_eq!((weights, time), (vec![0.2, 0.0, 0.05], 1));
        assert_eq!(sums, [0.2, 0.0, 0.05]);
        assert_eq!(run.seen, [0]);
        assert_eq!(run.around.others(0), Context { row: vec![2.999, 1.999], count: 1.0 });
        assert_eq!((&run.met.0.row[..], &run.met.1.row[..]), (&[2.0, 1.0][..], &[1.0, 1.0][..]));
        run.visit(0, &[0.5, 0.5]);
        assert_eq!(run.learner.memory().time, 1, "equal gains teach nothing");
        run.visit(0, &[0.0, 0.1]);
        assert_eq!(run.learner.memory().time, 1, "the margin is wide enough");
        assert_eq!(run.around.others(0).count, 1.999, "yet the background grows");
        let before = run.learner.weights().to_vec();
        run.visit(0, &[0.0, 9.0]);
        let Memory { weights, sums, time, .. } = run.learner.memory().clone();
        assert_eq!((time, sums[0]), (2, 0.2 + 2.0 * (weights[0] - before[0])), "the second of two");
    }
}
