//! The gradient of a batch, summed term by term: only its active features are ever looked at.

/// Sums of terms, and the loss that they belong to.
#[derive(Debug, Clone, Default)]
pub struct Gradient {
    sum: Vec<f64>,
    size: Vec<f64>,
    active: Vec<u32>,
    /// The loss so far.
    pub loss: f64,
}

impl Gradient {
    /// Nothing yet, of features below `width`.
    pub fn new(width: usize) -> Self {
        Self { sum: vec![0.0; width], size: vec![0.0; width], active: Vec::new(), loss: 0.0 }
    }

    /// Adds a term.
    #[inline]
    pub fn add(&mut self, id: u32, value: f64) {
        let j = id as usize;
        if value != 0.0 {
            if self.size[j] == 0.0 {
                self.active.push(id);
            }
            self.sum[j] += value;
            self.size[j] += value.abs();
        }
    }

    /// Moves the gradient to `out`, features in the order in which they came, and returns the loss; nothing is left.
    ///
    /// Terms that cancel leave rounding errors, which `AdaGrad` would blow up to full steps: below 1e-12 of the terms'
    /// size they are nothing.
    pub fn take(&mut self, out: &mut Vec<(u32, f64)>) -> f64 {
        out.clear();
        for id in self.active.drain(..) {
            let j = id as usize;
            let (g, size) = (std::mem::take(&mut self.sum[j]), std::mem::take(&mut self.size[j]));
            if g.abs() > 1e-12 * size || g.is_nan() {
                out.push((id, g));
            }
        }
        std::mem::take(&mut self.loss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_add_up_and_what_cancels_is_nothing() {
        let (mut gradient, mut out) = (Gradient::new(9), Vec::new());
        for _ in 0..2 {
            let terms =
                [(7, 0.1), (2, 1.0), (7, 0.2), (4, 0.0), (5, f64::NAN), (7, -0.3), (2, 0.5), (3, 1e-300)];
            for (id, value) in terms {
                gradient.add(id, value);
            }
            gradient.loss += 2.0;
            assert_ne!(0.1 + 0.2 - 0.3, 0.0, "rounding leaves something");
            assert_eq!(gradient.take(&mut out), 2.0);
            assert_eq!(out.iter().map(|e| e.0).collect::<Vec<_>>(), [2, 5, 3]);
            assert!(out[0].1 == 1.5 && out[1].1.is_nan() && out[2].1 == 1e-300);
        }
        gradient.take(&mut out);
        assert!(out.is_empty());
    }
}
