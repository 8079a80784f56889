"""The input of a replay that is recorded requests beside logs of brokers and clients: each group by one of them.

Knows files of effects. Must not know what is in a line or a request.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console

from jobs.home import Home
from jobs.replay.building import Files
from jobs.replay.inputs import Input
from jobs.replay.printed import PrintedInput, write_effects
from jobs.replay.row_files import RowFiles
from jobs.replay.work import Work
from jobs.shown.terminal import say
from why.words import some


class PrintedBesideLog:
    """A request log, alone or with a dump, which wins, and printed logs of the same cluster, for all other groups."""

    has_requests = True

    def __init__(self, recorded: Input, printed: PrintedInput) -> None:
        self.size_bytes, self._recorded, self._printed = recorded.size_bytes + printed.size_bytes, recorded, printed
        self._by_lines: list[str] = []

    @property
    def is_understood(self) -> bool:
        """Whether anything in either is understood, once both are read."""
        return self._recorded.is_understood or self._printed.is_understood

    def files(self, work: Work) -> Files:
        """Reads all, and writes their rows."""
        recorded = set[str]()
        for bucket, files in self._recorded.files(work):
            for file in files:
                if file.suffix == ".effects":
                    with pa.memory_map(str(file)) as source:
                        recorded.update(pc.unique(pa.ipc.open_file(source).read_all()["group_id"]).to_pylist())
            yield bucket, files
        out = RowFiles(work.folder / "beside-log")
        for group_id, effects in self._printed.groups():
            if group_id not in recorded:
                self._by_lines.append(group_id)
                write_effects(out, group_id, effects)
        yield 0, out.files

    def tell(self, console: Console, home: Home) -> None:
        """Prints the reports of all, and which groups are by lines."""
        self._recorded.tell(console, home)
        self._printed.tell(console, home)
        which = some(sorted(self._by_lines)) or "none"
        say(console, f"  groups by these lines alone: {which}")
