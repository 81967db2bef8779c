//! What the round-trip tests share: lists in memory, and what "the same candidates" means.
#![allow(dead_code)] // each test uses a part of it

use dragoman_base::{Names, Result};
use dragoman_nbest::{Batch, Encoder, Format, Reader};

/// Reads a list from memory as one batch.
pub fn read(bytes: &[u8], format: Option<Format>) -> Result<(Batch, Names)> {
    let mut names = Names::new();
    let reader = Box::new(std::io::Cursor::new(bytes.to_vec()));
    let batch = Reader::new("list", reader, format).next_batch(usize::MAX, &mut names)?;
    Ok((batch.expect("a list has a candidate or an error"), names))
}

/// Writes a list to memory.
pub fn write(batch: &Batch, names: &Names, format: Format) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    Encoder::new(format).encode(&batch.view(), names, &mut |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(bytes)
}

/// One row as names and bits, dense marks before sparse ones if `by_mark` (JSON keeps them apart).
pub fn row(batch: &Batch, names: &Names, at: usize, by_mark: bool) -> Vec<(String, u64)> {
    let (columns, values) = batch.rows.row(at);
    let mut order: Vec<usize> = (0..columns.len()).collect();
    if by_mark {
        order.sort_by_key(|&k| !names.is_dense(columns[k]));
    }
    order.into_iter().map(|k| (names.name(columns[k]).to_owned(), values[k].to_bits())).collect()
}

/// Bits of an optional column: NaN is a value like any other here.
pub fn bits(column: Option<&[f64]>) -> Option<Vec<u64>> {
    column.map(|column| column.iter().map(|v| if v.is_nan() { u64::MAX } else { v.to_bits() }).collect())
}

/// Panics unless both batches hold the same, apart from the rows.
pub fn assert_same_columns(a: &Batch, b: &Batch) {
    assert_eq!((&a.ids, &a.starts, &a.texts), (&b.ids, &b.starts, &b.texts));
    assert_eq!(bits(a.totals.as_deref()), bits(b.totals.as_deref()));
    assert_eq!((&a.alignments, &a.extra), (&b.alignments, &b.extra));
    assert_eq!(a.members, b.members);
    let scores = |batch: &Batch| -> std::collections::BTreeMap<String, _> {
        batch.scores.iter().map(|(name, column)| (name.clone(), bits(Some(column)))).collect()
    };
    assert_eq!(scores(a), scores(b));
}
