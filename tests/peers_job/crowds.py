"""Many real consumers of several kinds in one group before the job.

Knows the fleet and the gateway. Must not know what happens to them.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.peers_clients.conftest import Coordinator
from tests.peers_clients.fleet import Fleet
from tests.waiting import until

PATIENCE_S = 120.0
AT_A_TIME = {"classic": 30, "consumer": 10}
"""How many start together: an answer that comes later than an interval after its heartbeat is lost on librdkafka."""


def gather(
    coordinator: Coordinator,
    fleet: Fleet,
    kinds: Sequence[str],
    at_a_time: int,
    partitions: int,
    patience_s: float = PATIENCE_S,
) -> None:
    """Starts this many consumers, and waits until they share the topic."""
    fleet.patience_s = patience_s
    for start in range(0, len(kinds), at_a_time):
        for kind in kinds[start : start + at_a_time]:
            fleet.start(kind)
        until(
            lambda: len(coordinator.member_ids(fleet.group)) == len(fleet.workers),
            lambda: f"{len(fleet.workers)} members",
            patience_s,
        )
    fleet.await_shares(fleet.workers, partitions)
    coordinator.await_stable(fleet.group, len(fleet.workers))
