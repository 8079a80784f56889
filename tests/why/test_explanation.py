"""Explanations of small histories with literal times; see `tests.views.histories` for what happened."""

from __future__ import annotations

import pytest

from rollcall.answers.why.moves import Move
from rollcall.answers.why.slack import Slack, gaps_of, slack_of
from rollcall.answers.why.telling import awaited, following, held, remarks, stopped, timeline
from rollcall.history.facts import Fact, effects_in
from rollcall.history.holdings import Partition
from rollcall.history.kinds import Part
from rollcall.history.members import Membership, Names
from rollcall.history.rebalances import NoSuchRebalance, Span, rebalances_of
from tests.views.histories import (
    cooperative,
    deleted,
    id_given,
    no_members,
    one_expires,
    one_leaves,
    rebalancing,
    recreated,
    stories,
    superseded,
    syncing,
    two_members,
)
from tests.views.story import Story, one_member
from tests.why.reading import all_facts, explained


def parts(found: list[Part]) -> dict[str, tuple[object, ...]]:
    """By name, when each was notified, rejoined, synced and was back."""
    return {one.name: tuple(map(one.moments.get, ("notified", "rejoined", "synced", "back"))) for one in found}


def ways(found: list[Move]) -> list[tuple[object, ...]]:
    return [(one.partition.number, one.before, one.after, one.later, one.back_at_ms, one.unheld_ms) for one in found]


# ---------------------------------------------------------------- which rebalance


def test_without_a_generation_the_latest_rebalance_is_explained() -> None:
    assert explained(two_members()).rebalance.to_generation_id == 2
    assert explained(two_members(), 1).rebalance.to_generation_id == 1


def test_a_generation_that_was_not_is_refused_with_those_that_were() -> None:
    with pytest.raises(NoSuchRebalance, match=r"^--generation 7: no rebalance of two led to it; there are 1 to 2\.$"):
        explained(two_members(), 7)


def test_a_group_without_a_rebalance_is_refused() -> None:
    with pytest.raises(NoSuchRebalance, match=r"^no members: had no rebalance yet\.$"):
        explained(no_members())


def test_a_generation_that_was_twice_is_the_latest_one_and_says_so() -> None:
    found = explained(recreated(), 1)
    assert found.rebalance.started_at_ms == 3000
    assert found.note is not None
    assert "2 rebalances led to 1;" in found.note


@pytest.mark.parametrize(
    ("span", "generation_id", "note"),
    [
        (Span(0, 59_999, "then"), 1, "2 rebalances began at then; this is the first."),
        (Span(3000, 3000, "then"), 2, None),
        (Span(3150, 3150, "then"), 2, "It was running at then."),
        (Span(2200, 2300, "then"), 2, "No rebalance began or ran at then; this is the nearest one."),
        (Span(1700, 1700, "then"), 1, "No rebalance began or ran at then; this is the nearest one."),
        (Span(0, 100, "then"), 1, "then is before the group's first rebalance in this history, which is shown here."),
        (
            Span(99_000, 99_000, "then"),
            2,
            "then is after the group's last rebalance in this history, which is shown here.",
        ),
    ],
)
def test_a_moment_means_what_began_in_it_else_what_ran_else_the_nearest(
    span: Span, generation_id: int, note: str | None
) -> None:
    found = explained(two_members(), at=span)
    assert (found.rebalance.to_generation_id, found.note) == (generation_id, note)


# ---------------------------------------------------------------- what is said of it


def test_each_member_has_its_own_times() -> None:
    assert parts(explained(two_members()).parts) == {
        "b": (None, 3000, 3300, 3300),
        "a": (None, 3100, 3200, 3200),
    }


def test_who_held_the_others_is_reported_with_what_of_it_was_its_assignment() -> None:
    ((name, held_ms, why),) = held(explained(two_members()))
    assert (name, held_ms) == ("a", 200)
    assert why == "it rejoined 100 ms after the beginning; 100 ms of it for its assignment, since it leads"


def test_a_heartbeat_that_reported_the_rebalance_is_distinguished_from_the_members_own_delay() -> None:
    story = two_members()
    story.join(5000, "c")
    story.join(5010, "b")
    story.heartbeat(6000, "a")
    story.join(9000, "a")
    story.sync(9100, "a", {"a": ["t-0"], "b": ["t-1"], "c": []})
    found = explained(story)
    assert parts(found.parts)["a"] == (6000, 9000, 9100, 9100)
    assert (6000, "a was the first to be notified, by the response to a heartbeat or commit") in timeline(found)
    assert held(found)[0][2].startswith(
        "it rejoined 4 s after the beginning, 3 s after the response to a heartbeat had notified it"
    )


