"""`make why`: the page, the rows, and what is refused with which sentence."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from rollcall.__main__ import main
from rollcall.answers.why.explanation import Explanation
from rollcall.history.rebalances import NoSuchRebalance
from rollcall.programs.terminal import Terminal
from rollcall.shown.why_page import show_page
from tests.views.histories import one_expires, one_leaves, rebalancing, two_members
from tests.views.story import Story, write_effects
from tests.why.reading import explained


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_effects(tmp_path, {story.group_id: story.rows for story in (two_members(), one_leaves())})
    return tmp_path


def page(found: Explanation) -> str:
    out = io.StringIO()
    show_page(found, Console(file=out, highlight=False, soft_wrap=True, width=80))
    return out.getvalue()


def crowd(size: int) -> Story:
    """member-00 is in generation 1; the others come in order of their numbers, and it is the last to rejoin."""
    story = Story("crowd")
    names = [f"member-{number:02}" for number in range(size)]
    for number, name in enumerate(names):
        story.join(1000 + number, name)
    story.join(2000, names[0])
    story.sync(3000, names[0], {name: [f"t-{number}"] for number, name in enumerate(names)})
    for name in names[1:]:
        story.sync(3001, name)
    return story


def test_a_page_says_everything_in_the_order_of_a_person_on_call() -> None:
    text = page(explained(one_leaves()))
    sections = re.findall(r"^[A-Z][A-Z ]+[A-Z]", text, re.MULTILINE)
    assert sections == [
        "WHO AND WHY",
        "TIMELINE",
        "MEMBERS",
        "WHO KEPT THE OTHERS WAITING",
        "WHAT MOVED",
        "HOW LONG NOBODY CONSUMED",
        "HOW CLOSE THE OTHERS WERE TO EXPIRING",
    ]
    first, _, sentence, *_ = text.splitlines()
    assert first == "left: generation 2 -> 3, 1970-01-01 00:00:04.000 UTC, completed in 200 ms"
    assert sentence == ("b on 10.0.0.1 left the group: 2 -> 1 members, 1 partition moved, nobody consumed for 100 ms.")
    assert '  reason given   "shutting down"\n' in text
    assert "  t 1: b -> a\n  gained and lost: a +1 -0, b +0 -1\n  1 partition stayed where it was\n" in text


def test_a_page_of_one_that_runs_says_who_is_awaited() -> None:
    text = page(explained(rebalancing()))
    assert text.startswith("rebalancing: generation 2 -> ?, 1970-01-01 00:00:05.000 UTC, still running 100 ms later\n")
    assert "Still awaited: a.\n" in text
    assert re.search(r"^  a +10\.0\.0\.1 +- +not yet", text, re.MULTILINE)


def test_the_running_rebalance_is_asked_for_by_the_generation_that_it_would_lead_to() -> None:
    assert page(explained(rebalancing(), 3)) == page(explained(rebalancing()))
    with pytest.raises(NoSuchRebalance, match="there are 1 to 3"):
        explained(rebalancing(), 4)


def test_of_many_members_the_slowest_are_shown_and_the_rest_counted() -> None:
    lines = page(explained(crowd(60), 2)).splitlines()
    shown = [line.split()[0] for line in lines if re.match(r"  member-\d\d .*10\.0\.0\.1", line)]
    assert shown[:3] == ["member-00", "member-59", "member-58"]
    assert len(shown) == 20
    assert any(re.match(r"  and 40 more, all in within \d+ ms; JSON output lists each", line) for line in lines)


def test_members_that_share_a_client_id_and_host_are_distinguished_and_the_page_says_what_is_unknown() -> None:
    story = two_members()
    reported = {name: member_id for name, member_id in story.member_ids.items()}
    for row in story.rows:
        row.client_id = "app" if row.client_id else row.client_id
        row.detail = (row.detail or "").replace('"client_id":"a"', '"client_id":"app"') or None
        row.detail = (row.detail or "").replace('"client_id":"b"', '"client_id":"app"') or None
    text = page(explained(story))
    assert all(f"app#{member_id[-36:][:8]}" in text for member_id in reported.values())
    assert "which of them came back under another id is unknown." in text


# ---------------------------------------------------------------- the command


def test_the_command_prints_the_page(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "--home", str(home), "left"]) == 0
    assert capsys.readouterr().out == page(explained(one_leaves()))


def test_json_is_one_object_a_line_with_times_that_name_their_zone(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["why", "--home", str(home), "--format", "json", "--generation", "3", "left"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["at"] for row in rows if row["about"] == "sentence"] == ["1970-01-01T00:00:04.000Z"]
    assert [(row["client"], row["duration_ms"]) for row in rows if row["about"] == "rejoined"] == [("a", 100)]
    assert list(rows[0]) == ["part", "about", "text", "at", "client", "member_id", "topic", "partition", "duration_ms"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--format", "xml", "two"], "--format xml: is not one of text, json."),
        ([""], "GROUP names no group."),
        (
            ["--generation", "1", "--at", "1970-01-01 00:00", "two"],
            "--generation and --at: name one of them, not both.",
        ),
        (["--generation", "one", "two"], "--generation one: is not a whole number."),
        (["--at", "noon", "two"], "--at noon: invalid time; expected 2026-03-01 03:12, "),
        (["twwo"], "twwo: no such group in the home; did you mean two?"),
        (["orders"], "orders: no such group in the home; known groups: left, two."),
        (["--generation", "9", "two"], "--generation 9: no rebalance of two led to it; there are 1 to 2."),
    ],
)
def test_a_mistake_is_one_sentence_and_status_2(
    home: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert main(["why", "--home", str(home), *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith(f"rollcall: {sentence}")
    assert (printed.err.count("\n"), printed.out) == (1, "")


def test_a_home_that_is_none_or_has_no_facts_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "--home", str(tmp_path / "none"), "two"]) == 2
    assert "does not exist" in capsys.readouterr().err
    (tmp_path / "requests" / "_delta_log").mkdir(parents=True)
    assert main(["why", "--home", str(tmp_path), "two"]) == 2
    assert "holds no effects yet" in capsys.readouterr().err


def test_an_expiry_says_since_when_its_culprit_was_silent() -> None:
    lines = page(explained(one_expires()))
    said = "b on 10.0.0.1 sent nothing that renews its session for its session timeout (10 s) and was removed: "
    assert said in lines
    assert "  session renewed   1970-01-01 00:00:03.100 UTC, 10 s before\n" in lines
    seen = "1970-01-01 00:00:03.300 UTC, 9.800 s before, by a SyncGroup, which does not renew a session"
    assert f"  last seen         {seen}\n" in lines


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("story", [one_expires, one_leaves, lambda: crowd(30)])
def test_no_line_is_wider_than_the_terminal(story: Callable[[], Story], width: int) -> None:
    out, whole = io.StringIO(), page(explained(story()))
    show_page(explained(story()), Terminal(file=out, force_terminal=True, color_system=None, width=width))
    shown = out.getvalue().splitlines()
    assert [line for line in shown if len(line) > width and " " in line.strip()] == []
    words = {word.strip(":") for word in " ".join(shown).split()}
    assert {word.strip(":") for word in whole.split()} - words == set()
