"""What travels between the server and its decoders: batches of lines, what became of them, and commands."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["Applied", "Apply", "Batch", "Cancel", "Done", "Found", "Recipe", "decode", "encode", "length"]


class Recipe(msgspec.Struct, frozen=True, array_like=True):
    """What is done to a line. Lines with the same recipe are searched together."""

    model: str
    nbest: int = 1
    detail: bool = False
    """Whether words, alignments and phrases are wanted, besides the text."""
    explain: bool = False
    """Whether features are."""
    lattice: bool = False
    tokenized: bool = False
    kind: str = "translate"
    """`translate`, `score` or `detect`."""
    glossary: tuple[tuple[str, tuple[str, ...]], ...] | None = None
    revision: int = 0
    """Of the model: a request ends with the weights that it began with."""


Constraint = tuple[list[tuple[int, int, str]], bool, list[int], list[tuple[int, int]]]
"""Given translations, whether these rule out others, walls, zones; in characters of the line."""


class Batch(msgspec.Struct, array_like=True, tag="batch"):
    """Lines on their way to a decoder."""

    number: int
    recipe: Recipe
    lines: list[str]
    seconds: float
    """For each line."""
    constraints: list[Constraint | None] | None = None
    targets: list[str] | None = None


class Found(msgspec.Struct, array_like=True):
    """What became of a line."""

    text: str = ""
    error: str | None = None
    late: bool = False
    detail: dict[str, Any] | None = None


class Done(msgspec.Struct, array_like=True, tag="done"):
    """What became of a batch: each of its lines, or why it was refused, or what went wrong."""

    number: int
    found: list[Found]
    seconds: float
    """Of a thread."""
    refused: str | None = None
    fault: str | None = None


class Cancel(msgspec.Struct, array_like=True, tag="cancel"):
    """Nobody wants a batch any more."""

    number: int


class Apply(msgspec.Struct, array_like=True, tag="apply"):
    """A change of the models, which have revisions side by side: each request names the one that it began with.

    `load` opens a folder as a revision, `weights` makes one of another (`base`) with some weights changed or those of
    the folder, `drop` lets go of one, `info` describes it.
    """

    number: int
    what: str
    model: str
    revision: int = 0
    folder: str = ""
    weights: dict[str, float] | None = None
    trust: bool = False
    base: int = 0


class Applied(msgspec.Struct, array_like=True, tag="applied"):
    """The answer to a change, with what is now so."""

    number: int
    error: str | None = None
    about: dict[str, Any] | None = None


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Batch | Done | Cancel | Apply | Applied)
_HEAD = 4


def encode(message: Batch | Done | Cancel | Apply | Applied) -> bytes:
    """A message with its length before it."""
    body = _encoder.encode(message)
    return len(body).to_bytes(_HEAD, "big") + body


def length(head: bytes) -> int:
    """The length that stands before a message."""
    return int.from_bytes(head, "big")


def decode(body: bytes) -> Batch | Done | Cancel | Apply | Applied:
    """The message."""
    message: Batch | Done | Cancel | Apply | Applied = _decoder.decode(body)
    return message
