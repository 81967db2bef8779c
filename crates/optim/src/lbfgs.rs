//! L-BFGS with bounds (Nocedal 1980; two-metric projection as in Bertsekas 1982).
//!
//! Ours, because weights have limits. argmin 0.11 knows an L1 penalty but no bounds, and brings 41 crates;
//! `SciPy`'s L-BFGS-B has bounds but weighs more than the whole package and asks Python for every value, with the
//! interpreter locked. What is left is the two-loop recursion, which is short, and it is checked against `SciPy`.

use crate::newton;
use crate::vectors::{self, difference, dot};
use std::collections::VecDeque;

/// A function to minimise.
pub trait Objective {
    /// The value at `x`; writes the gradient there.
    fn evaluate(&mut self, x: &[f64], gradient: &mut [f64]) -> f64;

    /// Writes the second derivatives at `x` to `hessian`, row by row (those above the diagonal may be left out), if it
    /// knows them and they are worth their time.
    fn curvature(&mut self, _x: &[f64], _hessian: &mut Vec<f64>) -> bool {
        false
    }
}

/// When to stop, and how much to remember.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Number of steps whose curvature is remembered.
    pub memory: usize,
    /// Most iterations.
    pub iterations: usize,
    /// Converged when no free component of the gradient exceeds this times max(1, |value|).
    pub gradient: f64,
    /// Converged when a step lowers the value by less than this times max(1, |value|).
    pub decrease: f64,
    /// Iterations after which the objective is asked for second derivatives: they cost as much as several steps, and
    /// what is easy is done before.
    pub patience: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { memory: 10, iterations: 100, gradient: 1e-8, decrease: 1e-10, patience: 10 }
    }
}

/// How a minimisation ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// The value at the end.
    pub value: f64,
    /// Steps taken.
    pub iterations: usize,
    /// Values and gradients computed.
    pub evaluations: usize,
    /// Whether it stopped because of its tolerances.
    pub converged: bool,
}

/// Moves `x` to a local minimum inside `lower..=upper`, starting from the nearest point inside.
///
/// A component at its bound whose gradient points outwards is held; the others move by the two-loop direction
/// restricted to them, are projected, and the step is halved until it satisfies Armijo's rule on the projected
/// path. The value never rises, and `x` is never a point whose value is not finite, if the first is. If that takes long,
/// and the objective knows its second derivatives and they bend upwards, the direction is Newton's.
pub fn minimise(
    objective: &mut dyn Objective,
    x: &mut [f64],
    lower: &[f64],
    upper: &[f64],
    options: Options,
) -> Outcome {
    let mut search = Search::new(objective, x, lower, upper);
    let mut outcome = Outcome { value: search.value, iterations: 0, evaluations: 1, converged: false };
    let mut memory = Memory::new(options.memory);
    while outcome.iterations < options.iterations && search.value.is_finite() {
        search.find_free();
        if search.largest_slope() <= options.gradient * search.value.abs().max(1.0) {
            outcome.converged = true;
            break;
        }
        let before = search.value;
        let newton = outcome.iterations >= options.patience && search.newton(objective);
        if !newton {
            memory.direct(&search.gradient, &search.free, &mut search.direction);
        }
        let whole = newton || !memory.is_empty();
        let scale = if whole { 1.0 } else { 1.0 / norm(&search.direction).max(1.0) };
        let mut moved = search.advance(objective, scale, &mut memory, &mut outcome.evaluations);
        if !moved && whole {
            // A stale curvature can point nowhere: forget it and go downhill.
            memory.clear();
            search.find_free();
            memory.direct(&search.gradient, &search.free, &mut search.direction);
            let scale = 1.0 / norm(&search.direction).max(1.0);
            moved = search.advance(objective, scale, &mut memory, &mut outcome.evaluations);
        }
        if !moved {
            // No step along the gradient lowers the value: this is as far as floating point goes.
            outcome.converged = true;
            break;
        }
        outcome.iterations += 1;
        if before - search.value <= options.decrease * before.abs().max(1.0) {
            outcome.converged = true;
            break;
        }
    }
    x.copy_from_slice(&search.x);
    outcome.value = search.value;
    outcome
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

struct Search<'a> {
    lower: &'a [f64],
    upper: &'a [f64],
    x: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
    free: Vec<bool>,
    direction: Vec<f64>,
    next: Vec<f64>,
    next_gradient: Vec<f64>,
    hessian: Vec<f64>,
}

