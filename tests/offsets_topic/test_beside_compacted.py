"""A request log beside a topic that compaction went over: what the topic leaves out is unknown, and the log is used."""

from __future__ import annotations

import msgspec

from rollcall.coordinator_udfs.protocol.consumer.states import GroupType
from rollcall.schemas.causes import Cause, CauseKind
from rollcall.schemas.effects import Effect, GroupCreated, GroupFound, GroupRemoved
from tests.offsets_topic.beside import Both, facts_of, merged
from tests.offsets_topic.beside_written import LOG_OF_ONE, began, changed, ended, gone, joined, observed, reported_of

UNTIL_MS = 100_000
WHOLE_FROM_MS = 90_000


def both(log: list[Effect], topic: list[Effect], whole_from_ms: int = WHOLE_FROM_MS) -> Both:
    return merged({"g": facts_of(log)}, {"g": facts_of(topic)}, UNTIL_MS, UNTIL_MS, whole_from_ms)


def created_as_consumer(at_ms: int) -> list[Effect]:
    return [GroupCreated(at_ms=at_ms), changed(at_ms, None, GroupType.CONSUMER, 1)]


LOG_OF_THREE: list[Effect] = [
    *LOG_OF_ONE,
    joined(19_995, "b"),
    began(19_995, 2),
    *ended(20_000, 2, ["a", "b"], is_logged=True),
    gone(29_995, "b", 2),
    joined(29_995, "c"),
    began(29_995, 3, 2),
    *ended(30_000, 3, ["a", "c"], is_logged=True),
]
FIRST_AND_THIRD: list[Effect] = [
    GroupCreated(at_ms=1_000),
    joined(4_000, "a"),
    *ended(4_000, 1, ["a"], is_logged=False),
    joined(30_001, "c"),
    *ended(30_001, 3, ["a", "c"], is_logged=False),
]
"""The record of the second generation was left out: nobody knows of b."""


def test_a_generation_whose_record_was_left_out_is_the_logs_and_so_is_the_next_one() -> None:
    found = both(LOG_OF_THREE, FIRST_AND_THIRD)
    assert reported_of(found, "rebalance_ended") == [(4_000, "log"), (20_000, "log"), (30_000, "log")]
    assert reported_of(found, "member_joined") == [(1_000, "log"), (19_995, "log"), (29_995, "log")]
    assert reported_of(found, "member_removed") == [(29_995, "log")]


def test_a_topic_without_a_gap_since_before_the_log_says_that_a_generation_never_was() -> None:
    found = both(LOG_OF_THREE, FIRST_AND_THIRD, whole_from_ms=500)
    assert (20_000, "log") not in reported_of(found, "rebalance_ended")


def test_what_compaction_left_of_a_member_is_not_all_that_was_before_a_generation() -> None:
    topic: list[Effect] = [
        GroupCreated(at_ms=1_000),
        joined(4_000, "a"),
        *ended(4_000, 1, ["a"], is_logged=False),
        joined(5_000, "stale"),
        joined(20_001, "b"),
        *ended(20_001, 2, ["a", "b"], is_logged=False),
    ]
    found = both(LOG_OF_THREE[:-5], topic)
    assert reported_of(found, "rebalance_ended") == [(4_000, "log"), (20_000, "log")]
    assert reported_of(found, "member_joined") == [(1_000, "log"), (19_995, "log")]


def test_after_an_inference_of_the_log_a_topic_with_gaps_is_not_used() -> None:
    log = [
        *LOG_OF_ONE,
        joined(10_000, "b", is_inferred=True),
        observed(10_000, 2, "a", "b"),
        gone(19_995, "b", 2),
        began(19_995, 3, 2),
        *ended(19_999, 3, ["a"], is_logged=True),
    ]
    topic: list[Effect] = [
        *FIRST_AND_THIRD[:4],
        joined(9_000, "x"),
        *ended(9_000, 2, ["a", "x"], is_logged=False),
        joined(15_000, "y"),
    ]
    found = both(log, topic)
    assert reported_of(found, "member_joined") == [(1_000, "log"), (10_000, "log")]
    assert reported_of(found, "rebalance_ended") == [(4_000, "log"), (19_999, "log")]


