//! Hashes that are the same on every machine and in every version: for tables and checks that live in files.

use rayon::prelude::*;

/// Bytes that one task hashes.
const BLOCK: usize = 1 << 20;

/// Spreads a number over 64 bits; a bijection.
pub fn mix(key: u64) -> u64 {
    let key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ (key >> 31)
}

/// The place of `hash` in a table of `size` slots.
pub fn place(hash: u64, size: usize) -> usize {
    ((u128::from(hash) * size as u128) >> 64) as usize
}

/// The hash of a short text.
pub fn text(bytes: &[u8]) -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15 ^ bytes.len() as u64;
    let (chunks, rest) = bytes.as_chunks::<8>();
    for chunk in chunks {
        state = (state ^ u64::from_le_bytes(*chunk)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        state ^= state >> 32;
    }
    let mut tail = [0; 8];
    tail[..rest.len()].copy_from_slice(rest);
    mix(state ^ u64::from_le_bytes(tail))
}

/// A hash of contents, on one core.
pub fn block(bytes: &[u8]) -> u64 {
    let mut lanes = [1u64, 2, 3, 4].map(mix);
    let (chunks, rest) = bytes.as_chunks::<32>();
    for chunk in chunks {
        for (lane, part) in lanes.iter_mut().zip(chunk.as_chunks::<8>().0) {
            *lane = (*lane ^ u64::from_le_bytes(*part)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
    }
    let mut last = [0; 32];
    last[..rest.len()].copy_from_slice(rest);
    let last = last.as_chunks::<8>().0.iter().map(|part| u64::from_le_bytes(*part));
    lanes.into_iter().chain(last).fold(bytes.len() as u64, |sum, value| mix(sum ^ value))
}

/// A hash of contents, on all cores: finds damage; no protection against intent.
pub fn contents(bytes: &[u8]) -> u64 {
    let blocks: Vec<u64> = bytes.par_chunks(BLOCK).map(block).collect();
    blocks.into_iter().fold(bytes.len() as u64, |sum, value| mix(sum ^ value))
}

/// Bytes that one task hashes of what may come in pieces.
const PIECE: usize = 1 << 18;

/// A hash of bytes that arrive in pieces, however these are cut: finds damage; no protection against intent.
#[derive(Debug, Default)]
pub struct Hasher {
    sum: u64,
    pending: Vec<u8>,
}

impl Hasher {
    /// Takes more bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let count = bytes.len().min(PIECE - self.pending.len());
            self.pending.extend_from_slice(&bytes[..count]);
            bytes = &bytes[count..];
            if self.pending.len() == PIECE {
                self.flush();
            }
        }
    }

    fn flush(&mut self) {
        self.sum = mix(self.sum ^ block(&self.pending));
        self.pending.clear();
    }

    /// The hash of all bytes.
    pub fn finish(mut self) -> u64 {
        if !self.pending.is_empty() {
            self.flush();
        }
        self.sum
    }
}

/// The hash that [`Hasher`] gives, on all cores.
pub fn pieces(bytes: &[u8]) -> u64 {
    let blocks: Vec<u64> = bytes.par_chunks(PIECE).map(block).collect();
    blocks.into_iter().fold(0, |sum, value| mix(sum ^ value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_counts() {
        let bytes: Vec<u8> = (0..100_u8).collect();
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert_ne!(contents(&bytes), contents(&other));
            assert_ne!(text(&bytes), text(&other));
        }
        assert_ne!(text(b"a"), text(b"a\0"));
        assert_ne!(contents(b""), contents(b"\0"));
    }

    #[test]
    fn files_of_before_stay_readable() {
        let name = b"pt:das>the";
        assert_eq!((text(name), contents(name)), (13_439_427_779_214_058_345, 1_800_114_122_228_762_167));
    }

    #[test]
    fn pieces_may_be_cut_anywhere() {
        let bytes: Vec<u8> = (0..3 * PIECE + 7).map(|i| ((i * i) >> 3) as u8).collect();
        for cut in [1, 1000, PIECE - 1, PIECE, PIECE + 1, bytes.len()] {
            let mut hasher = Hasher::default();
            for piece in bytes.chunks(cut) {
                hasher.update(piece);
            }
            assert_eq!(hasher.finish(), pieces(&bytes), "{cut}");
        }
        assert_eq!(Hasher::default().finish(), pieces(b""));
    }
}
