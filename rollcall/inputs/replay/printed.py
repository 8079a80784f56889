"""The input of a replay that brokers and clients print by themselves: server.log and the logs of applications.

Knows how files become rows of a home. Must not know a line's text, nor what follows from it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

from rich.console import Console

from rollcall.history.words import count, some
from rollcall.inputs.printed.groups.group_effects import shown_effects_of
from rollcall.inputs.printed.lines.files import files_of, path_of
from rollcall.inputs.printed.logged_rebalances import LoggedGroup
from rollcall.inputs.printed.reading import FileRead, align, merged, read_files
from rollcall.inputs.printed.story import NOT_FOLLOWED, groups_in
from rollcall.inputs.printed.unread import unread_sentences
from rollcall.inputs.printed.wording import may_be_forged
from rollcall.inputs.replay.building import Files
from rollcall.inputs.replay.row_files import RowFiles
from rollcall.inputs.replay.work import Work
from rollcall.inputs.request_log.lines.files import about_bytes_of
from rollcall.programs.terminal import say
from rollcall.schemas.effect_rows import rows_of, texts_of
from rollcall.schemas.shown_effects import ShownEffect
from rollcall.tables.home import Home
from rollcall.tables.rows import typed_rows


class PrintedInput:
    """Logs of brokers and clients, read together as one history. Raises UserError."""

    has_requests = False

    def __init__(self, paths: Sequence[Path], zone: ZoneInfo) -> None:
        self._files, self._zone = files_of(list(map(str, paths))), zone
        self.size_bytes = about_bytes_of(map(path_of, self._files))
        self._reads: list[FileRead] = []
        self._left_out: list[str] = []
        self._not_known: list[str] = []
        self._seconds = 0.0

    @property
    def is_understood(self) -> bool:
        """Whether any line is understood, once all are read."""
        return any(read.titles for read in self._reads)

    def groups(self) -> Iterator[tuple[LoggedGroup, list[ShownEffect]]]:
        """Reads the files; yields each group that their lines tell of, with its effects."""
        started = time.monotonic()
        self._reads = read_files(self._files, self._zone)
        align(self._reads)
        groups = groups_in(merged(self._reads))
        self._not_known = [*may_be_forged(groups)]
        for group in groups:
            effects = shown_effects_of(group)
            failed = [one.sentence for one in group.findings if one.finding == NOT_FOLLOWED]
            if effects:
                yield group, effects
            elif failed:
                self._not_known.append(f"{group.group_id}: {failed[0]}")
            else:
                self._left_out.append(group.group_id)
        self._seconds = time.monotonic() - started

    def files(self, work: Work) -> Files:
        """Reads the input, and writes its rows."""
        out = RowFiles(work.folder / "printed")
        for group, effects in self.groups():
            write_effects(out, group.group_id, effects)
        yield out.files

    def tell(self, console: Console, home: Home) -> None:
        """Prints what the files are, and of which groups nothing is in the home."""
        say(console, f"{count(len(self._reads), 'file')} read in {self._seconds:.1f} s")
        for read in self._reads:
            kinds = some(read.titles) or "nobody whose lines are known"
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


def write_effects(out: RowFiles, group_id: str, effects: Iterable[ShownEffect], first_seq: int = 1) -> None:
    """Writes a group's effects, numbered in their order."""
    out.write("effects", typed_rows(texts_of(group_id, rows_of(effects, first_seq))))
