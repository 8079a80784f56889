"""A home whose log ends were written before topics' ids were: it is read, written on and tended."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from rollcall.jobs.config import JobConfig
from rollcall.jobs.stream.upkeep import kept_of
from rollcall.schemas.tables import LOG_ENDS
from rollcall.tables.appending import append, make_table
from rollcall.tables.home import Home
from rollcall.tables.lag.rows import LagRows, LogEnd
from rollcall.tables.lag_rows import append_lag, ends_table
from rollcall.tables.properties import table_properties
from rollcall.tables.upkeep import tend
from tests.lag.homes import ends, group
from tests.views.story import write_effects
from tests.views.view_rows import Views

EARLIER = LOG_ENDS._replace(columns=tuple(column for column in LOG_ENDS.columns if column.name != "topic_id"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_effects(tmp_path, {"g": group("g", "t", (2000, 40)).rows})
    make_table(tmp_path / LOG_ENDS.name, EARLIER, table_properties())
    earlier = ends_table(ends((1000, 0), (3000, 100)), None, None).select(EARLIER.names)
    append(str(tmp_path / LOG_ENDS.name), earlier)
    return tmp_path


def lag_now(home: Path) -> int | None:
    (row,) = Views(home).rows("lag")
    lag: int | None = row.lag_records
    return lag


def test_it_is_read(home: Path) -> None:
    assert lag_now(home) == 60


def test_it_is_written_on(home: Path) -> None:
    append_lag(home, LagRows([LogEnd("t", 0, 4000, 0, 140, None, "fetch", "A")]))
    assert lag_now(home) == 100
    append_lag(home, LagRows([LogEnd("t", 0, 5000, 0, 150, None, "fetch", "B")]))
    assert lag_now(home) is None
    assert {name for name in DeltaTable(home / LOG_ENDS.name).schema().to_arrow().names} == set(LOG_ENDS.names)


def test_it_is_tended(home: Path) -> None:
    append_lag(home, LagRows([LogEnd("t", 0, 4000, 0, 140, None, "fetch", "A")]))
    tend(kept_of(LOG_ENDS, Home(home), JobConfig()), 200_000_000, thorough=True)
    assert lag_now(home) == 100
