//! Lists in, batches of whole sentences out.

use crate::batch::{Batch, Builder, Record, Seen};
use crate::features::Interner;
use crate::format::Format;
use crate::order::Order;
use crate::{Fault, jsonl, moses, prefetch};
use dragoman_base::io::Lines;
use dragoman_base::{Error, Names, Result};
use std::io::Read;

/// How far a reader has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// No candidate yet.
    Start,
    /// The last batch is out, and nothing beyond it is read.
    Between,
    /// The record holds the first candidate of the next batch.
    Pending,
    /// The list is at its end.
    End,
    /// A line was wrong.
    Failed,
}

enum Parser {
    Unknown,
    Bars(moses::Parser),
    Json(jsonl::Parser),
}

impl Parser {
    fn new(format: Format) -> Self {
        match format {
            Format::Jsonl => Self::Json(jsonl::Parser::default()),
            _ => Self::Bars(moses::Parser::new(format)),
        }
    }
}

/// Reads an n-best list, a batch of whole sentences at a time.
///
/// Memory holds one batch, one line, the distinct feature names, and eight bytes for each id that is a string.
pub struct Reader {
    lines: Lines,
    parser: Parser,
    features: Interner,
    order: Order,
    record: Record,
    seen: Seen,
    state: State,
}

impl Reader {
    /// Opens `path` (unpacked by its name, `-` for standard input); without a format, the first line tells it.
    pub fn open(path: &str, format: Option<Format>) -> Result<Self> {
        Ok(Self::new(path, prefetch::open(path)?, format))
    }

    /// Reads from any reader; `path` is what errors call it.
    pub fn new(path: &str, reader: Box<dyn Read + Send>, format: Option<Format>) -> Self {
        Self {
            lines: Lines::new(path, reader),
            parser: format.map_or(Parser::Unknown, Parser::new),
            features: Interner::default(),
            order: Order::default(),
            record: Record::default(),
            seen: Seen::default(),
            state: State::Start,
        }
    }

    /// The next sentences: as many as it takes to have `size` candidates or more. None at the end of the list.
    ///
    /// Feature names go to `names`, which must be the same table in each call. After an error the reader is
    /// good for nothing more.
    pub fn next_batch(&mut self, size: usize, names: &mut Names) -> Result<Option<Batch>> {
        match self.state {
            State::End => return Ok(None),
            State::Failed => return Err(Error::Invalid("reading this list has already failed".to_owned())),
            State::Start | State::Between | State::Pending => {}
        }
        let result = self.fill(size, names);
        if result.is_err() {
            self.state = State::Failed;
        }
        result
    }

    fn fill(&mut self, size: usize, names: &mut Names) -> Result<Option<Batch>> {
        let mut batch = Builder::new();
        if self.state == State::Pending {
            batch.push(&self.record, true, &mut self.seen);
        }
        loop {
            if !self.parse(names)? {
                self.state = State::End;
                break;
            }
            let fresh = self.order.advance(&self.record).map_err(|fault| self.place(fault))?;
            if fresh && batch.len() >= size.max(1) {
                self.state = State::Pending;
                break;
            }
            batch.push(&self.record, fresh, &mut self.seen);
            self.state = State::Between;
        }
        let (scores, members): (&[String], &[String]) = match &self.parser {
            Parser::Json(parser) => (&parser.scores, &parser.members),
            _ => (&[], &[]),
        };
        Ok((batch.len() > 0).then(|| batch.finish(&self.seen, scores, members)))
    }

    /// Reads one line into the record; false at the end of the list.
    fn parse(&mut self, names: &mut Names) -> Result<bool> {
        let Some(line) = self.lines.next()? else {
            if self.state == State::Start {
                return Err(self.place(Fault::words("at least one candidate", "an empty file")));
            }
            return Ok(false);
        };
        if matches!(self.parser, Parser::Unknown) {
            self.parser = Parser::new(Format::detect(line));
        }
        self.record.clear();
        self.features.begin();
        let (record, features) = (&mut self.record, &mut self.features);
        let result = match &mut self.parser {
            Parser::Json(parser) => parser.parse(line, record, features, names),
            Parser::Bars(parser) => parser.parse(line, record, features, names),
            Parser::Unknown => Ok(()),
        };
        result.map(|()| true).map_err(|fault| self.place(fault))
    }

    /// The error that a fault in the current line is.
    fn place(&self, fault: Fault) -> Error {
        let Fault { want, found } = fault;
        Error::Format { path: self.lines.path().to_owned(), line: self.lines.number().max(1), want, found }
    }
}
