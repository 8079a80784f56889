"""Homes whose history is told in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.sql import register_views
from tests.views.story import Story, write_effects


@pytest.fixture
def views_of(spark: SparkSession, tmp_path: Path) -> Callable[..., SparkSession]:
    """Writes stories into a home and registers its views."""

    def register(*stories: Story) -> SparkSession:
        write_effects(tmp_path, {story.group_id: story.rows for story in stories})
        register_views(spark, tmp_path)
        return spark

    return register
