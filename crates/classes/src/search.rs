//! The search: many short annealed runs over the most frequent words, then all words with the best of them as the
//! start, annealed a little and exchanged until nothing can be gained.
//!
//! The frequent words decide: from different starts, plain exchange ends up to 2% apart, and nearly all of that
//! is how a few hundred words are arranged. A run over them alone takes milliseconds, so there can be many.

use crate::counts::Counts;
use crate::state::{Scratch, State};
use dragoman_base::random::{Generator, Rng, below, stream};
use dragoman_base::{Error, Result};
use rayon::prelude::*;

/// How the search runs. The defaults are measured; see docs/classes.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Number of classes.
    pub classes: usize,
    /// Runs over the most frequent words, of which the best one counts; by default 32 for 20 classes, and fewer for
    /// more, which differ less from each other and take longer.
    pub starts: Option<usize>,
    /// How many words are the most frequent ones.
    pub core: usize,
    /// Sweeps of each of those runs while the temperature falls.
    pub sweeps: usize,
    /// Sweeps over all words while the temperature falls.
    pub cooling: usize,
    /// Sweeps of exchange at the end of a run, at most; it ends before when no word moves.
    pub iterations: usize,
    /// Seed of everything random.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { classes: 50, starts: None, core: 500, sweeps: 30, cooling: 20, iterations: 50, seed: 0 }
    }
}

/// A clustering that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Class of every word, from 0; class 0 has the most tokens, and so on.
    pub classes: Vec<u32>,
    /// Log-likelihood of the text, in nats.
    pub likelihood: f64,
}

/// Temperatures, in nats of the log-likelihood for each token of the text: at the start and the end of runs over
/// frequent words. The second is where the run over all words starts; it ends at [`COLD`] nats.
const HOT: f64 = 7.5e-4;
const WARM: f64 = 2.5e-5;
const COLD: f64 = 1.0;
/// Words whose moves are judged at the same time, against the same counts, in the run over all words.
const BLOCK: usize = 256;
/// Sweeps of exchange after which a run over frequent words is judged, at most: enough to tell good from bad.
const SETTLE: usize = 5;
/// A gain below this is rounding.
const TINY: f64 = 1e-7;

/// Called after each sweep, from any thread; a no ends the search with an error.
pub type Progress<'a> = &'a (dyn Fn() -> bool + Sync);

/// One run: sweeps with a falling temperature, then exchange.
#[derive(Debug, Clone, Copy)]
struct Schedule {
    sweeps: usize,
    hot: f64,
    cold: f64,
    iterations: usize,
    block: usize,
    seed: u64,
}

/// Clusters the words of a text. The result depends on counts and options alone, not on the threads.
pub fn cluster(counts: &Counts, options: &Options, progress: Progress<'_>) -> Result<Found> {
    check(counts, options)?;
    let tokens = counts.tokens as f64;
    let start = match options.starts.unwrap_or((640 / options.classes).clamp(8, 32)) {
        0 => dealt(counts, options.classes),
        starts => best_start(counts, starts, options, progress)?,
    };
    let schedule = Schedule {
        sweeps: options.cooling,
        hot: (WARM * tokens).max(COLD),
        cold: COLD,
        iterations: options.iterations,
        block: BLOCK,
        seed: options.seed,
    };
    let state = run(State::new(counts, options.classes, start), &schedule, progress)?;
    Ok(Found { likelihood: state.likelihood(), classes: by_size(&state) })
}

fn check(counts: &Counts, options: &Options) -> Result<()> {
    if options.classes == 0 || options.classes > 1 << 15 {
        return Err(Error::Invalid(format!("expected 1 to 32768 classes, found {}", options.classes)));
    }
    if counts.is_empty() {
        return Err(Error::Invalid("expected a text with words, found none".to_owned()));
    }
    Ok(())
}

/// The best of many runs over the most frequent words; all others are dealt out.
fn best_start(counts: &Counts, starts: usize, options: &Options, progress: Progress<'_>) -> Result<Vec<u32>> {
    let core = counts.core(options.core);
    let tokens = counts.tokens as f64;
    let attempt = |index: usize| {
        let schedule = Schedule {
            sweeps: options.sweeps,
            hot: HOT * tokens,
            cold: WARM * tokens,
            iterations: options.iterations.min(SETTLE),
            block: 1,
            seed: stream(options.seed, index as u64 + 1).next_u64(),
        };
        let start = State::new(&core.counts, options.classes, dealt(&core.counts, options.classes));
        let state = run(start, &schedule, progress)?;
        Ok((state.likelihood(), state.classes().to_vec()))
    };
    let runs = (0..starts).into_par_iter().map(attempt).collect::<Result<Vec<_>>>()?;
    // The first of the best, whatever the order in which they ended.
    let better = |best: (f64, Vec<u32>), next| if next_is_better(&best, &next) { next } else { best };
    let (_, found) = runs.into_iter().reduce(better).expect("at least one start");
    let mut classes = dealt(counts, options.classes);
    for (&word, class) in core.words.iter().zip(found) {
        classes[word as usize] = class;
    }
    Ok(classes)
}

fn next_is_better(best: &(f64, Vec<u32>), next: &(f64, Vec<u32>)) -> bool {
    next.0 > best.0
}

/// Words are dealt out to the classes in turn, the most frequent ones first.
fn dealt(counts: &Counts, size: usize) -> Vec<u32> {
    let mut classes = vec![0; counts.len()];
    for (rank, word) in counts.by_frequency().into_iter().enumerate() {
        classes[word as usize] = (rank % size) as u32;
    }
    classes
}

