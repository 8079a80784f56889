"""The wheel's three sizes, each installed in an environment of its own: what it takes, and what it can do.

Needs a package index, so it runs only where every suite is run whole.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.supply.built_wheel import built
from tests.supply.licences import RUN
from tests.supply.machines import LOG, PRINTED, refusal

MOST_BYTES = {"": 25_000_000, "history": 450_000_000, "spark": 1_100_000_000}
EXPLAINED = ["explain", str(PRINTED)]
REPLAYED = ["replay", str(LOG), "--home", "home"]
ASKED = ["sql", "select cause from rebalances", "--home", "home"]
WHY = "import rollcall; print(rollcall.open('home').why('clicks-agg'))"


class Environment:
    """A clean environment with the wheel in one size."""

    def __init__(self, folder: Path, wheel: Path, extra: str) -> None:
        self._folder, self._venv = folder, folder / "venv"
        uv = str(Path(sys.prefix, "bin", "uv"))
        environ = {**os.environ, "UV_CACHE_DIR": str(folder / "fetched"), "UV_SYSTEM_CERTS": "1"}
        environ.setdefault("UV_DEFAULT_INDEX", _index())
        named = f"rollcall[{extra}] @ {wheel.as_uri()}" if extra else f"rollcall @ {wheel.as_uri()}"
        making = [uv, "venv", "-q", "--python", sys.executable, str(self._venv)]
        subprocess.run(making, env=environ, check=True)
        python = str(self._venv / "bin" / "python")
        installing = [uv, "pip", "install", "-q", "--python", python, "--constraints", str(RUN), named]
        subprocess.run(installing, env=environ, check=True)

    @property
    def size_bytes(self) -> int:
        """Of all files that were installed; what Python compiles of them is not counted."""
        (packages,) = self._venv.glob("lib/python*/site-packages")
        return sum(path.stat().st_size for path in packages.rglob("*") if path.is_file() and path.suffix != ".pyc")

    def runs(self, program: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment, on a machine without Java."""
        environ = {key: value for key, value in os.environ.items() if key not in ("JAVA_HOME", "PYTHONPATH")}
        environ |= {"PATH": str(self._folder), "XDG_CACHE_HOME": str(self._folder / "cache")}
        command = [str(self._venv / "bin" / program), *words]
        return subprocess.run(
            command, cwd=self._folder, env=environ, capture_output=True, text=True, check=False, timeout=200
        )


def _index() -> str:
    asked = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    found = os.environ.get("PIP_INDEX_URL") or subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    return found.strip()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("wheel"))


@pytest.mark.nightly
@pytest.mark.parametrize("extra", MOST_BYTES)
def test_a_size_is_small_enough_and_does_what_it_is_for(wheel: Path, tmp_path: Path, extra: str) -> None:
    environment = Environment(tmp_path, wheel, extra)
    assert environment.size_bytes <= MOST_BYTES[extra]
    explained = environment.runs("rollcall", *EXPLAINED)
    assert (explained.returncode, explained.stderr) == (0, "")
    assert "session expired" in explained.stdout
    if not extra:
        assert refusal("sql", "history").fullmatch(environment.runs("rollcall", *ASKED).stderr)
        return
    replayed = environment.runs("rollcall", *REPLAYED)
    assert replayed.returncode == 0, replayed.stderr
    assert "session_expired" in environment.runs("rollcall", *ASKED).stdout
    assert "WHO AND WHY" in environment.runs("python", "-c", WHY).stdout
    ran = environment.runs("rollcall", "run").stderr
    assert "Java was not found" in ran if extra == "spark" else refusal("run", "spark").fullmatch(ran)
