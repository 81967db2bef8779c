"""Feature-rich statistical machine translation: score, compare, tune, train and decode on plain CPUs."""

from dragoman._core import VERSION

__version__ = VERSION

__all__ = ["__version__"]
