"""A broker's request log and its cluster's topic, followed together by a shadow that is killed on the way.

The log lacks all lines of one group, as if another broker had them: the topic has that group, the log the other one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.peers_kafka.cluster_shadow import SHORT_HOLD, ClusterShadow
from tests.peers_kafka.kafka import broker
from tests.peers_kafka.members import QUICK, Members, make_topic
from tests.peers_kafka.part_of_a_log import PartOfALog
from tests.streaming.live import read_rows

HERE, ELSEWHERE = "orders-here", "orders-elsewhere"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "kafka-request.log"


@pytest.fixture
def address(tmp_path: Path, log: Path) -> Iterator[str]:
    with broker(tmp_path, QUICK, requests_log=log) as address:
        make_topic(address)
        yield address


@pytest.fixture
def part(log: Path, tmp_path: Path) -> Iterator[Path]:
    copy = tmp_path / "part.log"
    with closing(PartOfALog(log, copy, without=ELSEWHERE)):
        yield copy


@pytest.fixture
def shadow(address: str, part: Path, tmp_path: Path) -> Iterator[ClusterShadow]:
    shadow = ClusterShadow(tmp_path, str(part), f"kafka://{address}", settings=SHORT_HOLD)
    yield shadow
    shadow.end()


def test_what_one_log_lacks_the_topic_has_and_nothing_is_reported_twice(address: str, shadow: ClusterShadow) -> None:
    groups = [Members(address, HERE), Members(address, ELSEWHERE)]
    for group in groups:
        group.start()
        group.commit(1)
    shadow.start()
    completed = "select group_id, max(to_generation_id) from rebalances group by group_id order by group_id"
    first, last = [(ELSEWHERE, 1), (HERE, 1)], [(ELSEWHERE, 3), (HERE, 3)]
    shadow.await_rows(completed, "the first generations", lambda rows: rows == first)
    for group in groups:
        group.start()
    shadow.kill()
    for group in groups:
        group.commit(2)
        group.close_first()
    shadow.start()
    for group in groups:
        group.commit(3)
    shadow.await_rows(completed, "the last generations", lambda rows: rows == last)
    offsets = "select group_id, max(committed_offset) from offsets group by group_id order by group_id"
    shadow.await_rows(offsets, "the last commits", lambda rows: rows == last)
    printed = shadow.stop()
    for group in groups:
        group.close()

    found = re.search(r"the history has (\d+) facts of the log and (\d+) that only the topic has", printed)
    assert found, printed
    assert all(int(count) > 10 for count in found.groups()), printed
    assert "and they never disagree" in printed
    # No record says when a rebalance began, or that a client said it leaves.
    columns = "to_generation_id, members_after, cause, started_at is null as is_open"
    query = f"select {columns} from rebalances where group_id = '{{}}'"
    expected = [(1, 1, "member_joined"), (2, 2, "member_joined"), (3, 1, "member_left")]
    for name, is_of_topic in ((HERE, False), (ELSEWHERE, True)):
        reported_of = sorted(shadow.rows(query.format(name)))
        assert reported_of == [(*generation, is_of_topic) for generation in expected]
    facts = read_rows(shadow.home.effects)
    assert set(Counter((row["group_id"], row["at_ms"], row["seq"]) for row in facts).values()) == {1}
    commits = Counter(row["group_id"] for row in facts if row["effect"] == "offsets_committed")
    assert commits == {HERE: 3, ELSEWHERE: 3}
    assert not read_rows(shadow.home.quarantine)
