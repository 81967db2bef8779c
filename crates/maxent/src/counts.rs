//! Orientation counts of the rules of a table, and of their phrases.

use dragoman_base::{Error, Result};
use dragoman_rules::Table;
use rustc_hash::FxHashMap;

/// Counts of M, S, D towards the previous phrase, then towards the next.
pub type Six = [f64; 6];

/// The rules of a table with the numbers of their phrases and with what was counted.
#[derive(Debug)]
pub struct Counts<'t> {
    /// The table.
    pub table: &'t Table,
    places: [usize; 6],
    /// Number of the source phrase of each rule.
    pub source: Vec<u32>,
    /// Number of the target phrase of each rule.
    pub target: Vec<u32>,
    /// First and last word of each source phrase.
    pub ends: Vec<[u32; 2]>,
    /// Numbers of target phrases.
    pub targets: FxHashMap<&'t [u32], u32>,
}

impl<'t> Counts<'t> {
    /// Numbers all phrases; an error if the table has no counts for the model.
    pub fn new(table: &'t Table, model: &str) -> Result<Self> {
        let mut places = [0; 6];
        for (place, (side, o)) in
            places.iter_mut().zip(crate::SIDES.iter().flat_map(|s| ["M", "S", "D"].map(|o| (s, o))))
        {
            let name = format!("{model}.{side}.{o}.count");
            let Some(found) = table.columns().iter().position(|column| *column == name) else {
                return Err(Error::Invalid(format!(
                    "{}: expected a rule table with orientation counts (rules extract --orientation-counts), found no \
                     column `{name}`",
                    table.path()
                )));
            };
            *place = found;
        }
        let mut made = Self {
            table,
            places,
            source: vec![0; table.len()],
            target: vec![0; table.len()],
            ends: Vec::new(),
            targets: FxHashMap::default(),
        };
        table.walk(|phrase, rules| {
            let number = made.ends.len() as u32;
            made.ends.push([phrase[0], phrase[phrase.len() - 1]]);
            for rule in rules {
                made.source[rule as usize] = number;
                let next = made.targets.len() as u32;
                made.target[rule as usize] = *made.targets.entry(table.target(rule)).or_insert(next);
            }
            Ok(())
        })?;
        Ok(made)
    }

    /// The counts of a rule.
    pub fn of(&self, rule: u32) -> Six {
        let row = self.table.scores(rule);
        self.places.map(|place| f64::from(row[place]))
    }

    /// Occurrences of a rule: each has one orientation on either side.
    pub fn tokens(&self, rule: u32) -> f64 {
        self.of(rule)[..3].iter().sum()
    }

    /// All rules.
    pub fn rules(&self) -> std::ops::Range<u32> {
        0..self.table.len() as u32
    }

    /// An error unless every count is one.
    pub fn check(&self) -> Result<()> {
        for rule in self.rules() {
            let six = self.of(rule);
            let whole = |count: &f64| count.is_finite() && *count >= 0.0;
            if !six.iter().all(whole) || six[..3].iter().sum::<f64>() != six[3..].iter().sum::<f64>() {
                return Err(Error::Invalid(format!(
                    "{}: rule {rule} has orientation counts that make no sense: {six:?}",
                    self.table.path()
                )));
            }
        }
        Ok(())
    }
}
