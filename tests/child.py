"""A program as a child whose output goes to files: it never waits for a reader, and no reader waits for it for ever.

Knows processes; must not know which program it is.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.source_tree import ROOT
from tests.waiting import until

PATIENCE_S = 400.0
WITHOUT_PYTEST = {name: value for name, value in os.environ.items() if "PYTEST" not in name} | {"PYTHONPATH": str(ROOT)}
"""For a run of pytest as a child: without the variables that xdist sets for its own workers."""


class Child(subprocess.Popen[bytes]):
    """A process. folder: where its output is kept. is_alone: in a group of its own, which outlives a killed test."""

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path = ROOT,
        is_alone: bool = True,
    ) -> None:
        kept = Path(tempfile.mkdtemp(prefix="output-", dir=folder))
        self._out, self._err, self._read = kept / "out", kept / "err", 0
        with self._out.open("w") as out, self._err.open("w") as err:
            super().__init__(command, cwd=cwd, env=env, stdout=out, stderr=err, start_new_session=is_alone)

    def read_until(self, *wanted: str) -> str:
        """The lines that it writes, from the last that were read, until every text has come."""

        def lines() -> str | None:
            has_ended = self.poll() is not None
            text = self._out.read_text()[self._read :]
            starts = [text.find(each) for each in wanted]
            end = text.find("\n", max(starts)) + 1
            if min(starts) >= 0 and end:
                return text[:end]
            assert not has_ended, f"it ended after:\n{text}\n{self._err.read_text()}"
            return None

        read = until(lines, lambda: f"{wanted} in:\n{self._out.read_text()}", PATIENCE_S)
        self._read += len(read)
        return read

    def ended(self) -> tuple[int, str, str]:
        """Exit status, standard output and errors, once it has ended."""
        return self.wait(PATIENCE_S), self._out.read_text(), self._err.read_text()
