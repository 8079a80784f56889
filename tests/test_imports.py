"""Imports go one way, and the pure layers stay pure: no Spark, no third party, no clock, no randomness.

Knows which layer may import which. A layer that is not there yet is simply without modules.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import sysconfig
from collections.abc import Collection
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.source_tree import ROOT, imported_names, is_within, modules, used_names

MODULES = modules()
PURE = ("rollcall.coordinator_udfs.protocol", "clients", "simulation", "why", "lag")


@dataclass(frozen=True)
class Layer:
    """What the modules of one package may import beside the standard library. packages: third parties by name."""

    own: tuple[str, ...]
    packages: tuple[str, ...] = ()
    third_party: bool = False
    pyspark: bool = False


# A module belongs to the longest name that it lies within.
LAYERS = {
    "programs": Layer(own=("programs",), third_party=True),
    # These run before .venv exists.
    "rollcall.programs.errors": Layer(own=()),
    "rollcall.programs.visible": Layer(own=()),
    "rollcall.programs.running": Layer(own=("rollcall.programs.errors", "rollcall.programs.visible")),
    "schemas": Layer(own=("schemas",), third_party=True),
    "clients": Layer(own=("clients", "schemas")),
    "rollcall.coordinator_udfs.protocol": Layer(own=("rollcall.coordinator_udfs.protocol", "schemas")),
    "rollcall.coordinator_udfs.protocol.consumer.patterns": Layer(own=(), packages=("re2",)),
    "coordinator_udfs": Layer(own=("coordinator_udfs", "schemas", "programs"), third_party=True),
    "rollcall.coordinator_udfs.group_udf": Layer(
        own=("coordinator_udfs", "schemas", "programs"), third_party=True, pyspark=True
    ),
    "lag": Layer(own=("lag",)),
    "tables": Layer(own=("tables", "lag", "schemas"), third_party=True),
    "simulation": Layer(own=("simulation", "clients", "rollcall.coordinator_udfs.protocol", "schemas")),
    "request_log": Layer(own=("request_log", "lag", "coordinator_udfs", "schemas", "programs"), third_party=True),
    "whatif": Layer(
        own=(
            "whatif",
            "lag",
            "request_log",
            "simulation",
            "clients",
            "rollcall.coordinator_udfs.protocol",
            "schemas",
            "programs",
            "why",
        ),
    ),
    "offsets_topic": Layer(own=("offsets_topic", "coordinator_udfs", "schemas", "programs", "why"), third_party=True),
    "app_logs": Layer(
        own=(
            *(
                "app_logs",
                "rollcall.schemas.causes",
                "rollcall.schemas.shapes",
                "rollcall.schemas.effects",
                "rollcall.schemas.consumer_effects",
            ),
            *("rollcall.coordinator_udfs.protocol.states", "rollcall.coordinator_udfs.protocol.consumer.states"),
            *("rollcall.history.words", "rollcall.programs.errors"),
        ),
        packages=("re2", "msgspec"),
    ),
    "views": Layer(
        own=(
            "views",
            "lag",
            "schemas",
            "rollcall.coordinator_udfs.protocol.states",
            "rollcall.coordinator_udfs.protocol.consumer.states",
        ),
        packages=("msgspec",),
    ),
    "duck_sql": Layer(own=("duck_sql", "views", "tables", "schemas", "rollcall.programs.errors"), third_party=True),
    "why": Layer(own=("why", "schemas")),
    "pictures": Layer(
        own=("pictures", "why", "rollcall.answers.views.near_misses", "schemas", "rollcall.programs.visible"),
        third_party=True,
    ),
    "listeners": Layer(own=("listeners", "programs"), third_party=True),
    "gateway": Layer(
        own=(
            "gateway",
            "listeners",
            "tables",
            "clients",
            "schemas",
            "rollcall.coordinator_udfs.protocol",
            "programs",
        ),
        third_party=True,
    ),
    "page": Layer(
        own=("page", "duck_sql", "views", "why", "pictures", "listeners", "tables", "schemas", "programs"),
        third_party=True,
    ),
    "exporter": Layer(
        own=("exporter", "page", "duck_sql", "views", "why", "whatif", "listeners", "tables", "schemas", "programs"),
        third_party=True,
    ),
    "alerts": Layer(
        own=("alerts", "rollcall.serve.exporter.settings", "page", "views", "why", "tables", "schemas", "programs"),
        third_party=True,
    ),
    "jobs": Layer(
        own=(
            "jobs",
            "alerts",
            "exporter",
            "page",
            "views",
            "duck_sql",
            "why",
            "pictures",
            "request_log",
            "offsets_topic",
            "app_logs",
            "whatif",
            "simulation",
            "tables",
            "coordinator_udfs",
            "clients",
            "gateway",
            "lag",
            "listeners",
            "schemas",
            "programs",
        ),
        third_party=True,
        pyspark=True,
    ),
    "benchmarks": Layer(
        own=(
            "benchmarks",
            "tests",  # The start of programs and brokers, the wire's client, requests: there once for both.
            "jobs",
            "views",
            "duck_sql",
            "request_log",
            "offsets_topic",
            "whatif",
            "simulation",
            "tables",
            "pictures",
            "coordinator_udfs",
            "clients",
            "gateway",
            "listeners",
            "schemas",
            "programs",
        ),
        third_party=True,
        pyspark=True,
    ),
}
OUR_PACKAGES = {name.partition(".")[0] for name in LAYERS} | {"tests"}

CLOCKS = ("time", "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today")
# A string's hash differs from one process to the next.
RANDOMNESS = ("random", "secrets", "uuid.uuid1", "uuid.uuid4", "os.urandom", "os.getrandom", "builtins.hash")
HEAVY = {"pyspark", "pandas", "pyarrow", "numpy", "random", "secrets"}
# What schemas may bring along into the pure layers; msgspec takes typing_extensions where it is installed. re2 is the
# regular expressions of consumer groups: a pure function of its arguments, which one module of the protocol calls.
LIGHT = {"msgspec", "typing_extensions", "re2"}


def layer_of(module: str) -> Layer:
    """The layer of the longest name that the module lies within."""
    return LAYERS[max((name for name in LAYERS if is_within(module, name)), key=len)]


def refusal(module: str, imported: str) -> str:
    """Why a module may not import a name; empty if it may."""
    layer = layer_of(module)
    top = imported.partition(".")[0]
    if imported.startswith("."):
        return "is relative"
    if top in OUR_PACKAGES:
        return "" if any(is_within(imported, package) for package in layer.own) else "goes the wrong way"
    if top in sys.stdlib_module_names:
        return ""
    if top == "pyspark" and not layer.pyspark:
        return "is Spark, which only jobs and rollcall.coordinator_udfs.group_udf may see"
    return "" if layer.third_party or top in layer.packages else "is a third party"


def refused_imports(module: str, source: str) -> list[str]:
    """Every import of a module's source that its layer may not make, with the reason."""
    reasons = {imported: refusal(module, imported) for imported in imported_names(source)}
    return sorted(f"{imported} {reason}" for imported, reason in reasons.items() if reason)


