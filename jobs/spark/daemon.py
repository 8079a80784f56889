"""The process that Spark forks its Python workers from: pyspark's daemon, with the stream's modules loaded first.

A worker collects garbage after each task, and with pandas and Arrow loaded that alone takes longer than an idle tick's
work. What is loaded before the fork is frozen: collections skip it, and the workers share its memory. The coordinator's
own function is served by `rollcall.jobs.spark.lean_worker`.

    spark.python.daemon.module=rollcall.jobs.spark.daemon
        Spark runs it as `python -m rollcall.jobs.spark.daemon WORKER_MODULE`

Knows how Spark starts its daemon; must not know what a worker does.
"""

from __future__ import annotations

import gc
import runpy
import sys

UDF_WORKER = "pyspark.worker"


def main() -> None:
    """Loads and freezes, then becomes pyspark's daemon; leaves pyspark's other kinds of worker as they are."""
    if sys.argv[1:2] == [UDF_WORKER]:
        # Not in the other kinds of worker, which need none of these modules.
        from rollcall.jobs.spark import lean_worker

        lean_worker.install()
        gc.collect()
        gc.freeze()
    runpy.run_module("pyspark.daemon", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
