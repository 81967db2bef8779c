//! Forests of many sentences as flat arrays, as they travel and as others make them.

use crate::forest::{Edge, Forest, TAIL};
use dragoman_base::sparse::Rows;
use dragoman_base::{Error, Names, Result, Texts};
use rustc_hash::FxHashMap;

/// The edges of forest i are those from `starts[i]` up to `starts[i + 1]`. Node numbers count from 0 in each forest; words
/// are numbered by one table for all.
#[derive(Debug, Clone, PartialEq)]
pub struct Columns {
    /// Number of nodes of each forest.
    pub nodes: Vec<i64>,
    /// Where the edges of each begin, and where the last ones end.
    pub starts: Vec<i64>,
    /// As in [`Forest`], from here on.
    pub heads: Vec<u32>,
    /// Starts of the tails of each edge.
    pub tail_starts: Vec<i64>,
    /// Tails.
    pub tails: Vec<u32>,
    /// Starts of each target side.
    pub symbol_starts: Vec<i64>,
    /// Words of the one table, or [`TAIL`] + k.
    pub symbols: Vec<u32>,
    /// The one table of words and labels.
    pub words: Texts,
    /// Features.
    pub rows: Rows,
    /// Scores.
    pub scores: Vec<f64>,
    /// First source word and the one after the last, of each edge in turn.
    pub spans: Vec<u32>,
    /// Starts of the links of each edge.
    pub link_starts: Vec<i64>,
    /// Source word and place, of each link in turn.
    pub links: Vec<u32>,
    /// Tags.
    pub tags: Vec<u32>,
    /// The label of each node of each forest, or nothing if nodes have none.
    pub labels: Vec<u32>,
}

impl Default for Columns {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            starts: vec![0],
            heads: Vec::new(),
            tail_starts: vec![0],
            tails: Vec::new(),
            symbol_starts: vec![0],
            symbols: Vec::new(),
            words: Texts::new(),
            rows: Rows::default(),
            scores: Vec::new(),
            spans: Vec::new(),
            link_starts: vec![0],
            links: Vec::new(),
            tags: Vec::new(),
            labels: Vec::new(),
        }
    }
}

impl Columns {
    /// The columns of some forests. Labels are kept if all of them have labels.
    pub fn of(forests: &[Forest]) -> Self {
        let (mut made, mut words) = (Self::default(), Names::new());
        let labelled = forests.iter().all(|forest| forest.labels.len() == forest.nodes as usize);
        for forest in forests {
            made.nodes.push(i64::from(forest.nodes));
            // By first use, so that the table depends on what is in the forests alone.
            let mut numbers = vec![u32::MAX; forest.words.len()];
            let mut number = |word: u32| {
                let known = &mut numbers[word as usize];
                if *known == u32::MAX {
                    *known = words.intern(forest.words.get(word as usize));
                }
                *known
            };
            for edge in 0..forest.edges() {
                let Edge { head, tails, symbols, score, span, links, tag } = forest.edge(edge);
                made.heads.push(head);
                made.tails.extend_from_slice(tails);
                made.tail_starts.push(made.tails.len() as i64);
                made.symbols.extend(symbols.iter().map(|&s| if s < TAIL { number(s) } else { s }));
                made.symbol_starts.push(made.symbols.len() as i64);
                made.scores.push(score);
                made.spans.extend([span.0, span.1]);
                made.links.extend(links.iter().flat_map(|&(source, place)| [source, place]));
                made.link_starts.push(made.links.len() as i64 / 2);
                made.tags.push(tag);
                let (columns, values) = forest.rows.row(edge);
                made.rows.columns.extend_from_slice(columns);
                made.rows.values.extend_from_slice(values);
                made.rows.end_row();
            }
            if labelled {
                made.labels.extend(forest.labels.iter().map(|&label| number(label)));
            }
            made.starts.push(made.heads.len() as i64);
        }
        made.words = words.iter().collect();
        made
    }

