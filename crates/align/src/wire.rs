//! Arrays of numbers as bytes, for other processes.

use dragoman_base::{Error, Result};

/// A number that travels, least significant byte first.
pub trait Number: Copy {
    /// Its bytes.
    const SIZE: usize;
    /// Appends it.
    fn put(self, bytes: &mut Vec<u8>);
    /// The number of these bytes, as many as it has.
    fn of(bytes: &[u8]) -> Self;
}

macro_rules! number {
    ($($kind:ty)*) => {$(
        impl Number for $kind {
            const SIZE: usize = size_of::<$kind>();
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }
            fn of(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("as many bytes as the number has"))
            }
        }
    )*};
}
number!(u16 u32 u64 f32);

/// Appends an array behind its length.
pub fn put<T: Number>(bytes: &mut Vec<u8>, values: impl ExactSizeIterator<Item = T>) {
    (values.len() as u64).put(bytes);
    bytes.reserve(values.len() * T::SIZE);
    values.for_each(|value| value.put(bytes));
}

/// What is wrong with bytes that are not what was sent.
pub fn damaged() -> Error {
    Error::Invalid("a part of a word alignment was damaged on its way".to_owned())
}

/// Takes an array off the front that [`put`] wrote.
pub fn take<T: Number>(bytes: &mut &[u8]) -> Result<Vec<T>> {
    let (head, rest) = bytes.split_at_checked(u64::SIZE).ok_or_else(damaged)?;
    let length = usize::try_from(u64::of(head)).ok().and_then(|count| count.checked_mul(T::SIZE));
    let (body, rest) = length.and_then(|length| rest.split_at_checked(length)).ok_or_else(damaged)?;
    *bytes = rest;
    Ok(body.chunks_exact(T::SIZE).map(T::of).collect())
}
