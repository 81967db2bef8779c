//! The order of sentences: each one's candidates stand together, and numbers rise.

use crate::Fault;
use crate::batch::Record;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Watches the ids go by. Remembers one number, and eight bytes for each id that is not a number.
#[derive(Debug, Default)]
pub struct Order {
    started: bool,
    number: Option<u64>,
    name: String,
    highest: Option<u64>,
    names: HashSet<u64>,
}

/// The number that `text` is in its shortest form, so that nothing is lost by writing it as one.
pub fn as_number(text: &str) -> Option<u64> {
    let plain = text == "0" || text.bytes().next().is_some_and(|b| (b'1'..=b'9').contains(&b));
    if plain { text.parse().ok() } else { None }
}

fn hash(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

impl Order {
    /// Takes the id of the next candidate: Ok(true) if it starts a new sentence.
    pub fn advance(&mut self, record: &Record) -> Result<bool, Fault> {
        match record.number {
            Some(number) => self.advance_number(number),
            None => self.advance_name(&record.name),
        }
    }

    /// Like [`Order::advance`] for an id that is a number.
    pub fn advance_number(&mut self, number: u64) -> Result<bool, Fault> {
        if self.started && self.number == Some(number) {
            return Ok(false);
        }
        self.check_rising(number)?;
        if !self.names.is_empty() && self.names.contains(&hash(&number.to_string())) {
            return Err(returned(&number.to_string()));
        }
        (self.started, self.number, self.highest) = (true, Some(number), Some(number));
        Ok(true)
    }

    /// Like [`Order::advance`] for an id that is a string.
    pub fn advance_name(&mut self, name: &str) -> Result<bool, Fault> {
        let number = as_number(name);
        let same =
            if number.is_some() { self.number == number } else { self.number.is_none() && self.name == name };
        if self.started && same {
            return Ok(false);
        }
        if let Some(number) = number {
            self.check_rising(number)?;
        }
        if !self.names.insert(hash(name)) {
            return Err(returned(name));
        }
        (self.started, self.number) = (true, number);
        name.clone_into(&mut self.name);
        Ok(true)
    }

    /// An id that is a number is above all numbers so far.
    fn check_rising(&self, number: u64) -> Result<(), Fault> {
        match self.highest {
            Some(highest) if number <= highest => {
                let want = format!("an id above {highest} (lists are sorted by sentence)");
                Err(Fault::new(want, &number.to_string()))
            }
            _ => Ok(()),
        }
    }
}

fn returned(id: &str) -> Fault {
    Fault::new("an id that has not been seen (a sentence's candidates stand together)", id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_rise_and_names_do_not_return() {
        let mut order = Order::default();
        assert!(order.advance_number(3).unwrap() && !order.advance_number(3).unwrap());
        assert!(order.advance_number(7).unwrap());
        assert!(order.advance_number(3).unwrap_err().want.starts_with("an id above 7"));
        assert!(!order.advance_name("7").unwrap(), "the same id as a string");
        assert!(order.advance_name("b").unwrap() && !order.advance_name("b").unwrap());
        assert!(order.advance_number(7).is_err(), "back after another sentence");
        assert!(order.advance_name("a").unwrap());
        assert!(order.advance_name("b").is_err() && order.advance_name("5").is_err());
        assert!(order.advance_number(8).unwrap());
        let mut strings = Order::default();
        assert!(strings.advance_name("5").unwrap() && strings.advance_name("3").unwrap());
        assert!(strings.advance_name("5").is_err() && strings.advance_number(5).is_err());
        assert_eq!(
            [as_number("0"), as_number("07"), as_number("+1"), as_number("")],
            [Some(0), None, None, None]
        );
    }
}
