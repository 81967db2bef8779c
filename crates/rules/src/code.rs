//! Phrases as bytes that sort as their word ids do, frequent (small) ids in one or two bytes.
//!
//! A phrase is its words and a zero byte, so that it sorts before its own continuations. A word takes one byte
//! (1-127), two (from 128), three (from 192) or five (224).

const ONE: u32 = 0x7f;
const TWO: u32 = ONE + (1 << 14);
const THREE: u32 = TWO + (1 << 21);

/// Appends the code of one word id.
fn put_word(bytes: &mut Vec<u8>, id: u32) {
    if id < ONE {
        bytes.push(id as u8 + 1);
    } else if id < TWO {
        let v = id - ONE;
        bytes.extend([0x80 | (v >> 8) as u8, v as u8]);
    } else if id < THREE {
        let v = id - TWO;
        bytes.extend([0xc0 | (v >> 16) as u8, (v >> 8) as u8, v as u8]);
    } else {
        bytes.push(0xe0);
        bytes.extend(id.to_be_bytes());
    }
}

/// Appends the code of a phrase.
pub fn put_phrase(bytes: &mut Vec<u8>, words: &[u32]) {
    for &word in words {
        put_word(bytes, word);
    }
    bytes.push(0);
}

/// Takes a phrase off the front of `bytes`, which [`put_phrase`] wrote, into `words`.
pub fn take_phrase(bytes: &mut &[u8], words: &mut Vec<u32>) {
    words.clear();
    let mut at = 0;
    loop {
        let (first, rest) = (bytes[at], &bytes[at + 1..]);
        let (word, length) = match first {
            0 => break,
            0x01..=0x7f => (u32::from(first) - 1, 1),
            0x80..=0xbf => (ONE + (u32::from(first & 0x3f) << 8 | u32::from(rest[0])), 2),
            0xc0..=0xdf => {
                (TWO + (u32::from(first & 0x1f) << 16 | u32::from(rest[0]) << 8 | u32::from(rest[1])), 3)
            }
            _ => (u32::from_be_bytes([rest[0], rest[1], rest[2], rest[3]]), 5),
        };
        words.push(word);
        at += length;
    }
    *bytes = &bytes[at + 1..];
}

/// Length of the code that begins with this byte.
fn width(first: u8) -> usize {
    match first {
        0..=0x7f => 1,
        0x80..=0xbf => 2,
        0xc0..=0xdf => 3,
        _ => 5,
    }
}

/// Length of the code of the phrase at the front of `bytes`, its end mark included.
pub fn phrase_length(bytes: &[u8]) -> usize {
    let mut at = 0;
    while bytes[at] != 0 {
        at += width(bytes[at]);
    }
    at + 1
}

/// Whether the phrase at the front of `bytes` has the word of id 0.
pub fn has_first(bytes: &[u8]) -> bool {
    let mut at = 0;
    while bytes[at] > 1 {
        at += width(bytes[at]);
    }
    bytes[at] == 1
}

/// Appends the code of a phrase with the word of id 0 in place of the words of the ids below `alike`.
pub fn put_alike(bytes: &mut Vec<u8>, phrase: &[u8], alike: u32) {
    let mut at = 0;
    while at < phrase.len() {
        let to = at + width(phrase[at]);
        let same = phrase[at] != 0 && u32::from(phrase[at]) <= alike;
        bytes.extend_from_slice(if same { &[1] } else { &phrase[at..to] });
        at = to;
    }
}

/// Takes a 32-bit number (most significant byte first) off the front.
pub fn take_u32(bytes: &mut &[u8]) -> u32 {
    let (head, rest) = bytes.split_first_chunk::<4>().expect("our own record");
    *bytes = rest;
    u32::from_be_bytes(*head)
}

/// Takes a 64-bit number (most significant byte first) off the front.
pub fn take_u64(bytes: &mut &[u8]) -> u64 {
    let (head, rest) = bytes.split_first_chunk::<8>().expect("our own record");
    *bytes = rest;
    u64::from_be_bytes(*head)
}

/// Appends a number, seven bits a byte.
pub fn put_number(bytes: &mut Vec<u8>, value: impl Into<u64>) {
    let mut value = value.into();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Takes a number that [`put_number`] wrote off the front.
pub fn take_number(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let (&byte, rest) = bytes.split_first().expect("our own record");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return value;
        }
        shift += 7;
    }
}

/// Takes some bytes off the front.
pub fn take_bytes<'a>(bytes: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (head, rest) = bytes.split_at(count);
    *bytes = rest;
    head
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id() -> impl Strategy<Value = u32> {
        prop_oneof![
            0..3u32,
            120..140u32,
            TWO - 2..TWO + 2,
            THREE - 2..THREE + 2,
            u32::MAX - 2..=u32::MAX,
            any::<u32>()
        ]
    }

    proptest! {
        #[test]
        fn numbers_round_trip(values in prop::collection::vec(prop_oneof![id().prop_map(u64::from), any::<u64>()], 0..9)) {
            let mut bytes = Vec::new();
            for &value in &values {
                put_number(&mut bytes, value);
            }
            let mut rest = bytes.as_slice();
            let found: Vec<u64> = values.iter().map(|_| take_number(&mut rest)).collect();
            prop_assert_eq!(found, values);
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn codes_round_trip_and_sort_as_the_phrases_do(
            a in prop::collection::vec(id(), 0..6), b in prop::collection::vec(id(), 0..6)
        ) {
            let (mut x, mut y) = (Vec::new(), Vec::new());
            put_phrase(&mut x, &a);
            put_phrase(&mut y, &b);
            prop_assert_eq!(x.cmp(&y), a.cmp(&b));
            prop_assert_eq!(phrase_length(&x), x.len());
            prop_assert_eq!(has_first(&x), a.contains(&0));
            let (mut alike, mut want) = (Vec::new(), Vec::new());
            put_alike(&mut alike, &x, 2);
            put_phrase(&mut want, &a.iter().map(|&word| if word < 2 { 0 } else { word }).collect::<Vec<u32>>());
            prop_assert_eq!(alike, want);
            x.extend_from_slice(&y);
            let (mut rest, mut words) = (x.as_slice(), Vec::new());
            take_phrase(&mut rest, &mut words);
            prop_assert_eq!(&words, &a);
            take_phrase(&mut rest, &mut words);
            prop_assert_eq!(&words, &b);
            prop_assert!(rest.is_empty());
        }
    }
}
