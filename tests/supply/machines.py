"""Machines on which a smaller size of the wheel is installed: a Python that cannot import what an extra brings.

Knows how a process and its children are kept from importing. Must not know a command.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from rollcall.programs.extras import EXTRAS
from rollcall.programs.version import VERSION
from tests.source_tree import ROOT

LOG = ROOT / "tests" / "captures" / "d-kill" / "requests.log.gz"
PRINTED = ROOT / "tests" / "printed" / "brokers" / "d-kill.log.gz"
_BLOCKING = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {packages!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
"""
_RUNNING = """
import contextlib, io, json, sys
from rollcall.__main__ import main

for words in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(words)
    print(json.dumps([status, out.getvalue(), err.getvalue()]))
"""


class Done(NamedTuple):
    """What a command did."""

    status: int
    out: str
    err: str


class Machine:
    """A machine without the packages of some extras. folder: a temporary one."""

    def __init__(self, folder: Path, lacking: Iterable[str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        packages = sorted(package for extra in lacking for package in EXTRAS[extra])
        # Python imports it at each start, those of children too.
        (folder / "sitecustomize.py").write_text(_BLOCKING.format(packages=packages))
        path = os.pathsep.join((str(folder), str(ROOT)))
        self.environ = {**os.environ, "PYTHONPATH": path, "XDG_CACHE_HOME": str(folder / "cache")}
        self._folder = folder

    def runs(self, *commands: Sequence[str]) -> list[Done]:
        """Run commands one after the other in one process, which imports for each what it needs."""
        asked = json.dumps([list(map(str, words)) for words in commands])
        command = [sys.executable, "-c", _RUNNING, asked]
        done = subprocess.run(
            command, cwd=self._folder, env=self.environ, capture_output=True, text=True, check=False, timeout=200
        )
        assert done.returncode == 0, done.stderr
        return [Done(*json.loads(line)) for line in done.stdout.splitlines()]


def refusal(command: str, extra: str) -> re.Pattern[str]:
    """What a command prints whose extra is missing."""
    line = re.escape(f"which is not installed: pip install 'rollcall[{extra}]=={VERSION}'")
    return re.compile(rf"rollcall: rollcall {command} needs \w+, {line}\n")
