"""SIGTERM and Ctrl-C as a question that a program can ask, however it was started.

Under spark-submit the JVM is the parent and would end Spark in the middle of a batch; so the JVM's own handlers are
replaced as well. Knows signals of both worlds; must not know what is to be stopped.
"""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType
from typing import Any

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from rollcall.jobs.spark.session import is_submitted

NAMES = ("TERM", "INT")
# Ctrl-C reaches this process and the JVM: a second signal that comes so soon is the same Ctrl-C.
_SAME_S = 1.0


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


class StopSignal:
    """Set by the first SIGTERM or SIGINT; a second one makes it urgent. spark: None where no JVM runs."""

    def __init__(self, spark: SparkSession | None) -> None:
        self._asked = threading.Event()
        self._asked_at = 0.0
        self.is_urgent = False
        for name in NAMES:
            signal.signal(signal.Signals[f"SIG{name}"], self._on_signal)
        if spark is None:
            return
        gateway: Any = spark.sparkContext._gateway
        ensure_callback_server_started(gateway)
        handler = _JvmHandler(self)
        # A JVM that this program started ignores SIGINT already, and so do the processes that it starts.
        for name in NAMES if is_submitted() else ("TERM",):
            gateway.jvm.sun.misc.Signal.handle(gateway.jvm.sun.misc.Signal(name), handler)

    def wait(self, seconds: float) -> bool:
        """Waits this many seconds for a signal; whether one has come."""
        return self._asked.wait(seconds)

    def ask(self) -> None:
        """Does what a signal does."""
        now = time.monotonic()
        if self._asked.is_set():
            self.is_urgent = self.is_urgent or now - self._asked_at > _SAME_S
            return
        self._asked_at = now
        self._asked.set()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.ask()
