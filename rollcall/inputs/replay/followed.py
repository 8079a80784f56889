"""The work of a process on a bucket of a log: it follows the bucket's groups, and writes their rows to files.

Must not know a line's text, a rule of the protocol or how answers are compared.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.inputs.replay.row_files import ROWS_A_FILE, RowFiles
from rollcall.inputs.replay.spilled_log import Share, follow_bucket
from rollcall.inputs.request_log.group_rows import ComparedRows
from rollcall.inputs.request_log.log_ends import lag_of
from rollcall.inputs.request_log.parity import Parity
from rollcall.inputs.request_log.recorded import Tally
from rollcall.inputs.request_log.survey import Survey
from rollcall.programs.processes import note_done
from rollcall.schemas.effect_rows import texts_of
from rollcall.schemas.tables import REQUESTS
from rollcall.tables.request_rows import request_line
from rollcall.tables.rows import read_lines, typed_rows


class Followed(NamedTuple):
    """The result of a bucket."""

    bucket: int
    tally: Tally
    parity: Parity
    files: list[Path]
    """Rows of both tables, in order."""


def follow_into_files(bucket: int, share: Share, found: Survey, config: GroupConfig, folder: Path) -> Followed:
    """Follows a bucket's groups, and writes rows of the tables to files in a folder."""
    out, parity = RowFiles(folder / f"followed-{bucket:03}"), Parity()
    groups = defaultdict[str, ComparedRows](partial(ComparedRows, parity))

    def progress(more: int) -> None:
        note_done(more)
        if sum(len(group.facts) + len(group.requests) for group in groups.values()) >= ROWS_A_FILE:
            _write(out, groups)

    tally = follow_bucket(share, found, config, groups.__getitem__, progress)
    for group in groups.values():
        group.close()
    _write(out, groups)
    return Followed(bucket, tally, parity, out.files)


def _write(out: RowFiles, groups: dict[str, ComparedRows]) -> None:
    requests = [
        request_line(request, group_id) + b"\n" for group_id, group in groups.items() for request in group.requests
    ]
    texts = [text for group_id, group in groups.items() for text in texts_of(group_id, group.facts)]
    for group in groups.values():
        group.requests.clear()
        group.facts.clear()
    # Through JSON, since Arrow reads Python's lists only with pandas, which is slow to load.
    if requests:
        out.write("requests", read_lines(requests, REQUESTS.arrow))
    out.write("effects", typed_rows(texts))


def read_lag(path: Path, zone: ZoneInfo, home: Path) -> None:
    """Appends a log's ends and fetches to a home's tables, in order of its lines."""
    # Imported here: a process that follows groups needs no Delta.
    from rollcall.tables.lag_rows import append_lag

    for rows in lag_of(path, zone):
        note_done(0)
        append_lag(home, rows)
