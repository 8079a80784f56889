"""The input of a replay that is a broker's log beside a dump of __consumer_offsets: one history of both.

Knows files of effects. Must not know by which rule facts are put together
(`rollcall.inputs.offsets_topic.beside_lines`).
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console

from rollcall.history.words import count
from rollcall.inputs.offsets_topic.beside_lines import ENRICHED, enriched
from rollcall.inputs.replay.building import Files
from rollcall.inputs.replay.inputs import TopicInput
from rollcall.inputs.replay.printed import PrintedInput, write_effects
from rollcall.inputs.replay.row_files import RowFiles, take_rows
from rollcall.inputs.replay.work import Work
from rollcall.programs.terminal import say
from rollcall.programs.typed import as_typed
from rollcall.schemas.effect_rows import effect_in, row_of, texts_of
from rollcall.schemas.effects import Effect
from rollcall.schemas.tables import AFTER_THE_LOGS
from rollcall.tables.home import Home
from rollcall.tables.rows import typed_rows

_KINDS = pa.array([str(kind.__struct_config__.tag) for kind in ENRICHED], pa.string())


class PrintedBesideTopic:
    """A broker's log and a dump of the same cluster. Groups that one of them alone has are as it has them."""

    has_requests = False

    def __init__(self, printed: PrintedInput, topic: TopicInput) -> None:
        self.size_bytes, self._printed, self._topic = printed.size_bytes + topic.size_bytes, printed, topic
        self._in_lines = self._in_both = self._groups_in_both = 0

    @property
    def is_understood(self) -> bool:
        """Whether anything in either is understood, once both are read."""
        return self._printed.is_understood or self._topic.is_understood

    def files(self, work: Work) -> Files:
        """Reads both, and writes their rows."""
        by_lines = {group.group_id: effects for group, effects in self._printed.groups()}
        out = RowFiles(work.folder / "beside-topic")
        for bucket, files in self._topic.files(work):
            facts = [take_rows(file) for file in files if file.suffix == ".effects"]
            if facts:
                self._write(out, pa.concat_tables(facts), by_lines)
            yield bucket, [file for file in files if file.suffix != ".effects"]
        for group_id, effects in by_lines.items():
            write_effects(out, group_id, effects)
        yield 0, out.files

    def _write(self, out: RowFiles, rows: pa.Table, by_lines: dict[str, list[Effect]]) -> None:
        """Writes the topic's rows of a bucket, with what lines say of its groups; takes these out of by_lines."""
        both = sorted(by_lines.keys() & set(rows["group_id"].to_pylist()))
        may_change = pc.and_(pc.is_in(rows["effect"], _KINDS), pc.is_in(rows["group_id"], pa.array(both, pa.string())))
        out.write("effects", rows.filter(pc.invert(may_change)))
        of_group: dict[str, list[tuple[int, Effect]]] = {group_id: [] for group_id in both}
        for row in rows.filter(may_change).sort_by([("at_ms", "ascending"), ("seq", "ascending")]).to_pylist():
            effect = effect_in(row["effect"], row["detail"])
            assert effect is not None
            of_group[row["group_id"]].append((row["seq"], effect))
        for group_id, facts in of_group.items():
            found = enriched([effect for _, effect in facts], by_lines.pop(group_id))
            self._groups_in_both += 1
            self._in_lines += found.in_lines
            self._in_both += found.in_both
            kept = [(seq, found.changed.get(place, effect)) for place, (seq, effect) in enumerate(facts)]
            numbered = [row_of(effect, seq) for seq, effect in kept if effect is not None]
            out.write("effects", typed_rows(texts_of(group_id, numbered)))
            write_effects(out, group_id, found.added, AFTER_THE_LOGS)

    def tell(self, console: Console, home: Home) -> None:
        """Prints the reports of both, and how many generations they share."""
        self._printed.tell(console, home)
        self._topic.tell_records(console, home)
        if not self._groups_in_both:
            say(console, "  no group is in both")
            return
        say(
            console,
            f"{count(self._groups_in_both, 'group')} in both: {self._in_both} of the {self._in_lines} generations in "
            "the lines are in the topic at that time",
        )
        if self._in_lines and not self._in_both:
            zone = as_typed("ZONE=", "--zone")
            say(console, f"  the times of the lines are not those of the topic: name their zone with {zone}")
