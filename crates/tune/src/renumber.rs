//! Lists in which few of all features are: these get numbers of their own.

use crate::lists::Lists;
use dragoman_base::Result;
use rustc_hash::FxHashMap;

impl Lists {
    /// Packs rows after numbering their features in the order in which they first come. Returns the lists and the
    /// features' own numbers.
    ///
    /// The numbers of a system depend on which batch met a name first, that is on chance, and so would the order of
    /// sums; and work on them would cost as much as all features that are known.
    pub fn pack_renumbered(
        groups: &[i64],
        starts: &[i64],
        columns: &[u32],
        values: &[f64],
    ) -> Result<(Self, Vec<u32>)> {
        let mut places: FxHashMap<u32, u32> = FxHashMap::default();
        let mut met: Vec<u32> = Vec::new();
        let mut place = |&column: &u32| {
            *places.entry(column).or_insert_with(|| {
                met.push(column);
                met.len() as u32 - 1
            })
        };
        let few: Vec<u32> = columns.iter().map(&mut place).collect();
        Ok((Self::pack(groups, starts, &few, values, met.len())?, met))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_numbered_as_they_come() {
        let columns = [9_000_000, 3, 3, 700, 9_000_000];
        let (lists, met) =
            Lists::pack_renumbered(&[0, 1, 3], &[0, 2, 4, 5], &columns, &[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!(met, [9_000_000, 3, 700]);
        let mut rows = vec![vec![0.0; 3]; 3];
        for s in 0..2 {
            for i in lists.group(s) {
                lists.each(s, i, |column, value| rows[i][column as usize] += value);
            }
        }
        assert_eq!(rows, [[1.0, 2.0, 0.0], [0.0, 3.0, 4.0], [5.0, 0.0, 0.0]]);
        assert!(Lists::pack_renumbered(&[0, 1], &[0, 2], &[1], &[1.0]).is_err());
    }
}
