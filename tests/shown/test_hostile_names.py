"""Names of clients and groups on a terminal: whatever they hold, they are text, and what serves goes on."""

from __future__ import annotations

import io
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from rich.console import Console
from rich.table import Table

from rollcall.__main__ import main
from rollcall.answers.sql import engine
from rollcall.answers.sql.engine import Answer as Rows
from rollcall.answers.sql.engine import AnswerColumn
from rollcall.answers.views.rebalances import REBALANCES
from rollcall.answers.whatif.answer import WhatIfAnswer
from rollcall.answers.whatif.changes import trial_of
from rollcall.cli.run.choices import RunOptions, choices
from rollcall.cli.run.command import Run
from rollcall.cli.whatif import report as whatif_report
from rollcall.cli.whatif.command import answer, read_recording
from rollcall.inputs.replay.building import Shown
from rollcall.inputs.request_log.parity import Difference, Parity
from rollcall.inputs.request_log.recorded import Tally
from rollcall.programs.columns import wrapped
from rollcall.programs.processes import Processes
from rollcall.programs.terminal import Line, Teller, Terminal, add_row, say, say_all, text_of
from rollcall.programs.visible import visible
from rollcall.shown import replay_report
from rollcall.shown.watch import Watch
from rollcall.shown.why_page import show_page
from rollcall.tables.home import Home
from tests.command_run import ran
from tests.shown.hostile import story_of
from tests.source_tree import ROOT
from tests.views.histories import two_members
from tests.views.story import write_effects
from tests.why.reading import explained

SHOWN = {
    "a[/x]b": "a[/x]b",
    "[red]a[/red]": "[red]a[/red]",
    "[link=x]a": "[link=x]a",
    ":boom:": ":boom:",
    "\\[b]": "\\[b]",
    "a\nforged": "a\\nforged",
    "a\x1b[2Jb": "a\\x1b[2Jb",
    "a\x9b2Jb": "a\\x9b2Jb",
    "a\u202eb": "a\\u202eb",
    "\u2066a": "\\u2066a",
}
"""Names, and how each is shown."""
names = pytest.mark.parametrize("name", SHOWN)


def printed(show: Callable[[Console], object]) -> str:
    out = io.StringIO()
    show(Console(file=out, width=400))
    return out.getvalue()


def reported_safely(text: str, name: str) -> bool:
    """The name stands in the text as it is to be shown, and nothing that acts on a terminal does."""
    return SHOWN[name] in text and all(line.isprintable() for line in text.split("\n")) and "\nforged" not in text


# ---------------------------------------------------------------- the one place


@names
def test_a_line_a_cell_and_a_title_are_text(name: str) -> None:
    table = Table(title=text_of(name))
    table.add_column(text_of(name))
    add_row(table, name)
    assert reported_safely(printed(lambda console: say(console, name)), name)
    assert reported_safely(printed(lambda console: console.print(table)), name)


def test_no_other_file_makes_markup_of_a_variable_text() -> None:
    """A text with a name in it is printed by `say`, or is a Text by `text_of`."""
    sources = {
        path: path.read_text()
        for room in ("jobs", "rollcall/inputs", "rollcall/shown", "rollcall/cli")
        for path in (ROOT / room).rglob("*.py")
    }
    for path, source in sources.items():
        assert "console.print(f" not in source.replace("console.print(\n", "console.print("), path
        assert ".add_row(" not in source.replace("record.add_row(text_of(name), value)", "").replace(
            "table.add_row(*map(_cell, row))", ""
        ), path
        assert "title=f" not in source, path


# ---------------------------------------------------------------- what shows names


@names
def test_the_lines_and_the_screen_of_a_run(name: str, tmp_path: Path) -> None:
    write_effects(tmp_path, {name: []})
    watch = Watch(tmp_path)
    write_effects(tmp_path, {name: story_of(name).rows})
    lines = list(watch.look())
    assert any(" joined" in line for line in lines)
    for line in lines:
        assert reported_safely(printed(lambda console, line=line: say(console, line)), name)  # type: ignore[misc]
    assert reported_safely(printed(lambda console: console.print(watch.screen())), name)


@names
def test_the_page_of_a_rebalance(name: str) -> None:
    assert reported_safely(printed(lambda console: show_page(explained(story_of(name)), console)), name)


