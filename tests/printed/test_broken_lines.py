"""Logs that a paste broke at a width: what is believed of them is what the whole log says."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rollcall.inputs.printed.lines.broken_lines import MOST_PARTS, BrokenLines
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact
from rollcall.inputs.printed.logged_rebalances import LoggedRebalance
from rollcall.inputs.printed.reading import BROKEN, FileRead, merged, read_lines
from rollcall.inputs.printed.story import groups_in
from tests.nightly import nightly_but
from tests.printed.printed import MEMBER
from tests.printed.recorded import BROKERS

CLIENTS = BROKERS.parent / "clients"
FILES = {path.name.removesuffix(".log.gz"): path for path in (*BROKERS.glob("*.log.gz"), *CLIENTS.glob("*.log.gz"))}
WIDTHS = (60, 80, 100, 120, 160)
ALWAYS = [
    ("d-kill", "hard", 120),
    ("d-kill", "words", 80),
    ("n-classic-mixed", "words", 60),
    ("o-consumer-protocol", "blanks kept", 100),
    ("mails-send-1", "hard", 80),
    ("scores-calc-1", "words", 60),
]
REMARKS = ("then I restarted consumer 2", "here it hangs until somebody restarts it", "why?", "orders", "")
CLASS = " (org.apache.kafka.coordinator.group.GroupMetadataManager)"
AT = "[2026-03-01 03:12:00,000] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=3] "


def hard(line: str, width: int) -> list[str]:
    return [line[start : start + width] for start in range(0, len(line), width)] or [line]


def blanks_kept(line: str, width: int) -> list[str]:
    """As `fold -s` breaks it."""
    parts = []
    while len(line) > width:
        end = line.rfind(" ", 0, width) + 1 or width
        parts.append(line[:end])
        line = line[end:]
    return [*parts, line]


def words(line: str, width: int) -> list[str]:
    return [part.rstrip() for part in blanks_kept(line, width)]


BREAKS: dict[str, Callable[[str, int], list[str]]] = {"hard": hard, "blanks kept": blanks_kept, "words": words}
CASES = [(name, style, width) for name in sorted(FILES) for style in BREAKS for width in WIDTHS]


@cache
def lines_of(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode("utf-8", "replace").splitlines()


@cache
def whole(name: str) -> FileRead:
    return read_lines("x.log", lines_of(FILES[name]))


def said_by(fact: LoggedFact) -> tuple[Any, ...]:
    return (*fact[:2], *fact[3:])


def is_part_of(fact: LoggedFact, facts: Iterable[LoggedFact]) -> bool:
    """Whether a fact is one of these, or one of these with less in it."""
    return any(all(a in (b, "") for a, b in zip(said_by(fact), said_by(one), strict=True)) for one in facts)


def untrue(read: FileRead, name: str) -> list[LoggedFact]:
    said = [fact._replace(may_be_forged=False) for fact in read.facts if fact.kind is not FactKind.TWO_MESSAGES]
    return [fact for fact in said if not is_part_of(fact, whole(name).facts)]


def rebalances_of(read: FileRead) -> dict[tuple[str, int | None], list[LoggedRebalance]]:
    found: dict[tuple[str, int | None], list[LoggedRebalance]] = {}
    for group in groups_in(merged([read])):
        for one in group.rebalances:
            found.setdefault((group.group_id, one.generation_id), []).append(one)
    return found


def is_consistent(ours: LoggedRebalance, true: LoggedRebalance) -> bool:
    """Whether nothing that is reported as certain of a rebalance is otherwise in truth."""
    named = [(ours.outcome, true.outcome), (ours.members, true.members), (ours.ended_at_ms, true.ended_at_ms)]
    if not ours.cause.is_inferred and not ours.cause.candidates and ours.cause.kind != "unknown":
        named += [(ours.cause.kind, true.cause.kind), (ours.cause.member_id, true.cause.member_id)]
    return all(a in (b, None, "") for a, b in named)


@pytest.mark.parametrize(("name", "style", "width"), nightly_but(ALWAYS, CASES))
def test_what_is_certain_of_a_broken_log_is_true(name: str, style: str, width: int) -> None:
    broken = [part for line in lines_of(FILES[name]) for part in BREAKS[style](line, width)]
    read = read_lines("x.log", broken)
    assert untrue(read, name) == []
    true = rebalances_of(whole(name))
    for key, ours in rebalances_of(read).items():
        assert all(any(is_consistent(one, other) for other in true[key]) for one in ours), key
    assert len(read.facts) >= 0.75 * len(whole(name).facts) or len(lines_of(FILES[name])) < 3


@pytest.mark.parametrize(("name", "style", "width"), nightly_but(ALWAYS, CASES))
def test_remarks_between_broken_lines_become_no_part_of_them(name: str, style: str, width: int) -> None:
    for every in (1 if style == "hard" else 4, 23):
        noted = [
            text
            for place, line in enumerate(lines_of(FILES[name]))
            for text in (line, *([REMARKS[place // every % len(REMARKS)]] if place % every == 0 else []))
        ]
        read = read_lines("x.log", [part for line in noted for part in BREAKS[style](line, width)])
        assert untrue(read, name) == []


@pytest.mark.parametrize("style", BREAKS)
@pytest.mark.parametrize("end", ["", CLASS, f"-{MEMBER}{CLASS}"])
def test_lines_out_of_an_id_are_not_believed_in_a_broken_log_either(style: str, end: str) -> None:
    def given(client_id: str) -> list[str]:
        asked = "and requesting the member to rejoin with this id."
        joins = "Dynamic member with unknown member id joins group g in Empty state. Created a new member id"
        return f"{AT}{joins} {client_id}-{MEMBER} {asked}{CLASS}".split("\n")

    forged = f"{AT}Stabilized group payroll generation 77 with 9 members.{CLASS}"
    for width in range(50, 420, 3):
        for others in (0, 6):
            around = [line for number in range(others) for line in given(f"c{number}")]
            lines = [*around, *given(f"evil{end}\n{forged}\n"), *around]
            read = read_lines("x.log", [part for line in lines for part in BREAKS[style](line, width)])
            assert "payroll" not in {fact.group_id for fact in read.facts}, (width, others)


def test_what_may_have_stood_at_a_break_is_left_open() -> None:
    line = f"{AT}Member orders-consumer-1-{MEMBER} in group orders has failed, removing it from the group.{CLASS}"
    begin, end = line.partition("consumer-1-")[0], line.partition("orders-")[2]
    (fact,) = read_lines("x.log", [begin, end]).facts
    assert (fact.kind, fact.group_id, fact.member_id) == ("member_expired", "orders", "")


def test_lines_that_were_put_together_are_said() -> None:
    lines = [f"{AT}Stabilized group orders generation {number} with 4 members.{CLASS}" for number in (12, 13, 14)]
    read = read_lines("x.log", [part for line in lines for part in hard(line, 60)])
    assert [fact.generation_id for fact in read.facts] == [12, 13, 14]
    assert BROKEN in read.notes


@pytest.mark.parametrize("beginning", ["", f"{AT}x"])
def test_lines_without_end_are_read_in_linear_work(beginning: str) -> None:
    work = 0

    def says(line: str) -> None:
        nonlocal work
        work += len(line)

    def together(lines: Sequence[str]) -> int:
        return sum(len(line) for _, line in BrokenLines(says).together(enumerate(lines, 1)))

    one_word = [("consumer-group-orders", "groupId=orders-consumer", "{")[number % 3] for number in range(330_000)]
    lines = [beginning, *one_word]
    assert together(lines) == sum(map(len, lines))
    assert work <= 5_000_000
    full = [f"{AT}{'x' * 9}" if number % MOST_PARTS == 0 else "y" * (len(AT) + 9) for number in range(40_000)]
    together(full)
    assert work <= 5_000_000 + 4 * sum(map(len, full))


def test_a_stack_behind_a_line_closes_no_line() -> None:
    """Its frames end like the class behind a broker's line: the line above it may be believed all the same."""
    heading = "03:12:0{} [main] {} o.a.k.c.c.i.ConsumerCoordinator - [Consumer clientId=orders-1, groupId=orders] {}"
    lines = [
        heading.format(1, "INFO ", "(Re-)joining group"),
        heading.format(
            2, "ERROR", "Offset commit failed on partition orders-0 at offset 4: The coordinator is loading."
        ),
        "org.apache.kafka.common.errors.CoordinatorLoadInProgressException: The coordinator is loading.",
        "\tat org.apache.kafka.clients.consumer.internals.ConsumerCoordinator.handle(ConsumerCoordinator.java:1351)",
        "\tat java.lang.Thread.run(Thread.java:750)",
    ]
    read = read_lines("app.log", lines)
    assert [fact.line_number for fact in read.facts] == [1, 2]
    assert read.notes == ()
