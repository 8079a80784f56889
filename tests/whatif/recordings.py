"""What a what-if reads from the recorded incidents, each read once.

Knows where they are; must not know what is asked of them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from rich.console import Console

from rollcall.answers.whatif.recording import Recording
from rollcall.cli.whatif.command import read_recording
from rollcall.inputs.replay.building import Shown
from rollcall.programs.processes import Processes
from tests.source_tree import ROOT

FOLDER = ROOT / "tests" / "captures"


@cache
def recording(name: str) -> Recording:
    """A capture's schedules and what was recorded of them."""
    return recording_of(FOLDER / name)


def recording_of(path: Path, was: dict[str, str] | None = None) -> Recording:
    """Those of a log. was: settings that the broker is known to have had."""
    return read_recording(path, "UTC", was or {}, Processes(1), Shown(Console(quiet=True)))[0]
