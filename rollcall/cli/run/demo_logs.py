"""The demo's logs: how they grow, and who writes where they end into the home.

Knows the gateway's settings of them. Must not know how a log grows, nor how a cluster is asked.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rollcall.answers.sql.named_partitions import named_partitions
from rollcall.cli.run.demo_plan import RECORDS_PER_SECOND
from rollcall.tables.home import Home
from rollcall.tables.versions import is_table

if TYPE_CHECKING:
    from rollcall.inputs.following.log_ends_sampler import LogEndsSampler

_SAMPLED_EVERY_MS = 2_000
_FIRST_AFTER_MS = 6_000
"""Until the groups are at work: where a log ended before its first sample is unknown, so that lag has no time."""
_REACHED = """select topic, max(reached) from (
  select topic, end_offset as reached from log_ends union all select topic, committed_offset from offsets
) group by topic"""


def growth_words(home: Home) -> tuple[str, ...]:
    """Return the gateway's options for logs that continue where those of the home's history ended."""
    grown_ms = 0
    if is_table(home.effects):
        from rollcall.answers.sql.engine import ask  # Takes half a second.

        reached = {topic: offset or 0 for topic, offset in ask(home.path, _REACHED).rows}
        grown_ms = max(1000 * reached.get(topic, 0) // per_second for topic, per_second in RECORDS_PER_SECOND.items())
    rates = ",".join(f"{topic}:{per_second}" for topic, per_second in RECORDS_PER_SECOND.items())
    since_ms = max(0, int(time.time() * 1000) - (grown_ms or -_FIRST_AFTER_MS))
    return "--set", f"gateway.demo.records.per.second={rates}", "--set", f"gateway.demo.since.ms={since_ms}"


def ends_sampler(home: Home, bootstrap: str) -> LogEndsSampler:
    """Return what asks the gateway for the ends of logs, as it would ask a cluster."""
    # Imported here: only the demo needs a Kafka client in this process.
    from rollcall.inputs.following.listed_offsets import ListedOffsets
    from rollcall.inputs.following.log_ends_sampler import LogEndsSampler

    return LogEndsSampler(home, ListedOffsets({"bootstrap.servers": bootstrap}), named_partitions, _SAMPLED_EVERY_MS)
