"""Lag is the same of the commits that upkeep keeps and what came since, and of all commits, now and at any moment."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from rollcall.answers.sql import engine
from rollcall.schemas.effect_rows import EffectRow, row_of
from rollcall.schemas.effects import OffsetCommitted, OffsetsCommitted
from rollcall.schemas.tables import EFFECTS
from rollcall.tables import recent_commits
from rollcall.tables.appending import append, open_table
from rollcall.tables.duck_database import open_database
from rollcall.tables.properties import table_properties
from rollcall.tables.recent_commits import (
    FOLDER,
    PERIOD_MS,
    PERIODS,
    WHOLE_MS,
    keep_recent_commits,
    with_recent_commits,
)
from rollcall.tables.rows import with_days
from rollcall.tables.upkeep import KeptTable, tend
from tests.lag.homes import ends, write_home
from tests.views.story import write_effects
from tests.views.view_rows import Row, rows_of

DAY_MS, HOUR_MS = 86_400_000, 3_600_000
BEGIN_MS = 1_772_323_200_000
_GIVEN = pa.schema([field for field in EFFECTS.arrow if field.name != "at_date"])
Commit = tuple[str, int, int, tuple[int, ...]]
"""Group, moment, seq, and the partitions that are named."""


def committed(commits: Sequence[Commit]) -> dict[str, list[EffectRow]]:
    rows: dict[str, list[EffectRow]] = {}
    for group_id, at_ms, seq, partitions in commits:
        offsets = [
            OffsetCommitted(
                topic="t",
                partition=partition,
                committed_offset=(at_ms - BEGIN_MS) // 40_000 + partition,
                leader_epoch=-1,
                metadata="",
                commit_timestamp_ms=at_ms,
            )
            for partition in partitions
        ]
        fact = OffsetsCommitted(at_ms=at_ms, request_id="r", member_id="m", generation_id=1, offsets=offsets)
        rows.setdefault(group_id, []).append(row_of(fact, seq))
    return rows


def random_commits(chance: random.Random) -> list[Commit]:
    """Of two days: groups commit now these partitions, now those, at times each few seconds, then not for hours."""
    made = list[Commit]()
    for number in range(6):
        at_ms = BEGIN_MS
        ways: list[tuple[int, ...]] = chance.choice([[(0, 1)], [(0,), (1,)], [(0, 1), (0,), (2,)]])
        while at_ms < BEGIN_MS + 2 * DAY_MS:
            step_ms = chance.choice([1000, 9000, 30_000, 59_999, 60_000, 60_001, HOUR_MS // 2, 3 * HOUR_MS])
            for _ in range(chance.randrange(1, 8)):
                at_ms += step_ms
                made.append((f"g{number}", at_ms, len(made), chance.choice(ways)))
    return sorted(made, key=lambda commit: commit[1])


def lag(home: Path, until_ms: int | None) -> list[Row]:
    return sorted(rows_of(home, "lag", until_ms), key=lambda row: (row.group_id, row.topic, row.partition))


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each question whether it was answered by what is kept."""
    found = list[bool]()
    known = with_recent_commits

    def noted(*of: object) -> object:
        source = known(*of)  # type: ignore[arg-type]
        found.append(source is not None)
        return source

    monkeypatch.setattr(engine, "with_recent_commits", noted)
    return found


def by_all_commits(home: Path, until_ms: int | None) -> list[Row]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "with_recent_commits", lambda *_: None)
        return lag(home, until_ms)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (1, 2))])
