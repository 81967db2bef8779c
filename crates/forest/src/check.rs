//! The rules of a forest, for those that come from elsewhere.

use crate::forest::{Forest, TAIL};
use dragoman_base::{Error, Result};

impl Forest {
    /// Whether all numbers point where they should; else the first rule that is broken, in a sentence.
    pub fn check(&self) -> Result<()> {
        let wrong = self.shape().or_else(|| self.order()).or_else(|| self.sides()).or_else(|| self.values());
        wrong.map_or(Ok(()), |what| Err(Error::Invalid(format!("a forest {what}"))))
    }

    /// Whether each edge has an entry in each column.
    fn shape(&self) -> Option<String> {
        let edges = self.edges();
        let whole = |starts: &[u32], size: usize| {
            starts.len() == edges + 1
                && starts[0] == 0
                && starts.is_sorted()
                && starts.last().is_some_and(|&end| end as usize == size)
        };
        let starts = &self.rows.starts;
        let rows = starts.len() == edges + 1
            && starts[0] == 0
            && starts.is_sorted()
            && starts.last().is_some_and(|&end| end as usize == self.rows.columns.len());
        let even = [self.scores.len(), self.spans.len(), self.tags.len()] == [edges; 3]
            && self.rows.columns.len() == self.rows.values.len()
            && (self.labels.is_empty() || self.labels.len() == self.nodes as usize);
        let all = even
            && rows
            && whole(&self.tail_starts, self.tails.len())
            && whole(&self.symbol_starts, self.symbols.len())
            && whole(&self.link_starts, self.links.len());
        (!all).then(|| "needs tails, a target side, features, a score, a span and links for each edge".into())
    }

    /// Whether tails are below heads and edges in order.
    fn order(&self) -> Option<String> {
        if let Some(&head) = self.heads.iter().find(|&&head| head >= self.nodes) {
            return Some(format!("has an edge to node {head}, but {} nodes", self.nodes));
        }
        if !self.heads.is_sorted() {
            return Some("has edges that are not in order of their heads".into());
        }
        let high = |&edge: &usize| self.tails(edge).iter().any(|&tail| tail >= self.heads[edge]);
        let edge = (0..self.edges()).find(high)?;
        Some(format!("has edge {edge} with a tail that is not below its head {}", self.heads[edge]))
    }

    /// Whether target sides have known words, each tail once, and links to words.
    fn sides(&self) -> Option<String> {
        let mut seen: Vec<bool> = Vec::new();
        for edge in 0..self.edges() {
            let (tails, symbols) = (self.tails(edge).len(), self.target(edge));
            seen.clear();
            seen.resize(tails, false);
            for &symbol in symbols {
                if symbol < TAIL {
                    if symbol as usize >= self.words.len() {
                        return Some(format!("has edge {edge} with word {symbol} of {}", self.words.len()));
                    }
                } else {
                    let tail = (symbol - TAIL) as usize;
                    if tail >= tails || std::mem::replace(&mut seen[tail], true) {
                        return Some(format!(
                            "has edge {edge} whose target side asks for tail {tail} twice, or has no such tail"
                        ));
                    }
                }
            }
            if seen.contains(&false) {
                return Some(format!("has edge {edge} with a tail that its target side does not use"));
            }
            let word = |place: u32| symbols.get(place as usize).is_some_and(|&symbol| symbol < TAIL);
            if self.links(edge).iter().any(|&(_, place)| !word(place)) {
                return Some(format!("has edge {edge} with a link to a place that has no word"));
            }
        }
        None
    }

    /// Whether numbers are numbers.
    fn values(&self) -> Option<String> {
        if self.scores.iter().chain(&self.rows.values).any(|value| !value.is_finite()) {
            return Some("has scores or values of features that are no finite numbers".into());
        }
        if self.spans.iter().any(|(from, to)| from > to) {
            return Some("has an edge whose span ends before it begins".into());
        }
        let known = self.labels.iter().all(|&label| (label as usize) < self.words.len());
        (!known).then(|| "has a node whose label is no word of it".into())
    }
}
