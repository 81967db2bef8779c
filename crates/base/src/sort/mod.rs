//! Sorting in bounded memory: full buffers are sorted on all cores and written as runs, and the runs are merged.
//!
//! What comes out depends on the records alone, not on the memory or the number of threads.
//!
//! Records have one of two shapes: byte strings of any length ([`Strings`]), or rows of so many 32-bit numbers
//! ([`Numbers`]). They stay apart in memory, where sorting is most of the work: rows of one length are moved themselves
//! and compared as numbers, while of strings only the places are moved, with the first bytes beside them. In a file both
//! are bytes that compare as the records do, so that there is one form of runs and one merge ([`Runs`], [`Merge`]).

mod exchange;
mod numbers;
mod runs;
mod strings;

pub use exchange::{Exchange, Ranges};
pub use numbers::{MAX_WIDTH, Numbers};
pub use runs::{Merge, Runs};
pub use strings::Strings;

use crate::{Error, Result, Scratch};

/// Records of one shape in memory.
pub trait Buffer: Sized {
    /// A record.
    type Record: ?Sized;

    /// The most bytes that the buffer can have.
    fn most(&self) -> usize;
    /// Bytes of every record in a run; none if they differ.
    fn width(&self) -> Option<usize>;
    /// Bytes of memory that the records take.
    fn bytes(&self) -> usize;
    /// Whether there is no record.
    fn is_empty(&self) -> bool;
    /// Sorts the records, on all cores. May join records that a reader would join.
    fn sort(&mut self);
    /// A record by its place; none behind the last.
    fn get(&self, at: usize) -> Option<&Self::Record>;
    /// Hands over all records as bytes that compare as the records do.
    fn each(&self, take: impl FnMut(&[u8]) -> Result<()>) -> Result<()>;
    /// The record of these bytes.
    fn decode<'a>(&'a mut self, bytes: &'a [u8]) -> &'a Self::Record;
    /// Forgets all records; the memory is kept for more.
    fn clear(&mut self);
    /// A buffer of the same shape without records and their memory.
    #[must_use]
    fn anew(&self) -> Self;
}

/// Takes records in any order.
#[derive(Debug)]
pub struct Sorter<B> {
    buffer: B,
    /// Bytes that may stay in memory.
    limit: usize,
    scratch: Scratch,
    runs: Option<Runs>,
}

impl<B: Buffer> Sorter<B> {
    /// A sorter of records of the shape of `buffer`, which is empty, that keeps about `limit` bytes in memory.
    pub fn new(buffer: B, scratch: &Scratch, limit: usize) -> Self {
        let limit = limit.min(buffer.most());
        Self { buffer, limit, scratch: scratch.clone(), runs: None }
    }

    /// Sees to it that a record that takes so many bytes has room.
    #[inline]
    fn make_room(&mut self, bytes: usize) -> Result<()> {
        let full = self.buffer.bytes() + bytes > self.limit && !self.buffer.is_empty();
        if full { self.spill() } else { Ok(()) }
    }

    /// Writes the records of the buffer as one run.
    fn spill(&mut self) -> Result<()> {
        self.buffer.sort();
        self.runs()?;
        let Self { buffer, runs: Some(runs), .. } = self else { unreachable!("made a line before") };
        buffer.each(|record| runs.push(record))?;
        runs.end();
        self.buffer.clear();
        Ok(())
    }

    /// The records as one run, for the sorter of another process; all of them must fit into memory.
    pub fn run(mut self) -> Result<Vec<u8>> {
        if self.runs.is_some() {
            return Err(Error::Invalid("more records than one run has room for".to_owned()));
        }
        self.buffer.sort();
        let mut bytes = Vec::with_capacity(self.buffer.bytes());
        let framed = self.buffer.width().is_none();
        self.buffer.each(|record| {
            if framed {
                bytes.extend((record.len() as u32).to_le_bytes());
            }
            bytes.extend_from_slice(record);
            Ok(())
        })?;
        Ok(bytes)
    }

    /// Adds a run that [`Sorter::run`] made.
    pub fn add(&mut self, run: &[u8]) -> Result<()> {
        self.runs()?.add(run)
    }

    fn runs(&mut self) -> Result<&mut Runs> {
        match &mut self.runs {
            Some(runs) => Ok(runs),
            none => Ok(none.insert(Runs::new(&self.scratch, self.buffer.width())?)),
        }
    }

