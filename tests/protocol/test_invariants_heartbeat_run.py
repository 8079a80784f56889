"""A run of heartbeats is its heartbeats, one by one: the same answers, the same members alive, the same deadlines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.heartbeat import beats_of
from rollcall.coordinator_udfs.protocol.step import expire_due, step
from rollcall.schemas.effects import Effect, HeartbeatsTaken, Reply
from rollcall.schemas.errors import Error
from rollcall.schemas.heartbeat_runs import RunPacker
from rollcall.schemas.membership_messages import beat_id
from rollcall.schemas.messages import HeartbeatRunRequest
from tests.protocol.bench import Bench
from tests.protocol.classic_moves import configs, plays
from tests.protocol.consumer_bench import ConsumerBench
from tests.protocol.heartbeat_runs import in_runs, state_of
from tests.protocol.play import Move, Play, replay
from tests.requests import heartbeat, packed

Beat = tuple[int, str, str, int]
"""When it was taken, whose it was (member and client), and of which generation."""


def taken(effects: Iterable[Effect]) -> Counter[Beat]:
    """Every heartbeat that was answered NONE, reported alone or in a run."""
    found: Counter[Beat] = Counter()
    for effect in effects:
        if isinstance(effect, HeartbeatsTaken):
            for one in effect.taken:
                for beat in one.beats:
                    found[effect.from_ms + beat, one.member_id, one.client_id, effect.generation_id] += 1
        elif is_taken_alone(effect):
            found[effect.at_ms, effect.member_id, effect.client_id, effect.generation_id] += 1  # type: ignore[attr-defined]
    return found


def is_taken_alone(effect: Effect) -> bool:
    return isinstance(effect, Reply) and effect.api == "Heartbeat" and effect.error_code is Error.NONE


def others(effects: Iterable[Effect]) -> list[str]:
    """All other facts in order of time, without the ids of heartbeats."""
    found = []
    for effect in effects:
        if isinstance(effect, HeartbeatsTaken) or is_taken_alone(effect):
            continue
        if isinstance(effect, Reply) and effect.api == "Heartbeat":
            effect = msgspec.structs.replace(effect, request_id="")
        found.append((effect.at_ms, msgspec.json.encode(effect).decode()))
    return [text for _, text in sorted(found)]


@given(config=configs, moves=st.lists(plays, min_size=1, max_size=3), most=st.integers(1, 12))
def test_a_run_is_its_heartbeats_one_by_one(config: GroupConfig, moves: list[list[Move]], most: int) -> None:
    play = Play(config).make(chain.from_iterable(moves))
    group, effects = replay(play.calls)
    run_group, run_effects = replay(in_runs(play.calls, most))
    assert taken(run_effects) == taken(effects)
    assert others(run_effects) == others(effects)
    assert state_of(run_group) == state_of(group)
    assert [effect.at_ms for effect in run_effects] == sorted(effect.at_ms for effect in run_effects)


@given(
    moments=st.lists(st.integers(0, 29_000), min_size=2, max_size=8).map(sorted),
    rebalance_timeout_ms=st.integers(1_000, 20_000),
    session_timeout_ms=st.integers(6_000, 30_000),
)
def test_who_must_rejoin_a_consumer_group_is_removed_between_the_heartbeats_of_a_run(
    moments: list[int], rebalance_timeout_ms: int, session_timeout_ms: int
) -> None:
    """The first heartbeat that is told to rejoin sets the deadline that a later one may miss."""
    found = []
    for is_run in (False, True):
        bench = ConsumerBench(topics={"t1": 4}).with_members("m1")
        bench.join_classic("c1", "t1", session_timeout_ms=session_timeout_ms, rebalance_timeout_ms=rebalance_timeout_ms)
        bench.sync("c1")
        bench.join("m2", "t1")
        group, member = bench.group, bench.member("c1")
        beats = [heartbeat(member.member_id, member.member_epoch, at_ms, group.group_id) for at_ms in moments]
        effects: list[Effect] = []
        for request in [packed(beats, "run")] if is_run else beats:
            at_ms = request.received_at_ms
            if not is_run:
                effects += expire_due(group, at_ms - 1, bench.config)
            effects += step(group, request, at_ms, bench.config)
        found.append((taken(effects), others(effects), state_of(group)))
    assert found[1] == found[0]


def run_of(bench: Bench, *beats: tuple[str, int], generation_id: int | None = None, **more: Any) -> HeartbeatRunRequest:
    """A run of (client, moment); clients' own member ids, and the group's generation."""
    generation_id = bench.group.generation_id if generation_id is None else generation_id
    run = packed(
        [
            heartbeat(bench.id_of(who), generation_id, at_ms, bench.group.group_id, client_id=who)
            for who, at_ms in beats
        ],
        "run",
    )
    return msgspec.structs.replace(run, **more)


def take(bench: Bench, run: HeartbeatRunRequest, at_ms: int | None = None, armed: int | None = None) -> list[Effect]:
    """What comes of a run; at_ms: when it is taken, else when its last heartbeat arrived."""
    return step(bench.group, run, run.received_at_ms if at_ms is None else at_ms, bench.config, armed)


def sessions(bench: Bench) -> dict[str, int | None]:
    """When each client's session ends."""
    return {who: bench.deadlines()[who] for who in bench.members}


