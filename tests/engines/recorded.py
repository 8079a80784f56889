"""One home with every history that the tests have: recorded incidents, dumps and written stories.

Knows where they come from. Must not know what is asked of them.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import msgspec

from rollcall.serve.alerts.alarm import Alarm, Sent
from rollcall.serve.alerts.sent_table import SentTable
from tests.lag.homes import write_capture
from tests.lag.homes import write_home as write_with_ends
from tests.lag.silences import GROWING, random_life
from tests.offsets_topic.folded import NAMES as DUMPS
from tests.request_log.truth import NAMES as CAPTURES
from tests.views.histories import stories
from tests.views.random_homes import random_histories
from tests.views.story import write_effects
from tests.views.troubles import troubles
from tests.why.reading import capture, topic

PLAYS, FLEETS = 40, 25
LIVES = 24
SENT_MS = 1_795_421_500_000
"""Between the moments that are asked about."""


def write_home(home: Path) -> Path:
    """All histories in one home, each incident's groups with its name before theirs."""
    for name in CAPTURES:
        write_effects(home, {f"{name}/{group_id}": rows for group_id, rows in capture(name).items()})
    for name in DUMPS:
        write_effects(home, {f"dump {name}/{group_id}": rows for group_id, rows in topic(name).items()})
    write_effects(home, {f"told {story.group_id}": story.rows for story in (*troubles(), *stories())})
    return home


def write_lag_home(home: Path) -> Path:
    """The incident whose log has ends and fetches, too, and of which alarms were sent."""
    write_capture(home)
    opened = Alarm("0123", "orders", "storms", SENT_MS - 9_000, SENT_MS, "6 rebalances", "http://page/", why="a left.")
    closed = msgspec.structs.replace(opened, closed_ms=SENT_MS + 60_000)
    behind = Alarm("4567", "", "job_behind", SENT_MS, SENT_MS, "the job is behind", "http://page/", severity="critical")
    reported = [
        Sent(SENT_MS, "slack", "opened", opened, "200 ok"),
        Sent(SENT_MS + 1, "slack", "opened", behind, "200 ok"),
    ]
    SentTable(home).add([*reported, Sent(SENT_MS + 60_000, "slack", "closed", closed, "given up: answered 500")], 3)
    return home


def write_unrecorded_home(home: Path) -> Path:
    """Groups whose logs' ends are known, with times that nobody recorded; the same ones in every run."""
    chance = Random(0)
    write_with_ends(home, [random_life(chance, f"life-{number}") for number in range(LIVES)], GROWING)
    return home


HOMES = {"views": write_home, "lag_views": write_lag_home, "unrecorded_views": write_unrecorded_home}
"""The homes whose views are asked, by the file that has Spark's answers."""


def write_random_home(home: Path) -> Path:
    """Histories that are others in every run."""
    write_effects(home, {name: history.rows for name, history in random_histories(PLAYS, FLEETS).items()})
    return home
