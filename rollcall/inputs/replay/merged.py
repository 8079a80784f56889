"""The work of a process on a bucket of both inputs: it merges the facts of the bucket's groups.

Knows files of effects. Must not know by which rule facts are merged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from rollcall.history.facts import COLUMNS, facts_of
from rollcall.inputs.both_inputs import BothMerged, after_the_logs, with_names
from rollcall.inputs.offsets_topic.beside_log.merging import OF_BOTH, merge
from rollcall.inputs.replay.row_files import RowFiles, take_rows
from rollcall.programs.processes import note_done

_Key = tuple[str, int, int]
"""A fact: its group, at_ms and seq."""


class Ends(NamedTuple):
    """Which moments each input covers, ms since the epoch."""

    log_ms: int
    topic_ms: int
    whole_from_ms: Mapping[str, int] = {}
    """By group id, from when on the topic has every record; missing: it has all."""


def merge_files(
    bucket: int, of_log: Sequence[Path], of_topic: Sequence[Path], names: Mapping[str, str], ends: Ends, folder: Path
) -> tuple[BothMerged, list[Path]]:
    """Merges the effects in files of both inputs into files of a folder. names: topic names by id."""
    found, out = BothMerged(), RowFiles(folder / f"merged-{bucket:03}")
    log, topic = [take_rows(file) for file in of_log], [take_rows(file) for file in of_topic]
    log = [with_names(rows, lambda ids: names) for rows in log]
    groups: defaultdict[str, tuple[list[Any], list[Any]]] = defaultdict(lambda: ([], []))
    for is_topic, tables in enumerate((log, topic)):
        for rows in tables:
            for row in rows.filter(_may_be_in_both(rows)).select([*COLUMNS, "group_id"]).to_pylist():
                groups[row["group_id"]][is_topic].append(row)
    left_out, kept = set[_Key](), set[_Key]()
    for group_id in sorted(groups):
        by_log, by_topic = map(facts_of, groups[group_id])
        merged = merge(by_log, by_topic, ends.log_ms, ends.topic_ms, ends.whole_from_ms.get(group_id, -1))
        left_out |= {(group_id, fact.at_ms, fact.seq) for fact in merged.log_left_out}
        kept |= {(group_id, fact.at_ms, fact.seq) for fact in merged.topic_kept}
        found.note(group_id, merged.compared, merged.differences)
    found.left_out = len(left_out)
    for rows in log:
        facts = rows.filter(pc.invert(_among(rows, left_out)))
        found.log_facts += facts.num_rows
        out.write("effects", facts)
    for rows in topic:
        facts = rows.filter(pc.or_(_among(rows, kept), pc.invert(_may_be_in_both(rows))))
        found.topic_facts += facts.num_rows
        out.write("effects", after_the_logs(facts))
    note_done(1)
    return found, out.files


def _may_be_in_both(rows: pa.Table) -> pa.ChunkedArray:
    return pc.is_in(rows["effect"], pa.array(sorted(OF_BOTH), pa.string()))


def _among(rows: pa.Table, facts: set[_Key]) -> pa.Array:
    """For each row, whether it is one of these facts."""
    keys = zip(*(rows[name].to_pylist() for name in ("group_id", "at_ms", "seq")), strict=True)
    return pa.array([key in facts for key in keys], pa.bool_())
