"""The page asked without a browser: its application in the test's own process.

Knows addresses; must not know what is on a page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from rollcall.serve.page.app import application
from rollcall.serve.page.guard import Guard
from rollcall.serve.page.history import History
from rollcall.serve.page.live import Watch
from tests.waiting import until

SENTENCES = ("None was found.", "None is committed.", "None of ")
"""In which None is a word."""
NOUNS = "member|partition|group|rebalance|restart|time|standstill|storm|deploy|generation|epoch"
SLIPS = re.compile(
    r"\bNone\b|\bnull\b|\w*sss\b|(?:oined|ynced): \w*_\w*"
    rf"|(?<!-> )(?<![\d.])\b1 (?:{NOUNS})s\b|(?<![\d.:-])(?:[02-9]|\d\d+) (?:{NOUNS})\b"
)
"""A value that is none, a wrong plural, a cause where a moment is to stand."""
NAMES = ("localhost", "127.0.0.1")


@contextmanager
def asked(home: Path, users: Any = None) -> Iterator[TestClient]:
    """A client of a home's page, once its lists are made."""
    history = History(home)
    with TestClient(
        Guard(application(history, Watch(history), "a home"), NAMES, users), base_url="http://localhost"
    ) as client:
        until(lambda: history.is_ready, "lists of all groups")
        yield client


def slips_in(text: str, sentences: Iterable[str] = ()) -> list[str]:
    """What no text for people may say; not looked for in some sentences."""
    for sentence in (*SENTENCES, *sentences):
        text = text.replace(sentence, "")
    return SLIPS.findall(text)


class Page(HTMLParser):
    """What stands on a page: tables as rows of texts by their id, links, scripts and styles that stand in it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self.links: list[str] = []
        self.inline: list[str] = []
        self.text = ""
        self._rows: list[list[str]] | None = None
        self._is_cell = False
        self._is_in_script = False
        self.feed(html)

    def listed(self, table: str) -> list[dict[str, str]]:
        """The rows of a table, each cell by the head of its column; none where there is no such table."""
        head, *rows = self.tables.get(table, [[]])
        return [dict(zip(head, row, strict=True)) for row in rows]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.inline += [f"{tag} {name}" for name in given if name == "style" or name.startswith("on")]
        match tag:
            case "table":
                self._rows = self.tables.setdefault(given.get("id") or "", [])
            case "tr" if self._rows is not None:
                self._rows.append([])
            case "td" | "th" if self._rows:
                self._rows[-1].append("")
                self._is_cell = True
            case "a":
                self.links.append(given.get("href") or "")
            case "script" | "style":
                self._is_in_script = True
            case _:
                pass

    def handle_endtag(self, tag: str) -> None:
        match tag:
            case "table":
                self._rows = None
            case "td" | "th":
                self._is_cell = False
            case "script" | "style":
                self._is_in_script = False
            case _:
                pass

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._is_in_script and data.strip():
            self.inline.append(data)
        if self._is_cell and self._rows:
            self._rows[-1][-1] = (self._rows[-1][-1] + data).strip()


def page(client: TestClient, path: str) -> Page:
    """What stands at an address that is answered."""
    answer = client.get(path)
    assert answer.status_code == 200, answer.text[:500]
    return Page(answer.text)
