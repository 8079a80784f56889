"""The process in which Spark asks a Python source for its offsets.

It is in the job's process group, so Ctrl-C reaches it as well. If it ended then, the running batch could not finish; so
it ignores the signal, and ends with the JVM that it talks to. Knows signals; must not know any source.
"""

from __future__ import annotations

import signal
import sys

RUNNER = "pyspark.sql.streaming.python_streaming_source_runner"


def is_runner() -> bool:
    """Whether this is that process, and not a worker or a test."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return spec is not None and spec.name == RUNNER


def outlive_signals() -> None:
    """Ignores SIGINT and SIGTERM, only in that process: the job acts on them."""
    if is_runner():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
