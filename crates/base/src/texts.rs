//! Many strings in two flat arrays: all bytes one after the other, and where each string starts.

/// An immutable-by-convention column of UTF-8 strings; string `i` is `bytes[offsets[i]..offsets[i + 1]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Texts {
    bytes: String,
    offsets: Vec<i64>,
}

impl Default for Texts {
    fn default() -> Self {
        Self { bytes: String::new(), offsets: vec![0] }
    }
}

impl Texts {
    /// A column from what [`Texts::bytes`] and [`Texts::offsets`] gave; none if no column has these.
    pub fn from_parts(bytes: String, offsets: Vec<i64>) -> Option<Self> {
        let rising = offsets.windows(2).all(|pair| pair[0] <= pair[1]);
        let ends = offsets.first() == Some(&0) && offsets.last() == Some(&(bytes.len() as i64));
        let whole = rising && ends && offsets.iter().all(|&at| bytes.is_char_boundary(at as usize));
        whole.then_some(Self { bytes, offsets })
    }

    /// An empty column.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty column with room for `count` strings of `bytes` bytes in all.
    pub fn with_capacity(count: usize, bytes: usize) -> Self {
        let mut offsets = Vec::with_capacity(count + 1);
        offsets.push(0);
        Self { bytes: String::with_capacity(bytes), offsets }
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is no string at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends one string.
    pub fn push(&mut self, text: &str) {
        self.bytes.push_str(text);
        self.offsets.push(self.bytes.len() as i64);
    }

    /// String `index`; panics when out of range, as a slice does.
    pub fn get(&self, index: usize) -> &str {
        &self.bytes[self.offsets[index] as usize..self.offsets[index + 1] as usize]
    }

    /// All strings in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.offsets.windows(2).map(|w| &self.bytes[w[0] as usize..w[1] as usize])
    }

    /// All bytes, one string after the other.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_bytes()
    }

    /// Start of every string in [`Texts::bytes`], and the end of the last one.
    pub fn offsets(&self) -> &[i64] {
        &self.offsets
    }
}

impl<S: AsRef<str>> FromIterator<S> for Texts {
    fn from_iter<I: IntoIterator<Item = S>>(strings: I) -> Self {
        let mut texts = Self::new();
        for s in strings {
            texts.push(s.as_ref());
        }
        texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_every_string_apart() {
        let texts: Texts = ["", "ein Haus", "", "é"].into_iter().collect();
        assert_eq!(texts.iter().collect::<Vec<_>>(), ["", "ein Haus", "", "é"]);
        assert_eq!(texts.get(3), "é");
        assert_eq!(texts.offsets(), [0, 0, 8, 8, 10]);
        assert!(!texts.is_empty() && Texts::new().is_empty());
    }

    #[test]
    fn comes_back_from_its_parts_and_from_no_others() {
        let texts: Texts = ["", "ein Haus", "", "é"].into_iter().collect();
        let parts = |offsets: &[i64]| Texts::from_parts("ein Hausé".to_owned(), offsets.to_vec());
        assert_eq!(parts(texts.offsets()), Some(texts));
        assert_eq!(Texts::from_parts(String::new(), vec![0]), Some(Texts::new()));
        let odd: [&[i64]; 7] = [&[], &[0], &[0, 9, 10], &[0, 8], &[1, 10], &[0, 8, 3, 10], &[0, -1, 10]];
        for offsets in odd {
            assert_eq!(parts(offsets), None, "{offsets:?}");
        }
    }
}
