//! Lattices on disk: little-endian numbers, packed as the name says; names of features, not their numbers.

use super::plain::Plain;
use dragoman_base::io::{Output, open};
use dragoman_base::{Error, Names, Result, Texts};
use std::collections::HashMap;
use std::io::Read;

const MAGIC: &[u8] = b"dragoman lattices 1\n";

/// Writes lattices with the numbers of their sentences.
pub fn write(path: &str, names: &Names, lattices: &[(usize, &Plain)]) -> Result<()> {
    let mut used: Vec<u32> = lattices.iter().flat_map(|(_, plain)| plain.columns.iter().copied()).collect();
    used.sort_unstable();
    used.dedup();
    let places: HashMap<u32, u32> = used.iter().enumerate().map(|(at, &id)| (id, at as u32)).collect();
    let mut out = Output::create(path)?;
    out.write(MAGIC)?;
    texts(&mut out, &used.iter().map(|&id| names.name(id)).collect())?;
    numbers(&mut out, &[lattices.len() as u32])?;
    for (sentence, plain) in lattices {
        numbers(&mut out, &[*sentence as u32, plain.nodes])?;
        let columns: Vec<u32> = plain.columns.iter().map(|column| places[column]).collect();
        let lists = [
            &plain.tails,
            &plain.heads,
            &plain.phrases,
            &plain.shapes,
            &plain.shape_starts,
            &columns,
            &plain.value_starts,
        ];
        for list in lists {
            numbers(&mut out, list)?;
        }
        let bits: Vec<u32> = plain.values.iter().map(|value| value.to_bits()).collect();
        numbers(&mut out, &bits)?;
        texts(&mut out, &plain.texts)?;
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
pub fn read(path: &str, names: &mut Names) -> Result<Vec<(usize, Plain)>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes).map_err(|source| Error::Io { path: path.to_owned(), source })?;
    let broken =
        || Error::Damaged { path: path.to_owned(), line: 1, what: "no lattices, or not whole".into() };
    let mut rest = Bytes { left: bytes.strip_prefix(MAGIC).ok_or_else(broken)? };
    let all = rest.all(names).ok_or_else(broken)?;
    all.iter().try_for_each(|(_, plain)| plain.check()).map_err(|_| broken())?;
    Ok(all)
}

struct Bytes<'b> {
    left: &'b [u8],
}

impl Bytes<'_> {
    fn all(&mut self, names: &mut Names) -> Option<Vec<(usize, Plain)>> {
        let known: Vec<u32> = self.texts()?.iter().map(|name| names.intern(name)).collect();
        let &[count] = &self.numbers()?[..] else { return None };
        (0..count).map(|_| self.plain(&known)).collect()
    }

    fn plain(&mut self, known: &[u32]) -> Option<(usize, Plain)> {
        let &[sentence, nodes] = &self.numbers()?[..] else { return None };
        let (tails, heads, phrases) = (self.numbers()?, self.numbers()?, self.numbers()?);
        let (shapes, shape_starts) = (self.numbers()?, self.numbers()?);
        let columns = self.numbers()?.into_iter().map(|place| known.get(place as usize).copied());
        let columns = columns.collect::<Option<_>>()?;
        let value_starts = self.numbers()?;
        let values = self.numbers()?.into_iter().map(f32::from_bits).collect();
        let texts = self.texts()?;
        let plain = Plain {
            nodes,
            tails,
            heads,
            phrases,
            texts,
            shapes,
            shape_starts,
            columns,
            value_starts,
            values,
        };
        Some((sentence as usize, plain))
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
    use crate::lattice::plain::Builder;

    #[test]
    fn what_is_read_is_what_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("000.zst");
        let path = path.to_str().unwrap();
        let mut names = Names::new();
        for name in ["LM", "unused", "PT:a>b"] {
            names.intern(name);
        }
        let mut builder = Builder::new(3);
        builder.add((0, 1), "a b", &[0, 2], &[-1.5, 1.0]);
        builder.add((0, 2), "", &[0], &[-0.25]);
        builder.add((1, 2), "a b", &[0, 2], &[0.1, 2.0]);
        let (one, none) = (builder.finish().unwrap(), Builder::new(0).finish().unwrap());
        write(path, &names, &[(4, &one), (9, &none)]).unwrap();
        assert_eq!(read(path, &mut names).unwrap(), [(4, one.clone()), (9, none)]);
        let mut others = Names::new();
        others.intern("PT:a>b");
        let found = &read(path, &mut others).unwrap()[0].1;
        assert_eq!((found.features(0), others.len()), ((&[1, 0][..], &[-1.5, 1.0][..]), 2));
        let plain = path.replace(".zst", "");
        write(&plain, &names, &[(4, &one)]).unwrap();
        let bytes = std::fs::read(&plain).unwrap();
        for cut in [0, 10, 30, bytes.len() - 1] {
            std::fs::write(&plain, &bytes[..cut]).unwrap();
            assert!(matches!(read(&plain, &mut names), Err(Error::Damaged { .. })), "{cut}");
        }
    }
}
