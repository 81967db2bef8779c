//! Translation options: the rules that apply to a sentence, span by span, best first.

mod own;

use crate::system::{Stateful, System};
use dragoman_base::Result;
use dragoman_model::feature::StateFeature;
use dragoman_model::feature::own::Said;
use dragoman_model::{Applied, Origin, Rule, Sentence, Weights};

const UNKNOWN: u16 = u16::MAX;
const GIVEN: u16 = u16::MAX - 1;

/// A rule applied to a span of the source.
#[derive(Debug, Clone, Copy)]
pub struct Opt {
    /// First source word.
    pub from: u32,
    /// The word after the last.
    pub to: u32,
    /// The rule's number in its table, or the number of a given translation.
    pub rule: u32,
    table: u16,
    size: u16,
    start: u32,
    /// What own features said of it, by place in [`Options::said`].
    row: u32,
    /// Weighted sum of all rule features.
    pub score: f32,
    /// The score and the state features' guesses: for ranking and future cost.
    pub estimate: f32,
}

impl Opt {
    /// Where it comes from.
    #[inline]
    pub fn origin(&self) -> Origin {
        match self.table {
            UNKNOWN => Origin::Unknown,
            GIVEN => Origin::Given,
            table => Origin::Table(usize::from(table)),
        }
    }

    /// As features see it, with its target words.
    #[inline]
    fn rule<'a>(&self, target: &'a [u32]) -> Rule<'a> {
        let Self { from, to, rule: number, .. } = *self;
        Rule { origin: self.origin(), number, from, to, gaps: &[], target }
    }
}

/// The options of one span: numbers `first` up to `last`.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// First source word.
    pub from: u32,
    /// The word after the last.
    pub to: u32,
    /// Its best option.
    pub first: u32,
    /// One past its last option.
    pub last: u32,
}

/// How many options to keep, and what to do with unknown words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// Options of each span and table that are kept, by their estimate; 0 keeps all.
    pub limit: usize,
    /// Leaves unknown words out instead of passing them through.
    pub drop_unknown: bool,
}

/// All options of a sentence.
#[derive(Debug, Default)]
pub struct Options {
    opts: Vec<Opt>,
    targets: Vec<u32>,
    spans: Vec<Span>,
    /// Spans that start at word i are `spans[starts[i]..starts[i + 1]]`, shortest first.
    starts: Vec<u32>,
    longest: usize,
    /// What features said that saw all options at once, by [`Opt`]'s row.
    said: Said,
}

impl Options {
    /// Number of options.
    pub fn len(&self) -> usize {
        self.opts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.opts.is_empty()
    }

    /// An option by its number.
    #[inline]
    pub fn get(&self, option: u32) -> &Opt {
        &self.opts[option as usize]
    }

    /// The target words of an option.
    #[inline]
    pub fn target(&self, option: u32) -> &[u32] {
        let opt = self.get(option);
        &self.targets[opt.start as usize..opt.start as usize + usize::from(opt.size)]
    }

    /// Where the target words of an option lie in [`Options::targets`].
    #[inline]
    pub fn place(&self, option: u32) -> std::ops::Range<usize> {
        let opt = self.get(option);
        opt.start as usize..opt.start as usize + usize::from(opt.size)
    }

    /// The target words of all options, one after the other.
    pub fn targets(&self) -> &[u32] {
        &self.targets
    }

    /// An option as features see it.
    #[inline]
    pub fn rule(&self, option: u32) -> Rule<'_> {
        self.get(option).rule(self.target(option))
    }

    /// What features said that saw all options at once, and the number of one of them there.
    #[inline]
    pub fn said(&self, option: u32) -> (&Said, u32) {
        (&self.said, self.get(option).row)
    }

    /// The spans that start at a word, shortest first.
    #[inline]
    pub fn starting(&self, from: usize) -> &[Span] {
        &self.spans[self.starts[from] as usize..self.starts[from + 1] as usize]
    }

    /// Number of words of the longest span.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// The best estimate of a span; minus infinity if it has no option.
    pub fn best(&self, from: usize, to: usize) -> f32 {
        let span = self.starting(from).iter().find(|span| span.to as usize == to);
        span.map_or(f32::NEG_INFINITY, |span| self.get(span.first).estimate)
    }
}

impl Applied for Options {
    fn len(&self) -> usize {
        Self::len(self)
    }

    fn rule(&self, number: u32) -> Rule<'_> {
        Self::rule(self, number)
    }
}

/// Collects the options of a sentence.
pub struct Collector<'a> {
    system: &'a System,
    sentence: &'a Sentence<'a>,
    weights: &'a Weights,
    extra: Option<&'a dyn StateFeature>,
    choice: Choice,
    made: Options,
    /// Options made so far, those that were cut included.
    pushed: u32,
    /// Source words by table, as the table numbers them.
    words: Vec<Vec<Option<u32>>>,
}

impl<'a> Collector<'a> {
    /// `extra` is a feature that only this sentence has.
    pub fn new(
        system: &'a System,
        sentence: &'a Sentence<'a>,
        weights: &'a Weights,
        extra: Option<&'a dyn StateFeature>,
        choice: Choice,
    ) -> Self {
        let words = system
            .tables()
            .iter()
            .map(|t| sentence.input.words.iter().map(|word| t.rules.source_word(word)).collect())
            .collect();
        Self { system, sentence, weights, extra, choice, made: Options::default(), pushed: 0, words }
    }

