"""`rollcall export` as a process. Must not know what is exported."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.source_tree import ROOT


@contextmanager
def served(home: Path, *words: str) -> Iterator[str]:
    """Where a process serves a home, until it has been told to end."""
    program = [sys.executable, "-m", "rollcall.serve.exporter", "--home", str(home), "--listen", "127.0.0.1:0", *words]
    with subprocess.Popen(program, cwd=ROOT, env=os.environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", said)
        assert found, said
        yield found[0]
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
