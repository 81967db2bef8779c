//! Candidates in columns: what a reader gives and a writer takes.

use crate::members::Member;
use dragoman_base::{Error, Result, Rows, Texts};

/// The candidates of some sentences, in columns. Those of sentence `s` are `starts[s]..starts[s + 1]`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batch {
    /// The name of each sentence in the list.
    pub ids: Texts,
    /// First candidate of each sentence, and the end of the last: one more than there are sentences.
    pub starts: Vec<i64>,
    /// The text of each candidate.
    pub texts: Texts,
    /// The features of each candidate; stored zeros stay stored.
    pub rows: Rows,
    /// The model score that the list states; NaN where it states none, None where no candidate has one.
    pub totals: Option<Vec<f64>>,
    /// Columns that judge candidates; NaN where a candidate lacks the score.
    pub scores: Vec<(String, Vec<f64>)>,
    /// Word alignments as the list writes them.
    pub alignments: Option<Texts>,
    /// Further columns as the list writes them; empty where a candidate has none.
    pub extra: Option<Texts>,
    /// Other keys of JSON objects with their values as they are written; empty where a candidate has none.
    pub members: Vec<(String, Texts)>,
}

impl Batch {
    /// The batch as a writer takes it.
    pub fn view(&self) -> View<'_> {
        View {
            ids: &self.ids,
            starts: &self.starts,
            texts: &self.texts,
            rows: (&self.rows.starts, &self.rows.columns, &self.rows.values),
            totals: self.totals.as_deref(),
            scores: self.scores.iter().map(|(name, values)| (name.as_str(), values.as_slice())).collect(),
            alignments: self.alignments.as_ref(),
            extra: self.extra.as_ref(),
            members: self.members.iter().map(|(name, raw)| (name.as_str(), Member::Json(raw))).collect(),
        }
    }
}

/// Borrowed columns of candidates; the fields mean what they mean in [`Batch`].
#[derive(Debug)]
pub struct View<'a> {
    /// The name of each sentence.
    pub ids: &'a Texts,
    /// First candidate of each sentence, and the end of the last.
    pub starts: &'a [i64],
    /// The text of each candidate.
    pub texts: &'a Texts,
    /// Starts, columns and values of the sparse feature rows.
    pub rows: (&'a [i64], &'a [u32], &'a [f64]),
    /// Stated model scores.
    pub totals: Option<&'a [f64]>,
    /// Columns that judge candidates.
    pub scores: Vec<(&'a str, &'a [f64])>,
    /// Word alignments.
    pub alignments: Option<&'a Texts>,
    /// Further columns.
    pub extra: Option<&'a Texts>,
    /// Other keys of JSON objects.
    pub members: Vec<(&'a str, Member<'a>)>,
}

impl View<'_> {
    /// Checks that all columns fit together, so that an encoder may index without fear.
    pub(crate) fn check(&self, names: usize) -> Result<()> {
        let (row_starts, columns, values) = self.rows;
        let size = self.texts.len();
        spans("sentence starts", self.starts, self.ids.len(), size)?;
        spans("feature row starts", row_starts, size, columns.len())?;
        let same = |what: &str, length: usize, want: usize| {
            let message = || Error::Invalid(format!("expected {want} {what}, found {length}"));
            if length == want { Ok(()) } else { Err(message()) }
        };
        same("feature values", values.len(), columns.len())?;
        same("totals", self.totals.map_or(size, <[f64]>::len), size)?;
        same("alignments", self.alignments.map_or(size, Texts::len), size)?;
        same("extra columns", self.extra.map_or(size, Texts::len), size)?;
        for (name, column) in &self.members {
            same(&format!("values of `{name}`"), column.len(), size)?;
        }
        for (name, column) in &self.scores {
            same(&format!("scores of `{name}`"), column.len(), size)?;
        }
        if let Some(empty) = self.starts.windows(2).position(|w| w[0] == w[1]) {
            let id = self.ids.get(empty);
            return Err(Error::Invalid(format!("sentence `{id}` has no candidate, which no list can say")));
        }
        match columns.iter().find(|&&column| column as usize >= names) {
            Some(column) => {
                Err(Error::Invalid(format!("feature id {column} is not in the table of {names} names")))
            }
            None => Ok(()),
        }
    }

    /// The feature row of candidate `index`.
    pub(crate) fn row(&self, index: usize) -> (&[u32], &[f64]) {
        let (starts, columns, values) = self.rows;
        let span = starts[index] as usize..starts[index + 1] as usize;
        (&columns[span.clone()], &values[span])
    }
}

