"""What is counted of a run, from effects written by hand, to the millisecond."""

from __future__ import annotations

from rollcall.answers.whatif.answer import assumptions
from rollcall.answers.whatif.changes import trial_of
from rollcall.answers.whatif.outcome import Outcome, ProcessFacts, measure
from rollcall.answers.whatif.recording import Recording, rates_of
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.history.holdings import Partition
from rollcall.schemas.causes import Cause, CauseKind, EndCause
from rollcall.schemas.effects import (
    Assigned,
    Effect,
    JoinPhaseEnded,
    JoinReceived,
    MemberJoined,
    MemberRemoved,
    RebalanceEnded,
    RebalanceStarted,
    StateChanged,
    TopicPartitions,
)
from rollcall.tables.lag.rows import LogEnd
from tests.written_effects import effect

PROCESSES = {"A": "a", "B": "b", "B2": "b2"}
UNTIL_MS = 10_000


def of(effects: list[Effect], ends: dict[str, int] | None = None, from_ms: int = 0, unpolled: str = "") -> Outcome:
    return measure(effects, ProcessFacts(PROCESSES, ends or {}, frozenset(unpolled)), from_ms, UNTIL_MS)


def joined(at_ms: int, member_id: str, instance_id: str | None = None) -> MemberJoined:
    return effect(MemberJoined, at_ms, member_id=member_id, group_instance_id=instance_id)


def received(at_ms: int, member_id: str, *owned: int) -> JoinReceived:
    partitions = [TopicPartitions(topic="t", partitions=list(owned))] if owned else []
    return effect(JoinReceived, at_ms, member_id=member_id, owned_partitions=partitions)


def assigned(at_ms: int, member_id: str, *partitions: int) -> Assigned:
    given = [TopicPartitions(topic="t", partitions=list(partitions))]
    return effect(Assigned, at_ms, member_id=member_id, partitions=given)


def stable(at_ms: int) -> StateChanged:
    return effect(StateChanged, at_ms, from_state=GroupState.COMPLETING_REBALANCE, to_state=GroupState.STABLE)


def removed(at_ms: int, member_id: str, end_cause: EndCause, instance_id: str | None = None) -> MemberRemoved:
    return effect(MemberRemoved, at_ms, member_id=member_id, end_cause=end_cause, group_instance_id=instance_id)


def started(at_ms: int, kind: CauseKind, member_id: str = "A") -> RebalanceStarted:
    return effect(RebalanceStarted, at_ms, cause=Cause(kind=kind, member_id=member_id, client_id="app"))


FORMED: list[Effect] = [
    joined(1000, "A"),
    started(1000, CauseKind.MEMBER_JOINED),
    received(1000, "A"),
    joined(1400, "B"),
    received(1400, "B"),
    effect(JoinPhaseEnded, 2000, member_ids=["A", "B"]),
    assigned(2000, "A", 0, 1),
    assigned(2000, "B", 2),
    stable(2000),
    effect(RebalanceEnded, 2000, started_at_ms=1000),
]


def test_a_rebalance_is_counted_with_its_cause_its_length_and_what_it_stopped() -> None:
    outcome = of(FORMED)
    assert (outcome.rebalances, outcome.generations, outcome.causes) == (1, 1, {"member_joined": 1})
    assert (outcome.rebalancing_ms, outcome.stopped_member_ms) == (1000, 1000 + 600)
    assert (outcome.unserved_partition_ms, outcome.partitions_moved) == (0, 0)
    assert [(each.at_ms, each.cause, each.client_id) for each in outcome.begun] == [(1000, "member_joined", "app")]


def test_who_keeps_partitions_is_not_stopped_and_serves_them_on() -> None:
    again = [received(3000, "A"), received(3000, "B", 2), assigned(3500, "A", 0, 1), stable(3500)]
    outcome = of([*FORMED, *again])
    assert outcome.stopped_member_ms == 1600 + 500
    assert outcome.unserved_partition_ms == 2 * 500


def test_what_is_written_to_a_partition_without_an_owner_is_delayed() -> None:
    """Partitions 0 and 1 are unserved for 500 ms, and two records a millisecond are written to the first alone."""
    outcome = of([*FORMED, received(3000, "A"), received(3000, "B", 2), assigned(3500, "A", 0, 1), stable(3500)])
    ends = [LogEnd("t", 0, 1000, 0, 10, 10, "fetch"), LogEnd("t", 0, 2000, 0, 2010, 2010, "fetch")]
    assert outcome.records_delayed(rates_of(ends)) == 1000
    # A topic that was made again has no rate.
    assert rates_of([*ends, LogEnd("t", 0, 9000, 0, 3, 3, "fetch")]) == {}


