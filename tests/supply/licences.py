"""docs/licences.md: every package that set-up installs, its version, its licence, and what it is for.

Knows what pip-licenses reads of installed packages, and what the locks say. Must not judge a licence.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.source_tree import ROOT

RUN, DEV, NOTEBOOK, BUILD = (ROOT / "locks" / f"{name}.txt" for name in ("run", "dev", "notebook", "build"))
NOT_SAID = {"axe-playwright-python": "MIT"}
"""Packages whose own data name no licence, with that of the file LICENSE in their source."""
HEAD = """# Licences of what Rollcall stands on

Rollcall itself is under the Apache License 2.0. `make setup`, `make tools` and `make notebook-tools` install
these packages; `make derived` writes this page of what they say of themselves, and `make check` holds it to what is
installed. Those of other platforms are not listed.

The column "for" separates what the product needs to run (`locks/run.txt`) from what only those who work on it need
(`locks/dev.txt`, `locks/notebook.txt`). Nothing of them is in this repository.

| package | version | licence | for |
|---|---|---|---|
"""
JARS = """
JARs, fetched by `make jars` and by the tests, each held to the SHA-256 that stands beside its name:

| JARs | licence | for | sums |
|---|---|---|---|
| Delta Lake, Unity Catalog's client | Apache-2.0 | run | `jobs/spark/jars.py` |
| Spark's Kafka connector, Kafka's client, Commons Pool | Apache-2.0 | run, with Kafka | `jobs/spark/jars.py` |
| Kafka's broker, clients, tools, Connect and Streams, with theirs | their own | dev | `tests/peers_*/*/jars.sha256` |
"""


class Package(NamedTuple):
    """An installed package."""

    name: str
    version: str
    licence: str

    @property
    def key(self) -> str:
        return canonicalize_name(self.name)


def installed() -> list[Package]:
    """What is installed beside the project itself, by name."""
    command = [sys.executable, "-m", "piplicenses", "--format=json", "--from=mixed", "--with-system"]
    rows = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    packages = [Package(row["Name"], row["Version"], row["License"].replace("|", "/")) for row in rows]
    reported = [each._replace(licence=NOT_SAID.get(each.key, each.licence)) for each in packages]
    return sorted((each for each in reported if each.key != "rollcall"), key=lambda each: each.key)


def locked(lock: Path) -> list[Requirement]:
    """The requirements of a lock, their hashes apart."""
    lines = lock.read_text().splitlines()
    return [Requirement(line.rstrip(" \\")) for line in lines if line[:1].isalnum()]


def page() -> str:
    """The packages of the locks that are installed here, and the JARs."""
    needed = {canonicalize_name(each.name) for each in locked(RUN)}
    locked_names = {canonicalize_name(each.name) for lock in (DEV, NOTEBOOK, BUILD) for each in locked(lock)} - {"pip"}
    rows = [
        f"| {each.name} | {each.version} | {each.licence} | {'run' if each.key in needed else 'dev'} |\n"
        for each in installed()
        if each.key in locked_names
    ]
    return HEAD + "".join(rows) + JARS
