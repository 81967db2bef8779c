//! Alignment error rate against gold links (Och & Ney 2003).

use crate::links::{Links, position};
use dragoman_base::io::Lines;
use dragoman_base::{Error, Result};

/// Gold links: sure ones, and possible ones (of which the sure ones are a part).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Gold {
    /// Links that must be there.
    pub sure: Links,
    /// Links that may be there, the sure ones included.
    pub possible: Links,
}

/// Counts that error rate, precision and recall follow from; they add up over pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Score {
    /// Links found, |A|.
    pub found: u64,
    /// Sure links, |S|.
    pub sure: u64,
    /// Sure links found, |A and S|.
    pub found_sure: u64,
    /// Possible links found, |A and P|.
    pub found_possible: u64,
}

impl Gold {
    /// Reads a gold file: a line a pair, `i-j` for a sure and `i?j` for a possible link, counted from 0.
    pub fn read(path: &str) -> Result<Self> {
        let mut lines = Lines::open(path)?;
        let mut gold = Self::default();
        let (mut sure, mut possible) = (Vec::new(), Vec::new());
        while let Some(line) = lines.next()? {
            sure.clear();
            possible.clear();
            for word in line.split_ascii_whitespace() {
                let link = word.split_once(['-', '?']).and_then(|(i, j)| Some((position(i)?, position(j)?)));
                let Some(link) = link else {
                    let number = gold.sure.len() + 1;
                    return Err(Error::format(
                        path,
                        number,
                        "sure links `i-j` and possible links `i?j`",
                        word,
                    ));
                };
                possible.push(link);
                if word.contains('-') {
                    sure.push(link);
                }
            }
            gold.sure.push(&mut sure);
            gold.possible.push(&mut possible);
        }
        Ok(gold)
    }
}

/// How many links of two sorted lists are the same.
fn common(a: (&[u32], &[u32]), b: (&[u32], &[u32])) -> u64 {
    let (mut i, mut j, mut count) = (0, 0, 0);
    while i < a.0.len() && j < b.0.len() {
        match (a.0[i], a.1[i]).cmp(&(b.0[j], b.1[j])) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                count += 1;
                i += 1;
                j += 1;
            }
        }
    }
    count
}

/// Counts over the pairs that the gold file has; `found` may have more pairs after those, never fewer.
pub fn score(found: &Links, gold: &Gold) -> Result<Score> {
    let pairs = gold.sure.len();
    if pairs > found.len() {
        return Err(Error::Invalid(format!(
            "expected links for at least the {pairs} pairs of the gold standard, found {}",
            found.len()
        )));
    }
    let mut score = Score::default();
    for index in 0..pairs {
        score.found += found.pair(index).0.len() as u64;
        score.sure += gold.sure.pair(index).0.len() as u64;
        score.found_sure += common(found.pair(index), gold.sure.pair(index));
        score.found_possible += common(found.pair(index), gold.possible.pair(index));
    }
    Ok(score)
}

impl Score {
    /// 1 - (|A and S| + |A and P|) / (|A| + |S|); 0 where there is nothing to find and nothing found.
    pub fn error_rate(&self) -> f64 {
        match self.found + self.sure {
            0 => 0.0,
            size => 1.0 - (self.found_sure + self.found_possible) as f64 / size as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gold").to_str().unwrap().to_owned();
        std::fs::write(&path, "0-0 1?1 2-2\n\n0?0 0-0\n").unwrap();
        let gold = Gold::read(&path).unwrap();
        assert_eq!((gold.sure.source.len(), gold.possible.source.len()), (3, 4));
        let mut found = Links::new();
        found.push(&mut vec![(0, 0), (1, 1), (2, 1)]);
        found.push(&mut vec![(5, 5)]);
        found.push(&mut vec![]);
        found.push(&mut vec![(7, 7)]); // beyond the gold pairs: not counted
        let score = score(&found, &gold).unwrap();
        assert_eq!(score, Score { found: 4, sure: 3, found_sure: 1, found_possible: 2 });
        assert!((score.error_rate() - (1.0 - 3.0 / 7.0)).abs() < 1e-12);
        assert_eq!(super::score(&gold.sure, &gold).unwrap().error_rate(), 0.0);
        assert_eq!(Score::default().error_rate(), 0.0);
        assert!(super::score(&Links::new(), &gold).is_err());
        std::fs::write(&path, "0-0\n0:1\n").unwrap();
        assert!(Gold::read(&path).unwrap_err().to_string().contains(":2: expected sure links"));
    }
}
