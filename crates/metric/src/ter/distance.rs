//! Edit distance within a band around the diagonal, and what a shift would make of it.

/// Half the width of the band (Tercom's beam).
const BEAM: f64 = 25.0;

/// The cost of a cell outside the band. Far from overflow when lengths are added to it.
const OUTSIDE: u32 = u32::MAX / 4;

/// One step of turning hypothesis into reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Word stands against equal word.
    Keep,
    /// Word stands against another word.
    Substitute,
    /// A word of the hypothesis goes.
    Delete,
    /// A word of the reference comes.
    Insert,
}

/// Moves a block of words: `words[from..split]` comes after `words[split..to]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rotation {
    /// First word that changes place.
    pub from: usize,
    /// First word of the second block, which becomes the first.
    pub split: usize,
    /// End of the second block.
    pub to: usize,
}

impl Rotation {
    /// Carries the rotation out.
    pub fn apply(self, words: &mut [u32]) {
        words[self.from..self.to].rotate_left(self.split - self.from);
    }
}

/// Edit distances between the prefixes and between the suffixes of a hypothesis and a reference.
///
/// The band belongs to lengths, not words, so it stays the same while the words of the hypothesis are shifted.
pub(super) struct Distances<'a> {
    reference: &'a [u32],
    /// The columns of each row that lie in the band.
    band: Vec<(usize, usize)>,
    /// Cost of turning the first `i` words into the first `j`, at `i * width + j`.
    forward: Vec<u32>,
    /// Cost of turning the words from `i` on into those from `j` on.
    backward: Vec<u32>,
    /// Two rows for [`Distances::shifted`].
    scratch: (Vec<u32>, Vec<u32>),
}

/// The band of sacreBLEU for `hyp` rows after the first, which is whole.
fn band(hyp: usize, reference: usize) -> Vec<(usize, usize)> {
    let ratio = if hyp > 0 { reference as f64 / hyp as f64 } else { 1.0 };
    // A very short hypothesis would otherwise leave the band of the row before.
    let beam = if BEAM < ratio / 2.0 { (ratio / 2.0 + BEAM).ceil() } else { BEAM } as usize;
    let row = |i: usize| {
        let diagonal = (i as f64 * ratio).floor() as usize;
        let end = if i == hyp { reference + 1 } else { (diagonal + beam).min(reference + 1) };
        (diagonal.saturating_sub(beam), end)
    };
    std::iter::once((0, reference + 1)).chain((1..=hyp).map(row)).collect()
}

/// Fills the cells `lo..hi` of `row`, that of a hypothesis's `word`, from the row before; gives the least cost.
/// `before` must cost [`OUTSIDE`] wherever it is read outside its band.
fn fill_row(before: &[u32], row: &mut [u32], word: u32, reference: &[u32], (lo, hi): (usize, usize)) -> u32 {
    let mut left = OUTSIDE;
    if lo == 0 {
        left = before[0] + 1;
        row[0] = left;
    }
    let mut least = left;
    let lo = lo.max(1);
    let cells = row[lo..hi].iter_mut().zip(&reference[lo - 1..hi - 1]);
    for ((cell, &r), above) in cells.zip(before[lo - 1..hi].windows(2)) {
        left = (above[0] + u32::from(word != r)).min(above[1] + 1).min(left + 1);
        *cell = left;
        least = least.min(left);
    }
    least
}

impl<'a> Distances<'a> {
    /// Room for hypotheses of `length` words; [`Distances::fill`] comes next.
    pub fn new(length: usize, reference: &'a [u32]) -> Self {
        let width = reference.len() + 1;
        let mut forward = vec![OUTSIDE; (length + 1) * width];
        for (cell, cost) in forward.iter_mut().zip(0..width as u32) {
            *cell = cost;
        }
        Self {
            reference,
            band: band(length, reference.len()),
            backward: vec![OUTSIDE; forward.len()],
            forward,
            scratch: (vec![OUTSIDE; width], vec![OUTSIDE; width]),
        }
    }

    fn width(&self) -> usize {
        self.reference.len() + 1
    }

    /// Computes all distances for `words`; the result is that between the whole sequences.
    pub fn fill(&mut self, words: &[u32]) -> u32 {
        let width = self.width();
        for (i, &word) in words.iter().enumerate() {
            let (before, rest) = self.forward[i * width..].split_at_mut(width);
            fill_row(before, &mut rest[..width], word, self.reference, self.band[i + 1]);
        }
        self.fill_backward(words);
        self.forward[words.len() * width + self.reference.len()]
    }

    fn fill_backward(&mut self, words: &[u32]) {
        let width = self.width();
        let last = self.reference.len();
        let (lo, hi) = self.band[words.len()];
        let bottom = &mut self.backward[words.len() * width..][lo..hi];
        for (cell, j) in bottom.iter_mut().zip(lo..) {
            *cell = (last - j) as u32;
        }
        for (i, &word) in words.iter().enumerate().rev() {
            let (rest, below) = self.backward.split_at_mut((i + 1) * width);
            let row = &mut rest[i * width..];
            let (lo, hi) = self.band[i];
            let mut right = OUTSIDE;
            for j in (lo..hi).rev() {
                let diagonal =
                    if j < last { below[j + 1] + u32::from(word != self.reference[j]) } else { OUTSIDE };
                right = diagonal.min(below[j] + 1).min(right + 1);
                row[j] = right;
            }
        }
    }

