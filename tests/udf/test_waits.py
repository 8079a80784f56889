"""A query that rests until the earliest deadline, in virtual time: no deadline is late, and no batch finds nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rollcall.coordinator_udfs.settings import LATEST_MS
from rollcall.jobs.stream.sources.pace import Pace
from rollcall.jobs.stream.waits import Waits
from rollcall.schemas.effect_rows import Wait, apart, wait_text
from tests.examples import examples
from tests.requests import commit, heartbeat, leave
from tests.udf.live_clock import SETTINGS, T, stable
from tests.udf.stream import NO_TIMEOUT, Arrived, Stream, arrived
from tests.udf.world import SETTINGS as WORLD_SETTINGS
from tests.udf.world import lived

TICK_MS, POLL_MS = 1000, 100
RESTING = replace(SETTINGS, says_waits=True)
MOVES = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 300, 4_000, 11_000, 31_000]),
        st.sampled_from(["orders", "bills"]),
        st.sampled_from("abc"),
        st.sampled_from(["join", "sync", "beat", "leave", "consume", "depart", "again"]),
    ),
    min_size=3,
    max_size=25,
)


class Job:
    """The driver's and the source's half of a query at rest. Batches take no time; the source looks every POLL_MS."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.tick = 0
        self.batches = 0
        self.start(is_complete=True)

    def start(self, *, is_complete: bool) -> None:
        """A run of the job begins: nothing is known of the one before."""
        self.waits, self.pace = Waits(is_complete=is_complete), Pace(TICK_MS)
        self.rests_until_ms: int | None = None

    def stored(self) -> list[Wait]:
        """What the state says of all groups."""
        timeouts = {group: stored.timeout_ms for group, stored in self.stream.stored.items()}
        return [(group, None if each == NO_TIMEOUT else each) for group, each in timeouts.items()]

    def batch(self, now_ms: int, rows: Iterable[Arrived] = ()) -> None:
        self.batches += 1
        self.stream.batch(now_ms, rows)
        self.rests_until_ms = self.waits.batch_done(self.stream.waits)

    def pass_time(self, from_ms: int, until_ms: int, late_ms: int = 0) -> None:
        """Polls up to this time, and checks that nothing is ever due for longer than late_ms and the time of a poll."""
        for now_ms in range(from_ms + POLL_MS, until_ms, POLL_MS):
            tick = self.pace.next(self.tick, now_ms, self.rests_until_ms)
            if tick != self.tick:
                self.tick = tick
                was_known, calls = self.rests_until_ms is not None, self.stream.calls
                self.batch(now_ms)
                assert not was_known or self.stream.calls > calls, "a batch found nothing to do"
            for group, due_ms in self.stored():
                most_ms = TICK_MS if self.is_swept_next(group) or self.rests_until_ms is None else POLL_MS
                assert due_ms is None or now_ms <= due_ms + most_ms + late_ms, group

    def is_swept_next(self, group: str) -> bool:
        document = self.stream.document(group)
        return document.get("sweep_deadline_ms") == document.get("next_due_ms")


@given(MOVES, st.integers(0, 25), st.integers(0, 5_000))
@examples(60, 600)
def test_every_deadline_fires_in_time_and_no_batch_finds_nothing(
    moves: list[Any], restart: int, known_after_ms: int
) -> None:
    world = lived(moves)
    job = Job(Stream(replace(WORLD_SETTINGS, clock=SETTINGS.clock, says_waits=True)))
    now_ms = T
    for place, request in enumerate(world.log):
        at_ms = request.received_at_ms + POLL_MS
        if place == restart:
            job.start(is_complete=False)
            job.pass_time(now_ms, min(at_ms, now_ms + known_after_ms), TICK_MS)
            now_ms = min(at_ms, now_ms + known_after_ms)
            job.waits.learn(job.stored())
        job.pass_time(now_ms, at_ms, TICK_MS if place == restart else 0)
        job.batch(at_ms, arrived(request))
        now_ms = at_ms
    job.pass_time(now_ms, now_ms + 120_000)


def test_without_groups_no_batch_runs_at_all() -> None:
    job = Job(Stream(RESTING))
    job.pass_time(T, T + 3_600_000)
    assert job.batches == 1, "the first, after which it is known that nobody waits"


def test_a_stable_group_at_rest_needs_a_batch_only_for_its_heartbeats_and_sweeps() -> None:
    job = Job(Stream(RESTING))
    member = stable(job.stream)
    job.batch(T, arrived(heartbeat(member, 1, T)))
    for beat in range(1, 400):
        job.pass_time(T + (beat - 1) * 3000, T + beat * 3000)
        job.batch(T + beat * 3000, arrived(heartbeat(member, 1, T + beat * 3000)))
    assert job.batches <= 400 + 3


def test_an_empty_group_waits_for_its_sweep_and_a_removed_one_for_nothing() -> None:
    stream = Stream(RESTING)
    member = stable(stream, T + 300)
    stream.batch(T + 400, arrived(commit(member, 1, {("t1", 0): 5}, received_at_ms=T + 350)))
    stream.batch(T + 500, arrived(leave(member, T + 450)))
    sweep_ms = stream.stored["orders"].timeout_ms
    assert sweep_ms % TICK_MS
    assert stream.waits == [("orders", sweep_ms - sweep_ms % TICK_MS + TICK_MS)]
    other = Stream(RESTING)
    member = stable(other)
    other.batch(T + 500, arrived(leave(member, T + 450)))
    other.batch(sweep_ms + 500)
    assert (other.stored, other.waits) == ({}, [("orders", None)])


def test_a_text_of_a_wait_names_any_group() -> None:
    waits: list[Wait] = [("orders", 17), ("a b\n@5 c", None), ("", 0), ("{", LATEST_MS)]
    texts = [wait_text(*wait) for wait in waits]
    assert apart(["{}\n", *texts, '{"effect": "@"}\n']) == (["{}\n", '{"effect": "@"}\n'], waits)


def test_what_a_batch_says_of_a_group_is_newer_than_the_state() -> None:
    waits = Waits(is_complete=False)
    assert waits.batch_done([("a", 50), ("b", None), ("c", 90)]) is None
    waits.learn([("a", 10), ("b", 20), ("c", None), ("d", 70)])
    assert waits.batch_done([]) == 50
    assert waits.batch_done([("a", None)]) == 70
    assert waits.batch_done([("c", None), ("d", None)]) == LATEST_MS


def test_a_deadline_that_a_batch_leaves_as_it_is_is_tried_again_a_tick_later() -> None:
    pace = Pace(TICK_MS)
    ticks = [pace.next(0, T, T - 1)]
    for now_ms in (T + 1, T + 999, T + 1000, T + 1001):
        ticks.append(pace.next(ticks[-1], now_ms, T - 1))
    assert [after - before for before, after in pairwise(ticks)] == [0, 0, 1, 0]
    assert pace.next(ticks[-1], T + 1002, T) == ticks[-1] + 1, "another deadline"