def impurities(source: str) -> list[str]:
    """Every clock and every source of randomness that a source names."""
    return sorted(name for name in used_names(source) if any(is_within(name, bad) for bad in (*CLOCKS, *RANDOMNESS)))


def test_a_module_imports_only_what_its_layer_may() -> None:
    refused = {module: refused_imports(module, path.read_text()) for module, path in MODULES.items()}
    assert {module: imports for module, imports in refused.items() if imports} == {}
    assert all(any(is_within(module, package) for module in MODULES) for package in PURE)


def circle(imports: dict[str, set[str]]) -> list[str]:
    """Modules of which each imports the next and the last is the first; empty if there are none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def module_imports(sources: dict[str, str]) -> dict[str, set[str]]:
    """The modules that each module imports anywhere in its file, under TYPE_CHECKING too."""
    return {
        module: {within for imported in imported_names(source) if (within := module_of(imported, sources)) != module}
        - {""}
        for module, source in sources.items()
    }


def module_of(imported: str, sources: Collection[str]) -> str:
    """The module that a dotted name is or lies in, empty if it is not one of ours."""
    while imported and imported not in sources:
        imported = imported.rpartition(".")[0]
    return imported


def test_no_two_files_need_each_other() -> None:
    assert circle(module_imports({module: path.read_text() for module, path in MODULES.items()})) == []


def test_a_circle_is_found_also_where_it_is_for_types_alone() -> None:
    late = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from a.b import B"
    assert set(circle(module_imports({"a.b": "from a.c import C", "a.c": late}))) == {"a.b", "a.c"}
    assert circle(module_imports({"a.b": "from a.c import C", "a.c": "import os"})) == []


WORDS_OF_THE_TABLE_FORMAT = re.compile(r"deltalake|_delta_log|[`'\"]delta[`'\"]|delta\.`|DELTA_|databricks")
KNOW_THE_TABLE_FORMAT = {
    "rollcall.coordinator_udfs.settings": "a value of spark.coordinator.source is delta",
    "rollcall.jobs.config": "the same",
    "rollcall.cli.run.choices": "the same",
    "rollcall.jobs.stream.query": "the same",
    "rollcall.jobs.stream.sources": "the same",
    "rollcall.jobs.spark.jars": "Spark's connector",
    "rollcall.jobs.spark.connectors": "Spark's connector",
}
MAY_KNOW = ("tables", "benchmarks")
INSIDE_TABLES = ("delta_log", "live_files", "compaction")
"""Modules of tables that nobody outside may import; `rollcall.tables.versions` says what others may."""


def code_of(source: str) -> str:
    """The source without comments and docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            node.value.value = ""
    return ast.unparse(tree)