def test_a_leaver_says_why_and_its_partitions_move() -> None:
    found = explained(one_leaves())
    assert (found.rebalance.cause.kind, found.culprit_name) == ("member_left", "b")
    assert found.rebalance.cause.client_reason == "shutting down"
    assert ways(found.moves) == [(1, "b", "a", None, None, 200)]
    assert (found.kept_count, found.unheld_ms) == (1, {Partition("t", 0): 100, Partition("t", 1): 200})
    assert found.standstill == (4100, 4200)


def test_an_expired_member_was_silent_since_its_latest_request() -> None:
    found = explained(one_expires())
    assert (found.culprit_name, found.silent_since_ms, found.rebalance.started_at_ms) == ("b", 3300, 13_100)
    assert timeline(found)[0] == (3300, "b was last seen")
    assert any("whether it still consumed is unknown" in text for text in stopped(found))


def test_the_others_slack_is_their_longest_silence_before_it_and_not_what_came_later() -> None:
    story = one_expires()
    story.heartbeat(23_000, "a")
    assert explained(story).slack == [Slack("a", 9000, 3000, 10_000)]


def test_the_least_slack_comes_first_and_one_whose_session_timeout_is_not_known_is_unknown() -> None:
    beats = [
        Fact(at_ms, 0, "reply", api="Heartbeat", error_code="NONE", member_id=member_id)
        for at_ms, member_id in ((1000, "a"), (2000, "b"), (5000, "a"), (3000, "b"), (7000, "c"), (9000, "c"))
    ]
    terms = {"a": 10_000, "b": 6000, "c": None, "d": 6000}
    members = [Membership(name, name, "/h", None, 0, timeout_ms, None) for name, timeout_ms in terms.items()]
    known, unknown = slack_of(sorted(beats, key=lambda fact: fact.at_ms), members, Names(members))
    assert [(one.name, one.silent_ms, one.left_ms) for one in known] == [("b", 1000, 5000), ("a", 4000, 6000)]
    assert unknown == ["c", "d"]


def test_a_generation_restarts_the_session_of_a_static_member_that_it_did_not_await() -> None:
    story = Story("static")
    for at_ms, who in ((1000, "a"), (1100, "b")):
        story.join(at_ms, who, instance_id=who, session_timeout_ms=30_000, rebalance_timeout_ms=5000)
    story.join(1200, "a", instance_id="a", session_timeout_ms=30_000, rebalance_timeout_ms=5000)
    story.sync(1300, "a", {"a": ["t-0"], "b": ["t-1"]})
    story.sync(1300, "b")
    story.heartbeat(9000, "a", "b")
    story.join(10_000, "a", instance_id="a", topics=["u"], session_timeout_ms=30_000, rebalance_timeout_ms=5000)
    story.sync(15_100, "a", {"a": ["u-0"], "b": []})
    story.heartbeat(20_000, "b")
    gaps = [gap for gap in gaps_of(all_facts(story)) if gap.member_id == story.member_ids["b"]]
    assert (gaps[-1].from_ms, gaps[-1].to_ms) == (15_000, 20_000)


def test_partitions_that_came_back_are_reported_with_when_they_did() -> None:
    story = one_leaves()
    story.join(6000, "b", again_as="")
    story.join(6100, "a")
    story.sync(6200, "a", {"a": ["t-0"], "b": ["t-1"]})
    found = explained(story, 3)
    assert ways(found.moves) == [(1, "b", "a", None, 6200, 200)]
    assert found.moves[0].back_generation_id == 4


def test_what_comes_back_after_the_next_minutes_is_not_reported() -> None:
    story = one_leaves()
    story.let_time_pass(4200)
    for at_ms in range(10_000, 320_000, 5000):
        story.heartbeat(at_ms, "a")
    story.join(320_000, "b", again_as="")
    story.join(320_100, "a")
    story.sync(320_200, "a", {"a": ["t-0"], "b": ["t-1"]})
    assert ways(explained(story, 3).moves) == [(1, "b", "a", None, None, 200)]


def test_in_a_cooperative_group_somebody_consumes_all_the_time_and_what_nobody_has_yet_is_reported() -> None:
    found = explained(cooperative(), 2)
    assert ways(found.moves) == [(1, "a", None, "b", None, 300)]
    assert (found.standstill, found.kept_count) == (None, 1)
    after = found.followed_by
    assert after is not None
    assert after.cause.kind == "cooperative_followup"
    assert following(found) == "The next rebalance began 100 ms later: cooperative second round, by a (generation 3)."


