"""A home that an earlier version left goes on: its members, its half-read log; no fact of then changes."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from pyspark.sql import SparkSession

from rollcall.cli.shadow.command import tail_of
from rollcall.inputs.following.following import Following
from rollcall.inputs.following.request_source import RequestSource, find_kept
from rollcall.jobs.shadow.earlier_home import finish_earlier
from rollcall.jobs.stream.waits import stored_waits
from rollcall.tables.home import Home
from rollcall.tables.home_tables import open_requests
from rollcall.tables.job_status import StatusWriter
from tests.requests import consumer_beat, heartbeat, join, sync
from tests.shadow.finished_log import answers_in, each_heartbeat, expected
from tests.streaming.earlier_homes import JOB, SHADOW, VERSIONS, Earlier, unpacked
from tests.streaming.live import Live, now_ms, read_rows
from tests.streaming.make_homes import LOGS, SETTINGS
from tests.waiting import until

PATIENCE_S = 120.0
SILENCE_S = 20
"""How long a log that was read to its end seems silent with each look, so that a rebalance is surely over."""


AtWork = TypeVar("AtWork", Live, "Shadow")


def place_of(fact: dict[str, Any]) -> tuple[object, ...]:
    """Where a fact stands in its group's history."""
    return fact["group_id"], fact["at_ms"], fact["seq"]


class Shadow:
    """An earlier shadow's home, with its log where it is now, and the lines that were written since."""

    def __init__(self, earlier: Earlier) -> None:
        self.home, log = Home(earlier.home(SHADOW)), earlier.folder / "requests.log"
        kept = find_kept(self.home)
        assert kept is not None
        head = kept.position.head
        self.finished, text = next((p, t) for p in LOGS if (t := gzip.decompress(p.read_bytes())).startswith(head))
        log.write_bytes(text)
        kept = msgspec.structs.replace(kept, log=str(log))
        finish_earlier(self.home, kept)
        self.tail, self.now_s = tail_of(kept), 0.0
        source = RequestSource(self.home, open_requests(self.home), kept, self.tail, clock=self.clock)
        self.following = Following(self.home, source, StatusWriter(None), self.clock)

    def clock(self) -> float:
        return self.now_s

    def facts(self) -> list[dict[str, Any]]:
        """Every fact, and the answer to every heartbeat of a run."""
        if not self.following.step():
            self.now_s += SILENCE_S
        return [fact for row in read_rows(self.home.effects) for fact in each_heartbeat(row)]

    def stop(self) -> None:
        self.following.finish()
        self.tail.close()


@pytest.fixture(scope="module", params=VERSIONS)
def earlier(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Earlier:
    return unpacked(request.param, tmp_path_factory.mktemp("homes"))


def test_the_deadlines_in_an_earlier_state_can_be_read(spark: SparkSession, earlier: Earlier) -> None:
    # Spark makes what reads a state only for sessions with queries.
    spark.streams.active  # noqa: B018
    waits = dict(stored_waits(spark, Path(Home(earlier.home(JOB)).checkpoint)))
    assert waits.keys() == {"billing", "orders"}
    assert None not in waits.values()


def facts_of(earlier: Earlier, name: str) -> list[dict[str, Any]]:
    return read_rows(Home(earlier.home(name)).effects)


def reported_again(before: list[dict[str, Any]], earlier: Earlier, name: str) -> list[dict[str, Any]]:
    """Facts of then that are no longer reported as they were."""
    now = {place_of(row): row for row in facts_of(earlier, name)}
    return [row for row in before if now.get(place_of(row)) != row]


@contextmanager
def at_work(one: AtWork) -> Iterator[AtWork]:
    """Runs the body, then stops what is at work, for the next one's query has the same name."""
    try:
        yield one
    finally:
        one.stop()


def test_members_of_then_are_members_now_and_a_new_one_joins_them(earlier: Earlier, spark: SparkSession) -> None:
    before, reported = facts_of(earlier, JOB), earlier.reported[JOB].views
    (member,) = [row for row in reported["members"] if row["group_id"] == "orders"]
    a = str(member["member_id"])
    with at_work(Live(spark, earlier.home(JOB), SETTINGS)) as job:
        assert job.ask(heartbeat(a, 3, now_ms()))["error_code"] == "NONE"
        newcomer = join("c", now_ms(), session_timeout_ms=60_000)
        job.send(newcomer)
        job.effect("rebalance_started", group_id="orders", generation_id=3)
        job.ask(join("a", now_ms(), member_id=a, session_timeout_ms=60_000))
        c = str(job.reply_to(newcomer)["member_id"])
        assert job.ask(sync(a, 4, now_ms(), assigned=[a, c]))["error_code"] == "NONE"
        for row in reported["members"]:
            if row["group_id"] == "billing":
                beat = consumer_beat(str(row["member_id"]), 0, now_ms(), "billing", request_id="back")
                assert job.ask(beat)["error_code"] == "NONE"
        places = Counter(map(place_of, job.effects()))
    assert reported_again(before, earlier, JOB) == []
    assert set(places.values()) == {1}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("is_answered", [True, False], ids=["answered", "unanswered"])
def test_a_shadow_reads_the_rest_of_its_log_and_has_the_finished_logs_history(
    version: str, *, is_answered: bool, tmp_path: Path
) -> None:
    earlier = unpacked(version, tmp_path)
    before, checkpoint = facts_of(earlier, SHADOW), Path(Home(earlier.home(SHADOW)).checkpoint)
    if not is_answered:
        # It was killed before Spark noted the last batch with requests, which an empty one follows.
        for number in (1, 2):
            (checkpoint / "commits" / str(number)).unlink()
        (checkpoint / "offsets" / "2").unlink()
    with at_work(Shadow(earlier)) as shadow:
        answers, count = expected(shadow.finished)
        until(lambda: len(shadow.facts()) >= count, lambda: f"{len(shadow.facts())} of {count} facts", PATIENCE_S, 0.2)
        facts = shadow.facts()
    places = Counter(map(place_of, facts_of(earlier, SHADOW)))
    assert (answers_in(facts), len(facts)) == (answers, count)
    assert reported_again(before, earlier, SHADOW) == []
    assert set(places.values()) == {1}
