//! Candidates to bytes, in any format. Refuses what a format cannot hold instead of losing it.

use crate::batch::View;
use crate::format::Format;
use crate::layout::{Layout, Slot};
use crate::moses::is_alignment;
use crate::order::{Order, as_number};
use crate::{Fault, trim};
use dragoman_base::error::quote;
use dragoman_base::{Error, Names, Result};

/// Whether a candidate can be written; if not, why.
pub(crate) type Checked = std::result::Result<(), String>;

/// Bytes that are gathered before they go out.
const CHUNK: usize = 1 << 18;

/// Turns batches of one list into its bytes.
#[derive(Debug)]
pub struct Encoder {
    pub(crate) format: Format,
    pub(crate) layout: Layout,
    order: Order,
    /// Whether JSON writes ids that are numbers as such; told from the first batch.
    numbers: Option<bool>,
    /// The row that last had each feature, and the row being written (from 1).
    stamps: Vec<u64>,
    row: u64,
    /// The row that last had each dense group.
    groups: Vec<u64>,
    /// The values of a group under way.
    pub(crate) scratch: Vec<f64>,
    pub(crate) out: Vec<u8>,
}

impl Encoder {
    /// An encoder for one list.
    pub fn new(format: Format) -> Self {
        Self {
            format,
            layout: Layout::new(format),
            order: Order::default(),
            numbers: None,
            stamps: Vec::new(),
            row: 0,
            groups: Vec::new(),
            scratch: Vec::new(),
            out: Vec::new(),
        }
    }

    /// Number of candidates so far.
    pub fn count(&self) -> u64 {
        self.row
    }

    /// Gives the bytes of `view` to `sink`, in pieces. After an error the list is broken off and of no use.
    pub fn encode(
        &mut self,
        view: &View<'_>,
        names: &Names,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        view.check(names.len())?;
        if self.format != Format::Jsonl && !view.scores.is_empty() {
            let message =
                format!("{} cannot hold scores: write jsonl, or leave them out", self.format.name());
            return Err(Error::Invalid(message));
        }
        if let Some((name, _)) = view.members.first().filter(|_| self.format != Format::Jsonl) {
            let (format, name) = (self.format.name(), quote(name));
            return Err(Error::Invalid(format!(
                "{format} cannot hold the column {name}: write jsonl, or leave it out"
            )));
        }
        if let Some((name, _)) = view.members.iter().find(|(name, _)| crate::jsonl::KEYS.contains(name)) {
            return Err(Error::Invalid(format!(
                "a column cannot be called {}, which jsonl has for itself",
                quote(name)
            )));
        }
        self.layout.update(names)?;
        self.stamps.resize(names.len(), 0);
        self.groups.clear();
        self.groups.resize(self.layout.groups.len(), 0);
        self.out.clear();
        for sentence in 0..view.ids.len() {
            let id = view.ids.get(sentence);
            let numeric = self.advance(id, view)?;
            for candidate in view.starts[sentence] as usize..view.starts[sentence + 1] as usize {
                self.row += 1;
                let done = match self.format {
                    Format::Jsonl => self.object(id, numeric, candidate, view, names),
                    _ => self.columns(id, candidate, view, names),
                };
                done.map_err(|what| {
                    let place = candidate as i64 - view.starts[sentence] + 1;
                    Error::Invalid(format!("candidate {place} of sentence {}: {what}", quote(id)))
                })?;
                self.out.push(b'\n');
                if self.out.len() > CHUNK {
                    sink(&self.out)?;
                    self.out.clear();
                }
            }
        }
        sink(&self.out)
    }

    /// Checks that a new sentence may follow; returns whether its id is written as a number.
    fn advance(&mut self, id: &str, view: &View<'_>) -> Result<bool> {
        let number = as_number(id);
        if self.format != Format::Jsonl && number.is_none() {
            let format = self.format.name();
            return Err(Error::Invalid(format!(
                "{format} needs ids that are non-negative integers, found {}",
                quote(id)
            )));
        }
        let rising = || {
            let numbers: Option<Vec<u64>> = view.ids.iter().map(as_number).collect();
            numbers.is_some_and(|numbers| numbers.windows(2).all(|w| w[0] < w[1]))
        };
        let numbers = *self.numbers.get_or_insert_with(rising) || self.format != Format::Jsonl;
        let fresh = match number.filter(|_| numbers) {
            _ if id.is_empty() => Err(Fault::words("an id", "an empty string")),
            Some(number) => self.order.advance_number(number),
            None => self.order.advance_name(id),
        };
        match fresh {
            Ok(true) => Ok(numbers && number.is_some()),
            Ok(false) => Err(Error::Invalid(format!("sentence {} comes twice in a row", quote(id)))),
            Err(fault) => Err(Error::Invalid(format!("expected {}, found {}", fault.want, fault.found))),
        }
    }

    /// Each feature once in a row, and finite.
    pub(crate) fn check(&mut self, id: u32, value: f64, names: &Names) -> Checked {
        if !value.is_finite() {
            return Err(format!("the value {value} of {} is not finite", quote(names.name(id))));
        }
        if std::mem::replace(&mut self.stamps[id as usize], self.row) == self.row {
            return Err(format!("the feature {} comes twice", quote(names.name(id))));
        }
        Ok(())
    }

    /// Collects the values of a group unless this row already has it, which is when it returns false. Gaps are 0.
    pub(crate) fn gather(&mut self, group: u32, columns: &[u32], values: &[f64]) -> bool {
        if std::mem::replace(&mut self.groups[group as usize], self.row) == self.row {
            return false;
        }
        self.scratch.clear();
        let ids = &self.layout.groups[group as usize].ids;
        if columns.starts_with(ids) {
            self.scratch.extend_from_slice(&values[..ids.len()]);
            return true;
        }
        self.scratch.resize(ids.len(), 0.0);
        for (&column, &value) in columns.iter().zip(values) {
            if let Slot::Part(owner, index) = self.layout.slots[column as usize]
                && owner == group
            {
                self.scratch[index as usize] = value;
            }
        }
        true
    }
}

/// The number of candidate `at`, None where it is missing, Err where it is infinite.
pub(crate) fn finite_or_missing(column: Option<&[f64]>, at: usize) -> std::result::Result<Option<f64>, f64> {
    match column.map(|column| column[at]) {
        Some(value) if value.is_infinite() => Err(value),
        value => Ok(value.filter(|value| !value.is_nan())),
    }
}

pub(crate) fn check_alignment(alignment: &str) -> Checked {
    if is_alignment(alignment) && trim(alignment) == alignment {
        return Ok(());
    }
    Err(format!("expected an alignment such as `0-0 1-2`, found {}", quote(alignment)))
}

pub(crate) fn unfit(name: &str, format: Format) -> String {
    format!("{} cannot hold a feature called {}", format.name(), quote(name))
}