def test_a_group_that_was_found_just_before_its_creation_in_the_log_is_the_logs() -> None:
    topic: list[Effect] = [
        GroupFound(at_ms=900, group_type=GroupType.CLASSIC, generation_id=1),
        joined(900, "a", is_inferred=True),
    ]
    found = both(LOG_OF_THREE, topic)
    assert reported_of(found, "group_created") == [(1_000, "log")]
    assert reported_of(found, "rebalance_ended") == [(4_000, "log"), (20_000, "log"), (30_000, "log")]


def test_a_topic_with_gaps_is_used_while_a_group_is_elsewhere_and_the_log_again_when_it_is_back() -> None:
    log = [
        *LOG_OF_ONE,
        observed(10_000, 1, is_away=True),
        GroupRemoved(at_ms=10_000, why="unloaded", generation_id=1),
        GroupCreated(at_ms=40_000),
        observed(40_000, 4, "a"),
        joined(40_000, "a", is_inferred=True),
        joined(49_995, "c"),
        began(49_995, 5),
        *ended(49_999, 5, ["a", "c"], is_logged=True),
    ]
    topic: list[Effect] = [
        *FIRST_AND_THIRD[:4],
        joined(20_000, "b"),
        *ended(20_000, 2, ["a", "b"], is_logged=False),
        gone(30_000, "b", 2),
        *ended(30_000, 4, ["a"], is_logged=False),
    ]
    found = both(log, topic)
    assert reported_of(found, "group_removed") == []
    rebalances = [(4_000, "log"), (20_000, "topic"), (30_000, "topic"), (49_999, "log")]
    assert reported_of(found, "rebalance_ended") == rebalances
    assert reported_of(found, "member_joined") == [(1_000, "log"), (20_000, "topic"), (49_995, "log")]


def test_a_consumer_group_that_went_away_during_a_rebalance_was_not_away_as_the_rebalance_began() -> None:
    log: list[Effect] = [
        *created_as_consumer(1_000),
        joined(1_000, "a"),
        began(1_000, 2, 0),
        ended(1_000, 2, ["a"], is_logged=True)[-1],
        observed(10_000, 2, "a"),
        joined(10_000, "b"),
        began(10_000, 3),
        observed(12_000, 3, is_away=True),
        joined(20_000, "c"),
        began(20_000, 4, 2),
        ended(20_005, 4, ["a", "b", "c"], is_logged=True)[-1],
    ]
    topic: list[Effect] = [
        *created_as_consumer(1_000),
        joined(1_000, "a"),
        began(1_000, 2, 0),
        ended(1_000, 2, ["a"], is_logged=True)[-1],
        began(11_000, 3),
        joined(20_001, "c"),
        began(20_001, 4),
        ended(20_006, 4, ["a", "c"], is_logged=True)[-1],
    ]
    found = both(log, topic)
    assert reported_of(found, "member_joined") == [(1_000, "log"), (10_000, "log"), (20_000, "log")]
    assert reported_of(found, "rebalance_started") == [(1_000, "log"), (10_000, "log"), (20_000, "log")]


def test_what_is_left_of_a_topic_that_has_the_same_creation_a_little_earlier_is_not_used() -> None:
    consumer, classic = GroupType.CONSUMER, GroupType.CLASSIC
    log: list[Effect] = [
        *created_as_consumer(1_000),
        joined(1_000, "a"),
        began(1_000, 2, 0),
        ended(1_000, 2, ["a"], is_logged=True)[-1],
        joined(10_000, "b"),
        began(10_000, 3),
        ended(10_005, 3, ["a", "b"], is_logged=True)[-1],
        gone(20_000, "b", 3),
        began(20_000, 4, 2),
        changed(30_000, consumer, classic, 4),
        ended(30_000, 4, ["a"], is_logged=True)[-1],
    ]
    topic: list[Effect] = [
        *created_as_consumer(800),
        joined(800, "a"),
        began(800, 2, 0),
        changed(15_000, consumer, classic, 3),
        joined(20_001, "c"),
        ended(20_001, 4, ["a", "c"], is_logged=False)[-1],
    ]
    found = both(log, topic)
    assert found.merged["g"].topic_kept == []
    assert reported_of(found, "member_joined") == [(1_000, "log"), (10_000, "log")]
    assert reported_of(found, "rebalance_ended") == [(1_000, "log"), (10_005, "log"), (30_000, "log")]


def test_what_a_topic_with_gaps_has_before_its_next_generation_is_the_logs_since_the_same_creation() -> None:
    log: list[Effect] = [
        *created_as_consumer(1_000),
        joined(1_000, "a"),
        began(1_000, 2, 0),
        ended(1_000, 2, ["a"], is_logged=True)[-1],
    ]
    found = both(log, [*created_as_consumer(800), joined(900, "a"), began(29_000, 3)])
    assert found.merged["g"].topic_kept == []
    assert reported_of(found, "member_joined") == [(1_000, "log")]


