"""What every test shares: how hypothesis looks for examples, one Spark session, and which tests run side by side.

Must not know any layer of the project but the one place that makes a Spark session.

HYPOTHESIS_PROFILE=deep looks at fifty times as many examples as the default, `ci`; it takes minutes.

A test that is marked `nightly` takes long and seldom finds what others do not. NIGHTLY=all runs all of them, none
runs none; else one in three runs, other ones with each commit.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.brief_java import BRIEF_SPARK
from tests.source_tree import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# No deadline: the machine is shared. In CI the same examples every time, so that a red run can be repeated.
settings.register_profile("ci", deadline=None, max_examples=100, derandomize="CI" in os.environ, print_blob=True)
settings.register_profile("deep", deadline=None, max_examples=5000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

os.environ.setdefault("SPARK_SUBMIT_OPTS", BRIEF_SPARK)

# Tests start hundreds of Pythons. Where none may keep what it compiles beside the sources, each compiles all of Spark's
# and Arrow's modules anew, which takes a second and more.
if sys.dont_write_bytecode:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    sys.pycache_prefix = os.environ.setdefault("PYTHONPYCACHEPREFIX", str(ROOT / "build" / "bytecode"))

# Programs name commands as if they were typed without make, also under `make test`.
os.environ.pop("MAKELEVEL", None)

# Assertions in these modules tell as much as those in test modules.
_RULES = ("consumer_rules", "consumer_protocol_rules", "tool_rules")
pytest.register_assert_rewrite(*(f"tests.peers_clients.{name}" for name in _RULES))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The Spark session of all tests of a run: it takes ten seconds to start and to warm up."""
    from jobs.spark.session import spark_session

    session = spark_session("rollcall tests")
    yield session
    session.stop()


# ---------------------------------------------------------------- three workers


SPARK_FOLDERS = ("streaming", "views")
"""The tests that use the one Spark session: one worker has all of them."""
ELSEWHERE_FOLDERS = ("engines", "upgrade")
"""Tests with a Spark session in runs of their own: what asks both engines the same, and what opens earlier homes."""
NIGHTLY_ONE_IN = 3
LONGEST_CAPTURE = "j-busy-1"
"""It has twenty times as many lines as most others: its tests are nightly, but for the views', which are quick."""
PROGRAM_FOLDERS = ("run", "spark_programs", "notebooks", "readme")
"""The tests that start Spark in programs of their own, which takes tens of seconds."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves nightly tests out, marks tests by their folder, and begins with those that take longest.

    So no worker ends alone with them.
    """
    places = (*SPARK_FOLDERS, *ELSEWHERE_FOLDERS)
    for item in items:
        folder = _folder_of(item.nodeid)
        if folder in PROGRAM_FOLDERS:
            item.add_marker("programs")
        if LONGEST_CAPTURE in item.nodeid and folder != "views":
            item.add_marker("nightly")
        if "spark" in getattr(item, "fixturenames", ()) and folder not in places:
            raise pytest.UsageError(f"{item.nodeid} uses the Spark session: its place is {' or '.join(places)}")
    left_out = _nightly_left_out(items)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
    items.sort(key=lambda item: _turn(_folder_of(item.nodeid)))


def _nightly_left_out(items: list[pytest.Item]) -> list[pytest.Item]:
    asked = os.environ.get("NIGHTLY", "")
    nightly = [item for item in items if item.get_closest_marker("nightly")]
    if asked == "all" or not nightly:
        return []
    if asked == "none":
        return nightly
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=os.path.dirname(__file__), capture_output=True, check=False)
    return [item for item in nightly if zlib.crc32(done.stdout + item.nodeid.encode()) % NIGHTLY_ONE_IN]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Gives each worker of `-n 3` whole scopes, in the order above."""
    from xdist.scheduler import LoadScopeScheduling

    class Scopes(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _scope_of(nodeid)

    return Scopes(config, log)


def _scope_of(nodeid: str) -> str:
    """What one worker runs as a whole: all tests of the Spark session, a test of `make run`, else a file."""
    folder = _folder_of(nodeid)
    if folder in SPARK_FOLDERS:
        return "the Spark session"
    if folder in ("peers_job", "peers_lag"):
        return folder
    if "/cluster/test_elsewhere" in nodeid:
        return "the home elsewhere"
    return nodeid if folder == "run" else nodeid.partition("::")[0]


def _turn(folder: str) -> int:
    if folder in (*SPARK_FOLDERS, "peers_job"):
        return 0
    return 1 + PROGRAM_FOLDERS.index(folder) if folder in PROGRAM_FOLDERS else 1 + len(PROGRAM_FOLDERS)


def _folder_of(nodeid: str) -> str:
    """`streaming` of tests/streaming/test_live.py::test_x."""
    return nodeid.split("/")[1] if nodeid.count("/") > 1 else ""
