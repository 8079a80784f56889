"""The demo's members as threads of one process, and its logs."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from kafka.protocol.schemas.fields import StructField

from gateway.settings import Settings
from gateway.standalone.growth import Growth
from jobs.home import Home
from jobs.run.demo_fleet import compile_one_at_a_time
from jobs.run.demo_logs import growth_words
from jobs.run.demo_plan import RECORDS_PER_SECOND, TOPICS
from tests.lag.homes import ends, group, write_home


def growth_of(home: Path) -> Growth:
    """The growth that a gateway makes of the words."""
    pairs = dict(word.split("=", 1) for word in growth_words(Home(home)) if word != "--set")
    settings = Settings.from_pairs(pairs)
    return Growth(settings.demo_records_per_second, settings.demo_since_ms)


def test_every_topic_of_the_demo_grows_and_no_other(tmp_path: Path) -> None:
    assert growth_of(tmp_path).per_second == RECORDS_PER_SECOND
    assert RECORDS_PER_SECOND.keys() == TOPICS.keys()


def test_the_logs_of_a_new_home_begin_now(tmp_path: Path) -> None:
    before_ms = int(time.time() * 1000)
    assert growth_of(tmp_path).since_ms >= before_ms


@pytest.mark.parametrize(("end", "committed"), [(7000, 500), (500, 7000)])
def test_the_logs_of_a_home_go_on_where_they_ended_however_long_ago(end: int, committed: int, tmp_path: Path) -> None:
    write_home(tmp_path, [group("audit", "audit", (2000, committed))], ends((2000, end), topic="audit"))
    growth = growth_of(tmp_path)
    grown_s = time.time() - growth.since_ms / 1000
    assert growth.end("audit") >= 7000
    assert growth.end("orders") == growth.end("audit")
    assert 7000 / RECORDS_PER_SECOND["audit"] <= grown_s < 10 * 7000 / RECORDS_PER_SECOND["audit"]


def test_codecs_are_compiled_by_one_thread_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two at once left a JoinGroup's answer that no member of the process could read."""
    inside, together = threading.Semaphore(1), threading.Event()

    def compiled(*_: object) -> None:
        if not inside.acquire(blocking=False):
            together.set()
            return
        together.wait(0.3)
        inside.release()

    monkeypatch.setattr(StructField, "compiled_decode_from", compiled)
    monkeypatch.setattr(StructField, "compiled_encode_into", compiled)
    compile_one_at_a_time()
    threads = [threading.Thread(target=StructField.compiled_decode_from, args=(None,)) for _ in range(2)]
    threads.append(threading.Thread(target=StructField.compiled_encode_into, args=(None,)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not together.is_set()
