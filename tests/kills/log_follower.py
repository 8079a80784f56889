"""A shadow that is killed again and again while its log grows: its history is the finished log's.

Knows the log and the shadow's program. Must not know what a line says.
"""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator
from pathlib import Path

from tests.kills.moments import SHADOWS, Moment
from tests.shadow.finished_log import expected
from tests.shadow.shadow_program import Shadow
from tests.source_tree import ROOT
from tests.waiting import until

LOG = ROOT / "tests/captures/n-classic-mixed/requests.log.gz"
PATIENCE_S = 240.0


def kill_shadow(folder: Path, kills: int, dice: random.Random) -> Iterator[Moment]:
    """Kills it so often, each time with more lines to read. Raises AssertionError: its history differs."""
    answers, count = expected(LOG)
    lines = gzip.decompress(LOG.read_bytes()).splitlines(keepends=True)
    folder.mkdir()
    shadow = Shadow(folder)
    try:
        for number in range(kills):
            moment = SHADOWS[number % len(SHADOWS)]
            until(shadow.is_running, "the shadow", PATIENCE_S)
            shadow.write(lines[number * len(lines) // (kills + 1) : (number + 1) * len(lines) // (kills + 1)])
            moment.wait(shadow.home.path, dice)
            shadow.kill()
            yield moment
            shadow.start_again()
        shadow.write(lines[kills * len(lines) // (kills + 1) :])
        until(lambda: len(shadow.effects()) >= count, "the finished log's history", PATIENCE_S)
        shadow.stop()
    finally:
        shadow.end()
    assert (shadow.answers(), len(shadow.effects())) == (answers, count)
