//! Files that are used where they lie, mapped and not read: a head that says what they are, and sections on 64-byte
//! bounds.
//!
//! A head is: magic (8 bytes), version, marks of the kind (32 bits each); length of the file, length of the head, one
//! hash of all sections if they have one together, hash of the head with this field zero (64 bits each); numbers of the
//! kind; start and length of each section and, if each has one, its hash; more numbers of the kind (64 bits each); text
//! of the kind; zeros. The sections follow in this order, with nothing but zeros between the end of one and the next
//! bound. Least significant byte first.
//!
//! A kind of file is a [`Form`]. Which marks, numbers and texts it has is its own affair, and so is what is hashed: that
//! depends on how its sections come to be, and files of before must open.

use crate::{Error, Result, hash};
use std::fs::File;
use std::io::Read;
use std::ops::{Deref, Range};

#[cfg(target_endian = "big")]
compile_error!("tables are mapped as they are: least significant byte first");

/// Sections begin at multiples of this.
pub const ALIGN: usize = 64;
/// Magic and version.
const MARKS: usize = 12;

/// The bytes of a file, mapped or made in memory.
#[derive(Debug)]
pub enum Bytes {
    /// A file that the system reads as it is needed, or a copy of one.
    Mapped(memmap2::Mmap),
    /// Made by this process.
    Owned(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// Opens what can be mapped: none for pipes and devices, of which reading would take something away.
fn open(path: &str) -> Result<Option<File>> {
    let fail = |source| Error::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(fail)?;
    let kind = file.metadata().map_err(fail)?;
    if kind.is_dir() {
        return Err(fail(std::io::Error::other("is a directory, not a file")));
    }
    Ok(kind.is_file().then_some(file))
}

/// The first bytes of a plain file, as many as a magic has at most; none of pipes and devices.
pub fn start(path: &str) -> Result<Vec<u8>> {
    let mut start = Vec::new();
    if let Some(file) = open(path)? {
        let read = file.take(8).read_to_end(&mut start);
        read.map_err(|source| Error::Io { path: path.to_owned(), source })?;
    }
    Ok(start)
}

impl Bytes {
    /// Maps a plain file.
    pub fn map(path: &str) -> Result<Self> {
        let fail = |source| Error::Io { path: path.to_owned(), source };
        let other = || fail(std::io::Error::other("cannot be mapped: it is not a plain file"));
        let file = open(path)?.ok_or_else(other)?;
        // SAFETY: the map is read only, and readers stay within its length and takes any bytes. Those who
        // change the file under a running program get wrong answers; our own writers never do (they rename).
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(fail)?;
        Ok(Self::Mapped(map))
    }

    /// A copy in memory that the system may keep in large pages, or none if it has no room.
    ///
    /// Look-ups go all over the tables; in pages of 4 kB nearly each of them would also have to look for its page.
    pub fn in_large_pages(&self) -> Option<Self> {
        let mut copy = memmap2::MmapMut::map_anon(self.len()).ok()?;
        #[cfg(target_os = "linux")]
        let _ = copy.advise(memmap2::Advice::HugePage);
        copy.copy_from_slice(self);
        copy.make_read_only().ok().map(Self::Mapped)
    }
}

/// Types that any bytes are a value of.
///
/// # Safety
/// Every pattern of bits must be a value, and there must be no padding.
pub unsafe trait Plain {}
// SAFETY: numbers and arrays of them have neither forbidden values nor padding.
unsafe impl Plain for u8 {}
// SAFETY: as above.
unsafe impl Plain for u32 {}
// SAFETY: as above.
unsafe impl Plain for f32 {}
// SAFETY: as above.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// The bytes of a section as values, as many as are whole; nothing if they do not begin where such values may: sections
/// of a mapped file always do.
#[inline]
pub fn view<T: Plain>(bytes: &[u8]) -> &[T] {
    let start = bytes.as_ptr().cast::<T>();
    if !start.is_aligned() {
        return &[];
    }
    // SAFETY: any bytes are a `T`, the start is aligned, and the values are within the bytes.
    unsafe { std::slice::from_raw_parts(start, bytes.len() / size_of::<T>()) }
}

/// What is hashed besides the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hashing {
    /// All behind the head ([`hash::contents`]): for a file that is made in memory.
    Whole,
    /// The sections with the zeros behind them, and their hashes together ([`joint`]): for sections that are in memory
    /// one by one.
    Joint,
    /// Each section for itself ([`hash::Hasher`]): for sections that come in pieces.
    Each,
}

/// A kind of file.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// How its files begin.
    pub magic: [u8; 8],
    /// The version that is written and read.
    pub version: u32,
    /// What messages call one that may be none: `a rule table`.
    pub a: &'static str,
    /// What messages call the one in question: `the rule table`.
    pub the: &'static str,
    /// Number of marks.
    pub marks: usize,
    /// What is hashed.
    pub hashing: Hashing,
}

