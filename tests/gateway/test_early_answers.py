"""Heartbeats that are answered early, over random schedules of clients, commits and waits: what they are answered, what
becomes of them, and when they are handed on.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.known_groups import UNKNOWN, KnownGroups
from rollcall.coordinator_udfs.protocol.step import expire_due, step
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effects import Effect, HeartbeatsTaken, Reply, RequestDropped, RequestParked
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    GroupRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    HeartbeatRunRequest,
    StreamRequest,
)
from rollcall.serve.gateway.tables.early_answers import LONGEST_HELD_MS, MOST_IN_A_RUN, EarlyAnswers
from rollcall.serve.gateway.tables.under_way import UnderWay
from tests.gateway.core_backend import answer_of_the_core
from tests.gateway.facts import facts_of
from tests.programs.set_clocks import Machine
from tests.protocol.classic_moves import METADATA, Everybody, configs, plays
from tests.protocol.heartbeat_runs import state_of
from tests.protocol.play import GROUP_ID, Call, Move, Play, replay
from tests.requests import heartbeat, join, leave, sync


@dataclass
class Gateway:
    """One gateway, one group, and a coordinator whose batches end when they are told to."""

    config: GroupConfig
    group: Group = field(default_factory=lambda: Group(GROUP_ID))
    as_of_the_commit: Group = field(default_factory=lambda: Group(GROUP_ID))
    effects: list[Effect] = field(default_factory=list)
    appended: list[StreamRequest] = field(default_factory=list)
    answered: list[HeartbeatRequest] = field(default_factory=list)
    """Early."""

    def __post_init__(self) -> None:
        self.known = KnownGroups()
        self.under_way = UnderWay(self.known, 1_000_000)
        self.early = EarlyAnswers(self.known, self.under_way)

    def knows(self, request: HeartbeatRequest) -> bool:
        """Whether it would be answered early; nothing is kept of it."""
        whole = deepcopy(self.early)
        return whole.take(request) is not None

    def ask(self, request: GroupRequest) -> None:
        """A client's request arrives."""
        self.let_time_pass(request.received_at_ms)
        runs = self.early.take(request) if isinstance(request, HeartbeatRequest) else None
        if runs is not None:
            assert isinstance(request, HeartbeatRequest)
            # What the coordinator answers to the same request, of the group as the last commit left it.
            assert answer_of_the_core(self.as_of_the_commit, request, self.config) == HeartbeatResponse()
            self.answered.append(request)
            self.appended += runs
            return
        self.appended += self.early.run_before(request)
        self.early.note(request)
        self.under_way.begin(request, None)
        self.appended.append(request)

    def let_time_pass(self, now_ms: int) -> None:
        """What must be handed on by then is."""
        while (due_ms := self.early.next_due_ms) is not None and due_ms <= now_ms:
            self.appended += self.early.due(due_ms)

    def commit(self, now_ms: int) -> None:
        """A batch takes all that was appended, and time up to now; the gateway reads what came of it."""
        self.let_time_pass(now_ms)
        effects: list[Effect] = []
        for request in self.appended:
            if not isinstance(request, HeartbeatRunRequest):
                effects += expire_due(self.group, request.received_at_ms - 1, self.config)
            effects += step(self.group, request, request.received_at_ms, self.config)
        effects += expire_due(self.group, now_ms, self.config)
        self.appended.clear()
        self.learn(effects)
        for effect in effects:
            if isinstance(effect, RequestParked):
                self.under_way.park(effect.request_id)
            if isinstance(effect, Reply | RequestDropped):
                one = self.under_way.drop(effect.request_id)
                if one is not None and isinstance(effect, Reply) and effect.api == "Heartbeat":
                    self.early.forget_those_elsewhere(GROUP_ID, one.received_at_ms)
        self.effects += effects
        self.as_of_the_commit = self.group.copy()

    def learn(self, effects: list[Effect]) -> None:
        """Takes in facts of the group."""
        for fact in facts_of(GROUP_ID, effects):
            self.known.apply(GROUP_ID, fact.effect, fact.detail)
            if fact.effect == EffectName.MEMBER_REMOVED:
                self.early.forget(GROUP_ID, fact.member_id or "")
            elif fact.effect == EffectName.GROUP_REMOVED:
                self.early.forget(GROUP_ID)


