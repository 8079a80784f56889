"""The input of a replay that is recorded requests beside logs of brokers and clients.

A group is by the requests as far as these go, then by the lines; others are by the lines alone. Knows files of effects.
Must not know what is in a line or a request.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

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
from schemas.effect_names import EffectName
from schemas.effect_rows import effect_in
from schemas.effects import Effect, RebalanceEnded
from schemas.tables import AFTER_THE_LOGS
from why.words import some


class PrintedBesideLog:
    """A request log, alone or with a dump, which wins, and printed logs of the same cluster, for all other groups."""

    has_requests = True

    def __init__(self, recorded: Input, printed: PrintedInput) -> None:
        self.size_bytes, self._recorded, self._printed = recorded.size_bytes + printed.size_bytes, recorded, printed
        self._by_lines: list[str] = []
        self._on_by_lines: list[str] = []

    @property
    def is_understood(self) -> bool:
        """Whether anything in either is understood, once both are read."""
        return self._recorded.is_understood or self._printed.is_understood

    def files(self, work: Work) -> Files:
        """Reads all, and writes their rows."""
        recorded: dict[str, _Known] = {}
        for bucket, files in self._recorded.files(work):
            for file in files:
                if file.suffix == ".effects":
                    _note_known(file, recorded)
            yield bucket, files
        out = RowFiles(work.folder / "beside-log")
        for group_id, effects in self._printed.groups():
            known = recorded.get(group_id)
            later = effects if known is None else known.later(effects)
            if later:
                (self._by_lines if known is None else self._on_by_lines).append(group_id)
                write_effects(out, group_id, later, 1 if known is None else AFTER_THE_LOGS)
        yield 0, out.files

    def tell(self, console: Console, home: Home) -> None:
        """Prints the reports of all, and which groups are by lines."""
        self._recorded.tell(console, home)
        self._printed.tell(console, home)
        which = some(sorted(self._by_lines)) or "none"
        say(console, f"  groups by these lines alone: {which}")
        if self._on_by_lines:
            say(console, f"  groups by these lines after the requests end: {some(sorted(self._on_by_lines))}")


@dataclass
class _Known:
    """How far the requests have a group."""

    until_ms: int = 0
    generation_id: int = 0

    def later(self, effects: list[Effect]) -> list[Effect]:
        """What lines have of a time behind the last fact, if they form a later generation then."""
        numbers = [one.to_generation_id if isinstance(one, RebalanceEnded) else None for one in effects]
        known = [place for place, number in enumerate(numbers) if number is not None and number <= self.generation_id]
        begins = known[-1] + 1 if known else 0
        if not any(number is not None for number in numbers[begins:]):
            return []
        return [one for one in effects[begins:] if one.at_ms > self.until_ms]


def _note_known(file: Path, known: dict[str, _Known]) -> None:
    """Takes up how far a file of effects goes with each group."""
    with pa.memory_map(str(file)) as source:
        rows = pa.ipc.open_file(source).read_all()
    latest = rows.group_by("group_id").aggregate([("at_ms", "max")])
    for group_id, at_ms in zip(latest["group_id"].to_pylist(), latest["at_ms_max"].to_pylist(), strict=True):
        of_group = known.setdefault(group_id, _Known())
        of_group.until_ms = max(of_group.until_ms, at_ms or 0)
    ended = rows.filter(pc.equal(rows["effect"], str(EffectName.REBALANCE_ENDED)))
    for row in ended.select(["group_id", "effect", "detail"]).to_pylist():
        effect = effect_in(row["effect"], row["detail"])
        if isinstance(effect, RebalanceEnded):
            known[row["group_id"]].generation_id = max(known[row["group_id"]].generation_id, effect.to_generation_id)