def test_a_log_that_begins_late_is_used_from_its_first_line_on_beside_a_topic_with_gaps() -> None:
    log = [
        GroupCreated(at_ms=10_000),
        observed(10_000, 2, "a"),
        joined(10_000, "a", is_inferred=True),
        observed(10_500, 2, "b"),
        joined(10_500, "b", is_inferred=True),
        gone(29_995, "b", 2),
        joined(29_995, "c"),
        began(29_995, 3, 2),
        *ended(30_000, 3, ["a", "c"], is_logged=True),
    ]
    topic: list[Effect] = [
        GroupFound(at_ms=2_000, group_type=GroupType.CLASSIC, generation_id=2),
        joined(2_000, "a", is_inferred=True),
        joined(30_001, "c"),
        *ended(30_001, 3, ["a", "c"], is_logged=False),
    ]
    found = both(log, topic)
    assert reported_of(found, "group_created") == []
    assert reported_of(found, "member_joined") == [(2_000, "topic"), (10_500, "log"), (29_995, "log")]
    assert reported_of(found, "member_removed") == [(29_995, "log")]
    assert reported_of(found, "rebalance_ended") == [(30_000, "log")]


def test_what_the_log_does_not_cover_is_still_the_topics() -> None:
    topic = [
        *FIRST_AND_THIRD,
        joined(UNTIL_MS + 10_000, "d"),
        *ended(UNTIL_MS + 10_000, 4, ["a", "c", "d"], is_logged=False),
    ]
    found = merged({"g": facts_of(LOG_OF_THREE)}, {"g": facts_of(topic)}, UNTIL_MS, 2 * UNTIL_MS, WHOLE_FROM_MS)
    assert reported_of(found, "rebalance_ended")[-2:] == [(30_000, "log"), (UNTIL_MS + 10_000, "topic")]


def epoch(at_ms: int, number: int) -> list[Effect]:
    """An epoch that the topic has 1 ms later than the log."""
    return [began(at_ms, number, 2), ended(at_ms + 500, number, ["a", "b"], is_logged=True)[1]]


def downgrade(at_ms: int) -> list[Effect]:
    return [gone(at_ms, "b", 3), changed(at_ms, GroupType.CONSUMER, GroupType.CLASSIC, 3)]


def test_a_change_of_type_comes_once_where_the_input_changes_with_it() -> None:
    """The log begins with an observation, so the topic is used until the rebalance of the downgrade."""
    left = msgspec.structs.replace(began(20_000, 4), cause=Cause(kind=CauseKind.MEMBER_LEFT, member_id="b"))
    log = [joined(12_000, "a", is_inferred=True), joined(12_000, "b", is_inferred=True), observed(12_000, 3, "a", "b")]
    log += [*downgrade(20_000), left, *ended(20_100, 4, ["a"], is_logged=True)]
    topic = [*created_as_consumer(1_000), joined(1_000, "a"), joined(1_000, "b"), *epoch(1_000, 2), *epoch(11_001, 3)]
    topic += [*downgrade(20_002), *ended(20_101, 4, ["a"], is_logged=False)]
    found = both(log, topic, whole_from_ms=500)
    assert reported_of(found, "rebalance_ended")[-1] == (20_100, "log")
    assert reported_of(found, "group_type_changed") == [(1_000, "topic"), (20_000, "log")]


def test_a_change_of_type_that_the_log_missed_is_the_topics_where_the_log_has_the_way_back() -> None:
    def input_of(after_ms: int, *missed: Effect) -> list[Effect]:
        first = [*created_as_consumer(1_000 + after_ms), joined(1_000 + after_ms, "a"), joined(1_000 + after_ms, "b")]
        back = changed(30_000 + after_ms, GroupType.CLASSIC, GroupType.CONSUMER, 3)
        return [*first, *epoch(1_000 + after_ms, 2), *missed, back, *epoch(30_000 + after_ms, 3)]

    topic = input_of(1, changed(20_001, GroupType.CONSUMER, GroupType.CLASSIC, 2))
    found = both(input_of(0), topic, whole_from_ms=500)
    assert reported_of(found, "group_type_changed") == [(1_000, "log"), (20_001, "topic"), (30_000, "log")]
