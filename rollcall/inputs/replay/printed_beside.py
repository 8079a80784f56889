"""The input of a replay that is a request log, a dump or both, beside logs of brokers and clients: one history.

Knows files of effects. Must not know by which rule facts are put together (`rollcall.inputs.believed_lines`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console

from rollcall.history.facts import COLUMNS, facts_of, in_order
from rollcall.history.words import count, some
from rollcall.inputs.believed_lines import beside
from rollcall.inputs.offsets_topic.beside_lines import ENRICHED
from rollcall.inputs.printed.logged_rebalances import LoggedGroup
from rollcall.inputs.recordings import OF_REBALANCES, GroupRecorded
from rollcall.inputs.replay.building import Files
from rollcall.inputs.replay.inputs import Input, TopicInput
from rollcall.inputs.replay.printed import PrintedInput, write_effects
from rollcall.inputs.replay.row_files import RowFiles, rows_in, take_rows
from rollcall.inputs.replay.work import Work
from rollcall.programs.terminal import say
from rollcall.programs.typed import as_typed
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effect_rows import rows_of, texts_of
from rollcall.schemas.effects import RebalanceEnded
from rollcall.schemas.shown_effects import ShownEffect
from rollcall.schemas.tables import AFTER_THE_LOGS
from rollcall.tables.home import Home
from rollcall.tables.rows import typed_rows

_MAY_CHANGE = pa.array([str(kind.__struct_config__.tag) for kind in ENRICHED], pa.string())
_KINDS = pa.array(sorted(OF_REBALANCES), pa.string())


class PrintedBeside:
    """Recordings and printed logs of the same cluster. topic: the dump, if there is one."""

    def __init__(self, recorded: Input, printed: PrintedInput, topic: TopicInput | None) -> None:
        self.size_bytes, self.has_requests = recorded.size_bytes + printed.size_bytes, recorded.has_requests
        self._recorded, self._printed, self._topic = recorded, printed, topic
        self._by_lines: list[str] = []
        self._on_by_lines: list[str] = []
        self._refused: list[str] = []
        self._in_lines = self._in_both = self._lines_alone = self._groups_in_both = 0

    @property
    def is_understood(self) -> bool:
        """Whether anything in either is understood, once both are read."""
        return self._recorded.is_understood or self._printed.is_understood

    def files(self, work: Work) -> Files:
        """Reads all, and writes their rows."""
        by_lines = {group.group_id: (group, effects) for group, effects in self._printed.groups()}
        out = RowFiles(work.folder / "beside-lines")
        for bucket, files in self._recorded.files(work):
            recorded = defaultdict[str, GroupRecorded](self._nothing)
            yield bucket, [file for file in files if not _take_facts(file, by_lines, recorded, out)]
            for group_id, known in recorded.items():
                self._write(out, by_lines.pop(group_id)[0], known)
        for group_id, (_, effects) in by_lines.items():
            self._by_lines.append(group_id)
            write_effects(out, group_id, effects)
        yield 0, out.files

    def _nothing(self) -> GroupRecorded:
        return GroupRecorded(topic_from_seq=AFTER_THE_LOGS if self.has_requests else 0)

    def _write(self, out: RowFiles, group: LoggedGroup, recorded: GroupRecorded) -> None:
        """Writes a group's facts that lines may change, and what lines add."""
        recorded.facts.sort(key=in_order)
        if self._topic is not None:
            recorded.until_ms = max(recorded.until_ms, self._topic.found.until_ms(group.group_id))
        both = beside(group, recorded)
        changed = [
            row
            for one in both.facts
            if isinstance(one.content, ENRICHED)
            for row in rows_of([ShownEffect(one.content, one.request_id)], one.seq)
        ]
        out.write("effects", typed_rows(texts_of(group.group_id, changed)))
        write_effects(out, group.group_id, both.added, AFTER_THE_LOGS + 1)
        self._groups_in_both += 1
        self._in_lines += both.in_lines
        self._in_both += both.in_both
        self._lines_alone += sum(isinstance(one.effect, RebalanceEnded) for one in both.added)
        self._refused += both.refused
        if both.added:
            self._on_by_lines.append(group.group_id)

    def tell(self, console: Console, home: Home) -> None:
        """Prints the reports of all, and which groups and generations are by lines."""
        topic_alone = None if self.has_requests else self._topic
        (self._recorded.tell if topic_alone is None else topic_alone.tell_records)(console, home)
        self._printed.tell(console, home)
        say(console, f"  groups by these lines alone: {some(sorted(self._by_lines)) or 'none'}")
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


def _take_facts(file: Path, groups: Iterable[str], recorded: dict[str, GroupRecorded], out: RowFiles) -> bool:
    """Takes a file's facts that lines may change; returns whether it has any. Its other rows are written anew."""
    if file.suffix != ".effects":
        return False
    rows = rows_in(file)
    is_of_lines = pc.is_in(rows["group_id"], pa.array([*groups], pa.string()))
    if not pc.any(is_of_lines).as_py():
        return False
    _note_recorded(rows.filter(is_of_lines), recorded)
    may_change = pc.and_(is_of_lines, pc.is_in(rows["effect"], _MAY_CHANGE))
    out.write("effects", take_rows(file).filter(pc.invert(may_change)))
    return True


def _note_recorded(rows: pa.Table, recorded: dict[str, GroupRecorded]) -> None:
    """Notes what rows have of some groups: their facts, until when they have any, and until when a generation held."""
    for row in rows.group_by("group_id").aggregate([("at_ms", "max")]).to_pylist():
        recorded[row["group_id"]].last_ms = max(recorded[row["group_id"]].last_ms, row["at_ms_max"])
    is_beat = pc.and_(pc.equal(rows["api"], "Heartbeat"), pc.equal(rows["error_code"], "NONE"))
    is_accepted = pc.or_kleene(pc.equal(rows["effect"], EffectName.HEARTBEATS_TAKEN.value), is_beat)
    for row in rows.filter(is_accepted).group_by("group_id").aggregate([("at_ms", "max")]).to_pylist():
        recorded[row["group_id"]].until_ms = max(recorded[row["group_id"]].until_ms, row["at_ms_max"])
    for row in rows.filter(pc.is_in(rows["effect"], _KINDS)).select(["group_id", *COLUMNS]).to_pylist():
        recorded[row["group_id"]].facts += facts_of([row])
