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
import socket
import sys
from functools import partial
from typing import Any

from pyspark import daemon

from rollcall.jobs.spark import lean_worker


def main() -> None:
    """Loads and freezes, then becomes pyspark's daemon."""
    sparks: Any = daemon
    sparks.worker = partial(without_waits, sparks.worker)
    lean_worker.install()
    gc.collect()
    gc.freeze()
    sparks.manager()


def without_waits(serve: Any, connection: socket.socket, *others: Any) -> Any:
    """pyspark's worker for a task, over a socket on which neither side waits for the other to acknowledge.

    Otherwise the JVM waits twice a batch for 40 ms before it sends on. Linux forgets TCP_QUICKACK, so that each task
    sets it. Sockets of files would not wait either, but through them pyspark's daemons, which also serve what asks a
    Python source for its plan, write a stack trace whenever Spark closes an idle worker.
    """
    if connection.family != socket.AF_UNIX:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if sys.platform == "linux":
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
    return serve(connection, *others)


if __name__ == "__main__":
    main()