/// What a kind has in the head of one file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Heading<'a> {
    /// Marks, behind the version.
    pub marks: &'a [u32],
    /// Numbers before the places of the sections.
    pub before: &'a [u64],
    /// Numbers behind them.
    pub after: &'a [u64],
    /// Text at the end.
    pub text: &'a str,
}

/// Where the sections of a file are, and what they were when it was written.
#[derive(Debug, Clone, Default)]
pub struct Sections {
    /// The bytes of each, within the file.
    pub places: Vec<Range<usize>>,
    /// One hash of all, or one of each.
    pub hashes: Vec<u64>,
}

/// One hash of all sections, each with the zeros behind it.
pub fn joint<'a>(sections: impl Iterator<Item = &'a [u8]>) -> u64 {
    sections.fold(1, |sum, section| hash::mix(sum ^ hash::contents(section)))
}

/// The zeros behind a section of this length.
pub fn zeros(length: usize) -> &'static [u8] {
    &[0; ALIGN][..length.next_multiple_of(ALIGN) - length]
}

impl Form {
    /// Whether a file begins as these do.
    pub fn begins(&self, start: &[u8]) -> bool {
        start.starts_with(&self.magic)
    }

    /// Where the head has its own hash; before that the lengths of file and head and the hash of all sections, if any.
    fn own(&self) -> usize {
        MARKS + 4 * self.marks + 16 + if self.hashing == Hashing::Each { 0 } else { 8 }
    }

    /// Where the head has the length of the file, and behind it its own.
    fn lengths(&self) -> usize {
        MARKS + 4 * self.marks
    }

    fn hash(&self, head: &[u8]) -> u64 {
        if self.hashing == Hashing::Joint { hash::contents(head) } else { hash::block(head) }
    }

    /// Bytes of the head of a file with so many sections; it ends on a bound.
    pub fn head_length(&self, heading: &Heading<'_>, sections: usize) -> usize {
        let place = if self.hashing == Hashing::Each { 24 } else { 16 };
        let numbers = 8 * (heading.before.len() + heading.after.len());
        let used = self.own() + 8 + numbers + place * sections + heading.text.len();
        used.next_multiple_of(ALIGN)
    }

    /// The head of a file whose sections have these lengths and hashes (one of all, or one of each).
    pub fn head(&self, heading: &Heading<'_>, lengths: &[u64], hashes: &[u64]) -> Vec<u8> {
        let each = self.hashing == Hashing::Each;
        assert_eq!(heading.marks.len(), self.marks, "a kind has so many marks");
        assert_eq!(hashes.len(), if each { lengths.len() } else { 1 }, "one hash of all, or one of each");
        let length = self.head_length(heading, lengths.len());
        let mut at = length as u64;
        let mut places = Vec::new();
        for (i, &size) in lengths.iter().enumerate() {
            places.extend([at, size]);
            places.extend(each.then(|| hashes[i]));
            at = (at + size).next_multiple_of(ALIGN as u64);
        }
        let mut head = Vec::with_capacity(length);
        head.extend(self.magic);
        head.extend([self.version].iter().chain(heading.marks).flat_map(|mark| mark.to_le_bytes()));
        let mut numbers = vec![at, length as u64];
        numbers.extend(hashes.first().filter(|_| !each));
        numbers.push(0);
        let all = numbers.iter().chain(heading.before).chain(&places).chain(heading.after);
        head.extend(all.flat_map(|number| number.to_le_bytes()));
        head.extend(heading.text.as_bytes());
        head.resize(length, 0);
        let own = self.hash(&head);
        head[self.own()..][..8].copy_from_slice(&own.to_le_bytes());
        head
    }

