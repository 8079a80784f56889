"""The Delta JARs that Spark does not ship: resolved once into a folder, from which sessions take them.

Knows which JARs Delta needs beside Spark's own, and how to fetch them through Spark's Ivy. Must not know any table or
query. Sessions take `jar_paths()` as `spark.jars`: with `spark.jars.packages` Spark would resolve them at each start,
and put every resolved archive on the Python workers' import path.

    python -m jobs.spark.jars     check Java, resolve what is missing; exit status 2 and one sentence if that fails
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

from jobs.preflight import Missing, check_java, run_online
from programs.running import run_program

ROOT = Path(__file__).resolve().parents[2]
JARS_FOLDER = ROOT / ".jars"

DELTA_COORDINATES = "io.delta:delta-spark_4.2_2.13:4.4.0"
# What Delta resolves and Spark 4.2.0 does not bring along.
JAR_NAMES = (
    "delta-kernel-api-4.4.0.jar",
    "delta-kernel-defaults-4.4.0.jar",
    "delta-kernel-unitycatalog-4.4.0.jar",
    "delta-spark_4.2_2.13-4.4.0.jar",
    "delta-storage-4.4.0.jar",
    "unitycatalog-client-0.6.0.jar",
    "unitycatalog-hadoop-0.6.0.jar",
)


def missing_jars(folder: Path = JARS_FOLDER) -> list[str]:
    """The names of the needed JARs that the folder does not hold."""
    return [name for name in JAR_NAMES if not (folder / name).is_file()]


def jar_paths(folder: Path = JARS_FOLDER) -> list[str]:
    """The absolute paths of the needed JARs, for `spark.jars`; Missing when they were not resolved yet."""
    missing = missing_jars(folder)
    if missing:
        raise Missing(f"{folder} does not hold {missing[0]}: run `make jars` once.")
    return [str((folder / name).resolve()) for name in JAR_NAMES]


def shipped_artifacts(spark_home: Path) -> list[str]:
    """The artifact names of the JARs that Spark ships, without their versions."""
    return sorted({re.sub(r"-\d.*$", "", jar.stem) for jar in (spark_home / "jars").glob("*.jar")})


def resolve(folder: Path = JARS_FOLDER) -> None:
    """Put the needed JARs into the folder, and nothing else; Missing without a network or one of them.

    An empty program is submitted, since Spark resolves before it runs. A JAR arrives under its final name only when
    whole, so an interrupted resolution is simply begun again.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".resolving-", dir=folder) as name:
        workspace = Path(name)
        program = workspace / "nothing.py"
        program.touch()
        run_online("Resolving the Delta JARs", *_submission(program, workspace))
        resolved = {_artifact_file(jar): jar for jar in (workspace / "jars").glob("*.jar")}
        for wanted in JAR_NAMES:
            if wanted not in resolved:
                raise Missing(f"{DELTA_COORDINATES} did not bring {wanted}: its version and this list disagree.")
            os.replace(resolved[wanted], folder / wanted)
    for jar in folder.glob("*.jar"):
        if jar.name not in JAR_NAMES:
            jar.unlink()


def _submission(program: Path, ivy: Path) -> tuple[list[str], dict[str, str]]:
    """The command and environment that resolve into the folder `ivy`, leaving out what Spark ships."""
    import pyspark

    spark_home = Path(pyspark.__file__).resolve().parent
    conf = {
        "spark.jars.packages": DELTA_COORDINATES,
        "spark.jars.excludes": ",".join(f"*:{artifact}" for artifact in shipped_artifacts(spark_home)),
        "spark.jars.ivy": str(ivy),
    }
    command = [str(spark_home / "bin" / "spark-submit"), "--master", "local[1]"]
    for key, value in conf.items():
        command += ["--conf", f"{key}={value}"]
    environ = {
        # Another Spark's home or settings must have no effect.
        **{key: value for key, value in os.environ.items() if key not in ("SPARK_HOME", "SPARK_CONF_DIR")},
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    return [*command, str(program)], environ


def _artifact_file(jar: Path) -> str:
    """Ivy's file name without the organisation it puts in front (io.delta_delta-storage-4.4.0.jar)."""
    return jar.name.partition("_")[2]


def main() -> int:
    """Checks Java, and resolves the JARs unless they are there. The exit status: see `programs.running`."""
    return run_program(make_ready)


def make_ready() -> None:
    """Checks Java, and resolves the JARs unless they are there. Raises Missing."""
    check_java()
    if missing_jars():
        resolve()


if __name__ == "__main__":
    sys.exit(main())
