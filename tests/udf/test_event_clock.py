"""The replay's clock: time is the requests' own, and how the log was cut into batches changes nothing."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.requests import heartbeat, join
from tests.udf.stream import Stream, arrived
from tests.udf.world import SETTINGS, T, in_order, lived


def test_a_deadline_fires_once_a_later_request_shows_that_its_time_has_passed() -> None:
    stream = Stream(SETTINGS)
    found = stream.events([arrived(join("a", T)), arrived(join("b", T + 700, "other"))])
    assert [e["at_ms"] for e in found if e["effect"] == "join_phase_ended"] == [T + 500]
    joined = [(e["group_id"], e["client_id"]) for e in found if e["effect"] == "member_joined"]
    assert sorted(joined) == [("orders", "a"), ("other", "b")]


def test_a_request_at_the_very_moment_of_a_deadline_goes_first() -> None:
    stream = Stream(SETTINGS)
    found = stream.events([arrived(join("a", T)), arrived(join("b", T + 500))])
    assert [e["at_ms"] for e in found if e["effect"] == "join_phase_ended"] == []
    assert [e["client_id"] for e in found if e["effect"] == "member_joined"] == ["a", "b"]


def test_the_end_of_the_log_fires_nothing() -> None:
    assert "join_phase_ended" not in {e["effect"] for e in Stream(SETTINGS).events([arrived(join("a", T))])}


def test_a_late_request_is_applied_at_its_groups_last_moment() -> None:
    stream = Stream(SETTINGS)
    found = stream.events([arrived(join("a", T)), arrived(heartbeat("x", 1, T - 50))])
    assert [e["at_ms"] for e in found if e["effect"] == "reply"] == [T]


# ---------------------------------------------------------------- the same log, cut at random


GAPS = st.sampled_from([0, 0, 1, 100, 499, 500, 501, 3_000, 9_999, 10_000, 10_001, 45_000])
MOVES = st.tuples(
    GAPS,
    st.sampled_from(["orders", "payments"]),
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from(
        ["join", "join", "sync", "sync", "beat", "beat", "beat", "leave", "again", "consume", "consume", "depart"]
    ),
)


@examples(50, 300)
@given(st.lists(MOVES, min_size=1, max_size=60), st.data())
def test_the_same_log_cut_anywhere_gives_the_same_effects(moves: list[Any], data: st.DataObject) -> None:
    world = lived(moves)
    rows = arrived(*world.log)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(rows)), max_size=8), label="cuts"))
    cut_up = Stream(SETTINGS)
    cut_up.events(
        data.draw(st.permutations(rows[start:end]), label="as it came")
        for start, end in itertools.pairwise([0, *cuts, len(rows)])
    )
    assert in_order(cut_up.effects) == world.effects()
    assert {g: s.value for g, s in cut_up.stored.items()} == {g: s.value for g, s in world.stream.stored.items()}


@settings(max_examples=50)
@given(st.lists(MOVES.filter(lambda move: move[3] != "again"), max_size=60))
def test_a_groups_facts_are_distinguished_by_their_time_and_place(moves: list[Any]) -> None:
    world = lived(moves)
    places = [(e["group_id"], e["at_ms"], e["seq"]) for e in world.effects()]
    assert len(places) == len(set(places))
