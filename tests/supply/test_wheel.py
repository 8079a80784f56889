"""The wheel is the whole product: unpacked anywhere, without the checkout and without Java, it shows its demo."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from urllib.request import urlopen

import pytest

from rollcall.inputs.printed.dialects.catalog import DIALECTS
from tests.source_tree import ROOT
from tests.supply.built_wheel import built
from tests.waiting import until

EXPLAINED = ("sent no heartbeat within its session timeout (45 s) and was removed", "records waited longer")
WITHIN_S = 60.0
"""A busy machine's; alone it takes four."""
LOG = ROOT / "tests" / "captures" / "d-kill" / "requests.log.gz"
OF_ITS_OWN = ("views", "schemas", "jobs", "coordinator_udfs", "conf")
"""Folders of a project that has the same names as folders of ours."""
ASKED = """
import jobs, schemas, views
import rollcall
from rollcall.__main__ import main
assert main(["replay", {log!r}, "--home", "home"]) == 0
print(rollcall.open("home").why("clicks-agg").text)
import jobs, schemas, views
assert {{one.OWNER for one in (jobs, schemas, views)}} == {{"the project"}}
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the wheel was unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(built(folder)) as files:
        files.extractall(folder / "site")
    return folder / "site"


def environ(installed: Path, folder: Path) -> dict[str, str]:
    """Of a machine that has the wheel and no Java, and of which this process has changed nothing for its Spark."""
    kept = {key: value for key, value in os.environ.items() if key not in ("JAVA_HOME", "PYTHONSAFEPATH")}
    return {**kept, "PATH": str(folder), "PYTHONPATH": str(installed), "XDG_CACHE_HOME": str(folder / "cache")}


def read(address: str) -> str:
    with urlopen(address, timeout=WITHIN_S) as page:
        return str(page.read().decode())


def test_the_demo_needs_neither_a_checkout_nor_java(installed: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rollcall", "demo", "--no-browser"]
    out = tmp_path / "out"
    with out.open("w") as file:
        program = subprocess.Popen(command, cwd=tmp_path, env=environ(installed, tmp_path), stdout=file, stderr=file)
    try:
        until(lambda: "Ctrl-C" in out.read_text() or program.poll() is not None, out.read_text, WITHIN_S)
        assert "http://127.0.0.1:" in out.read_text(), out.read_text()
        address = next(word for word in out.read_text().split() if word.startswith("http"))
        # A page that is asked before the history is read says so, and loads itself again.
        until(lambda: EXPLAINED[0] in read(address), lambda: read(address), WITHIN_S)
        assert EXPLAINED[1] in read(address)
        program.send_signal(signal.SIGINT)
        assert program.wait(WITHIN_S) in (0, 130)
        assert "Traceback" not in out.read_text()
    finally:
        program.kill()


@pytest.mark.parametrize(("words", "says"), [("run", "Java was not found"), ("sql --help", "Ask a home in SQL")])
def test_a_command_says_what_it_lacks(installed: Path, tmp_path: Path, words: str, says: str) -> None:
    command = [sys.executable, "-m", "rollcall", *words.split()]
    done = subprocess.run(
        command, cwd=tmp_path, env=environ(installed, tmp_path), capture_output=True, text=True, check=False
    )
    assert says in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_a_project_with_folders_of_the_same_names_asks_and_is_left_alone(installed: Path, tmp_path: Path) -> None:
    for name in OF_ITS_OWN:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text('OWNER = "the project"\n')
    (tmp_path / "asked.py").write_text(ASKED.format(log=str(LOG)))
    env = environ(installed, tmp_path)
    for command in (["asked.py"], ["-m", "rollcall", "sql", "--home", "home", "select cause from rebalances"]):
        done = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert "session expired" in done.stdout.replace("_", " ")


def test_what_it_packs_for_a_cluster_is_the_project_alone(installed: Path, tmp_path: Path) -> None:
    (installed / "another").mkdir(exist_ok=True)
    (installed / "another" / "__init__.py").touch()
    command = [sys.executable, "-m", "rollcall", "package", "packed.zip"]
    subprocess.run(command, cwd=tmp_path, env=environ(installed, tmp_path), check=True, capture_output=True)
    with zipfile.ZipFile(tmp_path / "packed.zip") as packed:
        found = {tuple(name.split("/")[:2]) for name in packed.namelist()}
    assert {top for top, _ in found} == {"rollcall"}
    assert {"jobs", "coordinator_udfs", "schemas"} <= {room for _, room in found}
    command = [
        sys.executable,
        "-c",
        "from rollcall.inputs.printed.dialects.catalog import DIALECTS as d; print(len(d))",
    ]
    env = {**os.environ, "PYTHONPATH": "packed.zip"}
    done = subprocess.run(command, cwd=tmp_path, env=env, check=True, capture_output=True, text=True)
    assert done.stdout.split() == [str(len(DIALECTS))]
