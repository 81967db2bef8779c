//! Byte strings on their way to another process: each behind its length, and a hash in front of all, which finds damage.

use crate::hash::block;
use crate::{Error, Result};

/// Bytes of a length, and of the hash.
const HEAD: usize = 8;

/// Several byte strings as one.
pub fn seal<P: AsRef<[u8]>>(parts: &[P]) -> Vec<u8> {
    let length: usize = parts.iter().map(|part| HEAD + part.as_ref().len()).sum();
    let mut bytes = Vec::with_capacity(HEAD + length);
    bytes.extend([0; HEAD]);
    for part in parts {
        bytes.extend((part.as_ref().len() as u64).to_le_bytes());
        bytes.extend_from_slice(part.as_ref());
    }
    let hash = block(&bytes[HEAD..]);
    bytes[..HEAD].copy_from_slice(&hash.to_le_bytes());
    bytes
}

/// The byte strings that [`seal`] joined.
pub fn open(bytes: &[u8]) -> Result<Vec<&[u8]>> {
    parts(bytes).ok_or_else(damaged)
}

/// As [`open`], where so many are expected.
pub fn open_all<const N: usize>(bytes: &[u8]) -> Result<[&[u8]; N]> {
    open(bytes)?.try_into().map_err(|_| damaged())
}

fn parts(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let (hash, mut rest) = bytes.split_first_chunk::<HEAD>()?;
    if block(rest) != u64::from_le_bytes(*hash) {
        return None;
    }
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let (length, more) = rest.split_first_chunk::<HEAD>()?;
        let (part, more) = more.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        parts.push(part);
        rest = more;
    }
    Some(parts)
}

/// What another process sent is not what it made.
pub fn damaged() -> Error {
    Error::Invalid("a part of the work was damaged on its way".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_come_back_and_damage_is_found(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..5),
            at in any::<prop::sample::Index>(), bit in 0..8u32,
        ) {
            let sealed = seal(&parts);
            prop_assert_eq!(open(&sealed).unwrap(), parts);
            let (mut wrong, at) = (sealed.clone(), at.index(sealed.len()));
            wrong[at] ^= 1 << bit;
            prop_assert!(open(&wrong).is_err());
            prop_assert!(open(&sealed[..at]).is_err());
        }
    }
}
