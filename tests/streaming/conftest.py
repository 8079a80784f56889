"""A live home to talk to.

Tests wait for what they expect, with a deadline; they never sleep for a while and hope.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.streaming.live import Live


@pytest.fixture(scope="module")
def running(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """One live coordinator for the tests of a file, each of which has groups of its own."""
    with_all = Live(spark, tmp_path_factory.mktemp("live") / "home", {})
    yield with_all
    with_all.stop()


@pytest.fixture
def live(spark: SparkSession, tmp_path: Path) -> Iterator[Callable[..., Live]]:
    """Makes live coordinators, each on a home of its own unless one is given; all are stopped in the end."""
    made: list[Live] = []

    def make(home: Path | None = None, **settings: str) -> Live:
        made.append(Live(spark, home or tmp_path / f"home-{len(made)}", settings))
        return made[-1]

    yield make
    for each in made:
        each.stop()
