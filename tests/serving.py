"""A server for tests: a small model, `dragoman serve` in a process of its own, and calls to it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from dragoman.training import train

_ACTORS = {"der Hund": "the dog", "der Mann": "the man", "der Vogel": "the bird", "der Junge": "the boy"}
_DEEDS = {"sieht": "sees", "sucht": "seeks", "kennt": "knows"}
_THINGS = {"den Stein": "the stone", "den Baum": "the tree", "den Wald": "the forest"}
_WOMEN = {"die Frau": "the woman", "die Katze": "the cat", "die Lehrerin": "the teacher"}
_SOUNDS = {"lacht": "laughs", "singt": "sings", "schläft": "sleeps"}
_PAIRS = [
    *(
        (f"{a} {v} {b}.", f"{c} {w} {d}.")
        for a, c in _ACTORS.items()
        for v, w in _DEEDS.items()
        for b, d in _THINGS.items()
    ),
    *((f"heute {v} {a}.", f"today {c} {w}.") for a, c in _WOMEN.items() for v, w in _SOUNDS.items()),
    *((f"{a} {v}.", f"{c} {w}.") for a, c in {**_ACTORS, **_WOMEN}.items() for v, w in _SOUNDS.items()),
    *((f"{a}.", f"{c}.") for a, c in {**_ACTORS, **_WOMEN, **_THINGS}.items()),
]


_HEBREW = dict(
    pair.split(":")
    for pair in (  # noqa: SIM905  a table
        "the:ה dog:כלב man:איש bird:ציפור boy:ילד stone:אבן tree:עץ forest:יער woman:אישה cat:חתולה teacher:מורה "
        "sees:רואה seeks:מחפש knows:מכיר laughs:צוחק sings:שר sleeps:ישן today:היום"
    ).split()
)


def model(folder: Path, system: str = "phrase") -> Path:
    """Trains a small model; the folder. `hebrew` is one from English to a script that is written from right to left."""
    pairs, languages = _PAIRS, ("de", "en")
    if system == "hebrew":
        pairs = [(t, re.sub(r"\w+", lambda word: _HEBREW[word[0]], t)) for _, t in _PAIRS]
        languages = ("en", "he")
    source, target = (folder / f"{system}.{language}" for language in languages)
    source.write_text("".join(f"{s[0].upper()}{s[1:]}\n" for s, _ in pairs), encoding="utf-8")
    target.write_text("".join(f"{t[0].upper()}{t[1:]}\n" for _, t in pairs), encoding="utf-8")
    options: dict[str, Any] = {"languages": languages, "order": 2, "keep_duplicates": True}
    options |= {"say": lambda *_: None, "system": "phrase" if system == "hebrew" else system}
    return train(source, target, folder / system, **options).model.folder


@dataclass
class Server:
    """A server that runs."""

    url: str
    process: subprocess.Popen[str]
    wait: float = 60.0
    """Seconds for an answer."""

    def call(self, path: str, content: Any = None, **headers: str) -> tuple[int, Any]:
        """Status and JSON of a call: an object is sent as JSON, bytes as they are."""
        status, body, _ = self.raw(path, content, **headers)
        return status, json.loads(body)

    def raw(self, path: str, content: Any = None, method: str = "", **headers: str) -> tuple[int, bytes, Any]:
        """Status, body and headers of a call."""
        data = content if isinstance(content, (bytes, type(None))) else json.dumps(content).encode()
        kind = {} if isinstance(content, (bytes, type(None))) else {"Content-Type": "application/json"}
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(
            self.url + path, data, {**kind, **names}, method=method or ("GET" if data is None else "POST")
        )
        try:
            with urllib.request.urlopen(request, timeout=self.wait) as answer:
                return answer.status, answer.read(), answer.headers
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read(), error.headers

    def upload(self, name: str = "", content: bytes = b"", **fields: str) -> tuple[int, Any]:
        """Status and JSON of `/translate_file`; 0 and nothing if there is no answer in time."""
        parts = [f'name="{field}"\r\n\r\n{value}'.encode() for field, value in fields.items()]
        if name:
            parts.append(f'name="file"; filename="{name}"\r\n\r\n'.encode() + content)
        body = b"".join(b"--b\r\nContent-Disposition: form-data; " + part + b"\r\n" for part in parts) + b"--b--\r\n"
        try:
            kind = {"Content-Type": "multipart/form-data; boundary=b"}
            return self.call("/translate_file", body, **kind)
        except TimeoutError:
            return 0, None

    def workers(self) -> list[int]:
        """The processes that decode."""
        me = self.process.pid
        found = Path(f"/proc/{me}/task/{me}/children").read_text().split()
        return [int(pid) for pid in found if b"dragoman.serve.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]

    def metric(self, name: str) -> float:
        """A number of `/metrics`."""
        text = self.raw("/metrics")[1].decode()
        return float(next(line.split()[1] for line in text.splitlines() if line.startswith(f"{name} ")))

    def calm(self) -> None:
        """Waits until no request is under way."""
        until = time.monotonic() + 120
        while self.metric("dragoman_requests_under_way") > 0:
            assert time.monotonic() < until, "requests that nobody waits for are still under way"
            time.sleep(0.05)

    def memory(self, *, decoders: bool = True) -> int:
        """Bytes of the server and its decoders that are their own (not mapped files)."""
        total = 0
        for pid in [self.process.pid, *(self.workers() if decoders else ())]:
            found = re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
            total += int(found[1]) * 1024 if found else 0
        return total

    def stop(self) -> int:
        """Ends it as systemd does; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        cast(Any, self.process.stderr).close()
        return code


def start(*arguments: str | Path) -> Server:
    """Starts `dragoman serve` on a free port."""
    command = [sys.executable, "-m", "dragoman", "serve", "--port", "0", *map(str, arguments)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = ""
    while "is ready" not in said:
        line = process.stderr.readline()
        assert line, f"the server did not start: {said}"
        said += line
    url = re.search(r"http://\S+?(?=/ is ready)", said)
    assert url
    return Server(url[0], process)
