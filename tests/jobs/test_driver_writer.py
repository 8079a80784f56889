"""The driver's writer, without Spark: one commit a batch, once, quarantine first."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from rollcall.jobs.config import JobConfig
from rollcall.jobs.stream.writers.batch_result import BatchResult, BatchTooLarge
from rollcall.jobs.stream.writers.driver_writer import DriverWriter
from rollcall.schemas.effect_rows import QUARANTINED
from rollcall.schemas.tables import EFFECTS, QUARANTINE
from rollcall.tables.home import Home
from rollcall.tables.job_status import StatusWriter

T = 1_700_000_000_000


class Batch:
    """A batch as foreachBatch gives it, as far as the writer looks."""

    def __init__(self, *rows: dict[str, Any]) -> None:
        self.rows = rows

    def toArrow(self) -> pa.Table:
        return pa.table({"effects": pa.array([json.dumps(row) + "\n" for row in self.rows], pa.string())})


def fact(group_id: str = "orders") -> dict[str, Any]:
    return {"group_id": group_id, "seq": 0, "effect": "group_created", "at_ms": T}


def unfit(reason: str) -> dict[str, Any]:
    return {"group_id": "g", "effect": QUARANTINED, "at_ms": T, "received_at_ms": 5, "cause": reason, "detail": "{"}


def writer(home: Home, **config: Any) -> Any:
    made = DriverWriter(home, replace(JobConfig(), **config))
    made.query_id.set_result("query")
    return made


def rows(path: str) -> list[dict[str, Any]]:
    return DeltaTable(path).to_pyarrow_table().to_pylist()


def test_the_groups_whose_turn_was_cut_are_named(tmp_path: Path) -> None:
    cut = {**fact("busy"), "effect": "requests_put_off"}
    assert writer(Home(tmp_path)).write(Batch(fact("a"), cut), 0) == BatchResult(0, 2, 0, ("busy",))


def test_a_batch_is_one_commit_and_what_is_unfit_goes_to_quarantine(tmp_path: Path) -> None:
    home = Home(tmp_path)
    done = writer(home).write(Batch(fact("a"), unfit("why"), fact("b")), 0)
    assert done == BatchResult(0, 2, 1)
    assert [row["group_id"] for row in rows(home.effects)] == ["a", "b"]
    assert rows(home.quarantine) == [
        {"received_at_ms": 5, "source": "delta", "group_id": "g", "reason": "why", "raw": "{", "at_ms": T}
    ]
    assert DeltaTable(home.effects).version() == DeltaTable(home.quarantine).version() == 1


def test_effects_are_typed_as_the_table_is_and_lie_on_their_day(tmp_path: Path) -> None:
    home = Home(tmp_path)
    odd = "line\nline, \u2028 and \u0000, \U0001f9ea " + "x" * 5_000_000
    reported = {
        "group_id": odd,
        "seq": 2**40,
        "effect": "reply",
        "at_ms": T,
        "generation_id": 7,
        "detail": '{"a":"\\n"}',
    }
    late = fact() | {"at_ms": 1_700_006_399_999}
    next_day = fact() | {"at_ms": 1_700_006_400_000}
    assert writer(home).write(Batch(fact("before"), reported, late, next_day), 0).effects == 4
    found = [row for row in rows(home.effects) if row["group_id"] != "before"]
    first, second, third = sorted(found, key=lambda row: int(row["at_ms"]))
    assert first == dict.fromkeys(EFFECTS.names) | reported | {"at_date": date(2023, 11, 14)}
    assert [row["at_date"] for row in (second, third)] == [date(2023, 11, 14), date(2023, 11, 15)]


def test_the_tables_are_as_declared_and_effects_lie_by_day(tmp_path: Path) -> None:
    home = Home(tmp_path)
    writer(home)
    for path, table in ((home.effects, EFFECTS), (home.quarantine, QUARANTINE)):
        columns = json.loads(DeltaTable(path).schema().to_json())["fields"]
        assert [(c["name"], c["type"]) for c in columns] == [
            (c.name, c.type.replace("int", "integer")) for c in table.columns
        ]
    assert DeltaTable(home.effects).metadata().partition_columns == ["at_date"]


def test_an_empty_batch_commits_nothing(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert writer(home).write(Batch(), 0) == BatchResult(0, 0, 0)
    assert DeltaTable(home.effects).version() == 0


def test_a_batch_that_is_run_again_is_written_once(tmp_path: Path) -> None:
    home = Home(tmp_path)
    writer(home).write(Batch(fact(), unfit("why")), 3)
    again = writer(home)
    again.write(Batch(fact(), unfit("why")), 3)
    again.write(Batch(fact()), 4)
    again.write(Batch(fact()), 4)
    assert len(rows(home.effects)) == 2
    assert len(rows(home.quarantine)) == 1


def test_a_crash_between_quarantine_and_effects_loses_and_repeats_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path)
    first = writer(home)
    append = first._append

    def append_quarantine_only(table: DeltaTable, *more: Any) -> None:
        if table is first.effects:
            raise KeyboardInterrupt
        append(table, *more)

    monkeypatch.setattr(first, "_append", append_quarantine_only)
    with pytest.raises(KeyboardInterrupt):
        first.write(Batch(fact(), unfit("why")), 0)
    assert (len(rows(home.effects)), len(rows(home.quarantine))) == (0, 1)
    writer(home).write(Batch(fact(), unfit("why")), 0)
    assert (len(rows(home.effects)), len(rows(home.quarantine))) == (1, 1)


def test_another_query_writes_its_own_batches(tmp_path: Path) -> None:
    home = Home(tmp_path)
    writer(home).write(Batch(fact()), 7)
    other = DriverWriter(home, JobConfig())
    other.query_id.set_result("another")
    batch: Any = Batch(fact())
    other.write(batch, 0)
    assert len(rows(home.effects)) == 2


def test_a_batch_above_the_limit_is_refused_with_advice_and_nothing_is_written(tmp_path: Path) -> None:
    home = Home(tmp_path)
    advice = r"has 3 effects.*is 2: lower spark\.coordinator\.source\.max\.requests\.per\.batch, or write with"
    with pytest.raises(BatchTooLarge, match=advice):
        writer(home, effects_max_rows=2).write(Batch(fact(), fact(), unfit("why")), 0)
    assert rows(home.effects) == rows(home.quarantine) == []


def test_a_home_says_how_its_job_is(tmp_path: Path) -> None:
    status = StatusWriter(tmp_path)

    def now() -> dict[str, Any]:
        return dict(json.loads((tmp_path / "status.json").read_text()))

    assert now()["state"] == "starting"
    status.running("q", T)
    status.batch_done(4, 10, 1)
    status.batch_done(5, 1, 0)
    assert {name: now()[name] for name in ("state", "query_id", "batch_id", "effects", "quarantined")} == {
        "state": "running",
        "query_id": "q",
        "batch_id": 5,
        "effects": 11,
        "quarantined": 1,
    }
    status.failed("why")
    assert (now()["state"], now()["reason"]) == ("failed", "why")
    status.stopped()
    assert now()["state"] == "stopped"
