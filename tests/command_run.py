"""`rollcall` as a process of its own, as a shell starts it."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.source_tree import ROOT


def ran(*words: str, given: bytes = b"", **environ: str) -> tuple[int, str, str]:
    """Return the exit status, standard output and standard error of `rollcall`. given: its standard input."""
    done = subprocess.run(
        [sys.executable, "-m", "rollcall", *words],
        cwd=ROOT,
        env={**os.environ, **environ},
        input=given,
        capture_output=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()
