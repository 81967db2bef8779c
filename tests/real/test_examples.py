"""The programs under examples/, on a part of the real data."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_reranking_several_systems(data: Path) -> None:
    """Weighing nine systems' outputs beats the one that was best on the tuning half."""
    folder = data / "wmt22-systems" / "de-en"
    command = [sys.executable, str(ROOT / "examples" / "rerank_systems.py"), "--tuner", "kbmira", "--limit", "600"]
    command += ["--outputs", *map(str, sorted(folder.glob("hyp.*.gz"))), "--source", str(folder / "src.de.gz")]
    command += ["--refs", str(folder / "ref.A.en.gz"), str(folder / "ref.B.en.gz")]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    report = json.loads(run.stdout)
    assert report["reranked"] > report["its score"]