def is_about_heartbeats(effect: Effect) -> bool:
    return isinstance(effect, HeartbeatsTaken) or (isinstance(effect, Reply) and effect.api == "Heartbeat")


def without_heartbeats(effects: list[Effect]) -> list[Effect]:
    return [effect for effect in effects if not is_about_heartbeats(effect)]


def heartbeats_in(effects: list[Effect]) -> int:
    """How many heartbeats are in the history."""
    return sum(
        sum(len(one.beats) for one in effect.taken) if isinstance(effect, HeartbeatsTaken) else 1
        for effect in effects
        if is_about_heartbeats(effect)
    )


def calls_of(config: GroupConfig, moves: list[list[Move]]) -> list[Call]:
    """What clients asked, each request with the moment at which it arrived."""
    play = Play(config).make(chain.from_iterable(moves))
    asked: list[Call] = []
    seen: set[str] = set()
    for place, call in enumerate(play.calls):
        request = call.request
        if request is not None and request.request_id in seen:
            # Somebody says the same again: for a gateway that is another request.
            request = msgspec.structs.replace(request, request_id=f"again {place}", received_at_ms=call.at_ms)
        if request is not None:
            seen.add(request.request_id)
        asked.append(call._replace(request=request))
    return asked


def played(config: GroupConfig, calls: list[Call], commits: list[bool]) -> Gateway:
    """The calls through a gateway; a batch ends after those that `commits` says, over and over.

    Time that passes up to the millisecond in which a request arrives ends a batch too: whether a deadline of that
    millisecond comes before the request depends on it.
    """
    gateway = Gateway(config)
    arrivals_ms = {call.at_ms for call in calls if call.request is not None}
    for place, call in enumerate(calls):
        if call.request is not None:
            assert not isinstance(call.request, HeartbeatRunRequest)
            gateway.ask(call.request)
        if commits[place % len(commits)] or (call.request is None and call.at_ms in arrivals_ms):
            gateway.commit(call.at_ms - 1 if call.request is not None else call.at_ms)
    if not calls:
        return gateway
    end_ms = calls[-1].at_ms
    gateway.appended += gateway.early.rest(end_ms)
    gateway.commit(end_ms - 1 if calls[-1].request is not None else end_ms)
    return gateway


schedules = st.lists(st.booleans(), min_size=1, max_size=12)
beats = st.builds(
    Everybody,
    gap_ms=st.sampled_from((0, 1, 100, 400, 1500, 3000, 6000)),
    client=st.just(0),
    verb=st.just("heartbeat"),
    count=st.integers(1, 5),
    metadata=st.just(b""),
    reason=st.none(),
)
rounds = st.builds(
    Everybody,
    gap_ms=st.sampled_from((0, 100, 3000)),
    client=st.just(0),
    verb=st.just("round"),
    count=st.integers(1, 5),
    metadata=st.just(METADATA[0]),
    reason=st.none(),
)
# Clients that stop at nothing, and times in which a group is at rest and its members beat.
lives = st.lists(
    st.one_of(plays, st.tuples(rounds, st.lists(beats, max_size=12)).map(lambda p: [p[0], *p[1]])), max_size=4
)


@given(config=configs, moves=lives, commits=schedules)
def test_the_history_is_the_same_with_early_answers(
    config: GroupConfig, moves: list[list[Move]], commits: list[bool]
) -> None:
    """Members live and die as if each heartbeat had come to the coordinator by itself, and each is in the history."""
    calls = calls_of(config, moves)
    group, effects = replay(calls)
    gateway = played(config, calls, commits)
    assert without_heartbeats(gateway.effects) == without_heartbeats(effects)
    assert heartbeats_in(gateway.effects) == heartbeats_in(effects)
    assert state_of(gateway.group) == state_of(group)


