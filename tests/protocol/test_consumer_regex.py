"""Subscriptions by regular expression: what is refused, when one is resolved, and what that leads to."""

from __future__ import annotations

import pytest

from rollcall.coordinator_udfs.protocol.consumer.patterns import matching, why_unreadable
from rollcall.schemas.causes import CauseKind
from rollcall.schemas.consumer_effects import PatternsResolved
from rollcall.schemas.effects import RebalanceStarted, Reply
from rollcall.schemas.errors import Error
from tests.protocol.consumer_bench import ConsumerBench
from tests.protocol.rules import rule

TOPICS = {"t1": 1, "t2": 1, "u1": 1}


def one_member(pattern: str = "t.*") -> ConsumerBench:
    bench = ConsumerBench(topics=TOPICS)
    bench.join_matching("m1", pattern)
    return bench


@rule("Patterns: match whole names, in RE2's syntax", origin="testBasicMatching")
@pytest.mark.parametrize(
    ("pattern", "found"),
    [("t.*", ("t1", "t2")), ("t", ()), ("t1|u1", ("t1", "u1")), (r"\w\d", ("t1", "t2", "u1")), ("^t1$", ("t1",))],
)
def test_whole_names_match(pattern: str, found: tuple[str, ...]) -> None:
    assert why_unreadable(pattern) is None
    assert matching(pattern, TOPICS) == found


@rule("Patterns: a bad one is refused, on join and on update", origin="testConsumerHeartbeatRegexValidation")
@pytest.mark.parametrize("pattern", ["t[", "(", "t(?!1)", r"\8"])
def test_a_bad_pattern_changes_nothing(pattern: str) -> None:
    bench = ConsumerBench(topics=TOPICS)
    assert bench.join_matching("m1", pattern).error is Error.INVALID_REGULAR_EXPRESSION
    assert not bench.group.is_known
    bench = one_member()
    answer = bench.beat("m1", subscribed_topic_regex=pattern)
    assert answer.error is Error.INVALID_REGULAR_EXPRESSION
    assert answer.response.error_message.startswith(
        f"SubscribedTopicRegex `{pattern}` is not a valid regular expression"
    )
    assert bench.member("m1").pattern == "t.*"


@rule(
    "Patterns: a join with a new one is answered without partitions; its resolution raises the epoch, and the next "
    "heartbeat assigns",
    origin="testConsumerGroupMemberJoinsWithNewRegex",
)
def test_a_new_pattern_is_resolved_after_the_answer() -> None:
    bench = ConsumerBench(topics=TOPICS)
    answer = bench.join_matching("m1", "t.*")
    assert (answer.epoch, answer.assigned) == (1, {})
    kinds = [type(effect) for effect in bench.effects]
    assert kinds.index(Reply) < kinds.index(PatternsResolved) < kinds.index(RebalanceStarted)
    assert (bench.epoch, bench.state) == (2, "Assigning")
    assert bench.of(RebalanceStarted)[-1].cause.kind is CauseKind.PATTERN_RESOLVED
    answer = bench.beat("m1")
    assert (answer.epoch, answer.assigned) == (2, {"t1": [0], "t2": [0]})


@rule(
    "Patterns: one that others use and that is resolved raises the epoch at once",
    origin="testConsumerGroupMemberPicksUpExistingResolvedRegularExpression",
)
def test_a_known_pattern_needs_no_resolution() -> None:
    bench = one_member()
    bench.beat("m1")
    answer = bench.join_matching("m2", "t.*")
    assert (answer.epoch, len(bench.of(PatternsResolved))) == (3, 1)
    assert bench.of(RebalanceStarted)[-1].cause.client_id == "m2"
    assert {name: len(target) for name, target in bench.targets().items()} == {"m1": 1, "m2": 1}


@rule(
    "Patterns: another one takes away what the old one gave before it is resolved itself",
    origin="testConsumerGroupMemberJoinsWithUpdatedRegex testStaticConsumerGroupMemberJoinsWithUpdatedRegex",
)
def test_a_changed_pattern_takes_at_once() -> None:
    bench = one_member()
    bench.beat("m1")
    answer = bench.at(20_000).beat("m1", subscribed_topic_regex="u.*")
    assert (answer.epoch, answer.assigned) == (2, {})
    assert bench.consumer.patterns == {"u.*": ("u1",)}
    assert bench.beat("m1", {}).assigned == {"u1": [0]}


@rule(
    "Patterns: a change within ten seconds of the last resolution waits, but for the only resolved one",
    origin="testConsumerGroupMemberJoinsWithRegexAndUpdatesItBeforeResolutionCompleted",
)
def test_resolutions_keep_their_distance() -> None:
    bench = one_member()
    bench.beat("m1")
    bench.at(1_000).beat("m1", subscribed_topic_regex="u.*")
    assert bench.consumer.patterns == {}
    bench.at(1_100).beat("m1")
    assert bench.consumer.patterns == {"u.*": ("u1",)}
    bench.at(2_000).join_matching("m2", "t.*")
    bench.at(11_100).beat("m1", {})
    assert bench.consumer.patterns == {"u.*": ("u1",)}
    bench.at(11_101).beat("m1", {})
    assert bench.consumer.patterns == {"u.*": ("u1",), "t.*": ("t1", "t2")}


@rule("Patterns: all are resolved again every refresh interval; nothing new, nothing raised")
def test_patterns_are_refreshed() -> None:
    bench = one_member()
    bench.beat("m1")
    for now_ms in range(40_000, 600_000, 40_000):
        bench.at(now_ms).beat("m1")
    bench.at(600_001).beat("m1")
    assert (len(bench.of(PatternsResolved)), bench.epoch) == (2, 2)


@rule("Patterns: to give one up raises the epoch", origin="testConsumerGroupMemberClearsRegex")
def test_a_pattern_is_given_up() -> None:
    bench = one_member()
    bench.beat("m1")
    answer = bench.beat("m1", {"t1": [0], "t2": [0]}, subscribed_topic_regex="", subscribed_topic_names=["u1"])
    assert (answer.epoch, bench.consumer.patterns, bench.consumer.patterns_in_use) == (2, {}, {})
    assert bench.beat("m1", {}).assigned == {"u1": [0]}


@rule(
    "Patterns: one that nobody uses any more is forgotten",
    origin="testResolvedRegularExpressionsRemovedWhenMembersLeaveOrFenced "
    "testResolvedRegularExpressionsRemovedWhenConsumerMembersRemovedByAdminApi",
)
def test_unused_patterns_are_forgotten() -> None:
    bench = one_member()
    bench.at(20_000).join_matching("m2", "u.*")
    assert bench.consumer.patterns.keys() == {"t.*", "u.*"}
    bench.leave("m1")
    assert bench.consumer.patterns.keys() == {"u.*"}


@rule(
    "Patterns: a classic member has none",
    origin="testConsumerMemberWithRegexReplacedByClassicMemberWithSameSubscription "
    "testConsumerMemberWithRegexReplacedByClassicMemberWithChangedSubscription",
)
def test_a_classic_client_gives_its_pattern_up() -> None:
    bench = one_member()
    bench.beat("m1")
    bench.join("m2", "t1")
    bench.join_classic("m1", "t1")
    assert (bench.member("m1").pattern, bench.consumer.patterns) == ("", {})
