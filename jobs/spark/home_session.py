"""A session for the job that works on a home: with the shuffle partitions that the home was made with.

At a home's first start the session's number is taken, and the home notes what it was made with, in `home.json`:

    "made_with": {"version": "0.3.0", "cores": 8, "memory_bytes": 33285996544, "shuffle_partitions": 8}

The checkpoint is laid out for that number, so every later start keeps it, whatever the machine has by then. Knows the
note and Spark's setting; must not know the query.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from rollcall.jobs.spark.machine import Machine, this_machine
from rollcall.jobs.spark.session import spark_session
from rollcall.jobs.stream.checkpoint import shuffle_partitions
from rollcall.programs.log_lines import tell
from rollcall.programs.version import VERSION
from rollcall.tables.home import Home, different_partitions

KEY = "spark.sql.shuffle.partitions"


def home_session(home: Home, name: str, settings: Mapping[str, str] | None = None) -> SparkSession:
    """A session as of `spark_session`, for a home that the caller has locked and settled. Raises Missing, HomeError."""
    spark = spark_session(name, settings)
    if home.is_local:
        own = int(str(spark.conf.get(KEY)))
        kept, remark = keep_partitions(home, own, this_machine())
        if remark:
            tell(remark, is_error=True)
        spark.conf.set(KEY, str(kept))
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
