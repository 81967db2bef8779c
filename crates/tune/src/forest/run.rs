//! Passes of MIRA over forests.

use super::pool::{Path, Pool};
use crate::mira::{Around, Chosen, Context, Oracle, Rules, Unit, lesson};
use dragoman_base::{Error, Result};
use dragoman_optim::Learner;

/// A run of MIRA: weights, their average, and the background of earlier oracles.
pub struct Run {
    rules: Rules,
    unit: Unit,
    /// The weights on their way.
    pub learner: Learner,
    /// What gains depend on: a decaying sum.
    pub around: Around,
    /// The sums of the statistics of the oracles and of the predictions that were visited.
    pub met: (Context, Context),
    /// Number of visits in which the oracle had the larger gain: only these teach anything.
    pub differing: usize,
}

impl Run {
    /// Goes on with a learner, as [`crate::mira::learner`] makes it.
    pub fn new((rules, unit): (Rules, Unit), learner: Learner, around: Around, width: usize) -> Result<Self> {
        if let Oracle::Local(_) = rules.oracle {
            return Err(Error::Invalid("a forest has no local oracle: expected hope or mb".into()));
        }
        let met = (Context::nothing(width), Context::nothing(width));
        Ok(Self { rules, unit, learner, around, met, differing: 0 })
    }

    /// Visits a sentence: finds its oracle and its prediction, and tells them apart.
    pub fn visit(&mut self, pool: &Pool, s: usize) {
        let mut firsts = pool.firsts(s, self.learner.weights());
        let Some(best) = firsts.best() else { return };
        let context = self.around.others(s);
        let worth = pool.worth(&context.row, self.unit.factor(&context, &best.row));
        let (plus, minus) = self.rules.wishes();
        let paths = firsts.seek(&[plus, minus], &worth);
        let (model, gains): (Vec<f64>, Vec<f64>) =
            paths.iter().map(|path| (path.model, worth.gain(&path.row))).unzip();
        let (plus, minus) = self.rules.choose(&model, (&gains, 0.0), &mut Vec::new(), |at| gains[at]);
        self.met.0.add(&paths[plus.at].row, 1.0);
        self.met.1.add(&paths[minus.at].row, 1.0);
        let lesson = lesson(&plus, &minus);
        self.differing += usize::from(lesson.is_some());
        if let Some(loss) = lesson.filter(|loss| *loss > 0.0) {
            self.learn(pool, s, &paths, (plus, minus), loss);
        }
        self.around.saw(s, &best.row, lesson.map(|_| &paths[plus.at].row[..]));
    }

    /// The passive-aggressive step (Eidelman 2012, algorithm 1).
    fn learn(&mut self, pool: &Pool, s: usize, paths: &[Path], (plus, minus): (Chosen, Chosen), loss: f64) {
        let gradient = pool.features(s, &[(&paths[plus.at], -1.0), (&paths[minus.at], 1.0)]);
        self.learner.step(&gradient, loss);
    }
}
