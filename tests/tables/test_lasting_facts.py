"""What says how groups are now is the same from the whole history, and from the file that upkeep keeps and the rest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from hypothesis import given
from hypothesis import strategies as st

from rollcall.schemas.effect_names import LASTING
from rollcall.schemas.tables import EFFECTS, QUARANTINE
from rollcall.tables import lasting_facts as module
from rollcall.tables.delta_log import DeltaLog
from rollcall.tables.lasting_facts import FOLDER, Fact, keep_lasting_facts, lasting_facts
from rollcall.tables.upkeep import KeptTable, tend
from tests.examples import examples

NOW_MS = 1_700_000_000_000
DAY_MS = 86_400_000
Row = tuple[str, str, str | None]
"""Group, effect, member."""
CONFIGS = "group_configs_changed"
_MEMBERS = st.sampled_from(["m1", "m2"])


def possible(rows: Sequence[Row]) -> list[Row]:
    """Those of which each can follow those before: nothing happens to a group or member that is not there.

    The beginning of the history may be gone, and with it how a group or a member came.
    """
    kept: list[Row] = []
    gone: set[tuple[str, str | None]] = set()
    created: set[str] = set()
    joined: set[tuple[str, str | None]] = set()
    for group, effect, member in rows:
        is_there = (group, None) not in gone
        if effect == "group_created":
            gone.discard((group, None))
            created.add(group)
            joined = {one for one in joined if one[0] != group}
        elif not is_there and effect != CONFIGS:
            continue
        elif effect == "group_removed":
            gone.add((group, None))
        elif effect == "member_joined":
            joined.add((group, member))
            gone.discard((group, member))
        elif effect.startswith("member_"):
            if (group, member) in gone or (group in created and (group, member) not in joined):
                continue
            if effect == "member_removed":
                gone.add((group, member))
                joined.discard((group, member))
        kept.append((group, effect, member))
    return kept


ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "b"]), st.sampled_from([*(name.value for name in LASTING), "reply"]), _MEMBERS),
    max_size=40,
).map(possible)


def append(table: Path, rows: Sequence[Row], from_ms: int) -> None:
    """Two rows a millisecond; of a group's own facts no member is named."""
    made = [
        {
            "group_id": group,
            "effect": effect,
            "at_ms": from_ms + place // 2,
            "seq": place % 2,
            "member_id": member if effect.startswith("member_") else None,
            "detail": f'{{"place":{from_ms + place}}}',
            "at_date": (from_ms + place // 2) // DAY_MS,
        }
        for place, (group, effect, member) in enumerate(rows)
    ]
    write_deltalake(
        str(table),
        pa.Table.from_pylist(made, schema=EFFECTS.arrow),
        mode="append",
        partition_by=list(EFFECTS.partition_by),
    )


def kept_files(table: Path) -> list[str]:
    return sorted(path.name for path in (table / FOLDER).iterdir())


def folded(rows: Sequence[Row]) -> dict[str, tuple[dict[str, int], dict[str, dict[str, int]]]]:
    """One row after the other, by the place of the latest of each kind: of groups, and of their members."""
    groups: dict[str, tuple[dict[str, int], dict[str, dict[str, int]]]] = {}
    gone: set[str] = set()
    for place, (group, effect, member) in enumerate(rows):
        if effect == "reply":
            continue
        if effect in ("group_created", "group_removed"):
            # What is set for a group outlives it.
            groups[group] = ({kind: at for kind, at in groups.get(group, ({}, {}))[0].items() if kind == CONFIGS}, {})
            gone.discard(group)
        if effect == "group_removed":
            gone.add(group)
        of_group, members = groups.setdefault(group, ({}, {}))
        if not effect.startswith("member_"):
            of_group[effect] = place
        elif effect in ("member_joined", "member_removed"):
            members[member or ""] = {effect: place}
        else:
            members.setdefault(member or "", {})[effect] = place
    for group in gone:
        groups[group][0].pop("group_removed")
    return groups


def as_folded(facts: Sequence[Fact]) -> dict[str, tuple[dict[str, int], dict[str, dict[str, int]]]]:
    groups: dict[str, tuple[dict[str, int], dict[str, dict[str, int]]]] = {}
    for fact in facts:
        of_group, members = groups.setdefault(fact.group_id, ({}, {}))
        place = 2 * fact.at_ms + fact.seq
        kinds = of_group if fact.member_id is None else members.setdefault(fact.member_id, {})
        kinds[fact.effect.value] = place
    return groups


@examples(10, 50)
@given(ROWS, st.integers(0, 30), st.integers(0, 30))
def test_the_file_and_the_rest_say_what_the_whole_history_says(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], first: int, second: int
) -> None:
    first, second = sorted((2 * (first // 2), 2 * (second // 2)))
    whole, bit_by_bit = (tmp_path_factory.mktemp("home") / "effects" for _ in range(2))
    append(whole, rows, 0)
    for begin, end in ((0, first), (first, second), (second, len(rows))):
        append(bit_by_bit, rows[begin:end], begin // 2)
        keep_lasting_facts(bit_by_bit)
        assert kept_files(bit_by_bit) == [f"{DeltaLog(bit_by_bit).latest():020d}.parquet"]
    found = lasting_facts(bit_by_bit)
    expected = {
        group: (of_group, {member: kinds for member, kinds in members.items() if "member_removed" not in kinds})
        for group, (of_group, members) in folded(rows).items()
    }
    assert as_folded(found.facts) == {group: each for group, each in expected.items() if each != ({}, {})}
    assert [fact[:5] for fact in found.facts] == [fact[:5] for fact in lasting_facts(whole).facts]
    assert [(fact.at_ms, fact.seq) for fact in found.facts] == sorted((fact.at_ms, fact.seq) for fact in found.facts)


CREATED: list[Row] = [("a", "group_created", None), ("a", "member_joined", "m1"), ("b", "group_created", None)]
LATER: list[Row] = [("b", "group_removed", None), ("c", "group_created", None)]


def groups_of(table: Path) -> set[str]:
    return {fact.group_id for fact in lasting_facts(table).facts}


def test_with_the_file_nothing_older_is_read(tmp_path: Path) -> None:
    append(tmp_path, CREATED, 0)
    keep_lasting_facts(tmp_path)
    for path in tmp_path.rglob("part-*.parquet"):
        path.unlink()
    append(tmp_path, LATER, 10)
    assert groups_of(tmp_path) == {"a", "c"}


def test_where_a_version_since_was_cleaned_away_the_history_is_read(tmp_path: Path) -> None:
    append(tmp_path, CREATED, 0)
    keep_lasting_facts(tmp_path)
    append(tmp_path, LATER, 10)
    append(tmp_path, [("d", "group_created", None)], 20)
    tend(KeptTable(QUARANTINE, str(tmp_path), 0, 60), NOW_MS, thorough=False)
    DeltaLog(tmp_path).commit_path(1).unlink()
    assert groups_of(tmp_path) == {"a", "c", "d"}


def test_a_torn_file_is_none(tmp_path: Path) -> None:
    append(tmp_path, CREATED, 0)
    keep_lasting_facts(tmp_path)
    (path,) = (tmp_path / FOLDER).iterdir()
    path.write_bytes(path.read_bytes()[:-10])
    assert groups_of(tmp_path) == {"a", "b"}


def test_upkeep_keeps_the_file_and_a_group_whose_old_rows_go(tmp_path: Path) -> None:
    kept = KeptTable(EFFECTS, str(tmp_path), rows_retention_hours=24, versions_retention_minutes=0)
    append(tmp_path, CREATED, NOW_MS - 10 * DAY_MS)
    append(tmp_path, LATER, NOW_MS)
    tend(kept, NOW_MS, thorough=True)
    tend(kept, NOW_MS, thorough=True)
    assert len(kept_files(tmp_path)) == 1
    assert groups_of(tmp_path) == {"a", "c"}


def test_there_is_nothing_before_the_first_version(tmp_path: Path) -> None:
    assert lasting_facts(tmp_path / "none") == (-1, [])
    keep_lasting_facts(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_file_that_cannot_be_read_just_now_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(tmp_path, CREATED, 0)

    def fail(*_: Any) -> Any:
        raise duckdb.IOException("busy")

    monkeypatch.setattr(module, "_asked_of", fail)
    with pytest.raises(OSError, match="busy"):
        lasting_facts(tmp_path)
