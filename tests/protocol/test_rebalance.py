"""A rebalance: who is dropped at the end of the join phase, who leads, and a SyncGroup that comes twice."""

from __future__ import annotations

import pytest

from rollcall.schemas.effects import RequestDropped
from tests.protocol.bench import Bench
from tests.protocol.rules import rule


@rule("Leader: of several that joined the one longest a member leads (Kafka: any of them)")
def test_the_oldest_of_those_that_joined_leads() -> None:
    bench = Bench().patient("m1", "m2", "m3", rebalance_ms=3_000)
    bench.join("m3", protocols=["range", "sticky"])
    bench.join("m2")
    bench.tick(3_000)
    assert bench.leader == "m2"


@rule("Leader: a recording's own choice is taken where it joined")
@pytest.mark.parametrize(("recorded", "leader"), [("m3", "m3"), ("m1", "m2"), (None, "m2")])
def test_a_replay_takes_the_recorded_leader(recorded: str | None, leader: str) -> None:
    bench = Bench().patient("m1", "m2", "m3", rebalance_ms=3_000)
    recorded_id = None if recorded is None else bench.id_of(recorded)
    bench.join("m2", protocols=["range", "sticky"])
    bench.join("m3", recorded_leader_id=recorded_id)
    bench.tick(3_000)
    assert bench.leader == leader


@rule("Parked requests: a second one while the first waits takes its place, and the first is never answered")
@pytest.mark.parametrize(("state", "api"), [("stable", "JoinGroup"), ("completing", "SyncGroup")])
def test_a_repeated_request_replaces_the_one_that_waits(state: str, api: str) -> None:
    bench = getattr(Bench(), state)("m1", "m2")
    first, second = (bench.join("m1") if api == "JoinGroup" else bench.sync("m2") for _ in range(2))
    assert (first.is_dropped, first.reply, second.is_parked) == (True, None, True)
    assert bench.last(RequestDropped).why == f"replaced by a later {api} of the same member"
