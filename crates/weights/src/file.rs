//! Weights as a file that is used where it lies: opened by mapping it, shared by all processes.
//!
//! magic (8 bytes), version, a zero (32 bits each), length of the file, length of the head, hash of all sections,
//! hash of the head with this field zero (64 bits each), start and length of each section (64 bits each): texts, ends,
//! slots and marks of the names (see [`Frozen`]), values (64-bit floats), what the weights came from (JSON). Sections
//! begin on 64-byte bounds. Least significant byte first.

use crate::{View, Weights};
use dragoman_base::frozen::Bytes;
use dragoman_base::io::Output;
use dragoman_base::{Error, Frozen, Names, Result, hash};
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

const MAGIC: &[u8; 8] = b"DRAGOMWT";
const VERSION: u32 = 1;
const ALIGN: usize = 64;
const SECTIONS: usize = 6;
/// Where the head has its own hash.
const OWN: Range<usize> = 40..48;
const HEAD: usize = (48 + SECTIONS * 16_usize).next_multiple_of(ALIGN);

/// Whether a file begins as ours do.
pub fn is_weights(start: &[u8]) -> bool {
    start.starts_with(MAGIC)
}

/// Maps a file if it is one of ours, and a plain file that can be mapped.
pub fn map(path: &str) -> Result<Option<Bytes>> {
    let fail = |source| Error::Io { path: path.to_owned(), source };
    if path == "-" {
        return Ok(None);
    }
    let mut file = File::open(path).map_err(fail)?;
    if !file.metadata().map_err(fail)?.is_file() {
        return Ok(None);
    }
    let mut start = [0; 8];
    let seen = file.read(&mut start).map_err(fail)?;
    if !is_weights(&start[..seen]) {
        return Ok(None);
    }
    // SAFETY: the map is read only, and our own writer never changes a file that is there: it renames. Whoever changes
    // the file under a running program gets wrong names and weights.
    let map = unsafe { memmap2::Mmap::map(&file) }.map_err(fail)?;
    Ok(Some(Arc::new(map)))
}

/// Checks a whole file and uses it: the weights, and what they came from, as JSON.
pub fn read(bytes: Bytes, path: &str) -> Result<(Weights, String)> {
    let damaged = |what: &str| Error::Damaged { path: path.to_owned(), line: 1, what: what.to_owned() };
    let all = (*bytes).as_ref();
    let sections = sections(all).map_err(|what| damaged(&what))?;
    let [text, ends, slots, marks, values, info] = sections;
    let numbers = all[values].as_chunks::<8>();
    let info = std::str::from_utf8(&all[info]).map_err(|_| damaged("the weights are corrupt"))?.to_owned();
    let values: Vec<f64> = numbers.0.iter().map(|value| f64::from_le_bytes(*value)).collect();
    let frozen = Frozen::open(Arc::clone(&bytes), [text, ends, slots, marks]);
    let fits = |frozen: &Frozen| frozen.len() == values.len() && values.iter().all(|value| value.is_finite());
    let frozen = frozen
        .filter(fits)
        .ok_or_else(|| damaged("the weights are corrupt: their sections do not fit together"))?;
    Ok((Weights { names: Names::on(frozen), values }, info))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    let part = bytes[at..at + 8].try_into().unwrap_or_default();
    u64::from_le_bytes(part)
}

