//! Forests on disk: little-endian numbers, compressed as the name says; names of features, not their numbers.

use super::kept::{Features, Kept};
use dragoman_base::io::{Output, open};
use dragoman_base::{Error, Names, Result, Texts};
use dragoman_forest::Forest;
use std::collections::HashMap;
use std::io::Read;

const MAGIC: &[u8] = b"dragoman forests 1\n";

/// Writes forests with the numbers of their sentences.
pub fn write(path: &str, names: &Names, forests: &[(usize, &Kept)]) -> Result<()> {
    let columns = forests.iter().flat_map(|(_, kept)| kept.features.columns.iter().copied());
    let mut used: Vec<u32> = columns.collect();
    used.sort_unstable();
    used.dedup();
    let places: HashMap<u32, u32> = used.iter().enumerate().map(|(at, &id)| (id, at as u32)).collect();
    let mut out = Output::create(path)?;
    out.write(MAGIC)?;
    texts(&mut out, &used.iter().map(|&id| names.name(id)).collect())?;
    numbers(&mut out, &[forests.len() as u32])?;
    for (sentence, Kept { forest, features }) in forests {
        numbers(&mut out, &[*sentence as u32, forest.nodes])?;
        let columns: Vec<u32> = features.columns.iter().map(|column| places[column]).collect();
        let lists = [
            &forest.heads,
            &forest.tail_starts,
            &forest.tails,
            &forest.symbol_starts,
            &forest.symbols,
            &features.shapes,
            &features.shape_starts,
            &columns,
            &features.value_starts,
        ];
        for list in lists {
            numbers(&mut out, list)?;
        }
        let bits: Vec<u32> = features.values.iter().map(|value| value.to_bits()).collect();
        numbers(&mut out, &bits)?;
        texts(&mut out, &forest.words)?;
    }
    out.finish()
}

fn numbers(out: &mut Output, list: &[u32]) -> Result<()> {
    out.write(&(list.len() as u64).to_le_bytes())?;
    let bytes: Vec<u8> = list.iter().flat_map(|number| number.to_le_bytes()).collect();
    out.write(&bytes)
}

fn texts(out: &mut Output, list: &Texts) -> Result<()> {
    let ends: Vec<u32> = list.offsets()[1..].iter().map(|&end| end as u32).collect();
    numbers(out, &ends)?;
    out.write(list.bytes())
}

/// Reads what [`write`] wrote; features get the numbers of `names`, which grows as need be.
pub fn read(path: &str, names: &mut Names) -> Result<Vec<(usize, Kept)>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes).map_err(|source| Error::Io { path: path.to_owned(), source })?;
    let broken =
        || Error::Damaged { path: path.to_owned(), line: 1, what: "no forests, or not whole".into() };
    let mut rest = Bytes { left: bytes.strip_prefix(MAGIC).ok_or_else(broken)? };
    rest.all(names).ok_or_else(broken)
}

struct Bytes<'b> {
    left: &'b [u8],
}

impl Bytes<'_> {
    fn all(&mut self, names: &mut Names) -> Option<Vec<(usize, Kept)>> {
        let known: Vec<u32> = self.texts()?.iter().map(|name| names.intern(name)).collect();
        let &[count] = &self.numbers()?[..] else { return None };
        (0..count).map(|_| self.kept(&known)).collect()
    }

    fn kept(&mut self, known: &[u32]) -> Option<(usize, Kept)> {
        let &[sentence, nodes] = &self.numbers()?[..] else { return None };
        let mut forest = Forest { nodes, heads: self.numbers()?, ..Forest::default() };
        (forest.tail_starts, forest.tails) = (self.numbers()?, self.numbers()?);
        (forest.symbol_starts, forest.symbols) = (self.numbers()?, self.numbers()?);
        let mut features = Features { shapes: self.numbers()?, ..Features::default() };
        features.shape_starts = self.numbers()?;
        let columns = self.numbers()?.into_iter().map(|place| known.get(place as usize).copied());
        features.columns = columns.collect::<Option<_>>()?;
        features.value_starts = self.numbers()?;
        features.values = self.numbers()?.into_iter().map(f32::from_bits).collect();
        forest.words = self.texts()?;
        // The columns that are not kept, so that the rules of a forest can be checked.
        let edges = forest.heads.len();
        (forest.scores, forest.spans, forest.tags) = (vec![0.0; edges], vec![(0, 0); edges], vec![0; edges]);
        (forest.rows.starts, forest.link_starts) = (vec![0; edges + 1], vec![0; edges + 1]);
        Kept::of(&forest, features).ok().map(|kept| (sentence as usize, kept))
    }

    fn take(&mut self, size: usize) -> Option<&[u8]> {
        let (taken, left) = self.left.split_at_checked(size)?;
        self.left = left;
        Some(taken)
    }

    fn numbers(&mut self) -> Option<Vec<u32>> {
        let size = u64::from_le_bytes(self.take(8)?.try_into().ok()?);
        let bytes = self.take(usize::try_from(size).ok()?.checked_mul(4)?)?;
        Some(
            bytes
                .chunks_exact(4)
                .map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
                .collect(),
        )
    }

    fn texts(&mut self) -> Option<Texts> {
        let ends = self.numbers()?;
        let bytes = self.take(ends.last().map_or(0, |&end| end as usize))?;
        let mut made = Texts::new();
        let mut from = 0;
        for end in ends {
            made.push(std::str::from_utf8(bytes.get(from..end as usize)?).ok()?);
            from = end as usize;
        }
        Some(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dragoman_forest::{Edge, TAIL};

    #[test]
    fn what_is_read_is_what_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("000.zst");
        let path = path.to_str().unwrap();
        let mut names = Names::new();
        for name in ["LM", "unused", "PT:a>b"] {
            names.intern(name);
        }
        let mut forest = Forest { nodes: 2, words: ["a", "b"].into_iter().collect(), ..Forest::default() };
        forest.add(Edge { head: 0, symbols: &[0, 1], ..Edge::default() }, [(0, -1.5), (2, 1.0)]);
        forest.add(Edge { head: 1, ..Edge::default() }, [(0, -0.25)]);
        let edge = Edge { head: 1, tails: &[0, 0], symbols: &[TAIL + 1, 1, TAIL], ..Edge::default() };
        forest.add(edge, [(0, 0.1), (2, 2.0)]);
        let (one, none) = (Kept::new(&forest).unwrap(), Kept::new(&Forest::default()).unwrap());
        assert_eq!(one.features.shape_starts, [0, 2, 3]);
        write(path, &names, &[(4, &one), (9, &none)]).unwrap();
        assert_eq!(read(path, &mut names).unwrap(), [(4, one.clone()), (9, none)]);
        let mut others = Names::new();
        others.intern("PT:a>b");
        let found = &read(path, &mut others).unwrap()[0].1;
        assert_eq!((found.features.row(0), others.len()), ((&[1, 0][..], &[-1.5, 1.0][..]), 2));
        let plain = path.replace(".zst", "");
        write(&plain, &names, &[(4, &one)]).unwrap();
        let bytes = std::fs::read(&plain).unwrap();
        for cut in [0, 10, 30, bytes.len() - 1] {
            std::fs::write(&plain, &bytes[..cut]).unwrap();
            assert!(matches!(read(&plain, &mut names), Err(Error::Damaged { .. })), "{cut}");
        }
    }
}