def test_only_tables_knows_the_table_format() -> None:
    outside = {name: path.read_text() for name, path in MODULES.items() if name.split(".")[0] not in MAY_KNOW}
    naming = {name: source for name, source in outside.items() if WORDS_OF_THE_TABLE_FORMAT.search(source)}
    knowing = {name for name, source in naming.items() if WORDS_OF_THE_TABLE_FORMAT.search(code_of(source))}
    assert knowing == KNOW_THE_TABLE_FORMAT.keys()
    inside = {f"tables.{name}" for name in INSIDE_TABLES}
    assert inside <= MODULES.keys()
    reaching = {name for name, source in outside.items() if inside & imported_modules(source)}
    assert reaching == set()


def imported_modules(source: str) -> set[str]:
    return {module_of(imported, MODULES) for imported in imported_names(source)}


def test_a_word_of_the_table_format_is_found_in_code_alone() -> None:
    for source in ("import deltalake", 'x = "delta.`y`"', 'read.format("delta")', 'folder / "_delta_log"'):
        assert WORDS_OF_THE_TABLE_FORMAT.search(code_of(source))
    for source in ('"""Knows Delta."""', "# deltalake", "from datetime import timedelta", "delta = 1"):
        assert not WORDS_OF_THE_TABLE_FORMAT.search(code_of(source))


def test_a_pure_module_names_no_clock_and_no_randomness() -> None:
    pure = {module for module in MODULES if any(is_within(module, package) for package in PURE)}
    impure = {module: impurities(MODULES[module].read_text()) for module in pure}
    assert {module: names for module, names in impure.items() if names} == {}


