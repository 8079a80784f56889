"""Each command runs with the packages of its own extra, and says which line installs that one if it is missing."""

from __future__ import annotations

import signal
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from rollcall.__main__ import PLACES
from rollcall.programs.extras import EXTRAS, missing_extra
from tests.child import Child
from tests.source_tree import ROOT
from tests.supply.machines import LOG, PRINTED, Machine, refusal

DUMP = ROOT / "tests" / "captures" / "q-consumer-slow" / "offsets-topic.jsonl.gz"
NEEDED = {
    "": {
        "explain": [str(PRINTED)],
        "formats": ["check"],
        "package": ["packed.zip"],
        "trace": ["--help"],
    },
    "history": {
        "replay": [str(LOG), "--home", "home"],
        "sql": ["select cause from rebalances", "--home", "home"],
        "why": ["clicks-agg", "--home", "home"],
        "lag": ["--home", "home"],
        "pictures": ["clicks-agg", "--home", "home"],
        "whatif": [str(LOG), "--set", "static=true"],
        "status": ["home"],
        "check": ["home"],
        "doctor": ["--home", "home"],
        "alerts": ["history", "--home", "home"],
        "page": ["--home", "home", "--listen", "127.0.0.1:0"],
        "export": ["--home", "home", "--listen", "127.0.0.1:0"],
        "gateway": ["--home", "home", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"],
        "demo": ["--no-browser"],
        "shadow": [str(LOG), "--home", "followed"],
    },
    "spark": {
        "run": ["--no-demo"],
        "maintain": [],
        "repartition": ["--partitions", "4"],
    },
}
"""Words with which each command gets as far as it needs its extra; in the order in which they can be run."""
SERVERS = ("page", "export", "gateway", "demo", "shadow")
BY_SPARK = (
    ["sql", "select 1", "--engine", "spark"],
    ["replay", str(LOG), "--engine", "spark"],
)
"""Words that need it of commands that do without it otherwise."""
NAMED_OTHERWISE = {"kafka-python": "kafka", "delta-spark": "delta"}
BROUGHT_ALONG = {"numpy", "py4j"}
"""What pandas and pyspark pin, and we import too."""


def commands(extra: str) -> list[list[str]]:
    return [[name, *words] for name, words in NEEDED[extra].items()]


def test_every_command_has_its_extra() -> None:
    named = [name for words in NEEDED.values() for name in words]
    assert sorted(named) == sorted(PLACES)


def test_the_extras_name_what_the_project_pins() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra, packages in EXTRAS.items():
        pinned = {Requirement(word).name for word in project[extra]} - {"rollcall"}
        imported = {NAMED_OTHERWISE.get(name, name.replace("-", "_")) for name in pinned}
        assert imported == {*packages} - BROUGHT_ALONG, extra


@pytest.fixture(scope="module")
def smallest(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return Machine(tmp_path_factory.mktemp("smallest"), EXTRAS)


def test_the_smallest_explains_files_of_every_kind(smallest: Machine) -> None:
    asked = [*commands(""), ["explain", str(LOG)], ["explain", str(LOG), str(PRINTED), "--format", "json"]]
    done = smallest.runs(*asked, ["explain", str(DUMP)], ["version"], ["help"], ["help", "sql"], ["formats"])
    assert [(one.status, one.err) for one in done] == [(0, "")] * len(done)
    assert "clicks-agg" in done[0].out
    assert "session expired" in done[0].out


def test_the_smallest_says_what_all_others_need(smallest: Machine) -> None:
    for extra in ("history", "spark"):
        done = smallest.runs(*commands(extra))
        for name, one in zip(NEEDED[extra], done, strict=True):
            assert one.status == 2, (name, one)
            assert refusal(name, extra).fullmatch(one.err), (name, one)
    for words, one in zip(BY_SPARK, smallest.runs(*BY_SPARK), strict=True):
        assert refusal(words[0], "spark").fullmatch(one.err), one


def test_homes_need_no_spark(tmp_path: Path) -> None:
    machine = Machine(tmp_path, ["spark"])
    asked = [words for words in commands("history") if words[0] not in SERVERS]
    for words, one in zip(asked, machine.runs(*asked), strict=True):
        assert "rollcall:" not in one.err, (words, one)
        # A machine may lack what doctor looks for.
        assert one.status == 0 or words[0] == "doctor", (words, one)
    servers = {name: Child(_command(name), tmp_path, machine.environ, tmp_path) for name in SERVERS}
    for name, server in servers.items():
        server.read_until("Ctrl-C")
        server.send_signal(signal.SIGINT)
        status, out, err = server.ended()
        assert status in (0, 130), (name, out, err)
        assert "Traceback" not in err, (name, err)


def _command(name: str) -> list[str]:
    return [sys.executable, "-m", "rollcall", name, *NEEDED["history"][name]]


def test_the_middle_says_what_spark_needs(tmp_path: Path) -> None:
    asked = [*commands("spark"), *BY_SPARK]
    for words, one in zip(asked, Machine(tmp_path, ["spark"]).runs(*asked), strict=True):
        assert one.status == 2, (words, one)
        assert refusal(words[0], "spark").fullmatch(one.err), (words, one)


def test_a_package_of_no_extra_is_our_mistake() -> None:
    assert missing_extra(ModuleNotFoundError("No module named 'x'", name="x"), "rollcall sql") is None
    assert "rollcall[history]" in str(missing_extra(ModuleNotFoundError(name="duckdb.sqltypes"), "rollcall sql"))
