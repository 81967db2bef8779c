//! Vectors over all features of which few are not zero.

use dragoman_model::OWN;

/// A sparse vector that is filled and emptied again and again.
#[derive(Debug, Default)]
pub struct Sparse {
    values: Vec<f64>,
    own: Vec<f64>,
    touched: Vec<u32>,
}

impl Sparse {
    /// Adds to an entry.
    pub fn add(&mut self, id: u32, value: f64) {
        let (values, at) =
            if id >= OWN { (&mut self.own, (id - OWN) as usize) } else { (&mut self.values, id as usize) };
        if values.len() <= at {
            values.resize(at + 1, 0.0);
        }
        if values[at] == 0.0 {
            self.touched.push(id);
        }
        values[at] += value;
    }

    /// Takes out all entries, each feature once.
    pub fn drain(&mut self, mut take: impl FnMut(u32, f64)) {
        self.touched.sort_unstable();
        self.touched.dedup();
        for id in self.touched.drain(..) {
            let place =
                if id >= OWN { &mut self.own[(id - OWN) as usize] } else { &mut self.values[id as usize] };
            let value = std::mem::take(place);
            if value != 0.0 {
                take(id, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_feature_comes_once_and_zeros_do_not() {
        let mut vector = Sparse::default();
        for _ in 0..2 {
            for (id, value) in [(5, 1.0), (OWN + 2, 0.5), (5, 2.0), (7, 1.0), (7, -1.0), (5, -3.0), (5, 4.0)]
            {
                vector.add(id, value);
            }
            let mut found = Vec::new();
            vector.drain(|id, value| found.push((id, value)));
            assert_eq!(found, [(5, 4.0), (OWN + 2, 0.5)]);
        }
    }
}
