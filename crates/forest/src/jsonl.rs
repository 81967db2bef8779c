//! Forests as JSON lines: an object for each sentence.
//!
//! ```json
//! {"id": 0, "nodes": 2, "edges": [
//!   {"head": 0, "target": ["house"], "span": [1, 2], "score": -1.5, "features": {"LM": -2.0}, "links": [[1, 0]]},
//!   {"head": 1, "tails": [0], "target": ["the", 0], "span": [0, 2], "score": -0.5}]}
//! ```
//! A number on the target side is a tail of the edge. Nodes may come in any order if `root` says which one is the root;
//! else it is the last. Where `tails`, `features`, `links` are missing there are none, and a missing score is 0.

use crate::forest::{Edge, Forest, TAIL};
use dragoman_base::{Error, Names, Result, number};
use serde_json::{Map, Value};
use std::io::Write;

/// Appends a forest as one line, without the end of the line.
pub fn write(forest: &Forest, id: &str, names: &Names, out: &mut Vec<u8>) {
    put(out, "{\"id\":");
    match id.parse::<u64>() {
        Ok(number) if number.to_string() == id => put(out, id),
        _ => string(id, out),
    }
    write!(out, ",\"nodes\":{}", forest.nodes).expect("memory takes all");
    if !forest.labels.is_empty() {
        put(out, ",\"labels\":");
        list(out, 0..forest.nodes, |node, out| string(forest.label(node), out));
    }
    put(out, ",\"edges\":");
    list(out, 0..forest.edges(), |edge, out| write_edge(forest, edge, names, out));
    out.push(b'}');
}

fn put(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

pub(crate) fn string(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("memory takes all");
}

/// A JSON array.
pub(crate) fn list<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut one: impl FnMut(T, &mut Vec<u8>),
) {
    out.push(b'[');
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        one(item, out);
    }
    out.push(b']');
}

fn write_edge(forest: &Forest, at: usize, names: &Names, out: &mut Vec<u8>) {
    let edge = forest.edge(at);
    write!(out, "{{\"head\":{},\"tails\":", edge.head).expect("memory takes all");
    list(out, edge.tails, |tail, out| put(out, &tail.to_string()));
    put(out, ",\"target\":");
    list(out, edge.symbols, |&symbol, out| match symbol.checked_sub(TAIL) {
        Some(tail) => put(out, &tail.to_string()),
        None => string(forest.words.get(symbol as usize), out),
    });
    write!(out, ",\"span\":[{},{}],\"score\":", edge.span.0, edge.span.1).expect("memory takes all");
    number::write(edge.score, out);
    put(out, ",\"features\":{");
    // Summed, since a name comes once in an object.
    for (place, (column, value)) in forest.features_of(&[at as u32]).into_iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        string(names.name(column), out);
        out.push(b':');
        number::write(value, out);
    }
    out.push(b'}');
    if !edge.links.is_empty() {
        put(out, ",\"links\":");
        list(out, edge.links, |(source, place), out| put(out, &format!("[{source},{place}]")));
    }
    if edge.tag != 0 {
        put(out, &format!(",\"tag\":{}", edge.tag));
    }
    out.push(b'}');
}

