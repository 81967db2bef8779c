"""What a server may be told: where it listens, how much it takes on, whom it lets in."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.common import Threaded
from dragoman.options import check, option
from dragoman.splitting import Splitting

__all__ = ["Options"]


@dataclass(frozen=True, kw_only=True)
class Options(Threaded, Splitting):
    """How a server works."""

    workers: int = option(
        1, help="Decoders in processes of their own, which share the threads; 0 is none: threads of the server.", min=0,
        max=256,
    )  # fmt: skip
    queue: int = option(1024, help="Requests under way; more of them are answered 503 with Retry-After.", min=1)
    deadline: float = option(
        10.0, help="Seconds for a request; searches end in time, and what cannot be done by then is refused.", min=0.05
    )
    max_body: int = option(
        2_000_000,
        help="Bytes of a request; more are answered 413.",
        min=1000,
        usual="2,000,000",
        metavar="BYTES",
    )
    body_deadline: float = option(
        30.0,
        help="Seconds for the head of a request to come, for its body, and for each part of an answer to be read; a "
        "slow body is answered 408.",
        min=0.05,
    )
    max_texts: int = option(1000, help="Texts of a request.", min=1)
    max_sentence: int = option(
        1000, help="Characters of a sentence; longer ones are split at a clause, or refused.", min=10
    )
    max_nbest: int = option(100, help="Translations of a sentence that may be asked for.", min=1)
    rate: float = option(0.0, help="Requests a minute for each key, or address; 0 is no limit.", min=0)
    cors: str = option("", help="The web site that may call the server from its pages; * is all.", metavar="ORIGIN")
    suggestions: str = option(
        "", help="Where suggestions of users go, a JSONL file for each pair, to train with.", metavar="FOLDER"
    )
    log_text: str = option("", help="Where all that is translated goes, with its translation.", metavar="FILE")

    def __post_init__(self) -> None:
        check(self)
