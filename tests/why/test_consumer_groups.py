"""A consumer group's rebalance explained (KIP-848): in its own words, from recorded incidents and small histories."""

from __future__ import annotations

import pytest

from rollcall.answers.why.explanation import Explanation, explain
from rollcall.answers.why.sections import lines_of
from rollcall.answers.why.telling import awaited, following, headline, held, remarks, stopped, timeline, title
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.history.facts import effects_in
from rollcall.history.kinds import CLASSIC, CONSUMER, Part
from rollcall.history.rebalances import NoSuchRebalance, Span, rebalances_of
from tests.requests import consumer_beat
from tests.views.consumer_histories import (
    consumer_expires,
    consumer_leaves,
    consumer_stories,
    holds_on,
    static_consumer_returns,
    third_comes_meanwhile,
    two_consumers,
)
from tests.views.story import Story
from tests.why.reading import all_facts, capture, explained, reader_of, topic


def recorded(group_id: str, epoch: int) -> Explanation:
    return explain(group_id, reader_of(capture("q-consumer-slow")[group_id]), epoch)


def texts(e: Explanation) -> list[str]:
    return [text for _, text in timeline(e)]


def test_it_is_reported_by_epochs() -> None:
    assert title(recorded("tiles-cache", 4)).startswith("tiles-cache: epoch 3 -> 4, ")


def test_who_is_fenced_for_not_giving_up_is_reported_with_its_timeout() -> None:
    assert headline(recorded("tiles-cache", 4)).startswith(
        "tiles-cache-0 on 127.0.1.24 did not give partitions up within its rebalance timeout (10 s) and was removed: "
        "2 -> 1 members, 6 partitions moved"
    )


def test_who_kept_the_others_waiting_held_on_to_partitions() -> None:
    ((name, waited_ms, why),) = held(recorded("tiles-cache", 3))
    assert name == "tiles-cache-0"
    assert waited_ms > 10_000
    assert why == "it held on to partitions that others were to have until it was removed (gave up too late)"


def test_the_last_to_settle_ends_it() -> None:
    reported = texts(recorded("maps-render", 4))
    assert reported[-2:] == [
        "maps-render-1 was the last to have all that the epoch gives it",
        "the rebalance ended: completed",
    ]
    assert not any("rejoin" in text for text in reported)


def test_what_set_it_off_is_reported_in_the_words_of_its_cause() -> None:
    assert headline(recorded("maps-render", 4)).startswith("the topics that members subscribe to, or their partitions")
    assert headline(recorded("home-page", 4)).startswith("home-page-0 on 127.0.1.14 changed its subscription")
    assert headline(recorded("csv-make", 5)).startswith("csv-make-1 on 127.0.1.13 did not poll within its max.poll")
    assert "pattern" in headline(recorded("log-index", 4))


def test_a_conversion_is_a_fact_of_its_own() -> None:
    story = Story("moving", config=GroupConfig(topics={"t1": 2}, group_initial_rebalance_delay_ms=0))
    story.join(1_000, "a")
    story.sync(5_000, "a", {"a": ["t1-0", "t1-1"]})
    story.send(6_000, consumer_beat("m1", 0, 6_000, "moving"))
    e = explained(story)
    assert (e.kind, e.rebalance.cause.kind) == (CONSUMER, "member_joined")
    assert "the classic group became a consumer group, by m1" in texts(e)
    assert awaited(e) != []
    before = explained(story, generation_id=1)
    assert (before.kind, before.conversions) == (CLASSIC, ())


# ---------------------------------------------------------------- small histories with literal times


def part(e: Explanation, name: str) -> Part:
    (found,) = [one for one in e.parts if one.name == name]
    return found


def moved(e: Explanation) -> list[tuple[int, str | None, str | None, int | None]]:
    return [(move.partition.number, move.before, move.after, move.unheld_ms) for move in e.moves]


def test_each_member_has_its_own_moments() -> None:
    e = explained(two_consumers())
    assert part(e, "a").moments == {"reported": 4000, "given_up": 4500, "has_all": 4500}
    assert part(e, "b").moments == {"reported": 3000, "given_up": 3000, "has_all": 5000}
    assert [one.is_new for one in (part(e, "a"), part(e, "b"))] == [False, True]


def test_who_was_waited_for_is_reported_with_how_long() -> None:
    assert held(explained(two_consumers())) == [("a", 1500, "it held on to partitions that others were to have")]
    assert "a had let go of what others were to have" in texts(explained(two_consumers()))


def test_what_moved_is_reported_with_how_long_nobody_had_it_and_what_stayed() -> None:
    e = explained(two_consumers())
    assert moved(e) == [(1, "a", "b", 500)]
    assert (e.kept_count, e.standstill) == (1, None)
    assert stopped(e)[0] == "At least one member consumed all the time."


