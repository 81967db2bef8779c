//! Weights as a file that is used where it lies: opened by mapping it, shared by all processes.
//!
//! The mark of the head is zero, and there are no numbers and no text. Sections: texts, ends, slots and marks of the
//! names (see [`Frozen`]), values (64-bit floats), what the weights came from (JSON). One hash is of all sections
//! ([`dragoman_base::container`] has the rest).

use crate::{View, Weights};
use dragoman_base::container::{Bytes, Form, Hashing, Heading, joint, start, zeros};
use dragoman_base::io::Output;
use dragoman_base::{Frozen, Names, Result};
use std::sync::Arc;

/// Files of weights. Their sections are in memory one by one, and nobody wants a copy of them all.
const FORM: Form = Form {
    magic: *b"DRAGOMWT",
    version: 1,
    a: "weights",
    the: "the file of weights",
    marks: 1,
    hashing: Hashing::Joint,
};
const SECTIONS: usize = 6;

/// Whether a file begins as ours do.
pub fn is_weights(start: &[u8]) -> bool {
    FORM.begins(start)
}

/// Maps a file if it is one of ours, and a plain file that can be mapped.
pub fn map(path: &str) -> Result<Option<Bytes>> {
    if path == "-" || !is_weights(&start(path)?) {
        return Ok(None);
    }
    Bytes::map(path).map(Some)
}

/// Checks a whole file and uses it: the weights, and what they came from, as JSON.
pub fn read(bytes: Bytes, path: &str) -> Result<(Weights, String)> {
    let sections = FORM.read(&bytes, path, |fields| fields.sections(SECTIONS))?;
    FORM.verify(&bytes, &sections, path)?;
    let bytes = Arc::new(bytes);
    let parts: [_; SECTIONS] = sections.places.try_into().expect("as many as were asked for");
    unfold(&bytes, parts).ok_or_else(|| FORM.damaged(path, "corrupt: its sections do not fit together"))
}

/// What the sections hold; none if they do not fit together.
fn unfold(bytes: &Arc<Bytes>, parts: [std::ops::Range<usize>; SECTIONS]) -> Option<(Weights, String)> {
    let [text, ends, slots, marks, values, info] = parts;
    let info = std::str::from_utf8(&bytes[info]).ok()?.to_owned();
    let values = bytes[values].as_chunks::<8>().0;
    let values: Vec<f64> = values.iter().map(|value| f64::from_le_bytes(*value)).collect();
    let frozen = Frozen::open(Arc::clone(bytes), [text, ends, slots, marks])?;
    let fits = frozen.len() == values.len() && values.iter().all(|value| value.is_finite());
    fits.then(|| (Weights { names: Names::on(frozen), values }, info))
}

/// Writes a file that appears when it is whole. `info` is JSON.
pub fn write(weights: View<'_>, info: &str, path: &str) -> Result<()> {
    let View { names, values } = weights;
    let rows = (0..values.len() as u32).map(|id| (names.name(id), names.is_dense(id)));
    let [text, ends, slots, marks] = Frozen::parts(rows);
    let values: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let mut sections = [text, ends, slots, marks, values, info.as_bytes().to_vec()];
    let lengths = sections.each_ref().map(|section| section.len() as u64);
    for section in &mut sections {
        section.extend(zeros(section.len()));
    }
    let hash = joint(sections.iter().map(Vec::as_slice));
    let heading = Heading { marks: &[0], ..Heading::default() };
    let mut out = Output::create(path)?;
    out.write(&FORM.head(&heading, &lengths, &[hash]))?;
    for section in &sections {
        out.write(section)?;
    }
    out.finish()
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
            let error = read(Bytes::Owned(other), &path).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{path}:1: ")), "{error}");
            assert!(read(Bytes::Owned(bytes[..at].to_vec()), &path).is_err());
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
