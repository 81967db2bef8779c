"""Feature-rich statistical machine translation: score, compare, tune, train and decode on plain CPUs."""

from dragoman._core import VERSION as __version__

__all__ = ["__version__"]
