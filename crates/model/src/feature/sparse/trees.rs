//! Files of boosted trees: JSON, made by `dragoman features boost`.
//!
//! A tree is a number, the value of a leaf, or an object that asks about an attribute of a rule:
//! `{"attribute": "source-words", "up_to": 2, "then": TREE, "else": TREE}`.

use dragoman_base::{Error, Names, Result};
use serde_json::{Map, Value};

/// What the file says that it is.
const WHAT: &str = "boosted trees";
const FORMAT: u64 = 1;
/// Marks leaves, in place of an attribute.
const LEAF: u32 = u32::MAX;

/// A node of a tree, or a leaf.
#[derive(Debug, Clone, Copy)]
struct Node {
    /// By its number in the file; [`LEAF`] is none.
    attribute: u32,
    /// Up to this `then` is next, and `other` after it; or the leaf's value.
    value: f32,
    then: u32,
    other: u32,
}

/// The content of a file.
#[derive(Debug)]
pub struct Trees {
    /// Attributes by name; nodes have their numbers.
    pub attributes: Vec<String>,
    /// The frequent words of the source and of the target.
    pub frequent: [Names; 2],
    nodes: Vec<Node>,
    roots: Vec<u32>,
}

impl Trees {
    /// Reads and checks a file.
    pub fn read(path: &str) -> Result<Self> {
        let io = |source| Error::Io { path: path.to_owned(), source };
        let bytes = std::fs::read(path).map_err(io)?;
        let value: Value = serde_json::from_slice(&bytes).map_err(|error| Error::Damaged {
            path: path.to_owned(),
            line: error.line().max(1),
            what: format!("no file of boosted trees, or cut off: {error}"),
        })?;
        Reader { path }.trees(&value)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.roots.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }

    /// The value of a tree for a rule with these attributes.
    #[inline]
    pub fn value(&self, tree: usize, attributes: &[f32]) -> f32 {
        let mut node = &self.nodes[self.roots[tree] as usize];
        while node.attribute != LEAF {
            let then = attributes[node.attribute as usize] <= node.value;
            node = &self.nodes[if then { node.then } else { node.other } as usize];
        }
        node.value
    }

    /// Keeps the attributes alone that some tree asks about, so that no others are worked out.
    #[must_use]
    pub fn without_idle(mut self) -> Self {
        let mut new = vec![LEAF; self.attributes.len()];
        let mut kept = Vec::new();
        for node in self.nodes.iter_mut().filter(|node| node.attribute != LEAF) {
            let at = node.attribute as usize;
            if new[at] == LEAF {
                new[at] = kept.len() as u32;
                kept.push(self.attributes[at].clone());
            }
            node.attribute = new[at];
        }
        Self { attributes: kept, ..self }
    }
}

/// Turns JSON into trees; errors name the file and the place in it.
struct Reader<'a> {
    path: &'a str,
}

impl Reader<'_> {
    /// An error.
    fn wrong(&self, place: &str, want: &str, found: &str) -> Error {
        let (path, place) = (self.path, if place.is_empty() { String::new() } else { format!("{place}: ") });
        Error::Invalid(format!("{path}: {place}expected {want}, found {found}"))
    }

    fn trees(&self, file: &Value) -> Result<Trees> {
        let file = self.object(file, "")?;
        let said = |key: &str| file.get(key).map_or_else(|| "nothing".to_owned(), short);
        if file.get("what").and_then(Value::as_str) != Some(WHAT) {
            return Err(self.wrong("what", &format!("\"{WHAT}\""), &said("what")));
        }
        if file.get("format").and_then(Value::as_u64) != Some(FORMAT) {
            return Err(self.wrong("format", &FORMAT.to_string(), &said("format")));
        }
        let attributes = self.texts(file, "attributes", "attributes")?;
        let words = self.object(file.get("frequent").unwrap_or(&Value::Null), "frequent")?;
        let frequent = [
            names(&self.texts(words, "source", "frequent.source")?),
            names(&self.texts(words, "target", "frequent.target")?),
        ];
        let known = names(&attributes);
        if known.len() < attributes.len() {
            return Err(self.wrong("attributes", "each once", "one of them twice"));
        }
        let mut made = Trees { attributes, frequent, nodes: Vec::new(), roots: Vec::new() };
        let trees = file.get("trees").and_then(Value::as_array);
        let trees = trees.ok_or_else(|| self.wrong("trees", "a list", &said("trees")))?;
        for (number, tree) in trees.iter().enumerate() {
            let root = self.node(tree, &format!("tree {}", number + 1), &known, &mut made.nodes)?;
            made.roots.push(root);
        }
        Ok(made)
    }

    /// Adds a node and all below it; its number. JSON that nests deeper than 128 is refused before.
    fn node(&self, value: &Value, place: &str, known: &Names, nodes: &mut Vec<Node>) -> Result<u32> {
        let at = nodes.len();
        if value.is_number() {
            let value = self.number(value, place)?;
            nodes.push(Node { attribute: LEAF, value, then: 0, other: 0 });
            return Ok(at as u32);
        }
        let question = self.object(value, place)?;
        let part = |key: &str| {
            let place = format!("{place}.{key}");
            question
                .get(key)
                .ok_or_else(|| self.wrong(&place, "a value", "nothing"))
                .map(|value| (value, place))
        };
        let (name, name_place) = part("attribute")?;
        let attribute = name.as_str().and_then(|name| known.get(name));
        let attribute =
            attribute.ok_or_else(|| self.wrong(&name_place, "one of the file's attributes", &short(name)))?;
        let (limit, limit_place) = part("up_to")?;
        let value = self.number(limit, &limit_place)?;
        nodes.push(Node { attribute, value, then: 0, other: 0 });
        let (then, then_place) = part("then")?;
        nodes[at].then = self.node(then, &then_place, known, nodes)?;
        let (other, other_place) = part("else")?;
        nodes[at].other = self.node(other, &other_place, known, nodes)?;
        Ok(at as u32)
    }

    fn object<'v>(&self, value: &'v Value, place: &str) -> Result<&'v Map<String, Value>> {
        value.as_object().ok_or_else(|| self.wrong(place, "an object", &short(value)))
    }

    fn number(&self, value: &Value, place: &str) -> Result<f32> {
        let number = value.as_f64().map(|number| number as f32).filter(|number| number.is_finite());
        number.ok_or_else(|| self.wrong(place, "a number of 32 bits", &short(value)))
    }

    fn texts(&self, object: &Map<String, Value>, key: &str, place: &str) -> Result<Vec<String>> {
        let list = object.get(key).and_then(Value::as_array);
        let texts = list.and_then(|list| list.iter().map(|one| one.as_str().map(str::to_owned)).collect());
        texts.ok_or_else(|| {
            self.wrong(place, "a list of texts", &object.get(key).map_or_else(|| "nothing".to_owned(), short))
        })
    }
}

