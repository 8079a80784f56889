"""A consumer group's rebalance explained (KIP-848): in its own words, from recorded incidents and a conversion."""

from __future__ import annotations

from coordinator_udfs.protocol.config import GroupConfig
from tests.requests import consumer_beat
from tests.views.story import Story
from tests.why.reading import capture, explained, reader_of
from why.explanation import Explanation, explain
from why.kinds import CLASSIC, CONSUMER
from why.telling import awaited, headline, held, timeline, title


def recorded(group_id: str, epoch: int) -> Explanation:
    return explain(group_id, reader_of(capture("q-consumer-slow")[group_id]), epoch)


def texts(e: Explanation) -> list[str]:
    return [text for _, text in timeline(e)]


def test_it_is_told_by_epochs() -> None:
    assert title(recorded("tiles-cache", 4)).startswith("tiles-cache: epoch 3 -> 4, ")


def test_who_is_fenced_for_not_giving_up_is_told_with_its_timeout() -> None:
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
    told = texts(recorded("maps-render", 4))
    assert told[-2:] == ["maps-render-1 was the last to have all that the epoch gives it", "it was over: completed"]
    assert not any("rejoin" in text for text in told)


def test_what_set_it_off_is_told_in_the_words_of_its_cause() -> None:
    assert headline(recorded("maps-render", 4)).startswith("the topics that members subscribe to, or their partitions")
    assert headline(recorded("home-page", 4)).startswith("home-page-0 on 127.0.1.14 subscribed to something else")
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