/// Where the sections are, after all checks that need no knowledge of them.
fn sections(all: &[u8]) -> std::result::Result<[Range<usize>; SECTIONS], String> {
    if all.len() < HEAD || !is_weights(all) {
        return Err("the weights are truncated: they end in their head".to_owned());
    }
    let version = u32::from_le_bytes(all[8..12].try_into().unwrap_or_default());
    if version != VERSION {
        return Err(format!("weights of form {version}, where this program knows form {VERSION} only"));
    }
    let mut head = all[..HEAD].to_vec();
    head[OWN].fill(0);
    if long(all, OWN.start) != hash::contents(&head) || long(all, 24) != HEAD as u64 {
        return Err("the head of the weights is corrupt: its hash does not fit".to_owned());
    }
    if all.len() as u64 != long(all, 16) {
        let (found, want) = (all.len(), long(all, 16));
        return Err(format!("the weights are truncated or extended: {found} bytes, not {want}"));
    }
    let mut found = [const { 0..0 }; SECTIONS];
    let mut end = HEAD;
    for (section, at) in found.iter_mut().zip((48..).step_by(16)) {
        let (from, length) = (long(all, at) as usize, long(all, at + 8) as usize);
        let last = from.checked_add(length).and_then(|last| last.checked_next_multiple_of(ALIGN));
        let last = last.filter(|&last| from == end && last <= all.len());
        end = last.ok_or("the head of the weights makes no sense")?;
        *section = from..from + length;
    }
    let whole = |section: &Range<usize>| &all[section.start..section.end.next_multiple_of(ALIGN)];
    if end != all.len() || joint(found.iter().map(whole)) != long(all, 32) {
        return Err("the weights are corrupt: the hash of their contents does not fit".to_owned());
    }
    Ok(found)
}

/// Writes a file that appears when it is whole. `info` is JSON.
pub fn write(weights: View<'_>, info: &str, path: &str) -> Result<()> {
    let View { names, values } = weights;
    let rows = (0..values.len() as u32).map(|id| (names.name(id), names.is_dense(id)));
    let [text, ends, slots, marks] = Frozen::parts(rows);
    let values: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let mut sections = [text, ends, slots, marks, values, info.as_bytes().to_vec()];
    let (mut places, mut end) = (Vec::new(), HEAD);
    for section in &mut sections {
        places.extend([end as u64, section.len() as u64]);
        section.resize(section.len().next_multiple_of(ALIGN), 0);
        end += section.len();
    }
    let mut head = vec![0; HEAD];
    head[..8].copy_from_slice(MAGIC);
    head[8..12].copy_from_slice(&VERSION.to_le_bytes());
    let fields = [end as u64, HEAD as u64, joint(sections.iter().map(Vec::as_slice)), 0];
    for (i, value) in fields.into_iter().chain(places).enumerate() {
        head[16 + i * 8..24 + i * 8].copy_from_slice(&value.to_le_bytes());
    }
    let own = hash::contents(&head);
    head[OWN].copy_from_slice(&own.to_le_bytes());
    let mut out = Output::create(path)?;
    out.write(&head)?;
    for section in &sections {
        out.write(section)?;
    }
    out.finish()
}

/// One hash of all sections, the bytes that fill them up included.
fn joint<'a>(sections: impl Iterator<Item = &'a [u8]>) -> u64 {
    sections.fold(1, |sum, section| hash::mix(sum ^ hash::contents(section)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made() -> (tempfile::TempDir, String, Vec<u8>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w.bin").to_str().unwrap().to_owned();
        let mut names = Names::new();
        names.intern_as("LM", true);
        names.intern("pt:das>é");
        names.intern("has no value");
        write(View { names: &names, values: &[0.5, -0.0] }, "{\"seed\": 3}", &path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        (dir, path, bytes)
    }

    #[test]
    fn names_values_and_marks_come_back() {
        let (_dir, path, _) = made();
        let (found, info) = read(map(&path).unwrap().unwrap(), &path).unwrap();
        assert_eq!(found.names.iter().collect::<Vec<_>>(), ["LM", "pt:das>é"]);
        assert_eq!(
            found.values.iter().map(|v| v.to_bits()).collect::<Vec<_>>(),
            [0.5f64, -0.0].map(f64::to_bits)
        );
        assert!(found.names.is_dense(0) && !found.names.is_dense(1));
        assert_eq!(info, "{\"seed\": 3}");
    }

    #[test]
    fn every_change_and_every_cut_is_found() {
        let (_dir, path, bytes) = made();
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 4;
            let error = read(Arc::new(other), &path).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{path}:1: ")), "{error}");
            assert!(read(Arc::new(bytes[..at].to_vec()), &path).is_err());
        }
    }

    #[test]
    fn what_is_not_ours_is_left_alone() {
        let (dir, _, _) = made();
        let other = dir.path().join("w.txt").to_str().unwrap().to_owned();
        std::fs::write(&other, "LM 1\n").unwrap();
        assert!(map(&other).unwrap().is_none());
    }
}