    /// All options, ranked and cut.
    pub fn collect(mut self) -> Result<Options> {
        if !self.system.asks_for_all() {
            return Ok(self.gather());
        }
        let (limit, system, sentence) = (self.choice.limit, self.system, self.sentence);
        let weights = self.weights;
        self.choice.limit = 0;
        let all = self.gather();
        let said = system.ask(sentence, &all)?;
        Ok(own::cut(all, said, limit, weights))
    }

    fn gather(&mut self) -> Options {
        let length = self.sentence.len();
        for from in 0..length {
            self.made.starts.push(self.made.spans.len() as u32);
            self.start_at(from);
        }
        self.made.starts.push(self.made.spans.len() as u32);
        std::mem::take(&mut self.made)
    }

    fn start_at(&mut self, from: usize) {
        let system = self.system;
        let mut nodes: Vec<_> = system.tables().iter().map(|t| Some(t.rules.root())).collect();
        let reach = self.reach(from);
        for to in from + 1..=reach {
            let first = self.made.opts.len();
            for (number, table) in system.tables().iter().enumerate() {
                let word = self.words[number][to - 1];
                nodes[number] =
                    nodes[number].zip(word).and_then(|(node, word)| table.rules.child(node, word));
                if let Some(node) = nodes[number]
                    && self.open(from, to)
                {
                    self.add_rules(number, table.rules.rules(node), from, to);
                }
            }
            self.add_given(from, to);
            if to == from + 1 && self.made.opts.len() == first && self.open(from, to) {
                self.add_unknown(from);
            }
            self.close_span(first, from, to);
        }
    }

    /// How far a span from here can reach: the longest rule or given translation.
    fn reach(&self, from: usize) -> usize {
        let tables = self.system.tables().iter().map(|t| from + t.rules.longest_source());
        let given = self.sentence.input.forced.iter().filter(|f| f.from == from).map(|f| f.to);
        tables.chain(given).max().unwrap_or(0).max(from + 1).min(self.sentence.len())
    }

    /// Whether the tables may translate a span: no wall or zone is crossed, no given translation rules.
    fn open(&self, from: usize, to: usize) -> bool {
        let input = self.sentence.input;
        self.sentence.spans(from, to)
            && !input.forced.iter().any(|f| f.exclusive && f.from < to && from < f.to)
    }

    fn add_rules(&mut self, number: usize, rules: std::ops::Range<u32>, from: usize, to: usize) {
        let first = self.made.opts.len();
        let table = &self.system.tables()[number];
        for rule in rules {
            let start = self.made.targets.len();
            let words = table.rules.target(rule);
            self.made.targets.extend(words.iter().map_while(|&word| table.target(word)));
            if self.made.targets.len() - start < words.len() {
                self.made.targets.truncate(start); // the bytes are damaged: there is no such word
                continue;
            }
            self.push(from, to, rule, number as u16, start);
        }
        let limit = self.choice.limit;
        if limit > 0 && self.made.opts.len() - first > limit {
            self.rank(first);
            self.made.opts.truncate(first + limit);
        }
    }

    fn add_given(&mut self, from: usize, to: usize) {
        let sentence = self.sentence;
        let all = sentence.input.forced.iter().enumerate();
        for (number, given) in all.filter(|(_, f)| f.from == from && f.to == to) {
            let start = self.made.targets.len();
            self.made.targets.extend(given.target.iter().filter_map(|word| sentence.target_id(word)));
            self.push(from, to, number as u32, GIVEN, start);
            if let Some(opt) = self.made.opts.last_mut() {
                opt.score += given.log;
                opt.estimate += given.log;
            }
        }
    }

    fn add_unknown(&mut self, from: usize) {
        let start = self.made.targets.len();
        if !self.choice.drop_unknown {
            self.made.targets.extend(self.sentence.target_id(&self.sentence.input.words[from]));
        }
        self.push(from, from + 1, 0, UNKNOWN, start);
    }

    /// Scores an option whose target words are the last ones, from `start` on.
    fn push(&mut self, from: usize, to: usize, rule: u32, table: u16, start: usize) {
        let size = (self.made.targets.len() - start) as u16;
        let (from, to) = (from as u32, to as u32);
        let row = self.pushed;
        self.pushed += 1;
        let start_at = start as u32;
        let mut opt = Opt { from, to, rule, table, size, start: start_at, row, score: 0.0, estimate: 0.0 };
        let seen = opt.rule(&self.made.targets[start..]);
        let states = self.system.states().chain(self.extra.map(Stateful::Words));
        let guesses: f32 = states.map(|f| f.estimate(self.sentence, &seen, self.weights.head())).sum();
        opt.score = self.system.weigh(self.sentence, &seen, self.weights);
        opt.estimate = opt.score + guesses;
        self.made.opts.push(opt);
    }

    /// Sorts the options from `first` on, best first; equals keep the order of the table.
    fn rank(&mut self, first: usize) {
        self.made.opts[first..].sort_by(|a, b| b.estimate.total_cmp(&a.estimate));
    }

    fn close_span(&mut self, first: usize, from: usize, to: usize) {
        self.rank(first);
        let hopeless = |opt: &Opt| opt.estimate == f32::NEG_INFINITY;
        while self.made.opts.len() > first && self.made.opts.last().is_some_and(hopeless) {
            self.made.opts.pop();
        }
        let last = self.made.opts.len() as u32;
        if last > first as u32 {
            let span = Span { from: from as u32, to: to as u32, first: first as u32, last };
            self.made.spans.push(span);
            self.made.longest = self.made.longest.max(to - from);
        }
    }
}
