"""A what-if of a recorded incident: forty groups for three minutes and more, eight settings and the baseline.

Knows what is measured and its goal; how a log is read and played is the job's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from benchmarks.bench_replay import CAPTURES, run
from benchmarks.figures import Figure, at_least, at_most, bench
from benchmarks.spark_homes import folder

SWEEP = "session.timeout.ms=6000..60000/8"


@bench
def sweep() -> Iterator[Figure]:
    """From the command to the last figure."""
    log = str(CAPTURES / "j-busy-1" / "requests.log.gz")
    with folder() as path:
        found = run("whatif", log, "--set", SWEEP, "--out", str(path / "rows.jsonl"))
        rows = [json.loads(line) for line in (path / "rows.jsonl").read_text().splitlines()]
    played = {(row["group_id"], row["value"]) for row in rows if row["group_id"] and row["run"] == "whatif"}
    if len(played) != 39 * 8:
        raise AssertionError(f"{len(played)} plays of 312")
    (fidelity,) = re.findall(r"fidelity of the baseline: ([0-9.]+)%", found.report)
    yield Figure("forty_groups_eight_settings", found.seconds, "s", at_most(8))
    yield Figure("baseline_fidelity", float(fidelity) / 100, "share", at_least(0.95))