/// A value as errors have it.
fn short(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        other => other.to_string().chars().take(60).collect(),
    }
}

fn names(words: &[String]) -> Names {
    let mut made = Names::new();
    for word in words {
        made.intern(word);
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOOD: &str = r#"{"what": "boosted trees", "format": 1, "attributes": ["a", "b", "c"],
        "frequent": {"source": ["x"], "target": []},
        "trees": [0.5, {"attribute": "c", "up_to": 1.5, "then": -1,
                        "else": {"attribute": "a", "up_to": 0, "then": 2, "else": 3}}]}"#;

    fn read(text: &str) -> Result<Trees> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Trees::read(file.path().to_str().unwrap())
    }

    #[test]
    fn trees_answer_with_the_leaf() {
        let trees = read(GOOD).unwrap();
        assert_eq!((trees.len(), trees.frequent[0].len()), (2, 1));
        let values = |attributes: [f32; 3]| (trees.value(0, &attributes), trees.value(1, &attributes));
        assert_eq!(values([0.0, 0.0, 1.5]), (0.5, -1.0));
        assert_eq!(values([0.0, 0.0, 1.6]), (0.5, 2.0));
        assert_eq!(values([0.1, 0.0, 1.6]), (0.5, 3.0));
        let fewer = trees.without_idle();
        assert_eq!(fewer.attributes, ["c", "a"]);
        assert_eq!((fewer.value(1, &[1.6, 0.0]), fewer.value(1, &[1.5, 9.0])), (2.0, -1.0));
    }

    #[test]
    fn errors_name_the_place() {
        let wrong = |from: &str, to: &str| read(&GOOD.replace(from, to)).unwrap_err().to_string();
        let ends = |text: String, end: &str| assert!(text.ends_with(end), "{text}");
        ends(wrong("boosted trees", "a model"), ": what: expected \"boosted trees\", found \"a model\"");
        ends(wrong("\"format\": 1", "\"format\": 2"), ": format: expected 1, found 2");
        ends(wrong("[\"x\"]", "[1]"), ": frequent.source: expected a list of texts, found a list");
        ends(wrong("\"b\"", "\"a\""), ": attributes: expected each once, found one of them twice");
        ends(
            wrong("\"a\", \"up_to\"", "\"d\", \"up_to\""),
            ": expected one of the file's attributes, found \"d\"",
        );
        ends(
            wrong("\"up_to\": 0", "\"up_to\": 1e99"),
            "tree 2.else.up_to: expected a number of 32 bits, found 1e+99",
        );
        ends(wrong("\"then\": 2, ", ""), "tree 2.else.then: expected a value, found nothing");
        ends(wrong("\"then\": 2", "\"then\": \"2\""), "tree 2.else.then: expected an object, found \"2\"");
        let cut = read(&GOOD[..GOOD.len() - 20]).unwrap_err().to_string();
        assert!(cut.contains(":4: no file of boosted trees, or cut off"), "{cut}");
        let none = Trees::read("/nowhere/trees.json").unwrap_err().to_string();
        assert!(none.starts_with("/nowhere/trees.json: "), "{none}");
    }

    proptest! {
        /// Whatever happens to a byte: an error or trees that answer, never a panic.
        #[test]
        fn damaged_files_are_errors_or_trees(at in 0..GOOD.len(), byte in any::<u8>()) {
            let mut bytes = GOOD.as_bytes().to_vec();
            bytes[at] = byte;
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), &bytes).unwrap();
            if let Ok(trees) = Trees::read(file.path().to_str().unwrap()) {
                let attributes = vec![1.0; trees.attributes.len()];
                for tree in 0..trees.len() {
                    prop_assert!(trees.value(tree, &attributes).is_finite());
                }
            }
        }
    }
}
