"""A plug-in for people who have eflomal (GPL-3, so never a dependency): `dragoman align --aligner eflomal`."""

from __future__ import annotations

import importlib
from pathlib import Path
from tempfile import TemporaryDirectory

from dragoman.alignment import Alignment, Links, Report
from dragoman.errors import OptionError
from dragoman.files import write_text
from dragoman.types import Texts

__all__ = ["align_with_eflomal"]


def align_with_eflomal(source: Texts, target: Texts) -> Alignment:
    """Align with eflomal's own defaults. Its results vary from run to run: it takes no seed."""
    try:
        eflomal = importlib.import_module("eflomal")
    except ImportError as error:
        raise OptionError("eflomal is not installed: `pip install eflomal`, or use dragoman's own aligner") from error
    with TemporaryDirectory() as folder:
        files = {name: Path(folder, name) for name in ("source", "target", "forward", "reverse")}
        write_text(files["source"], source)
        write_text(files["target"], target)
        with files["source"].open(encoding="utf-8") as left, files["target"].open(encoding="utf-8") as right:
            eflomal.Aligner().align(
                left,
                right,
                links_filename_fwd=str(files["forward"]),
                links_filename_rev=str(files["reverse"]),
            )
        forward, reverse = (Links.read(files[name], (source, target)) for name in ("forward", "reverse"))
    empty = sum(not (s.strip() and t.strip()) for s, t in zip(source, target, strict=True))
    return Alignment(forward, reverse, Report(len(source), empty, 0, 0, 0))
