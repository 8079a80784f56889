"""What brokers and clients print on their own, as an input of a replay: server.log and the logs of applications.

Knows how groups of lines become rows, alone and beside what is recorded. Must not know a line's text, nor by which rule
facts are put together (`rollcall.inputs.believed_lines`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

from rich.console import Console

from rollcall.history.words import count, some
from rollcall.inputs.believed_lines import beside
from rollcall.inputs.merged_facts import MAY_CHANGE, GroupRecorded
from rollcall.inputs.not_understood import is_understood
from rollcall.inputs.printed.groups.logged_effects import shown_effects_of
from rollcall.inputs.printed.lines.files import path_of
from rollcall.inputs.printed.logged_rebalances import LoggedGroup
from rollcall.inputs.printed.reading import FileRead, align, merged, read_files
from rollcall.inputs.printed.story import NOT_FOLLOWED, groups_in
from rollcall.inputs.printed.unread import unread_sentences
from rollcall.inputs.printed.wording import may_be_forged
from rollcall.inputs.replay.row_files import RowFiles
from rollcall.inputs.request_log.lines.files import about_bytes_of
from rollcall.programs.terminal import say
from rollcall.schemas.effect_rows import EffectRow, of_group, rows_of
from rollcall.schemas.shown_effects import ShownEffect
from rollcall.schemas.tables import AFTER_THE_LOGS
from rollcall.tables.rows import effects_table


class PrintedInput:
    """Logs of brokers and clients, read together as one history. Raises UserError."""

    def __init__(self, files: Sequence[str], zone: ZoneInfo) -> None:
        self._files, self._zone = files, zone
        self.size_bytes = about_bytes_of(map(path_of, self._files))
        self._reads: list[FileRead] = []
        self._left_out: list[str] = []
        self._not_known: list[str] = []
        self._seconds = 0.0
        self._alone: dict[str, tuple[LoggedGroup, list[ShownEffect]]] = {}
        """Groups of lines with their effects, without those to which these were laid."""
        self._on_by_lines: list[str] = []
        self._refused: list[str] = []
        self._in_lines = self._in_both = self._groups_in_both = 0
        self._at_other_times: list[str] = []

    @property
    def is_understood(self) -> bool:
        """Whether any line is understood, once all are read."""
        return any(map(is_understood, self._reads))

    @property
    def ignored(self) -> list[str]:
        """The files in which nothing is understood, once all are read."""
        return [read.file for read in self._reads if not is_understood(read)]

    def read(self, folder: Path) -> frozenset[str]:
        """Reads the files; returns the groups that their lines tell of. folder: for files of rows."""
        started = time.monotonic()
        self._out = RowFiles(folder / "printed")
        self._reads = read_files(self._files, self._zone)
        align(self._reads)
        groups = groups_in(merged(self._reads))
        self._not_known = [*may_be_forged(groups)]
        for group in groups:
            effects = shown_effects_of(group)
            failed = [one.sentence for one in group.findings if one.finding == NOT_FOLLOWED]
            if effects:
                self._alone[group.group_id] = group, effects
            elif failed:
                self._not_known.append(f"{group.group_id}: {failed[0]}")
            else:
                self._left_out.append(group.group_id)
        self._seconds = time.monotonic() - started
        return frozenset(self._alone)

    def lay(self, groups: Mapping[str, GroupRecorded]) -> None:
        """Writes the facts of recorded groups that lines may change, and what lines add."""
        for group_id, recorded in groups.items():
            both = beside(self._alone.pop(group_id)[0], recorded)
            rows = rows_of(both.added, AFTER_THE_LOGS + 1)
            for one in both.facts:
                if one.content is not None and one.effect in MAY_CHANGE:
                    rows += rows_of([ShownEffect(one.content, one.request_id)], one.seq)
            self._write(group_id, rows)
            self._groups_in_both += 1
            self._in_lines += both.in_lines
            self._in_both += both.in_both
            self._at_other_times += [group_id] if both.is_at_other_times else []
            self._refused += both.refused
            self._on_by_lines += [group_id] if both.added else []

    def end(self) -> list[Path]:
        """Writes the groups that only lines tell of; returns all files of rows."""
        for group_id, (_, effects) in self._alone.items():
            self._write(group_id, rows_of(effects, 1))
        return self._out.files

    def tell(self, console: Console) -> None:
        """Prints what the files are, and which groups are not in the home."""
        say(console, f"{count(len(self._reads), 'file')} read in {self._seconds:.1f} s")
        for read in self._reads:
            kinds = some(read.titles) or "not understood"
            say(console, f"  {read.file}: {kinds}, {count(read.lines, 'line')}, {len(read.facts)} about groups")
            for note in (*read.notes, *unread_sentences(read.unread)):
                say(console, f"    {note}")
        for sentence in self._not_known:
            say(console, f"  not known: {sentence}")
        if self._left_out:
            say(
                console,
                f"  {some(self._left_out)}: no line with a date names them, so the home has nothing of them; "
                "`rollcall explain` says what their lines show",
            )

    def tell_beside(self, console: Console) -> None:
        """Prints which groups and generations are by lines, beside what is recorded."""
        say(console, f"  groups only in these lines: {some(sorted(self._alone)) or 'none'}")
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
        if self._at_other_times:
            groups = some(sorted(self._at_other_times))
            say(console, f"  {groups}: the lines have the same generations at other times: name their zone with --zone")
        for sentence in self._refused:
            say(console, f"  not known: {sentence}")

    def _write(self, group_id: str, rows: list[EffectRow]) -> None:
        self._out.write("effects", effects_table(of_group(group_id, rows)))
