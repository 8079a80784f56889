"""The wheel is the whole product: unpacked anywhere, without the checkout and without Java, it shows its demo."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from urllib.request import urlopen

import pytest

from rollcall.inputs.printed.dialects.catalog import DIALECTS
from tests.source_tree import ROOT
from tests.waiting import until

EXPLAINED = ("was silent for its whole session timeout (45 s) and was removed", "records waited longer")
WITHIN_S = 60.0
"""A busy machine's; alone it takes four."""
NOT_COPIED = (".*", "build", "dist", "docs", "tests", "benchmarks", "*.egg-info", "__pycache__")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the wheel was unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    # Of a copy, since setuptools takes what an earlier build left behind.
    shutil.copytree(ROOT, folder / "source", ignore=shutil.ignore_patterns(*NOT_COPIED))
    building = ["wheel", "-q", "--no-build-isolation", "--no-deps", "--no-index", "-w", str(folder), "./source"]
    subprocess.run([sys.executable, "-m", "pip", *building], cwd=folder, check=True)
    (wheel,) = folder.glob("rollcall-*.whl")
    with zipfile.ZipFile(wheel) as files:
        files.extractall(folder / "site")
    return folder / "site"


def environ(installed: Path, folder: Path) -> dict[str, str]:
    """Of a machine that has the wheel and no Java."""
    kept = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"}
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
