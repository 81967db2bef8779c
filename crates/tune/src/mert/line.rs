//! The exact line search: corpus statistics of every interval of a line.

use super::columns::Column;
use super::envelope::{Envelope, Landmarks};
use super::share;

/// Corners beyond this are as good as at infinity: no weights could be moved that far.
const FAR: f64 = 1e300;
/// Sentences that one task searches: enough work to be worth handing over.
const TASK: usize = 16;

/// Candidates of some sentences and their statistics.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// The candidates of sentence `s` are `starts[s]..starts[s + 1]`.
    pub starts: &'a [i64],
    /// One row for each candidate.
    pub statistics: &'a [f64],
    /// Length of a row.
    pub width: usize,
}

impl<'a> Judged<'a> {
    /// The statistics of one candidate.
    pub fn row(&self, candidate: u32) -> &'a [f64] {
        &self.statistics[candidate as usize * self.width..][..self.width]
    }

    /// Number of sentences.
    pub fn sentences(&self) -> usize {
        self.starts.len() - 1
    }

    /// The candidates of a sentence.
    pub fn span(&self, sentence: usize) -> std::ops::Range<usize> {
        self.starts[sentence] as usize..self.starts[sentence + 1] as usize
    }
}

/// A line's intervals: the statistics do not change between two neighbouring corners.
#[derive(Debug, Default, PartialEq)]
pub struct Intervals {
    /// Corners in strictly rising order: the values of γ at which the corpus statistics change.
    pub corners: Vec<f64>,
    /// Corpus statistics left of the first corner, between corners, and right of the last: a row each.
    pub totals: Vec<f64>,
}

/// At γ = `at` the winner of a sentence changes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Switch {
    pub at: f64,
    pub from: u32,
    pub to: u32,
}

/// What some sentences add to a line.
#[derive(Default)]
pub(super) struct Part {
    /// Winner at γ = 0 and at γ → -∞ of each sentence.
    pub ends: Vec<(u32, u32)>,
    pub switches: Vec<Switch>,
}

/// Sums with the rounding errors kept (Neumaier), so that thousands of differences leave no drift. Sums of whole
/// numbers are exact anyway.
struct Sums {
    high: Vec<f64>,
    low: Vec<f64>,
}

impl Sums {
    fn new(width: usize) -> Self {
        Self { high: vec![0.0; width], low: vec![0.0; width] }
    }

    fn add(&mut self, row: &[f64], sign: f64) {
        for ((high, low), &x) in self.high.iter_mut().zip(&mut self.low).zip(row) {
            let x = sign * x;
            let sum = *high + x;
            // The two-sum of Knuth: exact whatever the sizes, and without a branch.
            let back = sum - *high;
            *low += (*high - (sum - back)) + (x - back);
            *high = sum;
        }
    }

    fn append_to(&self, rows: &mut Vec<f64>) {
        rows.extend(self.high.iter().zip(&self.low).map(|(high, low)| high + low));
    }
}

impl Part {
    /// Adds one sentence; `first` is its first candidate.
    fn add(&mut self, envelope: &mut Envelope, slopes: &[f64], scores: &[f64], first: u32) {
        self.add_from(envelope, (slopes, scores), first, None);
    }

    /// The same where the landmarks may be known.
    pub fn add_from(
        &mut self,
        envelope: &mut Envelope,
        (slopes, scores): (&[f64], &[f64]),
        first: u32,
        known: Option<Landmarks>,
    ) {
        let (winners, top) = envelope.find_from(slopes, scores, known);
        let leftmost = switches(winners, slopes, scores, |at, from, to| {
            self.switches.push(Switch { at, from: first + from, to: first + to });
        });
        self.ends.push((first + top, first + leftmost));
    }
}

