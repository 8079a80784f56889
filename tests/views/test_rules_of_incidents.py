"""Groups of both protocols on a real broker 4.3.1, chosen at random what their clients did, hold no row that cannot be.

Of each recording (`rule_incidents`) these are the groups that did: converted to the newer protocol and back at any
moment, with static members that change protocols, members that are killed, stopped, too slow or subscribe anew,
partitions added, and the broker stopped once and killed once.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.check import broken_rules
from jobs.home import Home
from jobs.rollcall.__main__ import main

RECORDED = Path(__file__).parent / "rule_incidents"
NAMES = sorted({path.name.partition(".")[0] for path in RECORDED.iterdir()})


@pytest.mark.parametrize("inputs", ["log", "topic", "both"])
@pytest.mark.parametrize("name", NAMES)
def test_a_recording_holds_no_row_that_cannot_be(name: str, inputs: str, tmp_path: Path) -> None:
    log, dump = (str(RECORDED / f"{name}.{kind}.gz") for kind in ("log", "dump"))
    what = {"log": log, "topic": dump, "both": f"{log} {dump}"}[inputs]
    assert main(["replay", what, "--home", str(tmp_path / "home"), "--processes", "1"]) == 0
    assert {rule.name: rows[:3] for rule, rows in broken_rules(Home(tmp_path / "home"))} == {}