impl<'a> Search<'a> {
    fn new(objective: &mut dyn Objective, x: &[f64], lower: &'a [f64], upper: &'a [f64]) -> Self {
        let n = x.len();
        let inside: Vec<f64> = (0..n).map(|i| x[i].max(lower[i]).min(upper[i])).collect();
        let mut gradient = vec![0.0; n];
        let value = objective.evaluate(&inside, &mut gradient);
        Self {
            lower,
            upper,
            x: inside,
            value,
            gradient,
            free: vec![true; n],
            direction: vec![0.0; n],
            next: vec![0.0; n],
            next_gradient: vec![0.0; n],
            hessian: Vec::new(),
        }
    }

    /// Takes Newton's direction, if there is one. A component at its bound that it would push outwards is held for this
    /// step, and the others are told so.
    fn newton(&mut self, objective: &mut dyn Objective) -> bool {
        let Self { lower, upper, x, gradient, free, direction, hessian, .. } = self;
        if !objective.curvature(x, hessian) {
            return false;
        }
        loop {
            if !newton::direct(&mut hessian.clone(), gradient, free, direction) {
                return false;
            }
            let outwards = |i: usize| {
                (x[i] <= lower[i] && direction[i] < 0.0) || (x[i] >= upper[i] && direction[i] > 0.0)
            };
            let held: Vec<usize> = (0..x.len()).filter(|&i| outwards(i)).collect();
            if held.is_empty() {
                return true;
            }
            for i in held {
                free[i] = false;
            }
        }
    }

    fn find_free(&mut self) {
        for i in 0..self.x.len() {
            let g = self.gradient[i];
            let held = (self.x[i] <= self.lower[i] && g >= 0.0) || (self.x[i] >= self.upper[i] && g <= 0.0);
            self.free[i] = !held && self.lower[i] < self.upper[i];
        }
    }

    fn largest_slope(&self) -> f64 {
        self.gradient.iter().zip(&self.free).filter(|e| *e.1).map(|e| e.0.abs()).fold(0.0, f64::max)
    }

    /// Backtracks along the projected direction; on success remembers the step's curvature.
    fn advance(
        &mut self,
        objective: &mut dyn Objective,
        mut scale: f64,
        memory: &mut Memory,
        evaluations: &mut usize,
    ) -> bool {
        const SUFFICIENT: f64 = 1e-4;
        for _ in 0..40 {
            let slope = self.project(scale);
            if slope < 0.0 {
                let value = objective.evaluate(&self.next, &mut self.next_gradient);
                *evaluations += 1;
                if value <= self.value + SUFFICIENT * slope && value.is_finite() {
                    self.accept(value, memory);
                    return true;
                }
                scale *= shorten(self.value, slope, value);
            } else {
                scale *= 0.25;
            }
        }
        false
    }

    /// Fills in the point at `scale` times the direction, projected; gives the slope towards it.
    fn project(&mut self, scale: f64) -> f64 {
        let Self { x, gradient, direction, lower, upper, next, .. } = self;
        vectors::fill(next, |i, next| {
            *next = (x[i] + scale * direction[i]).max(lower[i]).min(upper[i]);
            gradient[i] * (*next - x[i])
        })
    }

    fn accept(&mut self, value: f64, memory: &mut Memory) {
        let step = difference(&self.next, &self.x);
        let turn = difference(&self.next_gradient, &self.gradient);
        memory.push(step, turn);
        std::mem::swap(&mut self.x, &mut self.next);
        std::mem::swap(&mut self.gradient, &mut self.next_gradient);
        self.value = value;
    }
}

