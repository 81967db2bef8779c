"""How a gradient moves the weights: the rules of online learning, one class each, with their memory.

`apply` takes the gradient of a mini-batch's loss as a plain array, as wide as the weights, and gives new weights.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dragoman.tuning.state import padded
from dragoman.types import F64

if TYPE_CHECKING:
    from dragoman.tuning.tuners.online import Online

__all__ = ["AdaGrad", "Arow", "PassiveAggressive", "Sgd", "Updater", "updater_of"]


class Updater(Protocol):
    """A rule and what it remembers: the sum of squared gradients, where it keeps one."""

    squares: F64

    def apply(self, weights: F64, gradient: F64, loss: float) -> F64:
        """The weights after a mini-batch."""
        ...


@dataclass
class AdaGrad:
    """Diagonal AdaGrad with L1 by FOBOS (Green et al. 2013, equations 8 and 10).

    After the step every weight that was ever touched shrinks by `l1` times its own rate; those that were not touched
    have no rate yet and stay.
    """

    rate: float
    epsilon: float
    l1: float
    squares: F64 = field(default_factory=lambda: np.zeros(0))

    def apply(self, weights: F64, gradient: F64, _loss: float) -> F64:
        """Step, then shrink."""
        self.squares = padded(self.squares, len(weights)) + gradient**2
        touched = self.squares > 0
        rates = np.zeros(len(weights))
        rates[touched] = self.rate / (np.sqrt(self.squares[touched]) + self.epsilon)
        moved = weights - rates * gradient
        shrunk = np.sign(moved) * np.maximum(np.abs(moved) - self.l1 * rates, 0.0)
        return np.where(touched, shrunk, weights)


@dataclass
class Sgd:
    """The same rate for all."""

    rate: float
    squares: F64 = field(default_factory=lambda: np.zeros(0))

    def apply(self, weights: F64, gradient: F64, _loss: float) -> F64:
        """Gives w - rate g."""
        return weights - self.rate * gradient


@dataclass
class Arow:
    """AROW, linearised (equation 11): the inverse variance grows by the squared gradient, and divides the step."""

    rate: float
    prior: float
    squares: F64 = field(default_factory=lambda: np.zeros(0))

    def apply(self, weights: F64, gradient: F64, _loss: float) -> F64:
        """Gives w - rate g / (prior + sum of g^2)."""
        self.squares = padded(self.squares, len(weights)) + gradient**2
        divisor = self.prior + self.squares
        return weights - self.rate * np.divide(gradient, divisor, out=np.zeros(len(weights)), where=divisor > 0)


@dataclass
class PassiveAggressive:
    """As far as the loss asks for, but not further than `c`: MIRA's step."""

    c: float
    squares: F64 = field(default_factory=lambda: np.zeros(0))

    def apply(self, weights: F64, gradient: F64, loss: float) -> F64:
        """Gives w - min(c, loss / |g|^2) g."""
        norm = float(gradient @ gradient)
        return weights if norm == 0.0 else weights - min(self.c, loss / norm) * gradient


def updater_of(tuner: Online) -> Updater:
    """The rule that a tuner names."""
    made: dict[str, Updater] = {
        "adagrad": AdaGrad(tuner.rate, tuner.epsilon, tuner.l1),
        "sgd": Sgd(tuner.rate),
        "arow": Arow(tuner.rate, tuner.prior),
        "passive-aggressive": PassiveAggressive(tuner.c),
    }
    return made[tuner.updater]
