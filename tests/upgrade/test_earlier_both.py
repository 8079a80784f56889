"""What version 0.3.0 followed of a log and of a topic, on homes inside a home, is taken over into the one home."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollcall.inputs.following.both import OF_REQUESTS
from rollcall.inputs.following.group_documents import GroupDocuments
from rollcall.inputs.following.merging_feed import Known, MergingFeed
from rollcall.inputs.following.request_source import ShadowState
from rollcall.inputs.following.topic_source import FOLDER
from rollcall.inputs.offsets_topic.beside_log.merging import OF_BOTH
from rollcall.jobs.config import JobConfig
from rollcall.jobs.shadow import earlier_home, earlier_topic
from rollcall.jobs.shadow.earlier_topic import take_over_both
from rollcall.tables.home import Home
from tests.streaming.earlier_homes import SHADOW, TOPIC, WITH_CLUSTER, unpacked
from tests.streaming.live import read_rows

CONFIG = JobConfig()
VERSION = "0.3.0"
LATE_MS = 1 << 41


def test_facts_requests_and_groups_of_then_are_given_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path / "home")
    home.path.mkdir()
    for version, name, inside in (
        (VERSION, SHADOW, home.of_log),
        (f"{VERSION}{WITH_CLUSTER}", TOPIC, home.of_topic),
    ):
        unpacked(version, tmp_path / version).home(name).rename(inside.path)
    take_over_both(home, OF_REQUESTS, CONFIG)
    for module in (earlier_home, earlier_topic):
        monkeypatch.setattr(module, "run_once", lambda *_: pytest.fail("Spark reads it once"))
    kept = take_over_both(home, OF_REQUESTS, CONFIG)
    assert kept is not None
    log, topic = kept.log, kept.topic
    assert isinstance(log, ShadowState)
    assert log.snapshot
    assert topic is not None
    assert topic.places
    assert GroupDocuments(home.path / FOLDER, topic.groups).get("orders")
    merging = MergingFeed(kept.merging, OF_REQUESTS.rule, lambda ids: {}, CONFIG.log_hold_ms)
    merging.decide(Known({}, LATE_MS), LATE_MS)
    given = [row.effect for row in merging.take_decided()]
    of_the_log = [row["effect"] for row in read_rows(home.of_log.effects) if row["effect"] not in OF_BOTH]
    assert len([effect for effect in given if effect not in OF_BOTH]) >= len(of_the_log) > 0
    assert not merging.state().waiting
