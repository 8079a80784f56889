"""The class data archive: Spark's classes as the JVM keeps them in memory, so that it need not load them anew.

A JVM that finds the archive starts a session with half the processor time. It belongs to one Java, one Spark and one
set of JARs; the JVM itself leaves aside one that does not fit. Knows where the archive lies and what it depends on;
must not know what is run while it is made (that is `jobs.spark.archiving`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import pyspark

from jobs.preflight import find_java
from jobs.spark.jars import JARS_FOLDER, jar_paths

NAME = "classes-{key}.jsa"


def archive_path(environ: Mapping[str, str] = os.environ, folder: Path = JARS_FOLDER) -> Path:
    """Where the archive for this Java, this Spark and these JARs lies, made or not. Raises Missing: no Java, no JARs.

    The key changes with the path, size or time of change of any of them, as the JVM's own check does.
    """
    java = Path(find_java(environ)).resolve()
    spark_jars = sorted((Path(pyspark.__file__).resolve().parent / "jars").glob("*.jar"))
    files = [java, *java.parent.parent.glob("release"), *spark_jars, *map(Path, jar_paths(folder))]
    digest = hashlib.sha256()
    for file in files:
        status = file.stat()
        digest.update(f"{file} {status.st_size} {status.st_mtime_ns}\n".encode())
    return folder / NAME.format(key=digest.hexdigest()[:16])


def archive_options() -> str:
    """The JVM options that use the archive if it is there; without a word if it does not fit."""
    path = archive_path()
    return f"-XX:SharedArchiveFile={path} -Xshare:auto -Xlog:cds=off -Xlog:cds+dynamic=off" if path.is_file() else ""
