"""What every test shares: how hypothesis looks for examples, one Spark session, and which tests run side by side.

Must not know any layer of the project but the one place that makes a Spark session.

HYPOTHESIS_PROFILE=wide looks at ten times as many examples as the default, and at others each time, as `make test-all`
does; deep looks at many more, which takes minutes. Both keep what they find in build/hypothesis: it becomes a case.

A test that is marked `nightly` takes long and seldom finds what others do not: it runs where NIGHTLY=all, as in
`make test-all`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.internal.conjecture import providers

from rollcall.programs.guardian import guard
from tests.brief_java import BRIEF_SPARK
from tests.last_lines import LastLines
from tests.source_tree import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# No deadline: the machine is shared. The same examples everywhere and every time, so that a change is refused for what
# it does, and a red run can be repeated. Hypothesis has other defaults where CI is set, so all are said here.
_ALWAYS = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fixed", _ALWAYS, max_examples=30, derandomize=True, database=None)
_KEPT = DirectoryBasedExampleDatabase(ROOT / "build" / "hypothesis")
settings.register_profile("wide", _ALWAYS, max_examples=300, derandomize=False, database=_KEPT)
settings.register_profile("deep", _ALWAYS, max_examples=5000, derandomize=False, database=_KEPT)
_PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "fixed")
settings.load_profile(_PROFILE)
if _PROFILE == "fixed":
    # It also draws constants of the modules that happen to be imported, which differ with what a worker ran before.
    providers._get_local_constants = lambda: providers._local_constants

os.environ.setdefault("SPARK_SUBMIT_OPTS", BRIEF_SPARK)
# A format in the folder of who runs the tests would read their lines too.
os.environ["ROLLCALL_FORMATS"] = ""

# Tests start hundreds of Pythons. Where none may keep what it compiles beside the sources, each compiles all of Spark's
# and Arrow's modules anew, which takes a second and more.
if sys.dont_write_bytecode:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    sys.pycache_prefix = os.environ.setdefault("PYTHONPYCACHEPREFIX", str(ROOT / "build" / "bytecode"))

SPARK_WORKER_MODULES = (
    "pyspark.worker, pyspark.sql.worker.plan_data_source_read, pyspark.sql.streaming.python_streaming_source_runner, "
    "rollcall.jobs.spark.daemon, rollcall.jobs.spark.lean_worker, rollcall.jobs.stream.query, "
    "deltalake, pandas, pyarrow"
)
"""What Spark's Python workers import. One that does not answer within ten seconds fails its query. So they are compiled
before three Sparks start at once, on two cores.
"""

# Programs name commands as if they were typed without make, also under `make test`.
os.environ.pop("MAKELEVEL", None)

# Failed assertions in these modules show as much as those in test modules.
_RULES = ("consumer_rules", "consumer_protocol_rules", "tool_rules")
pytest.register_assert_rewrite(*(f"tests.peers_clients.{name}" for name in _RULES))


def pytest_configure(config: pytest.Config) -> None:
    """What tests start ends with their run, also where it is killed; a red run ends with what failed."""
    if not hasattr(config, "workerinput"):
        guard()
        config.pluginmanager.register(LastLines(config))
        if config.getoption("numprocesses", None):
            subprocess.run([sys.executable, "-c", f"import {SPARK_WORKER_MODULES}"], cwd=ROOT, check=True)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The Spark session of all tests of a run: it takes ten seconds to start and to warm up."""
    from rollcall.jobs.spark.session import spark_session

    session = spark_session("rollcall tests")
    yield session
    session.stop()


# ---------------------------------------------------------------- three workers


SPARK_FOLDERS = ("streaming", "views")
"""The tests that use the one Spark session: one worker has all of them."""
ELSEWHERE_FOLDERS = ("engines", "upgrade")
"""Tests with a Spark session in runs of their own: what asks both engines the same, and what opens earlier homes."""
SLOW_FOLDERS = (
    *("readme", "cluster", "image", "chart", "notebooks", "upgrade", "monitoring"),
    *("peers_apps", "peers_job", "peers_kafka", "peers_lag"),
)
"""Their tests start brokers, clusters and whole programs: what hangs is ended later than elsewhere."""
SLOW_TIMEOUT_S = 1200
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
        if folder in SLOW_FOLDERS and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(SLOW_TIMEOUT_S))
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
    if os.environ.get("NIGHTLY") == "all":
        return []
    return [item for item in items if item.get_closest_marker("nightly")]


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
    if folder in (*SPARK_FOLDERS, "peers_job", "cluster"):
        return 0
    return 1 + PROGRAM_FOLDERS.index(folder) if folder in PROGRAM_FOLDERS else 1 + len(PROGRAM_FOLDERS)


def _folder_of(nodeid: str) -> str:
    """`streaming` of tests/streaming/test_live.py::test_x."""
    return nodeid.split("/")[1] if nodeid.count("/") > 1 else ""
