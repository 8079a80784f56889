"""Deadlines: which timer stands where after each request, in which order they fire, and from when they count."""

from __future__ import annotations

import pytest

from rollcall.coordinator_udfs.protocol.deadlines import earliest, next_deadline_ms
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.step import expire_due, step
from rollcall.coordinator_udfs.protocol.turn import Timer
from rollcall.schemas.effects import JoinPhaseEnded, MemberRemoved, StateChanged, TimerArmed
from rollcall.schemas.errors import Error
from rollcall.schemas.observed_messages import GroupObservedRequest, ObservedConsumer
from tests.protocol.bench import Bench
from tests.protocol.rules import rule

DAY_MS = 86_400_000


def quiet_bench() -> Bench:
    """The offset sweep is a day away; every client has a session of 10 s and a rebalance timeout of 60 s."""
    return Bench(offsets_retention_check_interval_ms=DAY_MS)


@rule("Timers: which run in each state")
def test_the_timers_of_each_state() -> None:
    bench = quiet_bench()
    bench.join("m1")
    assert bench.deadlines() == {"sweep": DAY_MS, "m1": 10_000}
    bench.join("m1")
    assert bench.deadlines() == {"sweep": DAY_MS, "sync": 60_000, "m1": 10_000}
    bench.sync("m1", plan=["m1"])
    assert bench.deadlines() == {"sweep": DAY_MS, "m1": 10_000}
    bench.at(1_000)
    bench.enter("m2")
    assert bench.deadlines() == {"sweep": DAY_MS, "join": 61_000, "m1": 10_000, "m2": 301_000}
    bench.at(2_000)
    bench.join("m1")
    assert bench.deadlines() == {"sweep": DAY_MS, "sync": 62_000, "m1": 12_000, "m2": 12_000}
    bench.leave("m1", "m2")
    assert bench.deadlines() == {"sweep": DAY_MS}


@rule("Timers: a first member of an Empty group has five minutes while it waits for the initial delay")
def test_the_timers_of_the_initial_window() -> None:
    bench = Bench(offsets_retention_check_interval_ms=DAY_MS, group_initial_rebalance_delay_ms=3_000)
    bench.enter("m1")
    assert bench.deadlines() == {"sweep": DAY_MS, "join": 3_000, "m1": 300_000}


@rule("Timers: only what the table says restarts a session")
def test_what_restarts_a_session() -> None:
    bench = quiet_bench().stable("m1", "m2")
    bench.at(1_000)
    bench.sync("m2")
    bench.join("m2")
    bench.heartbeat("m2", 1)
    bench.heartbeat("m2", instance_id="nobody")
    bench.commit("m2", 1)
    bench.fetch()
    bench.describe()
    assert bench.deadlines()["m2"] == 10_000
    bench.heartbeat("m2")
    assert bench.deadlines()["m2"] == 11_000
    bench.at(2_000)
    bench.commit("m2")
    assert bench.deadlines()["m2"] == 12_000


@rule("Timers: one due earlier fires earlier, each at its own moment")
def test_deadlines_fire_in_order_of_time() -> None:
    bench = quiet_bench()
    bench.client("m1", session_ms=3_000)
    bench.client("m2", session_ms=7_000)
    bench.client("m3", session_ms=5_000)
    bench.stable("m1", "m2", "m3")
    bench.tick(100_000)
    assert [removed.at_ms for removed in bench.of(MemberRemoved)] == [3_000, 5_000, 7_000]


@rule("Timers: at the same moment sessions fire first, in the order they were started, then join, sync and sweep")
def test_ties_go_to_sessions_and_then_to_the_groups_own_timers() -> None:
    bench = quiet_bench()
    bench.client("m1", rebalance_ms=10_000)
    bench.client("m2", rebalance_ms=10_000)
    bench.stable("m1", "m2")
    bench.join("m3", session_ms=10_000)
    bench.group.join_deadline_ms = bench.group.sync_deadline_ms = bench.group.sweep_deadline_ms = 10_000
    order = []
    while (due := earliest(bench.group)) is not None:
        assert due.deadline_ms == 10_000
        order.append(due.timer or bench.name_of(due.member_id))
        match due.timer:
            case Timer.JOIN:
                bench.group.join_deadline_ms = None
            case Timer.SYNC:
                bench.group.sync_deadline_ms = None
            case Timer.SWEEP:
                bench.group.sweep_deadline_ms = None
            case None:
                bench.group.remove(due.member_id)
    # The leader's session was started anew when its SyncGroup was answered, that of m2 was not.
    assert order == ["m2", "m1", "m3", Timer.JOIN, Timer.SYNC, Timer.SWEEP]


