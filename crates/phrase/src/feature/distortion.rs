//! Distortion: how far the search jumps over the source.

use super::{Context, OrderFeature, PreparedOrder, Step};
use dragoman_base::{Error, Result};
use dragoman_model::Sink;
use dragoman_model::feature::{Builder, Part};

#[derive(Clone, Copy)]
enum Cost {
    /// Distance between the end of the previous phrase and the start of this one.
    Linear,
    /// Moore & Quirk 2007: the jumps that are now certain to come are paid at once.
    Completion,
}

struct Distortion {
    feature: u32,
    cost: Cost,
}

impl OrderFeature for Distortion {
    fn jump_only(&self) -> bool {
        true
    }

    fn prepare<'a>(&'a self, _: Context<'a>) -> Box<dyn PreparedOrder + 'a> {
        Box::new(Self { ..*self })
    }
}

impl PreparedOrder for Distortion {
    fn extend(&self, step: &Step<'_>, _: &[u8], _: &mut [u8], out: &mut Sink<'_>) {
        let jump = match self.cost {
            Cost::Linear => step.from.abs_diff(step.last),
            Cost::Completion => completion(step),
        };
        out.add(self.feature, -(jump as f32));
    }
}

/// The completion cost. With S this span, S' the previous one and S'' the covered prefix: nothing if S starts right
/// after S''; twice the length of S if S ends left of S'; else twice the length of S and the words between S and the
/// later of S' and S''.
fn completion(step: &Step<'_>) -> usize {
    let prefix = step.before.gap();
    let size = step.to - step.from;
    if step.from == prefix {
        0
    } else if step.to < step.last {
        2 * size
    } else if step.last <= prefix {
        2 * (step.from - prefix + size)
    } else {
        2 * (step.from.saturating_sub(step.last) + size)
    }
}

/// `distortion`, with `cost` linear or completion.
pub fn distortion(part: &Part, to: &mut Builder) -> Result<Box<dyn OrderFeature>> {
    let cost = match part.get("cost").unwrap_or("linear") {
        "linear" => Cost::Linear,
        "completion" => Cost::Completion,
        other => {
            return Err(Error::Invalid(format!(
                "distortion cost must be linear or completion, found `{other}`"
            )));
        }
    };
    let feature = to.dense(&part.name)?;
    Ok(Box::new(Distortion { feature, cost }))
}