def test_an_owner_from_long_before_stays_one() -> None:
    e = explained(consumer_expires())
    assert e.kept_count == 1
    assert moved(e) == [(1, "b", "a", 5000)]


def test_an_expired_member_was_silent_since_its_latest_heartbeat() -> None:
    e = explained(consumer_expires())
    assert (e.rebalance.cause.kind, e.culprit_name, e.silent_since_ms) == ("session_expired", "b", 5000)
    assert headline(e).startswith(
        "b on 10.0.0.1 sent no heartbeat within its session timeout (45 s) and was removed: 2 -> 1"
    )
    assert part(e, "b").end_cause == "session_expired"


def test_the_others_slack_is_their_longest_silence_before_it() -> None:
    (one,) = explained(consumer_expires()).slack
    assert (one.name, one.left_ms, one.silent_ms) == ("a", 40_000, 5000)


def test_a_leavers_partitions_move() -> None:
    e = explained(consumer_leaves())
    assert headline(e).startswith("b on 10.0.0.1 left the group: 2 -> 1 members, 1 partition moved")
    assert moved(e) == [(1, "b", "a", 1000)]


def test_who_does_not_give_up_is_waited_for_until_it_is_removed() -> None:
    waited = explained(holds_on(), 3)
    why = "it held on to partitions that others were to have until it was removed (gave up too late)"
    assert held(waited) == [("a", 61_000, why)]
    assert explained(holds_on()).standstill == (64_000, 65_000)
    assert stopped(explained(holds_on()))[0] == "Nobody consumed for 1 s, from 00:01:04.000 UTC to 00:01:05.000 UTC."


def test_a_superseded_epoch_says_so_and_what_came_next() -> None:
    e = explained(third_comes_meanwhile(), 3)
    assert (e.rebalance.outcome, moved(e)) == ("superseded", [])
    assert following(e) == "The next rebalance began 0 ms later: joined, by c (epoch 4)."
    assert held(explained(third_comes_meanwhile(), 4)) == [
        ("a", 500, "it held on to partitions that others were to have")
    ]


def test_while_it_runs_those_who_have_not_all_yet_are_named() -> None:
    story = holds_on()
    story.rows = [row for row in story.rows if (row.at_ms or 0) < 60_000]
    e = explained(story)
    assert title(e).endswith("still running 56 s later")
    assert sorted(awaited(e)) == ["a", "b"]
    assert "Still awaited: " in " ".join(remarks(e))


def test_a_static_member_that_comes_back_sets_nothing_off() -> None:
    assert [one.to_generation_id for one in rebalances_of(effects_in(all_facts(static_consumer_returns())))] == [2]


@pytest.mark.parametrize(("at_ms", "epoch"), [(1000, 2), (2900, 3), (4700, 3), (9000, 4)])
def test_a_moment_means_what_ran_then_else_the_nearest(at_ms: int, epoch: int) -> None:
    assert explained(consumer_leaves(), at=Span(at_ms, at_ms, "then")).rebalance.to_generation_id == epoch


def test_an_epoch_that_was_not_is_refused_with_those_that_were() -> None:
    with pytest.raises(NoSuchRebalance, match=r"2.*4"):
        explained(consumer_leaves(), 9)


def test_every_rebalance_of_every_story_is_explained_in_the_words_of_its_kind() -> None:
    looked = 0
    for story in consumer_stories():
        for one in rebalances_of(effects_in(all_facts(story))):
            said = "\n".join(line.text for line in lines_of(explained(story, one.to_generation_id))).lower()
            assert [word for word in ("rejoin", "sync", "generation 2", "leads") if word in said] == []
            looked += 1
    assert looked == 15


# ---------------------------------------------------------------- as the offsets topic has them


@pytest.mark.parametrize(
    ("group_id", "epoch"),
    [("csv-make", 5), ("csv-make", 7), ("csv-make", 8), ("tiles-cache", 4), ("maps-render", 4), ("pdf-make", 5)],
)
def test_the_topic_has_the_same_moves_and_cause_as_the_log(group_id: str, epoch: int) -> None:
    log, dump = recorded(group_id, epoch), explain(group_id, reader_of(topic("q-consumer-slow")[group_id]), epoch)
    assert dump.rebalance.cause.kind in (log.rebalance.cause.kind, "unknown")
    assert dump.rebalance.cause.client_id == log.rebalance.cause.client_id
    ways = [sorted((one.partition, one.before, one.after) for one in e.moves) for e in (log, dump)]
    assert ways[0] == ways[1]
    assert log.kept_count == dump.kept_count
    assert len(ways[0]) + log.kept_count > 0
