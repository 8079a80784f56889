"""The tools to read an input: processes, a folder, and how its progress is shown. Must not know what is read."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Protocol

from rollcall.programs.processes import Processes


class Show(Protocol):
    """Shows the name of the work, how much more of it is done, and its total."""

    def __call__(self, what: str, more: int, *, total: int) -> None: ...


class Work(NamedTuple):
    """The tools to read an input."""

    pool: Processes
    show: Show
    folder: Path
    """The folder for files in between."""
    buckets: int
    """How many buckets its groups are spread over; one process works on a bucket."""
