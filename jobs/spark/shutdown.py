"""SIGTERM and Ctrl-C of a program with Spark, however it was started.

Under spark-submit the JVM is the parent and would end Spark in the middle of a batch; so the JVM's own handlers are
replaced as well. Knows signals of both worlds; must not know what is to be stopped.
"""

from __future__ import annotations

from typing import Any

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from rollcall.jobs.spark.session import is_submitted
from rollcall.programs.stop_signal import NAMES, StopSignal


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
