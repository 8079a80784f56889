"""What an earlier version knew of a topic is in its query's checkpoint: it is read once, and the topic followed on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from rollcall.inputs.following.group_documents import GroupDocuments
from rollcall.inputs.following.topic_source import FOLDER, HOLD_S, find_topic
from rollcall.inputs.offsets_topic.dumps.log_record import LogRecord
from rollcall.inputs.offsets_topic.history.state import read_document
from rollcall.inputs.offsets_topic.records.decoding import encode_key
from rollcall.inputs.offsets_topic.records.shapes import GroupKey
from rollcall.jobs.shadow import earlier_topic
from rollcall.jobs.shadow.earlier_topic import take_over
from rollcall.jobs.stream.checkpoint import finished_batches, offsets_of
from rollcall.tables.home import Home
from tests.shadow.written_topic import Clock, WrittenTopic, started
from tests.streaming.earlier_homes import CLUSTERS, TOPIC, unpacked
from tests.streaming.live import read_rows

LATE_MS = 1 << 41


@pytest.mark.parametrize("version", CLUSTERS)
@pytest.mark.parametrize("is_noted", [True, False], ids=["noted", "unnoted"])
def test_its_groups_and_offsets_go_on_and_no_fact_changes(
    version: str, *, is_noted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(unpacked(version, tmp_path).home(TOPIC))
    checkpoint, before = Path(home.checkpoint), read_rows(home.effects)
    places = {int(one): end for one, end in offsets_of(checkpoint, 0)[0]["__consumer_offsets"].items()}
    if not is_noted:
        # It was killed before Spark noted the first batch, whose facts are there.
        for batch in finished_batches(checkpoint):
            (checkpoint / "commits" / str(batch)).unlink()
            if batch:
                (checkpoint / "offsets" / str(batch)).unlink()
    take_over(home)
    kept = find_topic(home)
    assert kept is not None
    assert kept.places == places
    groups = GroupDocuments(home.path / FOLDER, kept.groups)
    for group_id in ("billing", "orders"):
        last = max(row["seq"] for row in before if row["group_id"] == group_id)
        assert read_document(groups.get(group_id) or "").seq == last
    monkeypatch.setattr(earlier_topic, "run_once", lambda *_: pytest.fail("it is read once"))
    take_over(home)

    topic, clock = WrittenTopic(), Clock()
    key = encode_key(2, GroupKey(group="orders"))
    topic.write([LogRecord(1, 0, 5, key, None), LogRecord(1, places[1], LATE_MS, key, None)])
    following = started(home.path, topic, clock)
    following.step()
    clock.at_s += HOLD_S
    following.step()
    following.finish()
    assert following.source.counts.startswith("1 records read")
    facts = read_rows(home.effects)
    assert [row for row in before if row not in facts] == []
    assert any(row["at_ms"] == LATE_MS for row in facts)
    assert set(Counter((row["group_id"], row["seq"]) for row in facts).values()) == {1}
