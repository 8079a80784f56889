"""The socket of a home by which a running job's Spark is asked: where it lies, what goes over it, and who asks.

A question is one line of JSON; the answer comes as lines of JSON, each a text of the whole, or a table's rows, and one
that says how it ended. The socket lies in the home with mode 0600: who may not read the home may not ask. Knows the
conversation; must not know SQL, nor load Spark. The other end is `jobs.spark.warm_answers`.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from jobs.queries import QueryError

SOCKET_NAME = "sql.socket"
TAKEN_S = 5.0
"""So long one waits for a job that answers somebody else; then one starts a Spark of one's own."""
_DIRECTORIES = Path("/proc/self/fd")

Question = dict[str, Any]
"""`query`, `at`, `form`, and `is_terminal`: whether a person reads the answer where control characters act."""
ShowTable = Callable[[list[str], list[bool], list[list[str | None]]], None]


class NoWarmSpark(Exception):
    """No job of the home answers; the text says why."""


@contextmanager
def address_in(folder: Path) -> Iterator[str]:
    """The socket's address: a path through an open folder, since a socket's own may have 107 bytes at most."""
    if not _DIRECTORIES.is_dir():
        yield str(folder / SOCKET_NAME)
        return
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield str(_DIRECTORIES / str(opened) / SOCKET_NAME)
    finally:
        os.close(opened)


def ask_running(home: Path, question: Question, out: TextIO, show_table: ShowTable) -> None:
    """Prints what the home's running job answers. Raises NoWarmSpark before anything is printed; QueryError."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(TAKEN_S)
        try:
            with address_in(home) as address:
                connection.connect(address)
            connection.sendall(json.dumps(question).encode() + b"\n")
            with connection.makefile("rb") as told:
                _take(told.readline())
                connection.settimeout(None)
                _print(map(json.loads, told), out, show_table)
        except OSError as error:
            raise NoWarmSpark(error.strerror or str(error)) from None


def _take(line: bytes) -> None:
    if json.loads(line or b"{}").get("taken") is not True:
        raise NoWarmSpark("it did not take the question")


def _print(frames: Iterator[dict[str, Any]], out: TextIO, show_table: ShowTable) -> None:
    has_begun = False
    for frame in frames:
        match frame:
            case {"text": text}:
                out.write(text)
                has_begun = True
            case {"names": names, "are_numbers": are_numbers, "rows": rows}:
                show_table(names, are_numbers, rows)
            case {"refused": sentence}:
                raise QueryError(sentence)
            case {"gone": reason} if not has_begun:
                raise NoWarmSpark(reason)
            case {"done": True}:
                return
    if not has_begun:
        raise NoWarmSpark("it has stopped")
    raise QueryError("query: the job that answered has stopped in the middle; ask again.")
