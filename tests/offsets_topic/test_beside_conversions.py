"""A group that becomes one of the other protocol, by a request log and the topic: it is reported once, at its time."""

from __future__ import annotations

from typing import Any

from rollcall.coordinator_udfs.protocol.consumer.states import GroupType
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effects import Assigned, Effect, GroupCreated, MemberRemoved, RebalanceEnded, StateChanged
from tests.offsets_topic.beside import facts_of, merged
from tests.offsets_topic.beside_written import began, changed, ended, gone, joined, observed, reported_of
from tests.written_effects import effect

FROM_CONSUMER = (GroupType.CONSUMER, GroupType.CLASSIC)


def epoch(at_ms: int, to: int, members_before: int, members_after: int) -> list[Effect]:
    """An epoch that all members reach at once."""
    counts = {"members_before": members_before, "members_after": members_after}
    names = {"from_generation_id": to - 1, "to_generation_id": to}
    return [
        began(at_ms, to, members_before),
        effect(RebalanceEnded, at_ms, **names, **counts, started_at_ms=at_ms, outcome="completed"),
    ]


def created(at_ms: int) -> list[Effect]:
    new: list[Effect] = [GroupCreated(at_ms=at_ms), changed(at_ms, None, GroupType.CONSUMER, 1)]
    return [*new, joined(at_ms, "a"), *epoch(at_ms, 2, 0, 1)]


def in_time(both: Any) -> list[tuple[int, str]]:
    return [(fact.at_ms, fact.effect) for fact in both.history("g")]


def test_a_downgrade_whose_rebalance_the_log_has_is_not_reported_again_by_its_records() -> None:
    """The log comes back with this rebalance, which began before the records of the downgrade were written."""
    topic = [*created(1_003), joined(5_003, "b"), *epoch(5_003, 3, 1, 2)]
    topic += [gone(20_003, "b", 3), changed(20_003, *FROM_CONSUMER, 3)]
    topic.append(effect(Assigned, 20_003, member_id="a", generation_id=3, partitions=[]))
    topic.append(effect(StateChanged, 20_003, from_state="Stable", to_state="Stable", generation_id=3))
    topic += ended(21_000, 4, ["a"], is_logged=False)
    seen: list[Effect] = [observed(8_000, 3, "a", "b")]
    downgrade = [gone(20_000, "b", 3), changed(20_000, *FROM_CONSUMER, 3), began(20_000, 4, 2)]
    log = [*seen, joined(8_000, "a"), joined(8_000, "b"), *downgrade, *ended(21_000, 4, ["a"], is_logged=True)]
    both = merged({"g": facts_of(log)}, {"g": facts_of(topic)}, 30_000, 30_000)
    assert reported_of(both, EffectName.REBALANCE_STARTED)[-1] == (20_000, "log")
    assert reported_of(both, EffectName.GROUP_TYPE_CHANGED) == [(1_003, "topic"), (20_000, "log")]
    assert not [one for one in in_time(both) if one[0] == 20_003]


def test_a_creation_that_a_late_log_only_infers_is_the_topics() -> None:
    """Else the group was created again, as a classic one."""
    log: list[Effect] = [GroupCreated(at_ms=4_000), observed(4_000, 2, "a"), joined(4_000, "a")]
    both = merged({"g": facts_of(log)}, {"g": facts_of(created(1_000))}, 30_000, 30_000)
    assert reported_of(both, EffectName.GROUP_CREATED) == [(1_000, "topic")]


