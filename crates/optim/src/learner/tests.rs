//! The learner against an eager one, which changes all weights in every step.

use super::*;
use proptest::prelude::*;

const WIDTH: usize = 7;

/// The formulas on plain arrays.
struct Eager {
    rule: Rule,
    min_count: u32,
    w: [f64; WIDTH],
    squares: [f64; WIDTH],
    counts: [u32; WIDTH],
    bounds: [(f64, f64); WIDTH],
    /// The weights at the start of the average and after every step; whether the step moved.
    history: Vec<([f64; WIDTH], bool)>,
}

impl Eager {
    fn new(rule: Rule, min_count: u32, w: [f64; WIDTH]) -> Self {
        let bounds = [(f64::NEG_INFINITY, f64::INFINITY); WIDTH];
        let history = vec![(w, true)];
        Self { rule, min_count, w, squares: [0.0; WIDTH], counts: [0; WIDTH], bounds, history }
    }

    fn step(&mut self, gradient: &[(u32, f64)], loss: f64) {
        let mut g = [0.0; WIDTH];
        for &(id, value) in gradient {
            let j = id as usize;
            let open = self.bounds[j].0 < self.bounds[j].1;
            g[j] = if open && self.counts[j] >= self.min_count { value } else { 0.0 };
        }
        let norm: f64 = g.iter().map(|g| g * g).sum();
        let mut size = 0.0;
        for (j, g) in g.into_iter().enumerate() {
            let mut w = self.w[j];
            if self.rule.squares() {
                self.squares[j] += g * g;
            }
            match self.rule {
                Rule::Sgd { rate } => w -= rate * g,
                Rule::PassiveAggressive { cap } => {
                    size = if norm > 0.0 { cap.min(loss / norm) } else { 0.0 };
                    w -= size * g;
                }
                Rule::Arow { rate, prior } => w -= rate * g / (prior + self.squares[j]),
                Rule::AdaGrad { rate, epsilon, l1 } if self.squares[j] > 0.0 => {
                    let own = rate / (self.squares[j].sqrt() + epsilon);
                    w -= own * g;
                    w = w.signum() * (w.abs() - l1 * own).max(0.0);
                }
                Rule::AdaGrad { .. } => {}
            }
            self.w[j] = w.max(self.bounds[j].0).min(self.bounds[j].1);
        }
        let moved = size > 0.0 || !matches!(self.rule, Rule::PassiveAggressive { .. });
        self.history.push((self.w, moved));
    }

    fn mean(&self, average: Average) -> [f64; WIDTH] {
        let counted: Vec<_> = match average {
            Average::Steps if self.history.len() > 1 => self.history[1..].iter().collect(),
            Average::Updates => self.history.iter().filter(|e| e.1).collect(),
            _ => return self.w,
        };
        std::array::from_fn(|j| counted.iter().map(|e| e.0[j]).sum::<f64>() / counted.len() as f64)
    }
}

#[derive(Debug, Clone)]
enum Move {
    Step(Vec<(u32, f64)>, f64),
    Count(u32, u32),
    Value(u32),
    Bound(u32, f64, f64),
    Weights,
    Changes,
    Mean,
    Restart,
    Reload,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let g = prop_oneof![Just(0.0), Just(1.0), -2.0..2.0f64];
    let id = 0..WIDTH as u32;
    let gradient = prop::collection::hash_map(id.clone(), g, 0..5).prop_map(|g| g.into_iter().collect());
    let step = (gradient, 0.0..3.0f64).prop_map(|(g, loss): (Vec<_>, _)| Move::Step(g, loss));
    let lower = prop_oneof![Just(f64::NEG_INFINITY), Just(-0.5), Just(0.0), Just(0.25)];
    let other = prop_oneof![
        (id.clone(), 0u32..3).prop_map(|(id, count)| Move::Count(id, count)),
        id.clone().prop_map(Move::Value),
        (id, lower, prop_oneof![Just(0.25), Just(1.0), Just(f64::INFINITY)])
            .prop_map(|(id, lower, upper)| Move::Bound(id, lower, upper)),
        Just(Move::Weights),
        Just(Move::Changes),
        Just(Move::Mean),
        Just(Move::Restart),
        Just(Move::Reload),
    ];
    prop::collection::vec(prop_oneof![2 => step, 1 => other], 1..60)
}

fn rules() -> impl Strategy<Value = Rule> {
    prop_oneof![
        (0.01..0.5f64).prop_map(|rate| Rule::Sgd { rate }),
        (0.01..0.5f64, 0.0..0.5f64, prop_oneof![Just(0.0), 0.0..0.6f64])
            .prop_map(|(rate, epsilon, l1)| Rule::AdaGrad { rate, epsilon, l1 }),
        (0.01..0.5f64, 0.1..2.0f64).prop_map(|(rate, prior)| Rule::Arow { rate, prior }),
        (0.01..0.5f64).prop_map(|cap| Rule::PassiveAggressive { cap }),
    ]
}

fn wide(array: &[f64]) -> [f64; WIDTH] {
    std::array::from_fn(|j| array.get(j).copied().unwrap_or(0.0))
}

fn changes(learner: &mut Learner) -> Vec<(u32, f64)> {
    learner.changes().expect("the learner watches")
}

fn close(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-9 * (1.0 + x.abs()))
}

