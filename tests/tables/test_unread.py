"""What cannot be read in a table costs itself, is said once, and hides nothing else."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from rollcall.answers.sql.engine import ask
from rollcall.answers.why.sections import lines_of
from rollcall.cli.why import explanation_of
from rollcall.jobs import group_facts
from rollcall.jobs.group_facts import GroupFacts
from rollcall.schemas.tables import EFFECTS, Table
from rollcall.serve.gateway.settings import Settings
from rollcall.serve.gateway.tables.effects_table import EffectsTable
from rollcall.serve.gateway.tables.tables_backend import TablesBackend
from rollcall.serve.page.history import History
from rollcall.shown.watch import Watch
from rollcall.tables import readable_files, unread
from rollcall.tables.delta_log import DeltaLog
from rollcall.tables.duck_database import rows_of
from rollcall.tables.home import Home
from rollcall.tables.request_table import RequestTable
from tests.views.story import Story, one_member, write_effects

Break = Callable[[Path], object]


def story() -> Story:
    return one_member("g")


def torn(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def damaged(share: float) -> Break:
    """Other bytes in the middle of its rows or of its footer, by the place."""

    def damage(file: Path) -> None:
        data = bytearray(file.read_bytes())
        place = int(len(data) * share)
        data[place : place + 16] = b"\xff" * 16
        file.write_bytes(data)

    return damage


BREAKS: dict[str, Break] = {
    "torn": torn,
    "missing": Path.unlink,
    "empty": lambda file: file.write_bytes(b""),
    "damaged rows": damaged(0.1),
    "damaged footer": damaged(0.7),
}


@pytest.fixture(autouse=True)
def _said(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    caplog.set_level(logging.WARNING, "rollcall")
    unread._said.clear()


def file_of(home: Path, version: int) -> Path:
    (path,) = DeltaLog(home / EFFECTS.name).appended(version) or []
    return path


def add(home: Path, group_id: str) -> int:
    """Appends a group's history; the version that has it."""
    write_effects(home, {group_id: story().rows})
    return DeltaLog(home / EFFECTS.name).latest()


def sayings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "left out" in record.getMessage()]


