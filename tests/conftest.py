"""What every test shares: how hypothesis looks for examples, one Spark session, and which tests run side by side.

Must not know any layer of the project but the one place that makes a Spark session.

HYPOTHESIS_PROFILE=deep looks at fifty times as many examples as the default, `ci`; it takes minutes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# No deadline: the machine is shared. In CI the same examples every time, so that a red run can be repeated.
settings.register_profile("ci", deadline=None, max_examples=100, derandomize="CI" in os.environ, print_blob=True)
settings.register_profile("deep", deadline=None, max_examples=5000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# A test's JVM lives for seconds: to compile its code as well as possible takes longer than that saves.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# Assertions in these modules tell as much as those in test modules.
pytest.register_assert_rewrite("tests.peers_clients.consumer_rules", "tests.peers_clients.tool_rules")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The Spark session of all tests of a run: it takes ten seconds to start and to warm up."""
    from jobs.spark.session import spark_session

    session = spark_session("rollcall tests")
    yield session
    session.stop()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts tests into groups, each of which `-n 2 --dist loadgroup` gives to one worker, and the long groups first.

    All that use the one Spark session are a group; a test that starts programs is one of its own, so that the other
    worker goes through these meanwhile; of the others each file is a group.
    """
    for item in items:
        name = _group_of(item)
        if name:
            item.add_marker(pytest.mark.xdist_group(name))
    items.sort(key=_turn)


def _group_of(item: pytest.Item) -> str:
    if item.get_closest_marker("xdist_group"):
        return ""
    if _uses_spark(item):
        return "spark"
    return "" if item.get_closest_marker("programs") else item.nodeid.partition("::")[0]


def _turn(item: pytest.Item) -> int:
    if _uses_spark(item):
        return 0
    return 1 if item.get_closest_marker("programs") else 2


def _uses_spark(item: pytest.Item) -> bool:
    return "spark" in getattr(item, "fixturenames", ())