    /// The distance after a rotation of `words`, the words of the last [`Distances::fill`], if it is at most
    /// `limit`. Only the rows of moved words are computed anew: before them prefixes are as they were, and behind
    /// them suffixes.
    pub fn shifted(&mut self, words: &[u32], shift: Rotation, limit: u32) -> Option<u32> {
        let Rotation { from, split, to } = shift;
        let width = self.width();
        let (before, row) = (&mut self.scratch.0, &mut self.scratch.1);
        before.copy_from_slice(&self.forward[from * width..(from + 1) * width]);
        for (i, &word) in (from + 1..).zip(words[split..to].iter().chain(&words[from..split])) {
            let (lo, hi) = self.band[i];
            if fill_row(before, row, word, self.reference, (lo, hi)) > limit {
                return None;
            }
            if lo > 0 {
                row[lo - 1] = OUTSIDE;
            }
            if let Some(&(_, next)) = self.band.get(i + 1) {
                row[hi..next].fill(OUTSIDE);
            }
            std::mem::swap(before, row);
        }
        let (lo, hi) = self.band[to];
        let suffixes = &self.backward[to * width..];
        let total = before[lo..hi].iter().zip(&suffixes[lo..hi]).map(|(a, b)| a + b).min()?;
        (total <= limit).then_some(total)
    }

    /// The steps of the best path for `words`, from first to last. Of equal paths, seen from the end, a pair of
    /// words is preferred, then a deletion.
    pub fn path(&self, words: &[u32]) -> Vec<Step> {
        let width = self.width();
        let (mut i, mut j) = (words.len(), self.reference.len());
        let mut steps = Vec::with_capacity(i + j);
        while i > 0 || j > 0 {
            let cost = self.forward[i * width + j];
            let same = i > 0 && j > 0 && words[i - 1] == self.reference[j - 1];
            let pair = i > 0 && j > 0 && self.forward[(i - 1) * width + j - 1] + u32::from(!same) == cost;
            if pair {
                steps.push(if same { Step::Keep } else { Step::Substitute });
                (i, j) = (i - 1, j - 1);
            } else if j == 0 || i > 0 && self.forward[(i - 1) * width + j] + 1 == cost {
                steps.push(Step::Delete);
                i -= 1;
            } else {
                steps.push(Step::Insert);
                j -= 1;
            }
        }
        steps.reverse();
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(length: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u32>> {
        prop::collection::vec(0u32..4, length)
    }

    /// Levenshtein's distance over the cells that `inside` allows.
    fn slow(a: &[u32], b: &[u32], inside: impl Fn(usize, usize) -> bool) -> u32 {
        let mut cells = vec![vec![OUTSIDE; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in (0..=b.len()).filter(|&j| inside(i, j)) {
                let mut best = if i + j == 0 { 0 } else { OUTSIDE };
                if i > 0 && j > 0 {
                    best = best.min(cells[i - 1][j - 1] + u32::from(a[i - 1] != b[j - 1]));
                }
                if i > 0 {
                    best = best.min(cells[i - 1][j] + 1);
                }
                if j > 0 {
                    best = best.min(cells[i][j - 1] + 1);
                }
                cells[i][j] = best;
            }
        }
        cells[a.len()][b.len()]
    }

    proptest! {
        #[test]
        fn short_sequences_have_their_edit_distance(a in words(0..20), b in words(1..20)) {
            prop_assert_eq!(Distances::new(a.len(), &b).fill(&a), slow(&a, &b, |_, _| true));
        }

        #[test]
        fn long_sequences_stay_in_the_band(a in words(1..90), b in words(1..90)) {
            let ratio = b.len() as f64 / a.len() as f64;
            let beam = if ratio > 50.0 { (ratio / 2.0 + 25.0).ceil() } else { 25.0 };
            let inside = |i: usize, j: usize| {
                let diagonal = (i as f64 * ratio).floor();
                let (j, last) = (j as f64, i == a.len());
                i == 0 || j >= diagonal - beam && (j < diagonal + beam || last)
            };
            prop_assert_eq!(Distances::new(a.len(), &b).fill(&a), slow(&a, &b, inside));
        }

        #[test]
        fn a_shift_costs_what_the_shifted_words_cost(
            a in words(2..70),
            b in words(1..70),
            cuts in prop::array::uniform3(any::<prop::sample::Index>()),
            limit in 0u32..70,
        ) {
            let mut at = cuts.map(|cut| cut.index(a.len() + 1));
            at.sort_unstable();
            let [from, split, to] = at;
            prop_assume!(from < split);
            let shift = Rotation { from, split, to };
            let mut moved = a.clone();
            shift.apply(&mut moved);
            let want = Distances::new(a.len(), &b).fill(&moved);
            let mut distances = Distances::new(a.len(), &b);
            distances.fill(&a);
            // Twice: what one call leaves behind must not reach the next.
            distances.shifted(&a, shift, limit);
            prop_assert_eq!(distances.shifted(&a, shift, u32::MAX), Some(want));
            prop_assert_eq!(distances.shifted(&a, shift, limit), (want <= limit).then_some(want));
        }

        #[test]
        fn the_path_costs_the_distance(a in words(0..60), b in words(1..60)) {
            let mut distances = Distances::new(a.len(), &b);
            let distance = distances.fill(&a);
            let path = distances.path(&a);
            prop_assert_eq!(path.iter().filter(|&&s| s != Step::Keep).count() as u32, distance);
            prop_assert_eq!(path.iter().filter(|&&s| s != Step::Insert).count(), a.len());
            prop_assert_eq!(path.iter().filter(|&&s| s != Step::Delete).count(), b.len());
        }
    }
}
