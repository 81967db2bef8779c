//! Reading sentence pairs and their links, line by line from three files, in chunks that are worked on in parallel.

use super::{Options, Report};
use crate::gap;
use dragoman_base::io::Lines;
use dragoman_base::random::{stream, unit};
use dragoman_base::{Error, Names, Result, words};
use std::ops::Range;

/// Words and links of some sentence pairs in flat arrays.
#[derive(Debug, Default)]
pub struct Chunk {
    pub source: Vec<u32>,
    pub target: Vec<u32>,
    /// Source and target position, in order and without repetition within a pair.
    pub links: Vec<[u16; 2]>,
    /// Tags of the target words, if the text has any.
    pub tags: Vec<u32>,
    /// The source words by their ids in the input that rules are extracted for, if there is one.
    pub asked: Vec<u32>,
    pub pairs: Vec<Pair>,
}

/// Where the parts of one sentence pair are in a chunk.
#[derive(Debug, Clone)]
pub struct Pair {
    pub source: Range<usize>,
    pub target: Range<usize>,
    pub links: Range<usize>,
    /// Whether its orientations are counted.
    pub oriented: bool,
}

/// One sentence pair.
#[derive(Debug, Clone, Copy)]
pub struct Sentence<'a> {
    pub source: &'a [u32],
    pub target: &'a [u32],
    pub links: &'a [[u16; 2]],
    /// Tags of the target words; empty without any.
    pub tags: &'a [u32],
    /// Whether its orientations are counted.
    pub oriented: bool,
    /// The source words in the input that rules are extracted for; empty without one.
    pub asked: &'a [u32],
}

impl Chunk {
    /// Sentence pair `pair` of this chunk.
    pub fn sentence(&self, pair: &Pair) -> Sentence<'_> {
        let Pair { source, target, links, oriented } = pair.clone();
        let tags = self.tags.get(target.clone()).unwrap_or_default();
        let asked = self.asked.get(source.clone()).unwrap_or_default();
        Sentence {
            source: &self.source[source],
            target: &self.target[target],
            links: &self.links[links],
            tags,
            oriented,
            asked,
        }
    }
}

impl Chunk {
    /// The chunk as bytes, for another process; without the words in an input that rules are extracted for.
    pub fn to_bytes(&self) -> Vec<u8> {
        let words = self.source.len() + self.target.len() + self.tags.len() + self.links.len();
        let mut bytes = Vec::with_capacity(4 * (2 + 4 * self.pairs.len() + words));
        let mut put = |number: u32| bytes.extend(number.to_le_bytes());
        put(self.pairs.len() as u32);
        put(self.tags.len() as u32);
        for Pair { source, target, links, oriented } in &self.pairs {
            for range in [source, target, links] {
                put(range.len() as u32);
            }
            put(u32::from(*oriented));
        }
        self.source.iter().chain(&self.target).chain(&self.tags).for_each(|&word| put(word));
        self.links.iter().for_each(|&[i, j]| put(u32::from(i) << 16 | u32::from(j)));
        bytes
    }

