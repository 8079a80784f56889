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
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.source_tree import FIXED, FLOORS, ROOT, imported_names, is_within, modules, used_names

MODULES = modules()
PURE = tuple(
    f"rollcall.{name}"
    for name in (
        "coordinator_udfs.protocol",
        "tables.lag",
        "history",
        "answers.clients",
        "answers.simulation",
        "answers.why",
    )
)


@dataclass(frozen=True)
class Layer:
    """What the modules of one package may import beside the standard library. packages: third parties by name."""

    own: tuple[str, ...]
    packages: tuple[str, ...] = ()
    third_party: bool = False
    pyspark: bool = False


def up_to(floor: str) -> tuple[str, ...]:
    """A floor and all below it."""
    return FLOORS[: FLOORS.index(floor) + 1]


STORED = ("group", "members", "consumer.group")
"""The modules of the protocol that say what of a group its document keeps."""
STATES = ("coordinator_udfs.protocol.states", "coordinator_udfs.protocol.consumer.states")
BEFORE_VENV = ("programs.errors", "programs.visible", "programs.running")
EFFECTS = (
    *("schemas.causes", "schemas.shapes", "schemas.effects", "schemas.shown_effects", "schemas.consumer_effects"),
    "schemas.makers",
)
PAGE = ("serve.page", "serve.listeners", "answers.sql", "answers.views", "answers.why", "answers.pictures")
ROOMS = {
    "programs": Layer(own=up_to("programs"), third_party=True),
    # These run before .venv exists.
    "programs.errors": Layer(own=()),
    "programs.visible": Layer(own=()),
    "programs.running": Layer(own=BEFORE_VENV),
    "programs.preflight": Layer(own=BEFORE_VENV),
    "schemas": Layer(own=("schemas",), third_party=True),
    "coordinator_udfs": Layer(own=up_to("coordinator_udfs"), third_party=True),
    "coordinator_udfs.protocol": Layer(own=("coordinator_udfs.protocol", "schemas")),
    "coordinator_udfs.protocol.consumer.patterns": Layer(own=(), packages=("re2",)),
    **{
        f"coordinator_udfs.protocol.{name}": Layer(own=("coordinator_udfs.protocol", "schemas"), packages=("msgspec",))
        for name in STORED
    },
    "coordinator_udfs.group_udf": Layer(own=up_to("coordinator_udfs"), third_party=True, pyspark=True),
    "tables": Layer(own=("tables", "schemas", "programs"), third_party=True),
    "tables.lag": Layer(own=("tables.lag",)),
    "history": Layer(own=("history", "schemas")),
    "inputs": Layer(own=up_to("inputs"), third_party=True),
    "inputs.tolerances": Layer(own=()),
    "inputs.request_log": Layer(
        own=("inputs.request_log", "inputs.tolerances", "tables.lag", *up_to("coordinator_udfs")), third_party=True
    ),
    "inputs.offsets_topic": Layer(
        own=("inputs.offsets_topic", "inputs.tolerances", "history", *up_to("coordinator_udfs")), third_party=True
    ),
    "inputs.printed": Layer(
        own=(
            *("inputs.printed", "inputs.tolerances", "history.sentences", "history.words", "programs.errors"),
            *(*EFFECTS, *STATES),
        ),
        packages=("re2", "msgspec"),
    ),
    # It queries the home that it made, and prints what is in it.
    "inputs.replay.inputs": Layer(own=up_to("jobs"), third_party=True),
    "answers": Layer(own=up_to("answers"), third_party=True),
    "answers.views": Layer(own=("answers.views", "tables.lag", "schemas", *STATES), packages=("msgspec",)),
    "answers.sql": Layer(
        own=("answers.sql", "answers.views", "tables", "schemas", "programs.errors", "programs.visible"),
        third_party=True,
    ),
    "answers.why": Layer(own=("answers.why", "history", "schemas")),
    "answers.pictures": Layer(
        own=("answers.pictures", "answers.why", "answers.views.near_misses", "history", "schemas", "programs.visible"),
        third_party=True,
    ),
    "answers.clients": Layer(own=("answers.clients", "schemas")),
    "answers.simulation": Layer(own=("answers.simulation", "answers.clients", "coordinator_udfs.protocol", "schemas")),
    "answers.whatif": Layer(
        own=(
            *("answers.whatif", "answers.simulation", "answers.clients", "answers.why", "history"),
            *(
                "inputs.request_log",
                "inputs.tolerances",
                "tables.lag",
                "coordinator_udfs.protocol",
                "schemas",
                "programs",
            ),
        )
    ),
    "serve.listeners": Layer(own=("serve.listeners", "programs"), third_party=True),
    "serve.gateway": Layer(
        own=(
            *("serve.gateway", "serve.listeners", "answers.clients", "tables", "coordinator_udfs.protocol"),
            *("schemas", "programs"),
        ),
        third_party=True,
    ),
    "serve.page": Layer(own=(*PAGE, "history", "tables", "schemas", "programs"), third_party=True),
    "serve.exporter": Layer(
        own=(*PAGE, "serve.exporter", "answers.whatif", "history", "tables", "schemas", "programs"), third_party=True
    ),
    "serve.alerts": Layer(
        own=(
            *("serve.alerts", "serve.exporter.settings", "serve.page", "answers.views", "answers.why", "history"),
            *("tables", "schemas", "programs"),
        ),
        third_party=True,
    ),
    "shown": Layer(own=up_to("shown"), third_party=True),
    "jobs": Layer(own=up_to("jobs"), third_party=True, pyspark=True),
    "cli": Layer(own=up_to("cli"), third_party=True),
    # They start Spark where it is asked for, or give a notebook with a session what they give a terminal.
    "cli.replay_on_spark": Layer(own=up_to("cli"), third_party=True, pyspark=True),
    "cli.sql": Layer(own=up_to("cli"), third_party=True, pyspark=True),
    "cli.why": Layer(own=up_to("cli"), third_party=True, pyspark=True),
}
# A module belongs to the longest name that it lies within.
LAYERS = {
    **{
        f"rollcall.{name}": replace(layer, own=tuple(f"rollcall.{one}" for one in layer.own))
        for name, layer in ROOMS.items()
    },
    "rollcall": Layer(own=("rollcall",), third_party=True),
    # It takes a notebook's session.
    "rollcall.notebook": Layer(own=("rollcall",), third_party=True, pyspark=True),
    # The start of programs and brokers, the wire's client, requests: there once for tests and benches.
    "benchmarks": Layer(own=("benchmarks", "tests", "rollcall"), third_party=True, pyspark=True),
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
    if top in FIXED:
        return "is to be imported from rollcall"
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
    "rollcall.programs.extras": "names of packages",
}
MAY_KNOW = ("rollcall.tables", "benchmarks")
INSIDE_TABLES = ("delta_log", "compaction")
"""Modules of tables that nobody outside may import; `rollcall.tables.versions` says what others may."""


