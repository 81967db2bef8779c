//! Searches along many features from one point, with what never changes within a pool worked out once.

use super::best::{Best, Bounds, Gain, best};
use super::columns::Column;
use super::envelope::Landmarks;
use super::line::{Intervals, Judged, Part, by_task, search_column};
use super::share;
use crate::lists::first_max;
use rayon::prelude::*;
use std::cell::Cell;

/// The places of the only candidates with the smallest and the largest value of a list.
type Ends = Option<(u32, u32)>;

/// What never changes within a pool: for each feature and sentence the candidates that win at γ → ±∞, if no
/// other has the same value; and the statistics in 16 bits, if they are counts.
#[derive(Debug)]
pub struct Fixed {
    ends: Vec<Vec<Ends>>,
    counts: Option<Vec<u16>>,
}

impl Fixed {
    /// Works it out for features that are stored in full; the others are searched without.
    pub fn new(columns: &[Column<'_>], pool: Judged<'_>) -> Self {
        let ends = |column: &Column<'_>| match column {
            Column::Wide(values) => {
                (0..pool.sentences()).map(|s| single_ends(&values[pool.span(s)])).collect()
            }
            _ => Vec::new(),
        };
        let small = |x: &f64| *x >= 0.0 && *x <= 65535.0 && x.fract() == 0.0;
        let counts = pool.statistics.par_iter().all(small);
        Self {
            ends: columns.par_iter().map(ends).collect(),
            counts: counts.then(|| pool.statistics.iter().map(|&x| x as u16).collect()),
        }
    }
}

/// The only candidates with the smallest and the largest value, as places in the list.
fn single_ends(values: &[f64]) -> Ends {
    let only = |wanted: f64| {
        let mut found = (0..values.len()).filter(|&i| values[i] == wanted);
        found.next().filter(|_| found.next().is_none()).map(|i| i as u32)
    };
    let low = values.iter().fold(f64::INFINITY, |a, &b| a.min(b));
    let high = values.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
    Some((only(low)?, only(high)?))
}

thread_local! {
    /// A line's arrays for the next line on the same thread: half a megabyte that the system would clear each time.
    static KEPT: Cell<Intervals> = const { Cell::new(Intervals { corners: Vec::new(), totals: Vec::new() }) };
}