/// Calls `switch` with each corner of an envelope and the winners before and after it; gives the winner before the first.
pub(super) fn switches(
    winners: &[u32],
    slopes: &[f64],
    scores: &[f64],
    mut switch: impl FnMut(f64, u32, u32),
) -> u32 {
    let mut leftmost = winners[0];
    let mut last = -FAR;
    for pair in winners.windows(2) {
        let (i, j) = (pair[0] as usize, pair[1] as usize);
        // Rounding must not turn the order of a sentence's corners around.
        let at = ((scores[i] - scores[j]) / (slopes[j] - slopes[i])).max(last);
        if at >= FAR {
            break;
        }
        if at <= -FAR {
            leftmost = pair[1];
            continue;
        }
        last = at;
        switch(at + 0.0, pair[0], pair[1]);
    }
    leftmost
}

/// Sorts the switches of all parts and walks over them from left to right. `known` holds the statistics at γ = 0
/// of the sentences that the parts leave out plus those that they hold; without it, the parts hold all.
pub(super) fn sweep(parts: Vec<Part>, pool: Judged<'_>, known: Option<&[f64]>) -> Intervals {
    let mut sums = Sums::new(pool.width);
    if let Some(known) = known {
        sums.add(known, 1.0);
    }
    for &(top, leftmost) in parts.iter().flat_map(|part| &part.ends) {
        if known.is_some() {
            sums.add(pool.row(top), -1.0);
        }
        sums.add(pool.row(leftmost), 1.0);
    }
    let mut switches: Vec<Switch> = parts.into_iter().flat_map(|part| part.switches).collect();
    // A total order: the result does not depend on how sentences were shared out.
    switches.sort_unstable_by(|a, b| a.at.total_cmp(&b.at).then((a.from, a.to).cmp(&(b.from, b.to))));
    let mut intervals = Intervals {
        corners: Vec::with_capacity(switches.len()),
        totals: Vec::with_capacity((switches.len() + 1) * pool.width),
    };
    sums.append_to(&mut intervals.totals);
    for same in switches.chunk_by(|a, b| a.at == b.at) {
        for switch in same {
            sums.add(pool.row(switch.from), -1.0);
            sums.add(pool.row(switch.to), 1.0);
        }
        intervals.corners.push(same[0].at);
        sums.append_to(&mut intervals.totals);
    }
    intervals
}

/// Runs `search` on tasks of some sentences each, in parallel; the parts come back in order.
///
/// `finish` looks the statistics up at the end of a task: a run of look-ups far apart in memory, which the
/// processor can have under way together.
pub(super) fn by_task<T, E, F>(count: usize, finish: E, search: F) -> Vec<T>
where
    T: Send,
    E: Fn(Part) -> T + Sync,
    F: Fn(std::ops::Range<usize>, &mut Envelope, &mut Vec<f64>, &mut Part) + Sync,
{
    let run = |(envelope, slopes): &mut (Envelope, Vec<f64>), task: usize| {
        let mut part = Part::default();
        search(task * TASK..((task + 1) * TASK).min(count), envelope, slopes, &mut part);
        finish(part)
    };
    share::tasks(count.div_ceil(TASK), share::ANY, || (Envelope::default(), Vec::new()), run)
}

/// Drops switches between candidates with the same statistics.
fn with_changes(pool: Judged<'_>) -> impl Fn(Part) -> Part {
    move |mut part| {
        part.switches.retain(|switch| pool.row(switch.from) != pool.row(switch.to));
        part
    }
}

/// The line through the point with model scores `scores`, in the direction with the given slopes `d·h`.
pub fn search(scores: &[f64], slopes: &[f64], pool: Judged<'_>) -> Intervals {
    let parts = by_task(pool.sentences(), with_changes(pool), |sentences, envelope, _, part| {
        for span in sentences.map(|s| pool.span(s)).filter(|span| !span.is_empty()) {
            let first = span.start as u32;
            part.add(envelope, &slopes[span.clone()], &scores[span], first);
        }
    });
    sweep(parts, pool, None)
}

