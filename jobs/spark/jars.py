"""The JARs that Spark does not ship: Delta's, and its Kafka connector's, resolved once into folders for sessions.

Knows which JARs these need beside Spark's own, and how to fetch them through Spark's Ivy. Must not know any table or
query. Sessions take `jar_paths()`: with `spark.jars.packages` Spark would resolve them at each start, and put every
resolved archive on the Python workers' import path. The connector's are for the image.

    python -m rollcall.jobs.spark.jars     check Java, resolve what is missing; otherwise exit status 2 and a sentence
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from rollcall.programs.preflight import Missing, check_java, run_online
from rollcall.programs.running import run_program
from rollcall.programs.version import ROOT, VERSION
from rollcall.tables.home_location import cache_folder

IS_CHECKOUT = (ROOT / "pyproject.toml").is_file()
JARS_FOLDER = ROOT / ".jars" if IS_CHECKOUT else cache_folder() / f"jars-{VERSION}"

DELTA_COORDINATES = "io.delta:delta-spark_4.2_2.13:4.4.0"
# What Delta resolves and Spark 4.2.0 does not bring along, each with its SHA-256.
DELTA_JARS = {
    "delta-kernel-api-4.4.0.jar": "ee9b5a14ac3b7efdff4d61a58478fe8eb0e5a3fbca43889dca7290795fe79a11",
    "delta-kernel-defaults-4.4.0.jar": "225c975199e4718b38ee5b7e6da7f19e9585024262b2cec2656b32151a856b0b",
    "delta-kernel-unitycatalog-4.4.0.jar": "cea22dfb4ac562b3cd27bf652697750e8336009d73fb06631363aaaad5345ffa",
    "delta-spark_4.2_2.13-4.4.0.jar": "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead",
    "delta-storage-4.4.0.jar": "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
    "unitycatalog-client-0.6.0.jar": "48257499a86b801a3e2372cec55ac226ca1c1c7eabe5c118e7302f29a1fdbc19",
    "unitycatalog-hadoop-0.6.0.jar": "c47b63c961c87102b9e1d63809a0915ba4c86b7652f57c8d39ca3a05b441a150",
}
JAR_NAMES = tuple(DELTA_JARS)

KAFKA_JARS_FOLDER = JARS_FOLDER / "kafka"
_TOKENS = "org.apache.spark:spark-token-provider-kafka-0-10_2.13"
KAFKA_COORDINATES = {
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0": (_TOKENS,),
    # One small class, the same in all of Spark 4; some mirrors lack the newest.
    f"{_TOKENS}:4.0.0": ("org.apache.kafka:*", "org.apache.hadoop:*"),
}
"""With what is left out of each."""
_TOKENS_JAR = "spark-token-provider-kafka-0-10_2.13-4.0.0.jar"
KAFKA_JARS = {
    "commons-pool2-2.13.1.jar": "f77a5060d6936a9144023584232f9de3f2248f1abfe156e9d31795f18770674f",
    "kafka-clients-3.9.2.jar": "014b4ef36884478a932641818b080c36a8f8e2e92dc771e800c9d2694f4f83d8",
    "spark-sql-kafka-0-10_2.13-4.2.0.jar": "64539c45e5d39f7ddb747312c239f38f5208d08c1a0ddf7d70beb2fbd9373705",
    _TOKENS_JAR: "f2be3b76f9e6cbe63379d4e4e0dc14f59dbf056ae2ad16ff15ac108004c86767",
}


def missing_jars(folder: Path = JARS_FOLDER, names: Sequence[str] = JAR_NAMES) -> list[str]:
    """The names of the needed JARs that the folder does not hold."""
    return [name for name in names if not (folder / name).is_file()]


def jar_paths(folder: Path = JARS_FOLDER) -> list[str]:
    """The absolute paths of the needed JARs, for `spark.jars`; Missing when they were not resolved yet.

    Without a checkout there is no `make jars`: they are resolved when they are first needed.
    """
    if not IS_CHECKOUT and missing_jars(folder):
        check_java()
        resolve(folder)
    missing = missing_jars(folder)
    if missing:
        raise Missing(f"{folder} does not hold {missing[0]}: run `make jars` once.")
    return [str((folder / name).resolve()) for name in JAR_NAMES]


def shipped_artifacts(spark_home: Path) -> list[str]:
    """The artifact names of the JARs that Spark ships, without their versions."""
    return sorted({re.sub(r"-\d.*$", "", jar.stem) for jar in (spark_home / "jars").glob("*.jar")})


def resolve(folder: Path = JARS_FOLDER) -> None:
    """Put only Delta's JARs into the folder; Missing without a network or one of them."""
    _resolve("Resolving the Delta JARs", folder, {DELTA_COORDINATES: ()}, DELTA_JARS)


def _resolve(what: str, folder: Path, coordinates: Mapping[str, Sequence[str]], wanted: Mapping[str, str]) -> None:
    """An empty program is submitted, since Spark resolves before it runs. coordinates: with what is left out of each.
    wanted: the JARs by name, with the SHA-256 that each must have.

    A JAR arrives under its final name only when whole, so an interrupted resolution is simply begun again.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".resolving-", dir=folder) as temporary:
        workspace = Path(temporary)
        program = workspace / "nothing.py"
        program.touch()
        for number, (package, left_out) in enumerate(coordinates.items()):
            run_online(what, *_submission(program, workspace, package, left_out), is_said=number == 0)
        # Ivy puts the organisation in front: io.delta_delta-storage-4.4.0.jar.
        resolved = {jar.name.partition("_")[2]: jar for jar in (workspace / "jars").glob("*.jar")}
        for name, sha256 in wanted.items():
            if name not in resolved:
                raise Missing(f"{', '.join(coordinates)} did not bring {name}: version and list disagree.")
            if (found := hashlib.sha256(resolved[name].read_bytes()).hexdigest()) != sha256:
                raise Missing(f"{name} is not the file that was pinned: its SHA-256 is {found}, not {sha256}.")
            os.replace(resolved[name], folder / name)
    for jar in folder.glob("*.jar"):
        if jar.name not in wanted:
            jar.unlink()


def _submission(program: Path, ivy: Path, package: str, left_out: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The command and environment that resolve into the folder `ivy`, leaving out what Spark ships as well."""
    import pyspark

    spark_home = Path(pyspark.__file__).resolve().parent
    conf = {
        "spark.jars.packages": package,
        "spark.jars.excludes": ",".join([*(f"*:{artifact}" for artifact in shipped_artifacts(spark_home)), *left_out]),
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


def main() -> int:
    """Checks Java, and resolves the JARs unless they are there. The exit status: see `rollcall.programs.running`."""
    return run_program(make_ready)


def make_ready() -> None:
    """Checks Java, and resolves the JARs unless they are there. Raises Missing."""
    check_java()
    if missing_jars():
        resolve()


def make_kafka_ready(folder: Path = KAFKA_JARS_FOLDER) -> None:
    """Resolves the JARs of Spark's Kafka connector unless they are there. Raises Missing."""
    if missing_jars(folder, tuple(KAFKA_JARS)):
        _resolve("Resolving Spark's Kafka connector", folder, KAFKA_COORDINATES, KAFKA_JARS)


if __name__ == "__main__":
    sys.exit(main())
