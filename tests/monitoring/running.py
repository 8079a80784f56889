"""Programs that a test starts, and where they listen. Must not know what they are asked."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.monitoring.debian import program
from tests.source_tree import ROOT
from tests.waiting import until

_LISTENS = re.compile(r'msg="Listening on" address=127\.0\.0\.1:(\d+)')
_READY = {"prometheus": "Server is ready to receive web requests", "alertmanager": ""}


@contextmanager
def started(words: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A process that ends when it is told to."""
    with subprocess.Popen(words, text=True, **options) as process:
        yield process
        process.terminate()
        assert process.wait(30) == 0


@contextmanager
def serving(name: str, folder: Path, *words: str) -> Iterator[str]:
    """A server of Debian's at a free port of this machine, and its address. folder: has room for its log."""
    log = folder / f"{name}.log"
    everywhere = (program(name), "--web.listen-address=127.0.0.1:0")
    with log.open("w") as written, started([*everywhere, *words], stderr=written):
        found = until(lambda: _LISTENS.search(log.read_text()), log.read_text)
        until(lambda: _READY[name] in log.read_text(), log.read_text)
        yield f"http://127.0.0.1:{found[1]}"


@contextmanager
def rollcall(program: str, *words: str, says: str) -> Iterator[tuple[subprocess.Popen[str], re.Match[str]]]:
    """One of the project's programs, once it has said that."""
    with started(
        [sys.executable, "-m", f"rollcall.serve.{program}", *words], cwd=ROOT, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.search(says, said)
        assert found, said
        yield process, found