@pytest.mark.parametrize("package", PURE)
def test_importing_a_pure_package_loads_nothing_heavy_and_no_randomness(package: str) -> None:
    names = [module for module in MODULES if is_within(module, package)]
    loaded = loaded_by(names)
    assert loaded.issuperset(names)
    assert loaded.isdisjoint(HEAVY)
    third_parties = {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names - OUR_PACKAGES
    assert third_parties <= LIGHT


def test_the_names_of_a_tables_files_are_known_without_loading_what_reads_them() -> None:
    assert loaded_by(["rollcall.tables.delta_log", "rollcall.tables.live_files"]).isdisjoint(HEAVY | {"deltalake"})


@pytest.mark.parametrize("module", ["rollcall.cli.sql", "rollcall.cli.why"])
def test_who_is_on_call_does_not_wait_for_spark_or_arrow_to_load(module: str) -> None:
    assert loaded_by([module]).isdisjoint({"pyspark", "pyarrow", "pandas", "numpy", "deltalake"})


def test_a_heavy_module_is_seen_to_be_loaded() -> None:
    assert not loaded_by(["pandas"]).isdisjoint(HEAVY)


def loaded_by(names: list[str]) -> set[str]:
    """Every module that a fresh interpreter has loaded once it imported the names and nothing else."""
    # Without `site`, which may load modules of its own at each start.
    program = (
        "import importlib, sys; sys.path += sys.argv[1:3]\n"
        "for name in sys.argv[3:]: importlib.import_module(name)\n"
        "print(*sys.modules.keys() - {'__main__'})"
    )
    command = [sys.executable, "-I", "-S", "-c", program, str(ROOT), sysconfig.get_path("platlib"), *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("module", "source", "found"),
    [
        ("rollcall.coordinator_udfs.protocol.group", "import msgspec", ["msgspec is a third party"]),
        (
            "rollcall.coordinator_udfs.protocol.group",
            "def f():\n    import numpy.linalg",
            ["numpy.linalg is a third party"],
        ),
        (
            "rollcall.coordinator_udfs.protocol.group",
            "from coordinator_udfs import state_codec",
            ["rollcall.coordinator_udfs.state_codec goes the wrong way"],
        ),
        ("rollcall.coordinator_udfs.protocol.group", "import re2", ["re2 is a third party"]),
        ("rollcall.coordinator_udfs.protocol.consumer.patterns", "import re2", []),
        ("rollcall.coordinator_udfs.protocol.consumer.patterns", "import msgspec", ["msgspec is a third party"]),
        ("rollcall.coordinator_udfs.protocol.group", "from .states import State", [".states.State is relative"]),
        (
            "rollcall.coordinator_udfs.protocol.group",
            "from rollcall.coordinator_udfs.protocol import states\nimport heapq",
            [],
        ),
        ("rollcall.answers.clients.member", "from rollcall.coordinator_udfs.protocol.group import Group", None),
        ("rollcall.answers.clients.member", "from rollcall.schemas.messages import JoinGroup", []),
        ("rollcall.schemas.tables", "from pyspark.sql.types import StructType", None),
        ("rollcall.schemas.tables", "import clients", ["clients goes the wrong way"]),
        (
            "rollcall.coordinator_udfs.state_codec",
            "import msgspec\nfrom rollcall.coordinator_udfs.protocol import group",
            [],
        ),
        ("rollcall.coordinator_udfs.state_codec", "import pyspark", None),
        (
            "rollcall.coordinator_udfs.state_codec",
            "import rollcall.jobs.spark.jars",
            ["rollcall.jobs.spark.jars goes the wrong way"],
        ),
        ("rollcall.coordinator_udfs.group_udf", "import pandas\nfrom pyspark.sql import DataFrame", []),
        ("rollcall.serve.gateway.server", "import kio\nfrom rollcall.coordinator_udfs.protocol import errors", []),
        ("rollcall.serve.gateway.server", "from coordinator_udfs import group_udf", None),
        ("rollcall.serve.gateway.server", "from pyspark.sql import SparkSession", None),
        (
            "rollcall.jobs.coordinator",
            "from pyspark.sql import SparkSession\nfrom coordinator_udfs import group_udf",
            [],
        ),
        ("rollcall.jobs.coordinator", "from tests import source_tree", None),
    ],
)
def test_the_rule_finds_an_import_that_goes_the_wrong_way(module: str, source: str, found: list[str] | None) -> None:
    refused = refused_imports(module, source)
    assert refused == found if found is not None else len(refused) == 1


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import time", ["time"]),
        ("from time import monotonic as m\nm()", ["time.monotonic"]),
        ("import datetime as dt\ndt.datetime.now()", ["datetime.datetime.now"]),
        ("from datetime import datetime\ndatetime.utcnow()", ["datetime.datetime.utcnow"]),
        ("from uuid import uuid4", ["uuid.uuid4"]),
        ("import os.path\nos.urandom(4)", ["os.urandom"]),
        ("import random\n", ["random"]),
        ("hash('a')", ["builtins.hash"]),
        ("import uuid\nfrom datetime import timedelta\nuuid.uuid5\ntime = 1\nnow = time", []),
    ],
)
def test_the_rule_finds_a_clock_and_a_source_of_randomness(source: str, found: list[str]) -> None:
    assert impurities(source) == found
