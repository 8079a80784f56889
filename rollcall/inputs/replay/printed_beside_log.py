"""The input of a replay that is recorded requests beside logs of brokers and clients.

A group is by the requests, with the generations that only the lines have; others are by the lines alone. Knows files
of effects. Must not know what is in a line or a request.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console

from rollcall.history.facts import COLUMNS, GROUP_TYPES, REBALANCES, facts_of, in_order
from rollcall.history.words import some
from rollcall.inputs.believed_lines import beyond, without_contradicted
from rollcall.inputs.printed.logged_rebalances import LoggedGroup
from rollcall.inputs.recordings import GroupRecorded
from rollcall.inputs.replay.building import Files
from rollcall.inputs.replay.inputs import Input
from rollcall.inputs.replay.printed import PrintedInput, write_effects
from rollcall.inputs.replay.row_files import RowFiles
from rollcall.inputs.replay.work import Work
from rollcall.programs.terminal import say
from rollcall.schemas.effects import Effect, RebalanceEnded
from rollcall.schemas.tables import AFTER_THE_LOGS
from rollcall.tables.home import Home

_KINDS = pa.array([*map(str, (*GROUP_TYPES, *REBALANCES))])


class PrintedBesideLog:
    """A request log, alone or with a dump, which wins, and printed logs of the same cluster, for all other groups."""

    has_requests = True

    def __init__(self, recorded: Input, printed: PrintedInput) -> None:
        self.size_bytes, self._recorded, self._printed = recorded.size_bytes + printed.size_bytes, recorded, printed
        self._by_lines: list[str] = []
        self._on_by_lines: list[str] = []
        self._refused: list[str] = []

    @property
    def is_understood(self) -> bool:
        """Whether anything in either is understood, once both are read."""
        return self._recorded.is_understood or self._printed.is_understood

    def files(self, work: Work) -> Files:
        """Reads all, and writes their rows."""
        by_lines = {group.group_id: (group, effects) for group, effects in self._printed.groups()}
        recorded = defaultdict[str, GroupRecorded](GroupRecorded)
        for bucket, files in self._recorded.files(work):
            for file in files:
                if file.suffix == ".effects":
                    _note_recorded(file, pa.array([*by_lines], pa.string()), recorded)
            yield bucket, files
        out = RowFiles(work.folder / "beside-log")
        for group_id, (group, effects) in by_lines.items():
            known = recorded.get(group_id)
            added = effects if known is None else self._added(group, effects, known)
            if added:
                (self._by_lines if known is None else self._on_by_lines).append(group_id)
                write_effects(out, group_id, added, 1 if known is None else AFTER_THE_LOGS)
        yield 0, out.files

    def _added(self, group: LoggedGroup, effects: list[Effect], recorded: GroupRecorded) -> list[Effect]:
        """Return what lines add of generations that the requests lack: their rebalances, and after the requests all."""
        recorded.facts.sort(key=in_order)
        believed, refused = without_contradicted(group, recorded)
        self._refused += refused
        ended = [one.content for one in recorded.facts if isinstance(one.content, RebalanceEnded)]
        known = [(one.from_generation_id, one.to_generation_id) for one in ended]
        own = {one.generation_id for one in beyond(believed, known)}
        found: list[Effect] = []
        begins, is_own = 0, False
        for place, effect in enumerate(effects):
            if isinstance(effect, RebalanceEnded):
                is_own = effect.to_generation_id in own
                found += effects[begins : place + 1] if is_own else ()
                begins = place + 1
        found += effects[begins:] if is_own else ()
        return [one for one in found if one.at_ms > recorded.until_ms or isinstance(one, RebalanceEnded)]

    def tell(self, console: Console, home: Home) -> None:
        """Prints the reports of all, and which groups are by lines."""
        self._recorded.tell(console, home)
        self._printed.tell(console, home)
        which = some(sorted(self._by_lines)) or "none"
        say(console, f"  groups by these lines alone: {which}")
        if self._on_by_lines:
            say(console, f"  groups by these lines before and after the requests: {some(sorted(self._on_by_lines))}")
        for sentence in self._refused:
            say(console, f"  not known: {sentence}")


def _note_recorded(file: Path, groups: pa.Array, recorded: dict[str, GroupRecorded]) -> None:
    """Take up what a file of effects has of some groups: their rebalances, and until when it has them."""
    with pa.memory_map(str(file)) as source:
        rows = pa.ipc.open_file(source).read_all()
    rows = rows.filter(pc.is_in(rows["group_id"], groups))
    for row in rows.group_by("group_id").aggregate([("at_ms", "max")]).to_pylist():
        recorded[row["group_id"]].until_ms = max(recorded[row["group_id"]].until_ms, row["at_ms_max"])
    for row in rows.filter(pc.is_in(rows["effect"], _KINDS)).select(["group_id", *COLUMNS]).to_pylist():
        recorded[row["group_id"]].facts += facts_of([row])
