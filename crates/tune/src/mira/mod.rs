//! MIRA: 1-best passive-aggressive updates with every choice of oracle and prediction (Eidelman 2012), and k-best batch
//! MIRA (Cherry & Foster 2012). What oracle, prediction, loss and the unit of a gain are is said here once, and means
//! the same on fixed lists ([`Run`]), with a decoder in the loop ([`Walk`]) and in forests ([`crate::forest`]).

mod choose;
mod context;
mod counts;
mod gain;
mod lists;
mod walk;

pub use choose::{Chosen, Feed, Oracle, Prediction, Rules, Wish, lesson};
pub use context::{Around, Context, Unit};
pub use gain::{Judged, Scorer, Worth};
pub use lists::Run;
pub use walk::{Gains, List, Told, Walk};

use dragoman_optim::{Average, Learner, Memory, Rule};

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