@names
def test_the_rows_of_a_rebalance_stay_exact_data(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_effects(tmp_path, {"left": story_of(name).rows})
    assert main(["why", "--home", str(tmp_path), "--format", "json", "left"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.isprintable() for line in lines)
    assert any(str(json.loads(line)["client"]).startswith(name) for line in lines)


@names
def test_the_report_of_a_replay(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    row: dict[str, object] = dict.fromkeys((column.name for column in REBALANCES.columns), name)
    row |= {"cause": "member_left", "is_inferred": False, "slowest_wait_ms": 99, "cause_candidates": None}
    row |= {"group_type": name, "known_from_ms": 0, "ended_at_ms": 5}
    columns = tuple(AnswerColumn(column, duckdb.type("VARCHAR")) for column in row)
    monkeypatch.setattr(engine, "ask", lambda *_, **__: Rows(columns, iter([tuple(row.values())])))
    monkeypatch.setattr(Home, "check_tables", lambda _: None)
    parity = Parity()
    parity.first.append(Difference("r", name, "Heartbeat", 4, name, 5, {"error": name}, {"error": "NONE"}))
    report = replay_report.Replayed(Tally(skipped=Counter({name: 1})), parity, {"group.max.size": name}, 1.0)

    def show(console: Console) -> None:
        replay_report.say_log(console, report)
        replay_report.tell_home(console, Home(name))

    assert reported_safely(printed(show), name)


@pytest.fixture(scope="module")
def found() -> WhatIfAnswer:
    log = ROOT / "tests" / "captures" / "b-rolling-dynamic" / "requests.log.gz"
    alone, quiet = Processes(1), Shown(Console(quiet=True))
    recording = read_recording(log, "UTC", {}, alone, quiet)[0]
    return answer(recording, trial_of(["session.timeout.ms=6000", "static=true"]), alone, quiet)


@names
def test_the_report_of_a_what_if(name: str, found: WhatIfAnswer) -> None:
    def hostile(by_group: dict[str, Any]) -> dict[str, Any]:
        return {f"{name}-{group_id}": value for group_id, value in by_group.items()}

    recording = replace(
        found.recording,
        schedules=hostile(found.recording.schedules),
        outcomes=hostile(found.recording.outcomes),
        left_out={name: f"{name} is left out"},
        moved=[name],
    )
    tried = tuple(hostile(dict(outcomes)) for outcomes in found.tried)
    answered = replace(found, recording=recording, baseline=hostile(dict(found.baseline)), tried=tried)
    report = whatif_report.Report(answered, {"group.max.size": name}, 5, 1.0, name)
    assert reported_safely(printed(lambda console: whatif_report.tell(console, report)), name)


@names
def test_a_mistake_with_a_name_in_it_is_one_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_effects(tmp_path, {name: two_members(name).rows})
    assert main(["why", "--home", str(tmp_path), "other"]) == 2
    said = capsys.readouterr().err
    assert reported_safely(said, name)
    assert said.count("\n") == 1


def test_a_character_that_the_terminal_cannot_show_is_written_out(tmp_path: Path) -> None:
    write_effects(tmp_path, {"left": story_of("prüfer").rows})
    status, out, err = ran("why", "--home", str(tmp_path), "left", PYTHONIOENCODING="ascii")
    assert (status, err) == (0, "")
    assert "pr\\xfcfer" in out


@pytest.mark.parametrize("is_terminal", [True, False])
def test_many_lines_are_printed_as_each_would_be_by_itself_and_broken_at_the_width_of_a_terminal(
    is_terminal: bool,
) -> None:
    lines = [Line(name, style) for name in (*SHOWN, "", "long " * 100) for style in ("", "bold")]
    apart, together = (
        Terminal(
            file=io.StringIO(), width=80, force_terminal=is_terminal, color_system="truecolor" if is_terminal else None
        )
        for _ in range(2)
    )
    for text, style in lines:
        for part in wrapped(visible(text), 80 if is_terminal else None) or [""]:
            say(apart, part, style)
    say_all(together, lines)
    assert together.file.getvalue() == apart.file.getvalue()  # type: ignore[attr-defined]
    assert ("\x1b[1m" in together.file.getvalue()) == is_terminal  # type: ignore[attr-defined]


# ---------------------------------------------------------------- what serves goes on


class Unwilling(io.StringIO):
    """Standard output of which somebody has let go."""

    def write(self, text: str) -> int:
        raise BrokenPipeError("gone")


def test_what_cannot_be_shown_is_reported_once_and_ends_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    teller = Teller(Terminal(file=Unwilling()))
    for _ in range(3):
        teller.say("a line")
    assert (
        capsys.readouterr().err
        == "rollcall: some output cannot be shown (BrokenPipeError: nobody reads any more); the program continues.\n"
    )


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_run_goes_on_watching_whatever_cannot_be_shown(is_terminal: bool, tmp_path: Path) -> None:
    made = choices(RunOptions(home=str(tmp_path), demo_seconds="60"), {})
    run = Run(made, Terminal(file=Unwilling() if is_terminal else io.StringIO(), force_terminal=is_terminal))
    looks = Looks(run._stop)
    run._watch(looks)  # type: ignore[arg-type]
    assert looks.count >= 2


class Looks:
    """A watch in which every look fails; the second one stops the run."""

    def __init__(self, stop: threading.Event) -> None:
        self.count, self._stop = 0, stop

    def look(self) -> Iterator[str]:
        self.count += 1
        if self.count == 2:
            self._stop.set()
        raise ValueError("a row that nobody expected")

    def screen(self) -> str:
        return "groups"

    def group_at_work_with(self, client_id: str) -> None:
        return None
