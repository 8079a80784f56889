"""A coordinator that is killed on the spot: run as a program of its own by the tests of crashes.

python -m tests.spark_programs.doomed HOME BATCH|never [key=value]...     SIGKILL to itself in batch BATCH, after the
                                               sink's commit and before the checkpoint's; never: until it is drained

Settings that begin with spark.python. are the session's.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from rollcall.jobs.config import JobConfig
from rollcall.jobs.spark.session import spark_session
from rollcall.jobs.stream.query import failure_of, start
from rollcall.jobs.stream.writers.batch_result import BatchResult
from rollcall.tables.home import Home
from tests.source_tree import ROOT


def doomed(home: str, last_batch: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Runs a coordinator of its own until it kills itself, or until the log is drained."""
    pairs = [f"{key}={value}" for key, value in settings.items()]
    command = [sys.executable, "-m", "tests.spark_programs.doomed", home, last_batch, *pairs]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)


def main(home: str, last_batch: str, *settings: str) -> int:
    pairs = dict(setting.split("=", 1) for setting in settings)
    of_spark = {key: pairs.pop(key) for key in list(pairs) if key.startswith("spark.python.")}
    spark = spark_session("doomed", of_spark)
    config = JobConfig.from_pairs(pairs)

    def die(result: BatchResult) -> None:
        if str(result.batch_id) == last_batch:
            os.kill(os.getpid(), signal.SIGKILL)

    coordinator = start(spark, Home(home), config, until_drained=True, on_batch=die)
    coordinator.query.awaitTermination()
    reason = failure_of(coordinator.query)
    print(reason or "drained")
    return 0 if reason is None else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
