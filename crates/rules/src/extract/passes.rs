//! Passes over a bitext: the next chunk is read while rules come out of this one, on all cores.

use super::Options;
use super::bitext::{Chunk, Pair, Reader, Sentence};
use super::blocks::{Blocks, Shape};
use super::filter::{Asked, Filter};
use super::gaps::{self, Cutter, Limits, Written};
use super::gather::{self, Targets};
use super::lexical::Lexicon;
use super::significance::Corpus;
use crate::code::put_phrase;
use crate::gap;
use dragoman_base::sort::{Sorted, Sorter, Strings};
use dragoman_base::{Result, Scratch, hash};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// Working memory for rules with gaps.
#[derive(Debug, Default)]
struct Cutting {
    cutter: Cutter,
    written: Written,
    pattern: Vec<u32>,
}

/// Adds the records of all rules with gaps of a sentence pair that the filter lets through.
fn gapped(
    sentence: Sentence<'_>,
    limits: &Limits,
    filter: Option<&Filter>,
    work: &mut Cutting,
    bytes: &mut Vec<u8>,
) {
    let Cutting { cutter, written, pattern } = work;
    let (found, starts) = cutter.rules(sentence, limits);
    for each in found {
        if let Some(filter) = filter {
            gaps::pattern(sentence, each, pattern);
            if !filter.matches(pattern) {
                continue;
            }
        }
        written.set(sentence, each, starts);
        let links = written.links.iter().copied();
        gather::put_occurrence(bytes, &written.source, &written.target, links, each.shared, None);
    }
}

/// Counts the occurrences that the filter holds back for their target sides, as far as these are among `targets`.
fn others(
    sentence: Sentence<'_>,
    (limits, filter, targets): (&Limits, &Filter, &Targets),
    work: &mut Cutting,
    counts: &mut FxHashMap<Vec<u8>, u64>,
) {
    let Cutting { cutter, written, pattern } = work;
    let (found, starts) = cutter.rules(sentence, limits);
    let (mut code, mut key) = (Vec::new(), Vec::new());
    for each in found {
        written.set(sentence, each, starts);
        code.clear();
        put_phrase(&mut code, &written.target);
        key.clear();
        gather::put_target(&mut key, &code, true);
        if !targets.contains(&hash::text(&key)) {
            continue;
        }
        gaps::pattern(sentence, each, pattern);
        if !filter.matches(pattern) {
            let count = if limits.fractional { gaps::share(each.shared) } else { 1 };
            match counts.get_mut(&key) {
                Some(sum) => *sum += count,
                None => drop(counts.insert(key.clone(), count)),
            }
        }
    }
}

/// Adds the records of all phrase pairs of a sentence pair.
fn occurrences(sentence: Sentence<'_>, shape: &Shape, blocks: &mut Blocks, bytes: &mut Vec<u8>) {
    if sentence.links.is_empty() {
        return;
    }
    blocks.load(sentence, shape);
    blocks.phrases(shape.length, |span| {
        let (source, target) = (span.source, span.target);
        let mut code = if sentence.oriented { 0 } else { gather::NOT_COUNTED };
        for (i, &model) in shape.models.iter().enumerate().filter(|_| sentence.oriented) {
            for (side, orientation) in blocks.orient(span, model, shape.moses).into_iter().enumerate() {
                code |= (orientation as u32) << (4 * i + 2 * side);
            }
        }
        let links = &sentence.links[blocks.starts[source.0]..blocks.starts[source.1 + 1]];
        let links = links.iter().map(|&[i, j]| ((i - source.0 as u16) << 4 | (j - target.0 as u16)) as u8);
        let words = (&sentence.source[source.0..=source.1], &sentence.target[target.0..=target.1]);
        let tags = sentence.tags.get(target.0).zip(sentence.tags.get(target.1)).map(|(&a, &b)| [a, b]);
        gather::put_occurrence(bytes, words.0, words.1, links, code, tags);
    });
}

/// What reading leaves behind besides the occurrences.
pub struct Read<'a> {
    pub reader: Reader,
    pub lexicon: Lexicon,
    pub corpora: Option<(Corpus, Corpus)>,
    filter: Option<(&'a Filter, Asked)>,
}

impl Read<'_> {
    /// Writes Moses' lexical tables, if the options ask for them.
    pub fn write_lexicon(&self, options: &Options) -> Result<()> {
        let (source, target) = (&self.reader.source_names, &self.reader.target_names);
        options
            .lexical
            .as_ref()
            .map_or(Ok(()), |(prefix, ending)| self.lexicon.write(prefix, ending, source, target))
    }

    /// Counts what has to be counted in order, and reads on.
    pub fn next(&mut self, chunk: Option<&Chunk>) -> Result<Option<Chunk>> {
        for sentence in chunk.iter().flat_map(|chunk| chunk.pairs.iter().map(|pair| chunk.sentence(pair))) {
            self.lexicon.add(sentence);
            if let Some((source, target)) = &mut self.corpora {
                source.push(sentence.source)?;
                target.push(sentence.target)?;
            }
        }
        let mut next = self.reader.chunk()?;
        if let (Some((filter, asked)), Some(chunk)) = (&mut self.filter, &mut next) {
            asked.put(filter, &self.reader.source_names, &chunk.source, &mut chunk.asked);
        }
        Ok(next)
    }
}

