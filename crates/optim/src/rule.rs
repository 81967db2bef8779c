//! How one weight follows its gradient: the rules of online learning, as functions of plain numbers.

/// How weights follow a gradient.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// w −= rate · g.
    Sgd {
        /// Step size (η).
        rate: f64,
    },
    /// w −= rate · g / (√G + epsilon), G = Σ g² (Duchi et al. 2011); then each weight with a G shrinks by
    /// `l1` times its own rate (FOBOS, Duchi & Singer 2009).
    AdaGrad {
        /// Step size (η).
        rate: f64,
        /// Added to √G.
        epsilon: f64,
        /// Strength of the L1 penalty (λ).
        l1: f64,
    },
    /// w −= rate · g / (prior + Σ g²): linearised AROW (Green et al. 2013, equation 11).
    Arow {
        /// Step size (η).
        rate: f64,
        /// The precision before the first gradient, Σ₀⁻¹.
        prior: f64,
    },
    /// w −= min(cap, loss/|g|²) · g.
    PassiveAggressive {
        /// Largest step (C).
        cap: f64,
    },
}

impl Rule {
    /// Whether it remembers the sum of squared gradients.
    pub fn squares(&self) -> bool {
        matches!(self, Self::AdaGrad { .. } | Self::Arow { .. })
    }

    /// Whether weights shrink in steps whose gradient they have no part in.
    pub fn shrinks(&self) -> bool {
        matches!(self, Self::AdaGrad { l1, .. } if *l1 > 0.0)
    }

    /// What the gradients of a step are multiplied with: its size for passive-aggressive steps, 1 for others.
    pub(crate) fn size(&self, loss: f64, square: impl FnOnce() -> f64) -> f64 {
        match *self {
            Self::PassiveAggressive { cap } => {
                let square = square();
                if square > 0.0 { (loss / square).min(cap) } else { 0.0 }
            }
            _ => 1.0,
        }
    }

    /// The weight after a step; `square` is its sum of squared gradients, this one not yet in it.
    #[inline]
    pub(crate) fn moved(&self, w: f64, g: f64, size: f64, square: &mut f64) -> f64 {
        match *self {
            Self::Sgd { rate } => w - rate * g,
            Self::PassiveAggressive { .. } => w - size * g,
            Self::Arow { rate, prior } => {
                *square += g * g;
                w - rate * g / (prior + *square)
            }
            Self::AdaGrad { rate, epsilon, l1 } => {
                let own = adagrad(rate, epsilon, g, square);
                shrink(w - own * g, 0.0, l1 * own)
            }
        }
    }

    /// By how much a weight with this sum of squared gradients shrinks in a step without it.
    #[inline]
    pub(crate) fn idle(&self, square: f64) -> f64 {
        match *self {
            Self::AdaGrad { rate, epsilon, l1 } if square > 0.0 => l1 * rate / (square.sqrt() + epsilon),
            _ => 0.0,
        }
    }
}

/// `AdaGrad`'s own rate of a feature, after its gradient `g` has entered its sum of squares.
#[inline]
pub fn adagrad(rate: f64, epsilon: f64, g: f64, square: &mut f64) -> f64 {
    *square += g * g;
    rate / (square.sqrt() + epsilon)
}

/// Moves `w` toward `goal` by `amount`, and not beyond.
#[inline]
pub(crate) fn shrink(w: f64, goal: f64, amount: f64) -> f64 {
    let distance = w - goal;
    if amount == 0.0 {
        w
    } else if distance.abs() <= amount {
        goal
    } else {
        w - amount.copysign(distance)
    }
}
