"""Consumer groups (KIP-848) in a log that is followed as it is written: the same epochs, causes and culprits, soon."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path

import pytest

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.inputs.request_log.lines.files import files_in_order, lines_in_order
from rollcall.schemas.effects import RebalanceStarted
from tests.request_log.recordings import INCIDENTS, capture
from tests.request_log.truth import BOTH_PROTOCOLS, FOLDER, certain_and_wrong, consumer_groups
from tests.shadow.fed import UTC, Feed, effects_of, lines_of, reported

REPORTED_WITHIN_MS = 13_000
"""What changes a group is known once its members have been heard again, each every five seconds."""


@cache
def followed(name: str) -> Feed:
    return Feed(GroupConfig()).feed(lines_of(FOLDER / name)).end()


@pytest.mark.parametrize("name", ["o-consumer-protocol", "q-consumer-slow"])
def test_every_epoch_its_cause_and_its_culprit_are_the_true_ones(name: str) -> None:
    feed = followed(name)
    effects = effects_of(feed.rows, GroupConfig(), feed.live.tally.last_at_ms)
    for group, what in consumer_groups(name).items():
        ours = [
            (effect.from_generation_id + 1, str(effect.cause.kind), effect.cause.member_id)
            for effect in effects[group]
            if isinstance(effect, RebalanceStarted)
        ]
        theirs = [(epoch["epoch"], epoch["cause"], epoch["trigger"]["member_id"] or "") for epoch in what["epochs"]]
        assert ours == theirs, group


@pytest.mark.parametrize("name", ["n-classic-mixed", "o-consumer-protocol"])
def test_the_history_is_that_of_the_finished_log(name: str) -> None:
    feed = followed(name)
    ours = effects_of(feed.rows, GroupConfig(), feed.live.tally.last_at_ms)
    for group in {of for of, _ in capture(name).effects}:
        assert reported(ours[group]) == reported(effect for of, effect in capture(name).effects if of == group), group


@pytest.mark.parametrize("name", BOTH_PROTOCOLS)
def test_a_change_is_reported_as_soon_as_its_members_were_heard(name: str) -> None:
    feed = followed(name)
    end_ms = feed.live.tally.last_at_ms or 0
    late = [reported_ms - row.request.received_at_ms for reported_ms, row in feed.released if reported_ms < end_ms]
    assert max(late) <= REPORTED_WITHIN_MS


@pytest.mark.parametrize("name", ["conversions", "night", "sessions"])
@pytest.mark.parametrize("share", [0.2, 0.4, 0.6])
def test_who_follows_older_consumer_groups_reports_nothing_wrong_as_certain_also_from_a_snapshot(
    name: str, share: float, tmp_path: Path
) -> None:
    texts = gzip.decompress((INCIDENTS / f"{name}.log.gz").read_bytes()).splitlines(keepends=True)
    path = tmp_path / "requests.log"
    path.write_bytes(b"".join(texts[int(len(texts) * share) :]))
    lines = list(lines_in_order(files_in_order(path, UTC), UTC))
    feed = Feed(GroupConfig())

    def go_on(place: int) -> None:
        if place == len(lines) // 2:
            feed.go_on(GroupConfig())

    feed.feed(lines, go_on).end()
    assert [row.request for row in feed.rows] == [row.request for row in Feed(GroupConfig()).feed(lines).end().rows]
    effects = effects_of(feed.rows, GroupConfig(), feed.live.tally.last_at_ms)
    for group, true in json.loads((INCIDENTS / f"{name}.json").read_text()).items():
        started = [effect for effect in effects.get(group, []) if isinstance(effect, RebalanceStarted)]
        assert certain_and_wrong(started, true) == [], group
