"""Folders under build/ that tests fill once, by Maven: one process at a time, and anew when their sources change.

Knows when a folder is up to date, and that each JAR is the file whose SHA-256 stands in jars.sha256 beside its pom.xml.
Must not know what a JAR is for.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path


def fetched_once(folder: Path, sources: Sequence[Path], fetch: Callable[[], None]) -> Path:
    """The folder, filled by `fetch` unless that was done since the sources changed."""
    done = folder / ".done"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists() or done.stat().st_mtime < max(source.stat().st_mtime for source in sources):
            shutil.rmtree(folder, ignore_errors=True)
            fetch()
            done.touch()
    return folder


def fetch_jars(pom: Path, folder: Path) -> None:
    """Fills a folder with the JARs that a pom names at run time. Raises AssertionError: one is not the pinned file."""
    copy = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
    subprocess.run(["mvn", "-q", "-B", "-f", str(pom), *copy], check=True)
    pinned = dict(line.split()[::-1] for line in sums_of(pom).read_text().splitlines())
    found = {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in folder.glob("*.jar")}
    differing = sorted(name for name in pinned.keys() | found.keys() if pinned.get(name) != found.get(name))
    assert not differing, f"not the files that {sums_of(pom)} pins: {', '.join(differing)}"


def sums_of(pom: Path) -> Path:
    """Where the sums of a pom's JARs stand, in the form of sha256sum."""
    return pom.with_name("jars.sha256")