def test_a_rebalance_that_the_log_ends_after_the_topics_change_of_type_is_the_topics() -> None:
    """No line has the downgrade, so the log infers it from a later one; the topic has it to the millisecond."""
    topic = [*created(1_003), joined(5_003, "b"), began(5_003, 3, 1), gone(6_003, "a", 3)]
    topic += [_superseded(6_003, 5_003), changed(6_003, *FROM_CONSUMER, 3), *ended(9_004, 4, ["b"], is_logged=False)]
    log = [
        *created(1_000),
        joined(5_000, "b"),
        began(5_000, 3, 1),
        gone(9_000, "a", 3),
        changed(9_000, *FROM_CONSUMER, 3),
    ]
    log += [_superseded(9_000, 5_000), began(9_000, 4, 2), *ended(9_003, 4, ["b"], is_logged=True)]
    both = merged({"g": facts_of(log)}, {"g": facts_of(topic)}, 30_000, 30_000)
    assert reported_of(both, EffectName.GROUP_TYPE_CHANGED) == [(1_000, "log"), (6_003, "topic")]
    assert reported_of(both, EffectName.REBALANCE_STARTED) == [(1_000, "log"), (5_003, "topic")]
    assert reported_of(both, EffectName.REBALANCE_ENDED) == [(1_000, "log"), (6_003, "topic"), (9_004, "topic")]


def _superseded(at_ms: int, started_at_ms: int) -> Effect:
    names = {"from_generation_id": 2, "to_generation_id": 3, "members_before": 1, "members_after": 1}
    return effect(RebalanceEnded, at_ms, **names, started_at_ms=started_at_ms, outcome="superseded")


def test_a_group_that_is_begun_anew_is_the_logs_from_there_on() -> None:
    """Else the topic's change of type came within the log's first rebalance of the new group."""
    topic: list[Effect] = [*created(1_003), *_emptied(5_003), changed(8_003, *FROM_CONSUMER, 0, "replaced")]
    topic += [joined(8_504, "b"), *ended(8_504, 1, ["b"], is_logged=False)]
    log: list[Effect] = [observed(4_000, 2, "a"), changed(4_000, None, GroupType.CONSUMER, 2), joined(4_000, "a")]
    log += [*_emptied(5_000), changed(8_000, *FROM_CONSUMER, 0, "replaced")]
    log += [joined(8_002, "b"), began(8_002, 1, 0), *ended(8_503, 1, ["b"], is_logged=True)]
    both = merged({"g": facts_of(log)}, {"g": facts_of(topic)}, 30_000, 30_000)
    assert reported_of(both, EffectName.GROUP_TYPE_CHANGED) == [(1_003, "topic"), (8_000, "log")]
    assert reported_of(both, EffectName.REBALANCE_STARTED)[-1] == (8_002, "log")


def _emptied(at_ms: int) -> list[Effect]:
    names = {"from_generation_id": 2, "to_generation_id": 3, "members_before": 1, "members_after": 0}
    return [
        gone(at_ms, "a", 2),
        began(at_ms, 3, 1),
        effect(RebalanceEnded, at_ms, **names, started_at_ms=at_ms, outcome="empty"),
    ]


def test_an_epoch_by_an_end_that_the_log_only_infers_is_the_topics_where_it_has_the_member() -> None:
    """Else a member that the log misses owns nothing, and is owner again by the topic's next record."""
    left = {"end_cause": "member_left", "is_inferred": False}
    topic = [*created(1_003), joined(5_003, "b"), *epoch(5_003, 3, 1, 2), gone(9_003, "b", 3), *epoch(9_003, 4, 2, 1)]
    log = [*created(1_000), joined(5_000, "b"), *epoch(5_000, 3, 1, 2)]
    expired = effect(
        MemberRemoved, 9_000, member_id="a", generation_id=3, end_cause="session_expired", is_inferred=True
    )
    both = merged({"g": facts_of([*log, expired, *epoch(9_000, 4, 2, 1)])}, {"g": facts_of(topic)}, 30_000, 30_000)
    assert reported_of(both, EffectName.MEMBER_REMOVED) == [(9_003, "topic")]
    assert reported_of(both, EffectName.REBALANCE_STARTED)[-1] == (9_003, "topic")
    known = effect(MemberRemoved, 9_000, member_id="b", generation_id=3, **left)
    both = merged({"g": facts_of([*log, known, *epoch(9_000, 4, 2, 1)])}, {"g": facts_of(topic)}, 30_000, 30_000)
    assert reported_of(both, EffectName.MEMBER_REMOVED) == [(9_000, "log")]