@given(config=configs, moves=lives)
def test_with_a_commit_before_and_after_every_request_each_answer_is_the_coordinators(
    config: GroupConfig, moves: list[list[Move]]
) -> None:
    calls = calls_of(config, moves)
    _, effects = replay(calls)
    refused = {
        effect.request_id
        for effect in effects
        if isinstance(effect, Reply) and effect.api == "Heartbeat" and effect.error_code is not Error.NONE
    }
    gateway = played(config, calls, [True])
    assert not refused & {beat.request_id for beat in gateway.answered}


def test_in_the_random_schedules_heartbeats_are_answered_early() -> None:
    answered: list[int] = []

    @settings(max_examples=100, derandomize=True, database=None)
    @given(config=configs, moves=lives, commits=schedules)
    def play(config: GroupConfig, moves: list[list[Move]], commits: list[bool]) -> None:
        answered.append(len(played(config, calls_of(config, moves), commits).answered))

    play()
    assert sum(answered) > 100
    assert sum(1 for count in answered if count) > 10


# ---------------------------------------------------------------- one group at rest

T = 1_000_000


def at_rest(session_timeout_ms: int = 45_000, members: int = 2) -> tuple[Gateway, list[str]]:
    """A Stable group in generation 1 that the gateway knows, and its member ids."""
    gateway = Gateway(GroupConfig(group_initial_rebalance_delay_ms=10))
    for n in range(members):
        gateway.ask(join(f"c{n}", T, GROUP_ID, session_timeout_ms=session_timeout_ms, request_id=f"j{n}"))
    gateway.commit(T + 30)
    ids = list(gateway.group.members)
    gateway.ask(sync(ids[0], 1, T + 50, GROUP_ID, assigned=ids, request_id="s0"))
    for n in range(1, members):
        gateway.ask(sync(ids[n], 1, T + 50, GROUP_ID, request_id=f"s{n}"))
    gateway.commit(T + 60)
    assert gateway.group.state == "Stable"
    return gateway, ids


def beat(member_id: str, at_ms: int, generation_id: int = 1, **more: Any) -> HeartbeatRequest:
    return heartbeat(member_id, generation_id, at_ms, GROUP_ID, request_id=f"b{at_ms}", **more)


def test_members_of_the_generation_alone_are_answered_early() -> None:
    gateway, (first, _) = at_rest()
    assert gateway.knows(beat(first, T + 100))
    assert not gateway.knows(beat("stranger", T + 100))
    assert not gateway.knows(beat(first, T + 100, 2))
    assert not gateway.knows(beat(first, T + 100, group_instance_id="i-1"))
    assert not gateway.knows(heartbeat(first, 1, T + 100, "another group"))


def test_nobody_is_answered_early_where_a_fact_of_the_group_could_not_be_read() -> None:
    gateway, (first, _) = at_rest()
    group = gateway.known.get(GROUP_ID)
    assert group is not None
    with pytest.raises(ValueError, match="JSON"):
        gateway.known.apply(GROUP_ID, "state_changed", "{broken")
    # Later facts say that it is Stable and who is in it; none says of which type it is.
    unknown = gateway.known.get(GROUP_ID)
    assert unknown is not None
    assert unknown.state == UNKNOWN
    unknown.state, unknown.generation_id, unknown.members = group.state, group.generation_id, group.members
    assert not gateway.knows(beat(first, T + 100))


