"""Until when a home needs no batch without a request: the least of what its groups wait for.

Each batch gives the waits of the groups that it called. Those of all others are known if the home had no state before,
or once they were read from it. Knows no Spark and no clock.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from rollcall.coordinator_udfs.settings import LATEST_MS
from rollcall.schemas.waits import Wait


class Waits:
    """The waits of a home's groups. is_complete: the home has no group before the first batch.

    A batch and the reader of the state may come at the same time, from different threads.
    """

    def __init__(self, *, is_complete: bool) -> None:
        self.is_complete = is_complete
        """Whether the waits of all groups are known."""
        self._until_ms: dict[str, int | None] = {}
        """None: the group waits for nothing, whatever the state said before."""
        self._lock = threading.Lock()

    def batch_done(self, waits: Iterable[Wait]) -> int | None:
        """Takes a batch's waits. Returns until when no further batch is needed; None: that is not known."""
        with self._lock:
            if not self.is_complete:
                self._until_ms.update(waits)
                return None
            for group_id, until_ms in waits:
                if until_ms is None:
                    self._until_ms.pop(group_id, None)
                else:
                    self._until_ms[group_id] = until_ms
            return min((each for each in self._until_ms.values() if each is not None), default=LATEST_MS)

    def learn(self, stored: Iterable[Wait]) -> None:
        """Takes what the state says of all groups as of a batch of this run or the last one before it.

        What a batch of this run has said of a group is as new or newer.
        """
        with self._lock:
            known = dict(stored) | self._until_ms
            self._until_ms = {group_id: until_ms for group_id, until_ms in known.items() if until_ms is not None}
            self.is_complete = True
