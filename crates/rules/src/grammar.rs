//! Lines of grammars with gaps, as Moses and cdec write them.
//!
//! Moses: `[X][X] a [X] ||| b [X][X] [X] ||| scores ||| 0-1 1-0`, where the last symbol of each side is the label of the whole
//! and links pair the gaps. cdec: `[X] ||| [X,1] a ||| b [X,1] ||| name=score ... ||| 1-0`.

use crate::gap;
use dragoman_base::io::Lines;
use dragoman_base::{Error, Result, words};

/// What the lines of a table look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Moses' phrase tables.
    Phrases,
    /// Moses' hierarchical tables.
    Moses,
    /// cdec's grammars.
    Cdec,
}

impl Form {
    /// The form of a name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Phrases, Self::Moses, Self::Cdec].into_iter().find(|form| form.name() == name)
    }

    /// `phrases`, `moses` or `cdec`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Phrases => "phrases",
            Self::Moses => "moses",
            Self::Cdec => "cdec",
        }
    }

    /// What the first line of a file looks like.
    pub fn of_file(path: &str) -> Result<Self> {
        let mut lines = Lines::open(path)?;
        Ok(Self::of_line(lines.next()?.unwrap_or("")))
    }

    fn of_line(line: &str) -> Self {
        let mut fields = fields(line);
        let (first, second) = (fields.next().unwrap_or(""), fields.next().unwrap_or(""));
        let ends = |side: &str| words(side).last().is_some_and(is_label);
        let named = |scores: &str| words(scores).all(|score| score.contains('='));
        if is_label(first) && fields.nth(1).is_some_and(named) {
            Self::Cdec
        } else if ends(first) && ends(second) {
            Self::Moses
        } else {
            Self::Phrases
        }
    }
}

/// The fields of a line, between bars with blanks around them.
pub fn fields(line: &str) -> impl Iterator<Item = &str> {
    line.split("|||").map(|field| field.trim_matches([' ', '\t']))
}

/// Whether a symbol is a label, `[X]`.
fn is_label(symbol: &str) -> bool {
    let inside = symbol.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inside.is_some_and(|name| !name.is_empty() && !name.contains(['[', ']', ',']))
}

/// A rule of a line: symbols of both sides, gaps among them as our vocabularies have them, links of words, scores.
#[derive(Debug, Default)]
pub struct Line<'a> {
    pub source: Vec<&'a str>,
    pub target: Vec<&'a str>,
    pub links: Vec<[u8; 2]>,
    pub scores: &'a str,
}

/// Where a line is.
pub type Place<'a> = (&'a str, usize);

impl<'a> Line<'a> {
    /// Reads a line of a grammar; errors name it.
    pub fn read(form: Form, at: Place<'_>, line: &'a str) -> Result<Self> {
        if words(line).count() != line.split([' ', '\t']).filter(|word| !word.is_empty()).count() {
            return Err(Error::format(at.0, at.1, "symbols without control characters", line));
        }
        let rule = match form {
            Form::Cdec => cdec(at, line)?,
            _ => moses(at, line)?,
        };
        if rule.source.iter().all(|&symbol| symbol == gap::SOURCE)
            || rule.target.iter().all(|symbol| gap::of_target(symbol).is_some())
        {
            return Err(Error::format(at.0, at.1, "a word on both sides of a rule", line));
        }
        Ok(rule)
    }
}

fn too_many(at: Place<'_>, line: &str) -> Error {
    Error::format(at.0, at.1, format!("at most {} gaps in a rule", gap::MOST), line)
}

fn unpaired(at: Place<'_>, line: &str) -> Error {
    Error::format(at.0, at.1, "every gap paired with one of the other side", line)
}

fn moses<'a>(at: Place<'_>, line: &'a str) -> Result<Line<'a>> {
    let form = || Error::format(at.0, at.1, "source [X] ||| target [X] ||| scores ||| links", line);
    let mut fields = fields(line);
    let (Some(source), Some(target), Some(scores)) = (fields.next(), fields.next(), fields.next()) else {
        return Err(form());
    };
    let side = |text: &'a str| -> Result<Vec<&'a str>> {
        let mut symbols: Vec<&str> = words(text).collect();
        match symbols.pop() {
            Some("[X]") => Ok(symbols),
            Some(label) if is_label(label) => Err(other_label(at, label)),
            _ => Err(form()),
        }
    };
    let (mut source, mut target) = (side(source)?, side(target)?);
    let links = links(at, fields.next().unwrap_or(""), (source.len(), target.len()))?;
    let is_gap = |symbol: &str| symbol.starts_with('[') && symbol.contains("][") && symbol.ends_with(']');
    for symbol in source.iter().chain(&target) {
        if is_gap(symbol) && *symbol != "[X][X]" {
            return Err(other_label(at, symbol));
        }
    }
    let gaps: Vec<usize> = (0..source.len()).filter(|&i| is_gap(source[i])).collect();
    let others: Vec<usize> = (0..target.len()).filter(|&j| is_gap(target[j])).collect();
    if gaps.len().max(others.len()) > gap::MOST {
        return Err(too_many(at, line));
    }
    for &j in &others {
        let mut ends = links.iter().filter(|link| usize::from(link[1]) == j);
        let number = ends.next().and_then(|link| gaps.iter().position(|&i| i == usize::from(link[0])));
        target[j] = number.filter(|_| ends.next().is_none()).map_or("", |number| gap::TARGET[number]);
    }
    for &i in &gaps {
        source[i] = gap::SOURCE;
    }
    check_pairs(at, line, &source, &target, &others)?;
    let words = |link: &[u8; 2]| {
        (source[usize::from(link[0])] != gap::SOURCE, gap::of_target(target[usize::from(link[1])]).is_none())
    };
    if links.iter().map(words).any(|ends| ends.0 != ends.1) {
        return Err(unpaired(at, line));
    }
    let links = links.into_iter().filter(|link| words(link).0).collect();
    Ok(Line { source, target, links, scores })
}

