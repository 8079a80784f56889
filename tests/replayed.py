"""A log or a dump replayed into a home as the command does it, without its report. Knows the replay's entrance."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from zoneinfo import ZoneInfo

from rich.console import Console

from rollcall.cli.replay import make_history
from rollcall.inputs.replay.inputs import Input, LogInput, TopicInput
from rollcall.inputs.replay.spilled_dump import SpilledDump
from rollcall.inputs.request_log.lines.files import files_in_order
from rollcall.shown.replay_report import Replayed
from rollcall.tables.home import Home

UTC = ZoneInfo("UTC")
QUIET = Console(quiet=True)


def replay_log(
    home: Home, path: Path, given: Mapping[str, str] | None = None, processes: int | None = None
) -> Replayed:
    made_of = LogInput(files_in_order(path, UTC), given or {}, UTC)
    make_history(home, Input(made_of), QUIET, processes)
    return made_of.replayed


def replay_dump(home: Home, path: Path) -> SpilledDump:
    made_of = TopicInput([path], {})
    make_history(home, Input(topic=made_of), QUIET)
    return made_of.found
