//! Discounts of modified Kneser-Ney smoothing (Chen and Goodman 1998, equation 26).

use super::adjust::Stat;
use dragoman_base::{Error, Result};

/// What is taken from adjusted counts of 1, 2, and 3 or more.
pub type Discounts = [f64; 3];

/// The discounts of one order, or why there are none.
fn closed_form(stat: &Stat, order: usize) -> std::result::Result<Discounts, String> {
    let n = stat.seen;
    if let Some(j) = (1..4).find(|&j| n[j] == 0) {
        let many = if j == 3 { "3 or more" } else { ["", "1", "2"][j] };
        return Err(format!("no {order}-gram has adjusted count {j}, so the discount of {many} is unknown"));
    }
    let y = n[1] as f64 / (n[1] as f64 + 2.0 * n[2] as f64);
    let mut discounts = [0.0; 3];
    for j in 1..4 {
        let value = j as f64 - (j + 1) as f64 * y * n[j + 1] as f64 / n[j] as f64;
        if !(0.0..=j as f64).contains(&value) {
            return Err(format!("the discount of {order}-grams with adjusted count {j} would be {value:.3}"));
        }
        discounts[j - 1] = value;
    }
    Ok(discounts)
}

/// The discounts of every order, and for each whether the fallback stands in for them.
pub fn discounts(stats: &[Stat], fallback: Option<Discounts>) -> Result<(Vec<Discounts>, Vec<bool>)> {
    let (mut values, mut replaced) = (Vec::new(), Vec::new());
    for (i, stat) in stats.iter().enumerate() {
        match (closed_form(stat, i + 1), fallback) {
            (Ok(found), _) => {
                values.push(found);
                replaced.push(false);
            }
            (Err(_), Some(instead)) => {
                values.push(instead);
                replaced.push(true);
            }
            (Err(why), None) => {
                return Err(Error::Invalid(format!(
                    "cannot discount: {why}; is the text small, artificial or made of classes? \
                     A discount fallback (0.5 1 1.5) lets estimation go on"
                )));
            }
        }
    }
    Ok((values, replaced))
}

/// What is left of a count.
pub fn apply(discounts: &Discounts, count: u64) -> f64 {
    count as f64 - if count == 0 { 0.0 } else { discounts[count.min(3) as usize - 1] }
}