/// A learner made of another's memory, with the same bounds.
fn reloaded(learner: &mut Learner) -> Learner {
    let bounds = learner.bounds.clone();
    let mut made = Learner::new(learner.rule, learner.average, learner.memory().clone())
        .with_min_count(learner.min_count);
    for (id, (lower, upper)) in bounds {
        made.bound(id, lower, upper);
    }
    made.watch();
    made
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn lazy_equals_eager_in_any_order_of_operations(
        rule in rules(), min_count in 0u32..4, moves in moves(),
        average in prop_oneof![Just(Average::None), Just(Average::Steps), Just(Average::Updates)],
        start in prop::collection::vec(-1.0..1.0f64, 0..WIDTH + 1),
    ) {
        let mut eager = Eager::new(rule, if min_count > 1 { min_count } else { 0 }, wide(&start));
        let memory = Memory { weights: start, ..Memory::default() };
        let mut learner = Learner::new(rule, average, memory).with_min_count(min_count);
        learner.watch();
        // What someone knows who only ever hears of changes.
        let mut told = eager.w;
        for step in &moves {
            match step {
                Move::Step(gradient, loss) => {
                    eager.step(gradient, *loss);
                    learner.step(gradient, *loss);
                }
                Move::Count(id, count) => {
                    eager.counts[*id as usize] += count;
                    learner.count(*id, *count);
                }
                Move::Value(id) => {
                    let value = learner.value(*id);
                    prop_assert!(close(&[value], &[eager.w[*id as usize]]), "{} {:?}", value, eager.w);
                }
                Move::Bound(id, lower, upper) => {
                    let j = *id as usize;
                    eager.bounds[j] = (*lower, *upper);
                    eager.w[j] = eager.w[j].max(*lower).min(*upper);
                    learner.bound(*id, *lower, *upper);
                }
                Move::Weights => {
                    learner.refresh();
                    prop_assert!(close(&wide(learner.weights()), &eager.w));
                    let squares = wide(&learner.memory().squares);
                    prop_assert!(!rule.squares() || close(&squares, &eager.squares));
                }
                Move::Changes => {
                    let found = changes(&mut learner);
                    for &(id, value) in &found {
                        told[id as usize] = value;
                    }
                    prop_assert!(close(&told, &eager.w), "{:?} {:?}", told, eager.w);
                    let mut ids: Vec<u32> = found.iter().map(|e| e.0).collect();
                    ids.sort_unstable();
                    prop_assert!(ids.is_sorted_by(|a, b| a < b), "each is named once");
                }
                Move::Mean => {
                    let (mean, want) = (wide(&learner.mean()), eager.mean(average));
                    prop_assert!(close(&mean, &want), "{:?} {:?}", mean, want);
                }
                Move::Restart => {
                    learner.restart();
                    eager.history = vec![(eager.w, true)];
                }
                Move::Reload => {
                    for (id, value) in changes(&mut learner) {
                        told[id as usize] = value;
                    }
                    learner = reloaded(&mut learner);
                }
            }
        }
        prop_assert!(close(&wide(&learner.mean()), &eager.mean(average)));
        prop_assert!(close(&wide(&learner.memory().weights), &eager.w));
    }
}

#[test]
fn only_what_changed_is_told() {
    let rule = Rule::AdaGrad { rate: 0.1, epsilon: 0.0, l1: 0.1 };
    let memory = Memory { weights: vec![0.3; 4], ..Memory::default() };
    let mut learner = Learner::new(rule, Average::None, memory);
    learner.watch();
    assert!(changes(&mut learner).is_empty());
    learner.step(&[(1, 2.0), (9, -1.0), (3, 0.0)], 0.0);
    assert_eq!(changes(&mut learner).iter().map(|e| e.0).collect::<Vec<_>>(), [1, 9]);
    learner.step(&[], 0.0);
    let shrunk = changes(&mut learner);
    assert_eq!(shrunk.iter().map(|e| e.0).collect::<Vec<_>>(), [1, 9], "idle weights shrink");
    for _ in 0..60 {
        learner.step(&[], 0.0);
    }
    assert_eq!(changes(&mut learner), [(1, 0.0), (9, 0.0)]);
    learner.step(&[], 0.0);
    assert!(changes(&mut learner).is_empty(), "zero stays zero");
    assert!(learner.watch.as_ref().is_some_and(|watch| watch.alive.is_empty()));
}

#[test]
fn a_passive_step_is_no_update() {
    let rule = Rule::PassiveAggressive { cap: 0.1 };
    let mut learner = Learner::new(rule, Average::Updates, Memory::default());
    learner.bound(2, 0.0, 0.0);
    learner.step(&[(0, -2.0), (1, -1.0)], 0.25);
    learner.step(&[(0, 1.0)], 0.0);
    learner.step(&[(2, 1.0)], 1.0);
    // |g|² = 5: the step is min(0.1, 0.05). The two others have no loss, or nothing that may move.
    assert_eq!((learner.weights()[..3].to_vec(), learner.memory.time), (vec![0.1, 0.05, 0.0], 1));
    assert_eq!(learner.mean()[..2], [0.05, 0.025]);
}

#[test]
fn far_features_cost_no_more_than_near_ones() {
    for average in [Average::None, Average::Steps, Average::Updates] {
        let mut learner = Learner::new(Rule::Sgd { rate: 1.0 }, average, Memory::default());
        learner.watch();
        learner.step(&[(3, -2.0)], 0.0);
        learner.step(&[(3_000_000, -1.0)], 0.0);
        learner.step(&[(4_000_000, -1.0)], 0.0);
        assert_eq!(changes(&mut learner), [(3, 2.0), (3_000_000, 1.0), (4_000_000, 1.0)]);
        assert_eq!(learner.value(5_000_000), 0.0);
        assert_eq!(learner.memory().weights.len(), 4_000_001, "and not what there is room for");
        assert_eq!(learner.mean().len(), 4_000_001);
    }
}