/// What to multiply a step with that was too long: the minimum of the parabola through both values and the
/// slope, kept between a tenth and a half.
fn shorten(value: f64, slope: f64, beyond: f64) -> f64 {
    let bend = beyond - value - slope;
    if bend.is_finite() && bend > 0.0 { (-slope / (2.0 * bend)).clamp(0.1, 0.5) } else { 0.25 }
}

/// The last steps and the changes of the gradient along them.
struct Memory {
    room: usize,
    pairs: VecDeque<Pair>,
}

/// A step, the change of the gradient along it, and their products.
struct Pair {
    step: Vec<f64>,
    turn: Vec<f64>,
    products: Products,
}

/// Of a step and a turn.
#[derive(Clone, Copy)]
struct Products {
    both: f64,
    steps: f64,
    turns: f64,
}

impl Products {
    fn new(step: &[f64], turn: &[f64], product: impl Fn(&[f64], &[f64]) -> f64) -> Self {
        Self { both: product(step, turn), steps: product(step, step), turns: product(turn, turn) }
    }

    /// Whether the function curves upwards along the step, as far as numbers can tell.
    fn convex(&self) -> bool {
        self.both > 1e-12 * self.steps.sqrt() * self.turns.sqrt()
    }
}

impl Memory {
    fn new(room: usize) -> Self {
        Self { room, pairs: VecDeque::with_capacity(room) }
    }

    fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    fn clear(&mut self) {
        self.pairs.clear();
    }

    fn push(&mut self, step: Vec<f64>, turn: Vec<f64>) {
        // A negative curvature would make the approximation indefinite: the function is not convex here.
        let products = Products::new(&step, &turn, dot);
        if self.room == 0 || !products.convex() {
            return;
        }
        if self.pairs.len() == self.room {
            self.pairs.pop_front();
        }
        self.pairs.push_back(Pair { step, turn, products });
    }