/// The line in the direction of one feature. Where the feature is sparse only the sentences in which it fires are
/// searched, and `total`, the statistics at γ = 0, stand for the rest.
pub fn search_column(scores: &[f64], column: Column<'_>, total: &[f64], pool: Judged<'_>) -> Intervals {
    match column {
        Column::Wide(slopes) => search(scores, slopes, pool),
        Column::Narrow(values) => search_as(scores, values, pool),
        Column::Small(values) => search_as(scores, values, pool),
        Column::Sparse { rows, values } => {
            let fires = firing(rows, pool.starts);
            let parts = by_task(fires.len(), with_changes(pool), |chosen, envelope, slopes, part| {
                for (sentence, entries) in fires[chosen].iter().cloned() {
                    let span = pool.span(sentence);
                    slopes.clear();
                    slopes.resize(span.len(), 0.0);
                    for (&row, value) in rows[entries.clone()].iter().zip(&values[entries]) {
                        slopes[row as usize - span.start] += value;
                    }
                    part.add(envelope, slopes, &scores[span.clone()], span.start as u32);
                }
            });
            sweep(parts, pool, Some(total))
        }
    }
}

/// The line whose slopes are numbers of another form.
fn search_as<T: Copy + Into<f64> + Sync>(scores: &[f64], values: &[T], pool: Judged<'_>) -> Intervals {
    let parts = by_task(pool.sentences(), with_changes(pool), |sentences, envelope, slopes, part| {
        for span in sentences.map(|s| pool.span(s)).filter(|span| !span.is_empty()) {
            slopes.clear();
            slopes.extend(values[span.clone()].iter().map(|&v| v.into()));
            part.add(envelope, slopes, &scores[span.clone()], span.start as u32);
        }
    });
    sweep(parts, pool, None)
}

/// The sentences in which a sparse column has entries, each with its entries.
fn firing(rows: &[u32], starts: &[i64]) -> Vec<(usize, std::ops::Range<usize>)> {
    let mut found = Vec::new();
    let (mut sentence, mut at) = (0, 0);
    while at < rows.len() {
        let row = i64::from(rows[at]);
        sentence += starts[sentence + 1..].partition_point(|&start| start <= row);
        let end = at + rows[at..].partition_point(|&r| i64::from(r) < starts[sentence + 1]);
        found.push((sentence, at..end));
        at = end;
    }
    found
}