    /// The forests of these columns, if they are.
    pub fn forests(&self) -> Result<Vec<Forest>> {
        self.check()?;
        let mut label = 0;
        let mut made = Vec::with_capacity(self.nodes.len());
        for (at, &nodes) in self.nodes.iter().enumerate() {
            let nodes = u32::try_from(nodes).map_err(|_| wrong("a number of nodes is beyond all forests"))?;
            made.push(self.forest(at, nodes, &mut label)?);
        }
        if !self.labels.is_empty() && label != self.labels.len() {
            return Err(wrong("labels need one number for each node"));
        }
        Ok(made)
    }

    fn forest(&self, at: usize, nodes: u32, label: &mut usize) -> Result<Forest> {
        let mut forest = Forest { nodes, ..Forest::default() };
        let mut numbers: FxHashMap<u32, u32> = FxHashMap::default();
        let mut number = |word: u32, words: &mut Texts| -> Result<u32> {
            if word as usize >= self.words.len() {
                return Err(wrong(&format!("there is no word {word}")));
            }
            Ok(*numbers.entry(word).or_insert_with(|| {
                words.push(self.words.get(word as usize));
                words.len() as u32 - 1
            }))
        };
        let span = |starts: &[i64], edge: usize| starts[edge] as usize..starts[edge + 1] as usize;
        let mut symbols = Vec::new();
        for edge in span(&self.starts, at) {
            symbols.clear();
            for &symbol in &self.symbols[span(&self.symbol_starts, edge)] {
                symbols.push(if symbol < TAIL { number(symbol, &mut forest.words)? } else { symbol });
            }
            let links =
                span(&self.link_starts, edge).map(|link| (self.links[2 * link], self.links[2 * link + 1]));
            let links: Vec<(u32, u32)> = links.collect();
            let edge = (
                edge,
                Edge {
                    head: self.heads[edge],
                    tails: &self.tails[span(&self.tail_starts, edge)],
                    symbols: &symbols,
                    score: self.scores[edge],
                    span: (self.spans[2 * edge], self.spans[2 * edge + 1]),
                    links: &links,
                    tag: self.tags[edge],
                },
            );
            let (columns, values) = self.rows.row(edge.0);
            forest.add(edge.1, columns.iter().copied().zip(values.iter().copied()));
        }
        if !self.labels.is_empty() {
            let own = self.labels.get(*label..*label + nodes as usize);
            for &word in own.ok_or_else(|| wrong("labels need one number for each node"))? {
                let word = number(word, &mut forest.words)?;
                forest.labels.push(word);
            }
            *label += nodes as usize;
        }
        forest.check()?;
        Ok(forest)
    }

    /// Whether lengths fit each other.
    fn check(&self) -> Result<()> {
        let rising = |starts: &[i64], count: usize, size: usize, what: &str| {
            let good = starts.len() == count + 1
                && starts[0] == 0
                && starts.is_sorted()
                && starts[count] as usize == size;
            if good {
                Ok(())
            } else {
                Err(wrong(&format!("starts of {what} must rise from 0 to their number")))
            }
        };
        let edges = self.heads.len();
        rising(&self.starts, self.nodes.len(), edges, "edges")?;
        rising(&self.tail_starts, edges, self.tails.len(), "tails")?;
        rising(&self.symbol_starts, edges, self.symbols.len(), "target sides")?;
        rising(&self.rows.starts, edges, self.rows.columns.len(), "features")?;
        rising(&self.link_starts, edges, self.links.len() / 2, "links")?;
        let even = self.rows.columns.len() == self.rows.values.len() && self.links.len().is_multiple_of(2);
        if !even || [self.scores.len(), self.spans.len() / 2, self.tags.len()] != [edges; 3] {
            return Err(wrong("every edge needs a score, a span and a tag, every feature a value"));
        }
        Ok(())
    }
}

fn wrong(what: &str) -> Error {
    Error::Invalid(format!("columns of forests: {what}"))
}