    /// The records in order.
    pub fn finish(mut self) -> Result<Sorted<B>> {
        if self.runs.is_some() && !self.buffer.is_empty() {
            self.spill()?;
        }
        let Some(runs) = self.runs else {
            self.buffer.sort();
            return Ok(Sorted { buffer: self.buffer, source: Source::Memory { next: 0 } });
        };
        // Merging has the memory of the buffer for itself.
        let buffer = self.buffer.anew();
        drop(self.buffer);
        Ok(Sorted { buffer, source: Source::Runs(runs.merge(self.limit)?) })
    }
}

#[derive(Debug)]
enum Source {
    /// All fitted into memory.
    Memory { next: usize },
    /// Runs in a file.
    Runs(Merge),
}

/// Records in order.
#[derive(Debug)]
pub struct Sorted<B> {
    buffer: B,
    source: Source,
}

impl<B: Buffer> Sorted<B> {
    /// The next record.
    #[allow(clippy::should_implement_trait)] // the record borrows the buffer, which `Iterator` cannot say
    pub fn next(&mut self) -> Result<Option<&B::Record>> {
        match &mut self.source {
            Source::Memory { next } => {
                *next += 1;
                Ok(self.buffer.get(*next - 1))
            }
            Source::Runs(merge) => Ok(merge.next()?.map(|bytes| self.buffer.decode(bytes))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All records that `push` gives a sorter, sorted by so many threads.
    fn sorted<B: Buffer + Send>(
        buffer: B,
        limit: usize,
        threads: usize,
        push: impl FnOnce(&mut Sorter<B>) + Send,
    ) -> Vec<<B::Record as ToOwned>::Owned>
    where
        B::Record: ToOwned<Owned: Send>,
    {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::beside(&folder.path().join("x"));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut sorter = Sorter::new(buffer, &scratch, limit);
            push(&mut sorter);
            let (mut sorted, mut all) = (sorter.finish().unwrap(), Vec::new());
            while let Some(record) = sorted.next().unwrap() {
                all.push(record.to_owned());
            }
            assert!(sorted.next().unwrap().is_none(), "the end stays the end");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "temporary files have no names");
            all
        })
    }

    fn strings(records: &[Vec<u8>], limit: usize, threads: usize) -> Vec<Vec<u8>> {
        let push =
            |sorter: &mut Sorter<Strings>| records.iter().for_each(|record| sorter.push(record).unwrap());
        sorted(Strings::default(), limit, threads, push)
    }

    proptest! {
        #[test]
        fn strings_sort_whatever_the_memory_and_the_threads(
            records in prop::collection::vec(prop::collection::vec(0..4u8, 0..14), 0..300),
            limit in 1..3000usize, threads in 1..4usize,
        ) {
            let mut slow = records.clone();
            slow.sort();
            prop_assert_eq!(strings(&records, limit, threads), slow.clone());
            prop_assert_eq!(strings(&records, 1 << 20, threads), slow);
        }

        #[test]
        fn rows_sort_whatever_the_memory_and_the_threads(
            rows in prop::collection::vec((0..5u32, 254..259u32, any::<u32>()), 0..300),
            limit in 1..3000usize, threads in 1..4usize,
        ) {
            let mut slow: Vec<Vec<u32>> = rows.iter().map(|&(a, b, c)| vec![a, b, c]).collect();
            slow.sort();
            for limit in [limit, 1 << 20] {
                let push = |sorter: &mut Sorter<Numbers>| {
                    for &(a, b, c) in &rows { sorter.push(&[a, b], &[c]).unwrap(); }
                };
                prop_assert_eq!(sorted(Numbers::new(3), limit, threads, push), slow.clone());
            }
        }

        #[test]
        fn counts_add_up(words in prop::collection::vec(0..7u32, 0..200), limit in 1..400usize) {
            let push = |sorter: &mut Sorter<Numbers>| {
                for &word in &words { sorter.push(&[word], &[1]).unwrap(); }
            };
            let rows = sorted(Numbers::counted(2), limit, 2, push);
            prop_assert!(rows.is_sorted_by_key(|row| row[0]));
            for word in 0..7 {
                let found: u32 = rows.iter().filter(|row| row[0] == word).map(|row| row[1]).sum();
                prop_assert_eq!(found as usize, words.iter().filter(|&&w| w == word).count());
            }
            let once = sorted(Numbers::counted(2), 1 << 20, 2, push);
            prop_assert!(once.is_sorted_by(|a, b| a[0] < b[0]), "in memory every key comes once");
        }
    }

