"""The class data archive: Spark's classes as the JVM holds them in memory, for a faster start.

    python -m rollcall.jobs.spark.archive             makes the archive if it is missing; never fails a set-up
    python -m rollcall.jobs.spark.archive --niced     the same, and gives way to every other process

With it a question that Spark answers takes 9 s instead of 13, and a coordinator's query runs after 5.5 s instead of 8
(two cores, nothing else). It belongs to one Java, one Spark and one set of JARs; the JVM itself leaves aside one that
does not fit. Knows where the archive lies and what it depends on; must not know what is run while it is made (that is
`rollcall.jobs.spark.archiving`).
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from rollcall.jobs.spark.jars import JARS_FOLDER, jar_paths
from rollcall.programs.child_python import module_command, module_environment
from rollcall.programs.preflight import Missing, find_java, run_online
from rollcall.programs.running import run_program

NAME = "classes-{key}.jsa"
WORKSPACE = ".archiving-"
"""How the folders begin in which the maker works; one that was killed leaves its folder behind."""
NICED = "--niced"
MAKER = "rollcall.jobs.spark.archiving"


def archive_path(environ: Mapping[str, str] = os.environ, folder: Path = JARS_FOLDER) -> Path:
    """The path of the archive for this Java, Spark and JARs, also if it is not made. Raises Missing: no Java, no JARs.

    The key changes with the path, size or time of change of any of them, as the JVM's own check does.
    """
    java = Path(find_java(environ)).resolve()
    spark = importlib.util.find_spec("pyspark")
    assert spark is not None
    assert spark.origin is not None
    spark_jars = sorted((Path(spark.origin).resolve().parent / "jars").glob("*.jar"))
    files = [java, *java.parent.parent.glob("release"), *spark_jars, *map(Path, jar_paths(folder))]
    digest = hashlib.sha256()
    for file in files:
        status = file.stat()
        digest.update(f"{file} {status.st_size} {status.st_mtime_ns}\n".encode())
    return folder / NAME.format(key=digest.hexdigest()[:16])


def archive_options() -> str:
    """The JVM options that use the archive if it exists, and print nothing if it does not fit."""
    path = archive_path()
    return f"-XX:SharedArchiveFile={path} -Xshare:auto -Xlog:cds=off -Xlog:cds+dynamic=off" if path.is_file() else ""


def make_archive(environ: Mapping[str, str] = os.environ, folder: Path = JARS_FOLDER) -> None:
    """Makes the archive unless it is there, in place of those for another Java, Spark or set of JARs.

    Where the JVM cannot make one (another vendor's, a full disk) a sentence says so, and it is not an error.
    """
    path = archive_path(environ, folder)
    if path.is_file():
        return
    for old in folder.glob(NAME.format(key="*")):
        old.unlink()
    for left in folder.glob(f"{WORKSPACE}*"):
        shutil.rmtree(left, ignore_errors=True)
    unfinished = path.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    try:
        maker = module_command(MAKER, str(unfinished))
        run_online("Preparing Spark's classes for a quick start", maker, module_environment())
        os.replace(unfinished, path)
    except (Missing, OSError) as error:
        unfinished.unlink(missing_ok=True)
        why = str(error).rsplit("\n", 1)[-1].strip()
        print(f"rollcall: Spark's classes could not be kept ready ({why}); it starts some seconds later than it could.")


if __name__ == "__main__":
    if NICED in sys.argv[1:]:
        os.nice(19)
    sys.exit(run_program(make_archive))
