"""`make run` as a process of a test: started with places of its own, and read until it has told what is awaited.

Knows the command and what it prints. Must not know what a test makes of it.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from tests.source_tree import ROOT

PATIENCE_S = 400.0


def start(home: Path, **environ: str) -> subprocess.Popen[str]:
    places = {"LISTEN": "127.0.0.1:0", "METRICS": "127.0.0.1:0", "PAGE": "127.0.0.1:0"}
    settings = {**os.environ, "ROLLCALL_HOME": str(home), **places, **environ}
    return subprocess.Popen(
        ["make", "run"],
        cwd=ROOT,
        env=settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def read_until(process: subprocess.Popen[str], wanted: tuple[str, ...]) -> str:
    """What the process says until every text has come, or its patience is over."""
    assert process.stdout is not None
    reported, until = "", time.monotonic() + PATIENCE_S
    while not all(text in reported for text in wanted):
        line = process.stdout.readline()
        assert line, f"it ended after:\n{reported}"
        assert time.monotonic() < until, reported
        reported += line
    return reported
