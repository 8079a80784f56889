"""A coordinator over the tables of a home without Spark: the same turns of the same groups, one small loop.

For tests of whatever talks to a home. Goes by `time.time`; the job's own tests are elsewhere.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import msgspec
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from coordinator_udfs.group_turns import take_turns
from coordinator_udfs.protocol.config import GroupConfig
from coordinator_udfs.settings import StreamSettings
from coordinator_udfs.state_codec import StateRow
from schemas.tables import EFFECTS, EFFECTS_FOLDER, REQUESTS, REQUESTS_FOLDER
from tables.table_follower import TableFollower

LOOK_EVERY_S = 0.01


class SmallCoordinator:
    """Answers the requests of a home from `__enter__` to `__exit__`; entered again, it goes on where it was."""

    def __init__(self, home: Path, config: GroupConfig | None = None) -> None:
        self.home = home
        self._config = config or GroupConfig(group_initial_rebalance_delay_ms=0, group_min_session_timeout_ms=100)
        self.answered: list[str] = []
        """The requests whose effects are written, as texts."""
        self._states: dict[str, StateRow] = {}
        self._is_stopped = threading.Event()
        self._thread: threading.Thread | None = None
        for folder, table in ((REQUESTS_FOLDER, REQUESTS), (EFFECTS_FOLDER, EFFECTS)):
            DeltaTable.create(str(home / folder), schema=table.arrow, partition_by=list(table.partition_by) or None)
        self._requests = TableFollower(home / REQUESTS_FOLDER, ("group_id", "request"), from_version=0)

    def __enter__(self) -> Self:
        self._is_stopped.clear()
        self._settings = StreamSettings(group=self._config, started_at_ms=int(time.time() * 1000))
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_stopped.set()
        assert self._thread is not None
        self._thread.join()

    def _run(self) -> None:
        while not self._is_stopped.wait(LOOK_EVERY_S):
            self._batch(int(time.time() * 1000))

    def _batch(self, now_ms: int) -> None:
        texts: dict[str, list[str]] = defaultdict(list)
        for table in self._requests.poll():
            for row in table.to_pylist():
                texts[row["group_id"]].append(row["request"])
        for group_id, state in self._states.items():
            if state.next_deadline_ms is not None and state.next_deadline_ms <= now_ms:
                texts.setdefault(group_id, [])
        rows: list[dict[str, Any]] = []
        for group_id, requests in texts.items():
            outcome = take_turns(group_id, requests, self._states.get(group_id), now_ms, self._settings)
            if outcome.row is None:
                self._states.pop(group_id, None)
            else:
                self._states[group_id] = outcome.row
            for row in outcome.rows:
                at_date = datetime.fromtimestamp((row.at_ms or 0) / 1000, UTC).date()
                rows.append({**msgspec.structs.asdict(row), "group_id": group_id, "at_date": at_date})
        if rows:
            write_deltalake(
                str(self.home / EFFECTS_FOLDER), pa.Table.from_pylist(rows, schema=EFFECTS.arrow), mode="append"
            )
        self.answered += [text for requests in texts.values() for text in requests]
