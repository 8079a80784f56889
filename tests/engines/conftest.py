"""One home with every history that the tests have, and its views in a Spark session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.sql import register_views
from tests.request_log.truth import NAMES as CAPTURES
from tests.views.histories import stories
from tests.views.random_homes import random_histories
from tests.views.story import write_effects
from tests.views.troubles import troubles
from tests.why.reading import capture
from views.catalog import NAMES

PLAYS, FLEETS = 40, 25


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All histories in one home, each incident's groups with its name before theirs."""
    home = tmp_path_factory.mktemp("both")
    for name in CAPTURES:
        write_effects(home, {f"{name}/{group_id}": rows for group_id, rows in capture(name).items()})
    write_effects(home, {name: history.rows for name, history in random_histories(PLAYS, FLEETS).items()})
    write_effects(home, {f"told {story.group_id}": story.rows for story in (*troubles(), *stories())})
    return home


@pytest.fixture(scope="session")
def kept(spark: SparkSession, home: Path) -> Iterator[SparkSession]:
    """The home's views in a Spark session, each computed once."""
    register_views(spark, home)
    for name in NAMES:
        spark.table(name).cache()
    yield spark
    spark.catalog.clearCache()
