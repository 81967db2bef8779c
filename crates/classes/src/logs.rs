//! h(x) = x log x of whole numbers.

/// Values from a table that stays in the second-level cache; beyond it they are computed.
#[derive(Debug, Clone)]
pub struct Logs {
    table: Vec<f64>,
}

/// Numbers below this are looked up: 512 kB.
const SIZE: usize = 1 << 16;

fn compute(x: u64) -> f64 {
    if x == 0 { 0.0 } else { x as f64 * (x as f64).ln() }
}

impl Logs {
    /// The table for numbers up to `most`.
    pub fn new(most: u64) -> Self {
        let size = SIZE.min(most as usize + 1);
        Self { table: (0..size as u64).map(compute).collect() }
    }

    /// h(x).
    #[inline]
    pub fn h(&self, x: u32) -> f64 {
        match self.table.get(x as usize) {
            Some(value) => *value,
            None => compute(u64::from(x)),
        }
    }
}
