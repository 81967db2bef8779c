//! A walk of MIRA with a decoder in the loop: sentence after sentence comes with a list of its own, and only the features
//! of oracle and prediction are touched.

use super::choose::{Chosen, Rules, lesson};
use super::context::{Around, Context, Unit};
use super::gain::{Scorer, Worth};
use crate::lists::first_max;
use dragoman_optim::Learner;

/// The list of one sentence: sparse rows, and a row of statistics for each candidate.
#[derive(Clone, Copy)]
pub struct List<'a> {
    /// The features of candidate i are from here up to the next.
    pub starts: &'a [i64],
    /// Feature numbers.
    pub columns: &'a [u32],
    /// Their values.
    pub values: &'a [f64],
    /// Statistics.
    pub rows: &'a [f64],
}

impl List<'_> {
    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    fn features(&self, at: usize) -> impl Iterator<Item = (u32, f64)> {
        let span = self.starts[at] as usize..self.starts[at + 1] as usize;
        self.columns[span.clone()].iter().copied().zip(self.values[span].iter().copied())
    }

    /// w·h of a candidate, in the order of its features: their numbers depend on which were met first.
    fn score(&self, at: usize, weights: &[f64]) -> f64 {
        let weight = |column: u32| weights.get(column as usize).copied().unwrap_or(0.0);
        self.features(at).map(|(column, value)| weight(column) * value).sum()
    }

    fn row(&self, at: usize) -> &[f64] {
        let width = self.rows.len() / self.len();
        &self.rows[at * width..(at + 1) * width]
    }
}

/// Where the gains of a list come from.
#[derive(Clone, Copy)]
pub enum Gains<'a> {
    /// Scores, which are still to be multiplied by the unit.
    Given(&'a [f64]),
    /// A native metric: its form for sentences that are judged alone, and itself.
    Native(Scorer<'a>, Scorer<'a>),
}

/// What has happened on a walk.
#[derive(Debug, Clone, Default)]
pub struct Told {
    /// Number of updates.
    pub updates: u64,
    /// Sum of the losses that led to them.
    pub loss: f64,
    /// Sentences whose candidates differ in gain.
    pub differing: usize,
    /// Sentences without candidates.
    pub empty: usize,
}

/// A walk over sentences.
pub struct Walk {
    rules: Rules,
    unit: Unit,
    /// The weights on their way.
    pub learner: Learner,
    /// What gains depend on.
    pub around: Around,
    /// Sentences with the statistics of their 1-best candidates, in the order of the visits.
    pub seen: Vec<(usize, Vec<f64>)>,
    /// The sums of the statistics of the oracles and of the predictions.
    pub met: (Context, Context),
    /// What has happened.
    pub told: Told,
    width: usize,
}

impl Walk {
    /// Goes on with a learner, as [`super::learner`] makes it. `width` is the number of statistics.
    pub fn new((rules, unit): (Rules, Unit), learner: Learner, around: Around, width: usize) -> Self {
        let met = (Context::nothing(width), Context::nothing(width));
        Self { rules, unit, learner, around, seen: Vec::new(), met, told: Told::default(), width }
    }

    /// What scores of sentence `s` are multiplied by if its 1-best candidate has these statistics.
    pub fn unit(&self, s: usize, best: &[f64]) -> f64 {
        self.unit.factor(&self.around.others(s), best)
    }

    /// Visits a sentence.
    pub fn visit(&mut self, s: usize, list: List<'_>, gains: Gains<'_>) {
        let model: Vec<f64> = (0..list.len()).map(|at| list.score(at, self.learner.weights())).collect();
        let Some(best) = first_max(&model) else {
            self.told.empty += 1;
            let nothing = vec![0.0; self.width];
            self.around.saw(s, &nothing, None);
            self.seen.push((s, nothing));
            return;
        };
        let gains = self.gains(s, list, gains, best);
        self.told.differing += usize::from(gains.iter().any(|gain| *gain != gains[0]));
        let (plus, minus) = self.rules.choose(&model, (&gains, 0.0), &mut Vec::new(), |at| gains[at]);
        let lesson = self.learn(list, plus, minus);
        self.around.saw(s, list.row(best), lesson.map(|_| list.row(plus.at)));
        self.seen.push((s, list.row(best).to_vec()));
    }

    /// What each candidate is worth.
    fn gains(&self, s: usize, list: List<'_>, gains: Gains<'_>, best: usize) -> Vec<f64> {
        let context = self.around.others(s);
        let unit = self.unit.factor(&context, list.row(best));
        match gains {
            Gains::Given(scores) => scores.iter().map(|score| score * unit).collect(),
            Gains::Native(alone, inside) => {
                let scorer = if self.around.alone() { alone } else { inside };
                let worth = Worth { scorer, base: &context.row, unit };
                (0..list.len()).map(|at| worth.gain(list.row(at))).collect()
            }
        }
    }

