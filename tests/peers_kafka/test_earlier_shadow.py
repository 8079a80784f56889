"""The home of an earlier version's topic shadow goes on with its cluster; no fact of then changes, none is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.peers_kafka.cluster_shadow import ClusterShadow, difference, facts_of
from tests.peers_kafka.kafka import broker
from tests.peers_kafka.members import QUICK, Members
from tests.streaming.earlier_homes import CLUSTER, CLUSTERS, TOPIC, unpacked
from tests.streaming.live import read_rows
from tests.waiting import until

KEPT_FOR_GOOD = {"log.roll.hours": 876_000, "offsets.retention.minutes": 2_147_483_647}
"""However old the records are, the broker neither compacts the topic nor forgets a group."""
PATIENCE_S = 120.0


@pytest.fixture(params=CLUSTERS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Has the cluster's data, and the shadow's home where `ClusterShadow` looks for it."""
    earlier = unpacked(request.param, tmp_path)
    earlier.home(TOPIC).rename(tmp_path / "home")
    return tmp_path


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    with broker(folder / CLUSTER, {**QUICK, **KEPT_FOR_GOOD}) as address:
        yield address


@pytest.fixture
def shadows(folder: Path, address: str) -> Iterator[tuple[ClusterShadow, ClusterShadow]]:
    """The earlier version's, and one that begins with the topic."""
    (folder / "new").mkdir()
    both = tuple(ClusterShadow(each, f"kafka://{address}") for each in (folder, folder / "new"))
    yield both[0], both[1]
    for each in both:
        each.end()


@pytest.mark.nightly
def test_it_reads_the_rest_and_what_is_new_as_one_does_that_begins_now(
    shadows: tuple[ClusterShadow, ClusterShadow], address: str
) -> None:
    earlier, new = shadows
    before = facts_of(earlier)
    earlier.start()
    earlier.await_rows("select 1 from groups where member_count > 0", "all members gone", lambda rows: not rows)
    groups = [Members(address, "orders"), Members(address, "billing", "consumer")]
    for group in groups:
        group.start()
        group.commit(9)
        group.close()
    committed = "select group_id from offsets where committed_offset = 9 order by 1"
    earlier.await_rows(committed, "the last commits", [("billing",), ("orders",)].__eq__)
    earlier.await_rows("select 1 from groups where member_count > 0", "all members gone", lambda rows: not rows)
    new.start()
    until(lambda: without_records(earlier) == without_records(new), lambda: difference(earlier, new), PATIENCE_S, 0.5)
    assert before
    assert before <= facts_of(earlier)
    assert not read_rows(earlier.home.quarantine)


def without_records(shadow: ClusterShadow) -> Counter[tuple[tuple[str, Any], ...]]:
    """Its facts without the records that show them, which an earlier version did not keep."""
    return Counter(tuple(one for one in fact if one[0] != "request_id") for fact in facts_of(shadow).elements())
