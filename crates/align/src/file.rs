//! The file of a trained aligner: marked, versioned, whole or not there, and verified when it is read.
//!
//! Little-endian throughout: the mark, the version, the number of bytes that follow, those bytes, and their 64-bit
//! FNV-1a sum. Packed where the name says so.

use crate::bitext::Spelling;
use crate::model::{Lexicon, Model, Table};
use crate::sampler::Priors;
use dragoman_base::io::{self, Output};
use dragoman_base::{Error, Names, Result, Texts};
use std::io::Read;

const MARK: &[u8; 8] = b"DRGALIGN";
const VERSION: u32 = 1;

fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &b| (sum ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// A number that a file holds.
trait Number: Copy + Sized {
    const SIZE: usize;
    fn put(self, out: &mut Vec<u8>);
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! number {
    ($($kind:ty),*) => {$(
        impl Number for $kind {
            const SIZE: usize = size_of::<$kind>();
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn get(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("as many bytes as asked for"))
            }
        }
    )*};
}
number!(u8, u32, u64, f32);

fn put_all<T: Number>(out: &mut Vec<u8>, values: &[T]) {
    (values.len() as u64).put(out);
    for &value in values {
        value.put(out);
    }
}

/// Reads numbers one after the other; `None` where the bytes end too early.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, size: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(size)?;
        self.0 = tail;
        Some(head)
    }

    fn one<T: Number>(&mut self) -> Option<T> {
        self.take(T::SIZE).map(T::get)
    }

    fn all<T: Number>(&mut self) -> Option<Vec<T>> {
        let count = usize::try_from(self.one::<u64>()?).ok()?;
        Some(self.take(count.checked_mul(T::SIZE)?)?.chunks_exact(T::SIZE).map(T::get).collect())
    }

    fn names(&mut self) -> Option<Names> {
        let lengths: Vec<u32> = self.all()?;
        let mut names = Names::new();
        for (id, &length) in lengths.iter().enumerate() {
            let name = std::str::from_utf8(self.take(length as usize)?).ok()?;
            if names.intern(name) as usize != id {
                return None; // a repeated word
            }
        }
        Some(names)
    }
}

fn put_names(out: &mut Vec<u8>, names: &Texts) {
    let lengths: Vec<u32> = names.iter().map(|name| name.len() as u32).collect();
    put_all(out, &lengths);
    out.extend_from_slice(names.bytes());
}

fn put_table(out: &mut Vec<u8>, table: &Table) {
    let lexicon = &table.lexicon;
    put_all(out, &lexicon.starts);
    put_all(out, &lexicon.made);
    put_all(out, &lexicon.counts);
    put_all(out, &lexicon.totals);
    put_all(out, &lexicon.partners);
    put_all(out, &lexicon.nulls);
    put_all(out, &table.jumps);
    put_all(out, &table.fertility);
}

fn get_table(from: &mut Cursor<'_>) -> Option<Table> {
    let lexicon = Lexicon {
        starts: from.all()?,
        made: from.all()?,
        counts: from.all()?,
        totals: from.all()?,
        partners: from.all()?,
        nulls: from.all()?,
    };
    Some(Table { lexicon, jumps: from.all()?, fertility: from.all()? })
}

fn get_model(from: &mut Cursor<'_>) -> Option<Model> {
    let spelling = Spelling {
        lower: from.one::<u8>()? != 0,
        prefix: from.one::<u64>()? as usize,
        longest: from.one::<u64>()? as usize,
    };
    let priors = Priors {
        lexical: from.one()?,
        null_lexical: from.one()?,
        null: from.one()?,
        jump: from.one()?,
        fertility: from.one()?,
    };
    let words = [from.names()?, from.names()?];
    let model = Model { spelling, priors, words, tables: [get_table(from)?, get_table(from)?] };
    let [source, target] = [model.words[0].len(), model.words[1].len()];
    let sound = model.tables[0].is_sound(source, target) && model.tables[1].is_sound(target, source);
    (sound && from.0.is_empty()).then_some(model)
}

impl Model {
    /// The bytes of the file.
    fn to_bytes(&self) -> Vec<u8> {
        let mut body = Vec::new();
        u8::from(self.spelling.lower).put(&mut body);
        (self.spelling.prefix as u64).put(&mut body);
        (self.spelling.longest as u64).put(&mut body);
        let Priors { lexical, null_lexical, null, jump, fertility } = self.priors;
        for prior in [lexical, null_lexical, null, jump, fertility] {
            prior.put(&mut body);
        }
        for names in &self.words {
            put_names(&mut body, names.texts());
        }
        for table in &self.tables {
            put_table(&mut body, table);
        }
        let mut bytes = MARK.to_vec();
        VERSION.put(&mut bytes);
        (body.len() as u64).put(&mut bytes);
        bytes.extend_from_slice(&body);
        checksum(&body).put(&mut bytes);
        bytes
    }

    /// Writes the aligner; the file appears under its name when it is whole.
    pub fn write(&self, path: &str) -> Result<()> {
        let mut out = Output::create(path)?;
        out.write(&self.to_bytes())?;
        out.finish()
    }

    /// Reads an aligner and checks all of it.
    pub fn read(path: &str) -> Result<Self> {
        let mut bytes = Vec::new();
        io::open(path)?
            .read_to_end(&mut bytes)
            .map_err(|source| Error::Io { path: path.to_owned(), source })?;
        let damaged = |what: &str| Error::Damaged { path: path.to_owned(), line: 1, what: what.to_owned() };
        let mut from = Cursor(&bytes);
        if from.take(MARK.len()) != Some(MARK) {
            return Err(damaged("expected a trained aligner, found something else"));
        }
        match from.one::<u32>() {
            Some(VERSION) => {}
            found => {
                let found = found.map_or_else(|| "the end of the file".to_owned(), |v| v.to_string());
                return Err(damaged(&format!("expected an aligner of version {VERSION}, found {found}")));
            }
        }
        let body = from.one::<u64>().and_then(|size| from.take(usize::try_from(size).ok()?));
        let (Some(body), Some(sum)) = (body, from.one::<u64>()) else {
            return Err(damaged("the aligner is truncated: it ends in the middle"));
        };
        if sum != checksum(body) || !from.0.is_empty() {
            return Err(damaged("the aligner is corrupt: its checksum is wrong"));
        }
        get_model(&mut Cursor(body))
            .ok_or_else(|| damaged("the aligner is corrupt: its parts do not fit together"))
    }
}