    proptest! {
        #[test]
        fn runs_of_other_sorters_count_as_records(
            shares in prop::collection::vec(prop::collection::vec(prop::collection::vec(0..4u8, 0..9), 0..60), 0..5),
            own in prop::collection::vec(prop::collection::vec(0..4u8, 0..9), 0..60), limit in 1..2000usize,
        ) {
            let scratch = Scratch::new(None);
            let runs: Vec<Vec<u8>> = shares.iter().map(|records| {
                let mut sorter = Sorter::new(Strings::default(), &scratch, usize::MAX);
                for record in records {
                    sorter.push(record).unwrap();
                }
                sorter.run().unwrap()
            }).collect();
            let found = sorted(Strings::default(), limit, 2, |sorter| {
                for record in &own { sorter.push(record).unwrap(); }
                for run in &runs { sorter.add(run).unwrap(); }
            });
            let mut slow: Vec<Vec<u8>> = shares.concat();
            slow.extend(own);
            slow.sort();
            prop_assert_eq!(found, slow);
        }
    }

    /// A run of byte strings, as another process makes it.
    fn run_of(records: &[Vec<u8>]) -> Vec<u8> {
        let mut sorter = Sorter::new(Strings::default(), &Scratch::new(None), usize::MAX);
        for record in records {
            sorter.push(record).unwrap();
        }
        sorter.run().unwrap()
    }

    /// The first byte of a record and what follows up to a zero is its key.
    fn up_to_zero(record: &[u8]) -> usize {
        record.iter().position(|&byte| byte == 0).unwrap() + 1
    }

    /// All records of the shares of each range, merged.
    fn merged(mut ranges: Ranges) -> Vec<Vec<Vec<u8>>> {
        let mut all = Vec::new();
        while let Some((number, shares)) = ranges.next().unwrap() {
            assert_eq!(number, all.len());
            all.push(sorted(Strings::default(), 1 << 20, 2, |sorter| {
                for share in &shares {
                    sorter.add(share).unwrap();
                }
            }));
        }
        assert_eq!(all.len(), ranges.count());
        all
    }

    proptest! {
        #[test]
        fn ranges_one_after_the_other_are_the_merge(
            // Some keys have many long records, so that there are several samples of a run.
            shares in prop::collection::vec(prop::collection::vec((1..6u8, 0..3u8, 0..9u8, prop_oneof![Just(0), 0..4000usize]), 0..40), 0..5),
            count in 1..12usize, cuts in prop::collection::btree_set((0..8u8, 0..4u8), 0..6),
        ) {
            let record = |&(first, second, third, length): &(u8, u8, u8, usize)| {
                let mut record = vec![first];
                record.extend((second > 0).then_some(second));
                record.push(0);
                record.extend(vec![third; length]);
                record
            };
            let shares: Vec<Vec<Vec<u8>>> =
                shares.iter().map(|share| share.iter().map(record).collect()).collect();
            let mut slow = shares.concat();
            slow.sort();
            let exchange = || {
                let mut exchange = Exchange::new(&Scratch::new(None), None, up_to_zero).unwrap();
                for share in &shares {
                    exchange.add(&run_of(share)).unwrap();
                }
                exchange
            };
            let cuts: Vec<Vec<u8>> = cuts.iter().map(|&(a, b)| vec![a + 1, b + 1, 0]).collect();
            for ranges in [exchange().ranges(count).unwrap(), exchange().cut(cuts.clone()).unwrap()] {
                let found = merged(ranges);
                prop_assert_eq!(found.concat(), slow.clone());
                let full: Vec<_> = found.iter().filter(|range| !range.is_empty()).collect();
                for (a, b) in full.iter().zip(&full[1.min(full.len())..]) {
                    let (last, first) = (a.last().unwrap(), &b[0]);
                    prop_assert!(last[..up_to_zero(last)] < first[..up_to_zero(first)], "a key is in one range");
                }
            }
        }
    }

