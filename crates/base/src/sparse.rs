//! Sparse vectors and rows of them (CSR): the feature vectors of candidates.

/// Sparse rows: row `i` holds `values[k]` at column `columns[k]` for `k` in `starts[i]..starts[i + 1]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// Start of each row, and the end of the last: one more than there are rows.
    pub starts: Vec<i64>,
    /// Column (feature id) of each entry.
    pub columns: Vec<u32>,
    /// Value of each entry; zeros may be stored, so that a dense block keeps its width.
    pub values: Vec<f64>,
}

impl Default for Rows {
    fn default() -> Self {
        Self { starts: vec![0], columns: Vec::new(), values: Vec::new() }
    }
}

impl Rows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an entry to the row under construction.
    pub fn push(&mut self, column: u32, value: f64) {
        self.columns.push(column);
        self.values.push(value);
    }

    /// Closes the row under construction.
    pub fn end_row(&mut self) {
        self.starts.push(self.columns.len() as i64);
    }

    /// Columns and values of row `index`.
    pub fn row(&self, index: usize) -> (&[u32], &[f64]) {
        let span = self.starts[index] as usize..self.starts[index + 1] as usize;
        (&self.columns[span.clone()], &self.values[span])
    }
}

/// `w · x` for a sparse `x`; columns past the end of `w` have weight zero.
pub fn dot(columns: &[u32], values: &[f64], w: &[f64]) -> f64 {
    columns.iter().zip(values).map(|(&c, &v)| w.get(c as usize).map_or(0.0, |w| w * v)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_products() {
        let mut rows = Rows::default();
        rows.push(2, 0.5);
        rows.push(0, -1.0);
        rows.end_row();
        rows.end_row();
        rows.push(9, 4.0);
        rows.end_row();
        assert_eq!(rows.len(), 3);
        let w = [3.0, 0.0, 8.0];
        let scores: Vec<f64> = (0..3).map(|i| dot(rows.row(i).0, rows.row(i).1, &w)).collect();
        assert_eq!(scores, [1.0, 0.0, 0.0]);
    }
}
