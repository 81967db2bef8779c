"""A decoder in a process of its own: batches in, answers out, on a socket that it inherits.

The server starts it as `python -m dragoman.serve.worker SOCKET THREADS SHARED`. It ends when the socket does.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from queue import SimpleQueue

from dragoman._core import lm_copies
from dragoman.serve.frames import Apply, Batch, Cancel, decode, encode, length
from dragoman.serve.runner import Runner

__all__ = ["main"]


class _Socket:
    """Whole messages over a socket, from any thread."""

    def __init__(self, number: int) -> None:
        self._socket = socket.socket(fileno=number)
        self._file = self._socket.makefile("rb")
        self._lock = threading.Lock()

    def read(self) -> Batch | Cancel | Apply | None:
        """The next message; none when the server is gone."""
        head = self._file.read(4)
        body = self._file.read(length(head)) if len(head) == 4 else b""
        if not body or len(body) < length(head):
            return None
        return decode(body)  # type: ignore[return-value]  # the server sends no answers

    def send(self, message: bytes) -> None:
        """Sends a message; when the server is gone there is nobody to tell."""
        with self._lock:
            try:
                self._socket.sendall(message)
            except OSError:
                os._exit(1)


def main(number: int, threads: int, shared: bool) -> None:
    """Works until the server is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server says when to end
    if shared:
        lm_copies(False)
    runner, link = Runner(), _Socket(number)
    jobs: SimpleQueue[Batch | None] = SimpleQueue()

    def work() -> None:
        while (batch := jobs.get()) is not None:
            link.send(encode(runner.run(batch)))

    def change(wanted: Apply) -> None:
        link.send(encode(runner.apply(wanted)))

    for _ in range(threads):
        threading.Thread(target=work, daemon=True).start()
    while (message := link.read()) is not None:
        if isinstance(message, Batch):
            runner.expect(message.number)
            jobs.put(message)
        elif isinstance(message, Cancel):
            runner.cancel(message.number)
        else:  # others go on translating while a model is opened
            threading.Thread(target=change, args=(message,), daemon=True).start()
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "shared")
