//! cdec's JSON form of a forest: an object whose keys `edges` and `node` come again and again, in topological order.
//!
//! Rules are `[X] ||| das [X] ||| the [1]`, where `[1]` on the target side is the first tail; features are numbers of a
//! list or names. A node without edges, as the start of a lattice has, derives the empty string. There are no scores
//! and no links; the last node is the root.

use crate::forest::{Edge, Forest, TAIL};
use crate::jsonl::{finished, list, string};
use dragoman_base::{Error, Names, Result, number};
use rustc_hash::FxHashMap;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Value;
use std::io::Write;

/// Appends a forest as one line, without the end of the line. With the words of the sentence rules have a source side;
/// else only its gaps.
pub fn write(forest: &Forest, names: &Names, source: &[&str], out: &mut Vec<u8>) -> Result<()> {
    let mut rules: FxHashMap<String, usize> = FxHashMap::default();
    let mut texts: Vec<String> = Vec::new();
    let mut numbers = Vec::new();
    let spans = widest(forest);
    for edge in 0..forest.edges() {
        let text = rule(forest, edge, source, &spans)?;
        let next = texts.len();
        let number = *rules.entry(text.clone()).or_insert(next);
        if number == next {
            texts.push(text);
        }
        numbers.push(number + 1);
    }
    let mut used: Vec<u32> = forest.rows.columns.clone();
    used.sort_unstable();
    used.dedup();
    put(out, "{\"rules\":");
    list(out, texts.iter().enumerate(), |(at, text), out| {
        write!(out, "{},", at + 1).expect("memory takes all");
        string(text, out);
    });
    put(out, ",\"features\":");
    list(out, &used, |&column, out| string(names.name(column), out));
    let starts = forest.starts();
    for node in 0..forest.nodes {
        put(out, ",\"edges\":");
        let span = crate::forest::span(&starts, node);
        list(out, span.clone(), |edge, out| write_edge(forest, edge, (&used, numbers[edge]), out));
        put(out, ",\"node\":{\"in_edges\":");
        list(out, span, |edge, out| put(out, &edge.to_string()));
        put(out, ",\"cat\":");
        string(category(forest, node), out);
        out.push(b'}');
    }
    out.push(b'}');
    Ok(())
}

fn put(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

fn category(forest: &Forest, node: u32) -> &str {
    let label = forest.label(node);
    if label.is_empty() { "X" } else { label }
}

fn write_edge(forest: &Forest, at: usize, (used, rule): (&[u32], usize), out: &mut Vec<u8>) {
    let edge = forest.edge(at);
    put(out, "{\"tail\":");
    list(out, edge.tails, |tail, out| put(out, &tail.to_string()));
    put(out, &format!(",\"spans\":[{},{},-1,-1],\"feats\":", edge.span.0, edge.span.1));
    let (columns, values) = forest.rows.row(at);
    let filled = columns.iter().zip(values).filter(|(_, value)| **value != 0.0);
    list(out, filled, |(column, &value), out| {
        let place = used.binary_search(column).expect("all columns are listed");
        put(out, &format!("{place},"));
        number::write(value, out);
    });
    put(out, &format!(",\"rule\":{rule}}}"));
}

/// What each node covers: the span of its first edge.
fn widest(forest: &Forest) -> Vec<(u32, u32)> {
    let mut spans = vec![(0, 0); forest.nodes as usize];
    for (edge, &head) in forest.heads.iter().enumerate().rev() {
        spans[head as usize] = forest.spans[edge];
    }
    spans
}

/// A rule in cdec's form.
fn rule(forest: &Forest, at: usize, source: &[&str], spans: &[(u32, u32)]) -> Result<String> {
    let edge = forest.edge(at);
    let gap = |tail: &u32| format!("[{}]", category(forest, *tail));
    let mut left: Vec<String> = Vec::new();
    if forest.is_lattice() || source.is_empty() {
        left.extend(edge.tails.iter().map(gap));
        left.extend(
            (edge.span.0..edge.span.1).filter_map(|word| source.get(word as usize)).map(|&w| w.into()),
        );
    } else {
        let mut word = edge.span.0;
        while word < edge.span.1 {
            // A gap covers something, or the loop would not end; those that cover nothing are left out.
            let covers = |tail: &&u32| spans[**tail as usize].0 == word && spans[**tail as usize].1 > word;
            if let Some(tail) = edge.tails.iter().find(covers) {
                left.push(gap(tail));
                word = spans[*tail as usize].1;
            } else {
                left.extend(source.get(word as usize).map(|&w| w.to_owned()));
                word += 1;
            }
        }
    }
    let right: Vec<String> = edge.symbols.iter().map(|&symbol| forest.symbol(symbol)).collect();
    let clash = |(symbol, text): (&u32, &String)| *symbol < TAIL && (text == "|||" || tail(text).is_some());
    if let Some((_, word)) = edge.symbols.iter().zip(&right).find(|pair| clash(*pair)) {
        return Err(Error::Invalid(format!("cdec's form of a forest has no way to write the word `{word}`")));
    }
    Ok(format!("[{}] ||| {} ||| {}", category(forest, edge.head), left.join(" "), right.join(" ")))
}

/// The number k of a symbol `[k]`, from 0.
fn tail(text: &str) -> Option<u32> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    let digits = inner.rsplit(',').next()?;
    digits.parse::<u32>().ok()?.checked_sub(1)
}

/// The members of an object in order, with keys that come again.
struct Members(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Members;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> std::result::Result<Members, M::Error> {
                let mut all = Vec::new();
                while let Some(member) = map.next_entry::<String, Value>()? {
                    if all.len() >= 1 << 26 {
                        return Err(M::Error::custom("too many members"));
                    }
                    all.push(member);
                }
                Ok(Members(all))
            }
        }
        from.deserialize_map(All)
    }
}