def test_all_that_are_taken_are_one_effect_with_every_moment() -> None:
    bench = Bench().stable("m1", "m2")
    run = run_of(bench, ("m1", 1_000), ("m2", 1_000), ("m1", 2_001), ("m1", 3_002), ("m2", 3_007))
    (effect,) = take(bench, run)
    assert isinstance(effect, HeartbeatsTaken)
    assert (effect.at_ms, effect.request_id, effect.generation_id, effect.from_ms) == (3_007, "run", 2, 1_000)
    assert [(one.client_id, one.beats) for one in effect.taken] == [("m1", [0, 1_001, 2_002]), ("m2", [0, 2_007])]
    assert sessions(bench) == {"m1": 13_002, "m2": 13_007}


def test_each_that_is_refused_has_a_reply_of_its_own() -> None:
    bench = Bench().stable("m1", "m2")
    run = run_of(bench, ("m1", 1_000), ("gone", 1_200), ("m2", 1_500), ("gone", 2_000))
    first, reported, second = take(bench, run)
    assert isinstance(first, Reply)
    assert isinstance(second, Reply)
    assert isinstance(reported, HeartbeatsTaken)
    assert [(one.at_ms, one.error_code) for one in (first, second)] == [
        (1_200, Error.UNKNOWN_MEMBER_ID),
        (2_000, Error.UNKNOWN_MEMBER_ID),
    ]
    assert (first.request_id, second.request_id) == (beat_id("run", 1, 200), beat_id("run", 1, 1_000))
    assert [one.beats for one in reported.taken] == [[0], [], [500]]


def test_a_run_of_another_generation_keeps_nobody_alive() -> None:
    bench = Bench().stable("m1")
    replies = take(bench, run_of(bench, ("m1", 3_000), ("m1", 4_000), generation_id=99))
    assert [effect.error_code for effect in replies if isinstance(effect, Reply)] == [Error.ILLEGAL_GENERATION] * 2
    assert bench.deadlines()["m1"] == 10_000


@pytest.mark.parametrize("is_answered", [False, True])
def test_what_a_client_was_answered_early_is_what_the_history_says(is_answered: bool) -> None:
    bench = Bench().preparing("m1", "m2")
    effects = take(bench, run_of(bench, ("m2", 4_000), is_answered=is_answered))
    if is_answered:
        assert [type(effect) for effect in effects] == [HeartbeatsTaken]
    else:
        assert [effect.error_code for effect in effects if isinstance(effect, Reply)] == [Error.REBALANCE_IN_PROGRESS]
    assert bench.deadlines()["m2"] == 14_000


def test_a_session_counts_from_its_heartbeat_and_not_from_when_the_run_was_handed_on() -> None:
    bench = Bench().stable("m1", "m2")
    run = run_of(bench, ("m1", 1_000), ("m2", 2_500), handed_on_ms=4_000)
    take(bench, run, at_ms=2_500, armed=4_300)
    assert sessions(bench) == {"m1": 11_300, "m2": 12_800}


def test_a_late_run_keeps_its_moments_and_takes_no_time_from_anybody() -> None:
    bench = Bench().stable("m1", "m2")
    bench.at(5_000)
    bench.heartbeat("m1")
    (effect,) = take(bench, run_of(bench, ("m1", 1_000), ("m2", 1_500)), at_ms=1_500)
    assert isinstance(effect, HeartbeatsTaken)
    assert (effect.at_ms, effect.from_ms, [one.beats for one in effect.taken]) == (5_000, 1_000, [[0], [500]])
    assert sessions(bench) == {"m1": 15_000, "m2": 11_500}


def test_a_member_that_is_silent_expires_between_the_heartbeats_of_the_others() -> None:
    bench = Bench().stable("m1", "m2")
    effects = take(bench, run_of(bench, ("m1", 4_000), ("m1", 8_000), ("m1", 12_000), ("m1", 13_000)))
    reported = [(type(effect).__name__, effect.at_ms) for effect in effects]
    assert reported[0] == ("HeartbeatsTaken", 8_000)
    assert ("MemberRemoved", 10_000) in reported
    assert [
        (effect.at_ms, effect.error_code)
        for effect in effects
        if isinstance(effect, Reply) and effect.api == "Heartbeat"
    ] == [(12_000, Error.REBALANCE_IN_PROGRESS), (13_000, Error.REBALANCE_IN_PROGRESS)]


def test_heartbeats_of_two_generations_are_no_run() -> None:
    assert not RunPacker(heartbeat("m", 1, 5)).takes(heartbeat("m", 2, 6))


def test_two_heartbeats_of_one_member_in_one_millisecond_are_two() -> None:
    run = packed([heartbeat("m", 1, 5), heartbeat("m", 1, 5)], "run")
    assert [one.beats for one in run.members] == [[0], [0]]


def test_heartbeats_of_one_millisecond_stand_in_the_order_in_which_they_came() -> None:
    run = packed([heartbeat(who, 1, at_ms) for who, at_ms in (("a", 4), ("b", 4), ("b", 5), ("a", 5), ("a", 6))], "run")
    assert [(one.member_id, one.beats) for one in run.members] == [("a", [0]), ("b", [0, 1]), ("a", [1, 2])]
    assert [run.members[beat.place].member_id for beat in beats_of(run)] == ["a", "b", "b", "a", "a"]
