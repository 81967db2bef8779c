//! From a rule table with orientation counts to one with the model's six scores.

use crate::counts::Counts;
use crate::features::{Features, MOST};
use crate::heldout::{Heldout, evaluate};
use crate::objective::{Examples, Loss, log_probabilities};
use crate::{ORIENTATIONS, SIDES};
use dragoman_base::random::{Rng, stream};
use dragoman_base::{Error, Result, Texts};
use dragoman_classes::Classes;
use dragoman_optim::lbfgs;
use dragoman_rules::table::Rule;
use dragoman_rules::{Builder, LOWEST, Table};
use rayon::prelude::*;
use std::path::PathBuf;

/// How to train.
#[derive(Debug, Clone)]
pub struct Options {
    /// A rule table with orientation counts.
    pub rules: PathBuf,
    /// Word classes of both sides.
    pub classes: [String; 2],
    /// The table to write.
    pub out: PathBuf,
    /// Its meta-data, as JSON.
    pub meta: String,
    /// Whose counts to train on: the prefix of the columns.
    pub model: String,
    /// Prefix of the new columns.
    pub name: String,
    /// C of equation 4: what the loss counts against the penalty.
    pub emphasis: f64,
    /// Features seen in fewer phrase-pair tokens are left out.
    pub least: f64,
    /// Share of the pairs seen once that are kept as examples.
    pub singletons: f64,
    /// Most iterations of L-BFGS for each direction.
    pub iterations: usize,
    /// Leaves the columns of counts out of the new table.
    pub drop_counts: bool,
    /// A table with counts of other text, to measure the perplexity on.
    pub heldout: Option<PathBuf>,
    /// Weight of the back-off of the relative frequencies beside it.
    pub alpha: f64,
    /// For the choice of singletons.
    pub seed: u64,
    /// What features are of: some of [`crate::features::TEMPLATES`].
    pub templates: Vec<String>,
    /// Words at corners that have features, of the source and of the target; all of them if there are no lists.
    pub words: Option<[Vec<String>; 2]>,
}

/// How the training of one direction went.
#[derive(Debug, Clone, Copy)]
pub struct Side {
    /// Iterations of L-BFGS.
    pub iterations: usize,
    /// Whether it ended because of its tolerances.
    pub converged: bool,
    /// Equation 4 at the end.
    pub value: f64,
    /// Perplexity of the examples' tokens.
    pub perplexity: f64,
}

/// What training saw and did.
#[derive(Debug, Clone)]
pub struct Report {
    /// Rules of the table.
    pub rules: usize,
    /// Rules that were trained on.
    pub examples: usize,
    /// Features, before they are multiplied with the orientations.
    pub features: usize,
    /// Towards the previous phrase, towards the next.
    pub sides: [Side; 2],
    /// Perplexities of held-out text.
    pub heldout: Option<Heldout>,
}

fn check(options: &Options, table: &Table) -> Result<()> {
    let bad = |message: String| Err(Error::Invalid(message));
    if !(options.emphasis.is_finite() && options.emphasis > 0.0) {
        return bad(format!("expected a positive C, found {}", options.emphasis));
    }
    if !(0.0..=1.0).contains(&options.singletons) {
        return bad(format!("expected a share of singletons between 0 and 1, found {}", options.singletons));
    }
    let positive = |value: f64| value.is_finite() && value > 0.0;
    if options.least.is_nan() || options.least < 0.0 || !positive(options.alpha) {
        return bad("expected a cut-off that is not negative and a positive alpha".to_owned());
    }
    let prefix = format!("{}.", options.name);
    if let Some(column) = table.columns().iter().find(|column| column.starts_with(&prefix)) {
        return bad(format!("{}: there is a column `{column}` already; choose another name", table.path()));
    }
    Ok(())
}

/// The rules that are examples: all that were seen, but of those seen once only some, chosen by the seed.
fn choose(counts: &Counts<'_>, singletons: f64, seed: u64) -> Vec<u32> {
    let bound = (singletons * 2f64.powi(53)) as u64;
    let rules = counts.rules().into_par_iter();
    let kept = rules.filter(|&rule| {
        let tokens = counts.tokens(rule);
        tokens > 1.0 || (tokens == 1.0 && stream(seed, u64::from(rule)).next_u64() >> 11 < bound)
    });
    kept.collect()
}

fn gather(counts: &Counts<'_>, features: &Features, chosen: &[u32]) -> Examples {
    let (mut starts, mut rows) = (vec![0], Vec::with_capacity(chosen.len() * MOST));
    for &rule in chosen {
        features.active(&features.pair(counts, rule), &mut rows);
        starts.push(rows.len());
    }
    Examples::new(starts, rows, features.len())
}