/// The best point along each of some features (its number, and how far it may go), from the point with these
/// scores and corpus statistics.
pub fn search_best(
    (scores, total): (&[f64], &[f64]),
    columns: &[Column<'_>],
    wanted: &[(usize, Bounds)],
    (pool, fixed): (Judged<'_>, &Fixed),
    gain: Gain<'_>,
) -> Vec<Option<Best>> {
    let top = |s: usize| first_max(&scores[pool.span(s)]).unwrap_or(0) as u32;
    let tops: Vec<u32> = share::tasks(pool.sentences(), (32, usize::MAX), || (), |(), s| top(s));
    let search = |&(feature, bounds): &(usize, Bounds)| {
        let line = match (columns[feature], &fixed.counts) {
            (Column::Wide(slopes), Some(counts)) => {
                search_counts((scores, &tops), (slopes, &fixed.ends[feature]), pool, counts)
            }
            (column, _) => search_column(scores, column, total, pool),
        };
        let found = best(&line, bounds, gain);
        KEPT.set(line);
        found
    };
    share::tasks(wanted.len(), (1, 1), || (), |(), line| search(&wanted[line]))
}

/// What some sentences add to a line over counts.
struct Changes {
    /// Statistics at γ → -∞.
    base: Vec<i64>,
    /// Where the statistics change.
    corners: Vec<f64>,
    /// By how much: a row for each corner. They are looked up in the order of the corners of the whole corpus, and
    /// these few stay in the cache where rows of all candidates do not.
    rows: Vec<i32>,
}

impl Changes {
    fn new(part: Part, counts: &[u16], width: usize) -> Self {
        let row = |candidate: u32| &counts[candidate as usize * width..][..width];
        let mut made = Self { base: vec![0; width], corners: vec![], rows: vec![] };
        for &(_, leftmost) in &part.ends {
            made.base.iter_mut().zip(row(leftmost)).for_each(|(sum, &x)| *sum += i64::from(x));
        }
        for switch in &part.switches {
            let start = made.rows.len();
            let change = row(switch.from).iter().zip(row(switch.to));
            made.rows.extend(change.map(|(&from, &to)| i32::from(to) - i32::from(from)));
            if made.rows[start..].iter().fold(0, |any, x| any | x) == 0 {
                made.rows.truncate(start);
            } else {
                made.corners.push(switch.at);
            }
        }
        made
    }
}

/// The line along a feature that is stored in full, over statistics that are counts: as [`super::line::search`].
fn search_counts(
    (scores, tops): (&[f64], &[u32]),
    (slopes, ends): (&[f64], &[Ends]),
    pool: Judged<'_>,
    counts: &[u16],
) -> Intervals {
    let search = |sentences: std::ops::Range<usize>, envelope: &mut _, _: &mut Vec<f64>, part: &mut Part| {
        for (s, span) in sentences.map(|s| (s, pool.span(s))).filter(|(_, span)| !span.is_empty()) {
            let (slopes, scores) = (&slopes[span.clone()], &scores[span.clone()]);
            let known = ends[s].map(|(left, right)| Landmarks { left, top: tops[s], right });
            part.add_from(envelope, (slopes, scores), span.start as u32, known);
        }
    };
    let parts = by_task(pool.sentences(), |part| Changes::new(part, counts, pool.width), search);
    sweep(&parts, pool.width)
}

/// Walks over the changes from left to right. Sums of counts are exact, so equal corners may come in any order.
fn sweep(parts: &[Changes], width: usize) -> Intervals {
    let mut line = KEPT.take();
    line.corners.clear();
    line.totals.clear();
    let mut order: Vec<(f64, u32)> = Vec::with_capacity(parts.iter().map(|part| part.corners.len()).sum());
    let mut rows: Vec<i32> = Vec::with_capacity(order.capacity() * width);
    let mut sums = vec![0.0; width];
    for part in parts {
        let first = order.len() as u32;
        order.extend(part.corners.iter().copied().zip(first..));
        rows.extend_from_slice(&part.rows);
        sums.iter_mut().zip(&part.base).for_each(|(sum, &x)| *sum += x as f64);
    }
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    line.totals.reserve((order.len() + 1) * width);
    line.totals.extend_from_slice(&sums);
    for same in order.chunk_by(|a, b| a.0 == b.0) {
        for &(_, at) in same {
            let row = &rows[at as usize * width..][..width];
            sums.iter_mut().zip(row).for_each(|(sum, &x)| *sum += f64::from(x));
        }
        line.corners.push(same[0].0);
        line.totals.extend_from_slice(&sums);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::super::line::{search, total};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Lists long enough for the vectors of the wide form, with and without ties.
        #[test]
        fn counts_give_the_line_of_the_general_search(
            lists in prop::collection::vec(prop::collection::vec((-9i16..10, -30i16..30, 0u8..4, 0u8..3), 0..40), 1..40),
            shake in prop_oneof![Just(0.0), Just(1e-3)],
        ) {
            let (mut starts, mut slopes, mut scores, mut statistics) = (vec![0i64], vec![], vec![], vec![]);
            for list in lists {
                for (slope, score, x, y) in list {
                    slopes.push(f64::from(slope) + shake * (slopes.len() as f64).sin());
                    scores.push(f64::from(score) / 4.0 + shake * (slopes.len() as f64).cos());
                    statistics.extend([f64::from(x), f64::from(y)]);
                }
                starts.push(slopes.len() as i64);
            }
            let pool = Judged { starts: &starts, statistics: &statistics, width: 2 };
            let columns = [Column::Wide(&slopes)];
            let fixed = Fixed::new(&columns, pool);
            let top = |s: usize| first_max(&scores[pool.span(s)]).unwrap_or(0) as u32;
            let tops: Vec<u32> = (0..pool.sentences()).map(top).collect();
            let counts = fixed.counts.as_ref().unwrap();
            let found = search_counts((&scores, &tops), (&slopes, &fixed.ends[0]), pool, counts);
            prop_assert_eq!(&found, &search(&scores, &slopes, pool));
            prop_assert_eq!(found, search_column(&scores, columns[0], &total(&scores, pool), pool));
        }
    }

    #[test]
    fn ends_are_known_where_they_are_single() {
        assert_eq!(single_ends(&[1.0, -1.0, 0.0]), Some((1, 0)));
        assert_eq!(single_ends(&[1.0, -1.0, -1.0]), None);
        assert_eq!(single_ends(&[3.0]), Some((0, 0)));
        assert_eq!(single_ends(&[]), None);
        let pool = Judged { starts: &[0, 1], statistics: &[0.5], width: 1 };
        assert!(Fixed::new(&[Column::Wide(&[1.0])], pool).counts.is_none());
    }
}