    /// A whole file in memory, for a kind that is hashed as a whole.
    pub fn assemble(&self, heading: &Heading<'_>, sections: Vec<Vec<u8>>) -> Vec<u8> {
        assert_eq!(self.hashing, Hashing::Whole);
        let lengths: Vec<u64> = sections.iter().map(|section| section.len() as u64).collect();
        let head = self.head_length(heading, lengths.len());
        let mut file = vec![0; head];
        for section in sections {
            file.extend(section);
            file.resize(file.len().next_multiple_of(ALIGN), 0);
        }
        let hash = hash::contents(&file[head..]);
        file[..head].copy_from_slice(&self.head(heading, &lengths, &[hash]));
        file
    }

    /// An error about a file that is not as it was written.
    pub fn damaged(&self, path: &str, what: &str) -> Error {
        Error::damaged(path, format!("{} is {what}", self.the))
    }

    /// Checks the head of a file and hands `take` what its kind knows about: an error if that is none, or if any part of
    /// the head is damaged. Looks at nothing behind the head.
    pub fn read<T>(
        &self,
        bytes: &[u8],
        path: &str,
        take: impl FnOnce(&mut Fields<'_>) -> Option<T>,
    ) -> Result<T> {
        let head = self.check(bytes, path)?;
        let mut fields = Fields { form: self, head, at: self.own() + 8, file: bytes.len() };
        let senseless = || Error::damaged(path, format!("the head of {} makes no sense", self.the));
        take(&mut fields).ok_or_else(senseless)
    }

    fn check<'a>(&self, bytes: &'a [u8], path: &str) -> Result<&'a [u8]> {
        if bytes.is_empty() {
            return Err(Error::damaged(path, format!("an empty file, not {}", self.a)));
        }
        let least = self.own() + 8;
        if bytes.len() < least || !self.begins(bytes) {
            let what = format!("not {} of dragoman, or truncated in its first bytes", self.a);
            return Err(Error::damaged(path, what));
        }
        let version = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
        if version != self.version {
            let (a, known) = (self.a, self.version);
            let what = format!("{a} of form {version}, where this program knows form {known} only");
            return Err(Error::damaged(path, what));
        }
        let (length, end) = (number(bytes, self.lengths()), number(bytes, self.lengths() + 8));
        let head = end.and_then(|end| bytes.get(..end)).filter(|head| head.len() >= least);
        let head = head.ok_or_else(|| self.damaged(path, "truncated: it ends in its head"))?;
        let mut copy = head.to_vec();
        copy[self.own()..][..8].fill(0);
        if bytes[self.own()..][..8] != self.hash(&copy).to_le_bytes() {
            let what = format!("the head of {} is corrupt: its hash does not fit", self.the);
            return Err(Error::damaged(path, what));
        }
        if Some(bytes.len()) != length {
            let (found, want) = (bytes.len(), length.unwrap_or(usize::MAX));
            return Err(self.damaged(path, &format!("truncated or extended: {found} bytes, not {want}")));
        }
        Ok(head)
    }

    /// Reads all sections and checks them against their hashes, on all cores.
    pub fn verify(&self, bytes: &[u8], sections: &Sections, path: &str) -> Result<()> {
        let whole = |place: &Range<usize>| &bytes[place.start..place.end.next_multiple_of(ALIGN)];
        let places = &sections.places;
        let found = match self.hashing {
            Hashing::Whole => vec![hash::contents(&bytes[places.first().map_or(bytes.len(), |p| p.start)..])],
            Hashing::Joint => vec![joint(places.iter().map(whole))],
            Hashing::Each => places.iter().map(|place| hash::pieces(&bytes[place.clone()])).collect(),
        };
        if found == sections.hashes {
            return Ok(());
        }
        Err(self.damaged(path, "corrupt: the hash of its contents does not fit"))
    }
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(8)?)?.try_into().ok()?;
    usize::try_from(u64::from_le_bytes(bytes)).ok()
}

