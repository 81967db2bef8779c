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

    fn row(&self, s: usize, offset: usize) -> Vec<f64> {
        self.judged.row(&self.lists, s, offset)
    }

    /// Visits a sentence whose candidates have these scores, which are still to be multiplied by the unit.
    pub fn visit(&mut self, s: usize, scores: &[f64]) {
        let mut room = std::mem::take(&mut self.room);
        self.lists.scores(s, self.learner.weights(), &mut room.model);
        if let Some(best) = first_max(&room.model) {
            let unit = self.unit.factor(&self.around.others(s), &self.row(s, best));
            room.gains.clear();
            room.gains.extend(scores.iter().map(|score| score * unit));
            let Room { model, gains, values, .. } = &mut room;
            let pair = self.rules.choose(model, (gains, 0.0), values, |at| gains[at]);
            self.learn(s, pair, best, &mut room.difference);
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
            self.learn(s, pair, best, &mut room.difference);
        }
        self.room = room;
    }

    /// What statistics are worth in a sentence whose 1-best candidate is at `best`.
    fn worth<'a>(&self, s: usize, scorer: Scorer<'a>, context: &'a Context, best: usize) -> Worth<'a> {
        let unit = self.unit.factor(context, &self.row(s, best));
        Worth { scorer, base: &context.row, unit }
    }

    /// Oracle, prediction and 1-best by looking at all candidates; None if there are none.
    fn all(&self, s: usize, scorer: Scorer<'_>, context: &Context, room: &mut Room) -> Option<Found> {
        let Room { model, gains, values, sum, .. } = room;
        self.lists.scores(s, self.learner.weights(), model);
        let best = first_max(model)?;
        let worth = self.worth(s, scorer, context, best);
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
        let Room { rough, few, sum, .. } = room;
        rough.slack.0 = screen.scores(s, self.learner.weights(), &mut rough.factors, &mut rough.model)?;
        let span = self.lists.group(s);
        let most = span.len() / 8 + 8;
        let model = |at| self.lists.score(s, span.start + at, self.learner.weights());
        rough.contenders((1.0, 0.0), span.len(), few);
        let best = match few[..] {
            [only] => only as usize,
            _ if few.len() > most => return None,
            _ => first_best(few, |at| (model(at), at))?,
        };
        let worth = self.worth(s, scorer, context, best);
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
    /// 1-best candidate.
    fn learn(
        &mut self,
        s: usize,
        (plus, minus): (Chosen, Chosen),
        best: usize,
        difference: &mut Vec<(u32, f64)>,
    ) {
        let first = self.lists.group(s).start;
        self.seen[s] = (first + best) as i64;
        let (good, bad) = (self.row(s, plus.at), self.row(s, minus.at));
        self.met.0.add(&good, 1.0);
        self.met.1.add(&bad, 1.0);
        let lesson = lesson(&plus, &minus);
        if let Some(loss) = lesson.filter(|loss| *loss > 0.0) {
            self.lists.difference(s, first + minus.at, first + plus.at, difference);
            self.learner.step(difference, loss);
        }
        let row = self.row(s, best);
        self.around.saw(s, &row, lesson.map(|_| &good[..]));
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