def test_a_superseded_one_is_reported_with_the_round_it_belongs_to() -> None:
    first, second = explained(superseded(), 2), explained(superseded(), 3)
    assert (first.rebalance.outcome, first.round_from_ms) == ("superseded", 2000)
    assert (second.rebalance.started_at_ms, second.round_from_ms) == (2200, 2000)
    assert (2000, "the group began to rebalance; others began and were superseded since") in timeline(second)
    assert ways(second.moves) == [(1, None, "b", None, None, None), (2, None, "c", None, None, None)]
    assert second.standstill == (2100, 2500)


def test_while_it_runs_those_who_are_awaited_are_named() -> None:
    found = explained(rebalancing())
    assert found.rebalance.ended_at_ms is None
    assert awaited(found) == ["a"]
    assert awaited(explained(syncing())) == ["a"]
    assert awaited(explained(two_members())) == []


def test_another_that_began_in_the_same_minute_and_still_runs_is_named_without_a_generation() -> None:
    found = explained(rebalancing(), at=Span(0, 60_000, "that minute"))
    assert [one.to_generation_id for one in found.others][-1] is None
    (sentence,) = [text for text in remarks(found) if text.startswith("The other")]
    assert sentence.endswith(" joined.")


def test_a_group_that_is_left_without_members_has_nobody_who_consumes_from_then_on() -> None:
    found = explained(deleted(), 2)
    assert (found.rebalance.outcome, found.standstill) == ("empty", (2000, None))
    assert stopped(found)[0] == "Nobody consumed for 1 s or more, from 00:00:02.000 UTC on."


def test_where_nothing_is_reported_after_the_end_nobody_consumed_any_more() -> None:
    story = two_members()
    story.leave(4000, "b")
    story.join(4100, "a")
    story.sync(4200, "a", {"a": ["t-0"]})
    story.leave(5000, "a")
    assert stopped(explained(story))[0] == "Nobody consumed any more, from 00:00:05.000 UTC on."


def test_before_its_first_assignment_a_new_group_does_not_consume() -> None:
    assert explained(id_given(), 1).standstill == (1000, 1100)


def test_a_standstill_that_was_over_when_the_rebalance_began_is_not_its_own() -> None:
    story = one_member()
    story.leave(2000, "a")
    story.join(2400, "c")
    story.sync(2500, "c", {"c": ["t-0"]})
    story.join(2500, "b")
    story.join(2600, "c")
    story.sync(2700, "c", {"c": ["t-0"]})
    assert explained(story).standstill == (2600, 2700)


def test_a_standstill_that_a_rebalance_ended_in_the_millisecond_in_which_it_began_is_its_own() -> None:
    story = one_member(topics=("t",))
    story.join(2000, "a", topics=("t", "u"))
    story.sync(2100, "a")
    story.join(3000, "a", topics=("u",))
    story.sync(3000, "a", {"a": ["u-0"]})
    assert explained(story).standstill == (2000, 3000)


@pytest.mark.parametrize("is_owner_gone", [False, True])
def test_a_standstill_is_as_long_as_it_was_however_long_ago_it_began(is_owner_gone: bool) -> None:
    """Nobody was given anything for a minute; the last owner stayed, or left before the only member came."""
    story = one_member()
    began_ms, owner = 2000, "b" if is_owner_gone else "a"
    if is_owner_gone:
        story.leave(began_ms, "a")
        story.join(2400, "b")
        story.sync(2500, "b")
    else:
        story.join(began_ms, "a", topics=("t", "u"))
        story.sync(2100, "a")
    for at_ms in range(9000, 60_000, 9000):
        story.heartbeat(at_ms, owner)
    story.join(60_000, owner, topics=("u",))
    story.sync(60_100, owner, {owner: ["u-0"]})
    assert explained(story).standstill == (began_ms, 60_100)


def test_who_leaves_in_the_millisecond_in_which_a_rebalance_ended_was_there_at_its_end() -> None:
    story = one_member(partitions=["t-0", "t-1"])
    story.join(3000, "b")
    story.join(3100, "a")
    story.sync(3200, "a", {"a": ["t-0"], "b": ["t-1"]})
    story.leave(3200, "b")
    found = explained(story, 2)
    assert [(part.name, part.is_member, part.end_cause) for part in found.parts] == [
        ("b", True, None),
        ("a", True, None),
    ]


def test_every_rebalance_of_every_story_is_explained() -> None:
    explanations = 0
    for story in stories():
        for one in rebalances_of(effects_in(all_facts(story))):
            found = explained(story, at=Span(one.started_at_ms, one.started_at_ms, "then"))
            assert found.rebalance.started_at_ms == one.started_at_ms
            assert timeline(found)
            explanations += 1
    assert explanations > 20