    /// The chunk of these bytes.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self> {
        let wrong = || Error::Invalid("a part of the text was damaged on its way".to_owned());
        let (numbers, rest) = bytes.as_chunks::<4>();
        let mut numbers = numbers.iter().map(|number| u32::from_le_bytes(*number));
        let count = numbers.next().filter(|_| rest.is_empty()).ok_or_else(wrong)? as usize;
        let tags = numbers.next().ok_or_else(wrong)? as usize;
        let mut chunk = Self::default();
        let mut ends = [0; 3];
        for _ in 0..count {
            let mut range = |end: &mut usize| {
                let from = *end;
                *end += numbers.next().ok_or_else(wrong)? as usize;
                Ok::<_, Error>(from..*end)
            };
            let [source, target, links] = &mut ends;
            let (source, target, links) = (range(source)?, range(target)?, range(links)?);
            let oriented = numbers.next().ok_or_else(wrong)? == 1;
            chunk.pairs.push(Pair { source, target, links, oriented });
        }
        let tagged = tags == 0 || tags == ends[1];
        if !tagged || numbers.len() != ends.iter().sum::<usize>() + tags {
            return Err(wrong());
        }
        chunk.source.extend(numbers.by_ref().take(ends[0]));
        chunk.target.extend(numbers.by_ref().take(ends[1]));
        chunk.tags.extend(numbers.by_ref().take(tags));
        chunk.links.extend(numbers.map(|link| [(link >> 16) as u16, link as u16]));
        let fits = |pair: &Pair| {
            let (sources, targets) = (pair.source.len(), pair.target.len());
            let inside = |link: &[u16; 2]| usize::from(link[0]) < sources && usize::from(link[1]) < targets;
            chunk.links[pair.links.clone()].iter().all(inside)
        };
        if chunk.pairs.iter().all(fits) { Ok(chunk) } else { Err(wrong()) }
    }
}

/// Words of both sides after which a chunk is full.
const FULL: usize = 1 << 17;

/// Reads chunk after chunk.
pub struct Reader {
    source: Lines,
    target: Lines,
    links: Lines,
    links_path: String,
    target_path: String,
    tags: Option<Lines>,
    longest: usize,
    /// Share of the pairs whose orientations are counted.
    share: f64,
    pub source_names: Names,
    pub target_names: Names,
    pub tag_names: Names,
    pub report: Report,
}

fn ends(lines: &Lines, others: &Lines) -> Error {
    let want = format!("as many lines as in {}", others.path());
    Error::Format {
        path: lines.path().to_owned(),
        line: lines.number() + 1,
        want,
        found: "the end of the file".to_owned(),
    }
}

impl Reader {
    /// Opens the files of the options.
    pub fn open(options: &Options) -> Result<Self> {
        let names = if options.gaps.is_some() { gap::vocabularies() } else { (Names::new(), Names::new()) };
        Ok(Self {
            source: Lines::open(&options.source)?,
            target: Lines::open(&options.target)?,
            links: Lines::open(&options.links)?,
            links_path: options.links.clone(),
            target_path: options.target.clone(),
            tags: options.tags.as_ref().map(|(path, _)| Lines::open(path)).transpose()?,
            share: options.share,
            longest: options.longest.min(usize::from(u16::MAX)),
            source_names: names.0,
            target_names: names.1,
            tag_names: Names::new(),
            report: Report::default(),
        })
    }

    /// The next sentence pairs that can be used; none at the end of the files.
    pub fn chunk(&mut self) -> Result<Option<Chunk>> {
        let mut chunk = Chunk::default();
        let mut links = Vec::new();
        while chunk.source.len() + chunk.target.len() < FULL {
            if !self.pair(&mut chunk, &mut links)? {
                return Ok((!chunk.pairs.is_empty()).then_some(chunk));
            }
        }
        Ok(Some(chunk))
    }

    /// Reads one pair; false at the end of the files.
    fn pair(&mut self, chunk: &mut Chunk, links: &mut Vec<[u32; 2]>) -> Result<bool> {
        let line = (self.source.next()?, self.target.next()?, self.links.next()?);
        let (Some(source), Some(target), Some(text)) = line else {
            return match line {
                (None, None, None) => Ok(false),
                (None, ..) => Err(ends(&self.source, &self.target)),
                (_, None, _) => Err(ends(&self.target, &self.source)),
                _ => Err(ends(&self.links, &self.source)),
            };
        };
        let count = |line: &str| (words(line).count(), words(line).any(|word| word == "|||"));
        let ((sources, source_bars), (targets, target_bars)) = (count(source), count(target));
        let number = self.report.pairs as usize + 1;
        parse(text, links, &self.links_path, number)?;
        check(links, (sources, targets), &self.links_path, number)?;
        let tags = tags_of(self.tags.as_mut(), targets, &self.target_path, number)?;
        let report = &mut self.report;
        report.pairs += 1;
        if sources == 0 || targets == 0 {
            report.empty += 1;
        } else if sources.max(targets) > self.longest {
            report.long += 1;
        } else if source_bars || target_bars {
            report.bars += 1;
        } else {
            report.unaligned += u64::from(links.is_empty());
            let from = (chunk.source.len(), chunk.target.len(), chunk.links.len());
            chunk.source.extend(words(source).map(|word| self.source_names.intern(word)));
            chunk.target.extend(words(target).map(|word| self.target_names.intern(word)));
            chunk.tags.extend(words(tags).map(|tag| self.tag_names.intern(tag)));
            chunk.links.extend(links.iter().map(|link| link.map(|position| position as u16)));
            chunk.pairs.push(Pair {
                source: from.0..chunk.source.len(),
                target: from.1..chunk.target.len(),
                links: from.2..chunk.links.len(),
                oriented: drawn(self.share, number),
            });
        }
        Ok(true)
    }
}

