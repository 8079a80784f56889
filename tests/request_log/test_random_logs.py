"""Logs of a broker in virtual time, whatever its members do: the importer reports what the broker did, and no more.

The broker of these tests shows what real ones show: requests that overtake each other, timers that fire late, times cut
to the millisecond, clients that die while they wait.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollcall.schemas.effects import Effect, RebalanceEnded, RebalanceStarted
from tests.examples import examples
from tests.nightly import nightly_but
from tests.request_log.broker import START_MS, Broker
from tests.request_log.fleet import Action, MemberOf, live
from tests.request_log.imported import imported
from tests.request_log.played import LENGTH_MS, actions, later, play, start
from tests.request_log.truth import certain_and_wrong
from tests.views.random_lives import logged, of_both_protocols, of_the_group


@settings(examples(20, 60), derandomize=True)
@given(plan=actions, has_static=st.booleans(), seed=st.integers(0, 99), late_ms=st.sampled_from([0.5, 5.0, 40.0]))
def test_whatever_members_do_every_answer_and_every_rebalance_is_the_brokers(
    plan: list[Action], has_static: bool, seed: int, late_ms: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    opening = [("start", i, 50 * i) for i in range(3)]
    folder = tmp_path_factory.mktemp("log")
    script = partial(live, plan=[*opening, *plan], has_static=has_static)
    played = play(script, folder, seed=seed, late_ms=late_ms)
    played.compare("g")


def three(broker: Broker) -> list[MemberOf]:
    return [start(broker, f"m{i}") for i in range(3)]


@pytest.mark.parametrize("seed", range(8))
def test_a_member_that_leaves_is_blamed_however_near_the_others_heartbeats_are(seed: int, tmp_path: Path) -> None:
    def script(broker: Broker) -> None:
        members = three(broker)
        later(broker, 15_000, members[1].close)
        later(broker, 15_000.4, members[0].commit)
        later(broker, 15_001, members[2].commit)

    found = play(script, tmp_path, seed=seed, slow_ms=4.0).found
    assert found.parity.first == []
    [_, left] = found.of_group("g", RebalanceStarted)
    assert (left.cause.kind, left.cause.client_id) == ("member_left", "m1")


@pytest.mark.parametrize("seed", range(8))
def test_a_heartbeat_just_after_a_session_ended_keeps_it_unless_its_timer_has_fired(seed: int, tmp_path: Path) -> None:
    """A busy broker fires timers up to 1.5 s late: with some seeds before the heartbeat, with others after it."""

    def script(broker: Broker) -> None:
        members = three(broker)
        later(broker, 12_000, lambda: setattr(broker, "late_ms", 1500.0))
        later(broker, 15_000, lambda: members[1].stall(5_550))

    played = play(script, tmp_path, seed=seed)
    played.compare("g")


@pytest.mark.parametrize("seed", range(8))
def test_a_member_killed_while_its_join_was_parked_is_reported_though_it_has_no_line(seed: int, tmp_path: Path) -> None:
    def script(broker: Broker) -> None:
        members = three(broker)
        later(broker, 15_000, lambda: members[0].stall(4_000))
        later(broker, 15_100, lambda: start(broker, "new"))
        later(broker, 17_500, members[1].kill)

    played = play(script, tmp_path, seed=seed)
    played.compare("g")
    assert played.found.tally.inferred == {"a JoinGroup that left no line": 1}


@pytest.mark.parametrize("seed", range(8))
def test_a_newcomer_killed_while_its_join_was_parked_is_blamed_for_the_rebalance(seed: int, tmp_path: Path) -> None:
    def script(broker: Broker) -> None:
        three(broker)
        newcomer = MemberOf(broker, "g", "new")
        later(broker, 15_000, newcomer.start)
        later(broker, 15_025, newcomer.kill)

    played = play(script, tmp_path, seed=seed)
    played.compare("g")
    joined, ended = played.found.of_group("g", RebalanceStarted)[1:3]
    assert (joined.cause.kind, joined.cause.client_id) == ("member_joined", "new")
    assert (ended.cause.kind, ended.cause.client_id) == ("session_expired", "new")


def test_a_group_that_another_broker_took_over_keeps_its_members(tmp_path: Path) -> None:
    stage = Broker(seed=1)
    three(stage)
    stage.run(START_MS + 12_000)
    stage.address = "10.0.0.2:9092"
    stage.run(START_MS + LENGTH_MS)
    found = imported(stage.write(tmp_path / "requests.log"))
    assert found.parity.first == []
    assert set(found.tally.inferred) == {"the coordinator is away", "a coordinator has loaded the group"}
    assert len(found.rebalances("g")) == 1


# ---------------------------------------------------------------- lives of both protocols
# Their coordinator goes down or moves. What their log alone has as certain is what the broker did.

NO_LINE_SHOWS = frozenset({43, 88, 125, 151, 238, 264, 284, 347, 442})
"""Lives whose coordinator was away for 5 ms, which no line shows, or kept members that no generation has, which a real
one forgets."""
MENDED = (33, 121, 227, 314, 464, 467, 548, 577)
"""In each, a cause was reported as certain that was another's, or a reached epoch as superseded."""
LIVES = (*range(30), *MENDED)
MANY = tuple(seed for seed in range(600) if seed not in NO_LINE_SHOWS)


@pytest.mark.parametrize("seed", nightly_but(LIVES, MANY))
def test_no_cause_is_reported_as_certain_that_was_not_and_rebalances_end_as_they_did(seed: int, tmp_path: Path) -> None:
    broker, _ = of_both_protocols(seed)
    ours, theirs = logged(broker.write(tmp_path / "requests.log"))[0], of_the_group(broker)
    begun = [one for one in theirs if isinstance(one, RebalanceStarted)]
    true = [(one.from_generation_id, str(one.cause.kind), one.cause.member_id) for one in begun]
    assert certain_and_wrong((one for one in ours if isinstance(one, RebalanceStarted)), true) == []
    assert _ends(ours) <= _ends(theirs)


def _ends(effects: Iterable[Effect]) -> Counter[tuple[int, int, str]]:
    """How often a rebalance from one generation or epoch to another ended so, as far as it is known."""
    return Counter(
        (one.from_generation_id, one.to_generation_id, str(one.outcome))
        for one in effects
        if isinstance(one, RebalanceEnded) and one.outcome != "unknown"
    )
