"""The work of a process on a bucket of a log, a dump or both: the facts of its groups, and the rows written to files.

Must not know a line's text, a record, a rule of the protocol or how answers are compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

from rollcall.inputs.both_inputs import BothMerged
from rollcall.inputs.merged_facts import GroupRecorded, MergedFacts
from rollcall.inputs.offsets_topic import SOURCE
from rollcall.inputs.quarantined import quarantine_rows
from rollcall.inputs.replay.row_files import ROWS_A_FILE, RowFiles
from rollcall.inputs.replay.spilled_dump import Records
from rollcall.inputs.replay.spilled_log import LogBucket
from rollcall.inputs.request_log.group_rows import ComparedRows
from rollcall.inputs.request_log.lines.files import LogFile
from rollcall.inputs.request_log.log_ends import lag_of
from rollcall.inputs.request_log.parity import Parity
from rollcall.inputs.request_log.recorded import Tally
from rollcall.programs.processes import note_done
from rollcall.schemas.effect_rows import EffectRow, of_group
from rollcall.schemas.tables import REQUESTS
from rollcall.tables.request_table import request_line
from rollcall.tables.rows import effects_table, read_lines


class Written(NamedTuple):
    """The result of a bucket."""

    tally: Tally
    parity: Parity
    merged: BothMerged
    files: list[Path]
    """Rows of all tables, in order."""
    recorded: dict[str, GroupRecorded]
    """What is recorded of the groups that lines name. Their facts that lines may change are in no file."""


def write_bucket(path: Path, log: LogBucket | None, dump: Records | None, named: frozenset[str]) -> Written:
    """Writes rows of a bucket's groups to files that are named as the path. named: the groups that lines name."""
    facts, parity, tally = _Facts(RowFiles(path), MergedFacts(log, dump, named)), Parity(), Tally()
    if log is not None:
        _follow(log, facts, parity, tally)
    unfit: list[EffectRow] = []
    for rows in facts.merged.rest(unfit):
        facts.hold(rows)
    facts.write()
    if unfit:
        facts.out.write("quarantine", quarantine_rows(effects_table(unfit), SOURCE))
    return Written(tally, parity, facts.merged.counts or BothMerged(), facts.out.files, dict(facts.merged.groups))


class _Facts:
    """Facts on their way to files."""

    def __init__(self, out: RowFiles, merged: MergedFacts) -> None:
        self.out, self.merged = out, merged
        self._held: list[EffectRow] = []

    def hold(self, rows: list[EffectRow]) -> None:
        self._held += rows
        if len(self._held) >= ROWS_A_FILE:
            self.write()

    def write(self) -> None:
        self.out.write("effects", effects_table(self._held))
        self._held.clear()


def _follow(log: LogBucket, facts: _Facts, parity: Parity, tally: Tally) -> None:
    groups = defaultdict[str, ComparedRows](partial(ComparedRows, parity))

    def write() -> None:
        requests = [
            request_line(request, group_id) + b"\n" for group_id, group in groups.items() for request in group.requests
        ]
        # Through JSON, since Arrow reads Python's lists only with pandas, which is slow to load.
        if requests:
            facts.out.write("requests", read_lines(requests, REQUESTS.arrow))
        for group_id, group in groups.items():
            facts.hold(facts.merged.take(of_group(group_id, group.facts), is_topic=False))
            group.requests.clear()
            group.facts.clear()

    for more in log.follow(tally, groups.__getitem__):
        note_done(more)
        if sum(len(group.facts) + len(group.requests) for group in groups.values()) >= ROWS_A_FILE:
            write()
    for group in groups.values():
        group.close()
    write()


def write_lag(files: Sequence[LogFile], zone: ZoneInfo, names: Mapping[str, str], home: Path) -> None:
    """Appends a log's ends and fetches to a home's tables, in order of its lines. names: of topics by id."""
    # Imported here: a process that follows groups needs no Delta.
    from rollcall.tables.lag_rows import append_lag

    for rows in lag_of(files, zone, names):
        note_done(0)
        append_lag(home, rows)