/// Reads a line: the sentence's name and its forest, with features numbered by `names`, which grows as need be.
pub fn read(line: &str, names: &mut Names, (path, number): (&str, usize)) -> Result<(String, Forest)> {
    let bad = |want: &str| Error::format(path, number, want, line);
    let value: Value = serde_json::from_str(line).map_err(|_| bad("a JSON object"))?;
    let top = value.as_object().ok_or_else(|| bad("a JSON object"))?;
    if let Some(odd) = top.keys().find(|key| !["id", "nodes", "root", "labels", "edges"].contains(&&key[..]))
    {
        return Err(bad(&format!("the keys id, nodes, edges, labels, root, and no `{odd}`")));
    }
    let id = match top.get("id") {
        None => String::new(),
        Some(Value::String(id)) => id.clone(),
        Some(other) => other.to_string(),
    };
    let nodes = whole(top.get("nodes")).ok_or_else(|| bad("a number of `nodes`"))?;
    let mut words = Names::new();
    let mut made = Forest { nodes, ..Forest::default() };
    if let Some(labels) = top.get("labels") {
        let texts =
            labels.as_array().and_then(|all| all.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
        let texts = texts
            .filter(|texts| texts.len() == nodes as usize)
            .ok_or_else(|| bad("a label for each node"))?;
        made.labels = texts.into_iter().map(|label| words.intern(label)).collect();
    }
    let edges = top.get("edges").and_then(Value::as_array).ok_or_else(|| bad("a list of `edges`"))?;
    for (at, edge) in edges.iter().enumerate() {
        let told = |what: &str| bad(&format!("{what} in edge {at}"));
        let edge = edge.as_object().ok_or_else(|| told("an object"))?;
        read_edge(&mut made, edge, (names, &mut words)).map_err(|what| told(&what))?;
    }
    made.words = words.iter().collect();
    let root = match top.get("root") {
        None => nodes.wrapping_sub(1),
        some => whole(some).ok_or_else(|| bad("the number of the `root`"))?,
    };
    finished(made, root, (path, number)).map(|forest| (id, forest))
}

/// A forest that was read: in order, and by the rules.
pub(crate) fn finished(made: Forest, root: u32, (path, line): (&str, usize)) -> Result<Forest> {
    let place = |error: Error| Error::Damaged { path: path.to_owned(), line, what: error.to_string() };
    let unknown = made.heads.iter().chain(&made.tails).find(|&&node| node >= made.nodes);
    if let Some(node) = unknown.or_else(|| (made.nodes > 0 && root >= made.nodes).then_some(&root)) {
        let what = format!("a forest has {} nodes, and none with number {node}", made.nodes);
        return Err(Error::Damaged { path: path.to_owned(), line, what });
    }
    // A forest that is in order stays as it is, with all its nodes.
    if root.wrapping_add(1) == made.nodes && made.check().is_ok() {
        return Ok(made);
    }
    let made = made.arranged(root).map_err(place)?;
    made.check().map_err(place)?;
    Ok(made)
}

fn whole(value: Option<&Value>) -> Option<u32> {
    value?.as_u64().and_then(|number| u32::try_from(number).ok()).filter(|&number| number < TAIL)
}

fn numbers(value: Option<&Value>) -> Option<Vec<u32>> {
    let Some(value) = value else { return Some(Vec::new()) };
    value.as_array()?.iter().map(|number| whole(Some(number))).collect()
}

fn pair(value: &Value) -> Option<(u32, u32)> {
    match numbers(Some(value))?[..] {
        [a, b] => Some((a, b)),
        _ => None,
    }
}

fn read_edge(
    made: &mut Forest,
    edge: &Map<String, Value>,
    (names, words): (&mut Names, &mut Names),
) -> std::result::Result<(), String> {
    let known = ["head", "tails", "target", "span", "score", "features", "links", "tag"];
    if let Some(odd) = edge.keys().find(|key| !known.contains(&&key[..])) {
        return Err(format!("the keys {}, and no `{odd}`", known.join(", ")));
    }
    let head = whole(edge.get("head")).ok_or("a node as `head`")?;
    let tails = numbers(edge.get("tails")).ok_or("a list of nodes as `tails`")?;
    let mut symbol = |value: &Value| match value {
        Value::String(word) if !word.is_empty() => Some(words.intern(word)),
        Value::String(_) => None,
        other => whole(Some(other)).map(|tail| TAIL + tail),
    };
    let symbols: Option<Vec<u32>> =
        edge.get("target").and_then(Value::as_array).and_then(|all| all.iter().map(&mut symbol).collect());
    let symbols = symbols.ok_or("a list of words and tails as `target`")?;
    let span = edge.get("span").map_or(Some((0, 0)), pair).ok_or("two numbers as `span`")?;
    let finite = |value: &Value| value.as_f64().filter(|number| number.is_finite());
    let score = edge.get("score").map_or(Some(0.0), finite).ok_or("a number as `score`")?;
    let links = edge.get("links").map_or(Some(Vec::new()), |all| all.as_array()?.iter().map(pair).collect());
    let links: Vec<(u32, u32)> = links.ok_or("a list of pairs as `links`")?;
    let tag = edge.get("tag").map_or(Some(0), |tag| whole(Some(tag))).ok_or("a number as `tag`")?;
    let mut features = Vec::new();
    if let Some(all) = edge.get("features") {
        for (name, value) in all.as_object().ok_or("an object as `features`")? {
            features.push((names.intern(name), finite(value).ok_or("numbers as values of `features`")?));
        }
    }
    made.add(Edge { head, tails: &tails, symbols: &symbols, score, span, links: &links, tag }, features);
    Ok(())
}
