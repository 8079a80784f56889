"""A what-if of a recorded incident: forty groups for three minutes and more, eight settings and the baseline.

Knows what is measured and its goal; how a log is read and played is the job's.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks.figures import Figure, at_least, at_most, bench
from benchmarks.spark_homes import session
from jobs.spark.jars import ROOT
from jobs.whatif.command import answer, on_spark, read_log
from whatif.answer import share_of
from whatif.changes import trial_of

LOG = ROOT / "tests" / "captures" / "j-busy-1" / "requests.log.gz"
SWEEP = "session.timeout.ms=6000..60000/8"


@bench
def sweep() -> Iterator[Figure]:
    """From the log's file to the last figure, the start of Spark included."""
    started = time.monotonic()
    recording, _, _ = read_log(LOG, "UTC", {})
    read_s = time.monotonic() - started
    with session() as spark:
        found = answer(recording, trial_of([SWEEP]), on_spark(spark))
        seconds = time.monotonic() - started
    plays = len(recording.lives) * (1 + len(found.tried))
    if any(len(outcomes) != len(recording.lives) for outcomes in (found.baseline, *found.tried)):
        raise AssertionError("a group was not played")
    yield Figure("forty_groups_eight_settings", seconds, "s", at_most(60))
    yield Figure("reading_and_inferring", read_s, "s")
    yield Figure("plays", plays / (seconds - read_s), "1/s")
    yield Figure("baseline_fidelity", share_of(found.fidelities.values()), "share", at_least(0.95))
