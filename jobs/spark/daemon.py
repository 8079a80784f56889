"""What Spark forks its Python workers from: as its own daemon, but with the stream's modules loaded before the fork.

A worker collects garbage after each task, and with pandas and Arrow loaded that alone takes longer than an idle tick's
work. What is loaded before the fork is frozen: collections pass it over, and the workers share its memory.

    spark.python.daemon.module=jobs.spark.daemon     (Spark runs it as `python -m jobs.spark.daemon WORKER_MODULE`)

Knows how Spark starts its daemon; must not know what a worker does.
"""

from __future__ import annotations

import gc
import importlib
import runpy
import sys

UDF_WORKER = "pyspark.worker"
PRELOADED = ("pyspark.worker", "coordinator_udfs.group_udf")


def main() -> None:
    """Loads and freezes, then becomes Spark's daemon; its other kinds of worker are left as they are."""
    if sys.argv[1:2] == [UDF_WORKER]:
        for name in PRELOADED:
            importlib.import_module(name)
        gc.collect()
        gc.freeze()
    runpy.run_module("pyspark.daemon", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
