"""The home of all recordings, and its views in a Spark session where Spark itself is asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rollcall.answers.views.catalog import NAMES
from rollcall.cli.sql import register_views
from tests.engines.recorded import HOMES


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: write(tmp_path_factory.mktemp(name)) for name, write in HOMES.items()}


@pytest.fixture(scope="session")
def home(homes: dict[str, Path]) -> Path:
    return homes["views"]


@pytest.fixture(scope="session")
def kept_views(spark: SparkSession, home: Path) -> Iterator[SparkSession]:
    """The home's views in a Spark session, each computed once."""
    register_views(spark, home)
    for name in NAMES:
        spark.table(name).cache()
    yield spark
    spark.catalog.clearCache()
