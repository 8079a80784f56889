"""A log read and followed in this process, by what a replay's processes do. Knows the replay's parts, and no table."""

from __future__ import annotations

import shutil
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator
from heapq import merge
from pathlib import Path
from tempfile import mkdtemp
from zoneinfo import ZoneInfo

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.inputs.replay.spill import Work
from rollcall.inputs.replay.spilled_log import LogBucket, SpilledLog, read_log
from rollcall.inputs.request_log.following.group_model import Listener
from rollcall.inputs.request_log.lines.files import files_in_order
from rollcall.inputs.request_log.recorded import OrderedRequest, Quarantined, Tally
from rollcall.inputs.request_log.survey import Survey
from rollcall.programs.processes import Processes
from rollcall.schemas.effects import Effect


class Requests:
    """A listener that keeps the requests and nothing else."""

    def __init__(self) -> None:
        self.taken: list[OrderedRequest] = []

    def take(self, ordered: OrderedRequest) -> None:
        self.taken.append(ordered)

    def take_effects(self, effects: list[Effect]) -> None:
        pass

    def accept(self, beat: OrderedRequest) -> None:
        self.taken.append(beat)


class WholeLog:
    """One log. Iterating gives its requests in order of time; `config` may be changed until the groups are followed."""

    def __init__(
        self, path: Path, zone: ZoneInfo, *, quarantine: Callable[[Quarantined], None] = lambda line: None
    ) -> None:
        self.config = GroupConfig()
        self._path, self._zone, self._quarantine = path, zone, quarantine
        self._log: SpilledLog | None = None

    def look_over(self) -> Survey:
        return self._read().survey

    @property
    def tally(self) -> Tally:
        return self._read().tally

    def follow(self, listener_of: Callable[[str], Listener]) -> None:
        log = self._read()
        for _ in LogBucket(log.share(0), log.survey, self.config).follow(log.tally, listener_of):
            pass

    def __iter__(self) -> Iterator[OrderedRequest]:
        listeners: defaultdict[str, Requests] = defaultdict(Requests)
        self.follow(listeners.__getitem__)
        yield from merge(
            *(listener.taken for listener in listeners.values()), key=lambda taken: taken.request.received_at_ms
        )

    def _read(self) -> SpilledLog:
        if self._log is None:
            folder = mkdtemp()
            weakref.finalize(self, shutil.rmtree, folder)
            work = Work(Processes(1), _shown_to_nobody, Path(folder), 1)
            self._log = read_log(files_in_order(self._path, self._zone), self._zone, work, {})
            for line in (line for lines in self._log.unfit() for line in lines):
                self._quarantine(line)
        return self._log


def _shown_to_nobody(what: str, more: int, *, total: int) -> None:
    pass