    /// Tells oracle and prediction apart.
    fn learn(&mut self, list: List<'_>, plus: Chosen, minus: Chosen) -> Option<f64> {
        self.met.0.add(list.row(plus.at), 1.0);
        self.met.1.add(list.row(minus.at), 1.0);
        let lesson = lesson(&plus, &minus);
        if let Some(loss) = lesson.filter(|loss| *loss > 0.0) {
            let before = self.learner.time();
            self.learner.step(&difference(list, minus.at, plus.at), loss);
            if self.learner.time() > before {
                self.told.updates += 1;
                self.told.loss += loss;
            }
        }
        lesson
    }
}

/// h(a) − h(b), in the order of the values: sums over it have the same bits in whatever order names were met.
fn difference(list: List<'_>, a: usize, b: usize) -> Vec<(u32, f64)> {
    let mut all: Vec<(u32, f64)> = list.features(a).collect();
    all.extend(list.features(b).map(|(column, value)| (column, -value)));
    all.sort_by_key(|entry| entry.0); // stable, so that equal features are added in order
    all.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    all.retain(|entry| entry.1 != 0.0);
    all.sort_by(|x, y| x.1.total_cmp(&y.1));
    all
}

#[cfg(test)]
mod tests {
    use super::super::{Judged, Oracle, Prediction, Run, learner};
    use super::*;
    use crate::lists::Lists;
    use dragoman_metric::bleu::{Bleu, Smoothing};
    use proptest::prelude::*;
    use std::sync::Arc;

    proptest! {
        /// A walk over lists that are handed in one by one is a pass over fixed lists.
        #[test]
        fn a_walk_is_a_pass(
            lists in prop::collection::vec(
                prop::collection::vec((-9i8..10, -9i8..10, 0u8..9, 0u8..5, 5u8..12), 0..12), 1..6),
            background in any::<bool>(), hope in any::<bool>(), near in 0usize..5,
        ) {
            let oracle = if hope { Oracle::Hope } else { Oracle::MaxGain };
            let rules = Rules { oracle, prediction: Prediction::Fear, near };
            let (mut groups, mut starts, mut columns, mut values, mut rows) =
                (vec![0i64], vec![0i64], vec![], vec![], vec![]);
            for list in &lists {
                for &(x, y, a, b, n) in list {
                    columns.extend([0, 1]);
                    values.extend([f64::from(x) / 4.0, f64::from(y) / 8.0]);
                    starts.push(columns.len() as i64);
                    let (a, b, n) = (f64::from(a), f64::from(b), f64::from(n));
                    rows.extend([n, 8.0, a, a.min(b), b / 2.0, b / 4.0, n, n - 1.0, n - 2.0, n - 3.0]);
                }
                groups.push(starts.len() as i64 - 1);
            }
            let packed = Arc::new(Lists::pack(&groups, &starts, &columns, &values, 2).unwrap());
            let judged = Arc::new(Judged::pack(&packed, &rows, 10).unwrap());
            let around = if background {
                let sum = Context { row: vec![1.0; 10], count: 0.0 };
                Around::Background { sum, decay: 0.9, feed: super::super::Feed::Oracle }
            } else {
                Around::corpus(lists.iter().map(|_| Some(vec![6.0; 10])).collect(), 10, true)
            };
            let free = (vec![f64::NEG_INFINITY; 2], vec![f64::INFINITY; 2]);
            let start = || learner(0.1, &free, (vec![0.3, -0.2], vec![0.0; 2], 0));
            let bleu = Bleu { smoothing: Smoothing::AddK(1.0), ..Bleu::default() };
            let scorer = Scorer { metric: &bleu, sign: 1.0, scale: 100.0 };
            let how = (rules, Unit::Statistic(1));
            let mut pass = Run::new((packed, judged), how, start(), around.clone());
            let mut walk = Walk::new(how, start(), around, 10);
            for s in 0..lists.len() {
                if lists[s].is_empty() {
                    continue; // fixed lists leave such a sentence as it was
                }
                pass.visit_native(s, scorer);
                let (from, to) = (groups[s] as usize, groups[s + 1] as usize);
                let list = List {
                    starts: &starts[from..=to], columns: &columns, values: &values, rows: &rows[10 * from..10 * to],
                };
                walk.visit(s, list, Gains::Native(scorer, scorer));
            }
            for (a, b) in pass.learner.weights().iter().zip(walk.learner.weights()) {
                prop_assert!((a - b).abs() < 1e-12, "{} {}", a, b);
            }
            prop_assert_eq!(pass.learner.time(), walk.learner.time());
            prop_assert_eq!(&pass.met, &walk.met);
            prop_assert_eq!(&pass.around, &walk.around);
        }
    }

    #[test]
    fn differences_are_sorted_by_value() {
        let list = List {
            starts: &[0, 3, 5],
            columns: &[7, 2, 7, 2, 9],
            values: &[1.0, 2.0, 0.5, 2.0, 4.0],
            rows: &[0.0, 0.0],
        };
        assert_eq!(difference(list, 0, 1), [(9, -4.0), (7, 1.5)]);
        assert_eq!(list.score(0, &[0.0, 0.0, 3.0]), 6.0, "features past the end weigh nothing");
    }
}
