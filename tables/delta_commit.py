"""One commit to a Delta table's log on the local disk: it comes into being under a version's name, whole or not at all.

A hard link to a finished file does both, as every Delta writer does on a local disk. Knows the log's files; must not
know which version is next, nor what the actions mean. Source: the Delta protocol, "Delta Log Entries".
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tables.delta_log import DeltaLog


class GapError(OSError):
    """The version before was cleaned away: what was free is a gap in the past, not the end."""


@contextmanager
def waiting_commit(
    log: DeltaLog, operation: str, parameters: Mapping[str, str], actions: Iterable[Mapping[str, Any]]
) -> Iterator[Path]:
    """The file of a commit that has no version yet. Raises OSError: it cannot be written."""
    info = {"timestamp": time.time_ns() // 1_000_000, "operation": operation, "operationParameters": parameters}
    waiting = log.folder / f"_commit_{uuid.uuid4()}.json.tmp"
    try:
        waiting.write_text("".join(f"{json.dumps(action)}\n" for action in [{"commitInfo": info}, *actions]))
        yield waiting
    finally:
        # Once the commit is there nothing may fail any more.
        with suppress(OSError):
            waiting.unlink(missing_ok=True)


def becomes(log: DeltaLog, waiting: Path, version: int) -> bool:
    """Whether a commit has become this version; not if another one is it. Raises GapError: it is none."""
    taken = log.commit_path(version)
    try:
        os.link(waiting, taken)
    except FileExistsError:
        return False
    if version > 0 and not log.has(version - 1):
        taken.unlink()
        raise GapError(f"{log.table}: version {version - 1} is gone")
    return True