/// A column in which no candidate so far has anything.
fn missing(count: usize) -> Texts {
    let mut column = Texts::new();
    (0..count).for_each(|_| column.push(""));
    column
}

/// Checks that `starts` cuts `0..end` into `count` consecutive spans.
fn spans(what: &str, starts: &[i64], count: usize, end: usize) -> Result<()> {
    let rising = starts.windows(2).all(|w| w[0] <= w[1]);
    if rising && starts.len() == count + 1 && starts[0] == 0 && starts[count] == end as i64 {
        return Ok(());
    }
    Err(Error::Invalid(format!("expected {} {what} that rise from 0 to {end}", count + 1)))
}

/// One parsed line, before it is known which batch it belongs to. Reused from line to line.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// The sentence's id where it is a number.
    pub number: Option<u64>,
    /// The sentence's id where it is not.
    pub name: String,
    pub text: String,
    pub columns: Vec<u32>,
    pub values: Vec<f64>,
    /// NaN if the line has none.
    pub total: f64,
    /// Whether the line has an alignment column, be it empty.
    pub aligned: bool,
    pub alignment: String,
    /// Empty if the line has none.
    pub extra: String,
    /// By position in the reader's list of score names; NaN if the line has none.
    pub scores: Vec<f64>,
    /// By position in the reader's list of other keys, as JSON; empty if the line has none.
    pub members: Vec<String>,
}

impl Record {
    pub fn clear(&mut self) {
        self.number = None;
        self.name.clear();
        self.text.clear();
        self.columns.clear();
        self.values.clear();
        self.total = f64::NAN;
        self.aligned = false;
        self.alignment.clear();
        self.extra.clear();
        self.scores.clear();
        self.members.clear();
    }
}

/// Which optional columns the list has had so far: later batches have them, too.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    totals: bool,
    alignments: bool,
    extra: bool,
}

/// A batch under construction.
#[derive(Debug)]
pub(crate) struct Builder {
    batch: Batch,
    totals: Vec<f64>,
    alignments: Texts,
    extra: Texts,
    scores: Vec<Vec<f64>>,
    members: Vec<Texts>,
}

impl Builder {
    pub fn new() -> Self {
        Self {
            batch: Batch::default(),
            totals: Vec::new(),
            alignments: Texts::new(),
            extra: Texts::new(),
            scores: Vec::new(),
            members: Vec::new(),
        }
    }

    /// Number of candidates so far.
    pub fn len(&self) -> usize {
        self.totals.len()
    }

    /// Adds a candidate; `fresh` if it is the first of its sentence.
    pub fn push(&mut self, record: &Record, fresh: bool, seen: &mut Seen) {
        let at = self.len();
        if fresh {
            self.batch.starts.push(at as i64);
            match record.number {
                Some(number) => self.batch.ids.push(&number.to_string()),
                None => self.batch.ids.push(&record.name),
            }
        }
        self.batch.texts.push(&record.text);
        self.batch.rows.columns.extend_from_slice(&record.columns);
        self.batch.rows.values.extend_from_slice(&record.values);
        self.batch.rows.end_row();
        seen.totals |= !record.total.is_nan();
        self.totals.push(record.total);
        seen.alignments |= record.aligned;
        self.alignments.push(&record.alignment);
        seen.extra |= !record.extra.is_empty();
        self.extra.push(&record.extra);
        while self.scores.len() < record.scores.len() {
            self.scores.push(vec![f64::NAN; at]);
        }
        for (index, column) in self.scores.iter_mut().enumerate() {
            column.push(record.scores.get(index).copied().unwrap_or(f64::NAN));
        }
        while self.members.len() < record.members.len() {
            self.members.push(missing(at));
        }
        for (index, column) in self.members.iter_mut().enumerate() {
            column.push(record.members.get(index).map_or("", String::as_str));
        }
    }

    /// The finished batch, with the optional columns that the list has had so far.
    pub fn finish(mut self, seen: &Seen, scores: &[String], members: &[String]) -> Batch {
        let size = self.len();
        self.batch.starts.push(size as i64);
        self.scores.resize_with(scores.len(), || vec![f64::NAN; size]);
        self.batch.scores = scores.iter().cloned().zip(self.scores).collect();
        self.members.resize_with(members.len(), || missing(size));
        self.batch.members = members.iter().cloned().zip(self.members).collect();
        self.batch.totals = seen.totals.then_some(self.totals);
        self.batch.alignments = seen.alignments.then_some(self.alignments);
        self.batch.extra = seen.extra.then_some(self.extra);
        self.batch
    }
}