/// What a kind reads from its head, one after the other; none where the head ends.
#[derive(Debug)]
pub struct Fields<'a> {
    form: &'a Form,
    head: &'a [u8],
    at: usize,
    /// Bytes of the file.
    file: usize,
}

impl<'a> Fields<'a> {
    /// The marks.
    pub fn marks<const N: usize>(&self) -> [u32; N] {
        assert_eq!(N, self.form.marks, "a kind has so many marks");
        let marks = self.head[MARKS..].as_chunks::<4>().0;
        std::array::from_fn(|i| u32::from_le_bytes(marks[i]))
    }

    /// The next number.
    pub fn number(&mut self) -> Option<usize> {
        let found = number(self.head, self.at)?;
        self.at += 8;
        Some(found)
    }

    fn hash(&mut self) -> Option<u64> {
        let bytes = self.head.get(self.at..self.at + 8)?.try_into().ok()?;
        self.at += 8;
        Some(u64::from_le_bytes(bytes))
    }

    /// The places and hashes of so many sections, which fill the file up.
    pub fn sections(&mut self, count: usize) -> Option<Sections> {
        let mut found = Sections::default();
        let each = self.form.hashing == Hashing::Each;
        if !each {
            let own = self.form.own();
            found.hashes.push(u64::from_le_bytes(self.head[own - 8..own].try_into().ok()?));
        }
        let mut end = self.head.len();
        for _ in 0..count {
            let (from, length) = (self.number()?, self.number()?);
            if each {
                found.hashes.push(self.hash()?);
            }
            let to = from.checked_add(length)?;
            let next = to.checked_next_multiple_of(ALIGN).filter(|&next| from == end && next <= self.file)?;
            found.places.push(from..to);
            end = next;
        }
        (end == self.file).then_some(found)
    }

    /// The next text, of so many bytes.
    pub fn text(&mut self, length: usize) -> Option<&'a str> {
        let end = self.at.checked_add(length)?;
        let text = std::str::from_utf8(self.head.get(self.at..end)?).ok()?;
        self.at = end;
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn form(hashing: Hashing) -> Form {
        Form { magic: *b"DRAGOMXX", version: 3, a: "a test", the: "the test", marks: 2, hashing }
    }

    /// What one file says.
    type Said = ([u32; 2], usize, usize, String, Vec<Vec<u8>>);

    fn write(form: &Form, said: &Said) -> Vec<u8> {
        let (marks, one, two, text, sections) = said;
        let before = [*one as u64, sections.len() as u64];
        let after = [*two as u64, text.len() as u64];
        let heading = Heading { marks, before: &before, after: &after, text };
        if form.hashing == Hashing::Whole {
            return form.assemble(&heading, sections.clone());
        }
        let padded = sections.iter().map(|section| [section, zeros(section.len())].concat());
        let padded: Vec<Vec<u8>> = padded.collect();
        let lengths: Vec<u64> = sections.iter().map(|section| section.len() as u64).collect();
        let hashes = match form.hashing {
            Hashing::Each => sections.iter().map(|section| hash::pieces(section)).collect(),
            _ => vec![joint(padded.iter().map(Vec::as_slice))],
        };
        let mut file = form.head(&heading, &lengths, &hashes);
        for section in &padded {
            file.extend(section);
        }
        file
    }

    fn read(form: &Form, file: &[u8]) -> Result<Said> {
        let (said, sections) = form.read(file, "x", |fields| {
            let marks = fields.marks();
            let (one, count) = (fields.number()?, fields.number()?);
            let sections = fields.sections(count)?;
            let (two, length) = (fields.number()?, fields.number()?);
            Some(((marks, one, two, fields.text(length)?.to_owned()), sections))
        })?;
        form.verify(file, &sections, "x")?;
        let contents = sections.places.iter().map(|place| file[place.clone()].to_vec()).collect();
        let (marks, one, two, text) = said;
        Ok((marks, one, two, text, contents))
    }

    const HASHINGS: [Hashing; 3] = [Hashing::Whole, Hashing::Joint, Hashing::Each];