fn fit(examples: &Examples, counts: &[[f64; 3]], options: &Options) -> (Side, Vec<f64>) {
    let size = examples.features() * ORIENTATIONS;
    let mut weights = vec![0.0; size];
    let (lower, upper) = (vec![f64::NEG_INFINITY; size], vec![f64::INFINITY; size]);
    let mut loss = Loss::new(examples, counts, options.emphasis);
    let limits = lbfgs::Options {
        iterations: options.iterations,
        gradient: 1e-7,
        decrease: 1e-8,
        ..Default::default()
    };
    let outcome = lbfgs::minimise(&mut loss, &mut weights, &lower, &upper, limits);
    let side = Side {
        iterations: outcome.iterations,
        converged: outcome.converged,
        value: outcome.value,
        perplexity: loss.cross_entropy(&weights).exp(),
    };
    (side, weights)
}

/// Trains both directions and writes the table.
pub fn train(options: &Options) -> Result<Report> {
    let table = Table::open(&options.rules)?;
    check(options, &table)?;
    let classes = [Classes::read(&options.classes[0])?, Classes::read(&options.classes[1])?];
    let held = options.heldout.as_ref().map(|path| Table::open(path)).transpose()?;
    let held = held.as_ref().map(|table| Counts::new(table, &options.model)).transpose()?;
    let counts = Counts::new(&table, &options.model)?;
    counts.check()?;
    let sides = [&classes[0], &classes[1]];
    let features = Features::new(&counts, sides, options.least, &options.templates, options.words.as_ref());
    let chosen = choose(&counts, options.singletons, options.seed);
    if chosen.is_empty() {
        let what = "no rule is left to train on: all were seen once, and none of these was kept";
        return Err(Error::Invalid(format!("{}: {what}", table.path())));
    }
    let examples = gather(&counts, &features, &chosen);
    let [previous, next] = [0, 1].map(|side| {
        let seen: Vec<[f64; 3]> =
            chosen.iter().map(|&rule| [0, 1, 2].map(|o| counts.of(rule)[3 * side + o])).collect();
        fit(&examples, &seen, options)
    });
    let weights = [previous.1, next.1];
    let heldout = held.map(|held| evaluate(&counts, &features, &weights, &held, options.alpha));
    write(&counts, &features, &weights, options)?;
    Ok(Report {
        rules: table.len(),
        examples: chosen.len(),
        features: features.len(),
        sides: [previous.0, next.0],
        heldout,
    })
}

/// The six log probabilities of every rule.
fn scores(counts: &Counts<'_>, features: &Features, weights: &[Vec<f64>; 2]) -> Vec<[f32; 6]> {
    let rules = counts.rules().into_par_iter();
    let one = |active: &mut Vec<u32>, rule: u32| {
        active.clear();
        features.active(&features.pair(counts, rule), active);
        let [p, n] = [0, 1].map(|side: usize| log_probabilities(&weights[side], active));
        [p[0], p[1], p[2], n[0], n[1], n[2]].map(|log| (log as f32).max(LOWEST))
    };
    rules.map_init(Vec::new, one).collect()
}

/// Copies the table with six columns more.
fn write(counts: &Counts<'_>, features: &Features, weights: &[Vec<f64>; 2], options: &Options) -> Result<()> {
    let table = counts.table;
    let found = scores(counts, features, weights);
    let is_count = |name: &str| name.rsplit_once('.').is_some_and(|(_, last)| last == "count");
    let kept: Vec<usize> = (0..table.columns().len())
        .filter(|&i| !(options.drop_counts && is_count(&table.columns()[i])))
        .collect();
    let mut columns: Vec<String> = kept.iter().map(|&i| table.columns()[i].clone()).collect();
    for side in SIDES {
        columns.extend(["M", "S", "D"].map(|o| format!("{}.{side}.{o}", options.name)));
    }
    let mut builder = Builder::create(&options.out, &columns, &options.meta)?;
    let mut row = Vec::new();
    table.walk(|source, rules| {
        rules.into_iter().try_for_each(|rule| {
            row.clear();
            row.extend(kept.iter().map(|&i| table.scores(rule)[i]));
            row.extend(found[rule as usize]);
            builder.push(Rule { source, target: table.target(rule), links: table.links(rule), scores: &row })
        })
    })?;
    let source: Texts = (0..table.source_words() as u32).map(|id| table.source_text(id)).collect();
    let target: Texts = (0..table.target_words() as u32).map(|id| table.target_text(id)).collect();
    builder.finish(&source, &target)
}