    #[test]
    fn ranges_are_about_equal_and_a_large_key_stays_whole() {
        let record = |key: u32, i: u32| [&key.to_be_bytes()[..], &i.to_be_bytes()].concat();
        let mut exchange = Exchange::new(&Scratch::new(None), None, |_| 4).unwrap();
        for run in 0..5 {
            let some = (0..20_000).map(|i| record(1 + i * 7919 % 5000, run));
            exchange
                .add(&run_of(&some.chain((0..20_000).map(|i| record(7000, i))).collect::<Vec<_>>()))
                .unwrap();
        }
        let (all, sizes) = (exchange.bytes(), merged(exchange.ranges(10).unwrap()));
        let bytes =
            sizes.iter().map(|range| range.iter().map(|record| record.len() + 4).sum::<usize>() as u64);
        let bytes: Vec<u64> = bytes.collect();
        assert_eq!(bytes.iter().sum::<u64>(), all);
        assert!(
            sizes.iter().filter(|range| range.iter().any(|r| r[..4] == 7000u32.to_be_bytes())).count() == 1
        );
        assert!((5..=7).contains(&bytes.len()), "half of the bytes have one key: {bytes:?}");
        let (most, rest) = bytes.split_last().unwrap();
        assert!(
            *most >= all / 2 && rest.iter().all(|&size| size > all / 20 && size < all * 3 / 20),
            "{bytes:?}"
        );
    }

    #[test]
    fn runs_of_rows_add_up_and_damaged_runs_are_errors() {
        let scratch = Scratch::new(None);
        let run = |rows: &[u32]| {
            let mut sorter = Sorter::new(Numbers::counted(2), &scratch, usize::MAX);
            for &word in rows {
                sorter.push(&[word], &[1]).unwrap();
            }
            sorter.run().unwrap()
        };
        let rows = sorted(Numbers::counted(2), 1 << 20, 2, |sorter| {
            sorter.add(&run(&[3, 1, 3])).unwrap();
            sorter.add(&run(&[])).unwrap();
            sorter.add(&run(&[2, 3])).unwrap();
        });
        assert_eq!(rows, [[1, 1], [2, 1], [3, 1], [3, 2]]);
        let mut numbers = Sorter::new(Numbers::counted(2), &scratch, 1 << 20);
        let mut strings = Sorter::new(Strings::default(), &scratch, 1 << 20);
        let good = run(&[1, 2]);
        let wrong = [&good[8..], &good[..8]].concat();
        assert!(
            numbers.add(&good[..7]).is_err() && numbers.add(&wrong).is_err() && numbers.add(&good).is_ok()
        );
        assert!(strings.add(b"\x02\0\0\0a").is_err() && strings.add(b"\x02\0").is_err());
        assert!(strings.add(b"\x01\0\0\0b\x01\0\0\0a").is_err());
    }

    #[test]
    fn rows_of_every_width() {
        for width in 1..=MAX_WIDTH {
            let rows: Vec<Vec<u32>> =
                (0..99u32).map(|i| vec![i.wrapping_mul(2_654_435_761) >> 20; width]).collect();
            let mut slow = rows.clone();
            slow.sort();
            for limit in [1000, 1 << 20] {
                let push = |sorter: &mut Sorter<Numbers>| {
                    for row in &rows {
                        sorter.push(row, &[]).unwrap();
                    }
                };
                assert_eq!(sorted(Numbers::new(width), limit, 2, push), slow);
            }
        }
    }

    #[test]
    fn records_longer_than_a_share_of_the_buffer() {
        let records: Vec<Vec<u8>> = (0..40u8).map(|i| [i.wrapping_mul(37), i].repeat(5_000)).collect();
        let mut slow = records.clone();
        slow.sort();
        assert_eq!(strings(&records, 64, 2), slow);
    }

    #[test]
    fn runs_of_others_merge() {
        let mut runs = Runs::new(&Scratch::new(None), None).unwrap();
        for run in [&["a", "c", "c"][..], &[], &["", "b", "cc"], &["b"]] {
            for record in run {
                runs.push(record.as_bytes()).unwrap();
            }
            runs.end();
        }
        let (mut merge, mut all) = (runs.merge(1).unwrap(), Vec::new());
        while let Some(record) = merge.next().unwrap() {
            all.push(String::from_utf8(record.to_vec()).unwrap());
        }
        assert_eq!(all, ["", "a", "b", "b", "c", "c", "cc"]);
    }
}