/// Corpus statistics of the winners under the given scores.
pub fn total(scores: &[f64], pool: Judged<'_>) -> Vec<f64> {
    let best = |span: std::ops::Range<usize>| {
        let mut best = span.start;
        for i in span {
            if scores[i] > scores[best] {
                best = i;
            }
        }
        best as u32
    };
    let winner = |(): &mut (), s: usize| Some(pool.span(s)).filter(|span| !span.is_empty()).map(best);
    let winners = share::tasks(pool.sentences(), (TASK, usize::MAX), || (), winner);
    let mut sums = Sums::new(pool.width);
    for winner in winners.into_iter().flatten() {
        sums.add(pool.row(winner), 1.0);
    }
    let mut row = Vec::with_capacity(pool.width);
    sums.append_to(&mut row);
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug)]
    struct Pool {
        starts: Vec<i64>,
        scores: Vec<f64>,
        slopes: Vec<f64>,
        statistics: Vec<f64>,
    }

    impl Pool {
        fn judged(&self) -> Judged<'_> {
            Judged { starts: &self.starts, statistics: &self.statistics, width: 2 }
        }

        fn total_at(&self, gamma: f64) -> Vec<f64> {
            let moved: Vec<f64> = self.scores.iter().zip(&self.slopes).map(|(b, a)| b + gamma * a).collect();
            total(&moved, self.judged())
        }
    }

    impl Pool {
        /// Whether two candidates of a sentence share the first place at `gamma`: a point, not an interval, whose
        /// winner need not be that of the intervals around it.
        fn tied_at(&self, gamma: f64) -> bool {
            (0..self.starts.len() - 1).any(|s| {
                let span = self.starts[s] as usize..self.starts[s + 1] as usize;
                let values: Vec<f64> = span.map(|i| self.scores[i] + gamma * self.slopes[i]).collect();
                let top = values.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
                values.iter().filter(|v| **v == top).count() > 1
            })
        }
    }

    fn pools() -> impl Strategy<Value = Pool> {
        let candidate = (-4i8..5, -9i8..10, 0u8..4, 0u8..4);
        prop::collection::vec(prop::collection::vec(candidate, 0..8), 1..40).prop_map(|lists| {
            let mut pool = Pool { starts: vec![0], scores: vec![], slopes: vec![], statistics: vec![] };
            for list in lists {
                for (slope, score, x, y) in list {
                    pool.slopes.push(f64::from(slope));
                    pool.scores.push(f64::from(score));
                    pool.statistics.extend([f64::from(x), f64::from(y) / 4.0]);
                }
                pool.starts.push(pool.slopes.len() as i64);
            }
            pool
        })
    }

    fn middles(corners: &[f64]) -> Vec<f64> {
        let mut edges = vec![-1e3];
        edges.extend(corners);
        edges.push(1e3);
        edges.windows(2).map(|e| f64::midpoint(e[0], e[1])).collect()
    }

    proptest! {
        #[test]
        fn every_interval_has_the_statistics_of_its_winners(pool in pools()) {
            let found = search(&pool.scores, &pool.slopes, pool.judged());
            prop_assert!(found.corners.windows(2).all(|c| c[0] < c[1]));
            for (row, gamma) in found.totals.chunks(2).zip(middles(&found.corners)) {
                if !pool.tied_at(gamma) {
                    prop_assert_eq!(row, &pool.total_at(gamma)[..]);
                }
            }
            for gamma in [-7.3, -0.51, 0.013, 0.77, 3.1] {
                let k = found.corners.partition_point(|&c| c < gamma);
                prop_assert_eq!(&found.totals[2 * k..2 * k + 2], &pool.total_at(gamma)[..]);
            }
        }

        #[test]
        fn columns_of_all_kinds_give_the_same_line(pool in pools()) {
            let now = pool.total_at(0.0);
            let dense = search(&pool.scores, &pool.slopes, pool.judged());
            let narrow: Vec<f32> = pool.slopes.iter().map(|&a| a as f32).collect();
            let rows: Vec<u32> = (0..pool.slopes.len() as u32).filter(|&i| pool.slopes[i as usize] != 0.0).collect();
            let values: Vec<f64> = rows.iter().map(|&i| pool.slopes[i as usize]).collect();
            let wide = Column::Wide(&pool.slopes);
            for column in [wide, Column::Narrow(&narrow), Column::Sparse { rows: &rows, values: &values }] {
                prop_assert_eq!(&search_column(&pool.scores, column, &now, pool.judged()), &dense);
            }
        }

        #[test]
        fn threads_do_not_change_a_bit(pool in pools()) {
            let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
            let many = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("threads");
            let run = || search(&pool.scores, &pool.slopes, pool.judged());
            prop_assert_eq!(alone.install(run), many.install(run));
        }
    }

    #[test]
    fn fractions_do_not_drift() {
        // 0.1 and 0.3 have no exact binary form; the plain running sum is off in the 13th digit after this.
        let n = 20_000;
        let starts: Vec<i64> = (0..=n).map(|s| 2 * s).collect();
        let slopes: Vec<f64> = (0..n).flat_map(|_| [0.0, 1.0]).collect();
        let scores: Vec<f64> = (0..n).flat_map(|s| [0.0, -(s as f64)]).collect();
        let statistics: Vec<f64> = (0..n).flat_map(|_| [0.1, 0.3]).collect();
        let pool = Judged { starts: &starts, statistics: &statistics, width: 1 };
        let found = search(&scores, &slopes, pool);
        assert_eq!(found.corners.len(), n as usize);
        assert_eq!(found.totals[0], 0.1 * n as f64);
        assert_eq!(found.totals[n as usize], 0.3 * n as f64);
    }

    #[test]
    fn corners_out_of_reach_are_left_out() {
        let statistics = [1.0, 2.0];
        let pool = Judged { starts: &[0, 2], statistics: &statistics, width: 1 };
        let tiny = f64::MIN_POSITIVE;
        let right = search(&[1.0, 0.0], &[0.0, tiny], pool);
        assert_eq!((right.corners.len(), right.totals), (0, vec![1.0]));
        let left = search(&[0.0, 1.0], &[0.0, tiny], pool);
        assert_eq!((left.corners.len(), left.totals), (0, vec![2.0]));
    }
}
