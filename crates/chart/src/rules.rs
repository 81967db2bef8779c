//! The rules that apply to a sentence, each once, scored and ranked; where they apply is the parse's business.

use crate::parse::{Parse, Pattern, Source};
use dragoman_base::Result;
use dragoman_model::feature::StateFeature;
use dragoman_model::feature::own::Said;
use dragoman_model::{Applied, GAP, KNOWN, Origin, Rule, Sentence, System, Weights, top};

/// How many rules to keep, and what to do with unknown words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// Rules of each source side that are kept, by their estimate; 0 keeps all.
    pub limit: usize,
    /// Leaves unknown words out instead of passing them through.
    pub drop_unknown: bool,
}

/// A rule of the sentence.
#[derive(Debug, Clone, Copy)]
struct Entry {
    pattern: u32,
    /// Its number in its table, or that of a given translation.
    number: u32,
    start: u32,
    size: u16,
    /// What features said of it that saw all rules, by place.
    row: u32,
    score: f32,
    estimate: f32,
}

/// The rules of a sentence: those of each source side are neighbours, best first; then the three of the start symbol.
#[derive(Debug, Default)]
pub struct Rules {
    patterns: Vec<Pattern>,
    list: Vec<Entry>,
    targets: Vec<u32>,
    /// The rules of a pattern are `choices[pattern]` up to `choices[pattern + 1]`.
    choices: Vec<u32>,
    said: Said,
    length: u32,
    /// Scores of the rules of the start symbol.
    top: [f32; 3],
}

/// Both tails, in order.
const BOTH: [u32; 2] = [GAP, GAP + 1];

impl Rules {
    /// Collects, scores, ranks and cuts the rules of a sentence.
    ///
    /// `extra` is a feature that only this sentence has.
    pub fn new(
        system: &System,
        sentence: &Sentence<'_>,
        weights: &Weights,
        parse: &mut Parse,
        choice: Choice,
        extra: Option<&dyn StateFeature>,
    ) -> Result<Self> {
        let patterns = std::mem::take(&mut parse.patterns);
        let length = sentence.len() as u32;
        let mut made = Self { patterns, length, choices: vec![0], ..Self::default() };
        let limit = if system.asks_for_all() { 0 } else { choice.limit };
        for pattern in 0..made.patterns.len() as u32 {
            made.gather(system, sentence, pattern, choice.drop_unknown);
            made.rate(system, sentence, weights, pattern, (limit, extra));
        }
        if system.asks_for_all() {
            made.said = system.ask(sentence, &Listed(&made))?;
            made.cut(weights, choice.limit);
        }
        let count = made.list.len() as u32;
        for number in [top::FIRST, top::NEXT, top::END] {
            made.top[number as usize] = system.weigh(sentence, &made.rule(count + number), weights);
        }
        Ok(made)
    }

    /// The rules of a pattern, best first.
    #[inline]
    pub fn of(&self, pattern: u32) -> (u32, u32) {
        (self.choices[pattern as usize], self.choices[pattern as usize + 1])
    }

    /// The number of a rule of the start symbol.
    #[inline]
    pub fn top(&self, number: u32) -> u32 {
        self.list.len() as u32 + number
    }

    /// Weighted sum of a rule's features.
    #[inline]
    pub fn score(&self, rule: u32) -> f32 {
        match self.list.get(rule as usize) {
            Some(entry) => entry.score,
            None => self.top[rule as usize - self.list.len()],
        }
    }

    /// The rules of each pattern.
    pub fn patterns(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.choices.windows(2).map(|two| (two[0], two[1]))
    }

    /// What features said that saw all rules, and as which number they saw one.
    pub fn said(&self, rule: u32) -> (&Said, u32) {
        (&self.said, self.list.get(rule as usize).map_or(u32::MAX, |entry| entry.row))
    }

