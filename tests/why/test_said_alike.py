"""Terminal, page and JSON say the same of every rebalance of every recording, whatever input it is known from."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from rollcall.answers.why.explanation import Explanation, explain
from rollcall.answers.why.sections import At, Cell, Line, Named, Section, account_of
from rollcall.cli.why import as_json
from rollcall.history.facts import effects_in, facts_of
from rollcall.history.rebalances import Span, rebalances_of
from rollcall.history.words import clock, duration, moment
from rollcall.programs.terminal import Terminal
from rollcall.serve.page.app import templates
from rollcall.serve.page.live import Liveness
from rollcall.shown.why_page import show_page
from rollcall.tables.job_status import JobStatus
from tests.offsets_topic.folded import NAMES as DUMPS
from tests.page.asking import Page, slips_in
from tests.why.reading import CAPTURES, as_columns, reader_of, recorded

LOGS = sorted(path.parent.name for path in CAPTURES.glob("*/requests.log.gz"))
RECORDED = [(source, name) for source, names in (("log", LOGS), ("topic", DUMPS), ("printed", LOGS)) for name in names]
TEMPLATE = templates().env.get_template("rebalance.html")


def explained(source: str, name: str) -> Iterator[Explanation]:
    for group_id, rows in recorded(source, name).items():
        for one in rebalances_of(effects_in(facts_of(map(as_columns, rows)))):
            yield explain(group_id, reader_of(rows), at=Span(one.started_at_ms, one.started_at_ms, "then"))


def page_of(e: Explanation) -> Page:
    request = SimpleNamespace(query_params={}, url=SimpleNamespace(path="/rebalance"))
    shown: dict[str, Any] = {"request": request, "path": "/rebalance", "home": "a home", "at": "", "until_ms": 0}
    near = {"before": None, "after": None}
    shown |= {"near": near, "liveness": Liveness(False, JobStatus()), "seen": ""}
    html = TEMPLATE.render(**shown, explanation=e, account=account_of(e), group_id=e.group_id, colours={})
    return Page(html)


def terminal_of(e: Explanation) -> list[str]:
    out = io.StringIO()
    show_page(e, Terminal(file=out, highlight=False, soft_wrap=True))
    return out.getvalue().splitlines()


def on_page(cell: Cell) -> str:
    return moment(cell.ms) if isinstance(cell, At) else cell.words if isinstance(cell, Named) else cell


def on_terminal(cell: Cell) -> str:
    named = f"{cell.words} ({cell.key})" if isinstance(cell, Named) and cell.words != cell.key else None
    return clock(cell.ms) if isinstance(cell, At) else named or on_page(cell)


def check_section(section: Section, page: Page, text: str, lines: list[str]) -> None:
    assert section.title in text
    at = lines.index(section.title.upper())
    if section.columns and section.rows:
        rows = page.tables[section.key][1 if any(section.columns) else 0 :]
        assert rows == [[on_page(cell) for cell in row.cells] for row in section.rows]
    for place, row in enumerate(section.rows[: section.shown or None]):
        head = 1 + bool(section.hint) + bool(any(section.columns))
        cells = [on_terminal(cell) for cell in row.cells]
        assert " ".join(lines[at + head + place].split()) == " ".join(" ".join(cells).split())
        if not section.columns:
            assert cells[0] in text
    assert all(sentence in text and f"  {sentence}" in lines for sentence in section.sentences)


def is_among(line: Line, cells: str) -> bool:
    """Whether what a line says in numbers and names stands in its row."""
    said = [line.client] if line.part in ("member", "held", "slack") else []
    if line.duration_ms is not None and line.part in ("member", "held", "stopped", "slack"):
        said.append(duration(max(line.duration_ms, 0)))
    return all(one is not None and one in cells for one in said)


@pytest.mark.parametrize(("source", "name"), RECORDED)
def test_page_terminal_and_json_say_the_same_of_every_rebalance(source: str, name: str) -> None:
    count = 0
    for e in explained(source, name):
        account, page, lines = account_of(e), page_of(e), terminal_of(e)
        text, printed = page.text, [json.loads(as_json(line)) for line in account.lines]
        sentences = [
            account.title,
            account.headline,
            *account.remarks,
            *([account.following] if account.following else []),
        ]
        assert all(sentence in text and sentence in lines for sentence in sentences)
        assert [row["text"] for row in printed if row["about"] in ("rebalance", "sentence")] == sentences[:2]
        for section in account.sections:
            check_section(section, page, text, lines)
            for row in section.rows:
                cells = " ".join(map(on_page, row.cells))
                assert row.lines or not any(part in cells for part in ("->", "after"))
                assert [line for line in row.lines if not is_among(line, cells)] == []
        assert len(printed) == len(account.lines) > 5
        assert slips_in(text) == slips_in("\n".join(lines)) == []
        count += 1
    assert count > 2


@pytest.mark.parametrize(("source", "name"), [("log", "q-consumer-slow"), ("topic", "q-consumer-slow")])
def test_nothing_is_said_of_a_consumer_group_that_its_members_never_do(source: str, name: str) -> None:
    count = 0
    for e in explained(source, name):
        said = "\n".join([page_of(e).text, *terminal_of(e), *(line.text for line in account_of(e).lines)]).lower()
        said = said.replace("generation=", "as it is asked for: ")
        assert [verb for verb in ("rejoin", "sync", "join phase", "leads", "generation") if verb in said] == []
        abouts = {line.about for line in account_of(e).lines if line.part == "member"}
        assert abouts <= {"reported", "given_up", "has_all", "ended"}
        count += len(abouts) > 0
    assert count > 20