    proptest! {
        #[test]
        fn what_was_written_is_read(
            marks: [u32; 2], one in 0usize..9, two in 0usize..9, text in "[a-cé]{0,70}",
            sections in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..150), 0..5),
        ) {
            for form in HASHINGS.map(form) {
                let said = (marks, one, two, text.clone(), sections.clone());
                let file = write(&form, &said);
                prop_assert_eq!(file.len() % ALIGN, 0);
                prop_assert_eq!(read(&form, &file).unwrap(), said);
            }
        }

        /// Any change of a head is an error, also if its hash is made to fit, or what it says is still inside the file.
        #[test]
        fn a_damaged_head_is_an_error(
            changes in prop::collection::vec((0usize..256, any::<u8>()), 1..6), cut in 0usize..512, fits: bool,
        ) {
            for form in HASHINGS.map(form) {
                let said = ([1, 2], 3, 4, "text".to_owned(), vec![vec![7; 100], vec![], vec![8; 64]]);
                let whole = write(&form, &said);
                let mut file = whole.clone();
                for &(at, value) in &changes {
                    let at = at % form.head_length(&Heading { before: &[0; 2], after: &[0; 2], text: "text", marks: &[] }, 3);
                    file[at] = value;
                }
                if fits && let Some(end) = number(&file, form.lengths() + 8) && let Some(head) = file.get(..end)
                    && end >= form.own() + 8 {
                    let mut head = head.to_vec();
                    head[form.own()..][..8].fill(0);
                    let hash = form.hash(&head);
                    file[form.own()..][..8].copy_from_slice(&hash.to_le_bytes());
                }
                if let Ok(found) = read(&form, &file) {
                    prop_assert!(fits || file == whole);
                    prop_assert!(found.4.concat().len() <= file.len());
                }
                let cut = cut % whole.len();
                let message = read(&form, &whole[..cut]).unwrap_err().to_string();
                prop_assert!(message.starts_with("x:1: "), "{}", message);
                prop_assert!(message.contains("truncated") || cut == 0 && message.contains("empty"), "{}", message);
            }
        }
    }

    #[test]
    fn every_byte_is_checked() {
        for form in HASHINGS.map(form) {
            let said = ([1, 2], 3, 4, "text".to_owned(), vec![vec![7; 100], vec![], vec![8; 64]]);
            let whole = write(&form, &said);
            let head = read(&form, &whole).map(|_| number(&whole, form.lengths() + 8)).unwrap().unwrap();
            for at in 0..whole.len() {
                let mut file = whole.clone();
                file[at] ^= 4;
                // Zeros between sections are nobody's contents: only a hash of all has them.
                let idle = form.hashing == Hashing::Each && (head + 100..head + 128).contains(&at);
                assert_eq!(read(&form, &file).is_err(), !idle, "byte {at} of {:?}", form.hashing);
            }
        }
    }

    #[test]
    fn views_are_whole_values_where_values_may_be() {
        let numbers = [1u32, 2, 3];
        // SAFETY: numbers are bytes.
        let bytes = unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast::<u8>(), 12) };
        assert_eq!(view::<u32>(bytes), numbers);
        assert_eq!(view::<[u32; 2]>(bytes), [[1, 2]]);
        assert_eq!(view::<[u8; 2]>(&bytes[1..]).len(), 5);
        assert!(view::<u32>(&bytes[1..]).is_empty());
    }

    #[test]
    fn what_cannot_be_mapped_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().display().to_string();
        assert!(Bytes::map(&name).unwrap_err().to_string().contains("is a directory"));
        let path = folder.path().join("x").display().to_string();
        assert!(start(&path).unwrap_err().to_string().starts_with(&path));
        std::fs::write(&path, b"").unwrap();
        assert!(Bytes::map(&path).unwrap().is_empty() && start(&path).unwrap().is_empty());
        std::fs::write(&path, b"0123456789").unwrap();
        assert_eq!(
            (&*Bytes::map(&path).unwrap(), &*start(&path).unwrap()),
            (&b"0123456789"[..], &b"01234567"[..])
        );
        assert_eq!(&**Bytes::map(&path).unwrap().in_large_pages().as_ref().unwrap(), b"0123456789");
    }
}
