"""The moments at which a program is killed: any, or that in which a file of a kind appears in its home.

A home's files show from outside where its programs are: a batch whose effects are committed and which Spark has not
noted yet, a compaction that has written its file and not its commit. Knows names of files; must not know a program.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from tests.waiting import until

Victim = Literal["coordinator", "gateway", "maintenance", "page", "shadow", "topic shadow", "shadow of both"]
LOOK_EVERY_S = 0.0005
AT_MOST_S = 30.0
ANY_WITHIN_S = 3.0
APPENDED = f"requests/part-*-{'[0-9]' * 10}.parquet"
COMPACTED = "requests/part-*-c000*.parquet"
"""Gateways name the files that they append; the table library names those that it puts together in its own way."""


class Moment(NamedTuple):
    """When a program is killed."""

    name: str
    victim: Victim
    files: tuple[str, ...]
    """Patterns in the home: the first new file that fits one; none: any moment of the next seconds."""

    def wait(self, home: Path, dice: random.Random, is_over: Callable[[], bool] = lambda: False) -> None:
        """Until it has come. is_over: it cannot come any more."""
        if not self.files:
            ends_at = time.monotonic() + dice.uniform(0, ANY_WITHIN_S)
            until(lambda: time.monotonic() >= ends_at, self.name, every_s=0.01)
            return
        before = self._found(home)
        until(
            lambda: self._found(home) - before or is_over(),
            lambda: f"{self.name}: nothing new",
            AT_MOST_S,
            LOOK_EVERY_S,
        )

    def _found(self, home: Path) -> set[Path]:
        return {path for pattern in self.files for path in home.glob(pattern)}


EFFECTS_COMMITTED = Moment("effects committed, Spark's commit not", "coordinator", ("effects/_delta_log/*.json",))
MOMENTS = (
    EFFECTS_COMMITTED,
    Moment("a batch planned", "coordinator", ("checkpoint/offsets/[0-9]*",)),
    Moment("the state being written", "coordinator", ("checkpoint/state/*/*/*", "checkpoint/state/*/*/.*")),
    Moment("effects written or put together, not committed", "coordinator", ("effects/at_date=*/part-*",)),
    Moment("a compaction written, not committed", "coordinator", (COMPACTED,)),
    Moment("a table's checkpoint being written", "coordinator", ("*/_delta_log/*.checkpoint.parquet*",)),
    Moment("any", "coordinator", ()),
    Moment("a request's file written, not committed", "gateway", (APPENDED,)),
    Moment("requests committed, nobody answered", "gateway", ("requests/_delta_log/*.json",)),
    Moment("any", "gateway", ()),
    Moment("maintenance in a compaction", "maintenance", (COMPACTED, "effects/at_date=*/part-*")),
    Moment("maintenance at any moment", "maintenance", ()),
    Moment("any", "page", ()),
)
SHADOWS = (
    Moment("the place in the log noted", "shadow", ("shadow/*.state",)),
    Moment("requests committed", "shadow", ("requests/_delta_log/*.json",)),
    Moment("effects committed, their requests not", "shadow", ("effects/_delta_log/*.json",)),
    Moment("any", "shadow", ()),
)
TOPIC_SHADOWS = (
    Moment("the places in the topic noted", "topic shadow", ("offsets-topic/*.state",)),
    Moment("effects written, not committed", "topic shadow", ("effects/at_date=*/part-*",)),
    Moment("effects committed", "topic shadow", ("effects/_delta_log/*.json",)),
    Moment("any", "topic shadow", ()),
)
BOTH_SHADOWS = (
    Moment("what is decided noted, not committed", "shadow of both", ("merged/*.state",)),
    Moment("merged facts written, not committed", "shadow of both", ("effects/at_date=*/part-*",)),
    Moment("merged facts committed, requests not", "shadow of both", ("effects/_delta_log/*.json",)),
    Moment("requests committed", "shadow of both", ("requests/_delta_log/*.json",)),
    Moment("any", "shadow of both", ()),
)