def test_lag_is_that_of_all_commits_whenever_it_is_asked(
    tmp_path: Path, seed: int, served: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of the commits is appended late, some files are put together between, old rows go, and each file is read
    by itself."""
    monkeypatch.setattr(recent_commits, "STEP_BYTES", 1)
    chance = random.Random(seed)
    commits = random_commits(chance)
    late = set(chance.sample(range(len(commits)), len(commits) // 20))
    pieces: list[list[Commit]] = [[] for _ in range(5)]
    for place, commit in enumerate(commits):
        pieces[min(place * 5 // len(commits) + (2 if place in late else 0), 4)].append(commit)
    samples = ((at_ms, (at_ms - BEGIN_MS) // 40_000 + 50) for at_ms in range(BEGIN_MS, BEGIN_MS + 2 * DAY_MS, HOUR_MS))
    write_home(tmp_path, [], [end for sample in samples for part in range(3) for end in ends(sample, partition=part)])
    kept = KeptTable(EFFECTS, str(tmp_path / EFFECTS.name), chance.choice([0, 20]), 60)
    for number, piece in enumerate(pieces):
        write_effects(tmp_path, committed(piece))
        if number < 4:
            tend(kept, piece[-1][1], thorough=number % 2 == 1)
        if number in (1, 4):
            moments = [None, *(BEGIN_MS + chance.randrange(2 * DAY_MS) for _ in range(2))]
            moments += [piece[-1][1] - chance.randrange(PERIODS * PERIOD_MS) for _ in range(2)]
            moments += [piece[-1][1] - chance.randrange(2 * WHOLE_MS) for _ in range(2)]
            for until_ms in moments:
                assert lag(tmp_path, until_ms) == by_all_commits(tmp_path, until_ms), until_ms
    assert served[0]
    assert served.count(True) >= len(served) // 3
    assert not all(served)


def test_the_history_of_commits_is_not_read(tmp_path: Path) -> None:
    """Of thousands of commits all of the latest period are kept, else a handful for each period and all time before.

    So a minute before the latest commit nothing else is read either.
    """
    commits: list[Commit] = [("g", BEGIN_MS + 10_000 * number, number, (0, 1)) for number in range(8640)]
    write_effects(tmp_path, committed(commits))
    table = tmp_path / EFFECTS.name
    keep_recent_commits(table)
    (path,) = (table / FOLDER).iterdir()
    with open_database() as database:
        (count,) = database.execute(f"SELECT count(*) FROM read_parquet('{path}')").fetchone() or (0,)
        files = [str(found) for found in table.glob("*/*.parquet") if found.parent.name != FOLDER]
        now = with_recent_commits(database, table, files, None)
        assert now is not None
        assert now == with_recent_commits(database, table, files, commits[-1][1] - WHOLE_MS)
        assert now != with_recent_commits(database, table, files, commits[-1][1] - 2 * PERIOD_MS)
    assert 0 < count <= (PERIODS + 2) * 8 + 2 * PERIOD_MS // 10_000


@pytest.mark.parametrize(("partitions", "count", "memory_mb"), [(20, 20_000, 72), (200, 3000, 128)])
def test_a_history_many_times_larger_than_memory_is_kept_in_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, partitions: int, count: int, memory_mb: int
) -> None:
    """Two groups commit each second, in four files: hundreds of MB of JSON, of which some count."""
    monkeypatch.setattr(recent_commits, "_MEMORY_MB", memory_mb)
    monkeypatch.setattr(recent_commits, "STEP_BYTES", 1)
    (row,) = committed([("g", BEGIN_MS, 0, tuple(range(partitions)))])["g"]
    assert row.detail is not None
    table, parts = tmp_path / EFFECTS.name, 4
    write_effects(tmp_path, {"g": [row]})
    for part in range(parts):
        rows = [
            {name: getattr(row, name) for name in EFFECTS.names if name != "at_date"}
            | {"group_id": group_id, "at_ms": BEGIN_MS + 1000 * number, "seq": number}
            for group_id in ("g", "h")
            for number in range(part * count, (part + 1) * count)
        ]
        append(open_table(table, EFFECTS, table_properties()), with_days(pa.Table.from_pylist(rows, _GIVEN), EFFECTS))
    assert len(row.detail) * 2 * parts * count > 4_000_000 * memory_mb
    keep_recent_commits(table)
    with open_database() as database:
        files = [str(found) for found in table.glob("*/*.parquet") if found.parent.name != FOLDER]
        assert with_recent_commits(database, table, files, None) is not None


def test_what_is_put_together_is_kept_once(tmp_path: Path) -> None:
    table = tmp_path / EFFECTS.name
    for number in range(3):
        write_effects(tmp_path, committed([("g", BEGIN_MS + 1000 * number, number, (0,))]))
        keep_recent_commits(table)
    tend(KeptTable(EFFECTS, str(table), 0, 60), BEGIN_MS, thorough=True)
    (path,) = (table / FOLDER).iterdir()
    with open_database() as database:
        assert database.execute(f"SELECT seq FROM read_parquet('{path}') ORDER BY seq").fetchall() == [(0,), (1,), (2,)]


def test_a_removed_row_is_not_read_from_the_file(tmp_path: Path, served: list[bool]) -> None:
    write_effects(tmp_path, committed([("gone", BEGIN_MS, 0, (0,)), ("stays", BEGIN_MS + 9 * DAY_MS, 1, (0,))]))
    table = tmp_path / EFFECTS.name
    keep_recent_commits(table)
    assert [row.group_id for row in lag(tmp_path, None)] == ["gone", "stays"]
    tend(KeptTable(EFFECTS, str(table), 24, 60), BEGIN_MS + 9 * DAY_MS, thorough=True)
    assert [row.group_id for row in lag(tmp_path, None)] == ["stays"]
    assert served == [True, True]


def test_a_file_that_cannot_be_read_costs_time_alone(tmp_path: Path, served: list[bool]) -> None:
    commits: list[Commit] = [("g", BEGIN_MS + number, number, (number % 2,)) for number in range(50)]
    write_effects(tmp_path, committed(commits))
    keep_recent_commits(tmp_path / EFFECTS.name)
    expected = lag(tmp_path, None)
    (path,) = (tmp_path / EFFECTS.name / FOLDER).iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + bytes(200) + whole[204:])
    assert lag(tmp_path, None) == expected
    path.write_bytes(whole[:-10])
    assert lag(tmp_path, None) == expected
    assert served == [True, True, False]


def test_what_reads_other_commits_too_reads_all(tmp_path: Path, served: list[bool]) -> None:
    commits: list[Commit] = [("g", BEGIN_MS + 20_000 * number, number, (0,)) for number in range(40)]
    write_effects(tmp_path, committed(commits))
    keep_recent_commits(tmp_path / EFFECTS.name)
    asked = "select count(*) from effects left join lag using (group_id)"
    assert list(engine.ask(tmp_path, asked).rows) == [(40,)]
    assert list(engine.ask(tmp_path, "select count(*) from offsets join lag using (group_id)").rows) == [(1,)]
    assert served == []
