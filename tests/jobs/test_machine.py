"""What a machine gives to a home at its first start, and that a home keeps what it was made with."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from rollcall.jobs.spark.machine import GIB, Machine, this_machine
from rollcall.jobs.spark.session import keep_partitions, read_profile
from rollcall.programs.version import VERSION
from rollcall.tables.home import LIVE, Home
from tests.source_tree import ROOT

EIGHT = Machine(8, 32 * GIB)


def begun(home: Home, partitions: int) -> None:
    """A checkpoint as Spark begins it: one batch, whose settings name the partitions."""
    offsets = Path(home.checkpoint) / "offsets"
    offsets.mkdir(parents=True)
    settings = {"conf": {"spark.sql.shuffle.partitions": str(partitions)}}
    (offsets / "0").write_text(f"v1\n{json.dumps(settings)}\n{{}}")


@pytest.mark.parametrize(
    ("machine", "master", "heap", "partitions"),
    [
        (EIGHT, "local[8]", "8192m", "8"),
        (Machine(2, 8 * GIB), "local[2]", "2048m", "2"),
        (Machine(1, 2 * GIB), "local[2]", "1024m", "2"),
        (Machine(2, 6 * GIB), "local[2]", "2048m", "2"),
        (Machine(64, 16 * GIB), "local[64]", "4096m", "16"),
        (Machine(96, 512 * GIB), "local[96]", "28672m", "96"),
    ],
)
def test_a_session_takes_all_cores_a_part_of_the_memory_and_a_partition_for_each_core(
    machine: Machine, master: str, heap: str, partitions: str
) -> None:
    assert machine.spark_settings() == {
        "spark.master": master,
        "spark.driver.memory": heap,
        "spark.sql.shuffle.partitions": partitions,
    }


def test_the_profile_leaves_to_the_machine_what_is_the_machines() -> None:
    assert not read_profile().keys() & this_machine().spark_settings().keys()


def test_a_containers_limits_count_where_they_are_less_than_the_system_has(tmp_path: Path) -> None:
    whole = this_machine(tmp_path)
    assert whole.cores >= 1
    (tmp_path / "cpu.max").write_text("max 100000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert this_machine(tmp_path) == whole
    (tmp_path / "cpu.max").write_text("50000 100000\n")
    (tmp_path / "memory.max").write_text(f"{GIB // 2}\n")
    assert this_machine(tmp_path) == Machine(1, GIB // 2)
    (tmp_path / "cpu.max").write_text("100000000 100000\n")
    assert this_machine(tmp_path).cores == whole.cores


def test_a_new_home_takes_the_sessions_partitions_and_says_what_it_was_made_with(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.check_kind(LIVE, "driver")
    assert keep_partitions(home, 8, EIGHT) == (8, "")
    note = home.read_note()
    assert (note["kind"], note["made_with"]) == (
        "live",
        {"version": VERSION, "cores": 8, "memory_bytes": 32 * GIB, "shuffle_partitions": 8},
    )


def test_a_home_keeps_its_partitions_on_another_machine_and_says_so(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.check_kind(LIVE, "driver")
    keep_partitions(home, 8, EIGHT)
    begun(home, 8)
    made = home.read_note()
    assert keep_partitions(home, 8, EIGHT) == (8, "")
    kept, word = keep_partitions(home, 2, Machine(2, 8 * GIB))
    assert kept == 8
    assert word == (f"{tmp_path} was made with 8 shuffle partitions and keeps them; a new one gets 2 here.")
    assert home.read_note() == made


def test_a_home_that_never_ran_a_batch_takes_the_machine_that_it_is_on(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.check_kind(LIVE, "driver")
    keep_partitions(home, 8, EIGHT)
    (tmp_path / "checkpoint" / "offsets").mkdir(parents=True)
    assert keep_partitions(home, 2, Machine(2, 8 * GIB)) == (2, "")
    assert home.read_note()["made_with"]["shuffle_partitions"] == 2


def test_a_home_from_before_the_note_keeps_what_its_checkpoint_has(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.check_kind(LIVE, "driver")
    begun(home, 2)
    kept, word = keep_partitions(home, 8, EIGHT)
    assert (kept, "was made with 2 shuffle partitions" in word) == (2, True)
    assert "made_with" not in home.read_note()


def test_the_version_is_the_projects() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == VERSION
