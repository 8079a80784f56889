"""The lease on a home in an object store, for as long as a job works in it. A home on this machine's disk has a lock.

Knows where the lease lies and for how long it is held; must not know its rules (that is `rollcall.tables.lease`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from rollcall.jobs.spark.store_folder import StoreFolder
from rollcall.tables.home import Home
from rollcall.tables.lease import Lease, take_lease


@contextmanager
def held(spark: SparkSession, home: Home, who: str) -> Iterator[Lease | None]:
    """Holds a home for one job; None for a home that has a lock instead.

    Raises HomeError: another job works in it, or its store cannot be used. who: the holder's name for other jobs.
    """
    if home.is_local:
        yield None
        return
    lease = take_lease(StoreFolder(spark, home.lease, home.shown), who, home.shown)
    lease.keep()
    try:
        yield lease
    finally:
        lease.release()
