"""What the project stands on is pinned by its bytes, its licences are listed, and a bill of it can be made."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.source_tree import ROOT
from tests.supply.licences import BUILD, DEV, NOTEBOOK, RUN, locked, page

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
RUNS = [*PROJECT["project"]["dependencies"], *EXTRAS["history"], *EXTRAS["spark"]]
"""What set-up installs of what the project names."""
SUM = re.compile(r"[0-9a-f]{64}  [A-Za-z0-9._+-]+\.jar")


def pins(lock: Path) -> set[tuple[str, str]]:
    """Names and versions of a lock."""
    return {(str(canonicalize_name(each.name)), str(each.specifier)) for each in locked(lock)}


def named(words: list[str]) -> set[tuple[str, str]]:
    """Those that requirements name, the project's own extras apart."""
    found = [Requirement(word) for word in words]
    return {(str(canonicalize_name(each.name)), str(each.specifier)) for each in found if each.name != "rollcall"}


@pytest.mark.parametrize("lock", [BUILD, RUN, DEV, NOTEBOOK], ids=lambda lock: lock.stem)
def test_every_package_is_one_version_and_has_the_sums_of_its_files(lock: Path) -> None:
    blocks = re.split(r"^(?=[A-Za-z0-9])", lock.read_text(), flags=re.MULTILINE)[1:]
    assert len(blocks) == len(locked(lock))
    assert [
        block.splitlines()[0] for block in blocks if not re.search(r"--hash=sha256:[0-9a-f]{64}$", block.rstrip())
    ] == []
    assert all(str(each.specifier).startswith("==") and "," not in str(each.specifier) for each in locked(lock))
    assert "://" not in lock.read_text()


def test_the_locks_hold_what_the_project_pins() -> None:
    extras = [word for words in EXTRAS.values() for word in words]
    assert named(RUNS) <= pins(RUN)
    assert named(extras) <= pins(DEV) | pins(NOTEBOOK)
    assert pins(RUN) <= pins(DEV)
    installer = [word for word in extras if word.startswith("uv==")]
    assert named([*PROJECT["build-system"]["requires"], *installer]) == pins(BUILD)


def test_what_is_installed_is_what_the_lock_says() -> None:
    wanted = {
        canonicalize_name(each.name): str(each.specifier)[2:]
        for each in locked(DEV)
        if each.marker is None or each.marker.evaluate()
    }
    here = {canonicalize_name(each.name): each.version for each in distributions()}
    assert {name: here.get(name) for name in wanted if name != "pip"} == {k: v for k, v in wanted.items() if k != "pip"}


def test_a_set_up_lacks_no_dependency_and_keeps_no_second_copy_of_what_it_fetched() -> None:
    checked = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
    assert not Path(sys.prefix, "fetched").exists()


def test_every_installed_package_of_the_lock_says_its_licence() -> None:
    rows = [line for line in page().splitlines() if line.endswith((" | run |", " | dev |"))]
    assert len(rows) > 100
    assert [row for row in rows if "UNKNOWN" in row] == []


def test_a_bill_of_materials_lists_them_by_version_and_licence(tmp_path: Path) -> None:
    bill = tmp_path / "bill.json"
    command = [
        sys.executable,
        "-m",
        "cyclonedx_py",
        "environment",
        "--no-validate",
        "--pyproject",
        str(ROOT / "pyproject.toml"),
    ]
    subprocess.run([*command, "--output-file", str(bill), sys.prefix], check=True, capture_output=True)
    reported = json.loads(bill.read_text())
    assert reported["bomFormat"] == "CycloneDX"
    assert (reported["metadata"]["component"]["name"], reported["metadata"]["component"]["version"]) == (
        "rollcall",
        PROJECT["project"]["version"],
    )
    components = {(str(canonicalize_name(each["name"])), f"=={each['version']}") for each in reported["components"]}
    assert named(RUNS) <= components
    assert all(
        each.get("licenses") for each in reported["components"] if each["name"] in ("msgspec", "duckdb", "pyspark")
    )


def test_every_jar_that_tests_fetch_has_a_sum_beside_its_pom() -> None:
    poms = sorted(ROOT.glob("tests/peers_*/*/pom.xml"))
    assert len(poms) >= 4
    for pom in poms:
        lines = pom.with_name("jars.sha256").read_text().splitlines()
        assert lines
        assert [line for line in lines if not SUM.fullmatch(line)] == []