def test_a_partition_without_a_rate_is_named_since_its_records_are_not_counted() -> None:
    outcome = of([*FORMED, received(3000, "A"), received(3000, "B", 2), assigned(3500, "A", 0, 1), stable(3500)])
    trial = trial_of(["session.timeout.ms=6000"])
    both = {Partition("t", 0): 2.0, Partition("t", 1): 0.0}
    one = Recording(outcomes={"g": outcome}, rates={Partition("t", 0): 2.0})
    assert "No rate is known of t 1, so records delayed there are not counted." in assumptions(one, trial)
    assert not any("No rate" in said for said in assumptions(Recording(outcomes={"g": outcome}, rates=both), trial))


def test_a_partition_that_goes_to_another_seat_has_moved() -> None:
    again = [received(3000, "A"), received(3000, "B"), assigned(3000, "A", 1, 2), assigned(3000, "B", 0), stable(3000)]
    outcome = of([*FORMED, *again])
    assert outcome.partitions_moved == 2
    assert outcome.unserved_partition_ms == 0


def test_a_static_members_successor_has_its_seat() -> None:
    effects: list[Effect] = [
        joined(1000, "B", "pod"),
        assigned(1000, "B", 0, 1),
        removed(4000, "B", EndCause.STATIC_MEMBER_REPLACED, "pod"),
        joined(4000, "B2", "pod"),
        assigned(4000, "B2", 0, 1),
    ]
    outcome = of(effects, ends={"b": 3000})
    assert (outcome.partitions_moved, outcome.deaths, outcome.detected) == (0, 0, 0)
    assert outcome.unserved_partition_ms == 2 * 1000


def test_a_deaths_partitions_are_unserved_until_it_is_found_and_they_are_given_on() -> None:
    after = [
        removed(8000, "B", EndCause.SESSION_EXPIRED),
        started(8000, CauseKind.SESSION_EXPIRED, "B"),
        assigned(9000, "A", 0, 1, 2),
        stable(9000),
    ]
    outcome = of([*FORMED, *after], ends={"b": 5000})
    assert (outcome.expiries, outcome.wrongly_expired, outcome.deaths, outcome.detected) == (1, 0, 1, 1)
    assert (outcome.detection_ms, outcome.longest_detection_ms, outcome.mean_detection_ms) == (3000, 3000, 3000.0)
    assert outcome.unserved_partition_ms == 4000


def test_a_death_that_nobody_found_by_the_end_is_not_detected() -> None:
    outcome = of(FORMED, ends={"b": 5000})
    assert (outcome.deaths, outcome.detected, outcome.mean_detection_ms) == (1, 0, None)
    assert outcome.unserved_partition_ms == 5000


def test_an_expiry_of_a_living_member_is_a_wrong_one() -> None:
    outcome = of([*FORMED, removed(8000, "B", EndCause.SESSION_EXPIRED)])
    assert (outcome.expiries, outcome.wrongly_expired, outcome.deaths) == (1, 1, 0)


def test_a_leave_of_one_that_did_not_poll_is_a_poll_timeout_whatever_its_library_says() -> None:
    left = started(5000, CauseKind.MEMBER_LEFT, "A")
    assert of([*FORMED, left]).causes == {"member_joined": 1, "member_left": 1}
    assert of([*FORMED, left], unpolled="A").causes == {"member_joined": 1, "poll_timeout": 1}


def test_what_lies_before_or_after_the_counted_time_is_not_counted() -> None:
    late = [started(UNTIL_MS + 1, CauseKind.MEMBER_LEFT), received(UNTIL_MS + 1, "A")]
    outcome = of([*FORMED, *late], from_ms=1700)
    assert (outcome.rebalances, outcome.generations) == (0, 1)
    assert (outcome.rebalancing_ms, outcome.stopped_member_ms) == (300, 300 + 300)


def test_groups_are_added_up_and_the_longest_stays_the_longest() -> None:
    one = of([*FORMED, removed(8000, "B", EndCause.SESSION_EXPIRED)], ends={"b": 5000})
    other = of([*FORMED, removed(9000, "B", EndCause.SESSION_EXPIRED)], ends={"b": 5000})
    whole = Outcome()
    whole.add(one)
    whole.add(other)
    assert (whole.rebalances, whole.detected, whole.detection_ms) == (2, 2, 7000)
    assert (whole.longest_detection_ms, whole.mean_detection_ms) == (4000, 3500.0)
    assert whole.causes == {"member_joined": 2}
    assert len(whole.begun) == 2