/// Whether source and target have the same gaps; `gaps` are where those of the target are.
fn check_pairs(at: Place<'_>, line: &str, source: &[&str], target: &[&str], gaps: &[usize]) -> Result<()> {
    let count = gap::count(source.iter().copied());
    let mut known: Vec<Option<usize>> = gaps.iter().map(|&j| gap::of_target(target[j])).collect();
    known.sort_unstable();
    if known.len() == count && known.iter().enumerate().all(|(i, gap)| *gap == Some(i)) {
        Ok(())
    } else {
        Err(unpaired(at, line))
    }
}

fn other_label(at: Place<'_>, label: &str) -> Error {
    let want = "rules of the label X only (glue rules are the decoder's, and need no table)";
    Error::format(at.0, at.1, want, label)
}

fn links(at: Place<'_>, text: &str, shape: (usize, usize)) -> Result<Vec<[u8; 2]>> {
    let mut found = Vec::new();
    for link in words(text) {
        let ends = link
            .split_once('-')
            .and_then(|(i, j)| Some((i.parse::<usize>().ok()?, j.parse::<usize>().ok()?)));
        let (i, j) = ends.ok_or_else(|| Error::format(at.0, at.1, "links i-j", link))?;
        if i >= shape.0 || j >= shape.1 {
            let want = format!("links within {} and {} symbols", shape.0, shape.1);
            return Err(Error::format(at.0, at.1, want, link));
        }
        found.push([i as u8, j as u8]);
    }
    Ok(found)
}

/// The number of a gap `[X,1]`, from 0; none for a word, an error for a gap of another label or number.
fn cdec_gap(at: Place<'_>, symbol: &str) -> Result<Option<usize>> {
    let Some((label, number)) = symbol
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .and_then(|inside| inside.rsplit_once(','))
        .and_then(|(label, number)| Some((label, number.parse::<usize>().ok()?)))
    else {
        return Ok(None);
    };
    match number {
        _ if label != "X" => Err(other_label(at, symbol)),
        0 => Err(Error::format(at.0, at.1, "gaps [X,1] and [X,2]", symbol)),
        _ => Ok(Some(number - 1)),
    }
}

fn cdec<'a>(at: Place<'_>, line: &'a str) -> Result<Line<'a>> {
    let mut fields = fields(line);
    let (Some(label), Some(source), Some(target), Some(scores)) =
        (fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return Err(Error::format(at.0, at.1, "[X] ||| source ||| target ||| name=score ...", line));
    };
    if label != "[X]" {
        return Err(other_label(at, label));
    }
    let (mut source, mut target): (Vec<&str>, Vec<&str>) = (words(source).collect(), words(target).collect());
    let links = links(at, fields.next().unwrap_or(""), (source.len(), target.len()))?;
    let mut numbers = Vec::new();
    for symbol in &mut source {
        if let Some(number) = cdec_gap(at, symbol)? {
            numbers.push(number);
            *symbol = gap::SOURCE;
        }
    }
    let mut gaps = Vec::new();
    for (j, symbol) in target.iter_mut().enumerate() {
        if let Some(number) = cdec_gap(at, symbol)? {
            gaps.push(j);
            // Source gaps are counted from left to right, whatever their numbers in the file.
            let place = numbers.iter().position(|&known| known == number);
            *symbol = place.and_then(|place| gap::TARGET.get(place).copied()).unwrap_or("");
        }
    }
    if numbers.len().max(gaps.len()) > gap::MOST {
        return Err(too_many(at, line));
    }
    check_pairs(at, line, &source, &target, &gaps)?;
    let is_word = |link: &[u8; 2]| {
        source[usize::from(link[0])] != gap::SOURCE && gap::of_target(target[usize::from(link[1])]).is_none()
    };
    let links = links.into_iter().filter(|link| is_word(link)).collect();
    Ok(Line { source, target, links, scores })
}

/// The named scores of a line of cdec.
pub fn named_scores<'a>(at: Place<'_>, text: &'a str) -> Result<Vec<(&'a str, f32)>> {
    words(text)
        .map(|item| {
            let found =
                item.rsplit_once('=').and_then(|(name, value)| Some((name, value.parse::<f32>().ok()?)));
            let fine = found.filter(|(name, value)| !name.is_empty() && value.is_finite());
            fine.ok_or_else(|| Error::format(at.0, at.1, "scores name=number", item))
        })
        .collect()
}

/// The names of all scores of a grammar of cdec, in the order of their first occurrence.
pub fn score_names(path: &str) -> Result<Vec<String>> {
    let mut lines = Lines::open(path)?;
    let (mut names, mut known): (Vec<String>, rustc_hash::FxHashSet<String>) = Default::default();
    let mut number = 0;
    while let Some(line) = lines.next()? {
        number += 1;
        for (name, _) in named_scores((path, number), fields(line).nth(3).unwrap_or(""))? {
            if !known.contains(name) {
                known.insert(name.to_owned());
                names.push(name.to_owned());
            }
        }
        if names.len() > MOST_SCORES {
            let want = format!("at most {MOST_SCORES} scores, the same for all rules");
            return Err(Error::format(path, number, want, line));
        }
    }
    Ok(names)
}

/// Scores are columns: a grammar with a score for every rule is none that a table can hold.
const MOST_SCORES: usize = 100;
