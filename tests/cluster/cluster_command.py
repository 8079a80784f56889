"""The spark-submit of docs/cluster.md command, for a cluster of one executor on this machine.

Knows that page's text and Spark's options; must not know what the job does.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pyspark

from rollcall.jobs.spark.jars import jar_paths
from tests.brief_java import EXECUTORS
from tests.source_tree import ROOT

CLUSTER = "local-cluster[1,1,1024]"
PARTITIONS = 1
"""As there are executors: each of the sixteen of conf/spark-cluster.conf starts two Pythons, for two cores."""


def submit_command() -> list[str]:
    """The words of the page's spark-submit."""
    section = (ROOT / "docs" / "cluster.md").read_text()
    found = re.search(r"^spark-submit (?:.*\\\n)*.*$", section, re.MULTILINE)
    assert found is not None
    return shlex.split(found.group(0).replace("\\\n", " "))


def command_here(home: Path, settings: Path, package: Path) -> list[str]:
    """The same command with this machine's master, home and settings; JARs that are there already, not packages."""
    words = submit_command()
    for option, value in (
        ("--master", CLUSTER),
        ("--py-files", str(package)),
        ("--home", str(home)),
        ("--conf-file", str(settings)),
    ):
        words[words.index(option) + 1] = value
    place = words.index("--packages")
    few = ["--conf", f"spark.sql.shuffle.partitions={PARTITIONS}"]
    words[place : place + 2] = ["--jars", ",".join(jar_paths()), *few, *EXECUTORS]
    return [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), *words[1:]]