def code_of(source: str) -> str:
    """The source without comments and docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            node.value.value = ""
    return ast.unparse(tree)


def test_only_tables_knows_the_table_format() -> None:
    outside = {
        name: path.read_text() for name, path in MODULES.items() if not any(is_within(name, one) for one in MAY_KNOW)
    }
    naming = {name: source for name, source in outside.items() if WORDS_OF_THE_TABLE_FORMAT.search(source)}
    knowing = {name for name, source in naming.items() if WORDS_OF_THE_TABLE_FORMAT.search(code_of(source))}
    assert knowing == KNOW_THE_TABLE_FORMAT.keys()
    inside = {f"rollcall.tables.{name}" for name in INSIDE_TABLES}
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
    assert loaded_by(["rollcall.tables.delta_log"]).isdisjoint(HEAVY | {"deltalake"})


@pytest.mark.parametrize("module", ["rollcall.cli.sql", "rollcall.cli.why"])
def test_who_is_on_call_does_not_wait_for_spark_or_arrow_to_load(module: str) -> None:
    assert loaded_by([module]).isdisjoint({"pyspark", "pyarrow", "pandas", "numpy", "deltalake"})


def test_who_follows_a_log_does_not_wait_for_spark_to_load() -> None:
    assert loaded_by(["rollcall.cli.shadow.command"]).isdisjoint({"pyspark", "py4j"})


@pytest.mark.parametrize(
    ("module", "without"),
    [
        ("rollcall.inputs.replay.bucket_rows", {"deltalake", "duckdb", "sqlglot", "pyspark"}),
        ("rollcall.cli.replay", {"duckdb", "sqlglot", "pyspark"}),
    ],
)
def test_no_process_of_a_replay_has_in_memory_what_it_does_not_need(module: str, without: set[str]) -> None:
    assert loaded_by([module]).isdisjoint(without)


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
        ("rollcall.coordinator_udfs.protocol.group", "import msgspec", []),
        ("rollcall.coordinator_udfs.protocol.join_group", "import msgspec", ["msgspec is a third party"]),
        (
            "rollcall.coordinator_udfs.protocol.group",
            "def f():\n    import numpy.linalg",
            ["numpy.linalg is a third party"],
        ),
        (
            "rollcall.coordinator_udfs.protocol.group",
            "from rollcall.coordinator_udfs import state_codec",
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
        ("rollcall.schemas.tables", "import rollcall.answers.clients", ["rollcall.answers.clients goes the wrong way"]),
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
        ("rollcall.serve.gateway.server", "from rollcall.coordinator_udfs import group_udf", None),
        ("rollcall.serve.gateway.server", "from pyspark.sql import SparkSession", None),
        (
            "rollcall.jobs.coordinator",
            "from pyspark.sql import SparkSession\nfrom rollcall.coordinator_udfs import group_udf",
            [],
        ),
        (
            "rollcall.jobs.coordinator",
            "from schemas import tables",
            ["schemas.tables is to be imported from rollcall"],
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