/// The classes renumbered, so that those with most tokens come first.
fn by_size(state: &State<'_>) -> Vec<u32> {
    let mut order: Vec<usize> = (0..state.size()).collect();
    order.sort_by_key(|&class| std::cmp::Reverse(state.totals()[class]));
    let mut number = vec![0; order.len()];
    for (new, &old) in order.iter().enumerate() {
        number[old] = new as u32;
    }
    state.classes().iter().map(|&class| number[class as usize]).collect()
}

fn run<'a>(mut state: State<'a>, schedule: &Schedule, progress: Progress<'_>) -> Result<State<'a>> {
    let mut order: Vec<u32> = (0..state.classes().len() as u32).collect();
    let mut scratch = Scratch::new(state.size());
    for sweep in 0..schedule.sweeps + schedule.iterations {
        let temperature = schedule.temperature(sweep);
        let mut rng = stream(schedule.seed, sweep as u64);
        shuffle(&mut order, &mut rng);
        let luck = rng.next_u64();
        let mut moved = 0;
        for block in order.chunks(schedule.block) {
            moved += judge(&mut state, block, temperature, luck, &mut scratch);
        }
        if !progress() {
            return Err(Error::Invalid("clustering was interrupted".to_owned()));
        }
        if temperature == 0.0 && moved == 0 {
            break;
        }
    }
    Ok(state)
}

impl Schedule {
    /// The temperature falls by the same factor in each sweep; exchange is temperature 0.
    fn temperature(&self, sweep: usize) -> f64 {
        if sweep >= self.sweeps {
            return 0.0;
        }
        let share = sweep as f64 / (self.sweeps - 1).max(1) as f64;
        self.hot * (self.cold / self.hot).powf(share)
    }
}

fn shuffle(order: &mut [u32], rng: &mut Generator) {
    for at in (1..order.len()).rev() {
        order.swap(at, below(rng, at + 1));
    }
}

/// A move that was proposed when its block began.
#[derive(Debug, Clone, Copy)]
struct Proposal {
    to: u32,
    gain: f64,
    /// A uniform number in [0, 1) that decides if the move survives what the block has changed since.
    luck: f64,
}

/// Judges the moves of a block in parallel against the counts as they are, then makes them one after the other.
/// A move whose gain has changed meanwhile is judged again: at temperature 0 it must still gain, else it is made
/// with the probability exp((gain now - gain then) / temperature). Returns how many words moved.
fn judge(state: &mut State<'_>, block: &[u32], temperature: f64, seed: u64, scratch: &mut Scratch) -> usize {
    if let [word] = *block {
        let proposal = propose(state, word, temperature, seed, scratch);
        return usize::from(make(state, word, proposal, temperature, scratch));
    }
    let frozen: &State<'_> = state;
    let proposals: Vec<Proposal> = block
        .par_iter()
        .with_min_len(16)
        .map_init(
            || Scratch::new(frozen.size()),
            |scratch, &word| propose(frozen, word, temperature, seed, scratch),
        )
        .collect();
    let pairs = block.iter().zip(proposals);
    pairs.filter(|&(&word, proposal)| make(state, word, proposal, temperature, scratch)).count()
}

/// Makes a move if it is one and still deserves it.
fn make(
    state: &mut State<'_>,
    word: u32,
    proposal: Proposal,
    temperature: f64,
    scratch: &mut Scratch,
) -> bool {
    if proposal.to == state.classes()[word as usize] {
        return false;
    }
    let gain = state.delta(word, proposal.to, scratch);
    let keep = if temperature == 0.0 {
        gain > TINY
    } else {
        // Rounding must not refuse a move that nothing has changed.
        proposal.luck < ((gain - proposal.gain + TINY) / temperature).exp()
    };
    if keep {
        state.shift(word, proposal.to, scratch);
    }
    keep
}

/// The best class for a word at temperature 0, else one drawn with a probability proportional to
/// exp(gain / temperature).
fn propose(state: &State<'_>, word: u32, temperature: f64, seed: u64, scratch: &mut Scratch) -> Proposal {
    state.evaluate(word, scratch);
    let gains = &scratch.gains;
    let from = state.classes()[word as usize];
    let stay = gains[from as usize];
    let mut best = from as usize;
    for (class, &gain) in gains.iter().enumerate() {
        if gain > gains[best] + TINY {
            best = class;
        }
    }
    if temperature == 0.0 {
        return Proposal { to: best as u32, gain: gains[best] - stay, luck: 0.0 };
    }
    let mut rng = stream(seed, u64::from(word));
    let to = draw(gains, gains[best], temperature, &mut rng);
    Proposal { to: to as u32, gain: gains[to] - stay, luck: uniform(&mut rng) }
}

fn uniform(rng: &mut Generator) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Classes that are exp(30) times less probable than the best one are not drawn.
const DEEP: f64 = 30.0;

/// Draws a class by the exponentials of the gains.
fn draw(gains: &[f64], best: f64, temperature: f64, rng: &mut Generator) -> usize {
    let weight = |gain: f64| {
        let depth = (best - gain) / temperature;
        if depth > DEEP { 0.0 } else { (-depth).exp() }
    };
    let total: f64 = gains.iter().map(|&gain| weight(gain)).sum();
    let mut rest = uniform(rng) * total;
    let mut last = 0;
    for (class, &gain) in gains.iter().enumerate() {
        let weight = weight(gain);
        if weight > 0.0 {
            last = class;
            if rest < weight {
                return class;
            }
            rest -= weight;
        }
    }
    last
}