/// Whether a sentence pair, by its line, is among a share of all. Those of a smaller share are among those of a larger.
fn drawn(share: f64, line: usize) -> bool {
    share >= 1.0 || unit(&mut stream(0, line as u64)) < share
}

/// The tags of a line of the target, if there are any: one for each of its words.
fn tags_of<'a>(tags: Option<&'a mut Lines>, targets: usize, target: &str, number: usize) -> Result<&'a str> {
    let Some(lines) = tags else { return Ok("") };
    let path = lines.path().to_owned();
    let want = format!("{targets} tags, one for each word of {target}:{number}");
    let Some(line) = lines.next()? else {
        return Err(Error::Format { path, line: number, want, found: "the end of the file".to_owned() });
    };
    if words(line).count() == targets { Ok(line) } else { Err(Error::format(&path, number, &want, line)) }
}

/// One sentence pair alone, and its words, with gaps in front.
pub fn one_pair(source: &str, target: &str, links: &str) -> Result<(Chunk, (Names, Names))> {
    let (mut names, mut found, mut chunk) = (gap::vocabularies(), Vec::new(), Chunk::default());
    parse(links, &mut found, "links", 1)?;
    chunk.source.extend(words(source).map(|word| names.0.intern(word)));
    chunk.target.extend(words(target).map(|word| names.1.intern(word)));
    let longest = chunk.source.len().max(chunk.target.len());
    if longest > usize::from(u16::MAX) {
        return Err(Error::Invalid(format!("a sentence of {longest} words is too long")));
    }
    check(&found, (chunk.source.len(), chunk.target.len()), "links", 1)?;
    chunk.links.extend(found.iter().map(|link| link.map(|position| position as u16)));
    let (source, target, links) = (0..chunk.source.len(), 0..chunk.target.len(), 0..chunk.links.len());
    chunk.pairs.push(Pair { source, target, links, oriented: true });
    Ok((chunk, names))
}

fn position(text: &str) -> Option<u32> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// The links of a line, in order and each once.
fn parse(line: &str, links: &mut Vec<[u32; 2]>, path: &str, number: usize) -> Result<()> {
    links.clear();
    for word in words(line) {
        let link = word.split_once('-').and_then(|(i, j)| Some([position(i)?, position(j)?]));
        let want = "links `i-j` of whole numbers, counted from 0";
        links.push(link.ok_or_else(|| Error::format(path, number, want, word))?);
    }
    if !links.is_sorted_by(|a, b| a < b) {
        links.sort_unstable();
        links.dedup();
    }
    Ok(())
}

fn check(links: &[[u32; 2]], lengths: (usize, usize), path: &str, number: usize) -> Result<()> {
    let (source, target) = lengths;
    match links.iter().find(|[i, j]| *i as usize >= source || *j as usize >= target) {
        None => Ok(()),
        Some([i, j]) => {
            let want = format!("links between {source} source and {target} target words, counted from 0");
            Err(Error::format(path, number, want, &format!("{i}-{j}")))
        }
    }
}