@pytest.mark.parametrize("kind", ["join", "sync", "leave"])
def test_nobody_is_answered_early_from_the_arrival_of_a_change_until_the_commit_that_answers_it(kind: str) -> None:
    gateway, (first, second) = at_rest()
    asked: dict[str, GroupRequest] = {
        "join": join("c9", T + 100, GROUP_ID, request_id="x"),
        "sync": sync(first, 1, T + 100, GROUP_ID, request_id="x"),
        "leave": leave(second, T + 100, GROUP_ID, request_id="x"),
    }
    gateway.ask(asked[kind])
    assert not gateway.knows(beat(first, T + 101))
    gateway.commit(T + 200)
    assert gateway.knows(beat(first, T + 201)) is (kind == "sync")


def test_nobody_is_answered_early_when_a_member_has_been_silent_for_its_whole_session() -> None:
    gateway, (first, second) = at_rest(6000)
    for member_id, at_ms in ((second, T + 1000), (first, T + 3000), (first, T + 5000)):
        assert gateway.knows(beat(member_id, at_ms))
        gateway.ask(beat(member_id, at_ms))
    assert gateway.knows(beat(first, T + 6999))
    assert not gateway.knows(beat(first, T + 7000))
    gateway.ask(beat(first, T + 7001))
    gateway.commit(T + 7002)
    assert second not in gateway.group.members
    reported = [one for one in gateway.effects if isinstance(one, Reply) and one.api == "Heartbeat"]
    assert [(one.at_ms, one.error_code) for one in reported] == [(T + 7001, Error.REBALANCE_IN_PROGRESS)]


def test_a_member_that_goes_on_through_another_gateway_delays_the_others_for_a_while_alone() -> None:
    gateway, (first, second) = at_rest(6000)
    gateway.ask(beat(second, T + 100))
    for at_ms in range(T + 1000, T + 14_000, 1000):
        gateway.appended.append(heartbeat(second, 1, at_ms - 1, GROUP_ID, request_id=f"elsewhere {at_ms}"))
        gateway.ask(beat(first, at_ms))
        gateway.commit(at_ms)
    assert gateway.group.generation_id == 1
    answered = [one.received_at_ms - T for one in gateway.answered if one.member_id == first]
    assert answered == [1000, 2000, 3000, 4000, 5000, 6000, 11_000, 12_000, 13_000]


def test_a_request_that_nobody_ever_answers_delays_heartbeats_for_a_while_alone() -> None:
    gateway, (first, _) = at_rest()
    gateway.under_way.begin(leave("nobody", T + 100, GROUP_ID, request_id="in quarantine"), None)
    assert not gateway.knows(beat(first, T + 101))
    gateway.under_way.forget_lost(T + 100)
    assert not gateway.knows(beat(first, T + 101))
    gateway.under_way.forget_lost(T + 101)
    assert gateway.knows(beat(first, T + 101))


def beat_every(gateway: Gateway, ids: list[str], interval_ms: int, count: int) -> list[HeartbeatRunRequest]:
    """Heartbeats of all members; the runs that were handed on, each with handed_on_ms."""
    for n in range(count):
        for member_id in ids:
            gateway.ask(beat(member_id, T + 100 + n * interval_ms))
    return [request for request in gateway.appended if isinstance(request, HeartbeatRunRequest)]


def test_a_first_heartbeat_is_handed_on_at_once_and_later_ones_together() -> None:
    gateway, ids = at_rest(60_000)
    runs = beat_every(gateway, ids, 3000, 13)
    assert [run.handed_on_ms for run in runs[:2]] == [T + 100, T + 100]
    assert [sum(len(one.beats) for one in run.members) for run in runs[2:]] == [10, 10]
    assert all(run.handed_on_ms is not None for run in runs)
    assert max((run.handed_on_ms or 0) - run.from_ms for run in runs) == LONGEST_HELD_MS