@rule("Timers: of length zero they fire after the requests of the same millisecond, and before the next one")
@pytest.mark.parametrize(("next_ms", "in_the_first"), [(0, 2), (1, 1)])
def test_a_timer_of_no_length_leaves_a_tie_to_the_requests(next_ms: int, in_the_first: int) -> None:
    bench = Bench(group_initial_rebalance_delay_ms=0)
    bench.is_tied = True
    assert bench.enter("m1").is_parked
    bench.at(next_ms)
    bench.enter("m2")
    bench.tick(next_ms)
    assert [len(ended.member_ids) for ended in bench.of(JoinPhaseEnded)] == [in_the_first]


@rule("Timers: of length zero they fire at once in an expiry")
def test_a_timer_of_no_length_that_an_expiry_starts_fires_at_once() -> None:
    bench = quiet_bench()
    bench.client("m1", session_ms=4_000)
    bench.client("m2", rebalance_ms=0)
    bench.stable("m1", "m2")
    bench.tick(4_000)
    assert (bench.state, bench.members) == (GroupState.EMPTY, [])
    assert bench.group.updated_at_ms == 4_000


@rule("Timers: a group's own are reported when they start, except the sweep")
def test_the_start_of_a_timer_is_reported() -> None:
    bench = Bench(group_initial_rebalance_delay_ms=3_000)
    bench.enter("m1", rebalance_ms=9_000)
    bench.tick(3_000)
    bench.sync("m1", plan=["m1"])
    bench.enter("m2", rebalance_ms=8_000)
    assert [(armed.at_ms, armed.timer, armed.length_ms) for armed in bench.of(TimerArmed)] == [
        (0, Timer.JOIN, 3_000),
        (3_000, Timer.SYNC, 9_000),
        (3_000, Timer.JOIN, 9_000),
    ]


@rule("Timers: what fires may start others, which fire in their turn")
def test_one_expiry_leads_to_the_next() -> None:
    bench = quiet_bench()
    for client in ("m1", "m2"):
        bench.client(client, rebalance_ms=3_000, session_ms=50_000)
    bench.preparing("m1", "m2")
    bench.tick(100_000)
    assert [(move.at_ms, move.to_state) for move in bench.of(StateChanged)[-3:]] == [
        (3_000, GroupState.COMPLETING_REBALANCE),
        (6_000, GroupState.PREPARING_REBALANCE),
        (6_000, GroupState.EMPTY),
    ]


@rule("Timers: a heartbeat leaves the next deadline a lower bound, which a look at what is due makes exact")
def test_the_next_deadline_is_a_lower_bound() -> None:
    bench = quiet_bench().stable("m1")
    bench.at(4_000)
    bench.heartbeat("m1")
    assert next_deadline_ms(bench.group) == 10_000
    bench.tick(10_000)
    assert (next_deadline_ms(bench.group), bench.members) == (14_000, ["m1"])


@rule("Timers: an unknown group has none")
def test_an_unknown_group_has_no_deadline() -> None:
    assert next_deadline_ms(Bench().group) is None


@rule("Timers: … and so does what an expiry starts")
@pytest.mark.parametrize(("armed_from_ms", "deadline_ms"), [(None, 13_000), (9_000, 19_000)])
def test_expiries_arm_from_their_own_moment_or_later(armed_from_ms: int | None, deadline_ms: int) -> None:
    bench = quiet_bench()
    for client in ("m1", "m2"):
        bench.client(client, rebalance_ms=3_000)
    bench.preparing("m1", "m2")
    bench.heartbeat("m2")
    expire_due(bench.group, 3_000, bench.config, armed_from_ms)
    assert (bench.state, bench.deadlines()["m1"]) == (GroupState.COMPLETING_REBALANCE, deadline_ms)


@rule("Timers: a request at the moment of a deadline comes first")
def test_the_request_wins_a_tie() -> None:
    bench = quiet_bench()
    for client in ("m1", "m2"):
        bench.client(client, rebalance_ms=3_000)
    bench.preparing("m1", "m2")
    bench.at(3_000)
    assert bench.join("m2").error is Error.NONE
    assert bench.members == ["m1", "m2"]


@rule("Timers: a group that a recording shows to be a consumer group waits for no id given out before")
def test_an_id_given_out_before_a_recording_shows_a_consumer_group() -> None:
    bench = quiet_bench()
    bench.join("m1", "")
    assert bench.deadlines()["m1"] == 10_000
    seen = ObservedConsumer(member_id="c1", member_epoch=5, answered_epoch=5)
    request = GroupObservedRequest(
        request_id="seen", group_id=bench.group.group_id, why="", api_version=0, received_at_ms=0, consumer=seen
    )
    step(bench.group, request, 0, bench.config)
    due = earliest(bench.group)
    assert due is not None
    assert due.member_id == "c1"
