"""Tables of reports keep a terminal's width: a narrow one gets a block for each row, a file whole lines."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable

import pytest
from rich.console import Console
from rich.table import Table

from rollcall.answers.whatif.changes import trial_of
from rollcall.cli.whatif import report as whatif_report
from rollcall.cli.whatif.command import answer, read_recording
from rollcall.inputs.replay.building import Shown
from rollcall.inputs.request_log.parity import Difference, Parity
from rollcall.inputs.request_log.recorded import Tally
from rollcall.programs.processes import Processes
from rollcall.programs.terminal import add_row
from rollcall.shown import replay_report
from rollcall.shown.tables import show_table
from tests.source_tree import ROOT

HERE, QUIET = Processes(1), Shown(Console(quiet=True))
Show = Callable[[Console], object]


def a_table(console: Console) -> None:
    table = Table(title="all groups")
    for name in ("group", "rebal-\nances", "member-s\nstopped"):
        table.add_column(name, no_wrap=True)
    add_row(table, "orders-with-a-long-name", "12", "4.5")
    add_row(table, "clicks", "13", "5.5")
    show_table(console, table)


def a_replay(console: Console) -> None:
    difference = Difference(
        "log:1", "orders", "JOIN_GROUP", 9, "orders-0", 0, {"leader": "orders-0-" * 9}, {"leader": ""}
    )
    parity = Parity(Counter({"JOIN_GROUP": 7}), Counter({"JOIN_GROUP": 1}), [difference])
    replay_report.say_log(console, replay_report.Replayed(Tally(), parity, {}, 1.0))


def a_whatif(settings: str) -> Show:
    log = ROOT / "tests" / "captures" / "d-kill" / "requests.log.gz"
    found = answer(read_recording(log, "UTC", {}, HERE, QUIET)[0], trial_of([settings]), HERE, QUIET)
    return lambda console: whatif_report.tell(console, whatif_report.Report(found, {}, 1, 1.0, "out"))


SHOWN: dict[str, Callable[[], Show]] = {
    "table": lambda: a_table,
    "replay": lambda: a_replay,
    "whatif": lambda: a_whatif("session.timeout.ms=60000"),
    "curve": lambda: a_whatif("session.timeout.ms=6000..60000/3"),
}
shown = pytest.mark.parametrize("show", [make() for make in SHOWN.values()], ids=[*SHOWN])


def lines_of(show: Show, width: int, *, is_terminal: bool) -> list[str]:
    out = io.StringIO()
    show(Console(file=out, width=width, force_terminal=is_terminal, color_system=None))
    return out.getvalue().splitlines()


def of_tables(lines: list[str]) -> list[str]:
    return [line for line in lines if line and line.strip()[0] in "┏┃┡│└┌├╷╶"]


@shown
@pytest.mark.parametrize("width", [30, 44])
def test_a_narrow_terminal_gets_a_block_for_each_row(show: Show, width: int) -> None:
    lines = lines_of(show, width, is_terminal=True)
    assert "row 1" in "\n".join(lines)
    assert of_tables(lines)
    assert max(map(len, of_tables(lines))) <= width
    assert not [line for line in of_tables(lines) if "…" in line]


@shown
def test_a_file_gets_whole_rows(show: Show) -> None:
    lines = lines_of(show, 30, is_terminal=False)
    assert "row 1" not in "\n".join(lines)
    assert lines == lines_of(show, 500, is_terminal=True)


def test_a_block_names_each_column_in_one_line() -> None:
    lines = [line.split() for line in lines_of(a_table, 30, is_terminal=True)]
    assert ["│", "rebalances", "│", "12", "│"] in lines
    assert ["│", "member-s", "stopped", "│", "4.5", "│"] in lines
    assert ["row", "2"] in lines