    /// How many there are, those of the start symbol aside.
    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        self.list.len() * size_of::<Entry>() + self.targets.len() * 4
    }

    /// Adds the rules of a pattern.
    fn gather(&mut self, system: &System, sentence: &Sentence<'_>, pattern: u32, drop_unknown: bool) {
        let Pattern { source, arity, .. } = self.patterns[pattern as usize];
        match source {
            Source::Table(table, node) => {
                let table = &system.tables()[usize::from(table)];
                for number in table.rules.rules(node) {
                    let start = self.targets.len();
                    let symbols = table.rules.target(number);
                    self.targets.extend(symbols.iter().map_while(|&symbol| table.target(symbol)));
                    let read = &self.targets[start..];
                    let once = |gap: u8| read.iter().filter(|&&s| s == GAP + u32::from(gap)).count() == 1;
                    let gaps = read.iter().filter(|&&s| s >= GAP).count();
                    if read.len() < symbols.len() || gaps != usize::from(arity) || !(0..arity).all(once) {
                        self.targets.truncate(start); // the bytes are damaged: no such word, or gaps without partners
                        continue;
                    }
                    self.push(pattern, number, start);
                }
            }
            Source::Word(at, known) => {
                let start = self.targets.len();
                if !drop_unknown {
                    self.targets.extend(sentence.target_id(&sentence.input.words[at as usize]));
                }
                self.push(pattern, if known { KNOWN } else { 0 }, start);
            }
            Source::Given(number) => {
                let start = self.targets.len();
                let words = &sentence.input.forced[number as usize].target;
                self.targets.extend(words.iter().filter_map(|word| sentence.target_id(word)));
                self.push(pattern, number, start);
            }
        }
    }

    fn push(&mut self, pattern: u32, number: u32, start: usize) {
        let size = (self.targets.len() - start) as u16;
        let start = start as u32;
        self.list.push(Entry { pattern, number, start, size, row: 0, score: 0.0, estimate: 0.0 });
    }

    /// Scores the rules of a pattern, which are the last ones, and keeps the best.
    fn rate(
        &mut self,
        system: &System,
        sentence: &Sentence<'_>,
        weights: &Weights,
        pattern: u32,
        (limit, extra): (usize, Option<&dyn StateFeature>),
    ) {
        let first = self.choices[pattern as usize] as usize;
        for at in first..self.list.len() {
            let rule = self.rule(at as u32);
            let given = match rule.origin {
                Origin::Given => sentence.input.forced[rule.number as usize].log,
                _ => 0.0,
            };
            let score = system.weigh(sentence, &rule, weights) + given;
            let states = system.state_features().iter().map(AsRef::as_ref).chain(extra);
            let guesses: f32 = states.map(|f| f.estimate(sentence, &rule, weights.head())).sum();
            let entry = &mut self.list[at];
            (entry.row, entry.score, entry.estimate) = (at as u32, score, score + guesses);
        }
        self.rank(first, limit);
        self.choices.push(self.list.len() as u32);
    }

    /// Sorts the rules from `first` on, best first, equals in order of the table, and keeps `limit` of them.
    fn rank(&mut self, first: usize, limit: usize) {
        let better = |a: &Entry, b: &Entry| b.estimate.total_cmp(&a.estimate).then(a.number.cmp(&b.number));
        if limit > 0 && self.list.len() - first > limit {
            self.list[first..].select_nth_unstable_by(limit, better);
            self.list.truncate(first + limit);
        }
        self.list[first..].sort_unstable_by(better);
        while self.list.len() > first && self.list[self.list.len() - 1].estimate == f32::NEG_INFINITY {
            self.list.pop();
        }
    }

    /// Adds what features said that saw all rules, and ranks and cuts again.
    fn cut(&mut self, weights: &Weights, limit: usize) {
        let (all, old) = (std::mem::take(&mut self.list), std::mem::replace(&mut self.choices, vec![0]));
        for bounds in old.windows(2) {
            let first = self.list.len();
            for number in bounds[0]..bounds[1] {
                let sum = self.said.sum(number, weights);
                let entry = all[number as usize];
                let (score, estimate) = (entry.score + sum, entry.estimate + sum);
                self.list.push(Entry { row: number, score, estimate, ..entry });
            }
            self.rank(first, limit);
            self.choices.push(self.list.len() as u32);
        }
    }
}

impl Applied for Rules {
    fn len(&self) -> usize {
        self.list.len() + self.top.len()
    }

    fn rule(&self, number: u32) -> Rule<'_> {
        let Some(entry) = self.list.get(number as usize) else {
            let number = number - self.list.len() as u32;
            let target = if number == top::END { &BOTH[..1] } else { &BOTH[..] };
            return Rule { origin: Origin::Glue, number, from: 0, to: self.length, gaps: &[], target };
        };
        let pattern = &self.patterns[entry.pattern as usize];
        let origin = match pattern.source {
            Source::Table(table, _) => Origin::Table(usize::from(table)),
            Source::Word(..) => Origin::Unknown,
            Source::Given(_) => Origin::Given,
        };
        let start = entry.start as usize;
        Rule {
            origin,
            number: entry.number,
            from: pattern.span.0,
            to: pattern.span.1,
            gaps: &pattern.gaps[..usize::from(pattern.arity)],
            target: &self.targets[start..start + usize::from(entry.size)],
        }
    }
}

/// The rules without those of the start symbol: what features see that see all rules.
struct Listed<'a>(&'a Rules);

impl Applied for Listed<'_> {
    fn len(&self) -> usize {
        self.0.list.len()
    }

    fn rule(&self, number: u32) -> Rule<'_> {
        self.0.rule(number)
    }
}