    /// The two-loop recursion on the free components: `direction` = −H·gradient there, 0 elsewhere.
    fn direct(&self, gradient: &[f64], free: &[bool], direction: &mut [f64]) {
        for ((d, g), free) in direction.iter_mut().zip(gradient).zip(free) {
            *d = if *free { -g } else { 0.0 };
        }
        let whole = free.iter().all(|f| *f);
        let product = |a: &[f64], b: &[f64]| {
            if whole {
                return dot(a, b);
            }
            a.iter().zip(b).zip(free).filter(|e| *e.1).map(|((x, y), _)| x * y).sum()
        };
        let mut used = Vec::with_capacity(self.pairs.len());
        for Pair { step, turn, products } in self.pairs.iter().rev() {
            let products = if whole { *products } else { Products::new(step, turn, product) };
            if products.convex() {
                let alpha = product(step, direction) / products.both;
                vectors::add(direction, -alpha, turn, free);
                used.push((step, turn, products, alpha));
            }
        }
        if let Some((_, _, products, _)) = used.first() {
            let scale = products.both / products.turns;
            vectors::fill(direction, |_, d| {
                *d *= scale;
                0.0
            });
        }
        for (step, turn, products, alpha) in used.into_iter().rev() {
            let beta = product(turn, direction) / products.both;
            vectors::add(direction, alpha - beta, step, free);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::BLOCK;
    use proptest::prelude::*;

    /// A function with constant second derivatives.
    struct Bowl<F>(F, Vec<f64>);

    impl<F: FnMut(&[f64], &mut [f64]) -> f64> Objective for Bowl<F> {
        fn evaluate(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
            (self.0)(x, gradient)
        }

        fn curvature(&mut self, _: &[f64], hessian: &mut Vec<f64>) -> bool {
            hessian.clone_from(&self.1);
            true
        }
    }

    struct Function<F: FnMut(&[f64], &mut [f64]) -> f64>(F);

    impl<F: FnMut(&[f64], &mut [f64]) -> f64> Objective for Function<F> {
        fn evaluate(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
            (self.0)(x, gradient)
        }
    }

    fn open(n: usize) -> (Vec<f64>, Vec<f64>) {
        (vec![f64::NEG_INFINITY; n], vec![f64::INFINITY; n])
    }

    fn rosenbrock(x: &[f64], g: &mut [f64]) -> f64 {
        let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
        g[0] = -2.0 * a - 400.0 * x[0] * b;
        g[1] = 200.0 * b;
        a * a + 100.0 * b * b
    }

    #[test]
    fn rosenbrock_inside_and_at_a_bound() {
        let (lower, mut upper) = open(2);
        let mut x = [-1.2, 1.0];
        let outcome = minimise(&mut Function(rosenbrock), &mut x, &lower, &upper, Options::default());
        assert!(outcome.converged && outcome.evaluations < 80, "{outcome:?}");
        assert!((x[0] - 1.0).abs() < 1e-5 && (x[1] - 1.0).abs() < 1e-5, "{x:?}");
        upper[0] = 0.5;
        let mut x = [-1.2, 1.0];
        let outcome = minimise(&mut Function(rosenbrock), &mut x, &lower, &upper, Options::default());
        assert!(outcome.converged && x[0] == 0.5 && (x[1] - 0.25).abs() < 1e-6, "{x:?}");
    }

    #[test]
    fn fixed_components_stay_and_values_that_are_not_finite_end_the_search() {
        let mut x = [3.0, 3.0];
        let mut bowl = Function(|x: &[f64], g: &mut [f64]| {
            g.copy_from_slice(&[2.0 * x[0], 2.0 * x[1]]);
            x[0] * x[0] + x[1] * x[1]
        });
        minimise(&mut bowl, &mut x, &[3.0, -9.0], &[3.0, 9.0], Options::default());
        assert!(x[0] == 3.0 && x[1].abs() < 1e-8, "{x:?}");
        let mut nothing = Function(|_: &[f64], _: &mut [f64]| f64::NAN);
        let outcome = minimise(&mut nothing, &mut x, &[3.0, -9.0], &[3.0, 9.0], Options::default());
        assert!(!outcome.converged && x[0] == 3.0);
        let mut wall = Function(|x: &[f64], g: &mut [f64]| {
            g.copy_from_slice(&[0.0, -1.0]);
            if x[1] > 1.0 { f64::INFINITY } else { -x[1] }
        });
        let mut x = [3.0, 0.0];
        minimise(&mut wall, &mut x, &[3.0, -9.0], &[3.0, 9.0], Options::default());
        assert!(x[1] <= 1.0 && x[1] > 0.5, "{x:?}");
        let mut pit = Function(|x: &[f64], g: &mut [f64]| {
            g.copy_from_slice(&[0.0, -1.0]);
            if x[1] > 1.0 { f64::NEG_INFINITY } else { -x[1] }
        });
        let mut x = [3.0, 0.5];
        let outcome = minimise(&mut pit, &mut x, &[3.0, -9.0], &[3.0, 9.0], Options::default());
        assert!(x[1] <= 1.0 && outcome.value.is_finite(), "{x:?}");
    }

    #[test]
    fn newton_holds_what_it_would_push_over_its_bound() {
        // At 0 the slope of the first points inwards, but with the second on its way to the minimum it has to stay.
        let mut bowl = Bowl(
            |x: &[f64], g: &mut [f64]| {
                let h = [10.0 * x[0] - 2.0 * x[1], -2.0 * x[0] + x[1]];
                g.copy_from_slice(&[h[0] - 1.0, h[1] + 1.0]);
                0.5 * (x[0] * h[0] + x[1] * h[1]) - x[0] + x[1]
            },
            vec![10.0, f64::NAN, -2.0, 1.0],
        );
        let mut x = [0.0, 0.0];
        let options = Options { patience: 0, ..Options::default() };
        let outcome = minimise(&mut bowl, &mut x, &[0.0, -9.0], &[9.0, 9.0], options);
        assert!(outcome.converged && outcome.iterations == 1 && x == [0.0, -1.0], "{x:?} {outcome:?}");
    }

    /// More components than a block has: the minimum is known, and the same on any number of threads.
    #[test]
    fn many_components_on_any_number_of_threads() {
        let n = 2 * BLOCK + 123;
        let goal = |i: usize| ((i * 37) % 101) as f64 / 10.0 - 5.0;
        let bend = |i: usize| 1.0 + (i % 17) as f64;
        let (mut lower, upper) = open(n);
        lower[BLOCK + 1] = 7.0;
        let run = |threads: usize| {
            let mut bowl = Function(|x: &[f64], g: &mut [f64]| {
                (0..n).for_each(|i| g[i] = bend(i) * (x[i] - goal(i)));
                (0..n).map(|i| bend(i) * (x[i] - goal(i)).powi(2) / 2.0).sum()
            });
            let mut x = vec![0.0; n];
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let options = Options { gradient: 1e-12, decrease: 0.0, ..Options::default() };
            let outcome = pool.install(|| minimise(&mut bowl, &mut x, &lower, &upper, options));
            (x, outcome)
        };
        let (x, outcome) = run(1);
        assert!(outcome.iterations < 60, "{outcome:?}");
        for (i, x) in x.iter().enumerate() {
            let wanted = if i == BLOCK + 1 { 7.0 } else { goal(i) };
            assert!((x - wanted).abs() < 1e-6, "{i}: {x} {wanted}");
        }
        assert_eq!(run(3), (x, outcome));
    }

    proptest! {
        /// Convex quadratics in a box: the answer satisfies the conditions of optimality.
        #[test]
        fn quadratics_in_a_box(
            rows in prop::collection::vec(prop::collection::vec(-2.0..2.0f64, 4), 6),
            goal in prop::collection::vec(-3.0..3.0f64, 4),
            bounds in prop::collection::vec((-2.0..0.5f64, 0.0..2.0f64), 4),
            start in prop::collection::vec(-3.0..3.0f64, 4),
        ) {
            let lower: Vec<f64> = bounds.iter().map(|b| b.0).collect();
            let upper: Vec<f64> = bounds.iter().map(|b| b.0 + b.1).collect();
            let gradient_at = |x: &[f64], g: &mut [f64]| {
                let mut value = 0.0;
                for i in 0..4 {
                    g[i] = 0.2 * (x[i] - goal[i]);
                    value += 0.1 * (x[i] - goal[i]).powi(2);
                }
                for row in &rows {
                    let r: f64 = row.iter().zip(x).zip(&goal).map(|((a, x), t)| a * (x - t)).sum();
                    value += r * r / 2.0;
                    for i in 0..4 {
                        g[i] += r * row[i];
                    }
                }
                value
            };
            let options = Options { decrease: 0.0, iterations: 500, patience: 0, ..Options::default() };
            let bend = |at: usize| {
                let (i, j) = (at / 4, at % 4);
                rows.iter().map(|row| row[i] * row[j]).sum::<f64>() + if i == j { 0.2 } else { 0.0 }
            };
            let mut bowl = Bowl(gradient_at, (0..16).map(bend).collect());
            for newton in [false, true] {
                let mut x = start.clone();
                let outcome = if newton {
                    minimise(&mut bowl, &mut x, &lower, &upper, options)
                } else {
                    minimise(&mut Function(gradient_at), &mut x, &lower, &upper, options)
                };
                prop_assert!(!newton || outcome.iterations < 30, "{:?}", outcome);
                let mut g = [0.0; 4];
                gradient_at(&x, &mut g);
                for i in 0..4 {
                    prop_assert!(lower[i] <= x[i] && x[i] <= upper[i]);
                    let moved = (x[i] - g[i]).max(lower[i]).min(upper[i]);
                    prop_assert!((moved - x[i]).abs() < 1e-5, "{} of {:?}: {:?}", i, x, g);
                }
            }
        }
    }
}