/// Sentence pairs that one task extracts from: fewer where each has many rules.
const BLOCK: usize = 256;
const BLOCK_OF_GAPS: usize = 32;
/// Blocks that wait for the sorter, for each thread.
const WAITING: usize = 4;

/// Reads all chunks; what `work` makes of some pairs of a chunk goes to the sorter.
fn pass(
    mut next: impl FnMut(Option<&Chunk>) -> Result<Option<Chunk>> + Send,
    block: usize,
    work: impl Fn(&Chunk, &[Pair]) -> Vec<u8> + Sync,
    sorter: &mut Sorter<Strings>,
) -> Result<()> {
    let wave = block * WAITING * rayon::current_num_threads();
    let mut current = next(None)?;
    while let Some(chunk) = current {
        let (more, pushed) = rayon::join(
            || next(Some(&chunk)),
            || {
                chunk.pairs.chunks(wave).try_for_each(|wave| {
                    let found: Vec<Vec<u8>> =
                        wave.par_chunks(block).map(|pairs| work(&chunk, pairs)).collect();
                    found.iter().try_for_each(|bytes| gather::push_all(sorter, bytes))
                })
            },
        );
        pushed?;
        current = more?;
    }
    Ok(())
}

/// Sentence pairs that one task extracts from, and what it makes of them: the records of all occurrences of rules.
fn finder<'a>(
    shape: &'a Shape,
    gaps: Option<&'a Limits>,
    filter: Option<&'a Filter>,
) -> (usize, impl Fn(&Chunk, &[Pair]) -> Vec<u8> + Sync + 'a) {
    let block = if gaps.is_some() { BLOCK_OF_GAPS } else { BLOCK };
    let work = move |chunk: &Chunk, pairs: &[Pair]| {
        let (mut blocks, mut cutting, mut bytes) = (Blocks::default(), Cutting::default(), Vec::new());
        for sentence in pairs.iter().map(|pair| chunk.sentence(pair)) {
            match gaps {
                Some(limits) => gapped(sentence, limits, filter, &mut cutting, &mut bytes),
                None => occurrences(sentence, shape, &mut blocks, &mut bytes),
            }
        }
        bytes
    };
    (block, work)
}

fn shape(options: &Options) -> Shape {
    Shape { length: options.length, models: options.models.clone(), moses: options.moses_next }
}

/// Opens the files.
pub fn open<'a>(options: &Options, filter: Option<&'a Filter>) -> Result<Read<'a>> {
    let gaps = if options.gaps.is_some() { (1, gap::MOST as u32) } else { (0, 0) };
    let corpora = options.significance.map(|_| (Corpus::with_gaps(gaps.0), Corpus::with_gaps(gaps.1)));
    let lexicon = if options.gaps.is_some() { Lexicon::new(gaps) } else { Lexicon::default() };
    let asked = filter.map(|filter| (filter, Asked::default()));
    Ok(Read { reader: Reader::open(options)?, lexicon, corpora, filter: asked })
}

/// Reads the files; the occurrences of rules come back sorted.
pub fn first<'a>(
    options: &Options,
    filter: Option<&'a Filter>,
    mut sorter: Sorter<Strings>,
) -> Result<(Read<'a>, Sorted<Strings>)> {
    let mut read = open(options, filter)?;
    let shape = shape(options);
    let (block, work) = finder(&shape, options.gaps.as_ref(), filter);
    pass(|chunk| read.next(chunk), block, work, &mut sorter)?;
    Ok((read, sorter.finish()?))
}

/// The occurrences of rules in a chunk, as a sorted run.
pub fn run(options: &Options, chunk: &Chunk) -> Result<Vec<u8>> {
    let shape = shape(options);
    let (block, work) = finder(&shape, options.gaps.as_ref(), None);
    let found: Vec<Vec<u8>> = chunk.pairs.par_chunks(block).map(|pairs| work(chunk, pairs)).collect();
    let mut sorter = Sorter::new(Strings::default(), &Scratch::new(None), usize::MAX);
    found.iter().try_for_each(|bytes| gather::push_all(&mut sorter, bytes))?;
    sorter.run()
}

/// Reads the files again; what the filter held back counts for target sides, so that scores are those of all rules.
pub fn second(
    options: &Options,
    what: (&Limits, &Filter, &Targets),
    by_target: &mut Sorter<Strings>,
) -> Result<()> {
    let (mut reader, mut asked) = (Reader::open(options)?, Asked::default());
    let next = |_: Option<&Chunk>| {
        let mut next = reader.chunk()?;
        if let Some(chunk) = &mut next {
            asked.put(what.1, &reader.source_names, &chunk.source, &mut chunk.asked);
        }
        Ok(next)
    };
    let work = |chunk: &Chunk, pairs: &[Pair]| {
        let (mut cutting, mut counts) = (Cutting::default(), FxHashMap::default());
        for pair in pairs {
            others(chunk.sentence(pair), what, &mut cutting, &mut counts);
        }
        let mut bytes = Vec::new();
        for (key, count) in counts {
            gather::put_other(&mut bytes, &key, count);
        }
        bytes
    };
    pass(next, BLOCK, work, by_target)
}
