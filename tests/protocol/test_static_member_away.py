"""Static members that are away: what a join phase costs that starts over for them."""

from __future__ import annotations

from typing import Any

import pytest

from rollcall.coordinator_udfs.protocol import expiry
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.schemas.effects import TimerArmed
from tests.protocol.bench import Bench
from tests.protocol.rules import rule


@rule("Static members: a short join phase that starts again and again is reported once a second, and costs no more")
def test_a_phase_of_a_millisecond_is_prolonged_at_little_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    fired = 0

    def counted(*given: Any) -> None:
        nonlocal fired
        fired += 1
        fire(*given)

    fire = expiry._fire
    monkeypatch.setattr(expiry, "_fire", counted)
    bench = Bench().static("m1", "m2", "m3")
    for client in ("m1", "m2", "m3"):
        bench.client(client, rebalance_ms=1, session_ms=900_000)
    bench.stable("m1", "m2", "m3")
    bench.leave(("", "i3"))
    bench.tick(899_999)
    assert (bench.state, bench.deadlines()["join"]) == (GroupState.PREPARING_REBALANCE, 900_000)
    assert 890 <= len(bench.of(TimerArmed)) <= 910
    assert fired <= 910
    bench.tick(900_000)
    assert (bench.state, bench.members) == (GroupState.EMPTY, [])


@rule("Static members: how often one looks changes nothing of a join phase that starts over")
@pytest.mark.parametrize("rebalance_ms", [1, 7, 333, 999, 1_000, 1_001, 3_000])
def test_a_prolonged_phase_is_the_same_however_time_passes(rebalance_ms: int) -> None:
    benches = []
    for step_ms in (1, 10, 17, 8_000):
        bench = Bench().static("m1", "m2")
        for client in ("m1", "m2"):
            bench.client(client, rebalance_ms=rebalance_ms, session_ms=8_000)
        bench.stable("m1", "m2", "m3")
        bench.leave("m3")
        for now_ms in range(0, 5_000, step_ms):
            bench.tick(now_ms)
        bench.tick(5_000)
        bench.join("m1")
        for now_ms in range(5_000, 20_000, step_ms):
            bench.tick(now_ms)
        bench.tick(20_000)
        benches.append(bench)
    assert all(bench.effects == benches[0].effects for bench in benches)


@rule(
    "Static members: repeated join phases with an absent leader of a long session",
    origin="testLeaderFailToRejoinBeforeFinalRebalanceTimeoutWithLongSessionTimeout"
    " testLeaderRejoinBeforeFinalRebalanceTimeoutWithLongSessionTimeout",
)
@pytest.mark.parametrize("comes_back", [False, True])
def test_an_absent_leader_misses_phase_after_phase_until_it_comes_or_expires(comes_back: bool) -> None:
    bench = Bench().static("m1")
    bench.client("m1", rebalance_ms=3_000, session_ms=60_000)
    bench.client("m2", rebalance_ms=3_000, session_ms=60_000)
    bench.stable("m1", "m2")
    for phase in (1, 2):
        rejoined = bench.join("m2", protocols={"range": b"%d" % phase})
        bench.tick(phase * 3_000)
        assert (rejoined.response.leader, bench.generation) == (bench.id_of("m2"), 2 + phase)
        bench.sync("m2", plan=["m2"])
        bench.sync("m1")
    if comes_back:
        assert bench.join("m1").response.leader == bench.id_of("m2")
    assert bench.members == ["m1", "m2"]
    bench.tick(66_000)
    assert "m1" not in bench.members
