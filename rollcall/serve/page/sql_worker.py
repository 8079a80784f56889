"""Answers queries of the SQL box in a process of its own: `python -m rollcall.serve.page.sql_worker HOME`.

An empty line on standard output says that it takes a question. A question is a line of JSON on standard input, its
answer a line of JSON on standard output and the bytes that the line counts. Its memory is limited, and a query that
takes too long ends the process, even if its parent is gone.
Knows the two pipes; must not know a server.
"""

from __future__ import annotations

import resource
import signal
import sys
from pathlib import Path
from typing import BinaryIO

import msgspec

from rollcall.serve.page.queries import QueryRefused, Written, answer

MEMORY_MAX_BYTES = 2_000_000_000
"""Of address space, which is several times what DuckDB's own limit lets it use."""
RETIRES_AT_KB = 500_000
"""A process that has once used as much memory ends after its answer; another one starts for the next."""
_READY = b"\n"


class Question(msgspec.Struct):
    query: str
    until_ms: int | None
    form: str
    """A name of `rollcall.serve.page.queries.FORMS`."""
    longest_s: float
    """The process ends if the answer takes longer."""


class AnswerHead(msgspec.Struct):
    """What precedes an answer's bytes."""

    body_bytes: int
    row_count: int = 0
    is_cut: bool = False
    refused: str | None = None
    """The sentence that says why there is no answer."""
    is_last: bool = False
    """Whether the process ends after this answer."""


def serve(home: Path, questions: BinaryIO, answers: BinaryIO) -> None:
    """Answers each question until there is none, or the process has used much memory."""
    decoder, encoder = msgspec.json.Decoder(Question), msgspec.json.Encoder()
    # Memory that its parent had used counts as used.
    retires_at_kb = max(RETIRES_AT_KB, _most_used_kb())
    answers.write(_READY)
    answers.flush()
    for line in questions:
        asked = decoder.decode(line)
        signal.setitimer(signal.ITIMER_REAL, asked.longest_s)
        written, refused = Written(b"", 0, False), None
        try:
            written = answer(home, asked.query, asked.until_ms, asked.form)
        except QueryRefused as error:
            refused = str(error)
        signal.setitimer(signal.ITIMER_REAL, 0)
        is_last = _most_used_kb() > retires_at_kb
        head = AnswerHead(len(written.body), written.row_count, written.is_cut, refused, is_last)
        answers.write(encoder.encode(head) + b"\n" + written.body + _READY)
        answers.flush()
        if is_last:
            return


def _most_used_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX_BYTES, MEMORY_MAX_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Not Python's handler, which waits until DuckDB comes back.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(Path(sys.argv[1]), sys.stdin.buffer, sys.stdout.buffer)
