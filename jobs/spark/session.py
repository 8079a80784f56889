"""The one place that makes a SparkSession: the machine, the profile's settings, the JARs, the workers' interpreter.

At a home's first start the session's number of shuffle partitions is taken, and the home notes what it was made with,
in `home.json`:

    "made_with": {"version": "0.3.0", "cores": 8, "memory_bytes": 33285996544, "shuffle_partitions": 8}

The checkpoint is laid out for that number, so every later start keeps it, whatever the machine has by then.

It also ends one at a signal. Under spark-submit the JVM is the parent and would end Spark in the middle of a batch; so
the JVM's own handlers are replaced as well. Knows Spark's settings, and whether the program runs alone or under
spark-submit, whose settings win. Must not know any query.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from rollcall.jobs.spark.archive import archive_options
from rollcall.jobs.spark.jars import jar_paths, make_ready
from rollcall.jobs.spark.machine import Machine, this_machine
from rollcall.jobs.stream.checkpoint import shuffle_partitions
from rollcall.programs.log_lines import Form, tell
from rollcall.programs.stop_signal import NAMES, StopSignal
from rollcall.programs.version import ROOT, VERSION
from rollcall.tables.home import Home, different_partitions

LOCAL_PROFILE = ROOT / "rollcall" / "conf" / "spark-local.conf"
# The one compiler that is quick, and one thread that collects garbage.
BRIEF = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
LOG_SETTINGS = ROOT / "rollcall" / "conf" / "log4j2.properties"
JSON_LOG_SETTINGS = ROOT / "rollcall" / "conf" / "log4j2-json.properties"
"""The further settings to write log lines as JSON."""
PARTITIONS_KEY = "spark.sql.shuffle.partitions"


def read_profile(path: Path = LOCAL_PROFILE) -> dict[str, str]:
    """The settings of a Spark properties file."""
    lines = (line.strip() for line in path.read_text().splitlines())
    pairs = (line.split(None, 1) for line in lines if line and not line.startswith("#"))
    return {key: value.strip() for key, value in pairs}


def is_submitted() -> bool:
    """Whether spark-submit started this program, so that a JVM is there and has its settings."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def submitted_settings() -> dict[str, str]:
    """The settings that spark-submit got, by file and by option; empty if it did not start this program."""
    if not is_submitted():
        return {}
    # Without its JVM a SparkConf knows nothing of them.
    SparkContext._ensure_initialized()
    return dict(SparkConf().getAll())


def spark_session(name: str, settings: Mapping[str, str] | None = None, *, is_brief: bool = False) -> SparkSession:
    """A session on this machine, all of it, with the local profile's settings, or, submitted, with the submitted ones.

    settings: more of them, or other values for the profile's. is_brief: for a minute's work at most, whose code is
    better compiled soon than well. Raises Missing: no Java, or JARs that cannot be fetched.
    """
    # Otherwise Spark takes the first python3 of the PATH for its workers.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if is_submitted():
        return _submitted_session(name, settings or {})
    make_ready()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Spark's script starts a JVM first that only puts the command line together.
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", BRIEF)
    # The workers and their daemon find the project as this program does, and nothing in the folder that it runs in.
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    conf = {
        **this_machine().spark_settings(),
        **read_profile(),
        # Not spark.jars: only classes that the JVM's own loader finds are taken from the archive.
        "spark.driver.extraClassPath": os.pathsep.join(jar_paths()),
        "spark.python.daemon.module": "rollcall.jobs.spark.daemon",
        "spark.driver.extraJavaOptions": java_options(is_brief=is_brief),
        **(settings or {}),
    }
    return _session(name, conf)


def java_options(*, is_brief: bool, form: Form = "text") -> str:
    """The JVM's options: a stack that holds a deep plan, where the log goes, the archive if there is one."""
    log = LOG_SETTINGS.as_uri() if form == "text" else f"{LOG_SETTINGS},{JSON_LOG_SETTINGS}"
    words = ["-Xss16m", f"-Dlog4j2.configurationFile={log}", archive_options()]
    return " ".join(filter(None, [*words, BRIEF if is_brief else ""]))


def log_settings(form: Form) -> dict[str, str]:
    """Spark's settings for its own log lines; none for lines of text, nor where spark-submit has started the JVM."""
    if form == "text" or is_submitted():
        return {}
    return {"spark.driver.extraJavaOptions": java_options(is_brief=False, form=form)}


def _submitted_session(name: str, settings: Mapping[str, str]) -> SparkSession:
    submitted = submitted_settings()
    conf = {key: value for key, value in settings.items() if key not in submitted}
    # Packed for --py-files there are no settings beside the code; they are the command line's then.
    if submitted.get("spark.master", "").startswith("local[") and LOCAL_PROFILE.is_file():
        profile = {**this_machine().spark_settings(), **read_profile()}
        conf = {**{key: value for key, value in profile.items() if key not in submitted}, **conf}
    return _session(name, conf)


def _session(name: str, conf: Mapping[str, str]) -> SparkSession:
    builder = SparkSession.builder.appName(name)
    for key, value in conf.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


class _JvmHandler:
    """A sun.misc.SignalHandler that passes the signal on."""

    def __init__(self, stop: StopSignal) -> None:
        self.stop = stop

    def handle(self, number: Any) -> None:
        self.stop.ask()

    def toString(self) -> str:
        return "rollcall.StopSignal"

    class Java:
        implements = ("sun.misc.SignalHandler",)


def listen_in_jvm(stop: StopSignal, spark: SparkSession) -> None:
    """Takes the signals of both: a session takes Python's when it starts."""
    stop.listen()
    gateway: Any = spark.sparkContext._gateway
    ensure_callback_server_started(gateway)
    handler = _JvmHandler(stop)
    # A JVM that this program started ignores SIGINT already, and so do the processes that it starts.
    for name in NAMES if is_submitted() else ("TERM",):
        gateway.jvm.sun.misc.Signal.handle(gateway.jvm.sun.misc.Signal(name), handler)


def stop_session(spark: SparkSession) -> None:
    """Ends it, and forgets what the JVM called back: py4j's threads would keep that, and with it what DuckDB made."""
    gateway: Any = spark.sparkContext._gateway
    spark.stop()
    gateway.gateway_property.pool.clear()


def home_session(home: Home, name: str, settings: Mapping[str, str] | None = None) -> SparkSession:
    """A session as of `spark_session`, for a home that the caller has locked and settled. Raises Missing, HomeError."""
    spark = spark_session(name, settings)
    if home.is_local:
        own = int(str(spark.conf.get(PARTITIONS_KEY)))
        kept, remark = keep_partitions(home, own, this_machine())
        if remark:
            tell(remark, is_error=True)
        spark.conf.set(PARTITIONS_KEY, str(kept))
    return spark


def keep_partitions(home: Home, own: int, machine: Machine) -> tuple[int, str]:
    """How many shuffle partitions a home has, and a sentence for the user where that is not the session's own number.

    own: the session's number. A home without a batch takes it, and notes what it is made with. Raises HomeError: the
    home's note cannot be read.
    """
    kept = shuffle_partitions(Path(home.checkpoint))
    if kept is None:
        made_with = {
            "version": VERSION,
            "cores": machine.cores,
            "memory_bytes": machine.memory_bytes,
            "shuffle_partitions": own,
        }
        home.write_note({**home.read_note(), "made_with": made_with})
        return own, ""
    if kept == own:
        return own, ""
    return kept, different_partitions(home.shown, kept, own)
