"""A request that comes twice: the second changes nothing and is reported as a repeat, if the group remembers."""

from __future__ import annotations

from dataclasses import replace

from tests.requests import heartbeat, join
from tests.udf.live_clock import SETTINGS, T, replies, stable
from tests.udf.stream import Stream, arrived


def effects_of(stream: Stream) -> list[tuple[str, str | None]]:
    return [(e["effect"], e.get("request_id")) for e in stream.effects if e["effect"] in ("reply", "request_repeated")]


def test_a_request_id_seen_before_is_dropped_with_an_effect() -> None:
    stream = Stream(SETTINGS)
    beat = heartbeat(stable(stream), 1, T + 1)
    stream.effects.clear()
    stream.batch(T + 1, arrived(beat, beat))
    stream.batch(T + 2, arrived(beat))
    again = ("request_repeated", beat.request_id)
    assert effects_of(stream) == [("reply", beat.request_id), again, again]


def test_the_second_of_two_parked_joins_does_not_take_the_place_of_the_first() -> None:
    settings = replace(SETTINGS, group=replace(SETTINGS.group, group_initial_rebalance_delay_ms=3000))
    stream = Stream(settings)
    stream.batch(T, arrived(join("a", T), join("a", T)))
    (reply,) = replies(stream.batch(T + 3001))
    assert reply["error_code"] == "NONE"
    assert stream.document("orders")["members"][0]["client_id"] == "a"
    assert len(stream.document("orders")["members"]) == 1


def test_a_first_join_that_is_remembered_no_longer_does_not_make_a_second_member() -> None:
    stream = Stream(replace(SETTINGS, remembered_request_ids=1))
    member = stable(stream)
    stream.batch(T + 1, arrived(heartbeat(member, 1, T + 1)))
    stream.effects.clear()
    stream.batch(T + 2, arrived(join("a", T)))
    assert effects_of(stream) == [("request_repeated", join("a", T).request_id)]


def test_a_group_remembers_so_many_requests_and_no_more() -> None:
    stream = Stream(replace(SETTINGS, remembered_request_ids=2))
    member = stable(stream)
    beats = [heartbeat(member, 1, T + ms) for ms in (1, 2, 3)]
    stream.batch(T + 3, arrived(*beats))
    assert stream.document("orders")["stream"]["request_ids"] == [beat.request_id for beat in beats[1:]]
    stream.effects.clear()
    stream.batch(T + 4, arrived(beats[0], beats[2]))
    assert effects_of(stream) == [("reply", beats[0].request_id), ("request_repeated", beats[2].request_id)]


def test_an_unknown_group_remembers_nothing() -> None:
    stream = Stream(SETTINGS)
    stream.batch(T, arrived(heartbeat("x", 1, T), heartbeat("x", 1, T)))
    assert [effect for effect, _ in effects_of(stream)] == ["reply", "reply"]