@pytest.mark.parametrize("how", [*BREAKS, "version"])
def test_every_reader_reads_the_rest_of_a_table_and_says_what_it_left_out(
    tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    add(tmp_path, "before")
    page, gateway, watch = History(tmp_path), EffectsTable(tmp_path / EFFECTS.name, "gw"), Watch(tmp_path)
    page.refresh()
    page.make_lists()
    assert {fact.group_id for fact in gateway.history()} == {"before"}
    bad = add(tmp_path, "bad")
    add(tmp_path, "after")
    log = DeltaLog(tmp_path / EFFECTS.name)
    if how == "version":
        named = f"version {bad}"
        log.commit_path(bad).write_text("{")
    else:
        file = file_of(tmp_path, bad)
        named = file.name
        BREAKS[how](file)
    try:
        page.refresh()
        assert {row["group_id"] for row in page.all("SELECT group_id FROM raw_effects")} == {"before", "after"}
        seen = set()
        while gateway.has_news():
            seen |= {fact.group_id for fact in gateway.news().facts}
        assert seen == {"after"}
        assert any("after" in line for line in watch.look())
        # Of a damaged file, what is asked for may be whole.
        assert {row[0] for row in ask(tmp_path, "select group_id, * from effects").rows} == {"before", "after"}
        assert list(GroupFacts(Home(tmp_path), "after").read(["member_joined"], 0, 2**50))
        again = History(tmp_path)
        again.refresh()
        again.make_lists()
        assert {row["group_id"] for row in again.all("SELECT group_id FROM all_groups")} == {"before", "after"}
        again.close()
    finally:
        page.close()
    assert sayings(caplog)
    assert all(named in text for text in sayings(caplog))
    assert len(sayings(caplog)) == len(set(sayings(caplog))) <= 2


def test_wherever_a_file_is_damaged_sql_answers_of_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(tmp_path, "before")
    file = file_of(tmp_path, add(tmp_path, "bad"))
    add(tmp_path, "after")
    whole = file.read_bytes()
    # By the place, DuckDB notices when it binds, executes or fetches, or not at all.
    for place in (20, 36, *range(200, len(whole) - 16, 300)):
        file.write_bytes(whole[:place] + b"\xff" * 16 + whole[place + 16 :])
        monkeypatch.setattr(readable_files, "_read_as", {})
        assert {row[0] for row in ask(tmp_path, "select group_id, * from effects").rows} >= {"before", "after"}, place


def test_a_damaged_file_is_asked_no_further_question_about_a_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(tmp_path, "orders")
    damaged(0.1)(file_of(tmp_path, add(tmp_path, "orders")))
    asked: list[int] = []

    def noted(files: Sequence[str], table: Table) -> str:
        asked.append(len(files))
        return rows_of(files, table)

    monkeypatch.setattr(group_facts, "rows_of", noted)
    assert lines_of(explanation_of(Home(tmp_path), "orders"))
    # The first question is whether there is such a group, which no damaged column is read for.
    assert asked == [2, 2] + [1] * (len(asked) - 2)
    assert len(asked) > 3


def test_a_version_that_cannot_be_read_just_now_is_read_at_the_next_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(tmp_path, "before")
    page = History(tmp_path)
    page.refresh()
    add(tmp_path, "after")
    with monkeypatch.context() as failing:

        def fails(_: Path) -> None:
            raise OSError(24, "Too many open files")

        failing.setattr("rollcall.serve.page.effect_files.fault_of_parquet", fails)
        with pytest.raises(OSError, match="Too many"):
            page.refresh()
    page.refresh()
    assert {row["group_id"] for row in page.all("SELECT group_id FROM raw_effects")} == {"before", "after"}
    page.close()


@pytest.mark.nightly
def test_a_row_that_is_too_large_costs_every_reader_that_row_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = story().rows
    place = next(place for place, row in enumerate(rows) if row.effect == "state_changed")
    rows[place] = msgspec.structs.replace(rows[place], detail=json.dumps({"to_state": "x" * 300_000_000}))
    write_effects(tmp_path, {"before": story().rows, "bad": rows, "after": story().rows})
    page = History(tmp_path)
    page.refresh()
    page.make_lists()
    groups = {"before", "bad", "after"}
    assert {row["group_id"] for row in page.all("SELECT group_id FROM all_groups")} == groups
    assert {row[0] for row in ask(tmp_path, "select group_id, * from effects").rows} == groups
    assert {row[0] for row in ask(tmp_path, "select group_id from groups").rows} == groups
    for group_id in groups:
        assert lines_of(explanation_of(Home(tmp_path), group_id))
    page.close()
    assert [text for text in sayings(caplog) if "of group 'bad'" in text and "is longer than" in text] == sayings(
        caplog
    )
    assert len(sayings(caplog)) == 1


BROKEN_DETAILS = {"no JSON": "{broken", "another type": '[1, "x"]', "wrong fields": '{"to_state": 7, "beats": "x"}'}


@pytest.mark.parametrize("detail", BROKEN_DETAILS.values(), ids=BROKEN_DETAILS)
def test_a_broken_row_costs_every_reader_that_row_alone(
    tmp_path: Path, detail: str, caplog: pytest.LogCaptureFixture
) -> None:
    add(tmp_path, "before")
    page, watch = History(tmp_path), Watch(tmp_path)
    page.refresh()
    page.make_lists()
    rows = story().rows
    place = next(place for place, row in enumerate(rows) if row.effect == "state_changed")
    rows[place] = msgspec.structs.replace(rows[place], detail=detail)
    write_effects(tmp_path, {"bad": rows})
    add(tmp_path, "after")
    page.refresh()
    page.make_lists()
    assert {row["group_id"] for row in page.all("SELECT group_id FROM all_groups")} >= {"before", "after"}
    gateway = TablesBackend(tmp_path, Settings(), RequestTable(tmp_path, "gw"), "gw")
    gateway._learn_history()
    assert {"before", "after"} <= gateway.known.by_id.keys()
    assert any("after" in line for line in watch.look())
    assert {row[0] for row in ask(tmp_path, "select group_id from groups").rows} >= {"before", "after"}
    assert lines_of(explanation_of(Home(tmp_path), "bad"))
    assert lines_of(explanation_of(Home(tmp_path), "after"))
    page.close()
    assert [text for text in sayings(caplog) if "seq" in text]