@pytest.mark.parametrize("session_timeout_ms", [6000, 10_000, 45_000])
@pytest.mark.parametrize("interval_ms", [100, 1000, 3000])
def test_what_is_lost_with_a_gateway_ends_no_session_before_two_thirds_of_it(
    session_timeout_ms: int, interval_ms: int
) -> None:
    """Whenever the gateway dies: a member's last answered heartbeat is at most a third of a session after the last one
    that was handed on, from which its session counts.
    """
    gateway, ids = at_rest(session_timeout_ms, members=1)
    handed_on_ms = T + 100
    for n in range(40):
        at_ms = T + 100 + n * interval_ms
        gateway.ask(beat(ids[0], at_ms))
        for run in gateway.appended:
            assert isinstance(run, HeartbeatRunRequest)
            handed_on_ms = max(handed_on_ms, run.received_at_ms)
        assert at_ms - handed_on_ms <= session_timeout_ms // 3


def test_other_requests_of_the_group_come_after_the_heartbeats_that_are_held() -> None:
    gateway, (first, _) = at_rest()
    gateway.ask(beat(first, T + 100))
    gateway.ask(beat(first, T + 3100))
    gateway.ask(leave(first, T + 3100, GROUP_ID, request_id="x"))
    assert [type(request).__name__ for request in gateway.appended] == [
        "HeartbeatRunRequest",
        "HeartbeatRunRequest",
        "LeaveGroupRequest",
    ]


def test_groups_whose_heartbeats_have_used_a_third_of_their_time_go_with_the_first_that_is_due() -> None:
    gateway, (first, second) = at_rest(60_000)
    for member_id, at_ms in ((first, T + 100), (second, T + 100), (first, T + 3000)):
        gateway.ask(beat(member_id, at_ms))
    gateway.appended.clear()
    assert gateway.early.due(T + 3000 + LONGEST_HELD_MS - 1) == []
    (run,) = gateway.early.due(T + 3000 + LONGEST_HELD_MS)
    assert (run.received_at_ms, run.handed_on_ms, run.is_answered) == (T + 3000, T + 3000 + LONGEST_HELD_MS, True)


def test_groups_that_form_one_after_the_other_soon_hand_on_together() -> None:
    gateway, ids = at_rest(60_000, members=3)
    known, early = gateway.known, gateway.early
    beats: list[HeartbeatRequest] = []
    for number in range(60):
        for fact in facts_of(GROUP_ID, gateway.effects):
            known.apply(f"g{number}", fact.effect, fact.detail)
        # Half of them form seven seconds later.
        first_ms = T + 100 + 7000 * (number % 2)
        for place, member_id in enumerate(ids):
            phase_ms = (37 * number * (7 if place else 1) + 1000 * place) % 3000
            moments_ms = range(first_ms + phase_ms, T + 120_000, 3000)
            beats += [heartbeat(member_id, 1, at_ms, f"g{number}") for at_ms in moments_ms]
    handed_on_ms: list[int] = []
    for one in sorted(beats, key=lambda one: one.received_at_ms):
        runs = early.take(one)
        assert runs is not None
        handed_on_ms += [run.handed_on_ms or 0 for run in [*early.due(one.received_at_ms), *runs]]
    assert len({at_ms for at_ms in handed_on_ms if at_ms > T + 60_000}) == 60_000 // LONGEST_HELD_MS


def test_a_run_of_many_heartbeats_is_handed_on_early() -> None:
    gateway, (first, _) = at_rest()
    runs = beat_every(gateway, [first], 0, MOST_IN_A_RUN + 2)
    assert [sum(len(one.beats) for one in run.members) for run in runs] == [1, MOST_IN_A_RUN]


def test_heartbeats_are_handed_on_in_time_though_the_machines_clock_is_set_back_an_hour() -> None:
    gateway, (first, second) = at_rest(60_000)
    machine = Machine(wall_ms=T + 100)
    clock = machine.clock()
    for member_id in (first, second):
        gateway.ask(beat(member_id, clock.now_ms()))
    machine.wall_ms -= 3_600_000
    machine.run(1000)
    gateway.ask(beat(first, clock.now_ms()))
    machine.run(LONGEST_HELD_MS)
    (run,) = gateway.early.due(clock.now_ms())
    assert (run.from_ms, [one.member_id for one in run.members]) == (T + 1100, [first])
