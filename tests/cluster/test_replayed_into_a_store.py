"""A log replayed by Spark into a home in an object store, as docs/request-logs.md says: the rows of a replay here."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest
from deltalake import DeltaTable

from rollcall.jobs.package import pack
from rollcall.jobs.spark.jars import jar_paths
from rollcall.tables.home import Home
from tests.cluster.object_store import ObjectStore, connector_jars, object_store
from tests.replayed import replay_log
from tests.request_log.truth import FOLDER as CAPTURES
from tests.source_tree import ROOT

HOME = "s3a://bucket/incident"
LOG = CAPTURES / "d-kill" / "requests.log.gz"


def submit(store: ObjectStore, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """The page's spark-submit on this machine, the store's connector from JARs that are there already."""
    page = (ROOT / "docs" / "request-logs.md").read_text()
    found = re.search(r"^spark-submit (?:.*\\\n)*.*replay.*$", page, re.MULTILINE)
    assert found is not None
    words = shlex.split(found.group(0).replace("\\\n", " "))
    for option, value in (("--master", "local[2]"), ("--home", HOME), ("--py-files", str(pack(folder / "code.zip")))):
        words[words.index(option) + 1] = value
    words[words.index("replay") + 1] = str(LOG)
    place = words.index("--packages")
    settings = {**store.spark_settings(), "spark.sql.shuffle.partitions": "2"}
    words[place : place + 2] = ["--jars", ",".join([*jar_paths(), *connector_jars()])]
    words[place:place] = [word for pair in settings.items() for word in ("--conf", "=".join(pair))]
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    environ = {**os.environ, **store.environ(), **python, "XDG_CACHE_HOME": str(folder / "cache")}
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), *words[1:], *more]
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=300, check=False)


def rows(table: DeltaTable) -> list[dict[str, Any]]:
    return sorted(table.to_pyarrow_table().to_pylist(), key=lambda row: str(sorted(row.items(), key=str)))


@pytest.mark.nightly
def test_a_replay_into_a_store_has_the_rows_of_one_here_and_is_not_written_over(tmp_path: Path) -> None:
    here = Home(tmp_path / "here")
    report = replay_log(here, LOG)
    with object_store(tmp_path) as store:
        store.make_bucket("bucket")
        done = submit(store, tmp_path)
        assert done.returncode == 0, done.stderr
        assert f"parity: {report.parity.share:.3%}" in done.stdout
        for name in ("effects", "requests", "quarantine"):
            there = DeltaTable(f"s3://bucket/incident/{name}", storage_options=store.delta_options())
            assert rows(there) == rows(DeltaTable(f"{here.location}/{name}")), name
        again = submit(store, tmp_path)
        assert again.returncode == 2
        reported_again = " ".join((again.stdout + again.stderr).split())
        assert f"{HOME} holds a history already: --fresh clears it" in reported_again
        anew = submit(store, tmp_path, "--fresh")
        assert anew.returncode == 0, anew.stderr
        there = DeltaTable("s3://bucket/incident/effects", storage_options=store.delta_options())
        assert rows(there) == rows(DeltaTable(here.effects))
