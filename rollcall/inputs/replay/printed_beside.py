"""Logs of brokers and clients beside a request log, a dump or both: what they add to each group of a replay.

Must not know by which rule facts are put together (`rollcall.inputs.believed_lines`), nor how a recording is read.
"""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from rollcall.history.words import count, some
from rollcall.inputs.believed_lines import beside
from rollcall.inputs.merged_facts import GroupRecorded
from rollcall.inputs.offsets_topic.beside_lines import ENRICHED
from rollcall.inputs.replay.printed import PrintedInput, write_effects
from rollcall.inputs.replay.row_files import RowFiles
from rollcall.programs.terminal import say
from rollcall.programs.typed import as_typed
from rollcall.schemas.effect_rows import of_group, rows_of
from rollcall.schemas.effects import RebalanceEnded
from rollcall.schemas.shown_effects import ShownEffect
from rollcall.schemas.tables import AFTER_THE_LOGS
from rollcall.tables.home import Home
from rollcall.tables.rows import effects_table


class LinesBeside:
    """Printed logs of the cluster of which there are recordings."""

    def __init__(self, printed: PrintedInput) -> None:
        self.printed = printed
        self._on_by_lines: list[str] = []
        self._refused: list[str] = []
        self._in_lines = self._in_both = self._lines_alone = self._groups_in_both = 0

    def read(self, folder: Path) -> frozenset[str]:
        """Reads them; returns the groups that they name. folder: for files of rows."""
        self._out = RowFiles(folder / "beside-lines")
        self._left = {group.group_id: (group, effects) for group, effects in self.printed.groups()}
        return frozenset(self._left)

    def lay(self, group_id: str, recorded: GroupRecorded) -> None:
        """Writes a recorded group's facts that lines may change, and what lines add."""
        both = beside(self._left.pop(group_id)[0], recorded)
        changed = [
            row
            for one in both.facts
            if isinstance(one.content, ENRICHED)
            for row in rows_of([ShownEffect(one.content, one.request_id)], one.seq)
        ]
        self._out.write("effects", effects_table(of_group(group_id, changed)))
        write_effects(self._out, group_id, both.added, AFTER_THE_LOGS + 1)
        self._groups_in_both += 1
        self._in_lines += both.in_lines
        self._in_both += both.in_both
        self._lines_alone += sum(isinstance(one.effect, RebalanceEnded) for one in both.added)
        self._refused += both.refused
        if both.added:
            self._on_by_lines.append(group_id)

    def end(self) -> list[Path]:
        """Writes the groups that only lines tell of; returns all files."""
        for group_id, (_, effects) in self._left.items():
            write_effects(self._out, group_id, effects)
        return self._out.files

    def tell(self, console: Console, home: Home) -> None:
        """Prints what the files are, and which groups and generations are by lines."""
        self.printed.tell(console, home)
        say(console, f"  groups by these lines alone: {some(sorted(self._left)) or 'none'}")
        if self._on_by_lines:
            say(console, f"  groups with rebalances that only these lines have: {some(sorted(self._on_by_lines))}")
        if not self._groups_in_both:
            say(console, "  no group is in both")
            return
        say(
            console,
            f"{count(self._groups_in_both, 'group')} in both: {self._in_both} of the {self._in_lines} generations in "
            "the lines are recorded at that time",
        )
        if not self._in_both and self._in_lines > self._lines_alone:
            zone = as_typed("ZONE=", "--zone")
            say(console, f"  the times of the lines are not those of the recording: name their zone with {zone}")
        for sentence in self._refused:
            say(console, f"  not known: {sentence}")