/// What is read so far.
#[derive(Default)]
struct Reader {
    rules: FxHashMap<u64, String>,
    features: Vec<u32>,
    words: Names,
    /// Edges by number, until a node takes them: tails, span, features, rule.
    edges: Vec<Option<Read>>,
    forest: Forest,
}

struct Read {
    tails: Vec<u32>,
    span: (u32, u32),
    features: Vec<(u32, f64)>,
    rule: String,
}

type Told<T> = std::result::Result<T, String>;

/// Reads a line; features are numbered by `names`, which grows as need be, and scores are 0.
pub fn read(line: &str, names: &mut Names, (path, number): (&str, usize)) -> Result<Forest> {
    let bad = |want: &str| Error::format(path, number, want, line);
    let Members(members) =
        serde_json::from_str(line).map_err(|_| bad("a forest in cdec's JSON form, an object"))?;
    let mut reader = Reader::default();
    for (key, value) in &members {
        reader.member(key, value, names).map_err(|want| bad(&want))?;
    }
    let mut forest = reader.forest;
    forest.words = reader.words.iter().collect();
    let root = forest.nodes.wrapping_sub(1);
    finished(forest, root, (path, number))
}

fn items<'v>(value: &'v Value, what: &str) -> Told<&'v [Value]> {
    match value {
        Value::Null => Ok(&[]),
        Value::Array(all) => Ok(all),
        _ => Err(format!("a list of {what}")),
    }
}

fn number_of(value: &Value, what: &str) -> Told<u32> {
    value.as_u64().and_then(|n| u32::try_from(n).ok()).ok_or_else(|| format!("a number as {what}"))
}

impl Reader {
    fn member(&mut self, key: &str, value: &Value, names: &mut Names) -> Told<()> {
        match key {
            "rules" => {
                for pair in items(value, "rules")?.chunks(2) {
                    let [id, text] = pair else { return Err("a text after each number of `rules`".into()) };
                    let text = text.as_str().ok_or("a text after each number of `rules`")?;
                    let id = id.as_u64().ok_or("a number before each text of `rules`")?;
                    self.rules.insert(id, text.to_owned());
                }
            }
            "features" => {
                for name in items(value, "features")? {
                    self.features.push(names.intern(name.as_str().ok_or("names of features")?));
                }
            }
            "is_sorted" => {}
            "edges" => {
                for edge in items(value, "edges")? {
                    let edge = self.edge(edge, names)?;
                    self.edges.push(Some(edge));
                }
            }
            "node" => self.node(value)?,
            _ => return Err(format!("the keys rules, features, edges and node, and no `{key}`")),
        }
        Ok(())
    }

    fn edge(&self, value: &Value, names: &mut Names) -> Told<Read> {
        let get = |key: &str| value.get(key).unwrap_or(&Value::Null);
        let tails =
            items(get("tail"), "tails")?.iter().map(|tail| number_of(tail, "tail")).collect::<Told<_>>()?;
        // cdec writes -1, or whatever was in memory, where there is no span.
        let place =
            |at: usize| get("spans").get(at).and_then(Value::as_i64).and_then(|n| u32::try_from(n).ok());
        let span = place(0).zip(place(1)).filter(|(from, to)| from <= to).unwrap_or((0, 0));
        let rule = match get("rule") {
            Value::String(text) => text.clone(),
            id => {
                let known = id.as_u64().and_then(|id| self.rules.get(&id));
                known.ok_or("a rule, or the number of one that came before")?.clone()
            }
        };
        let mut features = Vec::new();
        for pair in items(get("feats"), "features")?.chunks(2) {
            let [name, value] = pair else { return Err("a value after each feature".into()) };
            let column = match name {
                Value::String(name) => names.intern(name),
                number => {
                    let at = number_of(number, "feature")? as usize;
                    *self.features.get(at).ok_or("numbers of features that were listed")?
                }
            };
            features.push((column, value.as_f64().ok_or("a value after each feature")?));
        }
        Ok(Read { tails, span, features, rule })
    }

    fn node(&mut self, value: &Value) -> Told<()> {
        let head = self.forest.nodes;
        let own = items(value.get("in_edges").unwrap_or(&Value::Null), "edges")?;
        for number in own {
            let number = number_of(number, "edge")? as usize;
            let read = self.edges.get_mut(number).and_then(Option::take);
            let Read { tails, span, features, rule } =
                read.ok_or("edges before the node that they derive, each with one node")?;
            let symbols = self.target(&rule)?;
            let edge = Edge { head, tails: &tails, symbols: &symbols, span, ..Edge::default() };
            self.forest.add(edge, features);
        }
        if own.is_empty() {
            self.forest.add(Edge { head, ..Edge::default() }, []);
        }
        let label = value.get("cat").and_then(Value::as_str).unwrap_or("X");
        self.forest.labels.push(self.words.intern(label));
        self.forest.nodes += 1;
        Ok(())
    }

    /// The target side of a rule; of a rule with one side alone, that side.
    fn target(&mut self, rule: &str) -> Told<Vec<u32>> {
        let sides: Vec<&str> = rule.split("|||").collect();
        let [_, _, side, ..] = sides[..] else {
            return Err(format!("rules as `[X] ||| source ||| target`, not `{rule}`"));
        };
        let symbol = |word: &str| tail(word).map_or_else(|| self.words.intern(word), |tail| TAIL + tail);
        Ok(side.split_whitespace().map(symbol).collect())
    }
}
